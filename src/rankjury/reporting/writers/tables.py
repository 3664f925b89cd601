"""Tables with all digits: the report and the cut-offs of a system as CSV, and the scores of every query."""

from collections.abc import Iterator
from math import isnan
from typing import Any

import polars as pl

from rankjury.errors import UnknownName, UsageError
from rankjury.evaluation.report import Report
from rankjury.evaluation.result_rows import report_rows
from rankjury.evaluation.scores import per_query_table
from rankjury.io.formats import TABLE_FORMATS, form_to_write
from rankjury.reporting.tables import csv_text
from rankjury.reporting.tables.cutoffs import cutoff_grid
from rankjury.reporting.writers import OutputRequest, writer
from rankjury.stats.estimates import Estimate

_ESTIMATE = ("mean", "ci_low", "ci_high", "std", "se", "n", "undefined")
_DIFFERENCE = ("difference", "difference_low", "difference_high", "p", "p_holm", "p_bh")
_PAIRED = (
    *("compared", "left_out", "compared_mean", "baseline_mean", "p_method", "p_t", "p_wilcoxon"),
    *("effect_size", "better", "equal", "worse", "detectable", "queries_needed"),
)
_FIGURES = ("mean", "std", "ci_low", "ci_high")


@writer("csv", ".csv")
def to_csv(report: Report, request: OutputRequest | None = None) -> str:
    """Return one row per slice, system and measure."""
    header = ["system", "measure", *_ESTIMATE, "convention"]
    header += ["common_name"] if report.common_names else []
    header += ["baseline"] if report.baseline else []
    header += _DIFFERENCE if report.baseline or report.slices else ()
    header += _PAIRED if report.baseline else ()
    header = ["slice", *header] if report.slices else header
    return csv_text(header, ([row.get(name) for name in header] for row in _rows(report)))


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    common = report.common_names
    for row in report_rows(report):
        label = row["measure"]
        yield row | {
            "convention": report.systems[row["system"]].conventions.get(label),
            "common_name": common.get(label),
        }


def _check_queries(request: OutputRequest) -> None:
    form_to_write(request.path, None, TABLE_FORMATS)


@writer("queries", check=_check_queries)
def _write_queries(report: Report, request: OutputRequest) -> pl.DataFrame:
    """Return one row per system and query."""
    return per_query_table(report.scores)


def _check_cutoffs(request: OutputRequest) -> None:
    if request.system not in (request.systems or ()):
        found = f"no system is called {request.system!r}" if request.system else "which system is not said"
        raise UsageError(found, expected="{system} in the name of the file, or system = one of the plan's")
    request.check_cutoffs()


@writer("cutoffs", ".csv", by_suffix=False, each="{system}", check=_check_cutoffs)
def to_cutoff_csv(report: Report, request: OutputRequest) -> str:
    """One row per cut-off with all digits: ``k,recall_mean,recall_std,recall_ci_low,recall_ci_high,…,n``.

    What is unknown is an empty cell. ``n`` is the number of queries averaged; where measures differ in it, it is empty
    and each has its own (``recall_n``). A measure that is usually called otherwise says so (``recall_common_name``).
    """
    grid, system = cutoff_grid(report), request.system or ""
    if system not in grid.systems:
        raise UnknownName("system", system, grid.systems)
    by_k = {k: [grid.at(system, measure, k) for measure in grid.measures] for k in grid.ks}
    counts = {k: {estimate.n for estimate in estimates if estimate is not None} for k, estimates in by_k.items()}
    apart = any(len(of_row) > 1 for of_row in counts.values())
    names = (*_FIGURES, "n") if apart else _FIGURES
    common = [measure for measure in grid.measures if measure.common]
    header = ["k", *(f"{measure.short}_{name}" for measure in grid.measures for name in names), "n"]
    rows: list[list[object]] = []
    for k, estimates in by_k.items():
        values = [value for estimate in estimates for value in _values(estimate)[: len(names)]]
        n = counts[k].pop() if len(counts[k]) == 1 else None
        rows.append([k, *values, n, *(f"{measure.common}@{k}" for measure in common)])
    return csv_text([*header, *(f"{measure.short}_common_name" for measure in common)], rows)


def _values(estimate: Estimate | None) -> list[float | None]:
    """Return mean, spread, both ends of the interval and n; None for what is unknown."""
    if estimate is None:
        return [None] * (len(_FIGURES) + 1)
    values = (estimate.mean, estimate.std, *(estimate.ci or (None, None)))
    return [*(None if value is None or isnan(value) else float(value) for value in values), estimate.n]
