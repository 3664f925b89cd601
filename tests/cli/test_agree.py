"""rankjury agree: a reference's top k as gold, from vectors and runs; every option, every file, what is refused."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from rankjury.retrieval.agreement import stats as agreement_stats
from tests.cli.conftest import Rankjury
from tests.cli.made import tree
from tests.cli.support import Outcome, check_failure, check_screen, check_width, help_examples, put, report_of
from tests.cli.terminal import in_terminal

COUNT = 40
IDS = [f"p{number:02}" for number in range(COUNT)]
MEASURES = ["recall(over=k,gold=k)", "ndcg(gain=binary,gold=k)", "rr(gold=k)", "ap(over=found,gold=k)", "rbo"]
PNG = b"\x89PNG\r\n\x1a\n"
Form = dict[str, Any]
Matrix = np.ndarray[Any, np.dtype[np.float32]]


def matrices() -> dict[str, Matrix]:
    draw = np.random.default_rng(3)
    reference = draw.normal(size=(COUNT, 8))
    base = reference[:, :5] + 0.9 * draw.normal(size=(COUNT, 5))
    tuned = np.hstack([reference, draw.normal(size=(COUNT, 1))])
    return {name: one.astype(np.float32) for name, one in {"ref": reference, "base": base, "tuned": tuned}.items()}


SPACES = matrices()


def put_npz(name: str, vectors: Matrix, ids: list[str] = IDS) -> str:
    np.savez(name, ids=np.array(ids), vectors=vectors)
    return name


@pytest.fixture(autouse=True)
def vectors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr(agreement_stats, "MOST_RESAMPLES", 100)  # each ranks all pairs anew: most of a call's time
    for name, space in SPACES.items():
        put_npz(f"{name}.npz", space)
        Path("bare").mkdir(exist_ok=True)
        np.save(f"bare/{name}.npy", space)
    put("names.csv", "paper,id\n" + "".join(f"x,{id_}\n" for id_ in IDS))


def agreed(rankjury: Rankjury, *arguments: str) -> Form:
    """Return the report of a call over few pairs, unless the arguments say how many."""
    few = [] if "--pairs" in arguments or "--over" in arguments else ["--pairs", "100"]
    return report_of(rankjury("agree", *arguments, *few, "--json", "-q"))


def measured(form: Form, system: str = "base") -> dict[str, float]:
    return {label: one["mean"] for label, one in form["systems"][system]["measures"].items()}


def put_run(name: str, space: str, k: int = COUNT - 1, itself: bool = False) -> str:
    """A run as another tool would make it, TREC or JSON."""
    units = SPACES[space].astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    alike = units @ units.T
    found = {}
    for row, query in enumerate(IDS):
        order = [place for place in np.argsort(-alike[row], kind="stable") if place != row or itself]
        found[query] = {IDS[place]: float(alike[row, place]) for place in order[:k]}
    if name.endswith(".json"):
        return put(name, json.dumps(found))
    lines = (f"{q} Q0 {item} 1 {score!r} t\n" for q, scores in found.items() for item, score in scores.items())
    return put(name, "".join(lines))


# --- the protocol's call ------------------------------------------------------------------------------------------


def test_the_call_of_the_protocol(rankjury: Rankjury) -> None:
    given = ["--n-samples", "30", "--k-values", "1", "3", "5", "10", "--seed", "42", "-o", "results/"]
    outcome = rankjury("agree", "ref.npz", "base.npz", "tuned.npz", *given)
    assert outcome.code == 0, outcome.err
    check_screen(outcome)
    assert outcome.out.startswith("agreement with ref: 30 queries, 2 systems\n")
    tables = re.findall(r"^(\w+):\n *k +Recall +NDCG +MRR +MAP +RBO\n─+\n((?: *\d+(?: +\d\.\d{3}±\d\.\d{3}){5}\n){4})",
                        outcome.out, re.MULTILINE)  # fmt: skip
    assert [name for name, _ in tables] == ["base", "tuned"]
    saved = json.loads(Path("results/report.json").read_text("utf-8"))
    for name, table in tables:
        for line in table.splitlines():
            k, *cells = line.split()
            shown = [float(cell.partition("±")[0]) for cell in cells]
            expected = [saved["systems"][name]["measures"][f"{measure}@{k}"]["mean"] for measure in MEASURES]
            assert shown == [pytest.approx(one, abs=5.001e-4) for one in expected]
    full = rankjury("agree", "ref.npz", "base.npz", "tuned.npz", *given, "--full").out
    check_width(full)
    for title in ("Spearman ρ", "Kendall τ", "Pearson r", "MAE", "RMSE"):
        assert re.search(rf"^{title}\n  base +\S+ \[.+\]\n  tuned +\S+ \[.+\] +\S+ \[.+\]$", full, re.MULTILINE)
    assert re.search(r"^tuned (over|vs) base: NDCG@10 [+−]\d+\.\d % \[.+\]", outcome.out, re.MULTILINE)
    names = [
        "report.html",
        "report.json",
        "metrics_vs_k.png",
        "queries.parquet",
        "base_results.csv",
        "tuned_results.csv",
    ]
    assert f"Wrote {', '.join(f'results/{name}' for name in names)}" in outcome.err
    assert sorted(path.name for path in Path("results").iterdir()) == sorted(names)


SPELLINGS = [
    ["ref.npz", "base.npz", "--k-values", "1", "3", "10"],
    ["ref.npz", "base.npz", "--k-values", "10,3,1,3"],
    ["ref.npz", "base.npz", "--k-values", "1 3, 10"],
    ["--k-values", "1", "3", "10", "ref.npz", "base.npz"],
    ["--k-values=1", "3", "10", "ref.npz", "base.npz"],
    ["ref.npz", "--k-values", "1", "3", "10", "base.npz"],
    ["ref.npz", "base.npz", "--k-values", "1", "3", "--seed", "42", "10"],
    ["--seed", "42", "--k-values", "1,3,10", "--distance", "cosine", "ref.npz", "base.npz"],
]


def test_similarities_are_rows_of_csv(rankjury: Rankjury) -> None:
    call = ("ref.npz", "base.npz", "tuned.npz", "--pairs", "100")
    assert rankjury("agree", *call, "-q", "-o", "all.csv").code == 0
    values = agreed(rankjury, *call)["systems"]["tuned"]["agreement"]["figures"]
    rows = {
        row["measure"]: row
        for row in csv.DictReader(Path("all.csv").read_text().splitlines())
        if row["system"] == "tuned"
    }
    for name in ("spearman", "kendall", "mae"):
        assert float(rows[name]["mean"]) == values[name]["value"]
        assert [float(rows[name][end]) for end in ("ci_low", "ci_high")] == values[name]["ci"]


def test_ways_to_give_cut_offs(rankjury: Rankjury) -> None:
    found = [agreed(rankjury, "--pairs", "0", *arguments) for arguments in SPELLINGS]
    assert all(one == found[0] for one in found)
    assert list(measured(found[0])) == [f"{measure}@{k}" for measure in MEASURES for k in (1, 3, 10)]


def test_cut_offs_given_twice_add_up(rankjury: Rankjury) -> None:
    form = agreed(rankjury, "ref.npz", "base.npz", "--k-values", "2", "--k-values", "4", "--pairs", "0")
    assert [label for label in measured(form) if label.startswith("rbo")] == ["rbo@2", "rbo@4"]


def test_the_usual_cut_offs(rankjury: Rankjury) -> None:
    form = agreed(rankjury, "ref.npz", "base.npz", "--pairs", "0")
    assert [label for label in measured(form) if label.startswith("rbo")] == ["rbo@1", "rbo@3", "rbo@5", "rbo@10"]


def test_a_file_that_is_called_like_a_number(rankjury: Rankjury) -> None:
    Path("base.npz").rename("3")
    outcome = rankjury("agree", "ref.npz", "3", "--k-values", "2")
    assert outcome.code != 0 and "3" in outcome.err, "it is a file, of which the name does not tell the form"


def test_it_finds_what_it_is(rankjury: Rankjury) -> None:
    """A reference agrees with itself wholly; so does a turned, stretched and moved-about copy of it."""
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))
    put_npz("turned.npz", (3 * SPACES["ref"].astype(np.float64) @ turn)[::-1], IDS[::-1])
    form = agreed(rankjury, "ref.npz", "ref.npz", "turned.npz", "--k-values", "1,39")
    for name in ("ref", "turned"):
        assert list(measured(form, name).values()) == pytest.approx([1.0] * 10, abs=1e-12)
        agreement = form["systems"][name]["agreement"]
        for figure, value in {"spearman": 1, "kendall": 1, "pearson": 1, "mae": 0, "rmse": 0}.items():
            assert agreement["figures"][figure]["value"] == pytest.approx(value, abs=1e-9), figure


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["parquet", "json", "jsonl", "safetensors"])
def test_forms_of_vectors(rankjury: Rankjury, suffix: str) -> None:
    """The same numbers in another form give the same digits; sides may differ in form."""
    for name, space in SPACES.items():
        rows = [{"id": id_, "vector": vector} for id_, vector in zip(IDS, space.tolist(), strict=True)]
        if suffix == "parquet":
            schema = {"id": pl.String, "vector": pl.List(pl.Float32)}
            pl.DataFrame(rows, schema=schema).write_parquet(f"{name}.parquet")
        elif suffix == "safetensors":
            saved = pytest.importorskip("safetensors.numpy")
            saved.save_file({"vector": space}, f"{name}.safetensors", {"ids": json.dumps(IDS)})
        else:
            by_id = {row["id"]: row["vector"] for row in rows}
            put(f"{name}.{suffix}", json.dumps(by_id) if suffix == "json" else "\n".join(map(json.dumps, rows)))
    expected = agreed(rankjury, "ref.npz", "base.npz", "--k-values", "1,5")["systems"]["base"]
    for files in ([f"ref.{suffix}", f"base.{suffix}"], ["ref.npz", f"base.{suffix}"]):
        found = agreed(rankjury, *files, "--k-values", "1,5")["systems"]["base"]
        assert (found["measures"], found["agreement"]) == (expected["measures"], expected["agreement"])


def test_matrices_without_ids(rankjury: Rankjury) -> None:
    """Rows are the same papers in both; with --ids they are called by their names, to the digit as with ids inside."""
    expected = agreed(rankjury, "ref.npz", "base.npz")
    named = agreed(rankjury, "bare/ref.npy", "bare/base.npy", "--ids", "names.csv:id")
    assert named["systems"] == expected["systems"]
    mixed = agreed(rankjury, "ref.npz", "bare/base.npy", "--ids", "names.csv:id")
    assert mixed["systems"] == expected["systems"]
    plain = agreed(rankjury, "bare/ref.npy", "bare/base.npy")
    assert measured(plain) == pytest.approx(measured(expected), abs=1e-12)


def test_one_of_several_spaces(rankjury: Rankjury) -> None:
    np.savez("all.npz", ids=np.array(IDS), **SPACES)
    expected = agreed(rankjury, "ref.npz", "base.npz", "tuned.npz", "--pairs", "0")
    found = agreed(rankjury, "all.npz:ref", "all.npz:base", "all.npz:tuned", "--pairs", "0")
    assert list(found["systems"]) == ["base", "tuned"] and found["systems"] == expected["systems"]
    check_failure(rankjury("agree", "ref.npz", "all.npz"), 3, "all.npz", "ref, base, tuned", "all.npz:ref")
    check_failure(rankjury("agree", "ref.npz", "all.npz:bose"), 3, "'bose'", "base")


def test_candidates_of_one_name_are_told_apart(rankjury: Rankjury) -> None:
    Path("a").mkdir()
    Path("b").mkdir()
    put_npz("a/model.npz", SPACES["base"])
    put_npz("b/model.npz", SPACES["tuned"])
    expected = agreed(rankjury, "ref.npz", "base.npz", "tuned.npz", "--pairs", "0")
    found = agreed(rankjury, "ref.npz", "a/model.npz", "b/model.npz", "--pairs", "0")
    assert list(found["systems"]) == ["a/model", "b/model"]
    assert measured(found, "b/model") == measured(expected, "tuned")


def test_a_candidate_that_is_called_reference(rankjury: Rankjury) -> None:
    Path("old").mkdir()
    put_npz("reference.npz", SPACES["ref"])
    put_npz("old/reference.npz", SPACES["base"])
    outcome = rankjury("agree", "reference.npz", "old/reference.npz", "--pairs", "0")
    assert "40 × 8" in outcome.out and "40 × 5" in outcome.out


# --- runs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "itself"), [("trec", True), ("json", False)])
def test_runs_are_as_good_as_vectors(rankjury: Rankjury, suffix: str, itself: bool) -> None:
    """Also where each query finds itself first: it is left out of both where the queries are said to be the items."""
    for name in SPACES:
        put_run(f"{name}.{suffix}", name, k=COUNT, itself=itself)
    expected = measured(agreed(rankjury, "ref.npz", "base.npz"))
    for files in (
        [f"ref.{suffix}", f"base.{suffix}"],
        ["ref.npz", f"base.{suffix}"],
        [f"ref.{suffix}", "base.npz"],
    ):
        said = ["--exclude-self"] if itself and not any(file.endswith(".npz") for file in files) else []
        form = agreed(rankjury, *files, *said)
        found = measured(form)
        assert list(found.values()) == pytest.approx(list(expected.values()), abs=1e-12), files
        assert form["systems"]["base"]["agreement"]["about"] == "among the first 10 of either"


def test_runs_of_other_queries_keep_documents_with_their_ids(rankjury: Rankjury) -> None:
    """Whether a run's queries are its items cannot be known: query 1 lost document 1, without a word."""
    put("ref.json", json.dumps({"1": {"1": 0.9, "2": 0.8, "3": 0.1}, "2": {"1": 0.7, "2": 0.2, "3": 0.1}}))
    put("base.json", json.dumps({"1": {"1": 0.9, "3": 0.8, "2": 0.1}, "2": {"1": 0.7, "3": 0.2, "2": 0.1}}))
    two = ["ref.json", "base.json", "--k-values", "1", "--pairs", "0"]
    label = "recall(over=k,gold=k)@1"
    assert measured(agreed(rankjury, *two))[label] == 1.0
    kept = [line for line in rankjury("agree", *two).warnings if "id of an item" in line]
    assert len(kept) == 2 and all("is kept" in line for line in kept)
    assert measured(agreed(rankjury, *two, "--exclude-self"))[label] == 0.5
    left_out = [line for line in rankjury("agree", *two, "--exclude-self").warnings if "id of an item" in line]
    assert len(left_out) == 2 and all("is excluded" in line for line in left_out)


