"""The sentences that a report begins with: who is better, how sure that is, and what limits trust."""

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import rankjury
from rankjury.core.convert import as_gold, as_ranking
from rankjury.core.text import escape_markdown
from rankjury.evaluation.compare import assess
from rankjury.evaluation.random_baseline import RandomRanking
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import ReportWarning, Section
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.evaluation.summary import contradicts_interval, describe_comparison, main_system
from rankjury.measures.dialects import resolve
from rankjury.reporting.writers.markdown import to_markdown
from rankjury.reporting.writers.pull_request import to_comment
from rankjury.stats.comparison import Comparison
from rankjury.stats.resampling import Resampling

QUICK = Resampling(resamples=300)
QUERIES = [f"q{number:02}" for number in range(24)]
GOLD = {query: {"d0": 1, "d1": 2} for query in QUERIES}
Run = dict[str, list[str]]


def run_of(*lists: str) -> Run:
    """A run that repeats these lists over the queries; ``10x`` is d1, d0, x."""
    names = {"0": "d0", "1": "d1", "x": "x", "y": "y"}
    return {query: [names[item] for item in lists[place % len(lists)]] for place, query in enumerate(QUERIES)}


GOOD, MIDDLE, POOR = run_of("10x"), run_of("10x", "x10", "x10", "x10"), run_of("xy0")


def assessed(runs: dict[str, Any], measures: str = "ndcg@10", **more: Any) -> Report:
    rankings = {name: run if isinstance(run, RandomRanking) else as_ranking(run) for name, run in runs.items()}
    return assess(as_gold(GOLD), rankings, [resolve(name) for name in measures.split(",")], **more)


def compared(runs: dict[str, Any], measures: str = "ndcg@10", **more: Any) -> Report:
    return assessed(runs, measures, resampling=QUICK, baseline=next(iter(runs)), **more)


def comparison(**changed: Any) -> Comparison:
    """b against a: 0.5 to 0.6 in ap over 20 queries."""
    plain: dict[str, Any] = {
        **{"system": "b", "baseline": "a", "measure": "ap", "n": 20, "left_out": 0, "mean": 0.6, "baseline_mean": 0.5},
        **{"ci": (0.02, 0.18), "p": 0.01, "p_t": 0.01, "p_wilcoxon": 0.01, "p_holm": 0.01, "p_bh": 0.01},
        **{"better": 12, "equal": 3, "worse": 5, "effect": 0.5, "std": 0.2, "detectable": 0.13, "needed": 34},
    }
    return Comparison(**(plain | changed))


def said(row: Comparison, tests: int = 1) -> str:
    return describe_comparison(row, 0.95, ("query", "queries"), tests)


