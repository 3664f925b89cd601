"""rankjury.compare and rankjury.gate as a script calls them."""

import random
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import rankjury
from rankjury.errors import DuplicatePair, UnknownName, UsageError
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import QueryData, SystemResult
from rankjury.evaluation.targets import Target
from rankjury.reporting.writers import OutputRequest, write_reports
from rankjury.stats.resampling import Resampling

QUICK = Resampling(resamples=200)


def example(queries: int = 30) -> tuple[dict[str, Any], dict[str, Any]]:
    """A good, a middling and a poor system."""
    chance = random.Random(3)
    gold = {f"q{q:02}": {f"d{i}": chance.randrange(1, 3) for i in range(5)} for q in range(queries)}
    items = [f"d{i}" for i in range(12)]

    def ranked(judged: dict[str, int], skill: float) -> list[str]:
        return sorted(items, key=lambda item: (item in judged) * skill + chance.random(), reverse=True)

    skills = {"poor": 0.1, "good": 0.9, "middling": 0.4}
    systems = {name: {query: ranked(gold[query], skill) for query in gold} for name, skill in skills.items()}
    return gold, systems


GOLD, SYSTEMS = example()
TYPES = {"query_id": list(GOLD), "type": ["a", "b", "c"] * 10, "length": list(range(30))}


@pytest.fixture(scope="module")
def report() -> Report:
    return rankjury.compare(GOLD, SYSTEMS, ["ndcg@5", "ap"], resampling=QUICK, slices=pl.DataFrame(TYPES), by="type")


class TestCompare:
    def test_the_first_is_the_baseline(self, report: Report) -> None:
        assert report.baseline == "poor"
        assert [(one.system, one.measure) for one in report.comparisons] == [
            *(("good", "ndcg@5"), ("good", "ap"), ("middling", "ndcg@5"), ("middling", "ap"))
        ]
        assert report.comparisons[0].is_significant(0.95) and report.comparisons[0].difference > 0.2

    def test_a_description_changes_no_p_value(self, report: Report) -> None:
        """recall@100 had p = 0.052 beside judged@10, and 0.043 without it, on the same runs."""
        measures = ["ndcg@5", "ap", "judged@10", "num_ret"]
        other = rankjury.compare(GOLD, SYSTEMS, measures, resampling=QUICK, slices=pl.DataFrame(TYPES), by="type")
        quality = [one for one in other.comparisons if one.measure in ("ndcg@5", "ap")]
        assert quality == list(report.comparisons)
        assert {one.p for one in other.comparisons if one.measure in ("judged@10", "num_ret")} == {None}
        assert all(one.ci is not None for one in other.comparisons)

    def test_or_the_one_named(self, report: Report) -> None:
        other = rankjury.compare(GOLD, SYSTEMS, "ndcg@5", baseline="good", resampling=QUICK)
        assert {one.baseline for one in other.comparisons} == {"good"}
        poor = next(one for one in other.comparisons if one.system == "poor")
        assert poor.difference == -report.comparisons[0].difference
        with pytest.raises(UnknownName, match=r"unknown system 'goo'\. Did you mean good"):
            rankjury.compare(GOLD, SYSTEMS, baseline="goo")

    @pytest.mark.parametrize("n", [0, 1])
    def test_two_at_least(self, n: int) -> None:
        with pytest.raises(rankjury.UsageError, match=f"found {n} rankings? by name .* expected two rankings or more"):
            rankjury.compare(GOLD, dict(list(SYSTEMS.items())[:n]))

    def test_scores_are_those_of_evaluate(self, report: Report) -> None:
        for name, run in SYSTEMS.items():
            alone = rankjury.evaluate(GOLD, run, ["ndcg@5", "ap"])
            assert alone.estimates(QUICK) == report.estimates[name]
            assert alone.values.tobytes() == report.scores[name].values.tobytes()

    def test_usual_measures_and_resampling(self) -> None:
        few = {q: GOLD[q] for q in list(GOLD)[:5]}
        found = rankjury.compare(few, {"a": SYSTEMS["poor"], "b": SYSTEMS["good"]})
        assert found.labels == ("ndcg@10", "ap", "rr", "recall@100", "precision@10", "judged@10")
        assert found.resampling == Resampling()

    def test_conventions_and_dialects(self) -> None:
        found = rankjury.compare(GOLD, SYSTEMS, "ap", rel=2, resampling=QUICK)
        assert found.systems["good"].conventions == {"ap": "ap(rel=2)"}
        found = rankjury.compare(GOLD, SYSTEMS, "map", dialect="trec_eval", resampling=QUICK)
        alone = rankjury.evaluate(GOLD, SYSTEMS["good"], "map", dialect="trec_eval")
        assert tuple(found.systems["good"].conventions.values()) == alone.conventions

    def test_duplicates(self) -> None:
        rows = pl.DataFrame({"query_id": ["q00", "q00"], "item_id": ["d1", "d1"], "score": [2.0, 1.0]})
        twice = {"a": SYSTEMS["poor"], "b": rows}
        with pytest.raises(rankjury.DataError, match="duplicate item"):
            rankjury.compare(GOLD, twice, "ap", resampling=QUICK)
        found = rankjury.compare(GOLD, twice, "ap", resampling=QUICK, duplicates="first")
        assert any("1 duplicate row was dropped" in warning for warning in found.warning_lines)

    def test_as_shown(self, report: Report) -> None:
        lines = repr(report).splitlines()
        assert lines[0].startswith("good is better than poor: ndcg@5 +")
        table = lines[lines.index("") + 1 :]
        assert table[0].split() == ["measure", "system", "mean", "difference", "p"]
        assert [line.split()[:2] for line in table[1:4]] == [
            *(["ndcg@5", "poor"], ["ndcg@5", "good"], ["ndcg@5", "middling"])
        ]
        good = report.comparisons[0]
        assert f"+{good.difference:.3f} [" in table[2] and table[2].endswith("<0.02")
        assert table[1].rstrip().endswith("]") and table[1].count("[") == 1, "the baseline has no difference"