def test_keep_self(rankjury: Rankjury) -> None:
    """Each model finds the query itself first."""
    form = agreed(rankjury, "ref.npz", "base.npz", "--keep-self", "--k-values", "1")
    assert measured(form)["recall(over=k,gold=k)@1"] == 1.0


def test_names_of_candidates(rankjury: Rankjury) -> None:
    """NAME=FILE was an unknown file."""
    form = agreed(rankjury, "ada=ref.npz", "first=base.npz", "tuned.npz", "--pairs", "0", "--baseline", "tuned")
    assert list(form["systems"]) == ["first", "tuned"]
    check_failure(
        rankjury("agree", "ref.npz", "x=base.npz", "x=tuned.npz"), 2, "two candidates are called x", "NAME=FILE"
    )
    twice = agreed(rankjury, "ref.npz", "x=base.npz", "y=base.npz", "--pairs", "0")["systems"]
    assert list(twice) == ["x", "y"] and twice["x"]["measures"] == twice["y"]["measures"]
    check_failure(rankjury("agree", "ref.npz", "x=missing.npz"), 3, "missing.npz", "no such file")


def test_queries_or_a_sample(rankjury: Rankjury) -> None:
    put("some.txt", "nobody\n")
    check_failure(rankjury("agree", "ref.npz", "base.npz", "--queries", "some.txt"), 3, "some.txt", "not known: nobody")
    both = ["--queries", "some.txt", "--n-samples", "3"]
    check_failure(rankjury("agree", "ref.npz", "base.npz", *both), 2, "--queries", "--n-samples")


