"""The table of queries that a page holds: as many measures, texts and queries as there is room for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from karat.reports.html.blocks import BLOCK, deflated
from karat.reports.html.details import LONGEST_TEXT, Details
from karat.reports.html.planes import planes_of
from karat.reports.html.rounding import few_digits
from karat.types import Floats, Ints

__all__ = ["Table", "packed_table", "reordered"]

_LOOKED_AT = 2_000
"""Queries from whose part of a large table the rest is estimated."""
_SPARING = 0.97


@dataclass(frozen=True, eq=False)
class Table:
    """What is in it, and its text."""

    rows: Ints
    labels: tuple[str, ...]
    longest: int
    """Letters of a query's text."""
    text: str


def packed_table(
    details: Details, labels: Sequence[str], slices: Mapping[str, Sequence[int]], importance: Ints, most: int
) -> Table:
    """In at most so many bytes: texts are cut first, then measures go, then the queries that matter least."""
    every = np.arange(len(details.ids))
    shapes = [(LONGEST_TEXT, len(labels)), (120, len(labels)), (120, 3), (60, 3), (60, 1)]
    sample = every if len(every) <= 2 * _LOOKED_AT else every[:: len(every) // _LOOKED_AT]
    longest, kept = shapes[-1]
    for longest, kept in shapes:
        if len(deflated(_columns(details, labels[:kept], slices, sample, longest))) * len(every) / len(sample) <= most:
            break
    rows, told = every, tuple(labels[:kept])
    while True:
        text = deflated(_columns(details, told, slices, rows, longest))
        if len(text) <= most or len(rows) <= BLOCK:
            return Table(rows, told, longest, text)
        rows = importance[: max(BLOCK, int(_SPARING * len(rows) * most / len(text)))]


def reordered(details: Details, table: Table, slices: Mapping[str, Sequence[int]], rows: Ints) -> Table:
    """The same with its rows in another order."""
    text = deflated(_columns(details, table.labels, slices, rows, table.longest))
    return Table(rows, table.labels, table.longest, text)


def _columns(
    details: Details, labels: Sequence[str], slices: Mapping[str, Sequence[int]], rows: Ints, longest: int
) -> dict[str, Any]:
    nothing = np.full(len(details.ids), np.nan)
    at = rows.tolist()
    place = np.full(len(details.ids), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    texts = [_cut(details.texts[row], longest) for row in at]
    members = (place[np.asarray(held, dtype=np.int64)] for held in slices.values())
    return {
        "ids": [details.ids[row] for row in at],
        "order": None if (np.diff(rows) == 1).all() else planes_of(rows),
        "texts": texts if any(text is not None for text in texts) else None,
        "scores": [
            [_rounded(columns.get(label, nothing)[rows]) for label in labels] for columns in details.scores.values()
        ],
        "slices": [planes_of(np.sort(held[held >= 0])) for held in members],
    }


def _cut(text: str | None, longest: int) -> str | None:
    return text if text is None or len(text) <= longest else f"{text[:longest].rstrip('…')}…"


def _rounded(values: Floats) -> list[float | int | None]:
    """To a few significant digits; whole numbers without a point, NaN as null."""
    short = few_digits(values).tolist()
    return [None if isnan(value) else int(value) if value.is_integer() else value for value in short]
