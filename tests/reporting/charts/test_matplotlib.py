"""Charts as pictures: what is drawn is what the chart says, equal charts give equal bytes, and any name is safe."""

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings, strategies as st
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.reporting.charts import all_charts, write_pictures
from rankjury.reporting.charts.matplotlib import to_figure, to_picture
from rankjury.reporting.charts.spec import (
    Bars,
    Chart,
    ChartGrid,
    Dot,
    DotPlot,
    DotRow,
    HistogramChart,
    LineChart,
    Scatter,
)
from tests.reporting.charts.test_svg import HOSTILE, TestBars, TestPoints, charts_named, lines

PLAIN = charts_named("a name", "another")
IDS = ["dots", "lines", "bars", "points"]


def axes_of(chart: Chart) -> list[Axes]:
    return to_figure(chart).axes


def drawn_lines(axes: Axes) -> list[tuple[list[float], list[float]]]:
    return [([*map(float, line.get_xdata())], [*map(float, line.get_ydata())]) for line in axes.lines]  # type: ignore[arg-type]


class TestWhatIsDrawn:
    def test_dots(self) -> None:
        rows = (DotRow("a", (Dot(0.3, 0.1, 0.4), Dot(None, series=1)), "n 3"), DotRow("b", (Dot(-0.2, muted=True),)))
        (axes,) = axes_of(DotPlot("t", "d", "x", rows, ("one", "two"), reference=0.0))
        found = drawn_lines(axes)
        markers = [line for line in axes.lines if line.get_marker() not in ("None", "")]
        assert [float(line.get_xdata()[0]) for line in markers] == [0.3, -0.2]  # type: ignore[index, arg-type]
        assert [line.get_markerfacecolor() == "white" for line in markers] == [False, True]
        assert [0.1, 0.4] in [xs for xs, _ in found] and [0.0, 0.0] in [xs for xs, _ in found]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
        assert "n 3" in [text.get_text() for text in axes.texts]
        first, last = (float(line.get_ydata()[0]) for line in markers)  # type: ignore[index, arg-type]
        assert axes.get_ylim()[0] > axes.get_ylim()[1] and first < last, "rows go down"

    def test_lines(self) -> None:
        chart = lines()
        (axes,) = axes_of(chart)
        whole = [line for line in axes.lines if len(line.get_xdata()) == 3]  # type: ignore[arg-type]
        assert [float(y) for y in whole[0].get_ydata()] == [0.2, 0.4, 0.5]  # type: ignore[union-attr]
        assert len({line.get_linestyle() for line in whole}) == 2 and len({line.get_marker() for line in whole}) == 2
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "5", "10"] and axes.get_ylim() == (0, 0.7)
        band = axes.collections[0].get_paths()[0].vertices
        assert {(0.0, 0.1), (2.0, 0.6)} <= {(float(x), float(y)) for x, y in band}  # type: ignore[misc]

    def test_bars(self) -> None:
        figure = to_figure(HistogramChart("t", "d", "score", "items", TestBars.STRIPS))
        for axes, strip in zip(figure.axes, TestBars.STRIPS, strict=True):
            assert [patch.get_height() for patch in axes.patches] == list(strip.counts)  # type: ignore[attr-defined]
            lefts = [patch.get_x() for patch in axes.patches]  # type: ignore[attr-defined]
            assert lefts == pytest.approx(strip.edges[:-1])
        assert len({axes.get_xlim() for axes in figure.axes}) == 1

    def test_points(self) -> None:
        (axes,) = axes_of(Scatter("t", "d", "ms", "recall", TestPoints.POINTS, log_x=True))
        found = drawn_lines(axes)
        assert all(([one.x], [one.y]) in found for one in TestPoints.POINTS)
        assert ([0.5, 10.0], [0.98, 1.0]) in found, "the frontier"
        assert axes.get_xscale() == "log"
        assert sorted(text.get_text() for text in axes.texts) == ["exact", "hnsw", "slow"]

    def test_a_grid(self) -> None:
        dots = DotPlot("by tier", "d", "", (DotRow("low", (Dot(0.3, 0.1, 0.4), Dot(0.2, series=1))),), ("one", "two"))
        bars = Bars("behind", (0.0, 1.0, 2.0), (0.5, 0.1))
        five = tuple(replace(lines(), title=f"chart {number}", bars=bars) for number in range(5))
        figure = to_figure(ChartGrid("t", "d", ("one", "two"), ((dots,), five), footnote="first\nsecond"))
        assert [axes.get_title(loc="left") for axes in figure.axes] == ["by tier", *(one.title for one in five)]
        assert [bool(axes.get_xlabel()) for axes in figure.axes[1:]] == [False, False, True, True, True]
        assert [patch.get_height() for patch in figure.axes[1].patches] == [0.5, 0.1]  # type: ignore[attr-defined]
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]
        assert figure.get_supxlabel() == "first\nsecond"
        FigureCanvasAgg(figure).draw()
        boxes = [axes.get_tightbbox() for axes in figure.axes]
        assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]  # type: ignore[union-attr, arg-type]

    def test_a_system_looks_alike_in_all_charts(self) -> None:
        style = {}
        for chart in (
            DotPlot("t", "d", "x", (DotRow("a", (Dot(0.1),)),), ("s",), places=(3,)),
            LineChart("t", "d", "x", "y", lines().lines[:1], places=(3,)),
        ):
            (axes,) = axes_of(chart)
            (marker,) = [line for line in axes.lines if line.get_marker() not in ("None", "", "_")]
            style[type(chart)] = (marker.get_color(), marker.get_marker())
        assert len(set(style.values())) == 1


