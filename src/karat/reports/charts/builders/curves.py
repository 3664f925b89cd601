"""Measures against their cut-off: a chart per measure, a line with its band per system."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite

from karat.report import Report
from karat.reports.charts.axes import range_with_zero
from karat.reports.charts.builders.dots import interval_name, mean_dot, places_of
from karat.reports.charts.model import Dot, Line, LineChart
from karat.reports.cutoffs import cut_labels
from karat.statistics.estimates import Estimate

__all__ = ["curve_chart", "curves_charts"]

_FEWEST = 2
Labels = dict[int, str]
"""By cut-off, what the measure is called there."""


def curve_chart(
    labels: Mapping[int, str], estimates: Mapping[str, Sequence[Estimate | None]], y_label: str, description: str
) -> LineChart:
    """Return a measure against k, with a line for each system and its interval as a band.

    Args:
        labels: By cut-off, ascending, what the measure is called there.
        estimates: By system, in the order of cut-offs; None is a gap.
        y_label: The name of the vertical axis, which is the title too.
        description: The chart in words.
    """
    ks = list(labels)
    even = len({after - before for before, after in pairwise(ks)}) <= 1
    lines = []
    for place, (system, row) in enumerate(estimates.items()):
        # Of one cut-off the systems are side by side, between the ends of the axis.
        shift = 0.5 * ((place + 1) / (len(estimates) + 1) - 0.5) if len(ks) == 1 else 0.0
        dots = [
            Dot(None) if one is None else mean_dot(one, f"{system}, {label}")
            for one, label in zip(row, labels.values(), strict=True)
        ]
        lines.append(
            Line(
                name=system,
                xs=tuple(number + shift for number in range(len(ks))),
                ys=tuple(dot.value for dot in dots),
                lows=tuple(dot.low for dot in dots),
                highs=tuple(dot.high for dot in dots),
                titles=tuple(dot.title for dot in dots),
            )
        )
    return LineChart(
        title=y_label,
        description=description,
        x_label="k" if even else "k (evenly spaced)",
        y_label=y_label,
        lines=tuple(lines),
        spacing="even",
        x_names=tuple(map(str, ks)),
    )


def curves_charts(report: Report) -> list[LineChart]:
    """Return a chart for every measure that the report has at two cut-offs or more, in the order asked."""
    return [_chart(report, name, labels) for name, labels in _by_cutoff(report).items() if len(labels) >= _FEWEST]


def _by_cutoff(report: Report) -> dict[str, Labels]:
    """Return labels by measure without its cut-off; measures are the same where their conventions are."""
    found: dict[str, Labels] = {}
    names: dict[str, str] = {}
    for _, label, spelling, k in cut_labels(report):
        # NDCG for NDCG@5; the whole convention where a label says less than another's, or no cut-off.
        short = label.rpartition("@")[0]
        name = names.setdefault(spelling, short if short and short not in found else spelling)
        found.setdefault(name, {}).setdefault(k, label)
    return {name: dict(sorted(labels.items())) for name, labels in found.items()}


def _chart(report: Report, name: str, labels: Labels) -> LineChart:
    ks = list(labels)
    rows = {
        system: [found.estimates.get(label) for label in labels.values()] for system, found in report.systems.items()
    }
    known = {system: row for system, row in rows.items() if any(one is not None and isfinite(one.mean) for one in row)}
    # The order at the last cut-off in words, for screen readers.
    last = {system: row[-1].mean for system, row in known.items() if row[-1] is not None and isfinite(row[-1].mean)}
    ends = sorted(((mean, system) for system, mean in last.items()), reverse=True)
    order = f" At {ks[-1]}: {', '.join(f'{system} {value:.3f}' for value, system in ends[:8])}." if ends else ""
    chart = curve_chart(
        labels,
        known,
        f"{name}@k" + (" (less is better)" if report.lower_is_better(labels[ks[0]]) else ""),
        f"Mean {name} over {report.unit[1]} at k = {', '.join(map(str, ks))}, with the {interval_name(report)} of each "
        f"system as a band.{order}",
    )
    figures = chart.figures()
    bottom, top = range_with_zero(min(figures, default=0.0), max(figures, default=1.0))
    banded = any(low is not None for line in chart.lines for low in line.lows)
    notes = [f"Bands: {interval_name(report)}s."] if banded else []
    notes += [f"The vertical axis begins at {bottom:.2g}, not at 0."] if bottom > 0 else []
    places = places_of(report, list(known))
    return replace(chart, title=f"{name} against k", places=places, y_range=(bottom, top), footnote=" ".join(notes))
