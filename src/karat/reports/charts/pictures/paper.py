"""What pictures of charts share: the sheet with its title, legend and footnote, and how axes are dressed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from karat.reports.charts.axes import Scale
from karat.reports.charts.labels import clean
from karat.reports.charts.model import Chart, place_of
from karat.reports.charts.pictures.lettering import font_width, lettered
from karat.reports.drawing import COLOURS, HANDLE, MARGIN, POINTS, SMALL, TEXT, TITLE, plain, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DARK", "GREY", "PAPER_WIDTH", "SOFT", "Paper", "colour_of", "dress", "marker_of", "name_axis"]

PAPER_WIDTH = 7.2
"""In inches."""
GREY, SOFT, DARK = "#888888", "#666666", "#444444"
_FOOT_LETTERS = 118
_ROOM = PAPER_WIDTH * POINTS - 2 * MARGIN


def colour_of(chart: Chart, series: int) -> str:
    return COLOURS[place_of(chart, series) % len(COLOURS)]


def marker_of(chart: Chart, series: int, *, hollow: bool = False, line: bool = False) -> dict[str, Any]:
    """Told apart by colour, lightness, marker and dashes, as in all pictures."""
    style = style_of(place_of(chart, series), line=line) | {"markersize": 5.5}
    style |= {"markeredgecolor": style["color"], "markeredgewidth": 1.1 if hollow else 0.4}
    return style | ({"markerfacecolor": "white"} if hollow else {})


@dataclass(frozen=True)
class Paper:
    """A figure with its title, legend and footnote; the rest is for the axes."""

    chart: Chart
    legend: bool
    lines: bool = False
    """Whether the legend shows lines or markers alone."""

    def figure(self, height: float) -> "Figure":
        """``height`` is that of the axes, in inches."""
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        title = lettered(self.chart.title, _ROOM, TITLE)
        foot = [lettered(line, _ROOM, SMALL) for line in wrap(clean(self.chart.footnote, 600), _FOOT_LETTERS)]
        names = self._names()
        columns = self._columns(names)
        above = 0.3 + (0.18 * ceil(len(names) / columns) if names else 0.0)
        figure = Figure(
            (PAPER_WIDTH, height + above + 0.15 * len(foot)),
            layout=ConstrainedLayoutEngine(w_pad=MARGIN / POINTS, h_pad=0.5 * MARGIN / POINTS),
        )
        self._add_legend(figure, names, columns, title)
        if foot:
            figure.supxlabel("\n".join(foot), x=0.015, ha="left", fontsize=SMALL, color=DARK)
        return figure

    def _names(self) -> list[str]:
        """Told apart though shortened."""
        if not self.legend:
            return []
        names = [lettered(name, _ROOM - HANDLE, TEXT) for name in self.chart.series]
        if len(set(names)) == len(names):
            return names
        return [
            f"{place + 1}: {lettered(name, _ROOM - HANDLE - 25, TEXT)}" for place, name in enumerate(self.chart.series)
        ]

    def _columns(self, names: Sequence[str]) -> int:
        widest = max((font_width(name, TEXT) for name in names), default=0.0)
        columns = max(1, min(len(names), int(_ROOM / (widest + HANDLE))))
        return ceil(len(names) / ceil(len(names) / columns)) if names else 1

    def _add_legend(self, figure: "Figure", names: Sequence[str], columns: int, title: str) -> None:
        """The title stands over it, and alone where there is none."""
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], **marker_of(self.chart, one, line=self.lines)) for one in range(len(names))]
        legend = figure.legend(
            handles, [str(place) for place in range(len(names))], loc="outside upper left", ncols=columns,
            fontsize=TEXT, frameon=False, handlelength=3.2 if self.lines else 1.6, columnspacing=1.5, borderpad=0.1,
            labelspacing=0.35, alignment="left", title=title or " ", title_fontsize=TITLE,
        )  # fmt: skip
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_text(name)  # given as labels, names that begin with _ would be passed over


def dress(axes: "Axes", scale: Scale, most: int, *, upright: bool = False) -> None:
    """An axis by its scale: the same ends and the same ticks as in the page."""
    from matplotlib.ticker import NullFormatter, NullLocator

    axis = axes.yaxis if upright else axes.xaxis
    if scale.spacing == "log":
        (axes.set_yscale if upright else axes.set_xscale)("log")
    (axes.set_ylim if upright else axes.set_xlim)(scale.low, scale.high)
    ticks = scale.ticks(most)
    room = 0.3 * _ROOM if upright else 0.85 * _ROOM / max(1, len(ticks))
    axis.set_ticks([value for value, _ in ticks], labels=[lettered(name, room, SMALL) for _, name in ticks])
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=SMALL, length=3, color=GREY)


def name_axis(axes: "Axes", x_label: str, y_label: str = "") -> None:
    """What the axes are about; the upright one's above it, where it is read without turning the head."""
    plain(axes)
    room = _ROOM * 0.62  # the plane's middle may be far from the paper's
    size = TEXT if font_width(lettered(x_label, inf, TEXT), TEXT) <= room else SMALL
    axes.set_xlabel(lettered(x_label, room, size), fontsize=size)
    if y_label:
        axes.set_title(lettered(y_label, _ROOM * 0.9, TEXT), loc="left", fontsize=TEXT, color=DARK)
