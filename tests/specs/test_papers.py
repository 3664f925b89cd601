"""The papers protocol once more, from its text: full matrices, an argsort a query, four functions in plain loops."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankjury
from rankjury.cli import main
from rankjury.retrieval.agreement.pairs import sample_pairs
from tests import paths

SAMPLE = Path(str(files("rankjury.plan") / "samples" / "papers"))
SHARED = paths.SHARED / "papers"
SHARED_FILES = [SHARED / "reference_minilm.npy", SHARED / "candidate_wordllama.npy"]
KS = (1, 3, 5, 10)
SPELLINGS = {
    "recall": "recall(over=k,gold=k)",
    "ndcg": "ndcg(gain=binary,gold=k)",
    "mrr": "rr(gold=k)",
    "map": "ap(over=found,gold=k)",
}
Lists = dict[str, list[str]]
Matrix = np.ndarray[Any, np.dtype[Any]]
Spaces = dict[str, tuple[list[str], Matrix]]


# --- the protocol -------------------------------------------------------------------------------------------------


def recall_at_k(reference: Sequence[str], model: Sequence[str], k: int) -> float:
    return len(set(reference[:k]) & set(model[:k])) / k


def ndcg_at_k(reference: Sequence[str], model: Sequence[str], k: int) -> float:
    wanted = set(reference[:k])
    dcg = sum(1.0 / log2(place + 2) for place, item in enumerate(model[:k]) if item in wanted)
    ideal = sum(1.0 / log2(place + 2) for place in range(min(k, len(wanted))))
    return dcg / ideal if ideal > 0 else 0.0


def mrr(reference: Sequence[str], model: Sequence[str], k: int) -> float:
    wanted = set(reference[:k])
    for place, item in enumerate(model[:k]):
        if item in wanted:
            return 1.0 / (place + 1)
    return 0.0


def map_at_k(reference: Sequence[str], model: Sequence[str], k: int) -> float:
    wanted, precisions = set(reference[:k]), []
    for place, item in enumerate(model[:k]):
        if item in wanted:
            precisions.append((len(precisions) + 1) / (place + 1))
    return sum(precisions) / len(precisions) if precisions else 0.0


PROTOCOL = {"recall": recall_at_k, "ndcg": ndcg_at_k, "mrr": mrr, "map": map_at_k}


def unit_vectors(vectors: Matrix) -> Matrix:
    units = vectors.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    return units


def similarities(vectors: Matrix, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """The cosines of pairs."""
    units = unit_vectors(vectors)
    return np.asarray((units[rows] * units[columns]).sum(axis=1))


def ranks(values: Matrix) -> Matrix:
    """Return the ranks of values rounded to 1e-6, without the sort that takes scipy seconds for millions of them."""
    steps = np.round(values * 1e6).astype(np.int64)
    steps -= steps.min()
    counts = np.bincount(steps)
    return np.asarray((np.cumsum(counts) - counts / 2)[steps])


def neighbours(ids: Sequence[str], vectors: Matrix, k: int = max(KS)) -> Lists:
    """For each paper the others, the most alike first; equal ones by id.

    Cosines are rounded, so that those of equal vectors are equal whatever the sums' order was.
    """
    units, found = unit_vectors(vectors), {}
    every = np.round(units @ units.T, 12)
    for row, name in enumerate(ids):
        alike = every[row]
        alike[row] = -2.0
        least = np.partition(alike, -k)[-k]
        near = [(-float(alike[place]), ids[place]) for place in np.flatnonzero(alike >= least)]
        found[name] = [item for _, item in sorted(near)[:k]]
    return found


# --- what rankjury makes of it ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """What rankjury agree wrote."""

    folder: Path
    report: dict[str, Any]

    def scores(self, system: str) -> pl.DataFrame:
        return pl.read_parquet(self.folder / "queries.parquet").filter(pl.col("system") == system).sort("query_id")

    def by_k(self, system: str) -> dict[int, dict[str, str]]:
        rows = csv.DictReader((self.folder / f"{system}_results.csv").read_text("utf-8").splitlines())
        return {int(row["k"]): row for row in rows}


def results(folder: Path) -> Results:
    return Results(folder / "out", json.loads((folder / "out/report.json").read_text("utf-8")))


def agree(folder: Path, *arguments: str | Path) -> Results:
    """The command as it is typed, in this process."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["rankjury", "agree", *map(str, arguments), "-o", "out"])
        main()
    assert not ended.value.code
    return results(folder)


