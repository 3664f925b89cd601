"""The report as versioned JSON, with all digits."""

from json import dumps

from karat.report import Report
from karat.reports import FORMS

__all__ = ["summary_to_json", "to_json"]


@FORMS.register("json")
def to_json(report: Report) -> str:
    """With every query's scores, so that a later report can be compared with it."""
    return dumps(report.as_json(queries=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def summary_to_json(report: Report) -> str:
    """Without the queries' scores, for a pipe."""
    return dumps(report.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