def test_short_runs(rankjury: Rankjury) -> None:
    """A reference that ranks ten cannot be cut at eleven; a candidate that finds three is scored for three."""
    put_run("ref.trec", "ref", k=10)
    put_run("base.trec", "base", k=3)
    check_failure(rankjury("agree", "ref.trec", "base.trec", "--k-values", "11"), 3, "11", "10 items", "up to 10")
    form = agreed(rankjury, "ref.trec", "base.trec", "--k-values", "3,10")
    whole = agreed(rankjury, "ref.npz", "base.npz", "--k-values", "3,10")
    recall = "recall(over=k,gold=k)"
    assert measured(form)[f"{recall}@3"] == pytest.approx(measured(whole)["recall(over=k,gold=k)@3"], abs=1e-12)
    assert measured(form)[f"{recall}@10"] <= 0.3
    assert form["systems"]["base"]["agreement"]["left_out"] > 0


def test_a_candidate_run_without_some_queries(rankjury: Rankjury) -> None:
    """They count as nothing found, and that is said."""
    put_run("base.trec", "base")
    kept = [line for line in Path("base.trec").read_text().splitlines(keepends=True) if not line.startswith("p0")]
    put("some.trec", "".join(kept))
    outcome = rankjury("agree", "ref.npz", "some.trec", "base.trec")
    assert outcome.code == 0 and any("10 " in line and "missing" in line for line in outcome.warnings), outcome.err
    form = agreed(rankjury, "ref.npz", "some.trec", "base.trec", "--pairs", "0")
    assert measured(form, "some")["rr(gold=k)@10"] < measured(form, "base")["rr(gold=k)@10"]


