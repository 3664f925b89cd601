"""Measures against their cut-off: a chart per measure, a line with its band per system."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from karat.errors import KaratError
from karat.measure import split_spelling
from karat.report import Report
from karat.reports.charts.axes import range_with_zero
from karat.reports.charts.builders.dots import interval_name, mean_dot, places_of
from karat.reports.charts.model import Dot, Line, LineChart
from karat.statistics.estimates import Estimate

__all__ = ["curves_charts"]

_FEWEST = 2
Labels = dict[int, str]
"""By cut-off, what the measure is called there."""


def curves_charts(report: Report) -> list[LineChart]:
    """Return a chart for every measure that the report has at two cut-offs or more, in the order asked."""
    return [_chart(report, name, labels) for name, labels in _by_cutoff(report).items() if len(labels) >= _FEWEST]


def _by_cutoff(report: Report) -> dict[str, Labels]:
    """Return labels by measure without its cut-off; measures are the same where their conventions are."""
    found: dict[str, Labels] = {}
    names: dict[str, str] = {}
    for system in report.systems.values():
        for label, convention in system.conventions.items():
            try:
                k = split_spelling(convention)[2]
            except KaratError:
                continue
            if k is not None:
                # NDCG for NDCG@5; the whole convention where a label says less than another's, or no cut-off.
                spelling, short = convention.rpartition("@")[0], label.rpartition("@")[0]
                name = names.setdefault(spelling, short if short and short not in found else spelling)
                found.setdefault(name, {}).setdefault(k, label)
    return {name: dict(sorted(labels.items())) for name, labels in found.items()}


def _chart(report: Report, name: str, labels: Labels) -> LineChart:
    ks = list(labels)
    even = len({after - before for before, after in pairwise(ks)}) <= 1
    lines = []
    for system, found in report.systems.items():
        line = _line(system, [found.estimates.get(label) for label in labels.values()], list(labels.values()))
        lines += [line] if any(y is not None for y in line.ys) else []
    # The order at the last cut-off in words, for screen readers.
    ends = sorted(((line.ys[-1], line.name) for line in lines if line.ys[-1] is not None), reverse=True)
    order = f" At {ks[-1]}: {', '.join(f'{system} {value:.3f}' for value, system in ends[:8])}." if ends else ""
    chart = LineChart(
        title=f"{name} against k",
        description=f"Mean {name} over {report.unit[1]} at k = {', '.join(map(str, ks))}, with the "
        f"{interval_name(report)} of each system as a band.{order}",
        x_label="k" if even else "k (evenly spaced)",
        y_label=f"{name}@k" + (" (less is better)" if report.lower_is_better(labels[ks[0]]) else ""),
        lines=tuple(lines),
        places=places_of(report, [line.name for line in lines]),
        spacing="even",
        x_names=tuple(map(str, ks)),
    )
    figures = chart.figures()
    bottom, top = range_with_zero(min(figures, default=0.0), max(figures, default=1.0))
    banded = any(low is not None for line in lines for low in line.lows)
    notes = [f"Bands: {interval_name(report)}s."] if banded else []
    notes += [f"The vertical axis begins at {bottom:.2g}, not at 0."] if bottom > 0 else []
    return replace(chart, y_range=(bottom, top), footnote=" ".join(notes))


def _line(system: str, estimates: Sequence[Estimate | None], labels: Sequence[str]) -> Line:
    dots = [
        Dot(None) if one is None else mean_dot(one, f"{system}, {label}")
        for one, label in zip(estimates, labels, strict=True)
    ]
    return Line(
        name=system,
        xs=tuple(float(place) for place in range(len(dots))),
        ys=tuple(dot.value for dot in dots),
        lows=tuple(dot.low for dot in dots),
        highs=tuple(dot.high for dot in dots),
        titles=tuple(dot.title for dot in dots),
    )
