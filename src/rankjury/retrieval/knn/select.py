"""Selection of the highest of each row from tiles of numbers, in a few percent of the time of the multiplication."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rankjury.core.types import Bools, Ints, cut_rows
from rankjury.retrieval.knn.similarity import Singles

MISSING = -1
PARTS = 8
"""Number of parts into which work is cut for threads."""
_MOST_FOLDS = 16
_COST = 14
"""Cost of reading the cells of a crease, relative to reading its maximum."""


@dataclass(frozen=True, eq=False)
class Tile:
    """Products of the queries from ``first`` on with the items from ``low`` on; padded with −∞."""

    values: Singles
    first: int
    low: int
    rows: int
    columns: int

    @classmethod
    def product(cls, left: Singles, right: Singles, buffer: Singles, first: int, low: int) -> "Tile":
        rows, columns = len(left), len(right)
        np.matmul(left, right.T, out=buffer[:rows, :columns])
        buffer[:rows, columns:] = -np.inf
        buffer[rows:] = -np.inf
        return cls(buffer, first, low, rows, columns)


def buffer_of(rows: int, columns: int) -> Singles:
    """Return a buffer whose sides are divisible by every number of folds."""
    padded = [-(-side // _MOST_FOLDS) * _MOST_FOLDS for side in (rows, columns)]
    return np.empty(padded, dtype=np.float32)


class Best:
    """The highest of each query so far, unordered, while tiles are added."""

    def __init__(self, queries: int, keep: int) -> None:
        self.keep = keep
        self.items = np.full((queries, keep), MISSING, dtype=np.int64)
        self.standing = np.full((queries, keep), -np.inf, dtype=np.float32)
        self.floor = np.full(queries, -np.inf, dtype=np.float32)

    def add(
        self, tile: Tile, pool: ThreadPoolExecutor, *, across: bool, before: Callable[[int, int], None] | None = None
    ) -> None:
        """Merge a tile's rows; ``across``: its columns are the queries and its rows the items.

        ``before`` is called with the first and the last + 1 of the rows that are read next.
        """
        size = tile.columns if across else tile.rows
        queries, items = (tile.low, tile.first) if across else (tile.first, tile.low)
        fresh = bool(np.isneginf(self.floor[queries : queries + size]).all())

        def of_part(part: tuple[int, int]) -> None:
            first, last = part
            if before is not None:
                before(first, last)
            folded = _Folded(tile.values, first, last, across, self.keep)
            mine = slice(queries + first, queries + last)
            rows, places, values = folded.above(folded.floor(self.keep) if fresh else self.floor[mine])
            self._merge(mine, rows, places + items, values)

        deque(pool.map(of_part, cut_rows(size, -(-size // PARTS))), maxlen=0)

    def _merge(self, mine: slice, rows: Ints, items: Ints, standing: Singles) -> None:
        """Add items that are higher than the lowest so far; ``rows`` count from the first of ``mine``, ascending."""
        counts = np.bincount(rows, minlength=mine.stop - mine.start)
        changed = np.flatnonzero(counts)
        counts = counts[changed]
        line = np.repeat(np.arange(changed.size), counts)
        slot = self.keep + np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = (changed.size, self.keep + int(counts.max(initial=0)))
        values, columns = np.full(shape, -np.inf, dtype=np.float32), np.full(shape, MISSING, dtype=np.int64)
        where = changed + mine.start
        values[:, : self.keep], columns[:, : self.keep] = self.standing[where], self.items[where]
        values[line, slot], columns[line, slot] = standing, items
        kept = np.argpartition(values, shape[1] - self.keep, axis=1)[:, shape[1] - self.keep :]
        values = taken(values, kept)
        self.items[where], self.standing[where], self.floor[where] = taken(columns, kept), values, values.min(axis=1)


class _Folded:
    """Rows of a tile (``across``: columns), folded, with the maximum over the folds.

    The ``keep`` highest of a row are all in its ``keep`` highest creases, so that few numbers are read twice.
    """

    def __init__(self, tile: Singles, first: int, last: int, across: bool, keep: int) -> None:
        self.tile, self.first, self.across = tile, first, across
        self.rows = last - first
        width = tile.shape[0 if across else 1]
        # The number of folds that minimises the cost of reading the creases and the cells of the best of them.
        halvings = round(np.log2(max(1.0, width / (_COST * keep))) / 2)
        self.folds = min(2**halvings, _MOST_FOLDS)
        self.creases = width // self.folds
        if across:
            self.highest = tile[:, first:last].reshape(self.folds, self.creases, self.rows).max(axis=0)
        else:
            self.highest = tile[first:last].reshape(self.rows, self.folds, self.creases).max(axis=1)

    def floor(self, keep: int) -> Singles:
        """Return a number for each row that slightly more than ``keep`` numbers exceed."""
        if self.creases <= keep:
            return np.full(self.rows, -np.inf, dtype=np.float32)
        highest = np.ascontiguousarray(self.highest.T) if self.across else self.highest
        lowest = np.partition(highest, self.creases - keep, axis=1)[:, self.creases - keep]
        return np.nextafter(lowest, np.float32(-np.inf))

    def above(self, floor: Singles) -> tuple[Ints, Ints, Singles]:
        """Return row (from 0), position in it and value of each number above the floor of its row; by row."""
        if self.across:
            crease, row = np.divmod(np.flatnonzero(self.highest > floor), self.rows)
            order = np.argsort(row, kind="stable")
            crease, row = crease[order], row[order]
        else:
            row, crease = np.divmod(np.flatnonzero(self.highest > floor[:, None]), self.creases)
        places = crease[:, None] + np.arange(self.folds) * self.creases
        lines = (row + self.first)[:, None]
        stride = self.tile.shape[1]
        values = self.tile.reshape(-1).take(places * stride + lines if self.across else lines * stride + places)
        hits = np.flatnonzero(values > floor[row][:, None])
        return row[hits // self.folds], places.reshape(-1)[hits], values.reshape(-1)[hits]


def taken(table: NDArray[Any], columns: Ints) -> NDArray[Any]:
    """Return the cells of each row in its ``columns``; several times faster than ``np.take_along_axis``."""
    return cast(NDArray[Any], table.reshape(-1).take(columns + (np.arange(len(table)) * table.shape[1])[:, None]))


def repeated(items: Ints) -> Bools:
    """Return which items of each row are duplicates of an earlier one in it."""
    order = np.argsort(items, axis=1, kind="stable")
    ordered = np.take_along_axis(items, order, axis=1)
    again = np.zeros(items.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    return again
