"""Writers of pages and of Markdown."""

from rankjury.evaluation.report import Report
from rankjury.reporting.writers import OutputRequest, writer


@writer("html", ".html")
def _html(report: Report, request: OutputRequest) -> str:
    from rankjury.reporting.html import to_html

    return to_html(report, request.gate)


@writer("markdown", ".md")
def _markdown(report: Report, request: OutputRequest) -> str:
    from rankjury.reporting.writers.markdown import to_markdown

    return to_markdown(report)


@writer("pull-request", ".md", by_suffix=False)
def _pull_request(report: Report, request: OutputRequest) -> str:
    from rankjury.reporting.writers.pull_request import to_comment

    return to_comment(report if request.gate is None else report.with_sections(request.gate))
