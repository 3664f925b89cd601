"""Builders of a report's charts: each returns the neutral description (``charts.model``) that both renderers draw."""

import re
from collections.abc import Iterator

from rankjury.evaluation.report import Report
from rankjury.reporting.charts.builders.distributions import first_charts, norm_charts, top1_charts
from rankjury.reporting.charts.builders.drift import drift_chart
from rankjury.reporting.charts.builders.measures import curves_charts, differences_chart, headline_chart, slices_chart
from rankjury.reporting.charts.builders.sweep import frontier_chart
from rankjury.reporting.charts.spec import Chart

_MOST_MEASURES = 3
_LONGEST_NAME = 60


def all_charts(report: Report) -> dict[str, Chart]:
    """Return all charts that a report has something for, by names that files may have, in the order to read them.

    Headline, differences, slices, curves, scores, frontier, drift. Of more than three headline measures the first three
    have charts of systems and slices.
    """
    found: dict[str, Chart] = {}
    for name, chart in _charts(report):
        if chart is None:
            continue
        # slices-ndcg-gain-exp-5 for slices-ndcg(gain=exp)@5: a file name on every system.
        short = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST_NAME].strip("-") or "chart"
        free, number = short, 2
        while free in found:
            free, number = f"{short}-{number}", number + 1
        found[free] = chart
    return found


def _charts(report: Report) -> Iterator[tuple[str, Chart | None]]:
    measures = ([label for label in report.headline if label in report.labels] or report.labels)[:_MOST_MEASURES]
    yield from ((f"headline-{measure}", headline_chart(report, measure)) for measure in measures)
    yield "differences", differences_chart(report)
    yield from ((f"slices-{measure}", slices_chart(report, measure)) for measure in measures)
    yield from ((f"curve-{chart.title.removesuffix(' against k')}", chart) for chart in curves_charts(report))
    for name, charts in (("scores", first_charts), ("similarities", top1_charts), ("norms", norm_charts)):
        yield from ((name, chart) for chart in charts(report))
    yield "frontier", frontier_chart(report)
    yield "drift", drift_chart(report)
