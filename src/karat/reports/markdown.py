"""The report as Markdown, for a pull request or a page."""

from karat.reports import FORMS
from karat.reports.table import by_measure
from karat.results import Report

__all__ = ["to_markdown"]


@FORMS.register("md")
def to_markdown(report: Report) -> str:
    header, rows = by_measure(report)
    lines = ["| " + " | ".join(map(_escaped, header)) + " |", "|:--" + "|--:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
    if report.warnings:
        lines += ["", *(f"- warning: {_escaped(warning)}" for warning in report.warnings)]
    return "\n".join(lines) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
