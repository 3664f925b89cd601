"""The report as one HTML file: self-contained, offline, for people.

``page_of`` makes it from the versioned form and what is known of single queries, so that an archived run gives the same
page; ``to_html`` is the form of output ``.html``.
"""

from karat.gates import Gate
from karat.report import Report
from karat.reports.html.details import Details
from karat.reports.html.page import context_of, page_of
from karat.reports.writers.json import json_with_verdicts

__all__ = ["Details", "context_of", "page_of", "to_html"]


def to_html(report: Report, gate: Gate | None = None) -> str:
    """Return the page, with the verdicts on the report's targets where there are any."""
    return page_of(json_with_verdicts(report, gate), Details.of(report))
