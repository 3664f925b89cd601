"""Per-query data packed into a page, which opens it piece by piece when it needs it.

The table of queries is one piece; the ids of all items and the names of those that matter most are two more. Gold and
rankings come in blocks of a hundred queries. Where all of it would make the page too large, queries stand in the order
in which they matter: those that differ most from the baseline, or, without one, those that went worst. The first are
held whole; of the others names of items are left out, then scores, then the ends of lists, and last the lists.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from karat.reports.html.blocks import BLOCK, Fineness, deflated, planes_of
from karat.reports.html.details import LONGEST_TEXT, Details, few_digits
from karat.reports.html.lists import FINENESSES, FINEST, Lists, Pieces, names_within
from karat.types import Floats, Ints

__all__ = ["Packed", "pack"]

_MOST_SLICES = 200
_FOR_TABLE = 0.55
"""The share of the room that the table may take before it loses anything."""
_FOR_LISTS = 0.92
"""The share of what is left that lists and ids may take; the rest is for names."""
_AT_LEAST_WHOLE = 300
"""Queries, before others have anything."""
_SHORTER = 0.85
_LOOKED_AT = 2_000
"""Queries from whose part of a large table the rest is estimated."""
_SPARING = 0.97


@dataclass(frozen=True, eq=False)
class QueryTable:
    """What is in it, and its text."""

    rows: Ints
    labels: tuple[str, ...]
    longest: int
    """Letters of a query's text."""
    text: str


@dataclass(frozen=True)
class Packed:
    """Pieces as text that an HTML page can hold."""

    labels: tuple[str, ...]
    """The measures in the table."""
    slices: tuple[str, ...]
    table: str
    queries: int
    """How many the table has."""
    longest: int
    """Letters of a query's text."""
    items: str | None = None
    names: str | None = None
    blocks: tuple[str, ...] = ()
    fineness: Fineness | None = None
    """Of the queries that matter less; None where no answers are held."""
    whole: int = 0
    """How many queries are held whole,"""
    held: int = 0
    """and how many at all."""
    named: float = 1.0
    """The share of the items' names that is held."""

    @property
    def size(self) -> int:
        return len(self.table) + len(self.items or "") + len(self.names or "") + sum(map(len, self.blocks))


def pack(
    details: Details,
    labels: Sequence[str],
    baseline: str | None,
    lower: Collection[str],
    most: int,
    idle: Collection[str] = (),
) -> Packed:
    """Into about ``most`` bytes, for the measures ``labels``.

    ``lower``: those of which less is better; ``idle``: systems that nobody asks about, such as a random one.
    """
    importance = np.argsort(_importance(details, labels[0], baseline, labels[0] in lower, idle), kind="stable")
    slices = dict(list(details.slices.items())[:_MOST_SLICES])
    table = _packed_table(details, labels, slices, importance, int(_FOR_TABLE * most))
    if details.answers is None:
        return _held(table, tuple(slices))
    if len(table.rows) == len(details.ids):
        lists, room = Lists.of(details, table.rows), most - len(table.text)
        if lists.likely(FINEST) * len(table.rows) <= room:
            pieces = lists.packed(FINEST, len(table.rows), len(table.rows))
            names, share = names_within(lists, pieces.used, room - pieces.size)
            if share == 1 and pieces.size <= room:
                return _held(table, tuple(slices), pieces, names, FINEST, len(table.rows))
    table = _reordered(details, table, slices, importance[: len(table.rows)])
    return _in_tiers(Lists.of(details, table.rows), table, tuple(slices), most - len(table.text))


def _held(
    table: QueryTable,
    slices: tuple[str, ...],
    pieces: Pieces | None = None,
    names: str | None = None,
    fineness: Fineness | None = None,
    whole: int = 0,
    share: float = 1.0,
) -> Packed:
    about = table.labels, slices, table.text, len(table.rows), table.longest
    if pieces is None:
        return Packed(*about)
    held = min(len(pieces.blocks) * BLOCK, len(table.rows))
    return Packed(*about, pieces.items, names, pieces.blocks, fineness, min(whole, held), held, share)


def _in_tiers(lists: Lists, table: QueryTable, slices: tuple[str, ...], room: int) -> Packed:
    """The first queries whole, the others as fine as there is room for, or not at all."""
    number = len(lists.rows)
    ids = float(len(deflated(lists.ids)))  # of all; fewer queries use fewer
    fine, least = lists.likely(FINEST), min(_AT_LEAST_WHOLE, number)
    left = _FOR_LISTS * room - fine * least
    costs = {one: lists.likely(one) for one in FINENESSES}
    fineness = next((one for one in FINENESSES if ids + costs[one] * (number - least) <= left), FINENESSES[-1])
    coarse = costs[fineness]
    spare = left - ids - coarse * (number - least)
    whole = least + max(0, int(spare / max(fine - coarse, 1.0)))
    held = number if spare >= 0 else least + max(0, int(left / (coarse + ids / number)))
    while True:
        whole, held = _in_blocks(whole, number), _in_blocks(held, number)
        pieces = lists.packed(fineness, whole, held)
        if pieces.size <= room or held <= BLOCK:
            break
        whole, held = (
            (whole, int(_SHORTER * held)) if held < number or whole <= least else (int(_SHORTER * whole), held)
        )
    if pieces.size > room:
        return _held(table, slices)
    names, share = names_within(lists, pieces.used, room - pieces.size)
    return _held(table, slices, pieces, names, fineness, whole, share)


def _in_blocks(queries: int, number: int) -> int:
    """Blocks are whole: as many of them as hold so many queries, one at the least."""
    return min(max(queries // BLOCK, 1) * BLOCK, number) if queries < number else number


def _importance(details: Details, label: str, baseline: str | None, lower: bool, idle: Collection[str]) -> Floats:
    """Lower comes first: the largest differences to the baseline, or the worst scores."""
    columns = {name: one[label] for name, one in details.scores.items() if label in one}
    columns = {name: values for name, values in columns.items() if name not in idle} or columns
    values = np.column_stack(list(columns.values()))
    if baseline in columns and len(columns) > 1:
        apart = np.nan_to_num(np.abs(values - columns[baseline][:, None]), nan=0.0)
        return -np.asarray(apart.max(axis=1))
    worth = -values if lower else values
    return np.asarray(np.nan_to_num(worth, nan=np.inf).min(axis=1))


def _packed_table(
    details: Details, labels: Sequence[str], slices: Mapping[str, Sequence[int]], importance: Ints, most: int
) -> QueryTable:
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
            return QueryTable(rows, told, longest, text)
        rows = importance[: max(BLOCK, int(_SPARING * len(rows) * most / len(text)))]


def _reordered(details: Details, table: QueryTable, slices: Mapping[str, Sequence[int]], rows: Ints) -> QueryTable:
    """The same with its rows in another order."""
    text = deflated(_columns(details, table.labels, slices, rows, table.longest))
    return QueryTable(rows, table.labels, table.longest, text)


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
