"""Codes of items row by row, read from arrays and checked; and pairs of row and item looked up in each other.

Pairs are looked up in a table of slots that fits the cache, a block of rows at a time. Whatever is found there is
compared with what was looked for, so that nothing hangs on two pairs having different slots.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.errors import DataError, UsageError
from karat.types import Bools, Floats, Ints, freeze, gathered

__all__ = ["NO_ITEM", "Codes", "look_up", "stands_twice"]

NO_ITEM = -1
_MOST_ITEMS = 1 << 40
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_SLOTS_TO_A_PAIR = 3
"""As a power of two."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Of each row its items, in order (CSR)."""

    starts: Ints
    items: NDArray[np.integer]
    where: str
    cells: Bools | None = None
    """Which cells of the table they were; None where there was no table, or where it was full."""

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def size(self) -> int:
        """One more than the highest code."""
        return int(self.items.max()) + 1 if self.items.size else 0

    @classmethod
    def read(cls, given: Any, where: str) -> "Codes":
        """From a table, −1 where a row has fewer, or from ``(starts, items)``."""
        if isinstance(given, tuple) and len(given) == 2:
            starts, items = (_whole_numbers(part, 1, where) for part in given)
            return cls._of_csr(starts, items, where)
        table = _whole_numbers(given, 2, where)
        if table.dtype.kind == "u" or not (table == NO_ITEM).any():
            return cls(np.arange(len(table) + 1) * table.shape[1], table.reshape(-1).view(), where)
        held = table != NO_ITEM
        gap = (~held[:, :-1] & held[:, 1:]).any(axis=1)
        if gap.any():
            raise DataError("an item stands behind −1", where=f"{where}, row {np.argmax(gap)}", expected="−1 last")
        return cls(np.concatenate(([0], np.cumsum(held.sum(axis=1)))), table[held], where, held)

    @classmethod
    def _of_csr(cls, starts: NDArray[np.integer], items: NDArray[np.integer], where: str) -> "Codes":
        rising = starts.size > 0 and starts[0] == 0 and bool((starts[1:] >= starts[:-1]).all())
        if not rising or starts[-1] != items.size:
            expected = "0, then the end of each row, the last being the number of items"
            raise DataError(f"starts that are no bounds of {items.size:,} items", where=where, expected=expected)
        return cls(starts.astype(np.int64), items.view(), where)

    def check(self, n_items: int) -> None:
        """Refuse codes that are of no item."""
        if not 0 <= n_items <= _MOST_ITEMS:
            raise UsageError(f"{n_items:,} items", where=self.where, expected=f"0 to {_MOST_ITEMS:,}")
        if self.items.size and not (self.items.min() >= 0 and self.items.max() < n_items):
            at = int(np.argmax((self.items < 0) | (self.items >= n_items)))
            raise DataError(
                f"the code {self.items[at]}",
                where=f"{self.where}, row {self.row_of(at)}",
                expected=f"0 to {n_items - 1:,}" if n_items else "no code, of no items",
            )

    def row_of(self, at: int) -> int:
        """The row of an entry of ``items``."""
        return int(np.searchsorted(self.starts, at, side="right")) - 1

    def grades(self, given: Any) -> Floats:
        """A number for each item, from an array of the shape that the items had."""
        try:
            found = np.asarray(given)
        except ValueError:
            raise DataError("rows of different lengths", where="grades", expected="the shape of held_out") from None
        cells = np.ones(found.shape, dtype=bool) if self.cells is None else self.cells
        in_rows = found.ndim == 1 or (found.ndim > 1 and len(found) == len(self))
        if (
            found.dtype.kind not in "biuf"
            or found.shape != cells.shape
            or cells.sum() != self.items.size
            or not in_rows
        ):
            raise DataError(
                f"grades of shape {found.shape} and type {found.dtype}",
                where="grades",
                expected=f"numbers, one for each of the {self.items.size:,} held-out items, laid out as these are",
            )
        values = (found if self.cells is None else found[cells]).astype(np.float64).reshape(-1)
        if not np.isfinite(values).all():
            row = self.row_of(int(np.argmin(np.isfinite(values))))
            raise DataError("a grade is no number", where=f"grades, row {row}", expected="finite grades")
        return values

    def keys(self, first: int, last: int, n_items: int) -> Ints:
        """Of the rows from ``first`` on: one number for each pair of row and item."""
        lengths = np.diff(self.starts[first : last + 1])
        found = np.repeat(np.arange(last - first, dtype=np.int64) * n_items, lengths)
        found += self.items[self.starts[first] : self.starts[last]].astype(np.int64, copy=False)
        return found

    def take(self, rows: Ints) -> "Codes":
        """Some of the rows."""
        starts, at = gathered(self.starts, rows)
        return Codes(starts, self.items[at], self.where)


