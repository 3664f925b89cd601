"""Reports as versioned JSON with all digits."""

from rankjury.core.text import json_text
from rankjury.evaluation.report import Report
from rankjury.reporting.writers import OutputRequest, writer


@writer("json", ".json", is_report=True)
def to_json(report: Report, request: OutputRequest | None = None) -> str:
    """With every query's scores, so that a later report can be compared with it."""
    return json_text(report.to_json(queries=True))
