"""Reports that were saved, read back and checked."""

from json import JSONDecodeError, loads
from os.path import isfile
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from karat.errors import DataError
from karat.formats.source import Source
from karat.report import SCHEMA
from karat.saved import Saved

__all__ = ["looks_like_report", "read_report"]


def _in_order(ends: list[float]) -> list[float]:
    if len(ends) != 2 or ends[0] > ends[1]:
        raise ValueError("expected a lower and an upper end")
    return ends


_Bounds = Annotated[list[float], AfterValidator(_in_order)]


class _Part(BaseModel):
    """Of the versioned form, what is read back; later versions may add keys."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


class _Entry(_Part):
    mean: float | None
    n: int
    undefined: int
    ci: _Bounds | None = None
    se: float | None = None
    convention: str | None = None


class _Figure(_Part):
    value: float
    ci: _Bounds | None = None
    n: int | None = None


class _System(_Part):
    measures: dict[str, _Entry]
    figures: dict[str, float | _Figure] | None = None


class _Comparison(_Part):
    system: str
    measure: str
    n: int
    difference: float | None
    baseline_mean: float | None
    ci: _Bounds | None


class _Slice(_Part):
    slice: str
    systems: dict[str, _System]
    comparisons: list[_Comparison] = []


class _Queries(_Part):
    ids: list[str]
    scores: dict[str, dict[str, list[float | None]]]
    slices: dict[str, list[int]] = {}


class _Resampling(_Part):
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

    @model_validator(mode="after")
    def _fits_together(self) -> "_Form":
        if not self.systems:
            raise ValueError("the report has no system")
        labels = {name: set(system.measures) for name, system in self.systems.items()}
        for part in self.slices:
            if not _is_part_of({name: set(system.measures) for name, system in part.systems.items()}, labels):
                raise ValueError(f"the slice {part.slice} has other systems or measures than the report")
        if self.queries is not None:
            self._check_queries(self.queries, labels)
        return self

    def _check_queries(self, queries: _Queries, labels: dict[str, set[str]]) -> None:
        n = len(queries.ids)
        if len(set(queries.ids)) < n:
            raise ValueError("a query stands twice")
        if {name: set(columns) for name, columns in queries.scores.items()} != labels:
            raise ValueError("the queries' scores have other systems or measures than the report")
        if any(len(column) != n for columns in queries.scores.values() for column in columns.values()):
            raise ValueError("there are not as many scores as queries")
        if any(not 0 <= row < n for rows in queries.slices.values() for row in rows):
            raise ValueError("a slice has a query that is not there")


def _is_part_of(found: dict[str, set[str]], labels: dict[str, set[str]]) -> bool:
    """The same systems; measures over all queries have no slices."""
    return found.keys() == labels.keys() and all(found[name] <= labels[name] for name in labels)


def looks_like_report(path: str) -> bool:
    """Whether a file is one of karat's reports: a JSON object that says so."""
    if path == "-" or not isfile(path) or not Path(path).stat().st_size:
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
        found = first["msg"].removeprefix("Value error, ")
        raise DataError(f"{place}: {found}" if place else found, where=path, expected=expected) from error
    return Saved(form, path)
