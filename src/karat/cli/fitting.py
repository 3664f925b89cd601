"""Tables that fit the screen: columns that are least asked for are left out first."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["print_fitting"]


def print_fitting(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[str],
    drop: Sequence[str] = (),
    folding: Sequence[str] = (),
    styles: Mapping[tuple[int, str], Any] | None = None,
) -> None:
    """On standard output; columns of the names ``text`` are words. ``styles`` are by row and column."""
    from karat.reports.cells import Cell, table
    from karat.reports.console import print_table

    known = styles or {}
    cells = [
        [Cell(cell, known.get((number, name), "")) for name, cell in zip(header, row, strict=True)]
        for number, row in enumerate(rows)
    ]
    words = [place for place, name in enumerate(header) if name in text]
    found = table(header, cells, text=words, wraps=[place for place, name in enumerate(header) if name in folding])
    print_table(found.dropping(*drop))