def agree_in_a_process(folder: Path, *arguments: str | Path) -> Results:
    """The command in a process of its own, as the protocol calls its script."""
    command = [sys.executable, "-m", "rankjury", "agree", *map(str, arguments), "-o", "out"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=dict(os.environ))
    assert ended.returncode == 0, ended.stderr
    return results(folder)


def check_protocol(found: Results, system: str, reference: Lists, model: Lists, asked: int) -> None:
    """Every query's scores, and their mean and standard deviation, at every k."""
    table, by_k = found.scores(system), found.by_k(system)
    queries = table["query_id"].to_list()
    assert len(queries) == asked and set(queries) <= set(reference)
    for k in KS:
        for name, function in PROTOCOL.items():
            slowly = np.array([function(reference[query], model[query], k) for query in queries])
            quickly = table[f"{SPELLINGS[name]}@{k}"].to_numpy()
            np.testing.assert_allclose(quickly, slowly, rtol=0, atol=1e-12, err_msg=f"{name}@{k}")
            one = found.report["systems"][system]["measures"][f"{SPELLINGS[name]}@{k}"]
            assert one["mean"] == float(by_k[k][f"{name}_mean"]) == pytest.approx(slowly.mean(), rel=0, abs=1e-12)
            assert float(by_k[k][f"{name}_std"]) == pytest.approx(slowly.std(ddof=1), rel=0, abs=1e-12)
        assert by_k[k]["n"] == str(asked)


def check_similarities(
    found: Results, system: str, ids: Sequence[str], reference: Matrix, model: Matrix, size: int, seed: int
) -> None:
    """The figures of the very pairs that were drawn, by scipy."""
    asked = found.scores(system)["query_id"]
    listed = sample_pairs(asked, pl.Series(ids), size, seed)
    place = {name: row for row, name in enumerate(ids)}
    rows, columns = [place[name] for name in listed.queries], [place[name] for name in listed.items]
    assert all(row != column for row, column in zip(rows, columns, strict=True)), "never a paper with itself"
    x, y = (np.round(similarities(vectors, rows, columns), 12) for vectors in (reference, model))
    expected = {
        "spearman": stats.spearmanr(x, y).statistic,
        "kendall": stats.kendalltau(x, y).statistic,
        "pearson": stats.pearsonr(x, y).statistic,
        "mae": np.mean(np.abs(x - y)),
        "rmse": np.sqrt(np.mean((x - y) ** 2)),
    }
    agreement = found.report["systems"][system]["agreement"]
    assert agreement["pairs"] == len(rows) and agreement["queries"] == len(asked) and agreement["left_out"] == 0
    for name, value in expected.items():
        assert agreement["figures"][name]["value"] == pytest.approx(float(value), rel=0, abs=1e-9), name
        low, high = agreement["figures"][name]["ci"]
        assert low <= agreement["figures"][name]["value"] <= high


class TestWorkedExamples:
    """The functions above give the text's own figures; tests/specs/test_worked_examples.py has rankjury's."""

    def test_recall(self) -> None:
        assert recall_at_k(["7", "23", "156", "89", "42"], ["7", "89", "12", "23", "99"], 5) == 0.6

    def test_ndcg(self) -> None:
        assert round(ndcg_at_k(["7", "23", "156"], ["7", "99", "23", "156", "12"], 5), 2) == 0.91

    def test_mrr(self) -> None:
        assert mrr(["7", "23", "156", "89", "42"], ["99", "7", "23"], 5) == 0.5

    def test_map(self) -> None:
        assert round(map_at_k(["7", "23", "156", "89", "42"], ["7", "99", "23", "156", "12"], 5), 2) == 0.81


@pytest.fixture(scope="module")
def spaces() -> Spaces:
    found = {}
    for name in ("reference", "candidate"):
        with np.load(SAMPLE / f"{name}.npz") as held:
            found[name] = held["ids"].tolist(), held["vectors"]
    return found


