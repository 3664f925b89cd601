"""The report as versioned JSON, with all digits."""

from json import dumps
from typing import Any

from karat.gates import Gate
from karat.report import Report
from karat.reports.writers import Request, writer

__all__ = ["json_with_verdicts", "to_json"]


@writer("json", ".json", is_report=True)
def to_json(report: Report, request: Request | None = None) -> str:
    """With every query's scores, so that a later report can be compared with it."""
    return dumps(report.to_json(queries=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def json_with_verdicts(report: Report, gate: Gate | None) -> dict[str, Any]:
    """Return the report JSON with the gate's verdicts in it, without the queries' scores."""
    return report.to_json() | ({"gate": gate.to_json()} if gate is not None else {})
