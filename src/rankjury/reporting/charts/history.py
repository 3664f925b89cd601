"""Chart of a measure over archived runs, with its interval as a band and a mark at every step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Protocol

from rankjury.reporting.charts.layout import y_scale
from rankjury.reporting.charts.spec import LineChart, LineSeries, Mark, Spacing
from rankjury.stats.formatting import format_with_interval

_CLOSE = 0.2
"""As a share of the mean distance in time: nearer runs would overlap."""
_SHORTEST = 2.0
"""Seconds that an axis of time spans at least: its ticks are whole seconds."""


class RunPoint(Protocol):
    """A measure of one run."""

    @property
    def time(self) -> str:
        """ISO 8601."""

    @property
    def run(self) -> str: ...

    @property
    def mean(self) -> float | None: ...

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...


class RunSeries(Protocol):
    """The runs of one system, or of one measure, in the order of time."""

    @property
    def name(self) -> str: ...

    @property
    def points(self) -> Sequence[RunPoint]: ...


def history_chart(
    series: Sequence[RunSeries], steps: Sequence[tuple[str, str]] = (), title: str = "", y_label: str = ""
) -> LineChart:
    """Return a line per series over its runs, by time; evenly spaced where most runs would overlap.

    Args:
        series: The measures or systems.
        steps: The time of the run where each step begins, and its label.
        title: Of the chart.
        y_label: The title by default.
    """
    runs = sorted({(_seconds(point.time), point.time, point.run) for line in series for point in line.points})
    times = [seconds for seconds, _, _ in runs]
    spacing: Spacing = "time" if _are_spread(times) else "even"
    places = times if spacing == "time" else [float(place) for place in range(len(runs))]
    at = {(time, run): place for (_, time, run), place in zip(runs, places, strict=True)}
    first = {time: at[time, run] for _, time, run in reversed(runs)}
    marks = tuple(Mark(first[time], label) for time, label in steps if time in first)
    lines = tuple(_line(line, at) for line in series)
    chart = LineChart(
        title=title,
        description=_description(lines, runs, marks, title),
        x_label=_time_label(times) if spacing == "time" else "runs in the order of time, UTC (not to scale)",
        y_label=y_label or title,
        lines=lines,
        spacing=spacing,
        x_names=tuple(_format_time(seconds, times) for seconds in times) if spacing == "even" else (),
        marks=marks,
    )
    low = y_scale(chart).low
    cut = bool(chart.figures()) and low > 0
    return replace(chart, footnote=f"The vertical axis begins at {low:.3g}, not at 0." if cut else "")


def _line(series: RunSeries, at: Mapping[tuple[str, str], float]) -> LineSeries:
    points = sorted(series.points, key=lambda point: at[point.time, point.run])
    return LineSeries(
        name=series.name,
        xs=tuple(at[point.time, point.run] for point in points),
        ys=tuple(point.mean for point in points),
        lows=tuple(point.low for point in points),
        highs=tuple(point.high for point in points),
        titles=tuple(f"{series.name}, {point.time}, {point.run}: {_format_point(point)}" for point in points),
    )


def _format_point(point: RunPoint) -> str:
    ci = None if point.low is None or point.high is None else (point.low, point.high)
    return "undefined" if point.mean is None else format_with_interval(point.mean, ci)


def _seconds(time: str) -> float:
    read = datetime.fromisoformat(time)
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def _are_spread(times: Sequence[float]) -> bool:
    """Whether most runs keep their distance on an axis of time."""
    if len(set(times)) < 2 or times[-1] - times[0] < _SHORTEST:
        return False
    usual = (times[-1] - times[0]) / (len(times) - 1)
    close = sum(after - before < _CLOSE * usual for before, after in pairwise(times))
    return 4 * close <= len(times) - 1


def _time_label(times: Sequence[float]) -> str:
    """Return the name of an axis of time, with the date where all runs are of one day: ticks are hours then."""
    first, last = (datetime.fromtimestamp(time, UTC) for time in (times[0], times[-1]))
    return "time of the run, UTC" + (f" ({first:%Y-%m-%d})" if first.date() == last.date() else "")


def _format_time(seconds: float, times: Sequence[float]) -> str:
    """Return the day of a run, with the time where two runs are of the same day, to the second where they need it."""
    for shape in ("%Y-%m-%d", "%m-%d %H:%M"):
        if len({datetime.fromtimestamp(time, UTC).strftime(shape) for time in times}) == len(times):
            break
    else:
        shape = "%m-%d %H:%M:%S"
    return datetime.fromtimestamp(seconds, UTC).strftime(shape)


def _description(
    lines: Sequence[LineSeries], runs: Sequence[tuple[float, str, str]], marks: Sequence[Mark], title: str
) -> str:
    if not runs:
        return f"{title or 'Measure'} from run to run: no run yet."
    steps = f" Steps: {'; '.join(mark.label for mark in marks[:6])}." if marks else ""
    return (
        f"{title or 'Measure'} of {', '.join(line.name for line in lines[:6])} over {len(runs)} runs from "
        f"{runs[0][1]} to {runs[-1][1]}, intervals as bands.{steps}"
    )