class TestComparisons:
    def test_better(self) -> None:
        text = said(comparison())
        assert text == (
            "b is better than a: ap +0.100 (95 % CI +0.020 to +0.180, p = 0.010); 12 queries better, 5 worse, 3 equal."
        )

    def test_worse(self) -> None:
        text = said(comparison(mean=0.4, ci=(-0.18, -0.02), better=1, worse=16))
        assert text.startswith("b is worse than a: ap −0.100 (95 % CI −0.180 to −0.020") and "1 query better" in text

    @pytest.mark.parametrize(("mean", "verdict"), [(0.52, "to be better than"), (0.48, "to differ from")])
    def test_not_shown_says_what_could_have_been_shown(self, mean: float, verdict: str) -> None:
        """A loss that is not shown must not read as if there were none."""
        text = said(comparison(mean=mean, ci=(-0.06, 0.1), p=0.4, p_holm=0.4))
        assert f"b is not shown {verdict} a" in text
        assert "20 queries can detect 0.13" in text and "equal" not in text

    def test_less_is_better(self) -> None:
        """A difference below 0 is a gain; its sign is printed as it is."""
        text = said(comparison(mean=0.4, ci=(-0.18, -0.02), lower_is_better=True))
        assert text.startswith("b is better than a: ap −0.100 (95 % CI −0.180 to −0.020")
        assert "is worse" in said(comparison(lower_is_better=True))

    def test_undefined(self) -> None:
        row = comparison(mean=float("nan"), baseline_mean=float("nan"), n=0, ci=None, p=None, p_holm=None)
        assert "undefined for every query" in said(row)

    def test_identical(self) -> None:
        report = compared({"a": MIDDLE, "b": dict(MIDDLE)})
        (sentence,) = report.summary
        assert "the same on all 24 queries" in sentence and "better" not in sentence

    def test_an_upper_bound_of_p_is_printed_as_one(self) -> None:
        assert "p < 0.001" in said(comparison(p=1e-5, p_holm=1e-5))

    def test_without_an_interval(self) -> None:
        text = said(comparison(ci=None, n=1, p=None, p_holm=None, detectable=None, better=1, worse=0, equal=0))
        assert text.startswith("b is not shown to be better than a: ap +0.1") and "CI" not in text and "p =" not in text

    def test_a_measure_over_all_queries_counts_none(self) -> None:
        assert "equal" not in said(comparison(whole=True))

    def test_the_words_for_users(self) -> None:
        text = describe_comparison(comparison(), 0.95, ("user", "users"))
        assert "12 users better" in text and "quer" not in text

    @pytest.mark.parametrize(
        ("ci", "p", "p_holm", "expected"),
        [
            ((0.02, 0.18), 0.01, 0.01, False),
            ((0.02, 0.18), 0.01, 0.12, True),
            ((-0.02, 0.18), 0.4, 0.4, False),
            ((-0.02, 0.18), 0.04, 0.04, True),
            ((-0.18, -0.02), 0.01, 0.12, True),
            (None, 0.01, 0.12, False),
            ((0.02, 0.18), None, None, False),
        ],
    )
    def test_interval_and_p_never_contradict_in_silence(
        self, ci: Any, p: float | None, p_holm: float | None, expected: bool
    ) -> None:
        row = comparison(ci=ci, p=p, p_holm=p_holm)
        assert contradicts_interval(row, 0.95) == expected
        text = said(row, tests=12)
        assert ("after correction for 12 comparisons" in text) == expected
        assert not expected or f"{p:.3f} before" in text
        assert ("borderline" in said(row)) == expected, "a single test is not corrected"

    @pytest.mark.parametrize(("better", "p", "expected"), [(3, 0.25, True), (5, 0.0625, True), (5, 0.125, False)])
    def test_few_differences_cannot_show_one(self, better: int, p: float, expected: bool) -> None:
        """Of all 2^n signs that n differences may have, two are as extreme as when all are better."""
        row = comparison(ci=(0.02, 0.18), p=p, p_holm=p, better=better, equal=0, worse=0, n=better, exact=True)
        assert (f"the lowest possible with {better} differences" in said(row)) == expected
        assert ("borderline" in said(row)) != expected


class TestReports:
    def test_several_systems(self) -> None:
        report = compared({"poor": POOR, "middle": MIDDLE, "good": GOOD, "same": POOR})
        first, others, *_ = report.summary
        assert first.startswith("good is better than poor: ndcg@10 +")
        assert "Also better: middle" in others and "Not shown to differ: same" in others

    def test_a_baseline_that_is_best(self) -> None:
        report = compared({"good": GOOD, "poor": POOR})
        first, *more = report.summary
        assert first.startswith("poor is worse than good: ndcg@10 −")
        assert re.search(r"Largest loss: q\d\d, 1\.000 → 0\.", " ".join(more))

    def test_lower_is_better_in_a_report(self) -> None:
        found = assessed({"a": POOR, "b": GOOD}, "unjudged@1").summary[0]
        assert found.startswith("b has the lowest unjudged@1: 0.0000 over 24 queries; then a 1.0000")

    def test_measures_that_describe_a_run_are_not_tested(self) -> None:
        report = compared({"a": POOR, "b": GOOD}, "judged@1,ndcg@10")
        assert report.summary[0].startswith("b is better than a: ndcg@10"), "another measure is the main one"
        tested = {row.measure for row in report.comparisons if row.tested}
        assert tested == {"ndcg@10"}
        (row,) = (row for row in report.comparisons if row.measure == "ndcg@10")
        assert row.p_holm == row.p, "and they are not corrected for"
        alone = compared({"a": POOR, "b": GOOD}, "judged@1").summary[0]
        assert alone.startswith("b has more judged@1 than a") and "not tested" in alone

    def test_measures_under_which_no_query_differs_are_not_corrected_for(self) -> None:
        """All find both relevant items within 10, so that recall@10 is the same everywhere."""
        alone, both = (compared({"a": MIDDLE, "b": GOOD}, names).comparisons for names in ("rr", "rr,recall@10"))
        assert [row.tested for row in both] == [True, False]
        assert both[0].p_holm == alone[0].p_holm == alone[0].p

    def test_one_system(self) -> None:
        report = assessed({"only": MIDDLE}, resampling=QUICK)
        (sentence,) = report.summary
        assert re.match(r"only: ndcg@10 0\.\d+ \[0\.\d+, 0\.\d+\] over 24 queries; ", sentence)
        assert "33.3 % of its top 10 results are unjudged" in sentence, "one of three results"

    def test_what_limits_trust_has_its_numbers(self) -> None:
        scored = {query: {"d1": 1.0, "x": 1.0} for query in QUERIES[:20]}
        (sentence,) = assessed({"only": scored}, "rr@1").summary
        assert "20 queries with tied scores" in sentence and "4 queries without results" in sentence

    def test_without_intervals(self) -> None:
        sentence = assessed({"poor": POOR, "good": GOOD}).summary[0]
        assert sentence.startswith("good has the highest ndcg@10: 1.0000 over 24 queries; then poor 0.")
        assert "[" not in sentence

    def test_undefined_for_every_query(self) -> None:
        report = assess(
            as_gold({"q": {"d": 0}}), {"a": as_ranking({"q": ["d"]})}, [resolve("ap")], resampling=Resampling(100)
        )
        assert report.summary == ("ap is undefined for every query.",)

    def test_a_random_order_is_never_the_winner(self) -> None:
        report = assessed({"a": POOR, "random": RandomRanking(3)}, "rr", resampling=QUICK)
        assert "a has the highest rr" in report.summary[0] and "random" not in report.summary[0]
        assert main_system(report, "rr") == "a"

    def test_users(self) -> None:
        class Users(Section):
            unit = ("user", "users")

        report = assessed({"a": POOR, "b": GOOD}, resampling=QUICK)
        changed = replace(report, sections={"users": Users()})
        assert "24 users" in changed.summary[0] and "quer" not in changed.summary[0]

    def test_names_are_those_that_the_user_wrote(self) -> None:
        for name in ("nDCG@10", "MRR", "map"):
            found = compared({"a": POOR, "b": GOOD}, name)
            assert f" {found.labels[0]} +" in found.summary[0]


