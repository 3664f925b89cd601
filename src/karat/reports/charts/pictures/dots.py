"""A dot plot as a picture."""

from typing import TYPE_CHECKING

from karat.reports.charts.axes import across_of
from karat.reports.charts.model import Dot, DotPlot, Row
from karat.reports.charts.pictures.lettering import font_width, lettered
from karat.reports.charts.pictures.paper import DARK, PAPER_WIDTH, SOFT, Paper, colour_of, dress, marker_of, name_axis
from karat.reports.drawing import POINTS, SMALL, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["dots_figure"]

_INCHES_A_UNIT = 0.165
_LEAST, _BETWEEN = 1.35, 0.55
"""In lines of dots: the least a row is high, and what is between rows of several."""
_WIDEST_LABEL = 0.34
_TONES = {"good": "#0072B2", "bad": "#D55E00", "even": DARK}


def dots_figure(chart: DotPlot) -> "Figure":
    """Rows under each other, figures to the right."""
    high = sum(map(_height, chart.rows)) or 1.0
    figure = Paper(chart, chart.keyed and len(chart.series) > 1).figure(high * _INCHES_A_UNIT + 0.75)
    axes = figure.add_subplot()
    dress(axes, across_of(chart), 7)
    name_axis(axes, chart.x_label)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_ylim(high, 0.0)
    if chart.band is not None:
        axes.axvspan(*chart.band, facecolor="#0072B2", alpha=0.1, linewidth=0)
    if chart.reference is not None:
        _draw_reference(axes, chart.reference, chart.reference_label)
    middles, y = [], 0.0
    for row in chart.rows:
        middles.append(y + _height(row) / 2)
        _draw_row(axes, chart, row, middles[-1])
        y += _height(row)
        axes.axhline(y, color="#EEEEEE", linewidth=0.6, zorder=0)
    names = [lettered(row.label, _WIDEST_LABEL * PAPER_WIDTH * POINTS, TEXT) for row in chart.rows]
    axes.set_yticks(middles, names, fontsize=TEXT)
    axes.tick_params(axis="y", length=0, pad=_draw_notes(axes, chart, middles) + 5)
    return figure


def _height(row: Row) -> float:
    return max(_LEAST, len(row.dots) + _BETWEEN)


def _draw_notes(axes: "Axes", chart: DotPlot, middles: list[float]) -> float:
    """Beside the names, apart from them, as names may be written from right to left; how wide they are, in points."""
    notes = [lettered(row.note, 0.15 * PAPER_WIDTH * POINTS, TEXT) for row in chart.rows]
    for note, y in zip(notes, middles, strict=True):
        axes.annotate(
            note, (0.0, y), (-5, 0), textcoords="offset points", xycoords=("axes fraction", "data"), ha="right",
            va="center", fontsize=TEXT, color=DARK,
        )  # fmt: skip
    widest = max((font_width(note, TEXT) for note in notes), default=0.0)
    return widest + 8.0 if widest else 0.0


def _draw_reference(axes: "Axes", at: float, label: str) -> None:
    axes.axvline(at, color=DARK, linewidth=0.9, dashes=(4, 3), zorder=1)
    if label:
        axes.annotate(
            lettered(label, 0.4 * PAPER_WIDTH * POINTS, SMALL), (at, 1.0), (0, 3), textcoords="offset points",
            xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=SMALL, color=DARK,
        )  # fmt: skip


def _draw_row(axes: "Axes", chart: DotPlot, row: Row, middle: float) -> None:
    first = middle - (len(row.dots) - 1) / 2
    for place, dot in enumerate(row.dots):
        _draw_dot(axes, chart, dot, first + place)
        axes.annotate(
            lettered(dot.shown, 0.3 * PAPER_WIDTH * POINTS, SMALL), (1.0, first + place), (6, 0),
            textcoords="offset points", xycoords=("axes fraction", "data"), ha="left", va="center", fontsize=SMALL,
            color=SOFT if dot.muted else DARK,
        )  # fmt: skip


def _draw_dot(axes: "Axes", chart: DotPlot, dot: Dot, y: float) -> None:
    colour = _TONES.get(dot.tone) or colour_of(chart, dot.series)
    style = marker_of(chart, dot.series, hollow=dot.muted) | {"color": colour, "markeredgecolor": colour}
    if dot.low is not None and dot.high is not None:
        axes.plot([dot.low, dot.high], [y, y], color=colour, linewidth=1.0 if dot.muted else 1.6, zorder=2)
    if dot.value is not None:
        axes.plot([dot.value], [y], **style, zorder=3, clip_on=False)
