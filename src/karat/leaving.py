"""What each query is not to find: itself, or what its user has already."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.types import Bools, Ints, gathered

__all__ = ["LeftOut"]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """By query the items that are left out, ascending (CSR)."""

    starts: Ints
    items: Ints
    n_items: int

    @classmethod
    def own(cls, own: Ints, n_items: int) -> "LeftOut":
        """Of each query one item, the query itself; none where it is negative."""
        has = own >= 0
        return cls(np.concatenate(([0], np.cumsum(has))), own[has], n_items)

    @cached_property
    def counts(self) -> Ints:
        return np.diff(self.starts)

    @cached_property
    def _keys(self) -> Ints:
        queries = np.repeat(np.arange(self.counts.size), self.counts)
        return queries * self.n_items + self.items

    def holds(self, queries: Ints, items: Ints) -> Bools:
        """Whether each of these pairs is left out."""
        wanted = queries * self.n_items + items
        place = np.searchsorted(self._keys, wanted)
        found = np.zeros(wanted.size, dtype=bool)
        inside = place < self._keys.size
        found[inside] = self._keys[place[inside]] == wanted[inside]
        return found

    def between(self, first: int, last: int, low: int, high: int) -> tuple[Ints, Ints]:
        """Of the queries from ``first`` on and the items from ``low`` on: row and column, counted from these."""
        held = slice(int(self.starts[first]), int(self.starts[last]))
        row, column = np.repeat(np.arange(last - first), self.counts[first:last]), self.items[held] - low
        if low > 0 or high < self.n_items:
            inside = (column >= 0) & (column < high - low)
            row, column = row[inside], column[inside]
        return row, column

    def of(self, queries: Ints) -> tuple[Ints, Ints]:
        """Of any queries: row among these, and item."""
        starts, at = gathered(self.starts, queries)
        return np.repeat(np.arange(queries.size), np.diff(starts)), self.items[at]
