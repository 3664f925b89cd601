"""Reports as versioned JSON with all digits."""

from json import dumps

from rankjury.evaluation.report import Report
from rankjury.reporting.writers import OutputRequest, writer


@writer("json", ".json", is_report=True)
def to_json(report: Report, request: OutputRequest | None = None) -> str:
    """With every query's scores, so that a later report can be compared with it."""
    return dumps(report.to_json(queries=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