class TestSlices:
    @pytest.mark.parametrize("form", ["polars", "pandas", "dict", "csv", "path", "parquet"])
    def test_from_a_frame_or_a_file(self, report: Report, form: str, tmp_path: Path) -> None:
        frame = pl.DataFrame(TYPES)
        frame.write_csv(tmp_path / "t.csv")
        frame.write_parquet(tmp_path / "t.parquet")
        given: Any = {
            "polars": frame,
            "pandas": pd.DataFrame(TYPES),
            "dict": TYPES,
            "csv": str(tmp_path / "t.csv"),
            "path": tmp_path / "t.csv",
            "parquet": tmp_path / "t.parquet",
        }[form]
        found = rankjury.compare(GOLD, SYSTEMS, ["ndcg@5", "ap"], resampling=QUICK, slices=given, by="type")
        assert repr(found.slices) == repr(report.slices)
        assert [part.name for part in found.slices] == ["type=a", "type=b", "type=c"]

    def test_the_docstrings_example(self) -> None:
        table = {**TYPES, "lang": ["fr", "en"] * 15}
        by = "type,length(quantiles=3),type*lang"
        found = rankjury.compare(GOLD, SYSTEMS, "ap", resampling=QUICK, slices=table, by=by)
        assert [part.name for part in found.slices] == [
            *("type=a", "type=b", "type=c", "length=q1", "length=q2", "length=q3"),
            *(f"type={kind}*lang={lang}" for kind in "abc" for lang in ("en", "fr")),
        ]

    def test_whatever_groups_where_nothing_is_named(self) -> None:
        found = rankjury.compare(GOLD, SYSTEMS, "ap", resampling=QUICK, slices=TYPES)
        assert [part.name for part in found.slices][2:5] == ["type=c", "length=q1", "length=q2"]

    def test_a_misspelt_attribute(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown attribute 'tpye'\. Did you mean type\?"):
            rankjury.compare(GOLD, SYSTEMS, "ap", resampling=QUICK, slices=TYPES, by="tpye")

    def test_a_table_without_ids(self) -> None:
        with pytest.raises(rankjury.DataError, match="none holds ids"):
            rankjury.compare(GOLD, SYSTEMS, "ap", resampling=QUICK, slices={"type": ["a"] * 30})


class TestGate:
    def test_a_fresh_report(self, report: Report) -> None:
        gate = rankjury.gate(report, "ndcg@5 gain > 0", Target("ap", ">=", 0.99, name="very good"))
        assert {(v.target.title, v.system): v.outcome for v in gate.verdicts} == {
            ("ndcg@5", "good"): "pass",
            ("ndcg@5", "middling"): "pass",
            ("very good", "good"): "unsure",
            ("very good", "middling"): "fail",
        }
        assert gate.outcome == "fail" and gate.baseline == "poor"

    def test_in_a_slice(self, report: Report) -> None:
        (verdict,) = rankjury.gate(report, Target("ap", ">=", 0.1, slice="type=b", system="good")).verdicts
        part = next(part for part in report.slices if part.name == "type=b")
        estimate = part.estimates["good"]["ap"]
        assert (verdict.value, verdict.ci, verdict.n) == (estimate.mean, estimate.ci, 10)
        (relative,) = rankjury.gate(report, Target("ap", ">", 0, "gain", slice="type=b", system="good")).verdicts
        compared = next(one for one in part.beside if (one.system, one.measure) == ("good", "ap"))
        assert (relative.value, relative.ci) == (compared.difference, compared.ci)

    def test_a_saved_one_gives_the_same_verdicts(self, report: Report, tmp_path: Path) -> None:
        path = tmp_path / "r.json"
        write_reports(report, [OutputRequest(str(path))])
        shutil.copy(path, tmp_path / "copy.json")
        targets = ["ndcg@5 gain > 0", "ap drop <= 1 %", "ap >= 0.5"]
        fresh = rankjury.gate(report, *targets).verdicts
        assert (
            repr(rankjury.gate(path, *targets).verdicts)
            == repr(rankjury.gate(str(path), *targets).verdicts)
            == repr(fresh)
        )
        against_itself = rankjury.gate(path, "ap drop <= 0", baseline=tmp_path / "copy.json")
        assert {(v.outcome, v.value) for v in against_itself.verdicts} == {("pass", 0.0)}

    def test_against_another_report(self) -> None:
        scores = rankjury.evaluate(GOLD, SYSTEMS["good"], ["ap"])
        result = SystemResult.of(scores, scores.estimates(QUICK))
        alone, same = (Report({name: result}, QUICK, queries=QueryData({name: scores})) for name in ("x", "y"))
        (verdict,) = rankjury.gate(alone, "ap drop <= 0", baseline=same).verdicts
        assert (verdict.outcome, verdict.value, verdict.ci) == ("pass", 0.0, (0.0, 0.0))

    def test_another_of_its_systems(self, report: Report) -> None:
        gate = rankjury.gate(report, "ap drop <= 0.9", baseline="good")
        assert {v.system: v.value < 0 for v in gate.verdicts} == {"poor": True, "middling": True}

    def test_a_gate_that_failed_is_false(self, report: Report) -> None:
        """``assert rankjury.gate(...)`` passed whatever came of the targets."""
        failed = rankjury.gate(report, "ap >= 0.99")
        assert (failed.outcome, bool(failed), failed.passed, failed.failed) == ("fail", False, False, True)
        assert {verdict.outcome: bool(verdict) for verdict in failed.verdicts} == {"unsure": False, "fail": False}
        passed = rankjury.gate(report, "ap >= 0", strict=True)
        assert passed and passed.passed and not passed.failed and not passed.unsure

    def test_an_unsure_gate_is_not_true(self, report: Report) -> None:
        """The exit code is that of ``rankjury gate``, with and without --strict."""
        target = Target("ap", ">=", 0.99, system="good")
        for strict, code in ((False, 0), (True, 5)):
            gate = rankjury.gate(report, target, strict=strict)
            assert (gate.outcome, gate.exit_code, bool(gate), gate.unsure) == ("unsure", code, False, True)

    def test_a_target_that_is_no_text(self, report: Report) -> None:
        with pytest.raises(rankjury.UsageError, match="float"):
            rankjury.gate(report, 0.5)  # type: ignore[arg-type]

    def test_no_target_is_no_pass(self, report: Report) -> None:
        with pytest.raises(rankjury.UsageError):
            rankjury.gate(report)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", "not JSON"),
            ("[]", "not a report of rankjury"),
            ('{"schema": "rankjury.report/9", "systems": {"a": {}}}', r"the schema is 'rankjury\.report/9'"),
            ('{"schema": "rankjury.report/1", "systems": {"a": {}}}', "systems → a → measures"),
            ('{"schema": "rankjury.report/1", "systems": {}}', "the report has no system"),
        ],
    )
    def test_what_is_no_report(self, tmp_path: Path, content: str, message: str) -> None:
        path = tmp_path / "r.json"
        path.write_text(content)
        with pytest.raises(rankjury.DataError, match=message):
            rankjury.gate(path, "ap > 0")


