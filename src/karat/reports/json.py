"""The report as versioned JSON, with all digits."""

from json import dumps

from karat.reports import FORMS
from karat.results import Report

__all__ = ["to_json"]


@FORMS.register("json")
def to_json(report: Report) -> str:
    return dumps(report.as_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
