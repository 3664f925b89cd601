"""Distributions in SVG: a strip each over one axis."""

from karat.reports.charts.model import Bars, Histogram
from karat.reports.charts.scales import Scale, across_of
from karat.reports.charts.svg.plot import Plot
from karat.reports.charts.svg.sheet import SMALL, TEXT, Sheet, number
from karat.reports.charts.texts import clean, fit, width_of

__all__ = ["draw_bars"]

_STRIP, _NAME, _LONE = 62.0, 20.0, 130.0
"""How high bars reach, what their name takes above them, and how high they reach where there is one strip."""
_THINNEST = 4.0


def draw_bars(sheet: Sheet, chart: Histogram) -> float:
    """How high it became."""
    high = _STRIP if len(chart.strips) > 1 else _LONE
    most = max((count for bars in chart.strips for count in bars.counts), default=1)
    left = max(30.0, width_of(f"{most:,}", SMALL) + 8)
    y = 20.0
    sheet.text(0.0, 11.0, fit(chart.y_label, sheet.width, SMALL), "note")
    plot = Plot(sheet, across_of(chart), Scale(0.0, 1.0), left, sheet.width - 14, y, y)
    for series, bars in enumerate(chart.strips):
        plot = Plot(sheet, plot.across, Scale(0.0, max(*bars.counts, 1)), left, plot.right, y + _NAME, y + _NAME + high)
        _draw_strip(plot, bars, sheet.hue(series))
        y = plot.bottom + 8
    plot.draw_across(chart.x_label)
    return plot.bottom + 44.0


def _draw_strip(plot: Plot, bars: Bars, hue: str) -> None:
    sheet, most = plot.sheet, max(*bars.counts, 1)
    sheet.across(plot.left, plot.right, plot.top, "grid")
    sheet.text(plot.left - 6, plot.top + 4, f"{most:,}", "tick", "end")
    sheet.text(plot.left - 6, plot.bottom + 4, "0", "tick", "end")
    note = fit(bars.note, 0.45 * sheet.width, SMALL)
    room = plot.right - plot.left - width_of(note, SMALL) - 12
    sheet.text(plot.left, plot.top - 5, fit(bars.name, room, TEXT))
    sheet.text(plot.right, plot.top - 5, note, "note", "end")
    sheet.open(f"bars {hue}", clean(f"{bars.name} {bars.note}"))
    for left, right, count in zip(bars.edges, bars.edges[1:], bars.counts, strict=False):
        if count:
            _draw_bar(plot, left, right, count)
    sheet.close()
    sheet.across(plot.left, plot.right, plot.bottom, "axis")


def _draw_bar(plot: Plot, left: float, right: float, count: int) -> None:
    """A hair apart from the next, and never too thin to be seen."""
    first, last = plot.x(left), plot.x(right)
    wide = max(last - first - 1.0, _THINNEST)
    middle = (first + last) / 2
    top, base = number(plot.y(count)), number(plot.bottom)
    plot.sheet.path(f"M{number(middle - wide / 2)} {base}V{top}h{number(wide)}V{base}z", "bar")
