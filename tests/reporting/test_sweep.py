"""Sweeps in tables, words and a picture: what is told is what was measured, and no label covers another."""

import csv
import io
import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from PIL import Image

from rankjury.reporting.charts.layout import Box
from rankjury.reporting.charts.matplotlib import to_figure, to_picture
from rankjury.reporting.charts.sections import sweeps_chart
from rankjury.reporting.tables.sweep import (
    SCHEMA,
    choice_lines,
    omitted_lines,
    print_sweep,
    sweep_sentence,
    sweep_table,
    sweeps_to_csv,
    sweeps_to_json,
    sweeps_to_markdown,
)
from rankjury.retrieval.bench.sweep_result import PairedTimes, SweepPoint, SweepResult
from tests.retrieval.bench.support import sweep_from_json


def measured(build: dict[str, Any], search: dict[str, Any], recall: float, p95: float, **more: Any) -> SweepPoint:
    half = more.pop("half", 0.01)
    ends = {"ms": p95, "ci": [0.9 * p95, 1.2 * p95], "bounded": more.pop("bounded", True)}
    ci = [max(0.0, recall - half), min(1.0, recall + half)]
    p50, p99 = ({"ms": ms, "ci": None} for ms in (p95 / 2, 3 * p95))
    form: dict[str, Any] = {
        "build": build,
        "search": search,
        "status": "measured",
        "recall": {"mean": recall, "ci": ci, "p5": 0.5, "n": 80},
        "latency": {"p50": p50, "p95": ends, "p99": p99, "qps": 1500.0 / p95},
        "build_seconds": 0.1234,
        "size_bytes": 1_670_000,
        "failed_queries": 0,
    }
    return SweepPoint.from_json(form | more)