@pytest.mark.parametrize("files", [["ref.npz", "lists.json"], ["lists.json", "base.npz"], ["lists.json", "list2.json"]])
def test_lists_without_scores(rankjury: Rankjury, files: list[str]) -> None:
    put_lists()
    label = "recall(over=k,gold=k)@10"
    name = Path(files[1]).stem
    assert 0 < measured(agreed(rankjury, *files, "--pairs", "0"), name)[label] <= 1


@pytest.mark.parametrize("files", [["ref.npz", "lists.json"], ["lists.json", "base.npz"], ["lists.json", "list2.json"]])
def test_places_are_no_similarities(rankjury: Rankjury, files: list[str]) -> None:
    """An error of 14 between a cosine and a place would say nothing."""
    put_lists()
    check_failure(rankjury("agree", *files), 3, "no pair has a similarity", "runs with scores", "--pairs 0")


def put_lists() -> None:
    for name, space in (("lists.json", "base"), ("list2.json", "tuned")):
        put_run(name, space)
        scores = json.loads(Path(name).read_text())
        put(name, json.dumps({query: list(of) for query, of in scores.items()}))


def test_a_run_from_standard_input(rankjury: Rankjury) -> None:
    put_run("ref.trec", "ref")
    put_run("base.trec", "base")
    expected = agreed(rankjury, "ref.trec", "base.trec", "--pairs", "0")["systems"]["base"]
    for files, given in ((["ref.trec", "-"], "base.trec"), (["-", "base.trec"], "ref.trec")):
        outcome = rankjury("agree", *files, "--pairs", "0", "--json", "-q", stdin=Path(given).read_bytes())
        (found,) = report_of(outcome)["systems"].values()
        assert found == expected
    check_failure(rankjury("agree", "-", "-", stdin=b"x"), 2, "standard input was named twice")


# --- several candidates, variants ---------------------------------------------------------------------------------


def test_the_first_candidate_is_the_baseline(rankjury: Rankjury) -> None:
    form = agreed(rankjury, "ref.npz", "base.npz", "tuned.npz")
    assert form["baseline"] == "base"
    other = agreed(rankjury, "ref.npz", "base.npz", "tuned.npz", "--baseline", "tuned")
    assert other["baseline"] == "tuned"
    ours = form["systems"]["tuned"]["agreement"]["figures"]["spearman"]["difference"]
    theirs = other["systems"]["base"]["agreement"]["figures"]["spearman"]["difference"]
    assert ours == -theirs != 0
    screen = rankjury("agree", "ref.npz", "base.npz", "tuned.npz", "--baseline", "tuned", "--pairs", "0").out
    assert re.search(r"^base (over|vs) tuned: NDCG@10 −", screen, re.MULTILINE)


def test_the_sentence_is_about_means(rankjury: Rankjury) -> None:
    given = ["ref.npz", "base.npz", "tuned.npz", "--k-values", "5", "--pairs", "0"]
    screen, form = rankjury("agree", *given), agreed(rankjury, *given)
    means = {name: measured(form, name) for name in ("base", "tuned")}
    label = "ndcg(gain=binary,gold=k)@5"
    gained = 100 * (means["tuned"][label] / means["base"][label] - 1)
    found = re.search(
        r"^tuned (?:over|vs) base: NDCG@5 \+([\d.]+) % \[\+([\d.]+), \+([\d.]+)\](?!.*not shown)", screen.out, re.M
    )
    assert found is not None, screen.out
    value, low, high = map(float, found.groups())
    assert value == pytest.approx(gained, abs=0.0501) and low < value < high


def test_variants(rankjury: Rankjury) -> None:
    """Each is what a file made so would be."""
    base = SPACES["base"]
    put_npz("first.npz", base[:, :3])
    put_npz("half.npz", base.astype(np.float16).astype(np.float32))
    put_npz("signs.npz", np.where(base >= 0, 1, -1).astype(np.float32))
    given = ["--truncate", "3", "--truncate", "2", "--dtype", "float16", "--dtype", "binary", "--dtype", "int8"]
    form = agreed(rankjury, "ref.npz", "base.npz", *given, "--k-values", "1,5")
    names = ["base", "base-3", "base-2", "base-float16", "base-binary", "base-int8"]
    assert list(form["systems"]) == names and form["baseline"] == "base"
    made = agreed(rankjury, "ref.npz", "first.npz", "half.npz", "signs.npz", "--k-values", "1,5")
    for variant, file in (("base-3", "first"), ("base-float16", "half"), ("base-binary", "signs")):
        assert measured(form, variant) == measured(made, file)
        assert form["systems"][variant]["agreement"]["figures"]["mae"]["value"] == pytest.approx(
            made["systems"][file]["agreement"]["figures"]["mae"]["value"], abs=1e-12
        )


def test_variants_of_unit_vectors_are_normalised_for_inner_products(rankjury: Rankjury) -> None:
    units = SPACES["base"] / np.linalg.norm(SPACES["base"], axis=1, keepdims=True)
    put_npz("base.npz", units)
    put_npz("cut.npz", units[:, :3] / np.linalg.norm(units[:, :3], axis=1, keepdims=True))
    form = agreed(rankjury, "ref.npz", "base.npz", "cut.npz", "--truncate", "3", "--distance", "ip", "--pairs", "0",
                  "--k-values", "5")  # fmt: skip
    assert measured(form, "base-3") == measured(form, "cut")


def test_a_variant_called_like_another_candidate(rankjury: Rankjury) -> None:
    put_npz("base-int8.npz", SPACES["tuned"])
    check_failure(rankjury("agree", "ref.npz", "base.npz", "base-int8.npz", "--dtype", "int8"), 2, "base-int8")


