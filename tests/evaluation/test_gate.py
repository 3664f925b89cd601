"""Verdicts: pass, fail and unsure at the limits, names that do not exist, and reports held against reports."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rankjury
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.gate import Gate, Verdict, check_targets, target_measures
from rankjury.evaluation.report import SCHEMA, Report, looks_like_report, read_report
from rankjury.evaluation.scores import QueryData, SystemResult
from rankjury.evaluation.targets import Target, parse_target
from rankjury.reporting.writers import OutputRequest, write_reports
from rankjury.stats.resampling import Resampling

QUICK = Resampling(resamples=300)
Figures = dict[str, float]


def entry(mean: float | None, ci: tuple[float, float] | None = None, n: int = 50, **more: Any) -> dict[str, Any]:
    return {"mean": mean, "n": n, "undefined": 0, "std": 0.1, "se": 0.02, "ci": ci and list(ci)} | more


def row(difference: float | None, ci: tuple[float, float] | None, base: float = 0.5, n: int = 50) -> dict[str, Any]:
    unknown = (
        "p",
        "p_t",
        "p_wilcoxon",
        "effect_size",
        "std",
        "detectable",
        "queries_needed",
        "better",
        "equal",
        "worse",
    )
    return {
        **{"system": "s", "measure": "ap", "baseline": "base", "ci": ci and list(ci), "n": n, "left_out": 0},
        **{"mean": None if difference is None else base + difference, "baseline_mean": base},
        **dict.fromkeys(unknown),
    }


def saved(measures: dict[str, Any], figures: Figures | None = None, **more: Any) -> Report:
    """A report as a file holds it."""
    systems = {"s": {"measures": measures, "figures": figures or {}}} | more.pop("systems", {})
    return Report.from_json({"schema": SCHEMA, "systems": systems, **more}, "report.json")


def compared(*rows: dict[str, Any]) -> Report:
    """A report on s beside base."""
    base = {"base": {"measures": {"ap": entry(0.5)}}}
    return saved({"ap": entry(0.5)}, systems=base, baseline="base", comparisons=list(rows))


def verdict(text: str, report: Report, **chosen: str) -> Verdict:
    (found,) = check_targets([parse_target(text, chosen)], report).verdicts
    return found


class TestLimits:
    @pytest.mark.parametrize(
        ("text", "ci", "outcome"),
        [
            ("ap >= 0.5", (0.5, 0.7), "pass"),
            ("ap >= 0.5", (0.4999, 0.7), "unsure"),
            ("ap >= 0.5", (0.3, 0.5), "fail"),
            ("ap >= 0.5", (0.3, 0.4999), "fail"),
            ("ap > 0.5", (0.5, 0.7), "unsure"),
            ("ap > 0.5", (0.5001, 0.7), "pass"),
            ("ap > 0.5", (0.3, 0.5), "fail"),
            ("ap <= 0.5", (0.3, 0.5), "pass"),
            ("ap <= 0.5", (0.3, 0.5001), "unsure"),
            ("ap <= 0.5", (0.5, 0.7), "fail"),
            ("ap <= 0.5", (0.5001, 0.7), "fail"),
            ("ap < 0.5", (0.3, 0.5), "unsure"),
            ("ap < 0.5", (0.3, 0.4999), "pass"),
            ("ap < 0.5", (0.5, 0.7), "fail"),
            ("ap >= 50 %", (0.5, 0.7), "pass"),
            ("ap >= 0.5", (0.5, 0.5), "pass"),
            ("ap > 0.5", (0.5, 0.5), "fail"),
        ],
    )
    def test_absolute(self, text: str, ci: tuple[float, float], outcome: str) -> None:
        found = verdict(text, saved({"ap": entry(sum(ci) / 2, ci)}))
        assert (found.outcome, found.ci, found.n, found.note) == (outcome, ci, 50, "")

    @pytest.mark.parametrize(
        ("text", "ci", "outcome"),
        [
            ("ap drop <= 0.02", (-0.02, 0.01), "pass"),
            ("ap drop <= 0.02", (-0.03, 0.01), "unsure"),
            ("ap drop <= 0.02", (-0.03, -0.02), "fail"),
            ("ap drop <= 0.02", (-0.05, -0.03), "fail"),
            ("ap drop < 0.02", (-0.02, 0.01), "unsure"),
            ("ap drop < 0.02", (-0.05, -0.02), "fail"),
            ("ap gain >= 0.02", (0.02, 0.05), "pass"),
            ("ap gain >= 0.02", (-0.01, 0.02), "fail"),
            ("ap gain >= 0.02", (-0.01, 0.01), "fail"),
            ("ap gain > 0.02", (0.02, 0.05), "unsure"),
            ("ap gain > 0", (0.0, 0.0), "fail"),
            ("ap drop <= 0", (0.0, 0.0), "pass"),
            ("ap drop <= 4%", (-0.02, 0.01), "pass"),
            ("ap drop <= 4%", (-0.0201, 0.01), "unsure"),
            ("ap drop < 4%", (-0.03, -0.02), "fail"),
            ("ap gain >= 4%", (0.02, 0.05), "pass"),
            ("ap gain > 4%", (0.01, 0.02), "fail"),
        ],
    )
    def test_relative_to_a_baseline_of_a_half(self, text: str, ci: tuple[float, float], outcome: str) -> None:
        found = verdict(text, compared(row(sum(ci) / 2, ci)))
        assert (found.system, found.outcome) == ("s", outcome)
        scale = 2 if "%" in text else 1
        assert found.value == pytest.approx(scale * sum(ci) / 2, abs=1e-15)
        assert found.ci == pytest.approx([scale * c for c in ci])

    @pytest.mark.parametrize(("value", "outcome"), [(50.0, "pass"), (50.1, "fail"), (49.0, "pass")])
    def test_figures_have_no_interval(self, value: float, outcome: str) -> None:
        found = verdict("latency_p95_ms <= 50", saved({"ap": entry(0.5)}, {"latency_p95_ms": value}))
        assert (found.outcome, found.value, found.ci, found.n) == (outcome, value, None, None)

    def test_without_an_interval_the_mean_decides_and_it_is_said(self) -> None:
        found = verdict("ap >= 0.5", saved({"ap": entry(0.5)}))
        assert found.outcome == "pass" and "decided on the mean alone" in found.note
        assert verdict("ap > 0.5", saved({"ap": entry(0.5)})).outcome == "fail"

    @pytest.mark.parametrize(("text", "outcome"), [("ap >= 0", "unsure"), ("ap >= 0.9", "fail")])
    def test_one_query_cannot_pass(self, text: str, outcome: str) -> None:
        report = saved({"ap": entry(0.5, n=1, std=None, se=None)})
        found = verdict(text, report)
        assert (found.outcome, found.note) == (outcome, "one query: no interval")
        assert check_targets([parse_target(text)], report, lenient=True).outcome == "unsure"

    @pytest.mark.parametrize(
        ("text", "value", "strictly", "leniently"),
        [
            ("ap >= 0.5", 0.49, "fail", "unsure"),
            ("ap >= 0.5", 0.51, "unsure", "unsure"),
            ("ap >= 0.65", 0.5, "fail", "fail"),
            ("ap >= 0.3", 0.5, "pass", "pass"),
            ("ap <= 0.5", 0.51, "fail", "unsure"),
            ("ap > 0.5", 0.5, "fail", "unsure"),
        ],
    )
    def test_a_value_beyond_the_limit_fails_unless_lenient(
        self, text: str, value: float, strictly: str, leniently: str
    ) -> None:
        report = saved({"ap": entry(value, (value - 0.1, value + 0.1))})
        gate = check_targets([parse_target(text)], report)
        lenient = check_targets([parse_target(text)], report, lenient=True)
        assert (gate.outcome, lenient.outcome) == (strictly, leniently)
        assert (gate.judged(lenient=True), lenient.judged()) == (lenient, gate)
        assert lenient.exit_code == (4 if leniently == "fail" else 0)
        assert rankjury.gate(report, text, lenient=True) == lenient

    @pytest.mark.parametrize(
        ("text", "mean", "ci", "n", "needed"),
        [
            # The half-width towards the limit, 0.04, must shrink to 0.01: to a quarter, with 16 times the queries.
            ("ap >= 0.5", 0.51, (0.47, 0.56), 50, 800),
            ("ap <= 0.5", 0.49, (0.44, 0.53), 50, 800),
            # 0.06 to 0.04: (3/2)² = 2.25 times.
            ("ap >= 0.5", 0.54, (0.48, 0.6), 40, 90),
            ("ap >= 0.5", 0.5, (0.4, 0.6), 50, None),  # at the limit no number decides
            ("ap >= 0.5", 0.6, (0.55, 0.65), 50, None),  # passed
            ("ap >= 0.5", 0.4, (0.35, 0.55), 50, None),  # failed
            ("ap >= 0.5", 0.51, None, 1, None),
        ],
    )
    def test_queries_that_would_decide(
        self, text: str, mean: float, ci: tuple[float, float] | None, n: int, needed: int | None
    ) -> None:
        found = verdict(text, saved({"ap": entry(mean, ci, n=n)}))
        assert found.needed == needed
        assert found.to_json()["queries_needed"] == needed
        assert (f"about {needed} queries would decide" in found.sentence) == (needed is not None)

    @pytest.mark.parametrize(("text", "scale"), [("ap drop <= 0.02", 1), ("ap drop <= 4 %", 2)])
    def test_queries_that_would_decide_of_a_difference(self, text: str, scale: int) -> None:
        """−0.01 is 0.01 from the limit −0.02, its interval reaches 0.03 that way: nine times the queries."""
        found = verdict(text, compared(row(-0.01, (-0.04, 0.02))))
        assert (found.outcome, found.needed) == ("unsure", 9 * 50)
        assert found.value == pytest.approx(-0.01 * scale)

    @pytest.mark.parametrize(
        ("text", "mean", "parts"),
        [
            ("ap >= 0.6", 0.61, ["UNSURE: ap 0.610 [0.570, 0.660] may be below 0.6", "about 800 queries would decide"]),
            ("ap >= 0.62", 0.61, ["FAIL: ap 0.610 [0.570, 0.660] is below 0.62"]),
            ("ap >= 0.5", 0.61, ["PASS: ap 0.610 [0.570, 0.660] is at least 0.5"]),
        ],
    )
    def test_one_verdict_as_a_sentence(self, text: str, mean: float, parts: list[str]) -> None:
        gate = check_targets([parse_target(text)], saved({"ap": entry(mean, (0.57, 0.66))}))
        assert all(part in gate.sentence for part in parts)
        assert list(gate.summary(saved({"ap": entry(mean)}))) == [gate.sentence]

    def test_several_verdicts_as_a_sentence(self) -> None:
        report = saved({"ap": entry(0.5, (0.4, 0.6))})
        found = {
            limits: check_targets([Target("ap", ">=", limit) for limit in limits], report)
            for limits in ((0.1, 0.45, 0.9), (0.1, 0.45), (0.1, 0.2))
        }
        fail, unsure, passed = found.values()
        assert fail.sentence == "May not ship: 1 of 3 targets failed, 1 is unsure."
        assert "1 of 2 targets is unsure" in unsure.sentence and "all 2 targets passed" in passed.sentence
        assert ("4" in fail.exit_note, "--strict" in unsure.exit_note, passed.exit_note) == (True, True, "")
        assert "5" in unsure.judged(strict=True).exit_note

    def test_one_query_compared_is_unsure(self) -> None:
        assert verdict("ap drop <= 0.5", compared(row(0.1, None, n=1))).outcome == "unsure"

    def test_few_queries_are_noted(self) -> None:
        assert "rough under 20" in verdict("ap >= 0", saved({"ap": entry(0.5, (0.4, 0.6), n=19)})).note
        assert verdict("ap >= 0", saved({"ap": entry(0.5, (0.4, 0.6), n=20)})).note == ""

    @pytest.mark.parametrize(
        ("outcomes", "expected"),
        [("pass pass", "pass"), ("pass unsure", "unsure"), ("unsure fail", "fail"), ("fail pass", "fail")],
    )
    def test_the_worst_verdict_counts(self, outcomes: str, expected: str) -> None:
        limits = {"pass": 0.1, "unsure": 0.45, "fail": 0.9}
        report = saved({"ap": entry(0.5, (0.4, 0.6))})
        targets = [Target("ap", ">=", limits[outcome]) for outcome in outcomes.split()]
        assert check_targets(targets, report).outcome == expected


class TestNames:
    REPORT = saved(
        {"ap": entry(0.5, (0.4, 0.6), convention="ap"), "ndcg@10": entry(0.7, (0.6, 0.8), convention="ndcg@10")},
        {"latency_p95_ms": 40.0},
        slices=[
            {
                "slice": "lang=fr",
                "n": 9,
                "systems": {"s": {"measures": {"ap": entry(0.2, (0.1, 0.3))}}},
                "comparisons": [],
            }
        ],
    )

    @pytest.mark.parametrize("name", ["ndgc@10", "latency_p59_ms", "ndcg@ten"])
    def test_a_misspelt_measure_or_figure(self, name: str) -> None:
        with pytest.raises(UnknownName, match=f"report.json.*unknown measure or figure '{name}'.*Did you mean"):
            verdict(f"{name} >= 0", self.REPORT)

    @pytest.mark.parametrize("name", ["ndcg@100", "recall@10", "nDCG@10", "ap(rel=2)"])
    def test_a_measure_that_the_report_does_not_have(self, name: str) -> None:
        """nDCG@10 is that of other tools, with other conventions."""
        with pytest.raises(DataError) as caught:
            verdict(f"{name} >= 0", self.REPORT)
        message = f"the report has no {name}; expected one of ap, ndcg@10, latency_p95_ms"
        hint = "Its ndcg@10 follows other conventions" if name == "nDCG@10" else f"-m '{name}'"
        assert message in str(caught.value) and hint in str(caught.value)

    def test_other_spellings_of_the_same_measure(self) -> None:
        assert verdict("map >= 0.4", self.REPORT).value == 0.5
        assert verdict("ndcg(gain=linear)@10 >= 0.4", self.REPORT).value == 0.7
        foreign = rankjury.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "nDCG@10").conventions[0]
        assert verdict("nDCG@10 >= 0.4", saved({"x": entry(0.3, (0.2, 0.4), convention=foreign)})).value == 0.3

    def test_slices(self) -> None:
        assert verdict("ap >= 0.4", self.REPORT, slice="lang=fr").outcome == "fail"
        with pytest.raises(UnknownName, match=r"report\.json: unknown slice 'lang=fre'\. Did you mean lang=fr\?"):
            verdict("ap >= 0.4", self.REPORT, slice="lang=fre")
        for every in ("lang", "lang=*"):
            with pytest.raises(UnknownName, match=r"lang=fr.*\[\[target\]\] for each"):
                verdict("ap >= 0.4", self.REPORT, slice=every)
        with pytest.raises(DataError, match=r"the report has no slices, but a target asks for 'lang=fr'.*csv:lang"):
            verdict("ap >= 0.4", saved({"ap": entry(0.5)}), slice="lang=fr")

    def test_systems(self) -> None:
        assert verdict("ap >= 0.4", self.REPORT, system="s").system == "s"
        with pytest.raises(UnknownName, match="unknown system 'S2'"):
            verdict("ap >= 0.4", self.REPORT, system="S2")
        with pytest.raises(UnknownName, match=r"unknown system 'bsae'\. Did you mean base\?"):
            check_targets([parse_target("ap drop <= 1")], compared(row(0.0, None)), "bsae")

    @pytest.mark.parametrize(
        ("text", "chosen"), [("latency_p95_ms drop <= 5", {}), ("latency_p95_ms <= 5", {"slice": "lang=fr"})]
    )
    def test_a_figure_has_neither_a_baseline_nor_slices(self, text: str, chosen: dict[str, str]) -> None:
        """It is known, so that the name itself is no help."""
        with pytest.raises((UsageError, DataError)) as caught:
            verdict(text, self.REPORT, **chosen)
        assert "Did you mean latency_p95_ms" not in str(caught.value)

    @pytest.mark.parametrize("target", ["ap drop >= 0.1", "ap drop > 1 %", "ap gain <= 0.1", "ap gain < 0"])
    def test_no_target_requires_a_loss_or_forbids_an_improvement(self, target: str) -> None:
        """Of a measure that is better when it is higher; a recorded figure such as a latency may be limited so."""
        with pytest.raises(UsageError) as caught:
            verdict(target, compared(row(0.0, None)))
        assert "ap drop <= " in str(caught.value) and "ap gain >= " in str(caught.value)

    def test_undefined_everywhere(self) -> None:
        with pytest.raises(DataError, match="ap of s is undefined for every query"):
            verdict("ap >= 0", saved({"ap": entry(None, n=0)}))
        with pytest.raises(DataError, match="ap of s or base is undefined for every query"):
            verdict("ap drop <= 1", compared(row(None, None, n=0)))

    def test_a_relative_target_needs_a_baseline(self) -> None:
        with pytest.raises(UsageError, match=r"'ap drop <= 0\.1' needs a baseline, and there is none"):
            verdict("ap drop <= 0.1", self.REPORT)
        with pytest.raises(UsageError, match="'base' is the baseline itself"):
            verdict("ap drop <= 0.1", compared(row(0.0, None)), system="base")

    def test_no_share_of_nothing(self) -> None:
        with pytest.raises(DataError, match="the baseline's ap is 0"):
            verdict("ap drop <= 1%", compared(row(0.1, (0.0, 0.2), base=0.0)))

    def test_no_share_of_a_baseline_without_a_mean(self) -> None:
        """Nor is there a difference to it."""
        with pytest.raises(DataError, match="ap of s or base is undefined for every query"):
            verdict("ap drop <= 1%", compared(row(0.1, (0.0, 0.2)) | {"baseline_mean": None}))
        with pytest.raises(DataError, match="comparisons"):
            compared(row(0.1, (0.0, 0.2)) | {"baseline_mean": math.nan})

    @pytest.mark.parametrize("key", ["ci", "n", "baseline_mean", "mean"])
    def test_a_comparison_that_lacks_a_key_is_refused_when_it_is_read(self, key: str) -> None:
        with pytest.raises(DataError, match=f"report.json: comparisons → 0.*{key}"):
            compared({name: value for name, value in row(0.1, (0.0, 0.2)).items() if name != key})

    def test_every_system_but_the_baseline(self) -> None:
        report = compared(row(0.1, (0.05, 0.2)))
        assert [one.system for one in check_targets([parse_target("ap >= 0")], report).verdicts] == ["s"]
        assert [one.system for one in check_targets([parse_target("ap >= 0")], self.REPORT).verdicts] == ["s"]

    def test_the_measures_that_targets_are_about(self) -> None:
        texts = ["ap >= 0", "latency_ms <= 5", "ap drop <= 1", "nDCG@10 > 0", "ndcg@10 > 0"]
        assert target_measures([parse_target(text) for text in texts], ["latency_ms"]) == ["ap", "nDCG@10", "ndcg@10"]
        with pytest.raises(UsageError, match=r"t\.toml: unknown measure or figure 'latency_ms'.*--record latency_ms="):
            target_measures([parse_target("latency_ms <= 5")], [], "t.toml")


def runs(seed: int = 1, queries: int = 30) -> tuple[dict[str, Any], dict[str, Any]]:
    chance = random.Random(seed)
    gold = {f"q{q:02}": {f"d{i}": chance.randrange(3) for i in range(8)} for q in range(queries)}
    items = [f"d{i}" for i in range(12)]
    systems = {name: {q: chance.sample(items, 6) for q in gold} for name in ("old", "new", "third")}
    return gold, systems


GOLD, RUNS = runs()
MEASURES = ["ndcg@5", "ap", "gm_map", "unjudged@5"]


def report_on(name: str, scores: rankjury.Scores, resampling: Resampling = QUICK) -> Report:
    return Report(
        {name: SystemResult.of(scores, scores.estimates(resampling))}, resampling, queries=QueryData({name: scores})
    )


def saved_alone(folder: Path, name: str, queries: slice = slice(None), *, keep: bool = True, **more: Any) -> Report:
    """A report on one system, written and read back."""
    kept = {q: GOLD[q] for q in list(GOLD)[queries]}
    scores = rankjury.evaluate(kept, RUNS[name], more.get("measures", MEASURES))
    path = folder / f"{name}.json"
    write_reports(report_on(name, scores, more.get("resampling", QUICK)), [OutputRequest(str(path))])
    assert looks_like_report(str(path))
    found = read_report(str(path))
    return found if keep else replace(found, queries=None)


def changed(report: Report, system: str, label: str, rows: slice) -> Report:
    """The report, where a measure is undefined for some queries."""
    scores = report.scores[system]
    values = scores.values.copy()
    values[rows, scores.labels.index(label)] = math.nan
    return replace(report, queries=QueryData({system: replace(scores, values=values)}))


class TestTwoReports:
    def test_paired_query_by_query_like_a_fresh_comparison(self, tmp_path: Path) -> None:
        fresh = rankjury.compare(GOLD, {"old": RUNS["old"], "new": RUNS["new"]}, MEASURES, resampling=QUICK)
        limits = {"unjudged@5": ("rise > 0", "rise <= 1 %")}
        targets = [
            parse_target(f"{label} {limit}")
            for label in MEASURES
            for limit in limits.get(label, ("gain > 0", "drop <= 1 %"))
        ]
        within = rankjury.gate(fresh, *targets)
        across = check_targets(targets, saved_alone(tmp_path, "new"), saved_alone(tmp_path, "old"))
        assert len(within.verdicts) == 8 and [v.system for v in across.verdicts] == ["new"] * 8
        assert repr(across.verdicts) == repr(within.verdicts)
        assert within.baseline == "old" and across.baseline == str(tmp_path / "old.json")

    def test_a_baseline_among_the_systems_that_was_not_the_reports(self) -> None:
        fresh = rankjury.compare(GOLD, RUNS, ["ap"], resampling=QUICK)
        other = rankjury.compare(GOLD, RUNS, ["ap"], resampling=QUICK, baseline="third")
        found, expected = rankjury.gate(fresh, "ap gain > 0", baseline="third"), rankjury.gate(other, "ap gain > 0")
        assert {v.system: repr(v) for v in found.verdicts} == {v.system: repr(v) for v in expected.verdicts}
        assert [v.system for v in found.verdicts] == ["old", "new"]

    def test_partly_the_same_queries(self, tmp_path: Path) -> None:
        new, old = saved_alone(tmp_path, "new", slice(0, 25)), saved_alone(tmp_path, "old", slice(3, 30))
        (found,) = check_targets([parse_target("ap gain > 0")], new, old).verdicts
        both = {q: GOLD[q] for q in list(GOLD)[3:25]}
        fresh = rankjury.compare(both, {"old": RUNS["old"], "new": RUNS["new"]}, ["ap"], resampling=QUICK).comparisons[
            0
        ]
        assert (found.value, found.ci, found.n) == (fresh.difference, fresh.ci, 22)
        assert found.note == "compared on the 22 queries that both reports have"

    def test_no_query_in_common(self, tmp_path: Path) -> None:
        new, old = saved_alone(tmp_path, "new", slice(0, 9)), saved_alone(tmp_path, "old", slice(9, 30))
        with pytest.raises(DataError, match="no query in common"):
            check_targets([parse_target("ap gain > 0")], new, old)

    def test_without_the_queries_scores_by_their_spreads(self, tmp_path: Path) -> None:
        new, old = saved_alone(tmp_path, "new", keep=False), saved_alone(tmp_path, "old", keep=False)
        (found,) = check_targets([parse_target("ap gain > 0")], new, old).verdicts
        ours, theirs = (one.systems[n].estimates["ap"] for one, n in ((new, "new"), (old, "old")))
        half = 1.959963984540054 * (ours.se**2 + theirs.se**2) ** 0.5
        difference = ours.mean - theirs.mean
        assert found.ci == pytest.approx((difference - half, difference + half), rel=1e-9)
        assert found.value == difference and "not paired" in found.note
        paired = check_targets(
            [parse_target("ap gain > 0")], saved_alone(tmp_path, "new"), saved_alone(tmp_path, "old")
        )
        assert paired.verdicts[0].value == pytest.approx(difference, abs=1e-15)

    def test_a_baseline_of_one_query_is_unsure(self, tmp_path: Path) -> None:
        """Whether or not the reports hold the queries' scores."""
        for keep in (True, False):
            new, old = saved_alone(tmp_path, "new", keep=keep), saved_alone(tmp_path, "old", slice(0, 1), keep=keep)
            (found,) = check_targets([parse_target("ap drop <= 1")], new, old).verdicts
            assert (found.outcome, keep) == ("unsure", keep)

    def test_defined_for_other_queries_only(self, tmp_path: Path) -> None:
        """Nothing to compare is an error as it is within one report, and never a figure that JSON cannot hold."""
        new = changed(saved_alone(tmp_path, "new"), "new", "ap", slice(0, 15))
        old = changed(saved_alone(tmp_path, "old"), "old", "ap", slice(15, None))
        with pytest.raises(DataError):
            check_targets([parse_target("ap gain > 0")], new, old)

    def test_the_same_name_under_other_conventions_is_not_compared_in_silence(self, tmp_path: Path) -> None:
        new, old = saved_alone(tmp_path, "new"), saved_alone(tmp_path, "old")
        other = replace(old.systems["old"], conventions={**old.systems["old"].conventions, "ap": "ap(rel=2)"})
        old = replace(old, systems={"old": other})
        try:
            (found,) = check_targets([parse_target("ap gain > 0")], new, old).verdicts
        except (DataError, UsageError) as error:
            assert "ap(rel=2)" in str(error)
        else:
            assert "ap(rel=2)" in found.note

    def test_a_measure_spelled_otherwise_in_the_other(self, tmp_path: Path) -> None:
        new = saved_alone(tmp_path, "new", measures=["ap"])
        old = saved_alone(tmp_path, "old", measures=["map"])
        expected = check_targets([parse_target("ap gain > 0")], new, saved_alone(tmp_path, "old"))
        assert repr(check_targets([parse_target("ap gain > 0")], new, old)) == repr(expected)

    def test_which_system_of_several(self, tmp_path: Path) -> None:
        report = rankjury.compare(GOLD, {"x": RUNS["old"], "y": RUNS["third"]}, ["ap"], resampling=QUICK)
        several = Report.from_json(json.loads(json.dumps(report.to_json(queries=True))), "several.json")
        with pytest.raises(UsageError, match="the baseline has several systems: x, y; expected one, or one called new"):
            check_targets([parse_target("ap gain > 0")], saved_alone(tmp_path, "new"), several)
        queries = QueryData({"x": several.scores["y"], "new": several.scores["x"]})
        systems = {"x": several.systems["y"], "new": several.systems["x"]}
        named = replace(several, systems=systems, queries=queries, baseline=None, comparisons=())
        (found,) = check_targets([parse_target("ap gain > 0")], saved_alone(tmp_path, "new"), named).verdicts
        assert found.value == rankjury.compare(GOLD, RUNS, ["ap"], resampling=QUICK).comparisons[0].difference

    def test_verdicts_as_json(self) -> None:
        gate = check_targets([parse_target("ap >= 0.45", {"name": "n"})], saved({"ap": entry(0.5, (0.4, 0.6))}))
        assert isinstance(gate, Gate)
        assert gate.to_json() == {
            "schema": "rankjury.gate/1",
            "verdict": "unsure",
            "report": "report.json",
            "baseline": None,
            "strict": False,
            "lenient": False,
            "targets": [
                {"target": "n", "measure": "ap", "slice": None, "system": "s", "verdict": "unsure", "value": 0.5}
                | {"requirement": parse_target("ap >= 0.45", {"name": "n"}).to_json()}
                | {"ci": [0.4, 0.6], "n": 50, "relative": False, "wanted": "at least 0.45", "note": ""}
                | {"queries_needed": 200}
            ],
        }


def test_a_recorded_figure_that_is_null_is_not_known() -> None:
    with pytest.raises(DataError, match="latency_p95_ms"):
        saved({"ap": entry(0.5)}, {"latency_p95_ms": None})  # type: ignore[dict-item]