@pytest.fixture(scope="module")
def lists(spaces: Spaces) -> dict[str, Lists]:
    return {name: neighbours(*space) for name, space in spaces.items()}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    both = [SAMPLE / "reference.npz", SAMPLE / "candidate.npz"]
    return agree(tmp_path_factory.mktemp("sample"), *both, "--dtype", "binary", "--pairs", "5000", "--seed", "7")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return agree(tmp_path_factory.mktemp("shared"), *SHARED_FILES)


@pytest.fixture(scope="module")
def shared_lists() -> list[Lists]:
    return [neighbours([str(row) for row in range(5000)], np.load(path)) for path in SHARED_FILES]


class TestBundledSample:
    def test_every_query_at_every_k(self, found: Results, lists: dict[str, Lists]) -> None:
        check_protocol(found, "candidate", lists["reference"], lists["candidate"], 1000)

    def test_signs_of_the_candidate(self, found: Results, lists: dict[str, Lists], spaces: Spaces) -> None:
        """A variant made on the fly, with many ties."""
        ids, vectors = spaces["candidate"]
        signs = np.where(vectors >= 0, 1.0, -1.0)
        check_protocol(found, "candidate-binary", lists["reference"], neighbours(ids, signs), 1000)

    def test_similarities(self, found: Results, spaces: Spaces) -> None:
        (ids, reference), (others, model) = spaces["reference"], spaces["candidate"]
        assert ids == others
        check_similarities(found, "candidate", ids, reference, model, 5000, 7)

    def test_some_of_the_queries(self, tmp_path: Path, lists: dict[str, Lists], spaces: Spaces) -> None:
        """The call of the protocol's text."""
        arguments = ["--n-samples", "500", "--k-values", "1", "3", "5", "10", "--seed", "42"]
        some = agree_in_a_process(tmp_path, SAMPLE / "reference.npz", SAMPLE / "candidate.npz", *arguments)
        check_protocol(some, "candidate", lists["reference"], lists["candidate"], 500)
        (ids, reference), (_, model) = spaces["reference"], spaces["candidate"]
        check_similarities(some, "candidate", ids, reference, model, 20_000, 42)


def test_queries_that_are_listed(tmp_path: Path) -> None:
    """On a small matrix, whatever file lists them, from the command line and in Python."""
    draw = np.random.default_rng(2)
    reference = draw.normal(size=(60, 6))
    model = reference[:, :4] + 0.5 * draw.normal(size=(60, 4))
    rows = np.random.RandomState(42).choice(60, 20, replace=False)
    for name, values in (("ref.npy", reference), ("model.npy", model), ("rows.npy", rows)):
        np.save(tmp_path / name, values)
    (tmp_path / "rows.txt").write_text("".join(f"{row}\n" for row in rows))
    (tmp_path / "rows.json").write_text(json.dumps(rows.tolist()))
    (tmp_path / "rows.csv").write_text("id\n" + "".join(f"{row}\n" for row in rows))
    ids = [str(row) for row in range(60)]
    lists = neighbours(ids, reference), neighbours(ids, model)
    for listed in ("rows.npy", "rows.txt", "rows.json", "rows.csv", "rows.csv:id"):
        found = agree(tmp_path, "ref.npy", "small=model.npy", "--pairs", "0", "--queries", listed)
        assert {*map(int, found.scores("small")["query_id"])} == {*rows.tolist()}
        check_protocol(found, "small", *lists, 20)
    label = f"{SPELLINGS['ndcg']}@10"
    expected = found.report["systems"]["small"]["measures"][label]["mean"]
    for queries in (rows, rows.tolist(), pl.Series(rows), [str(row) for row in rows], tmp_path / "rows.npy"):
        report = rankjury.agree(reference, {"small": model}, queries=queries, pairs=0, resampling=None)
        assert report.to_json()["systems"]["small"]["measures"][label]["mean"] == expected


