"""Reports as versioned JSON with all digits: written, recognised and read back."""

from json import dumps
from os.path import isfile
from pathlib import Path
from typing import Any

from karat.errors import DataError
from karat.formats.jsonl import parse_json
from karat.formats.source import Source
from karat.report import Report
from karat.report_upgrade import SCHEMA, upgrade_report
from karat.reports.writers import Request, writer

__all__ = ["looks_like_report", "read_report", "to_json"]


def looks_like_report(path: str) -> bool:
    """Whether a file is one of karat's reports: a JSON object that says so."""
    if path == "-" or not isfile(path) or not Path(path).stat().st_size:
        return False
    source = Source.open(path)
    return not source.is_parquet() and source.head.lstrip()[:1] == "{" and '"karat.report/' in source.text()


def read_report(path: str) -> Report:
    """Read a report that ``-o report.json`` or ``--json`` wrote."""
    hint = "karat evaluate GOLD RUN -o report.json makes one."
    expected = f"a report of karat ({SCHEMA})"
    text = Source.open(path).text()
    if not text.lstrip().startswith("{"):
        raise DataError("this is not a report of karat", where=path, expected=expected, hint=hint)
    form: Any = parse_json(text, path, expected=expected)
    form = upgrade_report(form, path)
    return Report.from_json(form, path)


@writer("json", ".json", is_report=True)
def to_json(report: Report, request: Request | None = None) -> str:
    """With every query's scores, so that a later report can be compared with it."""
    return dumps(report.to_json(queries=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