class TestSlices:
    @staticmethod
    def sliced(runs: dict[str, Any], sizes: tuple[int, int], baseline: str | None = None) -> Report:
        kinds = ["hard"] * sizes[0] + ["easy"] * sizes[1]
        frame = pl.DataFrame({"query_id": QUERIES, "kind": kinds})
        table = SliceTable(frame, "query_id", "queries", parse_attributes("kind"), "t.csv")
        return assessed(runs, resampling=QUICK, slices=[table], baseline=baseline)

    HALF: Run = {query: ["x", "y", "d0"] if place < 8 else ["d1", "d0"] for place, query in enumerate(QUERIES)}

    def test_the_weakest_is_named_with_its_mean_and_that_of_all(self) -> None:
        report = self.sliced({"s": self.HALF}, (8, 16))
        hard = next(part for part in report.slices if part.name == "kind=hard").estimates["s"]["ndcg@10"]
        text = report.summary[-1]
        assert "Weakest slice of s: kind=hard" in text and f"{hard.mean:.3f}" in text and "n 8" in text

    def test_of_few_queries_none_is_named(self) -> None:
        assert not any("Weakest" in line for line in self.sliced({"s": self.HALF}, (4, 20)).summary)

    def test_it_is_that_of_the_best_system_but_the_baseline(self) -> None:
        report = self.sliced({"base": GOOD, "s": self.HALF, "poor": POOR}, (8, 16), baseline="base")
        assert any("Weakest slice of s: kind=hard" in line for line in report.summary)

    def test_a_loss_that_the_mean_hides_is_named(self) -> None:
        """Better for most queries, and worse for the hard ones: the mean alone would hide it."""
        base = {query: ["d1", "d0"] if place < 8 else ["x", "y", "d0"] for place, query in enumerate(QUERIES)}
        report = self.sliced({"base": base, "s": self.HALF}, (8, 16), baseline="base")
        (line,) = [line for line in report.summary if "kind=hard" in line]
        assert "s is worse than base in kind=hard: " in line and "(n 8)" in line
        same = self.sliced({"base": self.HALF, "s": self.HALF}, (8, 16), baseline="base")
        assert not any("worse than" in line for line in same.summary)


def test_every_output_begins_with_it() -> None:
    report = replace(compared({"a": POOR, "b": GOOD}), warnings=(ReportWarning("look"),))
    first = report.summary[0]
    assert repr(report).startswith(first)
    assert to_markdown(report).startswith(escape_markdown(first))
    assert to_comment(report).splitlines()[2] == escape_markdown(first)
    assert report._repr_html_().index("b is better than a") < report._repr_html_().index("<table")


def test_a_report_with_a_gate_begins_with_the_verdict() -> None:
    report = compared({"a": POOR, "b": GOOD}, "ndcg@10,rr")
    gated = report.with_sections(rankjury.gate(report, "ndcg@10 >= 2", "rr >= 0.1"))
    assert gated.summary[0].startswith("May not ship: 1 of 2 targets failed")
    assert gated.summary[1:] == report.summary