def texts_in(figure: Figure) -> list[Any]:
    return list(figure.findobj(lambda one: hasattr(one, "get_window_extent") and hasattr(one, "get_text")))


def check_inside(chart: Chart | ChartGrid) -> None:
    """No text leaves the picture."""
    figure = to_figure(chart)
    with rc_context({"text.parse_math": False}):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        for text in texts_in(figure):
            if text.get_visible() and text.get_text().strip():
                box = text.get_window_extent(canvas.get_renderer())
                assert box.x0 >= -2 and box.x1 <= figure.bbox.width + 2, text.get_text()[:80]


class TestHostile:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_known_ones(self, name: str) -> None:
        charts = charts_named(name, "plain")
        for chart in (*charts, ChartGrid(name, name, (name, "plain"), ((charts[0],), (charts[1],) * 2), footnote=name)):  # type: ignore[arg-type]
            check_inside(chart)

    @settings(max_examples=5, deadline=None)
    @given(st.text(max_size=40), st.text(max_size=40))
    def test_any(self, name: str, other: str) -> None:
        for chart in charts_named(name, other):
            check_inside(chart)

    def test_formulas_are_texts(self) -> None:
        for chart in charts_named("$\\frac{1", "__init__"):
            check_inside(chart)


class TestBytes:
    @pytest.mark.parametrize("chart", PLAIN, ids=IDS)
    def test_equal_whatever_the_user_has_set(self, chart: Chart) -> None:
        for form in ("png", "svg"):
            first = to_picture(chart, form)
            with rc_context({"axes.facecolor": "red", "font.size": 30, "svg.hashsalt": "other", "savefig.dpi": 30}):
                before = dict(rcParams)
                assert to_picture(chart, form) == first
                assert dict(rcParams) == before

    def test_equal_in_another_process(self) -> None:
        code = (
            "import sys; from tests.reporting.charts.test_matplotlib import PLAIN, to_picture; "
            "sys.stdout.buffer.write(b''.join(to_picture(one, form) for one in PLAIN for form in ('png', 'svg')))"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        assert found == b"".join(to_picture(one, form) for one in PLAIN for form in ("png", "svg"))

    @pytest.mark.parametrize("chart", PLAIN, ids=IDS)
    def test_readable_by_others(self, chart: Chart) -> None:
        picture = Image.open(io.BytesIO(to_picture(chart)))
        assert picture.width == 1080 and 200 < picture.height < 1200
        svg = to_picture(chart, "svg").decode()
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert "<dc:date>" not in svg and "<text" not in svg, "no date, and letters are outlines"

    def test_other_forms_are_refused(self) -> None:
        with pytest.raises(UsageError, match="png or svg"):
            to_picture(PLAIN[0], "gif")  # type: ignore[arg-type]


class TestFiles:
    def test_a_file_each(self, report_of: Callable[[str], Report], tmp_path: Path) -> None:
        report = report_of("fashion")
        written = write_pictures(report, tmp_path / "new", ".svg")
        assert [path.name for path in written] == [f"{name}.svg" for name in all_charts(report)]
        assert sorted(written) == sorted((tmp_path / "new").iterdir())
        assert all(path.read_bytes().startswith(b"<?xml") for path in written)

    def test_a_suffix_that_is_no_picture(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"\.png or \.svg"):
            write_pictures(Report({}), tmp_path, ".pdf")

    def test_nothing_to_write(self, tmp_path: Path) -> None:
        assert write_pictures(Report({}), tmp_path) == []


def test_pages_need_no_matplotlib() -> None:
    code = "import sys, rankjury.reporting.charts; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