# --- ties, pairs, samples -----------------------------------------------------------------------------------------


def test_ties(rankjury: Rankjury) -> None:
    """Of signs many are equal: a candidate that takes another of those that tie is right only with --ties any."""
    put_npz("ref.npz", np.where(SPACES["ref"][:, :4] >= 0, 1, -1).astype(np.float32))
    outcome = rankjury("agree", "ref.npz", "base.npz", "--k-values", "3", "--pairs", "0")
    assert any("reference's k-th and k+1-th score are equal" in line for line in outcome.warnings)
    by_id = measured(agreed(rankjury, "ref.npz", "base.npz", "--k-values", "3", "--pairs", "0"))
    any_of = measured(agreed(rankjury, "ref.npz", "base.npz", "--k-values", "3", "--pairs", "0", "--ties", "any"))
    assert list(any_of)[:4] == [label.replace("gold=k", "gold=tied") for label in list(by_id)[:4]]
    assert any_of["recall(over=k,gold=tied)@3"] > by_id["recall(over=k,gold=k)@3"]
    assert all(0 <= value <= 1 for value in any_of.values())


def test_ties_of_a_candidate_are_told_at_every_cut_off(rankjury: Rankjury) -> None:
    put_npz("same.npz", np.ones((COUNT, 3), np.float32))
    outcome = rankjury("agree", "ref.npz", "same.npz", "--k-values", "3,5", "--pairs", "0")
    assert any("40 queries at 3, 40 queries at 5" in line for line in outcome.warnings), outcome.err


def cosines(name: str) -> Matrix:
    units = SPACES[name].astype(np.float64)
    units = units / np.linalg.norm(units, axis=1, keepdims=True)
    return np.asarray(units @ units.T)


def test_pairs_of_the_top(rankjury: Rankjury) -> None:
    """The union of both top k of every query, by plain loops and scipy."""
    agreement = agreed(rankjury, "ref.npz", "base.npz", "--over", "top", "--k-values", "4")["systems"]["base"][
        "agreement"
    ]
    ours, theirs, pairs = cosines("ref"), cosines("base"), []
    for row in range(COUNT):
        best: set[int] = set()
        for alike in (ours, theirs):
            best |= {int(place) for place in [one for one in np.argsort(-alike[row]) if one != row][:4]}
        pairs += [(ours[row, place], theirs[row, place]) for place in best]
    x, y = np.array(pairs).T
    assert (agreement["pairs"], agreement["queries"], agreement["left_out"]) == (len(pairs), COUNT, 0)
    assert agreement["figures"]["spearman"]["value"] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
    assert agreement["figures"]["kendall"]["value"] == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-9)
    assert agreement["figures"]["mae"]["value"] == pytest.approx(np.abs(x - y).mean(), abs=1e-9)


def test_all_pairs_where_more_are_asked_for(rankjury: Rankjury) -> None:
    agreement = agreed(rankjury, "ref.npz", "base.npz", "--pairs", "2000")["systems"]["base"]["agreement"]
    others = ~np.eye(COUNT, dtype=bool)
    x, y = cosines("ref")[others], cosines("base")[others]
    assert agreement["pairs"] == COUNT * (COUNT - 1)
    assert agreement["figures"]["pearson"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert agreement["figures"]["rmse"]["value"] == pytest.approx(np.sqrt(np.square(x - y).mean()), abs=1e-9)


def test_fewer_pairs(rankjury: Rankjury) -> None:
    agreement = agreed(rankjury, "ref.npz", "base.npz", "--pairs", "100")["systems"]["base"]["agreement"]
    assert agreement["pairs"] == 3 * COUNT, "as many of each query, and at least as many as asked for"
    other = agreed(rankjury, "ref.npz", "base.npz", "--pairs", "100", "--seed", "7")["systems"]["base"]["agreement"]
    assert other["figures"]["spearman"] != agreement["figures"]["spearman"] and "seed 7" in other["about"]


def test_no_pairs(rankjury: Rankjury) -> None:
    form = agreed(rankjury, "ref.npz", "base.npz", "--pairs", "0")
    assert "agreement" not in form["systems"]["base"]
    assert "Spearman" not in rankjury("agree", "ref.npz", "base.npz", "--pairs", "0").out


def test_tables_by_cut_off_do_not_depend_on_pairs(rankjury: Rankjury) -> None:
    arguments = ["agree", "ref.npz", "base.npz", "tuned.npz", "--k-values", "1,3"]
    without, whole = rankjury(*arguments, "--pairs", "0").out, rankjury(*arguments).out
    tables = whole.split("\n\n", 2)[2].partition("\nsimilarities")[0].rstrip()
    assert tables.count("±") == 2 * 2 * 5 + 1 and without.split("\n\n", 2)[2].startswith(tables)
    assert re.search(r"^tuned (over|vs) base: NDCG@3", without, re.MULTILINE)


def test_samples_hang_on_seed_and_ids_alone(rankjury: Rankjury) -> None:
    def asked(*arguments: str) -> set[str]:
        assert rankjury("agree", *arguments, "--k-values", "2", "--pairs", "0", "-o", "out", "-q").code == 0
        return set(pl.read_parquet("out/queries.parquet")["query_id"])

    ten = asked("ref.npz", "base.npz", "--n-samples", "10")
    assert len(ten) == 10
    assert ten == asked("ref.npz", "tuned.npz", "--n-samples", "10")
    twenty = asked("ref.npz", "base.npz", "--n-samples", "20")
    assert len(twenty) == 20 and ten < twenty


def test_another_seed_asks_others(rankjury: Rankjury) -> None:
    given = ["ref.npz", "base.npz", "--n-samples", "10", "--pairs", "0"]
    assert measured(agreed(rankjury, *given)) != measured(agreed(rankjury, *given, "--seed", "43"))


def test_a_sample_of_all_is_all(rankjury: Rankjury) -> None:
    whole = agreed(rankjury, "ref.npz", "base.npz", "--n-samples", str(COUNT))
    assert whole["systems"] == agreed(rankjury, "ref.npz", "base.npz")["systems"]


def test_one_query(rankjury: Rankjury) -> None:
    outcome = rankjury("agree", "ref.npz", "base.npz", "tuned.npz", "--n-samples", "1", "-o", "out")
    assert outcome.code == 0 and "one query: no interval can be given" in outcome.err
    assert "±" not in outcome.out.partition("mean±")[0]
    (row, *_) = csv.DictReader(Path("out/base_results.csv").read_text().splitlines())
    assert (row["recall_std"], row["recall_ci_low"], row["n"]) == ("", "", "1")


# --- what is the same to the digit --------------------------------------------------------------------------------


def written(rankjury: Rankjury, folder: str, *arguments: str) -> dict[str, bytes]:
    outcome = rankjury("agree", *arguments, "-o", folder, "-q")
    assert outcome.code == 0, outcome.err
    return tree(Path(folder))


def test_the_order_of_rows_is_of_no_account(rankjury: Rankjury) -> None:
    """To the byte, in every file."""
    given = ["ref.npz", "base.npz", "tuned.npz", "--n-samples", "30", "--pairs", "200", "--k-values", "1,4"]
    expected = written(rankjury, "one", *given)
    for seed, (name, space) in enumerate(SPACES.items()):
        order = np.random.default_rng(seed).permutation(COUNT)
        put_npz(f"{name}.npz", space[order], [IDS[place] for place in order])
    assert written(rankjury, "two", *given) == expected


def test_another_candidate_changes_nothing(rankjury: Rankjury) -> None:
    given = ["--n-samples", "30", "--pairs", "200", "--k-values", "1,5"]
    alone = agreed(rankjury, "ref.npz", "tuned.npz", *given)["systems"]["tuned"]
    for files in (["tuned.npz", "base.npz"], ["base.npz", "tuned.npz"]):
        form = agreed(rankjury, "ref.npz", *files, *given)
        beside = form["systems"]["tuned"]
        assert beside["measures"] == alone["measures"] and beside["space"] == alone["space"]
        for name in ("spearman", "kendall", "pearson", "mae", "rmse"):
            ours = {
                key: value for key, value in beside["agreement"]["figures"][name].items() if "difference" not in key
            }
            assert ours == alone["agreement"]["figures"][name]


def test_threads_change_nothing(folder: Path) -> None:
    program = (
        "from rankjury.retrieval.agreement import stats; stats.MOST_RESAMPLES = 100; "
        "from rankjury.cli import main; main()"
    )
    found = []
    for threads in ("1", "3"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "POLARS_MAX_THREADS": threads}
        command = [
            sys.executable,
            "-c",
            program,
            "agree",
            "ref.npz",
            "base.npz",
            "--pairs",
            "100",
            "-o",
            threads,
            "-q",
        ]
        ended = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=environment)
        assert ended.returncode == 0, ended.stderr
        found.append((ended.stdout, tree(folder / threads)))
    assert found[0] == found[1] and len(found[0][1]) == 5


