"""Scores at some shares of the queries, as a table."""

from karat.report import Report
from karat.reports.console import print_table

__all__ = ["print_quantiles"]


def print_quantiles(report: Report) -> None:
    """On standard output, one row a measure and system."""
    rows, shares, error = [], list[str](), 0.0
    for label in report.labels:
        for name, measures in report.quantiles.items():
            one = measures[label]
            shares = list(one["at"])
            error = max(error, one["relative_error"])
            found = ["–" if value is None else f"{value:.4f}" for value in one["at"].values()]
            rows.append([report.both_names(label), name, *found])
    print()
    print_table(["measure", "system", *(f"{float(share) * 100:g} %" for share in shares)], rows, text=(0, 1))
    if error:
        print(f"Scores at shares of the queries; counted after rounding, off by {error:.2%} at most.")
