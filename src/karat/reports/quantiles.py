"""Scores at some shares of the queries, as cells."""

from collections.abc import Callable, Iterable, Mapping
from math import isnan

from karat.common_sections import Quantiles
from karat.reports.table import Table
from karat.wording import NOTHING, percent

__all__ = ["quantiles_note", "quantiles_table"]


def quantiles_table(known: Mapping[str, Quantiles], labels: Iterable[str], titled: Callable[[str], str] = str) -> Table:
    """One row a measure and system."""
    entries = [
        (label, name, of.measures[label].at) for label in labels for name, of in known.items() if label in of.measures
    ]
    shares = entries[0][2] if entries else ()
    header = ["measure", "system", *(percent(float(share)) for share in shares)]
    return header, [
        [titled(label), name, *(NOTHING if isnan(value) else f"{value:.4f}" for value in at.values())]
        for label, name, at in entries
    ]


def quantiles_note(known: Mapping[str, Quantiles]) -> str:
    """What they are, and how far they may be off."""
    error = max(one.relative_error for of in known.values() for one in of.measures.values())
    rounded = f"; counted after rounding, off by {percent(error, 2)} at most" if error else ""
    return f"Scores at shares of the queries{rounded}."
