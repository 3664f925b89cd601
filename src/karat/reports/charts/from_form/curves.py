"""Measures against their cut-off: a chart a measure, a line with its band a system."""

from dataclasses import replace
from itertools import pairwise

from karat.errors import KaratError
from karat.measure import split_spelling
from karat.reports.charts.axes import range_with_zero
from karat.reports.charts.from_form.reading import (
    Form,
    bounds_in,
    interval_told,
    less_is_better,
    mean_dot,
    number_in,
    places_of,
    queries_named,
    systems_of,
)
from karat.reports.charts.model import Line, LineChart

__all__ = ["curves_charts"]

_FEWEST = 2
Labels = dict[int, str]
"""By cut-off, what the measure is called there."""


def curves_charts(form: Form) -> list[LineChart]:
    """Every measure that the form has at two cut-offs or more, in the order asked."""
    return [_chart(form, name, labels) for name, labels in _by_cutoff(form).items() if len(labels) >= _FEWEST]


def _by_cutoff(form: Form) -> dict[str, Labels]:
    """By measure without its cut-off; measures are one where their conventions are."""
    found: dict[str, Labels] = {}
    names: dict[str, str] = {}
    for one in systems_of(form).values():
        for label, entry in (one.get("measures") or {}).items():
            convention = entry.get("convention") or label
            k = _cutoff(convention)
            if k is not None:
                spelling = convention.rpartition("@")[0]
                labels = found.setdefault(names.setdefault(spelling, _free_name(label, spelling, found)), {})
                labels.setdefault(k, label)
    return {name: dict(sorted(labels.items())) for name, labels in found.items()}


def _free_name(label: str, spelling: str, taken: dict[str, Labels]) -> str:
    """``NDCG`` for ``NDCG@5``; the whole convention where a label says less than another's, or no cut-off."""
    short = label.rpartition("@")[0]
    return short if short and short not in taken else spelling


def _cutoff(convention: str) -> int | None:
    try:
        return split_spelling(convention)[2]
    except KaratError:
        return None


def _chart(form: Form, name: str, labels: Labels) -> LineChart:
    ks = list(labels)
    even = len({after - before for before, after in pairwise(ks)}) > 1
    systems = [
        system
        for system, one in systems_of(form).items()
        if any(
            number_in((one.get("measures", {}).get(label) or {}).get("mean")) is not None for label in labels.values()
        )
    ]
    lines = tuple(_line(form, system, labels) for system in systems)
    less = less_is_better(form, next(iter(labels.values())))
    chart = LineChart(
        title=f"{name} against k",
        description=f"Mean {name} over {queries_named(form)} at k = {', '.join(map(str, ks))}, with the "
        f"{interval_told(form)} of each system as a band.{_last_told(lines, ks)}",
        x_label="k (evenly spaced)" if even else "k",
        y_label=f"{name}@k" + (" (less is better)" if less else ""),
        lines=lines,
        places=places_of(form, systems),
        spacing="even",
        x_names=tuple(map(str, ks)),
    )
    figures = chart.figures()
    low, high = (min(figures), max(figures)) if figures else (0.0, 1.0)
    ends = range_with_zero(low, high)
    return replace(chart, y_range=ends, footnote=_footnote(form, lines, ends[0]))


def _footnote(form: Form, lines: tuple[Line, ...], bottom: float) -> str:
    told = [f"Bands: {interval_told(form)}s."] if any(low is not None for line in lines for low in line.lows) else []
    if bottom > 0:
        told.append(f"The vertical axis begins at {bottom:.2g}, not at 0.")
    return " ".join(told)


def _line(form: Form, system: str, labels: Labels) -> Line:
    entries = [systems_of(form)[system]["measures"].get(label) or {} for label in labels.values()]
    bounds = [bounds_in(entry) for entry in entries]
    return Line(
        name=system,
        xs=tuple(float(place) for place in range(len(entries))),
        ys=tuple(number_in(entry.get("mean")) for entry in entries),
        lows=tuple(ends[0] if ends else None for ends in bounds),
        highs=tuple(ends[1] if ends else None for ends in bounds),
        titles=tuple(
            mean_dot(entry, f"{system}, {label}").title for entry, label in zip(entries, labels.values(), strict=True)
        ),
    )


def _last_told(lines: tuple[Line, ...], ks: list[int]) -> str:
    """The order at the last cut-off, for who cannot see it."""
    ends = sorted(((line.ys[-1], line.name) for line in lines if line.ys[-1] is not None), reverse=True)
    return f" At {ks[-1]}: " + ", ".join(f"{name} {value:.3f}" for value, name in ends[:8]) + "." if ends else ""
