"""Results as rows, for frames and CSV: one row per system and measure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankjury.core.importing import import_optional
from rankjury.stats.estimates import Estimate

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report
    from rankjury.evaluation.slices.stats import Gap
    from rankjury.stats.comparison import Comparison

Estimates = Mapping[str, Mapping[str, Estimate]]
"""By system and measure."""
_SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("system", "measure"), pl.String),
    **dict.fromkeys(("mean", "ci_low", "ci_high", "std"), pl.Float64),
    **dict.fromkeys(("n", "undefined"), pl.Int64),
}
_OF_COMPARISON: dict[str, type[pl.DataType]] = {
    "baseline": pl.String,
    **dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_holm"), pl.Float64),
    **dict.fromkeys(("better", "equal", "worse"), pl.Int64),
}


def estimate_rows(estimates: Estimates, compared: "Sequence[Comparison | Gap]" = ()) -> Iterator[dict[str, Any]]:
    """Yield a row per system and measure: the estimate, and its comparison with the baseline where there is one."""
    comparisons = {(comparison.system, comparison.measure): comparison.to_json() for comparison in compared}
    for system, by_measure in estimates.items():
        for label, estimate in by_measure.items():
            row = dict(comparisons.get((system, label), {}))
            row |= {"compared": row.get("n"), "compared_mean": row.get("mean")}
            row["difference_low"], row["difference_high"] = row.pop("ci", None) or (None, None)
            row |= estimate.to_json()
            row["ci_low"], row["ci_high"] = row.pop("ci") or (None, None)
            yield row | {"system": system, "measure": label}


def report_rows(report: "Report", *, slices: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the rows of a report, of its sections and of its slices, whose names are in ``slice``; empty: all queries.

    Args:
        report: The results.
        slices: Whether to yield the rows of slices as well.
    """
    for row in estimate_rows(report.estimates, report.comparisons):
        yield {"slice": ""} | row
    for name, system in report.systems.items():
        for section in system.sections.values():
            yield from ({"slice": "", "system": name} | row for row in section.rows())
    for part in report.slices if slices else ():
        for row in estimate_rows(part.estimates, part.beside):
            yield {"slice": part.name} | row


def as_frame(rows: Iterator[dict[str, Any]], *, slices: bool = False, compared: bool = False) -> pl.DataFrame:
    """Return rows as a Polars frame; what is unknown is null.

    Args:
        rows: The rows.
        slices: Whether the frame has a column of names of slices.
        compared: Whether it has columns of the comparison with the baseline.
    """
    schema = ({"slice": pl.String} if slices else {}) | _SCHEMA | (_OF_COMPARISON if compared else {})
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def as_pandas(frame: pl.DataFrame) -> Any:
    """Return a Polars frame as one of pandas; pyarrow is not needed."""
    pandas = import_optional("pandas", "a pandas frame")
    return pandas.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