def test_vectors_with_many_ties(tmp_path: Path, seed: int = 4) -> None:
    """Nothing but signs, so that many cosines are equal; ids in no order, each file's rows in another."""
    draw = np.random.default_rng(seed)
    count = 90
    ids = [f"{number:x}" for number in draw.permutation(10 * count)[:count]]
    spaces = {}
    for name, dimensions in (("reference", 6), ("model", 4)):
        vectors = draw.choice([-1.0, 1.0], size=(count, dimensions)).astype(np.float32)
        order = draw.permutation(count)
        spaces[name] = vectors
        np.savez(tmp_path / f"{name}.npz", ids=np.array(ids)[order], vectors=vectors[order])
    assert len(np.unique(spaces["model"], axis=0)) < count / 2
    found = agree(tmp_path, "reference.npz", "model.npz", "--pairs", "700", "--seed", str(seed))
    reference, model = neighbours(ids, spaces["reference"]), neighbours(ids, spaces["model"])
    check_protocol(found, "model", reference, model, count)
    check_similarities(found, "model", ids, spaces["reference"], spaces["model"], 700, seed)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared papers are not here")
class TestSharedPapers:
    """5,000 real abstracts, all of them asked."""

    def test_all_queries(self, shared: Results, shared_lists: list[Lists]) -> None:
        reference, model = map(np.load, SHARED_FILES)
        ids = [str(row) for row in range(len(reference))]
        assert len(ids) == 5000
        check_protocol(shared, "candidate_wordllama", *shared_lists, 5000)
        check_similarities(shared, "candidate_wordllama", ids, reference, model, 20_000, 0)

    def test_sampled_pairs_estimate_the_similarities_of_all_pairs(self, tmp_path: Path, shared: Results) -> None:
        """Whatever the seed is: 20,000 of 12.5 million pairs are off by sampling error only."""
        reference, model = map(np.load, SHARED_FILES)
        upper = np.triu(np.ones((len(reference), len(reference)), dtype=bool), 1)
        x, y = ((units @ units.T)[upper] for units in map(unit_vectors, (reference, model)))
        everything = {
            "spearman": stats.pearsonr(ranks(x), ranks(y)).statistic,
            "pearson": stats.pearsonr(x, y).statistic,
            "mae": np.mean(np.abs(x - y)),
            "rmse": np.sqrt(np.mean((x - y) ** 2)),
        }
        for found in (shared, agree(tmp_path, *SHARED_FILES, "-k", "1", "--seed", "42")):
            figures = found.report["systems"]["candidate_wordllama"]["agreement"]["figures"]
            for name, value in everything.items():
                low, high = figures[name]["ci"]
                error = (high - low) / (2 * 1.96)
                assert abs(figures[name]["value"] - value) < 3 * error, name
                assert error < 0.01 * max(value, 0.6), name

    def test_a_sample_that_numpy_drew(self, tmp_path: Path, shared_lists: list[Lists]) -> None:
        """Step 3 of the protocol: only a sample of rankjury's own could be asked, so that no other was reproduced."""
        np.random.seed(42)
        rows = np.random.choice(5000, 500, replace=False)
        np.save(tmp_path / "rows.npy", rows)
        found = agree(tmp_path, *SHARED_FILES, "--pairs", "0", "--queries", "rows.npy")
        assert sorted(map(int, found.scores("candidate_wordllama")["query_id"])) == sorted(rows.tolist())
        check_protocol(found, "candidate_wordllama", *shared_lists, 500)

    def test_ids_from_the_table(self, tmp_path: Path, shared: Results) -> None:
        """Called by their own ids the papers give the same figures, paper by paper: no two scores are equal."""
        table = pl.read_parquet(SHARED / "papers.parquet")
        column = next(name for name in table.columns if "id" in name.lower() and table[name].is_unique().all())
        ids = f"{SHARED / 'papers.parquet'}:{column}"
        named = agree(tmp_path, *SHARED_FILES, "--pairs", "0", "--ids", ids, "--n-samples", "300")
        called = table[column].cast(pl.String).to_list()
        numbered = shared.scores("candidate_wordllama").with_columns(
            pl.col("query_id").map_elements(lambda row: called[int(row)], return_dtype=pl.String)
        )
        found = named.scores("candidate_wordllama")
        assert found.height == 300
        assert found.equals(numbered.join(found, on="query_id", how="semi").sort("query_id"))
