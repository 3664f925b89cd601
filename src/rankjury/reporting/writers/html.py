"""Writer of the report as one self-contained HTML page."""

from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.reporting.writers import OutputRequest, writer


def to_html(report: Report, gate: Gate | None = None) -> str:
    """Return the page of a report, with the verdicts on its targets where there are any."""
    from rankjury.reporting.html.page import render_page  # loads jinja2

    return render_page(report if gate is None else report.with_sections(gate))


@writer("html", ".html")
def _write_html(report: Report, request: OutputRequest) -> str:
    return to_html(report, request.gate)
