"""From a report to charts: real reports of the bundled plans, and small ones of which all is known."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import nan
from typing import Any, NamedTuple

import numpy as np
import pytest

from rankjury.evaluation.drift import Drift, drift_between
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import RecordedValue, SystemResult
from rankjury.evaluation.sections import ScoreHistogram, Stability
from rankjury.evaluation.slices.stats import Slice
from rankjury.reporting.charts import all_charts
from rankjury.reporting.charts.history import history_chart
from rankjury.reporting.charts.measures import curves_charts, differences_chart, headline_chart, slices_chart
from rankjury.reporting.charts.sections import drift_chart, frontier_chart, score_charts
from rankjury.reporting.charts.spec import DotPlot, HistogramChart
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.diagnostics import (
    DuplicateVectors,
    GoldSpaces,
    Hubness,
    NearDuplicates,
    NormHistogram as Counts,
    Norms,
    SpaceDiagnostics,
)
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Resampling
from tests.evaluation import drifting
from tests.reporting.charts import drawn


def entry(mean: float | None, ci: tuple[float, float] | None = None, n: int = 10) -> Estimate:
    return Estimate(nan if mean is None else mean, n, 0, ci=ci)


def scored(measures: Mapping[str, Estimate], conventions: Mapping[str, str] | None = None) -> SystemResult:
    """Measures under their own names, unless conventions are given."""
    return SystemResult(measures, {label: label for label in measures} | dict(conventions or {}))


def compared(
    system: str, difference: float, ci: tuple[float, float], p: float, measure: str = "ndcg@10", mean: float = 0.5
) -> Comparison:
    return Comparison(
        system, "base", measure, 9, 0, mean + difference, mean, ci, p, None, None, None, 3, 4, 2, None, None, None,
        lower_is_better=measure.startswith("calibration"), p_holm=p,
    )  # fmt: skip


def sliced(name: str, *comparisons: Comparison, n: int = 9, means: dict[str, Estimate] | None = None) -> Slice:
    estimates = {system: {"ndcg@10": one} for system, one in (means or {}).items()}
    return Slice(name, "", "queries", n, estimates, beside=comparisons)


def small(slices: Sequence[Slice], measure: str = "ndcg@10", **more: Any) -> Report:
    systems = {name: scored({measure: entry(0.5, (0.4, 0.6))}) for name in ("base", "x", "y")}
    return Report(systems, baseline="base", slices=tuple(slices), **more)


def labels(chart: DotPlot | None) -> list[str]:
    assert chart is not None
    return [row.label for row in chart.rows]


def values(chart: DotPlot | None, digits: int | None = None) -> list[list[float | None]]:
    assert chart is not None
    return [
        [dot.value if digits is None or dot.value is None else round(dot.value, digits) for dot in row.dots]
        for row in chart.rows
    ]


class TestSlices:
    def test_worst_first_by_the_worst_system(self) -> None:
        report = small(
            [
                sliced("a", compared("x", 0.1, (0.0, 0.2), 0.01), compared("y", -0.05, (-0.1, 0.0), 0.9)),
                sliced("b", compared("x", -0.2, (-0.3, -0.1), 0.01), compared("y", 0.3, (0.2, 0.4), 0.01)),
                sliced("c", compared("x", 0.2, (0.1, 0.3), 0.01), compared("y", 0.0, (-0.1, 0.1), 1.0)),
            ]
        )
        chart = slices_chart(report, "ndcg@10")
        assert labels(chart) == ["b", "a", "c"] and values(chart, 9) == [[-0.2, 0.3], [0.1, -0.05], [0.2, 0.0]]
        assert chart is not None and (chart.reference, chart.series, chart.places) == (0.0, ("x", "y"), (1, 2))
        assert labels(slices_chart(report, "ndcg@10", "y")) == ["a", "c", "b"]

    @pytest.mark.parametrize(("measure", "order"), [("ndcg@10", ["b", "a"]), ("calibration@10", ["a", "b"])])
    def test_where_less_is_better_the_highest_is_the_worst(self, measure: str, order: list[str]) -> None:
        slices = [
            sliced("a", compared("x", 0.2, (0.1, 0.3), 0.01, measure)),
            sliced("b", compared("x", -0.2, (-0.3, -0.1), 0.01, measure)),
        ]
        chart = slices_chart(small(slices, measure), measure)
        assert labels(chart) == order
        assert chart is not None and [row.dots[0].tone for row in chart.rows] == ["bad", "good"]
        assert ("left is better" in chart.x_label) is (measure == "calibration@10")

    def test_what_chance_does_is_hollow_and_says_so(self) -> None:
        report = small(
            [sliced("a", compared("x", 0.1, (0.0, 0.2), 0.06)), sliced("b", compared("x", 0.2, (0.1, 0.3), 0.04))]
        )
        chart = slices_chart(report, "ndcg@10")
        assert chart is not None and [row.dots[0].muted for row in chart.rows] == [True, False]
        assert "Hollow" in chart.footnote
        sure = slices_chart(replace(report, resampling=Resampling(level=0.9)), "ndcg@10")
        assert sure is not None and not any(dot.muted for dot in sure.dots) and "Hollow" not in sure.footnote

    def test_the_number_of_queries_is_that_of_the_values(self) -> None:
        part = sliced("a", compared("x", 0.1, (0.0, 0.2), 0.01), n=10, means={"x": entry(0.3, n=8)})
        report = small([part])
        differences, means = (
            slices_chart(each, "ndcg@10") for each in (report, replace(report, slices=(replace(part, beside=()),)))
        )
        assert differences is not None and [row.note for row in differences.rows] == ["n 9"]
        assert means is not None and [row.note for row in means.rows] == ["n 8"]

    def test_at_most_thirty_and_how_many_more(self) -> None:
        slices = [sliced(f"s{n:02}", compared("x", n / 100, (0.0, 1.0), 0.5)) for n in range(41)]
        chart = slices_chart(small(slices), "ndcg@10")
        assert labels(chart) == [f"s{n:02}" for n in range(30)]
        assert chart is not None and "The 30 worst; 11 more slices are not shown." in chart.footnote

    def test_slices_in_which_nothing_differs_are_left_out(self) -> None:
        report = small(
            [
                sliced("same", compared("x", 0.0, (0.0, 0.0), 1.0), means={"x": entry(0.3)}),
                sliced("apart", compared("x", 0.0, (-0.1, 0.1), 1.0), means={"x": entry(0.4)}),
            ]
        )
        chart = slices_chart(report, "ndcg@10")
        assert labels(chart) == ["apart"] and chart is not None and "1 slice without a difference" in chart.footnote
        means = slices_chart(replace(report, slices=report.slices[:1]), "ndcg@10")
        assert values(means) == [[0.3]] and means is not None and means.x_label.startswith("mean ndcg@10")

    def test_without_a_baseline_means_against_the_overall_one(self, report_of: Callable[[str], Report]) -> None:
        report = report_of("driving")
        chart = slices_chart(report, "NDCG@5")
        assert chart is not None and chart.series == ("embedding",), "what is by chance has no slices that fail"
        overall = report.systems["embedding"].estimates["NDCG@5"].mean
        assert chart.reference == overall and f"{overall:.2f}" in chart.reference_label
        found = {part.name: part.estimates["embedding"]["NDCG@5"] for part in report.slices}
        assert len(chart.rows) == len(found)
        means = [one for (one,) in values(chart)]
        assert means == sorted(one.mean for one in found.values())
        for row in chart.rows:
            (dot,) = row.dots
            assert (dot.low, dot.high) == found[row.label].ci and row.note.startswith("n ")

    def test_a_real_comparison(self, report_of: Callable[[str], Report]) -> None:
        report = report_of("movies")
        chart = slices_chart(report, "ndcg(gain=exp)@5")
        found = {
            part.name: one.difference
            for part in report.slices
            for one in part.beside
            if one.measure == "ndcg(gain=exp)@5"
        }
        assert chart is not None
        assert [(row.label, row.dots[0].value) for row in chart.rows] == sorted(found.items(), key=lambda one: one[1])

    @pytest.mark.parametrize("report", [Report({}), small([]), small([sliced("a")])])
    def test_nothing_to_show(self, report: Report) -> None:
        assert slices_chart(report, "ndcg@10") is None


class TestSystems:
    def test_headline(self, report: Report) -> None:
        measure = (report.headline or report.labels)[0]
        chart = headline_chart(report, measure)
        wanted = {name: one.estimates[measure].mean for name, one in report.systems.items()}
        assert {row.label: row.dots[0].value for row in chart.rows} == wanted
        assert chart.reference == wanted.get(report.baseline or "")
        assert not chart.keyed and chart.places == tuple(range(len(wanted)))

    def test_differences_of_shares_only(self) -> None:
        comparisons = [
            compared("x", 0.1, (0.0, 0.2), 0.01),
            compared("y", -0.1, (-0.2, 0.0), 0.5),
            compared("x", 3.0, (2.0, 4.0), 0.01, "novelty@10", mean=6.0),
        ]
        report = small([], comparisons=tuple(comparisons))
        both = scored({**report.systems["x"].estimates, "novelty@10": entry(9.0)})
        report = replace(report, systems={**report.systems, "x": both})
        chart = differences_chart(report)
        assert labels(chart) == ["x", "y"] and values(chart, 9) == [[0.1], [-0.1]]
        assert chart is not None and "1 more under other measures" in chart.footnote
        alone = differences_chart(replace(report, headline=("novelty@10",)))
        assert values(alone) == [[3.0]]

    def test_measures_that_are_not_tested_are_omitted_and_never_called_not_different(self) -> None:
        tested = compared("x", 0.1, (0.0, 0.2), 0.5)
        untested = replace(compared("x", 0.3, (0.2, 0.4), 0.01, "judged@10"), p=None, p_holm=None)
        report = small([], comparisons=(tested, untested))
        both = scored({**report.systems["x"].estimates, "judged@10": entry(0.8)})
        report = replace(report, systems={**report.systems, "x": both})
        chart = differences_chart(report)
        assert values(chart, 9) == [[0.1]] and chart is not None
        assert "Hollow: not shown to differ" in chart.footnote and "not tested" not in chart.footnote
        alone = differences_chart(replace(report, comparisons=(untested,)))
        assert values(alone, 9) == [[0.3]] and alone is not None
        assert "Hollow: not tested." in alone.footnote

    def test_nothing_is_compared(self, report_of: Callable[[str], Report]) -> None:
        assert differences_chart(report_of("driving")) is None

    def test_which_is_better(self) -> None:
        assert small([], "calibration@10").lower_is_better("calibration@10")
        assert not small([]).lower_is_better("ndcg@10")
        assert not small([], "of_a_plugin@3").lower_is_better("of_a_plugin@3")


class TestCurves:
    def test_every_measure_at_two_cutoffs_or_more(self, report_of: Callable[[str], Report]) -> None:
        report = report_of("movies")
        charts = {chart.title: chart for chart in curves_charts(report)}
        assert list(charts) == ["ndcg(gain=exp) against k", "hits against k", "rr against k"]
        chart = charts["rr against k"]
        assert chart.x_names == ("1", "2", "3", "5", "10") and chart.series == tuple(report.systems)
        for line in chart.lines:
            estimates = [report.systems[line.name].estimates[f"rr@{k}"] for k in chart.x_names]
            assert line.ys == tuple(one.mean for one in estimates)
            assert list(zip(line.lows, line.highs, strict=True)) == [one.ci or (None, None) for one in estimates]

    def test_other_names_by_their_conventions(self, report_of: Callable[[str], Report]) -> None:
        titles = [chart.title for chart in curves_charts(report_of("driving"))]
        assert titles == [f"{name} against k" for name in ("Recall", "Precision", "NDCG", "MAP")]

    def test_of_one_name_under_two_conventions_one_is_spelled_out(self) -> None:
        conventions = {"NDCG@5": "ndcg@5", "NDCG@9": "ndcg@9", "cut@5": "rr@5"}
        means = {"NDCG@5": 0.1, "NDCG@9": 0.2, "ndcg(gain=exp)@5": 0.3, "ndcg(gain=exp)@9": 0.4, "cut@5": 0.5}
        system = scored({label: entry(mean) for label, mean in means.items()}, conventions)
        charts = curves_charts(Report({"s": system}))
        assert [(chart.y_label, chart.lines[0].ys) for chart in charts] == [
            ("NDCG@k", (0.1, 0.2)),
            ("ndcg(gain=exp)@k", (0.3, 0.4)),
        ]

    def test_an_axis_without_zero_says_so(self) -> None:
        high = {f"rr@{k}": entry(0.9 + k / 1000) for k in (1, 5)}
        (chart,) = curves_charts(Report({"s": scored(high)}))
        assert chart.y_range is not None and chart.y_range[0] > 0.8 and "not at 0" in chart.footnote
        low = {f"rr@{k}": entry(k / 10) for k in (1, 5)}
        (chart,) = curves_charts(Report({"s": scored(low)}))
        assert chart.y_range is not None and chart.y_range[0] == 0 and "not at 0" not in chart.footnote

    def test_what_is_undefined_is_a_gap(self) -> None:
        measures = {f"rr@{k}": entry(None if k == 3 else 0.5) for k in (1, 3, 5)}
        (chart,) = curves_charts(Report({"s": scored(measures)}))
        assert chart.lines[0].ys == (0.5, None, 0.5)


def space(edges: Sequence[float], counts: Sequence[int]) -> SpaceDiagnostics:
    norms = Norms(1.0, 0.1, 0.5, 1.5, histogram=Counts(tuple(edges), tuple(counts)))
    return SpaceDiagnostics(9, 3, norms, DuplicateVectors(0), NearDuplicates(0, 9), 0.1, Hubness(1, 9, 0.0, (), 0.0))


class TestScores:
    def test_similarities_are_counted_one_by_one(self, report_of: Callable[[str], Report]) -> None:
        report = report_of("fashion")
        chart = next(one for one in score_charts(report) if one.title.startswith("Similarity"))
        for bars in chart.strips:
            found = report.needed_section(Stability, bars.name).queries.top1
            counts, _ = np.histogram(found, np.array(bars.edges))
            assert bars.counts == tuple(counts.tolist()) and sum(bars.counts) == len(found)

    def test_alike_ranges_share_an_axis_and_others_do_not(self, report_of: Callable[[str], Report]) -> None:
        """Of movies: cosines of three spaces, and the small sums of reciprocal ranks of their fusion."""
        report = report_of("movies")
        charts = [one for one in score_charts(report) if one.title.startswith("Scores")]
        assert [one.series for one in charts] == [("denseanchor", "densecontent", "densevibe"), ("combined",)]
        assert charts[1].places == (3,)
        for bars in (bars for chart in charts for bars in chart.strips):
            found = report.needed_section(ScoreHistogram, bars.name)
            assert (bars.edges, bars.counts) == (found.edges, found.counts)

    def lengths(self, *edges_and_counts: tuple[list[float], list[int]]) -> list[HistogramChart]:
        systems = {
            f"s{n}": SystemResult({}, {}, sections={"space": space(edges, counts)})
            for n, (edges, counts) in enumerate(edges_and_counts)
        }
        return score_charts(Report(systems))

    def test_lengths_within_rounding_are_one_bar(self) -> None:
        (chart,) = self.lengths(([0.9999, 1.0, 1.0001], [3, 4]), ([1.0, 1.0], [9]))
        assert [bars.counts for bars in chart.strips] == [(7,), (9,)]
        assert "all 1.000" in chart.strips[0].note

    @pytest.mark.parametrize(
        ("edges", "counts"), [([], []), ([1.0, 2.0], [0]), ([2.0, 1.0], [3]), ([1.0], [3]), ([1.0, nan], [3])]
    )
    def test_a_histogram_that_is_none_has_no_chart(self, edges: list[float], counts: list[int]) -> None:
        assert self.lengths((edges, counts)) == []

    def test_spaces_that_are_no_systems(self) -> None:
        (chart,) = score_charts(Report({}).with_sections(GoldSpaces({"ref": space([1.0, 2.0, 3.0], [3, 4])})))
        assert chart.series == ("ref",) and chart.strips[0].note == "7 vectors"


class TestFrontier:
    @staticmethod
    def report(**values: Mapping[str, RecordedValue]) -> Report:
        return Report({name: SystemResult({}, {}, recorded=found) for name, found in values.items()})

    def test_undominated_points_are_on_it(self) -> None:
        points = {"a": (1.0, 10.0), "b": (0.9, 1.0), "c": (0.9, 2.0), "d": (0.8, 1.0), "e": (1.0, 10.0)}
        found = {
            name: {"ann_recall@10": RecordedValue(recall, (recall, recall)), "latency_p95_ms": RecordedValue(p95)}
            for name, (recall, p95) in points.items()
        }
        chart = frontier_chart(self.report(**found))
        assert chart is not None
        assert [one.name for one in chart.points if one.on_frontier] == ["a", "b", "e"]
        assert [[one.name for one in line] for line in chart.frontiers] == [["b", "a", "e"]] and chart.log_x

    def test_the_real_one(self, report_of: Callable[[str], Report]) -> None:
        report = report_of("fashion")
        chart = frontier_chart(report)
        assert chart is not None and {one.name for one in chart.points} == {"exact", "hnsw"}
        for point in chart.points:
            recall, latency = (report.systems[point.name].recorded[one] for one in ("ann_recall@10", "latency_p95_ms"))
            assert (point.y, point.x, point.x_ends) == (recall.value, latency.value, latency.ci)
            index = report.needed_section(IndexResult, point.name)
            same = frontier_chart(Report({point.name: SystemResult({}, {}, sections={"index": index})}))
            assert same is not None and (same.points[0].y, same.y_label) == (point.y, chart.y_label)

    def test_where_there_is_no_p95_the_median(self) -> None:
        chart = frontier_chart(
            self.report(a={"ann_recall@5": RecordedValue(0.9), "latency_p50_ms": RecordedValue(2.0)})
        )
        assert chart is not None and "P50" in chart.x_label and chart.y_label.startswith("recall@5")

    def test_none_without_both_figures(self, report_of: Callable[[str], Report]) -> None:
        assert frontier_chart(report_of("movies")) is None
        assert frontier_chart(self.report(a={"latency_p95_ms": RecordedValue(2.0)})) is None


class TestDrift:
    def chart(self, scale: float) -> tuple[DotPlot, Drift]:
        new = drifting.report(hnsw=drifting.entry(drifting.stability(drifting.scores_of() * scale)))
        drift = drift_between(drifting.report("old.json"), new)
        chart = drift_chart(Report({"hnsw": SystemResult({}, {}, sections={"drift": drift})}))
        assert chart is not None
        return chart, drift

    def test_moves_beside_what_is_allowed(self) -> None:
        chart, drift = self.chart(0.97)
        assert labels(chart) == ["top1 mean", "top1 std", "top3 mean", "top3 std", "norm mean", "norm std"]
        assert [one for (one,) in values(chart)] == [one.change for one in drift.moved]
        assert chart.band == (-0.05, 0.05) and chart.percent and "old.json" in chart.title
        mean = chart.rows[0].dots[0]
        assert mean.value == pytest.approx(-0.03) and mean.shown == "−3.00 %"
        assert (
            mean.low is not None
            and mean.low <= -0.03 + 1e-9
            and (mean.low, mean.high) == drift.tested[0].comparison.relative_ci
        )

    def test_none_without_drift(self, report: Report) -> None:
        assert drift_chart(report) is None


class Spot(NamedTuple):
    time: str
    run: str
    mean: float | None
    low: float | None
    high: float | None


class Course(NamedTuple):
    name: str
    points: list[Spot]


def course(name: str, times: list[str], first: float = 0.5, number: int = 0) -> Course:
    return Course(
        name, [Spot(time, f"run-{n + number}", first + n / 100, first, first + 0.1) for n, time in enumerate(times)]
    )


DAYS = [f"2026-11-{day:02}T12:00:00Z" for day in range(1, 9)]


class TestHistory:
    def test_by_time(self) -> None:
        chart = history_chart([course("a", DAYS), course("b", DAYS[2:], number=2)], [(DAYS[4], "model m2")], "ndcg@10")
        assert chart.spacing == "time" and chart.series == ("a", "b") and chart.title == "ndcg@10"
        noon = datetime.fromisoformat(DAYS[0]).timestamp()
        assert chart.lines[0].xs == tuple(noon + 86_400 * day for day in range(8))
        assert chart.lines[1].xs == chart.lines[0].xs[2:]
        assert [(mark.at, mark.label) for mark in chart.marks] == [(noon + 4 * 86_400, "model m2")]
        assert "run-3" in chart.lines[0].titles[3] and "0.530 [0.500, 0.600]" in chart.lines[0].titles[3]
        assert chart.footnote.endswith("not at 0.") and "8 runs" in chart.description

    def test_runs_in_bursts_stand_evenly(self) -> None:
        burst = [f"2026-11-01T12:{minute:02}:00Z" for minute in range(6)] + DAYS[5:]
        chart = history_chart([course("a", burst)], [(DAYS[5], "step")], "ndcg@10")
        assert chart.spacing == "even" and chart.lines[0].xs == tuple(map(float, range(9)))
        assert chart.x_names[0] == "11-01 12:00" and chart.marks[0].at == 6.0

    def test_runs_of_one_second_stand_beside_each_other(self) -> None:
        chart = history_chart([course("a", [DAYS[0]] * 3)], [(DAYS[0], "step")], "x")
        assert chart.lines[0].xs == (0.0, 1.0, 2.0) and [mark.at for mark in chart.marks] == [0.0]

    def test_times_of_other_zones_and_without_one(self) -> None:
        times = ["2026-11-01T12:00:00+02:00", "2026-11-01T11:00:00", "2026-11-01T12:00:00Z"]
        (line,) = history_chart([course("a", times)], title="x").lines
        assert line.xs[1] - line.xs[0] == line.xs[2] - line.xs[1] == 3_600

    def test_undefined_and_empty(self) -> None:
        gap = Course("a", [Spot(DAYS[0], "r", None, None, None), Spot(DAYS[1], "s", 0.5, None, None)])
        assert history_chart([gap], title="x").lines[0].ys == (None, 0.5)
        for series in ([], [Course("a", [])], [course("a", DAYS[:1])]):
            drawn(history_chart(series, title="x"))

    def test_a_thousand_runs(self) -> None:
        times = [datetime.fromtimestamp(1.7e9 + 7_000 * n).astimezone().isoformat() for n in range(1_000)]
        chart = history_chart([course("a", times)], title="x")
        assert chart.spacing == "time" and len(chart.lines[0].xs) == 1_000
        drawn(chart)


EXPECTED = {
    "movies": {"headline-ndcg-gain-exp-5", "differences", "slices-rr-5", "curve-hits", "scores", "scores-2", "norms"},
    "fashion": {"differences", "slices-recall-rel-2-10", "scores", "similarities", "frontier"},
    "driving": {"headline-recall-1", "slices-recall-5", "curve-map", "scores"},
    "movielens": {"differences", "slices-ndcg-10", "curve-precision-rel-4"},
}


class TestAll:
    @pytest.mark.parametrize("name", list(EXPECTED))
    def test_what_a_form_has(self, name: str, report_of: Callable[[str], Report]) -> None:
        charts = all_charts(report_of(name))
        assert EXPECTED[name] <= set(charts)
        for number, chart in enumerate(charts.values()):
            drawn(chart, f"p{number}")
            assert chart.title and chart.description.endswith(".")

    def test_names_are_those_of_files_and_unique(self) -> None:
        measures = {name: entry(0.5) for name in ("NDCG@5", "ndcg@5", "../../etc/passwd", "\x00<b>")}
        charts = all_charts(Report({"s": scored(measures)}))
        assert list(charts) == ["headline-ndcg-5", "headline-ndcg-5-2", "headline-etc-passwd"]

    @pytest.mark.parametrize("report", [Report({}), Report({"a": SystemResult({}, {})})])
    def test_an_empty_report_has_none(self, report: Report) -> None:
        assert all_charts(report) == {}

    def test_a_report_of_undefined_values(self, report: Report) -> None:
        """Everything undefined: charts there are, and values there are none."""

        def emptied(measures: Mapping[str, Estimate]) -> dict[str, Estimate]:
            return {label: replace(one, mean=nan, std=nan, ci=None) for label, one in measures.items()}

        def apart(found: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(
                replace(one, mean=nan, baseline_mean=nan, ci=None, p=None, p_holm=None)
                if isinstance(one, Comparison)
                else replace(one, difference=nan, ci=None, p=None, p_holm=None)
                for one in found
            )

        undefined = replace(
            report,
            systems={name: replace(one, estimates=emptied(one.estimates)) for name, one in report.systems.items()},
            comparisons=apart(report.comparisons),
            slices=tuple(
                replace(
                    part,
                    estimates={name: emptied(of) for name, of in part.estimates.items()},
                    beside=apart(part.beside),
                )
                for part in report.slices
            ),
        )
        for number, chart in enumerate(all_charts(undefined).values()):
            drawn(chart, f"p{number}")
