"""Inline SVG: everything stands where its figures belong, and no name breaks out of it."""

from dataclasses import replace
from math import log10

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.reporting.charts.layout import text_width
from rankjury.reporting.charts.spec import (
    Bars,
    Chart,
    Dot,
    DotPlot,
    DotRow,
    HistogramChart,
    LineChart,
    LineSeries,
    Mark,
    Ring,
    Scatter,
    ScatterPoint,
)
from rankjury.reporting.charts.svg import to_svg
from tests.reporting.charts import Axis, all_of, dots_of, drawn, ends_of, spot_of, texts_of

TITLE, ABOUT = "What it is", "What it shows."
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' style='x' ]]> <!-- & &amp;",
    "\u202egpj.exe\u2066",
    "x" * 10_000,
    "many words " * 1_000,
    "a\x00b\x1b[31m\ufffe\ud800",
    "👩\u200d👩\u200d👧 " * 40,
    "z\u0335\u0321\u0322" * 60,
    "",
    "שלום عالم 東京",
]


def plot(*figures: tuple[float | None, float | None, float | None], **more: object) -> DotPlot:
    rows = tuple(
        DotRow(f"row {place}", (Dot(*one, title=f"all of {place}", shown=f"{one[0]}"),), f"n {place}")
        for place, one in enumerate(figures)
    )
    return DotPlot(TITLE, ABOUT, "difference", rows, **more)  # type: ignore[arg-type]


class TestFrame:
    def test_name_and_description_for_who_cannot_see_it(self) -> None:
        svg = drawn(plot((0.1, 0.0, 0.2)), "slices-1")
        assert svg.get("role") == "img" and svg.get("class") == "chart"
        named = svg.get("aria-labelledby", "").split()
        assert [svg.find(f".//*[@id='{name}']").text for name in named] == [TITLE, ABOUT]  # type: ignore[union-attr]
        assert named == ["slices-1-title", "slices-1-desc"]

    def test_it_scales(self) -> None:
        svg = drawn(plot((0.1, 0.0, 0.2)), width=360)
        left, top, wide, high = map(float, svg.get("viewBox", "").split())
        assert (left, top, wide, svg.get("width")) == (0, 0, 360, "100%") and 50 < high < 200

    def test_no_text_is_smaller_than_11(self) -> None:
        svg = drawn(plot((0.1, 0.0, 0.2), reference=0.0, reference_label="baseline"))
        sizes = {float(one.get("font-size", svg.get("font-size", "0"))) for one in svg.iter("text")}
        assert min(sizes) >= 11

    def test_a_prefix_cannot_break_out(self) -> None:
        assert 'id="aonloadx-title"' in to_svg(plot((0.1, 0.0, 0.2)), 'a" onload="x')


