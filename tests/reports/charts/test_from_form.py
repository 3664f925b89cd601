"""From a report's form to charts: real forms of the bundled plans, and small ones of which all is known."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pytest

from karat.drift import drift_between
from karat.reports.charts import (
    DotPlot,
    Histogram,
    all_charts,
    curves_charts,
    differences_chart,
    drift_chart,
    frontier_chart,
    headline_chart,
    history_chart,
    score_charts,
    slices_chart,
)
from karat.reports.charts.from_form.reading import headline_of, less_is_better
from tests import drifting

from . import drawn

Form = dict[str, Any]


def entry(mean: float | None, ci: tuple[float, float] | None = None, n: int = 10, convention: str = "ndcg@10") -> Form:
    return {"mean": mean, "n": n, "undefined": 0, "ci": list(ci) if ci else None, "convention": convention}


def compared(system: str, difference: float, ci: tuple[float, float], p: float, measure: str = "ndcg@10") -> Form:
    means = {"mean": 0.5 + difference, "baseline_mean": 0.5, "better": 3, "equal": 4, "worse": 2}
    return {"system": system, "measure": measure, "difference": difference, "ci": list(ci), "p_holm": p, "n": 9} | means


def sliced(name: str, *comparisons: Form, n: int = 9, means: dict[str, Form] | None = None) -> Form:
    systems = {system: {"measures": {"ndcg@10": one}} for system, one in (means or {}).items()}
    return {"slice": name, "note": "", "of": "queries", "n": n, "systems": systems, "comparisons": list(comparisons)}


def small(slices: list[Form], measure: str = "ndcg@10", **more: Any) -> Form:
    systems = {name: {"measures": {measure: entry(0.5, (0.4, 0.6), convention=measure)}} for name in ("base", "x", "y")}
    return {"systems": systems, "baseline": "base", "slices": slices} | more


def labels(chart: DotPlot | None) -> list[str]:
    assert chart is not None
    return [row.label for row in chart.rows]


def values(chart: DotPlot | None) -> list[list[float | None]]:
    assert chart is not None
    return [[dot.value for dot in row.dots] for row in chart.rows]


class TestSlices:
    def test_worst_first_by_the_worst_system(self) -> None:
        form = small(
            [
                sliced("a", compared("x", 0.1, (0.0, 0.2), 0.01), compared("y", -0.05, (-0.1, 0.0), 0.9)),
                sliced("b", compared("x", -0.2, (-0.3, -0.1), 0.01), compared("y", 0.3, (0.2, 0.4), 0.01)),
                sliced("c", compared("x", 0.2, (0.1, 0.3), 0.01), compared("y", 0.0, (-0.1, 0.1), 1.0)),
            ]
        )
        chart = slices_chart(form, "ndcg@10")
        assert labels(chart) == ["b", "a", "c"] and values(chart) == [[-0.2, 0.3], [0.1, -0.05], [0.2, 0.0]]
        assert chart is not None and (chart.reference, chart.series, chart.places) == (0.0, ("x", "y"), (1, 2))
        assert labels(slices_chart(form, "ndcg@10", "y")) == ["a", "c", "b"]

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
        form = small(
            [sliced("a", compared("x", 0.1, (0.0, 0.2), 0.06)), sliced("b", compared("x", 0.2, (0.1, 0.3), 0.04))]
        )
        chart = slices_chart(form, "ndcg@10")
        assert chart is not None and [row.dots[0].muted for row in chart.rows] == [True, False]
        assert "Hollow" in chart.footnote
        sure = slices_chart(form | {"resampling": {"level": 0.9}}, "ndcg@10")
        assert sure is not None and not any(dot.muted for dot in sure.dots) and "Hollow" not in sure.footnote

    def test_at_most_thirty_and_how_many_more(self) -> None:
        slices = [sliced(f"s{n:02}", compared("x", n / 100, (0.0, 1.0), 0.5)) for n in range(41)]
        chart = slices_chart(small(slices), "ndcg@10")
        assert labels(chart) == [f"s{n:02}" for n in range(30)]
        assert chart is not None and "The 30 worst; 11 more slices are not shown." in chart.footnote

    def test_slices_in_which_nothing_differs_are_left_out(self) -> None:
        form = small(
            [
                sliced("same", compared("x", 0.0, (0.0, 0.0), 1.0), means={"x": entry(0.3)}),
                sliced("apart", compared("x", 0.0, (-0.1, 0.1), 1.0), means={"x": entry(0.4)}),
            ]
        )
        chart = slices_chart(form, "ndcg@10")
        assert labels(chart) == ["apart"] and chart is not None and "1 slice without any difference" in chart.footnote
        form["slices"] = form["slices"][:1]
        means = slices_chart(form, "ndcg@10")
        assert values(means) == [[0.3]] and means is not None and means.x_label.startswith("mean ndcg@10")

    def test_without_a_baseline_means_against_the_overall_one(self, form_of: Callable[[str], Form]) -> None:
        form = form_of("driving")
        chart = slices_chart(form, "NDCG@5")
        assert chart is not None and chart.series == ("embedding",), "what is by chance has no slices that fail"
        overall = form["systems"]["embedding"]["measures"]["NDCG@5"]["mean"]
        assert chart.reference == overall and f"{overall:.2f}" in chart.reference_label
        found = {part["slice"]: part["systems"]["embedding"]["measures"]["NDCG@5"] for part in form["slices"]}
        assert len(chart.rows) == len(found)
        means = [one for (one,) in values(chart)]
        assert means == sorted(one["mean"] for one in found.values())
        for row in chart.rows:
            (dot,) = row.dots
            assert [dot.low, dot.high] == found[row.label]["ci"] and row.note.startswith("n ")

    def test_a_real_comparison(self, form_of: Callable[[str], Form]) -> None:
        form = form_of("movies")
        chart = slices_chart(form, "ndcg(gain=exp)@5")
        found = {
            part["slice"]: one["difference"]
            for part in form["slices"]
            for one in part["comparisons"]
            if one["measure"] == "ndcg(gain=exp)@5"
        }
        assert chart is not None
        assert [(row.label, row.dots[0].value) for row in chart.rows] == sorted(found.items(), key=lambda one: one[1])

    @pytest.mark.parametrize("form", [{}, {"systems": {}}, small([]), small([sliced("a")])])
    def test_nothing_to_show(self, form: Form) -> None:
        assert slices_chart(form, "ndcg@10") is None


class TestSystems:
    def test_headline(self, form: Form) -> None:
        measure = headline_of(form)[0]
        chart = headline_chart(form, measure)
        wanted = {name: one["measures"][measure]["mean"] for name, one in form["systems"].items()}
        assert {row.label: row.dots[0].value for row in chart.rows} == wanted
        assert chart.reference == wanted.get(form.get("baseline"))
        assert not chart.keyed and chart.places == tuple(range(len(wanted)))

    def test_differences_of_shares_only(self) -> None:
        comparisons = [
            compared("x", 0.1, (0.0, 0.2), 0.01),
            compared("y", -0.1, (-0.2, 0.0), 0.5),
            compared("x", 3.0, (2.0, 4.0), 0.01, "novelty@10") | {"mean": 9.0, "baseline_mean": 6.0},
        ]
        form = small([], comparisons=comparisons)
        form["systems"]["x"]["measures"]["novelty@10"] = entry(9.0, convention="novelty@10")
        chart = differences_chart(form)
        assert labels(chart) == ["ndcg@10"] and values(chart) == [[0.1, -0.1]]
        assert chart is not None and "1 more under other measures" in chart.footnote
        alone = differences_chart(form | {"headline": ["novelty@10"]})
        assert values(alone) == [[3.0]]

    def test_nothing_is_compared(self, form_of: Callable[[str], Form]) -> None:
        assert differences_chart(form_of("driving")) is None

    def test_which_is_better(self) -> None:
        assert less_is_better(small([], "calibration@10"), "calibration@10")
        assert not less_is_better(small([]), "ndcg@10")
        assert not less_is_better(small([], "of_a_plugin@3"), "of_a_plugin@3")


class TestCurves:
    def test_every_measure_at_two_cutoffs_or_more(self, form_of: Callable[[str], Form]) -> None:
        form = form_of("movies")
        charts = {chart.title: chart for chart in curves_charts(form)}
        assert list(charts) == ["ndcg(gain=exp) against k", "hits against k", "rr against k"]
        chart = charts["rr against k"]
        assert chart.x_names == ("1", "2", "3", "5", "10") and chart.series == tuple(form["systems"])
        for line in chart.lines:
            measures = form["systems"][line.name]["measures"]
            assert line.ys == tuple(measures[f"rr@{k}"]["mean"] for k in chart.x_names)
            intervals = [measures[f"rr@{k}"]["ci"] or [None, None] for k in chart.x_names]
            assert [list(ends) for ends in zip(line.lows, line.highs, strict=True)] == intervals

    def test_other_names_by_their_conventions(self, form_of: Callable[[str], Form]) -> None:
        titles = [chart.title for chart in curves_charts(form_of("driving"))]
        assert titles == [f"{name} against k" for name in ("Recall", "Precision", "NDCG", "MAP")]

    def test_of_one_name_under_two_conventions_one_is_spelled_out(self) -> None:
        measures = {
            "NDCG@5": entry(0.1, convention="ndcg@5"),
            "NDCG@9": entry(0.2, convention="ndcg@9"),
            "ndcg(gain=exp)@5": entry(0.3, convention="ndcg(gain=exp)@5"),
            "ndcg(gain=exp)@9": entry(0.4, convention="ndcg(gain=exp)@9"),
            "cut@5": entry(0.5, convention="rr@5"),
        }
        charts = curves_charts({"systems": {"s": {"measures": measures}}})
        assert [(chart.y_label, chart.lines[0].ys) for chart in charts] == [
            ("NDCG@k", (0.1, 0.2)),
            ("ndcg(gain=exp)@k", (0.3, 0.4)),
        ]

    def test_an_axis_without_zero_says_so(self) -> None:
        high = {f"rr@{k}": entry(0.9 + k / 1000, convention=f"rr@{k}") for k in (1, 5)}
        (chart,) = curves_charts({"systems": {"s": {"measures": high}}})
        assert chart.y_range is not None and chart.y_range[0] > 0.8 and "not at 0" in chart.footnote
        low = {f"rr@{k}": entry(k / 10, convention=f"rr@{k}") for k in (1, 5)}
        (chart,) = curves_charts({"systems": {"s": {"measures": low}}})
        assert chart.y_range is not None and chart.y_range[0] == 0 and "not at 0" not in chart.footnote

    def test_what_is_undefined_is_a_gap(self) -> None:
        measures = {f"rr@{k}": entry(None if k == 3 else 0.5, convention=f"rr@{k}") for k in (1, 3, 5)}
        (chart,) = curves_charts({"systems": {"s": {"measures": measures}}})
        assert chart.lines[0].ys == (0.5, None, 0.5)


class TestScores:
    def test_similarities_are_counted_one_by_one(self, form_of: Callable[[str], Form]) -> None:
        form = form_of("fashion")
        chart = next(one for one in score_charts(form) if one.title.startswith("Similarity"))
        for bars in chart.strips:
            found = np.array(form["systems"][bars.name]["stability"]["queries"]["top1"])
            counts, _ = np.histogram(found, np.array(bars.edges))
            assert bars.counts == tuple(counts.tolist()) and sum(bars.counts) == len(found)

    def test_alike_ranges_share_an_axis_and_others_do_not(self, form_of: Callable[[str], Form]) -> None:
        """Of movies: cosines of three spaces, and the small sums of reciprocal ranks of their fusion."""
        form = form_of("movies")
        charts = [one for one in score_charts(form) if one.title.startswith("Scores")]
        assert [one.series for one in charts] == [("denseanchor", "densecontent", "densevibe"), ("combined",)]
        assert charts[1].places == (3,)
        for bars in (bars for chart in charts for bars in chart.strips):
            found = form["systems"][bars.name]["first_scores"]
            assert (list(bars.edges), list(bars.counts)) == (found["edges"], found["counts"])

    def lengths(self, *edges_and_counts: tuple[list[float], list[int]]) -> list[Histogram]:
        systems = {
            f"s{n}": {"measures": {}, "space": {"norm": {"histogram": {"edges": edges, "counts": counts}}}}
            for n, (edges, counts) in enumerate(edges_and_counts)
        }
        return score_charts({"systems": systems})

    def test_lengths_within_rounding_are_one_bar(self) -> None:
        (chart,) = self.lengths(([0.9999, 1.0, 1.0001], [3, 4]), ([1.0, 1.0], [9]))
        assert [bars.counts for bars in chart.strips] == [(7,), (9,)]
        assert "all 1.000 but for rounding" in chart.strips[0].note

    @pytest.mark.parametrize(
        ("edges", "counts"), [([], []), ([1.0, 2.0], [0]), ([2.0, 1.0], [3]), ([1.0], [3]), ([1.0, None], [3])]
    )
    def test_a_histogram_that_is_none_has_no_chart(self, edges: list[float], counts: list[int]) -> None:
        assert self.lengths((edges, counts)) == []

    def test_spaces_that_are_no_systems(self) -> None:
        form = {"systems": {}, "spaces": {"ref": {"norm": {"histogram": {"edges": [1.0, 2.0, 3.0], "counts": [3, 4]}}}}}
        (chart,) = score_charts(form)
        assert chart.series == ("ref",) and chart.strips[0].note == "7 vectors"


class TestFrontier:
    @staticmethod
    def form(**figures: tuple[float, float]) -> Form:
        systems = {
            name: {"figures": {"ann_recall@10": {"value": recall, "ci": [recall, recall]}, "latency_p95_ms": p95}}
            for name, (recall, p95) in figures.items()
        }
        return {"systems": systems}

    def test_undominated_points_are_on_it(self) -> None:
        chart = frontier_chart(self.form(a=(1.0, 10.0), b=(0.9, 1.0), c=(0.9, 2.0), d=(0.8, 1.0), e=(1.0, 10.0)))
        assert chart is not None
        assert [one.name for one in chart.points if one.on_frontier] == ["a", "b", "e"]
        assert [[one.name for one in line] for line in chart.frontiers] == [["b", "a", "e"]] and chart.log_x

    def test_the_real_one(self, form_of: Callable[[str], Form]) -> None:
        form = form_of("fashion")
        chart = frontier_chart(form)
        assert chart is not None and {one.name for one in chart.points} == {"exact", "hnsw"}
        for point in chart.points:
            figures = form["systems"][point.name]["figures"]
            assert (point.y, point.x) == (figures["ann_recall@10"]["value"], figures["latency_p95_ms"]["value"])
            assert list(point.x_ends or ()) == figures["latency_p95_ms"]["ci"]
            bare = {"systems": {point.name: {"index": form["systems"][point.name]["index"]}}}
            same = frontier_chart(bare)
            assert same is not None and (same.points[0].y, same.y_label) == (point.y, chart.y_label)

    def test_where_there_is_no_p95_the_median(self) -> None:
        form = {"systems": {"a": {"figures": {"ann_recall@5": 0.9, "latency_p50_ms": 2.0}}}}
        chart = frontier_chart(form)
        assert chart is not None and "P50" in chart.x_label and chart.y_label.startswith("recall@5")

    def test_none_without_both_figures(self, form_of: Callable[[str], Form]) -> None:
        assert frontier_chart(form_of("movies")) is None
        assert frontier_chart({"systems": {"a": {"figures": {"latency_p95_ms": 2.0}}}}) is None


class TestDrift:
    def chart(self, scale: float) -> tuple[DotPlot, Form]:
        new = drifting.report(hnsw=drifting.entry(drifting.stability(drifting.scores_of() * scale)))
        drift = drift_between(new, drifting.report("old.json")).to_json()
        chart = drift_chart({"systems": {"hnsw": new.systems["hnsw"] | {"drift": drift}}})
        assert chart is not None
        return chart, drift

    def test_moves_beside_what_is_allowed(self) -> None:
        chart, drift = self.chart(0.97)
        assert labels(chart) == ["top1 mean", "top1 std", "top3 mean", "top3 std", "norm mean", "norm std"]
        assert [one for (one,) in values(chart)] == [entry["change"] for entry in drift["figures"]]
        assert chart.band == (-0.05, 0.05) and chart.percent and "old.json" in chart.title
        mean = chart.rows[0].dots[0]
        assert mean.value == pytest.approx(-0.03) and mean.shown == "−3.00 %"
        assert mean.low is not None and mean.low <= -0.03 + 1e-9 and drift["paired"][0]["relative_ci"][0] == mean.low

    def test_none_without_drift(self, form: Form) -> None:
        assert drift_chart(form) is None


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
    def test_what_a_form_has(self, name: str, form_of: Callable[[str], Form]) -> None:
        charts = all_charts(form_of(name))
        assert EXPECTED[name] <= set(charts)
        for number, chart in enumerate(charts.values()):
            drawn(chart, f"p{number}")
            assert chart.title and chart.description.endswith(".")

    def test_names_are_those_of_files_and_unique(self) -> None:
        measures = {name: entry(0.5, convention=name) for name in ("NDCG@5", "ndcg@5", "../../etc/passwd", "\x00<b>")}
        charts = all_charts({"systems": {"s": {"measures": measures}}})
        assert list(charts) == ["headline-ndcg-5", "headline-ndcg-5-2", "headline-etc-passwd"]

    @pytest.mark.parametrize(
        "form", [{}, {"systems": {}}, {"systems": {"a": {}}}, {"systems": {"a": {"measures": {}}}}]
    )
    def test_an_empty_form_has_none(self, form: Form) -> None:
        assert all_charts(form) == {}

    def test_a_form_of_nulls(self, form: Form) -> None:
        """Everything undefined: charts there are, and figures there are none."""

        def emptied(one: Any) -> Any:
            if isinstance(one, dict):
                return {key: emptied(value) for key, value in one.items()}
            return [emptied(value) for value in one] if isinstance(one, list) else None if type(one) is float else one

        for number, chart in enumerate(all_charts(emptied(form)).values()):
            drawn(chart, f"p{number}")
