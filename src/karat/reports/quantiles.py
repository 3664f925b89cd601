"""Scores at some shares of the queries, as cells."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from karat.reports.table import Table
from karat.wording import NOTHING, percent

__all__ = ["quantiles_note", "quantiles_table"]

Known = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By system and measure, as a report has them."""


def quantiles_table(known: Known, labels: Iterable[str], titled: Callable[[str], str] = str) -> Table:
    """One row a measure and system."""
    entries = [(label, name, of[label]["at"]) for label in labels for name, of in known.items() if label in of]
    shares = entries[0][2] if entries else ()
    header = ["measure", "system", *(percent(float(share)) for share in shares)]
    return header, [
        [titled(label), name, *(NOTHING if value is None else f"{value:.4f}" for value in at.values())]
        for label, name, at in entries
    ]


def quantiles_note(known: Known) -> str:
    """What they are, and how far they may be off."""
    error = max(one["relative_error"] for of in known.values() for one in of.values())
    rounded = f"; counted after rounding, off by {percent(error, 2)} at most" if error else ""
    return f"Scores at shares of the queries{rounded}."
