"""Writers of pages and of Markdown."""

from rankjury.evaluation.report import Report
from rankjury.reporting.writers import Request, writer


@writer("html", ".html")
def _html(report: Report, request: Request) -> str:
    from rankjury.reporting.html import to_html

    return to_html(report, request.gate)


@writer("markdown", ".md")
def _markdown(report: Report, request: Request) -> str:
    from rankjury.reporting.writers.markdown import to_markdown

    return to_markdown(report)


@writer("pull-request", ".md", by_suffix=False)
def _pull_request(report: Report, request: Request) -> str:
    from rankjury.reporting.writers.github_comment import summary_of

    return summary_of(report if request.gate is None else report.with_sections(request.gate))