class TestDots:
    FIGURES = [(-0.163, -0.344, -0.013), (0.05, -0.048, 0.196), (0.165, 0.029, 0.301)]

    @pytest.mark.parametrize("width", [320, 720, 1000])
    def test_dots_and_intervals_stand_where_their_values_belong(self, width: float) -> None:
        svg = drawn(plot(*self.FIGURES, reference=0.0), width=width)
        axis = Axis.across(svg)
        assert [x for x, _ in dots_of(svg)] == pytest.approx([axis.at(value) for value, _, _ in self.FIGURES], abs=0.2)
        for path, (_, low, high) in zip(all_of(svg, "whisker"), self.FIGURES, strict=True):
            left, _, right = ends_of(path)
            assert (left, right) == pytest.approx((axis.at(low), axis.at(high)), abs=0.2)
        (line,) = all_of(svg, "reference")
        assert ends_of(line)[0] == pytest.approx(axis.at(0.0), abs=0.2)

    def test_rows_go_down_in_their_order_and_dots_are_on_theirs(self) -> None:
        svg = drawn(plot(*self.FIGURES))
        labels = [one for one in svg.iter("text") if (one.text or "").startswith("row")]
        assert [one.text for one in labels] == ["row 0", "row 1", "row 2"]
        heights = [float(one.get("y", "")) - 4 for one in labels]
        assert heights == sorted(heights) and [y for _, y in dots_of(svg)] == pytest.approx(heights, abs=0.2)

    def test_several_dots_of_a_row_are_told_apart(self) -> None:
        dots = tuple(Dot(0.1 * place, series=place) for place in range(3))
        chart = DotPlot(TITLE, ABOUT, "x", (DotRow("a", dots),), ("one", "two", "three"), places=(4, 0, 2))
        svg = drawn(chart)
        heights = [y for _, y in dots_of(svg)]
        assert heights[1] - heights[0] == heights[2] - heights[1] >= 11
        assert len({one.get("d") for one in all_of(svg, "dot")}) == 3
        assert [
            [one.get("class") for one in svg.iter("g") if kind in one.get("class", "")] for kind in ("c4", "c0")
        ] == [
            ["c4 key", "c4"],
            ["c0 key", "c0"],
        ]
        assert texts_of(svg, "label")[:3] == ["one", "two", "three"]

    def test_what_is_undefined_has_no_dot(self) -> None:
        svg = drawn(plot((None, None, None), (0.5, None, None)))
        assert len(dots_of(svg)) == 1 and not all_of(svg, "whisker")

    def test_muted_dots_and_tones_have_their_class(self) -> None:
        dots = (Dot(0.1, muted=True), Dot(0.2, tone="bad"), Dot(0.3, tone="good"))
        svg = drawn(DotPlot(TITLE, ABOUT, "x", tuple(DotRow("r", (dot,)) for dot in dots), ("s",)))
        groups = [one.get("class") for one in svg.iter("g") if one.get("class") != "row"]
        assert groups == ["c0 muted", "bad", "good"]

    def test_who_points_at_a_dot_is_told_all(self) -> None:
        svg = drawn(plot(*self.FIGURES))
        titles = [one.text for group in svg.iter("g") if group.get("class") == "c0" for one in group.findall("title")]
        assert titles == ["all of 0", "all of 1", "all of 2"]

    def test_figures_give_way_where_it_is_narrow(self) -> None:
        chart = DotPlot(
            TITLE, ABOUT, "x", (DotRow("a long name of a slice", (Dot(0.5, shown="0.500 [0.400, 0.600]"),)),)
        )
        assert "0.500 [0.400, 0.600]" in texts_of(drawn(chart))
        assert "0.500 [0.400, 0.600]" in texts_of(drawn(chart, width=300)), "above the dot"
        two = DotRow("a long name of a slice", tuple(Dot(0.5, shown="0.500 [0.400, 0.600]") for _ in range(2)))
        assert "0.500 [0.400, 0.600]" not in texts_of(drawn(DotPlot(TITLE, ABOUT, "x", (two,)), width=200))

    def test_the_band_of_what_is_allowed(self) -> None:
        svg = drawn(plot((-0.1, None, None), (0.1, None, None), band=(-0.05, 0.05), percent=True))
        (band,), axis = all_of(svg, "allowed"), Axis.across(svg)
        left, _, right, *_ = ends_of(band)
        assert (left, right) == pytest.approx((axis.at(-0.05), axis.at(0.05)), abs=0.2)

    @pytest.mark.parametrize("figures", [[], [(0.0, 0.0, 0.0)], [(3.0, 3.0, 3.0)] * 2, [(None, None, None)]])
    def test_little_or_nothing_to_show(self, figures: list[tuple[float | None, float | None, float | None]]) -> None:
        svg = drawn(plot(*figures))
        assert len(dots_of(svg)) == sum(value is not None for value, _, _ in figures)


def lines(**more: object) -> LineChart:
    found = (
        LineSeries("a", (0.0, 1.0, 2.0), (0.2, 0.4, 0.5), (0.1, 0.3, 0.45), (0.3, 0.5, 0.6)),
        LineSeries("b", (0.0, 1.0, 2.0), (0.3, None, 0.1), (0.2, None, 0.0), (0.4, None, 0.2), ("first", "", "last")),
    )
    given: dict[str, object] = {"spacing": "even", "x_names": ("1", "5", "10"), "y_range": (0.0, 0.7)}
    return LineChart(TITLE, ABOUT, "k", "ndcg@k", found, **(given | more))  # type: ignore[arg-type]


