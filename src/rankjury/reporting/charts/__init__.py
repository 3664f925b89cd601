"""Charts of reports: one description (``spec``), drawn as inline SVG for pages and as pictures by matplotlib."""

import re
from collections.abc import Iterator
from pathlib import Path

from rankjury.errors import UsageError
from rankjury.evaluation.report import Report
from rankjury.io.atomic import make_folder, write_files
from rankjury.reporting.charts.matplotlib import PICTURE_FORMATS, to_picture
from rankjury.reporting.charts.measures import curves_charts, differences_chart, headline_chart, slices_chart
from rankjury.reporting.charts.sections import drift_chart, first_charts, frontier_chart, norm_charts, top1_charts
from rankjury.reporting.charts.spec import Chart

_MOST_MEASURES = 3
_LONGEST_NAME = 60


def all_charts(report: Report) -> dict[str, Chart]:
    """Return all charts that a report has data for, by file name without suffix, in reading order.

    The order is headline, differences, slices, curves, scores, frontier, drift. Only the first three headline measures
    have charts of systems and slices.
    """
    charts: dict[str, Chart] = {}
    for name, chart in _named_charts(report):
        if chart is None:
            continue
        # slices-ndcg-gain-exp-5 for slices-ndcg(gain=exp)@5: a valid file name on every operating system.
        short = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_LONGEST_NAME].strip("-") or "chart"
        free, number = short, 2
        while free in charts:
            free, number = f"{short}-{number}", number + 1
        charts[free] = chart
    return charts


def _named_charts(report: Report) -> Iterator[tuple[str, Chart | None]]:
    measures = ([label for label in report.headline if label in report.labels] or report.labels)[:_MOST_MEASURES]
    yield from ((f"headline-{measure}", headline_chart(report, measure)) for measure in measures)
    yield "differences", differences_chart(report)
    yield from ((f"slices-{measure}", slices_chart(report, measure)) for measure in measures)
    yield from ((f"curve-{chart.title.removesuffix(' against k')}", chart) for chart in curves_charts(report))
    for name, charts in (("scores", first_charts), ("similarities", top1_charts), ("norms", norm_charts)):
        yield from ((name, chart) for chart in charts(report))
    yield "frontier", frontier_chart(report)
    yield "drift", drift_chart(report)


def write_pictures(report: Report, folder: str | Path, suffix: str = ".png") -> list[Path]:
    """Write every chart of a report to its own file, such as ``slices-ndcg-10.png``: all files or none.

    Args:
        report: The report.
        folder: Where the files go; it is created if it does not exist.
        suffix: ``.png`` or ``.svg``.

    Returns:
        The paths of the files.
    """
    kind = suffix.lower().lstrip(".")
    if kind not in PICTURE_FORMATS:
        raise UsageError(f"pictures as {suffix!r}", expected=" or ".join(f".{name}" for name in PICTURE_FORMATS))
    home = Path(folder)
    pictures = {home / f"{name}.{kind}": to_picture(chart, kind) for name, chart in all_charts(report).items()}  # type: ignore[arg-type]
    make_folder(home)
    write_files(pictures)
    return list(pictures)
