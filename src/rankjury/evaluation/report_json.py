"""JSON form of a report: its schema, the records that it consists of, and what its parts say of each other."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankjury.core.hashing import GoldDigest, digest_gold
from rankjury.core.types import Floats, Gold
from rankjury.core.validation import Record
from rankjury.errors import DataError, shorten
from rankjury.evaluation.paired import Change
from rankjury.evaluation.scores import QueryData, SystemResult
from rankjury.evaluation.sections import ReportWarning
from rankjury.evaluation.slices.stats import Gap
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Resampling

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report

SCHEMA = "rankjury.report/1"
REPORT_EXPECTED = f"a report of rankjury ({SCHEMA})"
REPORT_HINT = "rankjury evaluate GOLD RUN -o report.json makes one."
DEFAULT_DETECT = 0.01


def check_schema(form: Any, where: str) -> dict[str, Any]:
    """Return the JSON form of a report if its schema is the current one.

    Raises:
        DataError: Where it is not a report, or another version of rankjury made it.
    """
    schema = form.get("schema") if isinstance(form, dict) else None
    if schema == SCHEMA:
        return form  # type: ignore[no-any-return]
    problem = f"the schema is {shorten(schema, quoted=True)}" if schema else "the file has no schema"
    raise DataError(problem, where=where, expected=REPORT_EXPECTED, hint=REPORT_HINT)


def gold_form(gold: Gold | GoldDigest | None) -> dict[str, Any]:
    """Return the digest of the gold as a key of the JSON, which is written where every query's scores are."""
    digest = digest_gold(gold)
    return {} if digest is None else {"gold": digest.to_json()}


DERIVED = {"schema", "worst_slices"}


@dataclass(frozen=True)
class QueriesForm(Record):
    ids: tuple[str, ...]
    scores: dict[str, dict[str, Floats]]
    slices: dict[str, tuple[int, ...]] = field(default_factory=dict)
    top: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _SliceSystem:
    measures: dict[str, Estimate]


@dataclass(frozen=True)
class _SliceForm:
    slice: str
    systems: dict[str, _SliceSystem]
    note: str = ""
    of: str = "queries"
    n: int = 0
    comparisons: tuple[Comparison, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class ReportForm:
    systems: dict[str, SystemResult]
    resampling: Resampling | None = None
    baseline: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Change, ...] = ()
    slices: tuple[_SliceForm, ...] = ()
    headline: tuple[str, ...] = ()
    detect: float = DEFAULT_DETECT
    warnings: tuple[ReportWarning, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    queries: QueriesForm | None = None
    gold: GoldDigest | None = None
    rankjury: str = ""


def check_references(report: "Report") -> None:
    """Check what parts of a report say of each other: systems and measures that are named are there."""
    where = report.source
    labels = {name: set(system.estimates) for name, system in report.systems.items()}
    if not any(labels.values()):
        raise DataError(f"the report has no {'measure' if labels else 'system'}", where=where)
    for part in report.slices:
        if any(name not in labels or set(measures) - labels[name] for name, measures in part.estimates.items()):
            raise DataError(f"the slice {part.name} has other systems or measures than the report", where=where)
    for kind, entries in (("comparisons", report.comparisons), ("changes", report.changes)):
        if any(entry.measure not in labels.get(entry.system, ()) for entry in entries):
            raise DataError(f"{kind} name a system or a measure that the report does not have", where=where)


def with_queries(report: "Report", queries: QueriesForm) -> "Report":
    """Return the report with the queries' scores that its JSON holds."""
    where, n = report.source, len(queries.ids)
    if len(set(queries.ids)) < n:
        raise DataError("queries: a query occurs twice", where=where)
    labels = {name: set(system.estimates) for name, system in report.systems.items()}
    if {name: set(columns) for name, columns in queries.scores.items()} != labels:
        raise DataError("the queries' scores have other systems or measures than the report", where=where)
    if any(len(column) != n for columns in queries.scores.values() for column in columns.values()):
        raise DataError("there are not as many scores as queries", where=where)
    if any(row >= n for rows in queries.slices.values() for row in rows):
        raise DataError("a slice has a query that is not there", where=where)
    ids = pl.Series("query_id", queries.ids, dtype=pl.String)
    scores = {}
    for name, columns in queries.scores.items():
        system = report.systems[name]
        values = np.array([columns[label] for label in system.labels], dtype=np.float64)
        scores[name] = system.scores_from(ids, values.reshape(len(system.labels), n).T, where)
    slices = tuple(replace(part, rows=queries.slices.get(part.name, ())) for part in report.slices)
    data = QueryData(scores)
    if queries.top:
        object.__setattr__(data, "top", queries.top)  # the lists alone: no grades and no scores
    return replace(report, slices=slices, queries=data)
