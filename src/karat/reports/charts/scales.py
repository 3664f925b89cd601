"""From figures to places: how far an axis reaches, where a value stands on it, and which values are named."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from karat.reports.charts.model import DotPlot, Histogram, LineChart, Scatter, Spacing
from karat.reports.charts.ticks import even_ticks, linear_ticks, log_ticks, numbers_shown, time_ticks

__all__ = ["Scale", "across_of", "upright_of"]

_ROOM = 0.04
"""Beside the outermost figures, as a share of the axis."""
_BETWEEN_EVEN = 0.3
_ROUNDING, _LONE = 1e-9, 0.02
Tick = tuple[float, str]


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``."""

    low: float
    high: float
    spacing: Spacing = "linear"
    names: tuple[str, ...] = ()
    """What places are called where they are evenly spaced."""
    shares: bool = False

    def part(self, value: float) -> float:
        """Where a value stands: 0 at the low end, 1 at the high one."""
        if self.spacing == "log":
            return log10(value / self.low) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[Tick]:
        if self.spacing == "even":
            return [(float(place), self.names[place]) for place in even_ticks(len(self.names), most)]
        if self.spacing == "time":
            return time_ticks(self.low, self.high, most)
        find = log_ticks if self.spacing == "log" else linear_ticks
        values = find(self.low, self.high, most)
        if self.spacing == "log":
            return [(value, f"{value:,.10g}") for value in values]
        return list(zip(values, numbers_shown(values, shares=self.shares), strict=True))


def across_of(chart: DotPlot | LineChart | Histogram | Scatter) -> Scale:
    """The axis from left to right."""
    if isinstance(chart, DotPlot):
        return Scale(*_with_room(chart.figures()), shares=chart.percent)
    if isinstance(chart, Histogram):
        lone = all(len(bars.counts) == 1 for bars in chart.strips)
        return Scale(*_with_room(chart.figures(), 0.0, least=_LONE if lone else _ROUNDING))
    xs = chart.xs()
    if isinstance(chart, LineChart) and chart.spacing == "even":
        return Scale(-_BETWEEN_EVEN, max(len(chart.x_names) - 1, 0) + _BETWEEN_EVEN, "even", chart.x_names)
    spacing: Spacing = ("log" if chart.log_x else "linear") if isinstance(chart, Scatter) else chart.spacing
    if spacing == "log" and xs and min(xs) > 0:
        ratio = max(max(xs) / min(xs), 1.5)
        return Scale(min(xs) / ratio**0.08, max(xs) * ratio**0.08, "log")
    room = 60.0 if spacing == "time" and len(set(xs)) < 2 else None
    low, high = _with_room(xs) if room is None else (min(xs, default=0.0) - room, max(xs, default=0.0) + room)
    return Scale(low, high, "time" if spacing == "time" else "linear")


def upright_of(chart: LineChart | Scatter) -> Scale:
    """The axis from the bottom up."""
    if isinstance(chart, LineChart) and chart.y_range is not None:
        return Scale(*chart.y_range)
    return Scale(*_with_room(chart.figures(), 0.06))


def _with_room(figures: Sequence[float], room: float = _ROOM, *, least: float = _ROUNDING) -> tuple[float, float]:
    """Beyond the ends; far beyond where figures are as good as equal: less apart than ``least``, as a share of them."""
    low, high = (min(figures), max(figures)) if figures else (0.0, 1.0)
    apart = high - low
    if apart <= least * max(abs(low), abs(high)):
        apart, room = 0.1 * max(abs(low), abs(high)) or 1.0, max(room, 0.5)
    return low - room * apart, high + room * apart
