"""The report as one HTML file: self-contained, offline, for people."""

from dataclasses import replace

from rankjury.evaluation.gate import Gate
from rankjury.evaluation.report import Report
from rankjury.reporting.html.page import render_page


def to_html(report: Report, gate: Gate | None = None) -> str:
    """Return the page, with the verdicts on the report's targets where there are any."""
    return render_page(report if gate is None else replace(report, sections={**report.sections, Gate.name: gate}))
