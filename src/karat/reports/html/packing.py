"""Per-query data packed into a page, which opens it piece by piece when it needs it.

The table of queries is one piece; the ids of all items and the names of those that matter most are two more. Gold and
rankings come in blocks of a hundred queries. Where all of it would make the page too large, queries stand in the order
in which they matter: those that differ most from the baseline, or, without one, those that went worst. The first are
held whole; of the others names of items are left out, then scores, then the ends of lists, and last the queries
themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.reports.html.blocks import BLOCK, Coded, Fineness, block_of, coded, deflated
from karat.reports.html.details import Details, shortened
from karat.reports.html.planes import planes_of
from karat.types import Bools, Floats, Ints

__all__ = ["Packed", "pack"]

_DIGITS = 4
"""Significant ones, of scores in the table; the report's JSON has all."""
_MOST_SLICES = 200
_FOR_TABLE = 0.55
"""The share of the room that the table may take before it loses measures, and then queries."""
_FOR_COARSE, _FOR_LISTS = 0.7, 0.9
"""The shares of what is left that lists may take where all are held alike, and with the first of them held whole."""
_FINENESSES = (
    Fineness(None, scores=True, keywords=True),
    Fineness(None, scores=False, keywords=True),
    Fineness(10, scores=True),
    Fineness(10, scores=False),
    Fineness(5, scores=True),
    Fineness(5, scores=False),
    Fineness(3, scores=False),
)
"""From the finest on."""
_FINEST = _FINENESSES[0]
_SAMPLED = 6


@dataclass(frozen=True)
class Packed:
    """Pieces as text that an HTML page can hold."""

    labels: tuple[str, ...]
    """The measures in the table."""
    slices: tuple[str, ...]
    table: str
    queries: int
    """How many the table has."""
    items: str | None = None
    names: str | None = None
    blocks: tuple[str, ...] = ()
    fineness: Fineness | None = None
    """Of the queries that matter less; None where no answers are held."""
    whole: int = 0
    """How many queries are held whole."""
    named: float = 1.0
    """The share of the items' names that is held."""

    @property
    def size(self) -> int:
        return len(self.table) + len(self.items or "") + len(self.names or "") + sum(map(len, self.blocks))


def pack(details: Details, labels: Sequence[str], baseline: str | None, lower: Sequence[str], most: int) -> Packed:
    """Into about ``most`` bytes, for the measures ``labels``; ``lower``: those of which less is better."""
    importance = np.argsort(_importance(details, labels[0], baseline, labels[0] in lower), kind="stable")
    natural = np.arange(len(details.ids))
    slices = tuple(list(details.slices)[:_MOST_SLICES])
    rows, kept, table = _table(details, labels, natural, importance, int(_FOR_TABLE * most))
    about = tuple(kept), slices
    if details.answers is None:
        return Packed(*about, table, len(rows))
    lists = _Lists.of(details, rows)
    room = most - len(table)
    if len(rows) == len(natural) and lists.likely(_FINEST) <= room:
        blocks, items, used = lists.packed(_FINEST, len(rows))
        names, share = _names(lists, used, room - len(items) - sum(map(len, blocks)))
        if share == 1:
            return Packed(*about, table, len(rows), items, names, blocks, _FINEST, len(rows))
    rows = importance[: len(rows)]
    table = deflated(_columns(details, kept, rows))
    return _in_tiers(_Lists.of(details, rows), about, table, most - len(table))


