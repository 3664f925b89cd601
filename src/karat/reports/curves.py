"""Measures against their cut-off, as a picture: a panel for each measure, a line with its interval for each system."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from math import ceil, nan
from textwrap import fill, wrap
from typing import TYPE_CHECKING

from karat.report import Report
from karat.reports.cutoffs import ByCutoff, CutMeasure, by_cutoff
from karat.reports.drawing import (
    COLOURS,
    MARGIN,
    POINTS,
    SMALL,
    TEXT,
    TITLE,
    WIDTH,
    add_legend,
    fitted,
    legend_of,
    own_style,
    plain,
    style_of,
)
from karat.statistics.estimates import Estimate
from karat.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Panel", "bounds_of", "to_figure", "to_png", "to_svg"]

_MOST_PANELS = 9
_PANEL_HEIGHTS = {1: 3.1, 2: 2.0, 3: 1.8}
"""In inches, by the number of panels across."""
_SOLID = "\u00a0"
"""A space at which no line is broken."""


def to_png(report: Report, *, dpi: int = 150) -> bytes:
    """Six inches wide, readable in grey; equal reports give equal bytes."""
    picture = BytesIO()
    with own_style():
        _drawn(report).savefig(picture, format="png", dpi=dpi, metadata={"Software": None})
    return picture.getvalue()


def to_svg(report: Report) -> bytes:
    """The same as a drawing that can be scaled."""
    from matplotlib import rc_context

    picture = BytesIO()
    with own_style(), rc_context({"svg.hashsalt": "karat", "svg.fonttype": "path"}):
        _drawn(report).savefig(picture, format="svg", metadata={"Date": None, "Creator": None})
    return picture.getvalue()


def to_figure(report: Report) -> "Figure":
    """The same before it is rendered."""
    with own_style():
        return _drawn(report)


def _drawn(report: Report) -> "Figure":
    from matplotlib.figure import Figure

    grid = by_cutoff(report)
    panels = [
        Panel(one, grid.ks_of(one), tuple(grid.row(system, one) for system in grid.systems))
        for one in grid.measures[:_MOST_PANELS]
    ]
    across = len(panels) if len(panels) < 4 else 2 if len(panels) == 4 else 3
    down = ceil(len(panels) / across)
    bounds = bounds_of(panels)
    title = fitted(str(report.provenance.get("name") or ""), WIDTH * POINTS - 2 * MARGIN, TITLE)
    caption = _caption(report, grid, panels, bounds)
    names, columns = legend_of(grid.systems)
    height = down * _PANEL_HEIGHTS[across] + 0.14 * len(caption) + 0.17 * ceil(len(names) / columns) + 0.1
    figure = Figure((WIDTH, height + (0.25 if title else 0.0)), layout="constrained")
    for number, (panel, limits) in enumerate(zip(panels, bounds, strict=True)):
        axes = figure.add_subplot(down, across, number + 1)
        panel.draw(axes, limits, inches=WIDTH / across - 0.5)
        if number + across >= len(panels):
            axes.set_xlabel("k" if panel.to_scale else "k (evenly spaced)", fontsize=SMALL)
    add_legend(figure, names, columns, title, lines=any(len(panel.ks) > 1 for panel in panels))
    figure.supxlabel("\n".join(caption), x=0.015, ha="left", fontsize=SMALL, color="#444444")
    return figure


def _caption(
    report: Report, grid: ByCutoff, panels: Sequence["Panel"], bounds: Sequence[tuple[float, float]]
) -> list[str]:
    """Lines: what is drawn, over how many queries, where an axis does not begin at 0, and conventions."""
    known = any(one and one.ci for panel in panels for row in panel.rows for one in row)
    drawn = "bars" if all(len(panel.ks) == 1 for panel in panels) else "bands"
    said = [f"Mean over {grid.over}" + (f"; {drawn}: {percent(report.level)} interval" if known else "")]
    cut = [panel.measure.name for panel, (low, _) in zip(panels, bounds, strict=True) if low > 0]
    if cut:
        said.append(f"Vertical axes that do not begin at 0: {'all' if len(cut) == len(panels) else ', '.join(cut)}")
    if len(grid.measures) > len(panels):
        said.append(f"The first {len(panels)} of {len(grid.measures)} measures")
    conventions = [one.replace(" ", _SOLID) for one in grid.conventions]
    return wrap(". ".join(said) + ".", 105) + wrap("; ".join(conventions), 107, break_on_hyphens=False)


@dataclass(frozen=True)
class Panel:
    """One measure of all systems."""

    measure: CutMeasure
    ks: tuple[int, ...]
    rows: tuple[tuple[Estimate | None, ...], ...]
    """By system and k."""

    @property
    def to_scale(self) -> bool:
        return len({after - before for before, after in pairwise(self.ks)}) <= 1

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the highest figure drawn."""
        drawn = [end for row in self.rows for one in row if one for end in (one.mean, *(one.ci or ()))]
        return (min(drawn), max(drawn)) if drawn else (0.0, 1.0)

    def draw(self, axes: "Axes", limits: tuple[float, float], *, inches: float) -> None:
        for place, row in enumerate(self.rows):
            shift = (place + 1) / (len(self.rows) + 1) - 0.5 if len(self.ks) == 1 else 0.0
            _draw_row(axes, row, place, shift)
        margin = 0.5 if len(self.ks) == 1 else 0.25
        axes.set_xlim(-margin, len(self.ks) - 1 + margin)
        axes.set_ylim(*limits)
        ticks = _ticks(self.ks, inches * POINTS)
        axes.set_xticks(ticks, [str(self.ks[tick]) for tick in ticks])
        axes.set_xticks(range(len(self.ks)), minor=True)
        axes.locator_params(axis="y", nbins=5)
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)
        axes.tick_params(labelsize=SMALL, length=3, color="#888888")
        axes.tick_params(which="minor", length=2, color="#888888")
        plain(axes)
        if limits[0] < 0 < limits[1]:
            axes.axhline(0.0, color="#888888", linewidth=0.8, zorder=1)
        name = self.measure.name_at_k + (" (less is better)" if self.measure.lower_is_better else "")
        axes.set_title(fill(name.replace(",", ", "), int(inches * 13)), loc="left", fontsize=TEXT)


