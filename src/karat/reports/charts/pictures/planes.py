"""Lines and points as pictures."""

from math import nan
from typing import TYPE_CHECKING, Any

from karat.reports.charts.axes import across_of, upright_of
from karat.reports.charts.labels import place_labels, rows_for
from karat.reports.charts.model import Line, LineChart, Number, Scatter
from karat.reports.charts.pictures.lettering import font_width, lettered
from karat.reports.charts.pictures.paper import (
    DARK,
    GREY,
    PAPER_WIDTH,
    Paper,
    colour_of,
    dress,
    marker_of,
    name_axis,
)
from karat.reports.drawing import POINTS, SMALL, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["lines_figure", "points_figure"]

_HEIGHT = 3.4
_MOST_MARKERS = 60
_MOST_NAMES = 40
_MARK_LINE = 10.0
"""In points."""


def lines_figure(chart: LineChart) -> "Figure":
    marks = _marks(chart)
    rows = 1 + max((row for _, _, row in marks), default=-1)
    height = _HEIGHT + _MARK_LINE * rows / POINTS
    figure = Paper(chart, len(chart.lines) > 1, lines=True).figure(height)
    axes = figure.add_subplot()
    across = across_of(chart)
    dress(axes, across, 5 if across.spacing in ("time", "even") and len(across.names) > 12 else 8)
    dress(axes, upright_of(chart), 7, upright=True)
    name_axis(axes, chart.x_label, "" if chart.y_label == chart.title else chart.y_label)
    if rows:
        axes.set_title(axes.get_title(loc="left"), loc="left", fontsize=TEXT, color=DARK, pad=6 + _MARK_LINE * rows)
    for x, label, row in marks:
        axes.axvline(x, color=DARK, linewidth=0.9, dashes=(1.5, 2.5), zorder=1)
        axes.annotate(
            label, (x, 1.0), (0, 2 + _MARK_LINE * (rows - row - 1)), textcoords="offset points",
            xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=SMALL, color=DARK,
        )  # fmt: skip
    for series, line in enumerate(chart.lines):
        _draw_line(axes, chart, line, series)
    return figure


def _marks(chart: LineChart) -> list[tuple[float, str, int]]:
    across, wide = across_of(chart), 0.85 * PAPER_WIDTH * POINTS
    labels = [lettered(mark.label, 0.3 * wide, SMALL) for mark in chart.marks]
    spans = []
    for mark, label in zip(chart.marks, labels, strict=True):
        middle, half = across.part(mark.x) * wide, font_width(label, SMALL) / 2
        spans.append((middle - half, middle + half))
    rows = rows_for(spans, 8.0)
    return [(mark.x, label, row) for mark, label, row in zip(chart.marks, labels, rows, strict=True)]


def _draw_line(axes: "Axes", chart: LineChart, line: Line, series: int) -> None:
    """A band where neighbours have intervals; bars where one stands alone, as a band takes two."""
    colour = colour_of(chart, series)
    if line.lows and line.highs:
        lows, highs = _values(line.lows), _values(line.highs)
        axes.fill_between(line.xs, lows, highs, facecolor=(colour, 0.14), edgecolor=(colour, 0.3), linewidth=0.4)
        known = [low == low and high == high for low, high in zip(lows, highs, strict=True)]
        beside = zip([False, *known[:-1]], known, [*known[1:], False], strict=True)
        for place, (before, here, after) in enumerate(beside):
            if here and not before and not after:
                axes.plot([line.xs[place]] * 2, [lows[place], highs[place]], color=colour, linewidth=1.4)
    style = marker_of(chart, series, line=True)
    if len(line.xs) > _MOST_MARKERS:
        style |= {"marker": ""}
    axes.plot(line.xs, _values(line.ys), **style, clip_on=False)


def _values(numbers: tuple[Number, ...]) -> list[float]:
    return [nan if number is None else number for number in numbers]


def points_figure(chart: Scatter) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = Paper(chart, len(chart.points) > 1).figure(_HEIGHT + 0.3)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    dress(axes, across_of(chart), 8)
    dress(axes, upright_of(chart), 7, upright=True)
    name_axis(axes, chart.x_label, chart.y_label)
    if len(chart.frontier) > 1:
        places: Any = [one.x for one in chart.frontier], [one.y for one in chart.frontier]
        axes.plot(*places, color="#BBBBBB", linewidth=5.0, alpha=0.5, solid_capstyle="round", zorder=1)
    for series, point in enumerate(chart.points):
        colour = colour_of(chart, series)
        if point.x_ends:
            axes.plot(point.x_ends, [point.y] * 2, color=colour, linewidth=1.0)
        if point.y_ends:
            axes.plot([point.x] * 2, point.y_ends, color=colour, linewidth=1.0)
        style = marker_of(chart, series, hollow=not point.on_frontier)
        axes.plot([point.x], [point.y], **style, zorder=4, clip_on=False)
    canvas.draw()  # type: ignore[no-untyped-call]
    figure.set_layout_engine("none")  # it is laid out, and names stand where there is room
    _add_names(axes, chart)
    return figure


def _add_names(axes: "Axes", chart: Scatter) -> None:
    """Beside the points, with a fine line to each; those on the frontier choose their place first."""
    points = sorted(chart.points, key=lambda one: not one.on_frontier)[:_MOST_NAMES]
    scale = POINTS / axes.figure.dpi
    spots = []
    for point in points:
        x, y = axes.transData.transform((point.x, point.y)).tolist()
        spots.append((x * scale, y * scale))
    names = [lettered(point.name, 0.25 * PAPER_WIDTH * POINTS, SMALL) for point in points]
    sizes = [(font_width(name, SMALL) + 1.0, SMALL) for name in names]
    left, bottom, right, top = (float(end) * scale for end in axes.bbox.padded(6).extents)
    taken = [(x - 3.5, y - 3.5, x + 3.5, y + 3.5) for x, y in spots]
    places = place_labels(spots, sizes, (left, bottom, right, top), taken, gap=5.0)
    for point, name, spot, place in zip(points, names, spots, places, strict=True):
        if place is not None and name:
            axes.annotate(
                name, (point.x, point.y), (place[0] - spot[0], place[1] - spot[1]), textcoords="offset points",
                ha="center", va="center", fontsize=SMALL, annotation_clip=False, zorder=6,
                arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": GREY, "shrinkB": 2},
            )  # fmt: skip