# --- what is written and said -------------------------------------------------------------------------------------


def test_what_is_written(rankjury: Rankjury) -> None:
    outcome = rankjury(
        "agree", "ref.npz", "base.npz", "tuned.npz", "--k-values", "1,3", "--pairs", "0", "-o", "deep/results"
    )
    assert outcome.code == 0, outcome.err
    place = Path("deep/results")
    saved = json.loads((place / "report.json").read_text("utf-8"))
    assert (place / "metrics_vs_k.png").read_bytes().startswith(PNG)
    table = pl.read_parquet(place / "queries.parquet")
    labels = [f"{measure}@{k}" for measure in MEASURES for k in (1, 3)]
    assert table.columns == ["system", "query_id", *labels] and table.height == 2 * COUNT
    for name in ("base", "tuned"):
        rows = list(csv.DictReader((place / f"{name}_results.csv").read_text("utf-8").splitlines()))
        assert [row["k"] for row in rows] == ["1", "3"]
        of_system = table.filter(pl.col("system") == name)
        for short, measure in zip(("recall", "ndcg", "mrr", "map", "rbo"), MEASURES, strict=True):
            for row in rows:
                label = f"{measure}@{row['k']}"
                one = saved["systems"][name]["measures"][label]
                low, high = one["ci"]
                assert (float(row[f"{short}_mean"]), float(row[f"{short}_ci_low"])) == (one["mean"], low)
                assert float(row[f"{short}_ci_high"]) == high
                values = of_system[label].to_numpy()
                assert float(row[f"{short}_mean"]) == pytest.approx(values.mean(), abs=1e-12)
                assert float(row[f"{short}_std"]) == pytest.approx(values.std(ddof=1), abs=1e-12)


def test_the_report_can_be_gated(rankjury: Rankjury) -> None:
    line = rankjury("agree", "ref.npz", "base.npz", "--pairs", "0", "-o", "out").err.splitlines()[-1]
    assert "out/report.json" in line and "rankjury gate" in line
    put("targets.toml", 'targets = ["ndcg(gain=binary,gold=k)@10 >= 0.01"]\n')
    assert rankjury("gate", "targets.toml", "out/report.json").code == 0
    put("targets.toml", 'targets = ["ndcg(gain=binary,gold=k)@10 >= 0.999"]\n')
    assert rankjury("gate", "targets.toml", "out/report.json").code == 4


def test_names_with_odd_characters(rankjury: Rankjury) -> None:
    names = ["we ird:é(1)", 'a,b"c', "{system}", "[bold]x"]
    for name in names:
        put_npz(f"{name}.npz", SPACES["base"])
    outcome = rankjury(
        "agree", "ref.npz", *(f"{name}.npz" for name in names), "--k-values", "1,3", "--pairs", "50", "-o", "out"
    )
    assert outcome.code == 0, outcome.err
    saved = json.loads(Path("out/report.json").read_text("utf-8"))
    assert list(saved["systems"]) == names and all(f"\n{name}:\n" in outcome.out for name in names)
    tables = sorted(path.name for path in Path("out").glob("*_results.csv"))
    assert len(tables) == len(names) and all(re.fullmatch(r"[\w.+-]+", name) for name in tables)
    assert {path.read_text() for path in Path("out").glob("*_results.csv")} == {
        (Path("out") / "a_b_c_results.csv").read_text()
    }