def _draw_row(axes: "Axes", row: Sequence[Estimate | None], place: int, shift: float) -> None:
    """A line with its band; bars where an interval stands alone, as a band takes two."""
    places = [number + shift for number in range(len(row))]
    intervals = [one.ci if one else None for one in row]
    lows, highs = zip(*(ends or (nan, nan) for ends in intervals), strict=True)
    colour = COLOURS[place % len(COLOURS)]
    if len(row) > 1 and any(intervals):
        axes.fill_between(places, lows, highs, facecolor=(colour, 0.16), edgecolor=(colour, 0.45), linewidth=0.5)
    beside = zip([None, *intervals[:-1]], intervals, [*intervals[1:], None], strict=True)
    for at, (before, ends, after) in zip(places, beside, strict=True):
        if ends and not before and not after:
            axes.plot([at, at], ends, color=colour, linewidth=1.2, marker="_")
    axes.plot(places, [one.mean if one else nan for one in row], **style_of(place, line=len(row) > 1), clip_on=False)


def bounds_of(panels: Sequence[Panel]) -> list[tuple[float, float]]:
    """The vertical range of each panel: one for all where each fills enough of it."""
    ends = [panel.ends for panel in panels]
    low, high = _range(min(low for low, _ in ends), max(high for _, high in ends))
    if all(top - bottom >= 0.4 * (high - low) for bottom, top in ends):
        return [(low, high)] * len(panels)
    return [_range(*one) for one in ends]


def _range(low: float, high: float) -> tuple[float, float]:
    """With 0, unless most of the panel would be empty below; to 1 where shares come near it."""
    room = 0.06 * (high - low) or 0.05 * abs(high) or 0.05
    bottom = low - room
    if low >= 0 and (low < 0.7 * high or low == high):
        bottom = 0.0
    return bottom, 1.0 if 0.9 <= high <= 1.0 and bottom == 0.0 else high + room


def _ticks(ks: Sequence[int], points: float) -> list[int]:
    """Which places are labelled: all, or as many as there is room for, always the first and the last."""
    last = len(ks) - 1
    for step in range(1, last):
        ticks = [place for place in range(0, last, step) if last - place >= step] + [last]
        needed = [0.33 * SMALL * len(f"{ks[one]}{ks[other]}") + 3.0 for one, other in pairwise(ticks)]
        if max(needed) <= step * points / (last + 0.5):
            return ticks
    return sorted({0, last})