def grid(builds: int = 6, searches: int = 4, name: str = "hnsw", **more: Any) -> SweepResult:
    """As such sweeps look: recall rises with the search and the build, and so does the time."""
    points = []
    for b in range(builds):
        for s in range(searches):
            recall = round(1 - 0.55 * 0.35**s * 0.85**b, 4)
            build = {"m": 8 * 2 ** (b // 2), "ef_construction": (64, 200)[b % 2]}
            points.append(measured(build, {"ef_search": 16 * 2**s}, recall, 0.08 * 1.8**s * (1 + 0.12 * b)))
    given: dict[str, Any] = {"target": 0.95, "limit_p95_ms": 0.6, "level": 0.95} | more
    return SweepResult(name, "faiss-hnsw", "cosine", 10, 8000, 32, 80, tuple(points), **given)


@pytest.fixture
def small() -> SweepResult:
    """A frontier of two, the second of which is the cheapest; one is beaten, one pruned, one failed."""
    build = {"m": 8}
    points = (
        measured(build, {"ef": 16}, 0.80, 0.1),
        measured(build, {"ef": 32}, 0.97, 0.2),
        measured(build, {"ef": 33}, 0.96, 0.3),
        SweepPoint(build, {"ef": 64}, "pruned", because="ef=32 finds everything, and is no slower", by={"ef": 32}),
        SweepPoint({"m": 16}, {"ef": 16}, "failed", because="could not be built: no room"),
    )
    whole = SweepResult("hnsw", "faiss-hnsw", "cosine", 10, 8000, 32, 80, points, 0.95, None, 0.95, resumed=2)
    return replace(whole, times=times(*points[1:3]))


def times(*points: SweepPoint) -> PairedTimes:
    """As if every round had found the P95 of the points again."""
    rows = tuple((one.p95.ms,) * 16 for one in points if one.p95)
    return PairedTimes(tuple((one.build, one.search) for one in points), rows, 50)


class TestTable:
    def test_builds_with_their_searches_below_and_what_they_are(self, small: SweepResult) -> None:
        (narrow,) = sweep_table(small).narrower
        assert narrow.header == ["setting", "recall@10 [95 %]", "p95 ms [95 %]", ""]
        assert narrow.texts == [
            ["m=8", "built in 0.123 s", "1.67 MB", ""],
            ["  ef=16", "0.800 [0.790, 0.810]", "0.100 [0.090, 0.120]", "frontier"],
            ["  ef=32", "0.970 [0.960, 0.980]", "0.200 [0.180, 0.240]", "cheapest"],
            ["  ef=33", "0.960 [0.950, 0.970]", "0.300 [0.270, 0.360]", ""],
            ["  ef=64", "–", "–", "pruned"],
            ["m=16", "", "", ""],
            ["  ef=16", "–", "–", "failed"],
        ]

    def test_wide_it_has_more(self, small: SweepResult) -> None:
        found = sweep_table(small)
        assert found.header[3:] == ["p50", "p99", "per second", ""]
        assert found.texts[1][3:] == ["0.050", "0.300", "15,000", "frontier"]
        assert all(len(row) == len(found.header) for row in found.rows)

    def test_a_time_that_nothing_bounds_says_so(self) -> None:
        sweep = replace(grid(1, 1), points=(measured({}, {}, 0.9, 12.5, bounded=False),))
        assert sweep_table(sweep).texts[1][2] == "12.5 [11.2, …]"

    def test_unsure_and_unanswered_are_marked(self) -> None:
        points = (measured({}, {"ef": 1}, 0.96, 0.1, half=0.02), measured({}, {"ef": 2}, 1.0, 0.2, failed_queries=3))
        marks = [row[-1] for row in sweep_table(replace(grid(1, 1), points=points)).texts]
        assert marks == ["", "cheapest?", "3 unanswered"]

    @pytest.mark.parametrize("width", [80, 120])
    def test_it_fits_the_screen(
        self, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(width))
        print_sweep(grid(notes=()))
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= width
        assert "hnsw (faiss-hnsw, cosine): 8,000 items, 80 queries" in shown
        assert "m=32 ef_construction=200" in shown
        assert ("per second" in shown) is (width == 120)


class TestWords:
    def test_the_cheapest(self, small: SweepResult) -> None:
        sentence = sweep_sentence(small)
        assert sentence.startswith("Cheapest setting (by p95) of hnsw with recall@10 ≥ 0.95: m=8 ef=32 (")
        assert sentence.endswith("(recall 0.970 [0.960, 0.980], mean p95 0.200 ms, 1.67 MB).")
        (grounds,) = choice_lines(small)
        assert grounds.startswith("hnsw: 2 settings that meet the target were timed in 16 interleaved rounds")

    def test_it_is_first_on_the_screen_and_in_markdown(
        self, small: SweepResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        print_sweep(small)
        shown = " ".join(capsys.readouterr().out.split())
        assert shown.startswith(sweep_sentence(small))
        text = sweeps_to_markdown([small])
        assert 0 < text.index("Cheapest setting") < text.index("| setting")

    def test_settings_that_cannot_be_distinguished_are_all_named_and_marked(self, small: SweepResult) -> None:
        alike = replace(small, times=times(small.points[1], replace(small.points[2], p95=small.points[1].p95)))
        sentence = sweep_sentence(alike)
        assert sentence.startswith("2 settings of hnsw with recall@10 ≥ 0.95 cannot be distinguished by p95")
        assert "m=8 ef=32 (" in sentence
        second, _ = choice_lines(alike)
        assert second == "hnsw: the other: m=8 ef=33 (recall 0.960 [0.950, 0.970], mean p95 0.200 ms, 1.67 MB)"
        assert [row[-1] for row in sweep_table(alike).texts] == [
            "",
            "frontier",
            "cheapest?",
            "tied",
            "pruned",
            "",
            "failed",
        ]
        rows = csv.DictReader(io.StringIO(sweeps_to_csv([alike])))
        assert [row["cheapest"] for row in rows][:3] == ["", "tied", "cannot be distinguished"]
        assert "cannot be distinguished" in sweeps_to_markdown([alike])
        axes = axes_of(to_figure(sweeps_chart([alike])))
        (rings,) = [line for line in axes.lines if line.get_markersize() == 12.0]
        assert list(rings.get_ydata()) == [0.97, 0.96]

    def test_costs_that_were_measured_once_say_so(self, small: SweepResult) -> None:
        lines = list(choice_lines(replace(small, times=None)))
        assert "cannot be distinguished by p95" in sweep_sentence(replace(small, times=None))
        assert lines[-1] == "hnsw: p95 was measured once, and counts as higher only where it is twice as high"
        assert "the time to build was measured once" in list(choice_lines(small, "build"))[-1]

    def test_cheaper_but_not_sure(self) -> None:
        points = (measured({}, {"ef": 1}, 0.955, 0.1), measured({}, {"ef": 2}, 1.0, 0.2))
        whole = replace(grid(1, 1), points=points, limit_p95_ms=None, times=times(*points))
        second, _ = choice_lines(whole, "p95")
        assert sweep_sentence(whole).startswith("Cheapest setting (by p95) of hnsw with recall@10 ≥ 0.95: ef=2 ")
        assert second.startswith("hnsw: cheaper, but not sure to meet it: ef=1 ")

    def test_unsure_none_and_nothing(self, small: SweepResult) -> None:
        unsure = sweep_sentence(replace(small, target=0.965), "size")
        assert unsure.startswith("No setting of hnsw surely meets recall@10 ≥ 0.965; the lowest size ")
        none = sweep_sentence(replace(small, target=0.99, limit_p95_ms=0.25))
        assert none.startswith(
            "No setting of hnsw meets recall@10 ≥ 0.99 and p95 ≤ 0.25 ms; nearest: m=8 ef=32 (recall 0.97"
        )
        nothing = replace(small, points=small.points[3:])
        assert "was measured that could meet recall@10 ≥ 0.95" in sweep_sentence(nothing)
        assert list(choice_lines(nothing)) == []

    def test_without_a_target_the_ends_of_the_frontier_are_named(self, small: SweepResult) -> None:
        free = replace(small, target=None)
        sentence = sweep_sentence(free)
        assert "No target" in sentence and "2 settings" in sentence
        assert sentence.index("ef=16 (recall 0.800") < sentence.index("ef=32 (recall 0.970")
        assert list(choice_lines(free)) == []
        assert "could be measured" in sweep_sentence(replace(free, points=small.points[3:]))

    def test_of_a_large_grid_only_what_matters_is_shown(self) -> None:
        large = grid(10, 4)
        table = sweep_table(large, marked_only=True)
        assert {row[-1] for row in table.texts} <= {"", "frontier", "cheapest", "cheapest?", "tied"}
        shown = [row for row in table.texts if row[0].startswith("  ")]
        assert all(row[-1] for row in shown) and 0 < len(shown) < 40
        assert table.notes == (f"… {40 - len(shown)} more settings in frontier.csv",)

    def test_what_the_engine_refuses_is_skipped_with_its_reason(self, small: SweepResult) -> None:
        refused = [
            SweepPoint({"m": 3}, {"ef": ef}, "skipped", because="m is 3, which does not divide 8") for ef in (1, 2)
        ]
        lines = list(omitted_lines(replace(small, points=(*small.points, *refused))))
        assert "2 settings skipped, as the engine refuses them: m is 3, which does not divide 8" in lines
        picture = to_figure(sweeps_chart([replace(small, points=(*small.points, *refused))]))
        assert "1 pruned, 2 skipped, 1 failed of 7 settings" in " ".join(picture.get_supxlabel().split())

    def test_what_was_left_out(self, small: SweepResult) -> None:
        assert list(omitted_lines(small)) == [
            "1 setting was pruned: a lower one of the same build finds as much, and is no slower",
            "m=16 ef=16 failed: could not be built: no room",
            "2 settings were measured by an earlier sweep",
        ]


class TestForms:
    def test_json_holds_every_sweep(self, small: SweepResult) -> None:
        form = json.loads(sweeps_to_json([small, grid()], "2026-01-01T00:00:00Z"))
        assert (form["schema"], form["made"]) == (SCHEMA, "2026-01-01T00:00:00Z")
        assert [sweep_from_json(one) for one in form["sweeps"]] == [small, grid()]

    def test_csv_has_no_text_that_a_spreadsheet_runs(self, small: SweepResult) -> None:
        refused = SweepPoint({"m": "=1+1"}, {}, "skipped", because="@SUM(A1)")
        whole = replace(small, name="=cmd()", points=(*small.points, refused))
        rows = list(csv.DictReader(io.StringIO(sweeps_to_csv([whole]))))
        assert {row["system"] for row in rows} == {"'=cmd()"}
        assert (rows[-1]["build.m"], rows[-1]["because"]) == ("'=1+1", "'@SUM(A1)")
        assert rows[1]["p95_ms"] == "0.2" and rows[0]["frontier"] == "true"

    def test_csv_has_a_row_a_setting_with_all_digits(self, small: SweepResult) -> None:
        other = grid(1, 1, "other", target=None, limit_p95_ms=None)
        rows = list(csv.DictReader(io.StringIO(sweeps_to_csv([small, other]))))
        assert len(rows) == 6
        assert [row["status"] for row in rows] == [*3 * ["measured"], "pruned", "failed", "measured"]
        assert [row["frontier"] for row in rows] == ["true", "true", *3 * ["false"], "true"]
        assert [row["cheapest"] for row in rows] == ["", "sure", "", "", "", ""]
        second = rows[1]
        assert (second["system"], second["build.m"], second["search.ef"], second["search.ef_search"]) == (
            "hnsw",
            "8",
            "32",
            "",
        )
        figures = small.points[1]
        assert figures.recall_ci and figures.p95 and figures.p95.ci
        assert float(second["recall"]) == figures.recall
        assert (float(second["recall_low"]), float(second["recall_high"])) == figures.recall_ci
        assert (float(second["p95_ms"]), float(second["p95_low"])) == (figures.p95.ms, figures.p95.ci[0])
        assert (second["n"], second["size_bytes"], second["build_seconds"]) == ("80", "1670000", "0.1234")
        assert rows[3]["recall"] == rows[3]["n"] == rows[3]["p95_ms"] == ""
        assert rows[4]["because"] == "could not be built: no room"

    def test_markdown_has_a_table_a_sweep(self, small: SweepResult) -> None:
        text = sweeps_to_markdown([small, grid(1, 1, "a|b")])
        assert "### hnsw: recall@10 and latency" in text
        assert "### a&#124;b: recall@10 and latency" in text
        assert "| \u00a0\u00a0ef=32 | 0.970 [0.960, 0.980] |" in text
        assert "- m=16 ef=16 failed: could not be built: no room" in text


def axes_of(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def labels_of(axes: Axes) -> list[Annotation]:
    found = [text for text in axes.texts if isinstance(text, Annotation)]
    return [text for text in found if not text.get_text().startswith(("target", "limit"))]


def boxes_of(figure: Figure) -> list[Box]:
    FigureCanvasAgg(figure).draw()
    # Of the texts alone: the fine line that leads to a label may pass another.
    return [tuple(Text.get_window_extent(text).extents) for text in axes_of(figure).texts]  # type: ignore[misc]


def covers(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.fixture(scope="module")
def picture() -> Figure:
    """Of 24 points."""
    return to_figure(sweeps_chart([grid()]))


class TestPicture:
    def test_the_points_and_the_frontier_are_where_they_were_measured(self, picture: Figure) -> None:
        sweep, axes = grid(), axes_of(picture)
        wide = [line for line in axes.lines if line.get_linewidth() == 5.0]
        (frontier,) = wide
        assert list(frontier.get_xdata()) == [one.p95.ms for one in sweep.frontier() if one.p95]
        assert list(frontier.get_ydata()) == [one.recall for one in sweep.frontier()]
        marked = [line for line in axes.lines if line.get_marker() not in ("None", "") and line.get_markersize() < 12]
        drawn = {spot for line in marked for spot in zip(line.get_xdata(), line.get_ydata(), strict=True)}
        assert drawn == {(one.p95.ms, one.recall) for one in sweep.points if one.p95}
        filled = {time for line in marked if line.get_markerfacecolor() != "white" for time in line.get_xdata()}
        assert filled == {one.p95.ms for one in sweep.frontier() if one.p95}

    def test_the_cheapest_is_ringed_and_the_target_drawn(self, picture: Figure) -> None:
        sweep, axes = grid(), axes_of(picture)
        (ring,) = [line for line in axes.lines if line.get_markersize() == 12.0]
        chosen = sweep.cheapest().point
        assert chosen is not None and chosen.p95 is not None
        assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (chosen.p95.ms, chosen.recall)
        assert {"target 0.95", "limit 0.6 ms"} <= {text.get_text() for text in axes.texts}

    def test_a_limit_far_off_is_told_but_not_drawn(self) -> None:
        figure = to_figure(sweeps_chart([grid(1, 2, limit_p95_ms=250.0)]))
        assert not any(text.get_text().startswith("limit") for text in axes_of(figure).texts)
        assert "p95 ≤ 250 ms" in figure.get_supxlabel()

    @pytest.mark.parametrize("sweeps", [[grid()], [grid(), grid(4, 3, "other")], [grid(5, 9)]], ids=len)
    def test_no_label_covers_another_and_all_are_within_the_picture(
        self, sweeps: list[SweepResult], picture: Figure
    ) -> None:
        figure = picture if len(sweeps[0].points) == 24 and len(sweeps) == 1 else to_figure(sweeps_chart(sweeps))
        boxes = boxes_of(figure)
        assert not [pair for pair in combinations(boxes, 2) if covers(*pair)]
        width, height = figure.get_size_inches() * figure.dpi
        assert all(box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height for box in boxes)

    def test_all_24_points_are_labelled_with_what_differs(self, picture: Figure) -> None:
        texts = [label.get_text() for label in labels_of(axes_of(picture))]
        assert sorted(texts, key=int) == 6 * ["16"] + 6 * ["32"] + 6 * ["64"] + 6 * ["128"]

    def test_of_many_points_only_the_frontier_is_labelled(self) -> None:
        sweep = grid(20, 4)
        figure = to_figure(sweeps_chart([sweep]))
        assert 0 < len(labels_of(axes_of(figure))) <= len(sweep.frontier())
        assert "(of the frontier)" in figure.get_supxlabel()
        (legend,) = figure.legends
        assert legend.get_texts()[0].get_text() == "hnsw"

    def test_the_legend_names_builds_and_the_caption_the_rest(self, small: SweepResult) -> None:
        figure = to_figure(sweeps_chart([small]))
        (legend,) = figure.legends
        names = [text.get_text() for text in legend.get_texts()]
        assert names == ["m=8", "frontier (filled points)", "the cheapest that meets the target"]
        assert legend.get_title().get_text() == "hnsw (faiss-hnsw, 8,000 × 32)"
        caption = " ".join(figure.get_supxlabel().split())
        assert caption == (
            "Labels: ef. Target: recall@10 ≥ 0.95. Bars: 95 % intervals. Over: 80 queries. "
            "Not drawn: 1 pruned, 1 failed of 5 settings."
        )

    def test_no_blank_band_is_left_where_all_points_of_a_build_are_on_the_frontier(self) -> None:
        """Markers of no points stood at the corner of the picture, and room was kept down to there."""
        for sweep in (grid(1, 4), grid(2, 1), grid()):
            figure = to_figure(sweeps_chart([sweep]))
            canvas = FigureCanvasAgg(figure)
            below = axes_of(figure).xaxis.get_tightbbox(canvas.get_renderer())
            (caption,) = [text for text in figure.findobj(Text) if text.get_text() == figure.get_supxlabel()]
            assert below is not None
            assert 0 <= below.y0 - caption.get_window_extent().y1 < 0.05 * figure.bbox.height

    def test_equal_sweeps_give_equal_bytes_of_a_whole_picture(self) -> None:
        first, again = (to_picture(sweeps_chart([grid(2, 3)])) for _ in range(2))
        assert first == again
        image = Image.open(io.BytesIO(first))
        assert image.format == "PNG" and image.width == 1080