class TestLines:
    def test_points_stand_where_their_values_belong(self) -> None:
        svg = drawn(lines())
        axis = Axis.upright(svg)
        expected = [axis.at(value) for value in (0.2, 0.4, 0.5, 0.3, 0.1)]
        assert [y for _, y in dots_of(svg)] == pytest.approx(expected, abs=0.2)
        ticks = {one.text: float(one.get("x", "")) for one in svg.iter("text") if one.get("text-anchor") == "middle"}
        places = [ticks[name] for name in ("1", "5", "10", "1", "10")]
        assert [x for x, _ in dots_of(svg)] == pytest.approx(places, abs=0.2)

    def test_the_line_and_its_band_pass_through_them(self) -> None:
        svg = drawn(lines())
        axis = Axis.upright(svg)
        keys = {id(one) for key in all_of(svg, "key") for one in key.iter()}
        (path,) = [one for one in all_of(svg, "line") if id(one) not in keys]
        assert ends_of(path) == pytest.approx([end for spot in dots_of(svg)[:3] for end in spot], abs=0.2)
        (band,) = all_of(svg, "band")
        heights = ends_of(band)[1::2]
        assert heights == pytest.approx([axis.at(value) for value in (0.3, 0.5, 0.6, 0.45, 0.3, 0.1)], abs=0.2)

    def test_a_gap_parts_a_line_and_a_lone_interval_is_a_bar(self) -> None:
        svg = drawn(lines())
        bars = [one for one in all_of(svg, "whisker") if "c1" in one.get("class", "")]
        axis = Axis.upright(svg)
        assert [ends_of(bar)[1:] for bar in bars] == [
            pytest.approx([axis.at(0.4), axis.at(0.2)], abs=0.2),
            pytest.approx([axis.at(0.2), axis.at(0.0)], abs=0.2),
        ]

    def test_lines_are_told_apart_by_dashes_too(self) -> None:
        svg = drawn(lines())
        dashes = [key.find("path[@class='line']").get("stroke-dasharray") for key in all_of(svg, "key")]  # type: ignore[union-attr]
        assert len(set(dashes)) == 2

    def test_of_very_many_points_there_are_no_markers(self) -> None:
        many = tuple(float(x) for x in range(1_000))
        chart = LineChart(TITLE, ABOUT, "x", "y", (LineSeries("a", many, tuple(x % 7 for x in many)),))
        svg = drawn(chart)
        assert dots_of(svg) == [] and len(ends_of(all_of(svg, "line")[0])) == 2_000

    def test_marks_stand_at_their_place_and_their_words_cover_nothing(self) -> None:
        marks = tuple(Mark(x, f"step number {place} of many") for place, x in enumerate((0.0, 0.1, 0.2, 1.0, 2.0)))
        svg = drawn(lines(marks=marks))
        ticks = {one.text: float(one.get("x", "")) for one in svg.iter("text") if one.get("text-anchor") == "middle"}
        axis = Axis([(0.0, ticks["1"]), (2.0, ticks["10"])])
        assert [ends_of(one)[0] for one in all_of(svg, "mark")] == pytest.approx(
            [axis.at(mark.at) for mark in marks], abs=0.3
        )
        boxes = []
        for word in all_of(svg, "over"):
            x, y, half = float(word.get("x", "")), float(word.get("y", "")), text_width(word.text or "", 11) / 2
            assert x - half >= 0 and x + half <= 720
            boxes.append((x - half, x + half, y))
        for place, (left, right, y) in enumerate(boxes):
            assert not any(left < r and le < right and abs(y - other) < 11 for le, r, other in boxes[:place])

    def test_times(self) -> None:
        days = tuple(86_400.0 * day for day in (20_000, 20_002, 20_010))
        svg = drawn(LineChart(TITLE, ABOUT, "time", "y", (LineSeries("a", days, (0.1, 0.2, 0.3)),), spacing="time"))
        named = {one.text: float(one.get("x", "")) for one in svg.iter("text") if (one.text or "").startswith("2024")}
        (x0, _), (x1, _), (x2, _) = dots_of(svg)
        assert (x1 - x0) / (x2 - x0) == pytest.approx(0.2, abs=0.01)
        assert len(named) >= 2

    @pytest.mark.parametrize("xs", [(), (5.0,)])
    def test_little_or_nothing_to_show(self, xs: tuple[float, ...]) -> None:
        for spacing in ("linear", "log", "time"):
            chart = LineChart(TITLE, ABOUT, "x", "y", (LineSeries("a", xs, xs, xs, xs),), spacing=spacing)
            assert len(dots_of(drawn(chart))) == len(xs)

    def test_bars_behind_lines_and_named_ticks(self) -> None:
        bars = Bars("training", (0.0, 0.5, 1.0), (0.75, 0.25))
        ticks = ((0.5, "half"), (1.0, "all"))
        line = LineSeries("a", (0.25, 0.75), (0.9, 0.1))
        svg = drawn(
            LineChart(TITLE, ABOUT, "x", "y", (line,), x_range=(0.0, 1.0), y_range=(0.0, 1.0), x_ticks=ticks, bars=bars)
        )
        assert [text for text in texts_of(svg, "tick") if text in ("half", "all")] == ["half", "all"]
        (behind,) = all_of(svg, "behind")
        left, base, top, *_ = ends_of(behind.findall("path")[0])
        right, _, lower, *_ = ends_of(behind.findall("path")[1])
        assert (base - lower) / (base - top) == pytest.approx(1 / 3, abs=0.01) and left < right