def look_up(held: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Which of the wanted keys are among the held, in their order, and where; each held key is there once.

    Where some of the held want one slot, the last has it; the others have it in the next rounds, in which only those
    that were looked for in such a slot are looked for again.
    """
    bits = int(held.size).bit_length() + _SLOTS_TO_A_PAIR
    table = np.full(1 << bits, held.size, dtype=np.int32)
    keys = np.append(held, NO_ITEM)
    slots, asked = _slots(held, bits), _slots(wanted, bits)
    left, which = np.arange(held.size, dtype=np.int32), np.arange(wanted.size)
    found = [(which[:0], which[:0])]
    while left.size:
        table[slots] = left
        there, near = table.take(slots), table.take(asked)
        same = keys.take(near) == wanted
        found.append((which[same], near[same]))
        lost = np.flatnonzero(there != left)
        contested = np.zeros(keys.size, dtype=bool)
        contested[there[lost]] = True
        again = np.flatnonzero(contested.take(near) & ~same)
        left, slots = left[lost], slots[lost]
        asked, wanted, which = asked[again], wanted[again], which[again]
    at, place = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(at)
    return at[order], place[order]


def stands_twice(keys: Ints) -> int | None:
    """The first place of a key that stands again further on; None where all are different."""
    if not _some_again(keys):
        return None
    order = np.argsort(keys, kind="stable")
    return int(order[:-1][keys[order[1:]] == keys[order[:-1]]].min())


def _some_again(keys: Ints) -> bool:
    """Whether any key stands twice: equal keys want one slot, so that one of them has it, or both ask again."""
    bits = int(keys.size).bit_length() + 1
    table = np.empty(1 << bits, dtype=np.int32)
    left, slots = np.arange(keys.size, dtype=np.int32), _slots(keys, bits)
    while left.size:
        table[slots] = left
        there = table.take(slots)
        lost = np.flatnonzero(there != left)
        left, slots = left[lost], slots[lost]
        if (keys.take(there[lost]) == keys.take(left)).any():
            return True
    return False


def _slots(keys: Ints, bits: int) -> Ints:
    return ((keys.view(np.uint64) * _STRIDE) >> np.uint64(64 - bits)).view(np.int64)


def _whole_numbers(given: Any, dimensions: int, where: str) -> NDArray[np.integer]:
    if isinstance(given, np.ma.MaskedArray):
        raise DataError("a masked array", where=where, expected="a plain one, −1 where a row has fewer")
    try:
        found = np.asarray(given)
    except ValueError:
        raise DataError("rows of different lengths", where=where, expected="−1 where a row has fewer") from None
    if found.size == 0 and found.ndim == dimensions:
        found = found.astype(np.int64)
    if found.ndim != dimensions or found.dtype.kind not in "iu":
        shape = "a row a user, codes of items in it" if dimensions == 2 else "(starts, items)"
        raise DataError(
            f"an array of type {found.dtype} in {found.ndim} dimensions",
            where=where,
            expected=f"whole numbers: {shape}",
        )
    return np.ascontiguousarray(found)
