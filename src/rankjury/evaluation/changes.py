"""The queries that changed most between two systems, with the rank moves of their relevant items."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import polars as pl

from rankjury.core.types import ROW_NUMBER, Floats, Gold
from rankjury.core.validation import Record
from rankjury.measures.judged import Judged

_ROUNDING = 2.0**-36
"""Share of the largest score under which two are equal."""


@dataclass(frozen=True)
class Move(Record):
    """A relevant item's rank before and after; None where it was not retrieved."""

    json_keys = MappingProxyType({"item": "item_id", "before": "from", "after": "to"})

    item: str
    grade: float
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Change(Record):
    """A query whose score differs between the baseline and a system."""

    computed = ("difference",)
    json_keys = MappingProxyType({"query": "query_id", "before": "baseline", "after": "value"})
    omitted = ("lower_is_better",)

    system: str
    measure: str
    query: str
    before: float
    after: float
    moves: tuple[Move, ...]
    lower_is_better: bool = False

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def gain(self) -> float:
        return -self.difference if self.lower_is_better else self.difference


@dataclass(frozen=True, eq=False)
class Trace:
    """Where a system's judged items stand: enough to tell the ranks of a query's gold."""

    judged: Judged
    gold: Gold
    """The gold that ``judged.gold_index`` points into."""

    def ranks_of(self, row: int) -> dict[str, int]:
        """The rank of each retrieved gold item of a query."""
        first, last = np.searchsorted(self.judged.row, [row, row + 1])
        items = self.gold.items.gather(self.judged.gold_index[first:last]).cast(pl.String)
        return dict(zip(items, self.judged.rank[first:last].tolist(), strict=True))

    def relevant_of(self, query: str, rel: float | None) -> dict[str, float]:
        """The grades of a query's relevant items; of a gold too large to list, of those that were retrieved."""
        at = self.gold.queries.index_of(query)
        if at is None:
            return {}
        rows = np.arange(self.gold.starts[at], self.gold.starts[at + 1])
        grades = self.gold.grades[rows]
        limit = rel if rel is not None else self.gold.relevant_from
        relevant = grades > 0 if limit is None else grades >= limit
        items = self.gold.items.gather(rows[relevant]).cast(pl.String)
        return dict(zip(items, grades[relevant].tolist(), strict=True))


def largest_drops(before: Floats, after: Floats, most: int) -> list[int]:
    """Return the rows whose value dropped by more than rounding, at most so many, largest drop first."""
    least = _ROUNDING * np.nanmax(np.abs(np.concatenate((before, after, [0.0]))))
    drops = before - after
    return [row for row in np.argsort(-drops, kind="stable")[:most].tolist() if drops[row] > least]


def changes_between(
    before: tuple[Floats, Trace],
    after: tuple[Floats, Trace],
    *,
    system: str,
    measure: str,
    rel: float | None,
    lower_is_better: bool,
    most: int,
) -> Iterator[Change]:
    """The queries that lost most and those that gained most, at most so many of each, largest first."""
    (ours, trace), (theirs, other) = before, after
    queries = trace.judged.queries
    sides = (theirs, ours) if lower_is_better else (ours, theirs)
    for row in (*largest_drops(*sides, most), *largest_drops(sides[1], sides[0], most)):
        query = queries[row]
        old, new = trace.ranks_of(row), other.ranks_of(row)
        relevant = other.relevant_of(query, rel) | trace.relevant_of(query, rel)
        moves = [Move(item, grade, old.get(item), new.get(item)) for item, grade in relevant.items()]
        by_number = other.gold.items.dtype == ROW_NUMBER
        moves.sort(key=lambda move: (-move.grade, len(move.item) if by_number else 0, move.item))
        yield Change(system, measure, str(query), float(ours[row]), float(theirs[row]), tuple(moves), lower_is_better)