def test_names_that_come_to_one_file(rankjury: Rankjury) -> None:
    put_npz("x y.npz", SPACES["base"])
    put_npz("x_y.npz", SPACES["base"])
    check_failure(rankjury("agree", "ref.npz", "x y.npz", "x_y.npz", "-o", "out"), 2, "x_y_results.csv")
    assert not Path("out").exists()
    assert rankjury("agree", "ref.npz", "x y.npz", "x_y.npz", "--pairs", "0").code == 0


def test_json_is_the_whole_of_standard_output(rankjury: Rankjury) -> None:
    outcome = rankjury("agree", "ref.npz", "base.npz", "--json", "-o", "out")
    assert "NaN" not in outcome.out and "Next" not in outcome.err
    saved = json.loads(Path("out/report.json").read_text("utf-8"))
    form = report_of(outcome)
    assert form["systems"] == saved["systems"]
    assert form["provenance"]["name"] == "agreement with ref"


def test_quiet(rankjury: Rankjury) -> None:
    given = ["agree", "ref.npz", "base.npz", "--pairs", "0", "--n-samples", "10"]
    loud, quiet = rankjury(*given), rankjury(*given, "-q", "-o", "out")
    assert quiet.err == "" and quiet.out == loud.out != "" and Path("out/report.json").is_file()
    assert loud.warnings and "Next: " in loud.err


