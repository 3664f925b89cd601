"""All charts that a form has something for, by names that files may have."""

import re
from collections.abc import Iterator

from karat.reports.charts.from_form.curves import curves_charts
from karat.reports.charts.from_form.drift import drift_chart
from karat.reports.charts.from_form.frontier import frontier_chart
from karat.reports.charts.from_form.reading import Form, headline_of
from karat.reports.charts.from_form.scores import first_charts, norm_charts, top1_charts
from karat.reports.charts.from_form.slices import slices_chart
from karat.reports.charts.from_form.systems import differences_chart, headline_chart
from karat.reports.charts.model import Chart

__all__ = ["all_charts"]

_MOST_MEASURES = 3
_LONGEST = 60


def all_charts(form: Form) -> dict[str, Chart]:
    """In the order in which they are to be read: headline, differences, slices, curves, scores, frontier, drift.

    Of more than three headline measures the first three have charts of systems and slices.
    """
    found: dict[str, Chart] = {}
    for name, chart in _charts(form):
        free = short = _file_name(name)
        number = 2
        while free in found:
            free, number = f"{short}-{number}", number + 1
        found[free] = chart
    return found


def _charts(form: Form) -> Iterator[tuple[str, Chart]]:
    measures = headline_of(form)[:_MOST_MEASURES]
    for measure in measures:
        yield f"headline-{measure}", headline_chart(form, measure)
    singles: dict[str, Chart | None] = {"differences": differences_chart(form)}
    singles |= {f"slices-{measure}": slices_chart(form, measure) for measure in measures}
    yield from ((name, chart) for name, chart in singles.items() if chart is not None)
    for curve in curves_charts(form):
        yield f"curve-{curve.title.removesuffix(' against k')}", curve
    for name, charts in (("scores", first_charts), ("similarities", top1_charts), ("norms", norm_charts)):
        yield from ((name, chart) for chart in charts(form))
    ends: dict[str, Chart | None] = {"frontier": frontier_chart(form), "drift": drift_chart(form)}
    yield from ((name, chart) for name, chart in ends.items() if chart is not None)


def _file_name(name: str) -> str:
    """``slices-ndcg-gain-exp-5`` for what is called ``slices-ndcg(gain=exp)@5``: safe on every system."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST].strip("-") or "chart"
