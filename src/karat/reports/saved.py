"""Reports that were saved, read back and checked."""

from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from karat.errors import DataError
from karat.formats.source import Source
from karat.report import SCHEMA
from karat.saved import Saved

__all__ = ["looks_like_report", "read_report"]


class _Part(BaseModel):
    """Of the versioned form, what is read back; later versions may add keys."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Entry(_Part):
    mean: float | None
    n: int
    undefined: int
    ci: list[float] | None = None
    se: float | None = None
    convention: str | None = None


class _System(_Part):
    measures: dict[str, _Entry]
    figures: dict[str, float] | None = None


class _Comparison(_Part):
    system: str
    measure: str
    n: int
    difference: float | None
    baseline_mean: float | None
    ci: list[float] | None


class _Slice(_Part):
    slice: str
    systems: dict[str, _System]
    comparisons: list[_Comparison] = []


class _Queries(_Part):
    ids: list[str]
    scores: dict[str, dict[str, list[float | None]]]
    slices: dict[str, list[int]] = {}


class _Resampling(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    resamples: int
    level: float
    seed: int
    interval: str


class _Form(_Part):
    systems: dict[str, _System]
    baseline: str | None = None
    comparisons: list[_Comparison] = []
    slices: list[_Slice] = []
    queries: _Queries | None = None
    resampling: _Resampling | None = None


def looks_like_report(path: str) -> bool:
    """Whether a file is one of karat's reports: a JSON object that says so."""
    if path == "-" or not Path(path).is_file() or not Path(path).stat().st_size:
        return False
    source = Source.open(path)
    return not source.is_parquet() and source.head.lstrip()[:1] == "{" and '"karat.report/' in source.text()


def read_report(path: str) -> Saved:
    """A report that ``-o report.json`` or ``--json`` wrote."""
    hint = "karat evaluate GOLD RUN -o report.json makes one."
    expected = f"a report of karat ({SCHEMA})"
    text = Source.open(path).text()
    try:
        form: Any = loads(text)
    except JSONDecodeError as error:
        found = f"not JSON: {error}" if text.lstrip().startswith("{") else "this is no report of karat"
        raise DataError(found, where=path, expected=expected, hint=hint) from error
    schema = form.get("schema") if isinstance(form, dict) else None
    if schema != SCHEMA:
        found = f"the schema is {schema!r}" if schema else "the file has no schema"
        raise DataError(found, where=path, expected=expected, hint=hint)
    try:
        _Form.model_validate(form)
    except ValidationError as error:
        first = error.errors()[0]
        place = " → ".join(map(str, first["loc"]))
        raise DataError(f"{place}: {first['msg'].lower()}", where=path, expected=expected) from error
    if not form["systems"]:
        raise DataError("the report has no system", where=path, expected=expected)
    return Saved(form, path)
