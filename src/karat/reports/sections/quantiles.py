"""Renderer of quantiles: scores at some shares of the queries."""

from karat.report import Report
from karat.reports.sections import Block, renderer
from karat.reports.tables import quantiles_table

__all__ = ["render"]

_WRITERS = frozenset({"console", "markdown", "notebook", "pull-request"})
"""The page shows them with its measures."""


@renderer("quantiles")
def render(report: Report, brief: bool) -> Block | None:
    """Return one row per measure and system."""
    found = quantiles_table(report)
    return Block("Quantiles", [found], order=10, only=_WRITERS) if found else None
