"""Scores and Report: what comes out."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from karat._version import __version__
from karat.errors import UnknownName
from karat.measure import Aggregate
from karat.types import Floats

__all__ = ["SCHEMA", "Report", "Scores", "Summary", "summarise"]

SCHEMA = "karat.report/1"
_GEOMETRIC_FLOOR = 0.00001


@dataclass(frozen=True)
class Summary:
    """One measure over all queries."""

    mean: float
    """NaN where no query is defined."""
    n: int
    undefined: int
    total: float | None = None
    """The sum, for measures that count."""

    def shown(self) -> str:
        """For people: four decimals; a sum is marked as one."""
        if self.n == 0:
            return "–"
        return f"Σ {self.total:,.0f}" if self.total is not None else f"{self.mean:.4f}"


def summarise(values: Floats, aggregate: Aggregate) -> Summary:
    """The mean over the queries where a measure is defined.

    Sums are exact before they are rounded, so the digits do not depend on the order of queries.
    """
    defined = values[~np.isnan(values)]
    n = defined.size
    if aggregate == "geometric":
        defined = np.log(np.maximum(defined, _GEOMETRIC_FLOOR))
    total = math.fsum(defined)
    mean = total / n if n else math.nan
    if aggregate == "geometric" and n:
        mean = math.exp(mean)
    return Summary(mean, n, values.size - n, total if aggregate == "sum" else None)


@dataclass(frozen=True, eq=False)
class Scores:
    """Per query × measure. NaN is undefined: counted and shown, never averaged."""

    queries: pl.Series
    labels: tuple[str, ...]
    conventions: tuple[str, ...]
    """The spelling of each measure under which it was computed, as far as it differs from karat's defaults."""
    aggregates: tuple[Aggregate, ...]
    values: Floats
    warnings: tuple[str, ...] = ()
    source: str = "ranking"

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    def __getitem__(self, label: str) -> Floats:
        """The per-query values of one measure."""
        return self.values[:, self._column(label)]

    def _column(self, label: str) -> int:
        if label not in self.labels:
            raise UnknownName("measure among those computed:", label, self.labels)
        return self.labels.index(label)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def summary(self, label: str) -> Summary:
        """Mean, n and the number of undefined queries of one measure."""
        return summarise(self[label], self.aggregates[self._column(label)])

    def mean(self) -> dict[str, float]:
        """The mean of each measure over the queries where it is defined."""
        return {label: self.summary(label).mean for label in self.labels}

    @property
    def per_query(self) -> pl.DataFrame:
        """One row per query, one column per measure; undefined is null."""
        columns = {label: pl.Series(self[label]).fill_nan(None) for label in self.labels}
        return pl.DataFrame({"query_id": self.queries, **columns})

    def _rows(self) -> list[tuple[str, str, str, str]]:
        summaries = [(label, self.summary(label)) for label in self.labels]
        return [(label, s.shown(), f"{s.n:,}", f"{s.undefined:,}") for label, s in summaries]

    def _title(self) -> str:
        n = len(self.queries)
        return f"Scores of {self.source} over {n:,} {'query' if n == 1 else 'queries'}"

    def __repr__(self) -> str:
        header = ("measure", "mean", "n", "undefined")
        rows = [header, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [self._title()]
        for label, *figures in rows:
            cells = [label.ljust(widths[0]), *(f.rjust(w) for f, w in zip(figures, widths[1:], strict=True))]
            lines.append("  ".join(cells))
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        from html import escape

        cells = ""
        for label, *figures in self._rows():
            cells += f"<tr><td style='text-align:left'>{escape(label)}</td>"
            cells += "".join(f"<td style='text-align:right'>{figure}</td>" for figure in figures) + "</tr>"
        notes = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings)
        return (
            "<table style='border-spacing:1em 0.2em'>"
            f"<caption style='text-align:left;white-space:nowrap'>{escape(self._title())}</caption>"
            "<thead><tr><th style='text-align:left'>measure</th><th>mean</th><th>n</th><th>undefined</th></tr></thead>"
            f"<tbody>{cells}</tbody></table>" + (f"<ul>{notes}</ul>" if notes else "")
        )


@dataclass(frozen=True)
class Report:
    """The systems' scores, what to be warned of, and how it all came about. All writers read only this."""

    systems: dict[str, Scores]
    warnings: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The versioned form; undefined means are null."""
        return {
            "schema": SCHEMA,
            "karat": __version__,
            "systems": {name: {"measures": _measures_json(scores)} for name, scores in self.systems.items()},
            "warnings": list(self.warnings),
            "provenance": self.provenance,
        }


def _measures_json(scores: Scores) -> dict[str, dict[str, Any]]:
    measures: dict[str, dict[str, Any]] = {}
    for label, convention in zip(scores.labels, scores.conventions, strict=True):
        summary = scores.summary(label)
        entry: dict[str, Any] = {
            "mean": summary.mean if summary.n else None,
            "n": summary.n,
            "undefined": summary.undefined,
            "convention": convention,
        }
        if summary.total is not None:
            entry["sum"] = summary.total
        measures[label] = entry
    return measures