class TestConventions:
    """What is misspelt in Python is told, as on the command line."""

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"rell": 4}, "unknown argument 'rell'. Did you mean rel"),
            ({"missing": "nope"}, "unknown value .*'nope'"),
            ({"gain": "exp"}, r"unknown argument 'gain'.*ndcg\(gain=exp\)@10"),
            ({"rel": "four"}, "rel=four; expected a number"),
        ],
    )
    def test_are_known(self, given: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            rankjury.evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["ndcg@10", "recall@10"], **given)

    def test_numbers_may_be_written(self) -> None:
        for rel in (2, 2.0, "2"):
            assert rankjury.evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, ["rr"], rel=rel).mean() == {"rr": 0.5}

    def test_a_task_is_no_background(self) -> None:
        with pytest.raises(UsageError, match=r"a background of type dict; expected background=task\.background"):
            rankjury.evaluate({"q": {"a": 1}}, {"q": ["a"]}, ["coverage@10"], background={})  # type: ignore[arg-type]

    def test_a_measure_is_a_spelling(self) -> None:
        with pytest.raises(UsageError, match="a measure of type int"):
            rankjury.evaluate({"q": {"a": 1}}, {"q": ["a"]}, [3])  # type: ignore[list-item]


def test_duplicates_name_the_ranking() -> None:
    """Of several rankings in memory, the error about duplicates names the one that has them."""
    repeated = pl.DataFrame({"query_id": ["q", "q"], "item_id": ["a", "a"], "score": [2.0, 1.0]})
    with pytest.raises(DuplicatePair, match=r"^ranking 'new': duplicate item 'a'"):
        rankjury.evaluate({"q": {"a": 1}}, {"old": {"q": ["a"]}, "new": repeated}, "rr")


def test_duplicates_of_the_gold() -> None:
    """Rows of the gold that are dropped are counted once, and not as those of every ranking."""
    gold = pl.DataFrame({"query_id": ["q", "q"], "item_id": ["a", "a"], "grade": [0, 1]})
    report = rankjury.evaluate(gold, {"old": {"q": ["a"]}, "new": {"q": ["a"]}}, "rr", duplicates="max")
    (warning,) = [warning for warning in report.warnings if "duplicate" in warning.text]
    assert warning.system is None and "gold" in warning.text and warning.count == 1