def _in_tiers(lists: "_Lists", about: tuple[tuple[str, ...], tuple[str, ...]], table: str, room: int) -> Packed:
    """The first queries whole, the others as fine as there is room for."""
    ids = 0.9 * len(deflated(lists.ids))  # the ends of lists have some that nobody else has
    fineness = next((one for one in _FINENESSES if lists.likely(one) + ids <= _FOR_COARSE * room), _FINENESSES[-1])
    coarse, fine = lists.likely(fineness), lists.likely(_FINEST)
    spare = max(0.0, _FOR_LISTS * room - ids - coarse)
    number = len(lists.rows)
    whole = min(int(number * spare / max(fine - coarse, 1.0)) // BLOCK * BLOCK, number)
    while True:
        blocks, items, used = lists.packed(fineness, whole)
        left = room - len(items) - sum(map(len, blocks))
        if left >= 0 or not whole:
            break
        whole = max(0, int(0.8 * whole) // BLOCK * BLOCK)
    if left < 0:  # so many queries that not even the ends of lists suffice
        return Packed(*about, table, number)
    names, share = _names(lists, used, left)
    return Packed(*about, table, number, items, names, blocks, fineness, whole, share)


def _importance(details: Details, label: str, baseline: str | None, lower: bool) -> Floats:
    """Lower comes first: the largest differences to the baseline, or the worst scores."""
    columns = {name: one[label] for name, one in details.scores.items() if label in one}
    values = np.column_stack(list(columns.values()))
    if baseline in columns and len(columns) > 1:
        apart = np.nan_to_num(np.abs(values - columns[baseline][:, None]), nan=0.0)
        return -np.asarray(apart.max(axis=1))
    worth = -values if lower else values
    return np.asarray(np.nan_to_num(worth, nan=np.inf).min(axis=1))


def _table(
    details: Details, labels: Sequence[str], natural: Ints, importance: Ints, most: int
) -> tuple[Ints, list[str], str]:
    """The rows and measures that there is room for, and the table of them."""
    rows, kept = natural, list(labels)
    while True:
        table = deflated(_columns(details, kept, rows))
        if len(table) <= most or (len(kept) == 1 and len(rows) <= BLOCK):
            return rows, kept, table
        if len(kept) > 1:
            kept = kept[:-1]
        else:
            rows = importance[: max(BLOCK, int(0.95 * len(rows) * most / len(table)))]


def _columns(details: Details, labels: Sequence[str], rows: Ints) -> dict[str, Any]:
    nothing = np.full(len(details.ids), np.nan)
    at = rows.tolist()
    in_order = bool((np.diff(rows) == 1).all())
    place = {row: number for number, row in enumerate(at)}
    texts = [details.texts[row] for row in at]
    return {
        "ids": [details.ids[row] for row in at],
        "order": None if in_order else planes_of(rows),
        "texts": texts if any(text is not None for text in texts) else None,
        "scores": [
            [_rounded(columns.get(label, nothing)[rows]) for label in labels] for columns in details.scores.values()
        ],
        "slices": [
            planes_of(np.sort(np.array([place[row] for row in members if row in place], dtype=np.int64)))
            for members in list(details.slices.values())[:_MOST_SLICES]
        ],
    }


@dataclass(frozen=True, eq=False)
class _Lists:
    """Golds and systems of the table's rows."""

    details: Details
    ids: Sequence[str]
    golds: Sequence[Coded]
    systems: Sequence[Coded]
    rows: Ints

    @classmethod
    def of(cls, details: Details, rows: Ints) -> "_Lists":
        assert details.answers is not None
        ids, golds, systems = coded(details.answers)
        return cls(details, ids, [one.take(rows) for one in golds], [one.take(rows) for one in systems], rows)

    @property
    def blocks(self) -> int:
        return -(-len(self.rows) // BLOCK)

    def likely(self, fineness: Fineness) -> float:
        """About how many bytes it would take, from a few blocks."""
        looked_at = np.unique(np.linspace(0, self.blocks - 1, min(_SAMPLED, self.blocks)).astype(int)).tolist()
        cut = self._cut(fineness)
        return sum(len(self._block(number, *cut, fineness)) for number in looked_at) * self.blocks / len(looked_at)

    def packed(self, fineness: Fineness, whole: int) -> tuple[tuple[str, ...], str, Bools]:
        """All blocks, the first so many queries whole; the ids that they use, and which of the items these are."""
        of_block = [_FINEST if number * BLOCK < whole else fineness for number in range(self.blocks)]
        cuts = {one: self._cut(one) for one in set(of_block)}
        used = np.zeros(len(self.ids), dtype=bool)
        for number, one in enumerate(of_block):
            for part in (*cuts[one][0], *cuts[one][1]):
                used[part.items[part.starts[number * BLOCK] : part.starts[self._end(number)]]] = True
        place = np.cumsum(used) - 1
        for one, (golds, systems) in cuts.items():
            cuts[one] = [_renumbered(part, place) for part in golds], [_renumbered(part, place) for part in systems]
        found = tuple(self._block(number, *cuts[one], one) for number, one in enumerate(of_block))
        return found, deflated([self.ids[item] for item in np.flatnonzero(used).tolist()]), used

    def _end(self, number: int) -> int:
        return min((number + 1) * BLOCK, len(self.rows))

    def _cut(self, fineness: Fineness) -> tuple[list[Coded], list[Coded]]:
        golds, systems = ([one.first(fineness.depth) for one in some] for some in (self.golds, self.systems))
        return golds, systems

    def _block(self, number: int, golds: Sequence[Coded], systems: Sequence[Coded], fineness: Fineness) -> str:
        part = np.arange(number * BLOCK, self._end(number))
        keywords = self._keywords(self.rows[part]) if fineness.keywords else None
        return block_of([one.take(part) for one in golds], [one.take(part) for one in systems], fineness, keywords)

    def _keywords(self, rows: Ints) -> list[Any] | None:
        """By system and query."""
        held, answers = self.details.keywords, self.details.answers
        if not held or answers is None:
            return None
        return [[held.get(name, {}).get(self.details.ids[row]) for row in rows.tolist()] for name in answers.systems]


def _renumbered(one: Coded, number: Ints) -> Coded:
    return Coded(one.starts, number[one.items], one.grades, one.scores, one.total)


def _names(lists: _Lists, used: Bools, most: int) -> tuple[str | None, float]:
    """Names of as many items as there is room for, those of the first queries first; and their share."""
    names, ids = lists.details.names, lists.ids
    held = [place for place in np.flatnonzero(used).tolist() if names.get(ids[place])]
    if not held:
        return None, 1.0
    number = np.cumsum(used) - 1
    whole, fewer = _named(lists, held, number), len(held)
    if len(whole) <= most:
        return whole, 1.0
    order = _as_they_come(lists, set(held))
    while fewer and len(whole) > most:
        fewer = int(0.95 * fewer * max(most, 0) / len(whole))
        whole = _named(lists, sorted(order[:fewer]), number)
    return (whole, fewer / len(held)) if fewer else (None, 0.0)


def _named(lists: _Lists, places: Sequence[int], number: Ints) -> str:
    gaps = np.diff(number[np.asarray(places, dtype=np.int64)], prepend=0)
    names = [shortened(lists.details.names.get(lists.ids[one])) for one in places]
    return deflated({"gaps": planes_of(gaps), "names": names})


def _as_they_come(lists: _Lists, held: set[int]) -> list[int]:
    """Items that have names, by the first query that lists them."""
    first = np.full(len(lists.ids), len(lists.rows), dtype=np.int64)
    for one in (*lists.golds, *lists.systems):
        np.minimum.at(first, one.items, np.repeat(np.arange(len(lists.rows)), np.diff(one.starts)))
    return [place for place in np.argsort(first, kind="stable").tolist() if place in held]


def _rounded(values: Floats) -> list[float | int | None]:
    """To a few significant digits; whole numbers without a point, NaN as null."""
    known = np.isfinite(values)
    held = np.where(known, values, 0.0)
    with np.errstate(divide="ignore"):
        power = np.where(held != 0, np.floor(np.log10(np.abs(held))), 0.0)
    decimals = np.clip(_DIGITS - 1 - power, 0, 17).astype(int)
    shown = zip(held.tolist(), decimals.tolist(), known.tolist(), strict=True)
    return [_short(value, places) if is_known else None for value, places, is_known in shown]


def _short(value: float, places: int) -> float | int:
    rounded = round(value, places)
    return int(rounded) if rounded == int(rounded) else rounded
