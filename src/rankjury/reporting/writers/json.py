"""Reports as versioned JSON with all digits: written, recognised and read back."""

from json import dumps
from os.path import isfile
from pathlib import Path
from typing import Any

from rankjury.errors import DataError
from rankjury.evaluation.report import SCHEMA, Report
from rankjury.io.jsonl import parse_json
from rankjury.io.source import Source
from rankjury.reporting.writers import Request, writer


def looks_like_report(path: str) -> bool:
    """Whether a file is one of rankjury's reports: a JSON object that says so."""
    if path == "-" or not isfile(path) or not Path(path).stat().st_size:
        return False
    source = Source.open(path)
    return not source.is_parquet() and source.head.lstrip()[:1] == "{" and '"rankjury.report/' in source.text()


def read_report(path: str) -> Report:
    """Read a report that ``-o report.json`` or ``--json`` wrote."""
    hint = "rankjury evaluate GOLD RUN -o report.json makes one."
    expected = f"a report of rankjury ({SCHEMA})"
    text = Source.open(path).text()
    if not text.lstrip().startswith("{"):
        raise DataError("this is not a report of rankjury", where=path, expected=expected, hint=hint)
    form: Any = parse_json(text, path, expected=expected)
    return Report.from_json(form, path)


@writer("json", ".json", is_report=True)
def to_json(report: Report, request: Request | None = None) -> str:
    """With every query's scores, so that a later report can be compared with it."""
    return dumps(report.to_json(queries=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
