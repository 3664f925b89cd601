"""The report as CSV: one row per slice, system and measure, with all digits."""

import io
from collections.abc import Iterator, Sequence
from csv import writer
from typing import Any

from karat.breakdown import Gap
from karat.markup import spreadsheet_text
from karat.report import Report
from karat.reports import FORMS
from karat.statistics.differences import Comparison
from karat.statistics.estimates import Estimate

__all__ = ["to_csv"]

_ESTIMATE = ("mean", "ci_low", "ci_high", "std", "se", "n", "undefined")
_DIFFERENCE = ("difference", "difference_low", "difference_high", "p", "p_holm", "p_bh")
_PAIRED = (
    *("compared", "left_out", "compared_mean", "baseline_mean", "p_method", "p_t", "p_wilcoxon"),
    *("effect_size", "better", "equal", "worse", "detectable", "queries_needed"),
)


@FORMS.register("csv")
def to_csv(report: Report) -> str:
    header = ["system", "measure", *_ESTIMATE, "convention"]
    header += ["usual_name"] if report.usual_names else []
    header += ["baseline"] if report.baseline else []
    header += _DIFFERENCE if report.baseline or report.slices else ()
    header += _PAIRED if report.baseline else ()
    header = ["slice", *header] if report.slices else header
    text = io.StringIO()
    rows = writer(text, lineterminator="\n")
    rows.writerow(header)
    rows.writerows([_cell(row.get(name)) for name in header] for row in _rows(report))
    return text.getvalue()


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    yield from _of("", report.estimates, report.comparisons, report)
    for part in report.slices:
        yield from _of(part.name, part.estimates, part.beside, report)


def _of(
    name: str, estimates: dict[str, dict[str, Estimate]], beside: Sequence[Comparison | Gap], report: Report
) -> Iterator[dict[str, Any]]:
    found = {(one.system, one.measure): one.as_json() for one in beside}
    for system, scores in report.systems.items():
        for label, convention in zip(scores.labels, scores.conventions, strict=True):
            if label not in estimates[system]:
                continue
            row: dict[str, Any] = {"slice": name, "system": system, "measure": label, "convention": convention}
            row |= {"usual_name": scores.usual_names.get(label)}
            estimate = estimates[system][label].as_json()
            ends = estimate.pop("ci") or (None, None)
            row |= estimate | dict(zip(("ci_low", "ci_high"), ends, strict=True))
            compared = dict(found.get((system, label), {}))
            compared |= {"compared": compared.get("n"), "compared_mean": compared.get("mean")}
            ends = compared.pop("ci", None) or (None, None)
            compared |= dict(zip(("difference_low", "difference_high"), ends, strict=True))
            yield {**compared, **row}


def _cell(value: object) -> object:
    """Return a number with all its digits, and a text as one that no spreadsheet runs."""
    if isinstance(value, str):
        return spreadsheet_text(value)
    return "" if value is None else repr(value) if isinstance(value, float) else value
