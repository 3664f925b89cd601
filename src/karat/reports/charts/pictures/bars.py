"""Distributions as a picture: a strip each over one axis."""

from typing import TYPE_CHECKING

from karat.reports.charts.axes import across_of
from karat.reports.charts.model import Bars, Histogram
from karat.reports.charts.pictures.lettering import lettered
from karat.reports.charts.pictures.paper import DARK, PAPER_WIDTH, Paper, colour_of, dress, name_axis
from karat.reports.drawing import POINTS, SMALL, TEXT, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["bars_figure"]

_STRIP, _LONE = 0.95, 2.4
_THINNEST = 0.006
"""Of the axis."""


def bars_figure(chart: Histogram) -> "Figure":
    many = len(chart.strips)
    figure = Paper(chart, legend=False).figure(0.6 + (_STRIP * many if many > 1 else _LONE))
    for number, bars in enumerate(chart.strips):
        axes = figure.add_subplot(many, 1, number + 1)
        _draw_strip(axes, chart, bars, number)
        if number == many - 1:
            name_axis(axes, chart.x_label)
        else:
            axes.tick_params(labelbottom=False)
    figure.supylabel(lettered(chart.y_label, 0.3 * PAPER_WIDTH * POINTS, TEXT), fontsize=TEXT)
    return figure


def _draw_strip(axes: "Axes", chart: Histogram, bars: Bars, series: int) -> None:
    scale = across_of(chart)
    dress(axes, scale, 8)
    plain(axes)
    most = max(*bars.counts, 1)
    axes.set_ylim(0, most)
    axes.set_yticks([0, most], ["0", f"{most:,}"])
    thinnest = _THINNEST * (scale.high - scale.low)
    middles = [(low + high) / 2 for low, high in zip(bars.edges, bars.edges[1:], strict=False)]
    widths = [max(high - low, thinnest) for low, high in zip(bars.edges, bars.edges[1:], strict=False)]
    axes.bar(middles, bars.counts, widths, color=colour_of(chart, series), edgecolor="white", linewidth=0.4)
    room = PAPER_WIDTH * POINTS
    axes.set_title(lettered(bars.name, 0.5 * room, TEXT), loc="left", fontsize=TEXT, pad=3)
    axes.set_title(lettered(bars.note, 0.35 * room, SMALL), loc="right", fontsize=SMALL, color=DARK, pad=3)
