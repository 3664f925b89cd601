"""The report as CSV: one row per system and measure, with all digits."""

import io
from csv import writer

from karat.reports import FORMS
from karat.results import Report

__all__ = ["to_csv"]


@FORMS.register("csv")
def to_csv(report: Report) -> str:
    text = io.StringIO()
    rows = writer(text, lineterminator="\n")
    rows.writerow(["system", "measure", "mean", "n", "undefined", "convention"])
    for system, scores in report.systems.items():
        for label, convention in zip(scores.labels, scores.conventions, strict=True):
            summary = scores.summary(label)
            mean = repr(summary.mean) if summary.n else ""
            rows.writerow([system, label, mean, summary.n, summary.undefined, convention])
    return text.getvalue()