def test_without_an_output_nothing_is_written(rankjury: Rankjury, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    outcome = rankjury("agree", "ref.npz", "base.npz")
    assert sorted(folder.rglob("*")) == before
    assert outcome.err.splitlines()[-1].startswith("Next: keep tables, plot and report with -o results")
    assert "own item is excluded" in outcome.err and "--keep-self" in outcome.err


def test_one_candidate_is_compared_with_nothing(rankjury: Rankjury) -> None:
    outcome = rankjury("agree", "ref.npz", "base.npz")
    assert not re.search(" (over|vs) base", outcome.out) and "difference" not in outcome.out
    assert "baseline" not in agreed(rankjury, "ref.npz", "base.npz")


def test_in_a_terminal(folder: Path) -> None:
    arguments = ["agree", "ref.npz", "base.npz", "tuned.npz", "--pairs", "50", "-q"]
    for given in ([], ["--full"]):
        seen = in_terminal([*arguments, *given], COLUMNS="60").replace("\r\n", "\n")
        text = re.sub(r"\x1b\[[0-9;]*m", "", seen)
        assert max(map(len, text.splitlines())) <= 60
        assert len(re.findall(r"\d±\d", text)) == 2 * 4 * 5
        assert ("more lines: --full" not in text and "RMSE" in text) if given else len(text.splitlines()) <= 60
        assert ("…" in text) == (not given)


def test_examples_of_help_work(rankjury: Rankjury) -> None:
    for name, space in (("ada", "ref"), ("base", "base"), ("tuned", "tuned")):
        np.save(f"{name}.npy", np.tile(SPACES[space], (13, 1)) + np.random.default_rng(1).normal(size=(520, 1)))
    put_npz("reference.npz", SPACES["ref"])
    put_npz("candidate.npz", np.tile(SPACES["base"], (1, 30)))
    put_run("exact.trec", "ref")
    put_run("index.trec", "base")
    examples = help_examples(rankjury("agree", "--help").out)
    assert len(examples) == 3
    for example in examples:
        arguments = example.replace("10,100", "10,20").split()[1:]
        outcome = rankjury(*arguments, "--pairs", "50", *(["--n-samples", "30"] if "-o" in arguments else []))
        assert outcome.code == 0, (example, outcome.err)


# --- where it is written ------------------------------------------------------------------------------------------


def test_an_output_folder_that_is_there(rankjury: Rankjury) -> None:
    put("out/report.json", "what was there")
    put("out/mine.txt", "mine")
    assert rankjury("agree", "ref.npz", "base.npz", "--pairs", "0", "-o", "out").code == 0
    assert "was there" not in Path("out/report.json").read_text() and Path("out/mine.txt").read_text() == "mine"


@pytest.mark.parametrize("place", ["a-file", "a-file/below"])
def test_a_place_that_cannot_be_a_folder(rankjury: Rankjury, place: str) -> None:
    put("a-file", "x")
    check_failure(rankjury("agree", "ref.npz", "base.npz", "--pairs", "0", "--k-values", "1", "-o", place), 3, place)


def test_all_or_nothing_is_written(rankjury: Rankjury) -> None:
    Path("out/queries.parquet").mkdir(parents=True)
    outcome = rankjury("agree", "ref.npz", "base.npz", "--pairs", "0", "-o", "out")
    check_failure(outcome, 3, "out/queries.parquet", "found a folder")
    assert [path.name for path in Path("out").iterdir()] == ["queries.parquet"]


def test_a_folder_that_cannot_be_written_to(rankjury: Rankjury) -> None:
    Path("out").mkdir(mode=0o500)
    if os.access("out", os.W_OK):
        pytest.skip("this user may write anywhere")
    check_failure(rankjury("agree", "ref.npz", "base.npz", "--pairs", "0", "-o", "out"), 3, "out")


# --- what is refused ----------------------------------------------------------------------------------------------


def put_bad() -> None:
    base = SPACES["base"]
    for name, value in (("nan", np.nan), ("inf", np.inf), ("zero", 0.0)):
        bad = base.copy()
        bad[4] = value
        put_npz(f"{name}.npz", bad)
    np.save("bare/short.npy", base[:-1])
    put_npz("fewer.npz", base[:-1], IDS[:-1])
    put_npz("more.npz", np.vstack([base, base[:1]]), [*IDS, "stranger"])
    put_npz("others.npz", base, [*IDS[:-1], "stranger"])
    put_npz("twice.npz", base, [*IDS[:-1], IDS[0]])
    put("few.txt", "a\nb\n")
    put("nothing.trec", "")
    put("nothing.json", "{}")
    put("strangers.trec", "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n")
    put_run("base.trec", "base")


BOTH = ["ref.npz", "base.npz"]
ERRORS: list[tuple[list[str], int, list[str]]] = [
    (["bare/ref.npy", "bare/short.npy"], 3, ["40 rows and 39 rows", "bare/ref.npy", "bare/short.npy"]),
    (["ref.npz", "fewer.npz"], 3, ["only in ref.npz", "p39", "the same ids"]),
    (["fewer.npz", "ref.npz"], 3, ["only in ref.npz", "p39", "the same ids"]),
    (["ref.npz", "more.npz"], 3, ["only in more.npz", "stranger"]),
    (["ref.npz", "others.npz"], 3, ["only in ref.npz (p39)", "only in others.npz (stranger)"]),
    (["ref.npz", "twice.npz"], 3, ["twice.npz", "p00", "duplicate ids"]),
    (["ref.npz", "bare/base.npy"], 3, ["bare/base.npy has no ids", "ids for both"]),
    (["bare/ref.npy", "base.npz"], 3, ["bare/ref.npy has no ids", "ids for both"]),
    (["bare/ref.npy", "bare/base.npy", "--ids", "few.txt"], 3, ["few.txt", "40", "2"]),
    (["bare/ref.npy", "bare/base.npy", "--ids", "nowhere.txt"], 3, ["nowhere.txt"]),
    (["ref.npz", "nan.npz"], 3, ["nan.npz", "NaN", "p04"]),
    (["nan.npz", "base.npz"], 3, ["nan.npz", "NaN", "p04"]),
    (["ref.npz", "inf.npz"], 3, ["inf.npz", "p04"]),
    (["ref.npz", "zero.npz"], 3, ["zero.npz", "p04", "zero"]),
    (["zero.npz", "base.npz"], 3, ["zero.npz", "p04", "zero"]),
    ([*BOTH, "--k-values", "40"], 3, ["the cut-off is 40", "39 items", "up to 39"]),
    ([*BOTH, "--k-values", "1", "3", "1000000"], 3, ["1,000,000", "up to 39"]),
    ([*BOTH, "--n-samples", "41"], 3, ["a sample of 41 from 40", "at most 40"]),
    ([*BOTH, "--n-samples", "0"], 2, ["--n-samples is 0"]),
    ([*BOTH, "--k-values", "0"], 2, ["-k", "from 1"]),
    ([*BOTH, "--k-values", "1,x"], 2, ["-k", "'1,x'"]),
    ([*BOTH, "--k-values", ""], 2, ["-k"]),
    ([*BOTH, "--k-values", "1.5"], 2, ["-k", "1.5"]),
    (["ref.npz"], 2, ["a reference and at least one candidate"]),
    (["ref.npz", "--k-values", "1", "3"], 2, ["a reference and at least one candidate"]),
    (["ref.npz", "nowhere.npz"], 3, ["nowhere.npz", "no such file"]),
    (["nowhere.npz", "base.npz"], 3, ["nowhere.npz", "no such file"]),
    (["ref.npz", "nowhere.npz:key"], 3, ["nowhere.npz", "no such file"]),
    ([*BOTH, "base.npz"], 2, ["base.npz", "twice"]),
    ([*BOTH, "--truncate", "6"], 2, ["first 6 dimensions", "1 to 5", "base.npz"]),
    ([*BOTH, "--dtype", "int4"], 2, ["int4", "Did you mean int8?"]),
    ([*BOTH, "--baseline", "bose"], 2, ["bose", "Did you mean base?"]),
    (["ref.npz", "nothing.trec"], 3, ["nothing.trec", "empty"]),
    (["nothing.trec", "base.npz"], 3, ["nothing.trec", "empty"]),
    (["ref.npz", "nothing.json"], 3, ["nothing.json"]),
    (["ref.npz", "base.trec", "--truncate", "3"], 2, ["base.trec is a run", "vectors"]),
    (["ref.npz", "base.trec", "--over", "sampled"], 2, ["sampled pairs need vectors"]),
    (["ref.npz", "strangers.trec"], 3, ["strangers"]),
]


@pytest.mark.parametrize(("arguments", "code", "fragments"), ERRORS, ids=[" ".join(one[0]) for one in ERRORS])
def test_errors(rankjury: Rankjury, folder: Path, arguments: list[str], code: int, fragments: list[str]) -> None:
    put_bad()
    before = tree(folder)
    check_failure(rankjury("agree", *arguments, "-o", "out"), code, *fragments)
    assert tree(folder) == before and not Path("out").exists()


def test_an_unknown_similarity(rankjury: Rankjury) -> None:
    check_failure(rankjury("agree", *BOTH, "tuned.npz", "--distance", "cosin"), 2, "cosin", "Did you mean cosine")


def test_ids_that_are_of_no_file(rankjury: Rankjury) -> None:
    check_failure(rankjury("agree", *BOTH, "--ids", "names.csv:id"), 2, "--ids", ".npy")


@pytest.mark.parametrize("arguments", [[], ["--seed", "-1"], ["--truncate", "0"], ["--ties", "all"], ["--over", "k"]])
def test_options_that_the_parser_refuses(rankjury: Rankjury, arguments: list[str]) -> None:
    outcome: Outcome = rankjury("agree", *(BOTH if arguments else []), *arguments)
    assert outcome.code == 2 and outcome.out == "" and "Traceback" not in outcome.err
    assert "REFERENCE" in outcome.err if not arguments else arguments[0] in outcome.err