class TestBars:
    STRIPS = (Bars("a", (0.0, 0.25, 0.5, 1.0), (3, 0, 6), "9 items"), Bars("b", (0.2, 0.6, 0.8), (4, 1)))

    def test_bars_reach_from_edge_to_edge_and_as_high_as_their_count(self) -> None:
        svg = drawn(HistogramChart(TITLE, ABOUT, "score", "number of items", self.STRIPS))
        axis = Axis.across(svg)
        groups = all_of(svg, "bars")
        bases = {float(one.get("y", "")) - 4: one.text for one in svg.iter("text") if one.get("text-anchor") == "end"}
        zeros = [y for y, text in bases.items() if text == "0"]
        tops = [y for y, text in bases.items() if text in ("6", "4")]
        for group, strip, zero, top in zip(groups, self.STRIPS, zeros, tops, strict=True):
            known = [
                (edge, after, n)
                for edge, after, n in zip(strip.edges, strip.edges[1:], strip.counts, strict=False)
                if n
            ]
            for bar, (low, high, count) in zip(group.findall("path"), known, strict=True):
                left, base, height, wide, _ = ends_of(bar)
                assert (left, left + wide) == pytest.approx((axis.at(low), axis.at(high)), abs=0.8)
                assert base == pytest.approx(zero, abs=0.2)
                assert (base - height) / (zero - top) == pytest.approx(count / max(strip.counts), abs=0.01)

    def test_a_lone_value_can_be_seen(self) -> None:
        svg = drawn(HistogramChart(TITLE, ABOUT, "length", "vectors", (Bars("a", (1.0, 1.0), (50,)),)))
        (bar,) = all_of(svg, "bar")
        assert ends_of(bar)[3] >= 3
        assert Axis.across(svg).at(1.0) == pytest.approx(ends_of(bar)[0] + ends_of(bar)[3] / 2, abs=0.3)


class TestPoints:
    POINTS = (
        ScatterPoint("exact", 10.0, 1.0, (9.0, 12.0), (1.0, 1.0), on_frontier=True),
        ScatterPoint("hnsw", 0.5, 0.98, (0.4, 0.7), (0.97, 0.99), on_frontier=True),
        ScatterPoint("slow", 20.0, 0.9),
    )

    def test_on_a_log_axis_ratios_are_distances(self) -> None:
        svg = drawn(Scatter(TITLE, ABOUT, "ms", "recall", self.POINTS, log_x=True))
        across = Axis([(log10(value), x) for value, x in Axis.across(svg).ticks])
        upright = Axis.upright(svg)
        expected = [(across.at(log10(one.x)), upright.at(one.y)) for one in self.POINTS]
        for spot, wanted in zip(dots_of(svg), expected, strict=True):
            assert spot == pytest.approx(wanted, abs=0.3)
        lying = ends_of(all_of(svg, "whisker")[0])
        assert (lying[0], lying[2]) == pytest.approx((across.at(log10(9)), across.at(log10(12))), abs=0.3)

    def test_the_frontier_leads_from_left_to_right_through_its_points(self) -> None:
        svg = drawn(Scatter(TITLE, ABOUT, "ms", "recall", self.POINTS))
        exact, hnsw, _ = dots_of(svg)
        assert ends_of(all_of(svg, "frontier")[0]) == pytest.approx([*hnsw, *exact], abs=0.2)

    def test_dominated_points_are_hollow_and_all_are_named(self) -> None:
        svg = drawn(Scatter(TITLE, ABOUT, "ms", "recall", self.POINTS))
        muted = [
            spot_of(one) for group in all_of(svg, "muted") for one in group.iter("path") if one.get("class") == "dot"
        ]
        assert muted == [dots_of(svg)[2]]
        assert sorted(texts_of(svg, "label")) == sorted([one.name for one in self.POINTS] * 2), "legend and beside"

    def test_points_of_a_line_are_joined_and_chosen_ones_have_a_ring(self) -> None:
        points = tuple(
            ScatterPoint(name, x, y, label=f"{x:g}", line=name, on_frontier=x > 1)
            for name, x, y in (("a", 1.0, 0.5), ("a", 3.0, 0.9), ("b", 2.0, 0.7))
        )
        rings = (Ring("the cheapest", points[1:2]),)
        marks = {"x_marks": (Mark(2.5, "limit"), Mark(99.0, "far")), "y_marks": (Mark(0.8, "target"),)}
        chart = Scatter(TITLE, ABOUT, "ms", "recall", points, rings=rings, **marks)  # type: ignore[arg-type]
        svg = drawn(chart)
        first, second, _ = dots_of(svg)
        keys = {id(one) for key in all_of(svg, "key") for one in key.iter()}
        lines = [one for one in all_of(svg, "line") if id(one) not in keys]
        assert ends_of(lines[0]) == pytest.approx([*first, *second], abs=0.2)
        (ring,) = all_of(svg, "circle")
        assert ends_of(ring)[:2] == pytest.approx([second[0] - 9, second[1]], abs=0.2)
        assert {"limit", "target"} <= set(texts_of(svg, "note")) and "far" not in texts_of(svg)
        assert len(all_of(svg, "reference")) == 2 and chart.series == ("a", "b")
        assert [point.label for point in chart.to_label()] == ["3", "2", "1"]
        assert [point.label for point in replace(chart, labelled=False).to_label()] == ["3", "2"]

    def test_no_tick_is_above_what_is_possible(self) -> None:
        points = (ScatterPoint("a", 1.0, 1.0), ScatterPoint("b", 2.0, 1.0))
        values = [value for value, _ in Axis.upright(drawn(Scatter(TITLE, ABOUT, "ms", "r", points, y_most=1.0))).ticks]
        assert max(values) == 1.0 and len(values) > 1


