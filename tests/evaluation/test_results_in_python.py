"""What a script does with results: print, save, frames, one run or several, hits."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankjury
from rankjury.errors import DataError, RankjuryError, UsageError

GOLD = {f"q{i}": {"a": 2, "b": 1} for i in range(24)}
GOOD = {query: {"a": 0.9, "b": 0.5, "c": 0.1} for query in GOLD}
BAD = {query: {"c": 0.9, "b": 0.5, "a": 0.1} for query in GOLD}
QUICK = rankjury.Resampling(resamples=200)


@pytest.fixture(scope="module")
def scores() -> rankjury.Scores:
    return rankjury.evaluate(GOLD, BAD, ["rr", "ndcg@10"])


@pytest.fixture(scope="module")
def report() -> rankjury.Report:
    return rankjury.compare(GOLD, {"bad": BAD, "good": GOOD}, ["rr", "ndcg@10"], resampling=QUICK)


class TestAnswer:
    def test_of_one_system(self, scores: rankjury.Scores) -> None:
        lines = str(scores).splitlines()
        assert lines[0].startswith("ranking: rr 0.5000 [0.5000, 0.5000] over 24 queries")
        assert lines[2].split() == ["measure", "mean", "n", "undefined"]

    def test_of_a_gate(self, report: rankjury.Report) -> None:
        gate = rankjury.gate(report, ["rr >= 0.9", "ndcg@10 >= 1.1"])
        lines = str(gate).splitlines()
        assert lines[0] == gate.sentence and "1 of 2 targets failed" in lines[0]
        assert [line.split()[:2] for line in lines[3:5]] == [["FAIL", "ndcg@10"], ["PASS", "rr"]]


class TestNamesAndTexts:
    def test_of_a_dict_and_of_a_column(self, tmp_path: Path) -> None:
        path = tmp_path / "items.csv"
        path.write_text("id,title\na,Alpha\n", encoding="utf-8")
        runs = {"good": GOOD, "bad": BAD}
        report = rankjury.compare(GOLD, runs, "rr", resampling=QUICK, names=f"{path}:title", texts={"q0": "first"})
        assert (report.names["a"], report.texts["q0"]) == ("Alpha", "first")
        assert 'Largest loss: q0 "first", 1.000 → 0.500.' in " ".join(report.summary)

    def test_a_file_without_a_column(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"FILE:COLUMN, such as queries\.jsonl:text"):
            rankjury.compare(GOLD, {"good": GOOD, "bad": BAD}, "rr", texts="queries.jsonl")


class TestOneOrSeveral:
    def test_names_give_a_report(self) -> None:
        report = rankjury.evaluate(GOLD, {"good": GOOD, "bad": BAD}, ["rr"], resampling=QUICK)
        assert isinstance(report, rankjury.Report) and report.baseline is None
        assert report.mean() == {"good": {"rr": 1.0}, "bad": {"rr": 0.5}}
        assert report.per_query.columns == ["system", "query_id", "rr"]
        alone = rankjury.evaluate(GOLD, BAD, ["rr"])
        assert report.estimates["bad"] == alone.estimates(QUICK)

    def test_without_intervals(self) -> None:
        report = rankjury.evaluate(GOLD, {"good": GOOD}, "rr", resampling=None)
        assert report.systems["good"].estimates["rr"].ci is None

    def test_each_in_its_own_form(self, tmp_path: Path) -> None:
        path = tmp_path / "run.json"
        path.write_text(json.dumps(GOOD))
        hits = [{"query": q, "id": i, "score": s} for q, items in GOOD.items() for i, s in items.items()]
        frame = pl.DataFrame({"query_id": [h["query"] for h in hits], "item_id": [h["id"] for h in hits], "rank": 1})
        forms = {
            "path": path,
            "text": str(path),
            "hits": hits,
            "lists": {q: list(items) for q, items in GOOD.items()},
            "polars": frame.with_columns(rank=pl.int_range(1, 4).repeat_by(1).explode().over("query_id")),
            "pandas": pd.DataFrame(hits),
            "ranking": rankjury.as_ranking(GOOD),
        }
        for name, form in forms.items():
            found = rankjury.evaluate(GOLD, {name: form, "other": BAD}, "rr", resampling=None)
            assert found.mean()[name] == {"rr": 1.0}, name

    @pytest.mark.parametrize("run", [{}, {"q0": []}, {"q0": {}}, {"q0": ["a"]}, {"q0": np.array(["a", "b"])}])
    def test_one_run_is_not_taken_for_several(self, run: Any) -> None:
        try:
            assert isinstance(rankjury.evaluate(GOLD, run, "rr"), rankjury.Scores)
        except DataError as error:
            assert "found no rows" in str(error) or "no query in common" in str(error)

    def test_a_fault_names_the_run(self) -> None:
        with pytest.raises(DataError, match=r"ranking 'broken'.*'high'.*item 'a' of query 'q0'"):
            rankjury.evaluate(GOLD, {"good": GOOD, "broken": {"q0": {"a": "high"}}})

    def test_compare_wants_names(self) -> None:
        with pytest.raises(UsageError, match="found rankings of type str; expected two rankings or more by name"):
            rankjury.compare(GOLD, "run.trec")  # type: ignore[arg-type]


class TestHits:
    @pytest.mark.parametrize(
        "hits",
        [
            [{"query": "q", "id": "b", "score": 0.9}, {"query": "q", "id": "a", "score": 0.5}],
            [{"qid": "q", "doc_id": "a", "rank": 2}, {"qid": "q", "doc_id": "b", "rank": 1}],
            [
                {"query_id": "q", "_id": "a", "_score": 1},
                {"query_id": "q", "_id": "b", "_score": 2, "_source": {"x": 1}},
            ],
            [{"query": "q", "id": "b"}, {"query": "q", "id": "a"}],
            {"q": [{"id": "b", "score": 0.9}, {"id": "a", "score": 0.5}], "none": []},
        ],
    )
    def test_of_every_kind(self, hits: Any) -> None:
        gold = {"q": {"a": 1}, "none": {"a": 1}}
        assert rankjury.evaluate(gold, hits, "rr")["rr"].tolist() == [0.0, 0.5]

    def test_a_query_without_hits_is_there(self) -> None:
        gold = {"q": {"a": 1}, "none": {"a": 1}}
        found = rankjury.evaluate(gold, {"q": [{"id": "a", "score": 1}], "none": []}, "rr", missing="error")
        assert found.mean() == {"rr": 0.5}

    @pytest.mark.parametrize(
        ("hits", "facts"),
        [
            ([{"query": "q", "id": "a", "score": None}], ("record 1 has no score",)),
            ([{"query": "q", "id": "a", "score": 1}, {"query": "q", "score": 1}], ("record 2 has no id",)),
            ([{"query": "q", "score": 1}], ("no column for item_id",)),
            ([{"query": "q", "id": 1.5, "score": 1}], ("item 1.5",)),
            ([{"query": "q", "id": "a", "score": "x"}], ("'x'",)),
            ([{"query": "q", "id": "a", "score": float("nan")}], ("NaN", "item 'a'")),
            ([{"query": "q", "id": "a", "score": 1}] * 2, ("duplicate item", "'a'", "'q'")),
            ([{"query": "q", "id": "a", "score": 1}, "b"], ("record 2 is of type str",)),
            ({"q": [{"id": "a", "score": 1}], "r": "b"}, ("query 'r' has str",)),
        ],
    )
    def test_that_are_wrong(self, hits: Any, facts: tuple[str, ...]) -> None:
        with pytest.raises(RankjuryError) as caught:
            rankjury.evaluate({"q": {"a": 1}}, hits, "rr")
        assert all(fact in str(caught.value) for fact in facts)

    def test_as_gold(self) -> None:
        gold = [{"query": "q", "id": "a", "grade": 2}, {"query": "q", "id": "b", "grade": 0}]
        assert rankjury.evaluate(gold, {"q": ["b", "a"]}, "rr").mean() == {"rr": 0.5}


class TestFrames:
    def test_one_row_per_system_and_measure(self, report: rankjury.Report) -> None:
        frame = report.to_polars()
        assert frame.rows_by_key(["system", "measure"]).keys() == {
            (system, label) for system in ("bad", "good") for label in ("rr", "ndcg@10")
        }
        good = frame.row(by_predicate=(pl.col("system") == "good") & (pl.col("measure") == "rr"), named=True)
        by = report.comparisons[0]
        assert (good["mean"], good["n"], good["baseline"]) == (1.0, 24, "bad")
        assert (good["difference"], good["p"], good["p_holm"], good["better"]) == (0.5, by.p, by.p_holm, 24)
        assert (good["difference_low"], good["difference_high"]) == by.ci
        assert frame.filter(system="bad")["difference"].null_count() == 2

    def test_pandas_is_the_same(self, report: rankjury.Report) -> None:
        frame, wide = report.to_pandas(), report.to_polars()
        assert list(frame.columns) == wide.columns and len(frame) == len(wide)
        assert frame.pivot(index="measure", columns="system", values="mean").loc["rr", "good"] == 1.0

    def test_slices_on_request(self) -> None:
        table = {"query_id": list(GOLD), "type": ["x", "y"] * 12}
        report = rankjury.compare(GOLD, {"bad": BAD, "good": GOOD}, "rr", resampling=QUICK, slices=table)
        assert "slice" not in report.to_polars().columns and len(report.to_polars()) == 2
        frame = report.to_polars(slices=True)
        assert frame["slice"].unique().sort().to_list() == ["", "type=x", "type=y"] and len(frame) == 6

    def test_of_one_system(self, scores: rankjury.Scores) -> None:
        frame = scores.to_pandas()
        assert list(frame.columns) == ["system", "measure", "mean", "ci_low", "ci_high", "std", "n", "undefined"]
        assert frame["mean"].tolist() == list(scores.mean().values())


class TestSave:
    def test_several_at_once(self, report: rankjury.Report, tmp_path: Path) -> None:
        names = [tmp_path / f"r.{suffix}" for suffix in ("html", "json", "md", "csv", "png", "svg")]
        assert sorted(report.save(*names)) == sorted(names)
        assert all(path.stat().st_size for path in names)
        assert rankjury.gate(tmp_path / "r.json", "rr >= 0.9").passed
        assert (tmp_path / "r.png").read_bytes()[:4] == b"\x89PNG"

    def test_one_system(self, scores: rankjury.Scores, tmp_path: Path) -> None:
        scores.save(tmp_path / "r.json", str(tmp_path / "r.html"))
        saved = json.loads((tmp_path / "r.json").read_text())
        assert saved["systems"]["ranking"]["measures"]["rr"]["mean"] == 0.5

    @pytest.mark.parametrize("files", [(), ("r.docx",), ("r",), (3,), (None,)])
    def test_what_cannot_be_saved(self, report: rankjury.Report, files: tuple[Any, ...]) -> None:
        with pytest.raises(UsageError, match=r"file|suffix"):
            report.save(*files)


class TestGate:
    def test_lists_and_scores(self, scores: rankjury.Scores) -> None:
        assert rankjury.gate(scores, ["rr >= 0.4"], "ndcg@10 >= 0.1").passed
        assert not rankjury.gate(scores, ("rr >= 0.6",))

    def test_unsure_is_not_true(self) -> None:
        run = {query: (GOOD if number % 2 else BAD)[query] for number, query in enumerate(GOLD)}
        gate = rankjury.gate(rankjury.evaluate(GOLD, run, "rr"), "rr >= 0.74")
        assert gate.unsure and not gate and not gate.passed and not gate.failed


class TestSwapped:
    def test_gold_and_run_by_their_values(self) -> None:
        with pytest.raises(DataError, match="The gold comes first"):
            rankjury.evaluate({"q": {"a": 0.1234, "b": 0.87}}, {"q": {"a": 1, "b": 0}})
        with pytest.raises(DataError, match="The gold comes first"):
            rankjury.compare({"q": {"a": 0.1234, "b": 0.871}}, {"x": {"q": {"a": 1}}, "y": {"q": {"a": 2}}})

    def test_fractional_grades_and_plain_scores_are_no_swap(self) -> None:
        assert rankjury.evaluate({"q": {"a": 0.25, "b": 0.5}}, {"q": {"a": 1, "b": 0}}, "rr").mean() == {"rr": 1.0}
        gold = pl.DataFrame({"query_id": ["q"], "item_id": ["a"], "grade": [0.333]})
        assert rankjury.evaluate(gold, {"q": {"a": 1}}, "rr").mean() == {"rr": 1.0}


_WITHOUT_PYARROW = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name, name="pyarrow")
sys.meta_path.insert(0, Blocked())
import pandas as pd, rankjury
columns = {"query_id": ["q1", "q1", "q2"], "item_id": ["a", "b", "a"], "grade": [1, 2, 1]}
gold = pd.DataFrame(columns)
assert str(gold.dtypes["query_id"]).startswith("str") or pd.__version__ < "3"
run = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "item_id": ["b", "a", "a"], "score": [2.0, 1.0, 1.0]})
kinds = {
    "as they are": (gold, run),
    "objects": (gold.astype(object), run.astype({"query_id": object, "item_id": object})),
    "categories": tuple(frame.astype({"query_id": "category", "item_id": "category"}) for frame in (gold, run)),
    "nullable": tuple(frame.convert_dtypes(dtype_backend="numpy_nullable") for frame in (gold, run)),
    "python strings": tuple(frame.astype({"query_id": "string", "item_id": "string"}) for frame in (gold, run)),
}
for name, (truth, found) in kinds.items():
    assert rankjury.evaluate(truth, found, "ndcg@10").mean() == {"ndcg@10": 1.0}, name
outer = pd.DataFrame({"query_id": ["q1", "q2"], "item_id": ["a", None], "score": [1.0, None]})
assert rankjury.evaluate(gold, outer, "rr")["rr"].tolist() == [1.0, 0.0]
whole = {"query_id": pd.array([1, 2], dtype="Int64"), "item_id": pd.array([7, 8], dtype="Int32")}
numbered = pd.DataFrame({**whole, "score": [1, 1]})
assert rankjury.evaluate({1: [7], 2: [9]}, numbered, "rr")["rr"].tolist() == [1.0, 0.0]
types = pd.DataFrame({"query_id": ["q1", "q2"], "t": ["x", "y"]})
report = rankjury.compare(gold, {"a": run, "b": run}, "rr", slices=types)
assert len(report.to_pandas()) == 2 and len(rankjury.evaluate(gold, run, "rr").to_pandas()) == 1
vectors = pd.DataFrame({"id": ["a", "b"], "vector": [[1.0, 0.0], [0.0, 1.0]]})
assert len(rankjury.rank_vectors(vectors, k=1).ranking) == 2
assert "pyarrow" not in sys.modules
print("ok")
"""


def test_pandas_works_without_pyarrow() -> None:
    done = subprocess.run([sys.executable, "-c", _WITHOUT_PYARROW], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ok", done.stderr
