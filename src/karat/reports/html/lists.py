"""Gold and rankings of a page's queries, cut and packed as fine as there is room for; and the names of their items."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from karat.reports.html.blocks import BLOCK, Coded, Fineness, block_of, coded, deflated, planes_of
from karat.reports.html.details import Details, shortened
from karat.types import Bools, Ints

__all__ = ["FINENESSES", "FINEST", "Lists", "Pieces", "names_within"]

FINENESSES = (
    Fineness(None, scores=True, keywords=True),
    Fineness(None, scores=False, keywords=True),
    Fineness(10, scores=True),
    Fineness(10, scores=False),
    Fineness(5, scores=True),
    Fineness(5, scores=False),
    Fineness(3, scores=False),
)
"""From the finest on."""
FINEST = FINENESSES[0]
_SAMPLED = 6


@dataclass(frozen=True, eq=False)
class Pieces:
    """Blocks of queries, the ids that they use, and which of the items these are."""

    blocks: tuple[str, ...]
    items: str
    used: Bools

    @property
    def size(self) -> int:
        return len(self.items) + sum(map(len, self.blocks))


@dataclass(frozen=True, eq=False)
class Lists:
    """Golds and systems of the queries in some rows."""

    details: Details
    ids: Sequence[str]
    golds: Sequence[Coded]
    systems: Sequence[Coded]
    rows: Ints

    @classmethod
    def of(cls, details: Details, rows: Ints) -> "Lists":
        assert details.answers is not None
        ids, golds, systems = coded(details.answers)
        return cls(details, ids, [one.take(rows) for one in golds], [one.take(rows) for one in systems], rows)

    def likely(self, fineness: Fineness) -> float:
        """About how many bytes a query takes, from a few blocks."""
        blocks = -(-len(self.rows) // BLOCK)
        looked_at = np.unique(np.linspace(0, blocks - 1, min(_SAMPLED, blocks)).astype(int)).tolist()
        cut = self._cut(fineness)
        found = sum(len(self._block(number, *cut, fineness)) for number in looked_at)
        return float(found / max(sum(self._end(number) - number * BLOCK for number in looked_at), 1))

    def packed(self, fineness: Fineness, whole: int, held: int) -> Pieces:
        """The first queries whole, then as fine as it is said, up to ``held`` of them."""
        of_block = [FINEST if first < whole else fineness for first in range(0, held, BLOCK)]
        cuts = {one: self._cut(one) for one in set(of_block)}
        used = np.zeros(len(self.ids), dtype=bool)
        for number, one in enumerate(of_block):
            for part in (*cuts[one][0], *cuts[one][1]):
                used[part.items[part.starts[number * BLOCK] : part.starts[self._end(number)]]] = True
        place = np.cumsum(used) - 1
        for one, (golds, systems) in cuts.items():
            cuts[one] = [_renumbered(part, place) for part in golds], [_renumbered(part, place) for part in systems]
        found = tuple(self._block(number, *cuts[one], one) for number, one in enumerate(of_block))
        return Pieces(found, deflated([self.ids[item] for item in np.flatnonzero(used).tolist()]), used)

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
    return replace(one, items=number[one.items])


def names_within(lists: Lists, used: Bools, most: int) -> tuple[str | None, float]:
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


def _named(lists: Lists, places: Sequence[int], number: Ints) -> str:
    gaps = np.diff(number[np.asarray(places, dtype=np.int64)], prepend=0)
    names = [shortened(lists.details.names.get(lists.ids[one])) for one in places]
    return deflated({"gaps": planes_of(gaps), "names": names})


def _as_they_come(lists: Lists, held: set[int]) -> list[int]:
    """Items that have names, by the first query that lists them."""
    first = np.full(len(lists.ids), len(lists.rows), dtype=np.int64)
    for one in (*lists.golds, *lists.systems):
        np.minimum.at(first, one.items, np.repeat(np.arange(len(lists.rows)), np.diff(one.starts)))
    return [place for place in np.argsort(first, kind="stable").tolist() if place in held]