def charts_named(name: str, other: str) -> list[Chart]:
    """One of each kind, with a text everywhere that a text can be."""
    row = DotRow(name, (Dot(0.1, 0.0, 0.2, 0, title=name, shown=other), Dot(0.3, series=1, title=other)), other)
    line = LineSeries(name, (0.0, 1.0), (0.1, 0.2), (0.0, 0.1), (0.2, 0.3), (name, other))
    points = (
        ScatterPoint(name, 1.0, 0.5, title=other, line=name),
        ScatterPoint(other, 2.0, 0.6, on_frontier=True, label=name),
    )
    marks = {"x_marks": (Mark(1.5, name),), "y_marks": (Mark(0.55, other),)}
    return [
        DotPlot(name, other, name, (row, row), (name, other), reference=0.0, reference_label=name, footnote=other),
        LineChart(
            name, other, name, other, (line, line), spacing="even", x_names=(name, other), marks=(Mark(0.5, name),)
        ),
        HistogramChart(
            name, other, name, other, (Bars(name, (0.0, 1.0, 2.0), (1, 2), other), Bars(other, (0.0, 1.0), (1,)))
        ),
        Scatter(name, other, name, other, points, rings=(Ring(name, points),), **marks),
    ]


def check_layout(chart: Chart, width: float) -> None:
    """Nothing leaves the sheet, and no figure of a chart hangs on what its names are."""
    svg = drawn(chart, width=width)
    for one in svg.iter("text"):
        wide, x = text_width(one.text or "", float(one.get("font-size", 11))), float(one.get("x", ""))
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[one.get("text-anchor", "start")]
        assert left >= -1.5 and left + wide <= width + 1.5, (one.text, left, wide)
    assert float(svg.get("viewBox", "").split()[3]) < 1_000


class TestHostile:
    @pytest.mark.parametrize("name", HOSTILE)
    @pytest.mark.parametrize("width", [340.0, 720.0])
    def test_known_ones(self, name: str, width: float) -> None:
        for chart in charts_named(name, "plain"):
            check_layout(chart, width)

    @settings(max_examples=60)
    @given(st.text(max_size=60), st.text(max_size=60))
    def test_any(self, name: str, other: str) -> None:
        for chart in charts_named(name, other):
            drawn(chart)

    def test_markup_is_shown_as_text(self) -> None:
        svg = drawn(charts_named("<b>&amp;</b>", "x")[0])
        assert "<b>&amp;</b>" in texts_of(svg)
        assert svg.find("title").text == "<b>&amp;</b>"  # type: ignore[union-attr]


class TestModel:
    def test_what_does_not_match_is_refused(self) -> None:
        with pytest.raises(ValueError, match="2 values for 3 places"):
            LineSeries("a", (1.0, 2.0, 3.0), (1.0, 2.0))
        with pytest.raises(ValueError, match="2 edges for 2 counts"):
            Bars("a", (1.0, 2.0), (1, 2))
        with pytest.raises(ValueError, match="a dot of series 1, but there are 1"):
            DotPlot(TITLE, ABOUT, "x", (DotRow("a", (Dot(1.0, series=1),)),), ("s",))
