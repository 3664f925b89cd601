"""Writers of pages and of Markdown."""

from karat.report import Report
from karat.reports.writers import Request, writer


@writer("html", ".html")
def _html(report: Report, request: Request) -> str:
    from karat.reports.html import to_html

    return to_html(report, request.gate)


@writer("markdown", ".md")
def _markdown(report: Report, request: Request) -> str:
    from karat.reports.markdown import to_markdown

    return to_markdown(report)


@writer("pull-request", ".md", by_suffix=False)
def _pull_request(report: Report, request: Request) -> str:
    from karat.reports.pull_request import summary_of

    return summary_of(report if request.gate is None else report.with_sections(request.gate))
