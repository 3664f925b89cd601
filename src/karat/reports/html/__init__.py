"""The report as one HTML file: self-contained, offline, for people.

``page_of`` makes it from the versioned form and what is known of single queries, so that an archived run gives the same
page; ``to_html`` is the form of output ``.html``.
"""

from collections.abc import Mapping
from typing import Any

from karat.report import Report
from karat.reports import FORMS
from karat.reports.html.details import Details
from karat.reports.html.page import context_of, page_of

__all__ = ["Details", "context_of", "html_of", "page_of", "to_html"]


def html_of(report: Report, gate: Mapping[str, Any] | None) -> str:
    """``gate``: the verdicts in their JSON form, where targets were held against the report."""
    form = report.as_json() | ({"gate": gate} if gate is not None else {})
    return page_of(form, Details.of(report))


@FORMS.register("html")
def to_html(report: Report) -> str:
    return html_of(report, None)
