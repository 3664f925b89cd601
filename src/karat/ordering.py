"""Sorting within segments, and equal scores: the array work under ``judge``."""

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.blocks import cut_into_blocks, in_threads
from karat.types import Bools, Floats, Ints, sort_key

__all__ = ["Ordered", "TieRule", "order_rows"]

TieRule = Literal["id", "id-desc", "order"]


class Ordered:
    """Rows of CSR segments in descending order of value.

    Sorted rows keep to their segment, so a *position* (index into the sorted order) and a row index belong to the
    same segment. ``order`` is None where the rows already stood in order, which is the usual case.
    """

    def __init__(self, starts: Ints, order: Ints | None, first: Ints, last: Ints) -> None:
        self.starts = starts
        self.order = order
        self.first = first
        """First position of each group of equal values (groups of two and more)."""
        self.last = last
        self._inverse: Ints | None = None

    def positions(self, rows: Ints) -> Ints:
        """Where these rows stand, before equal values are told apart."""
        if self.order is None:
            return rows
        if self._inverse is None:
            self._inverse = np.empty_like(self.order)
            self._inverse[self.order] = np.arange(self.order.size)
        return self._inverse[rows]

    def tie_group(self, positions: Ints) -> Ints:
        """The group of equal values that each position stands in, −1 where it is alone."""
        if self.first.size == 0:
            return np.full(positions.size, -1)
        group = np.searchsorted(self.first, positions, side="right") - 1
        alone = (group < 0) | (positions > self.last[group])
        return np.where(alone, -1, group)

    def tie_bounds(self, positions: Ints) -> tuple[Ints, Ints]:
        """First and last position of the group of equal values of each position; itself where it is alone."""
        group = self.tie_group(positions)
        tied = group >= 0
        first, last = positions.copy(), positions.copy()
        first[tied], last[tied] = self.first[group[tied]], self.last[group[tied]]
        return first, last

    def resolved(self, rows: Ints, rule: TieRule, ids: pl.Series) -> Ints:
        """Final positions of these rows, equal values ordered by ``rule``. Only groups they stand in are looked at."""
        positions = self.positions(rows)
        groups = self.tie_group(positions)
        wanted = np.unique(groups[groups >= 0])
        if wanted.size == 0:
            return positions
        lengths = self.last[wanted] - self.first[wanted] + 1
        offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        member_positions = np.repeat(self.first[wanted], lengths) + offsets
        members = member_positions if self.order is None else self.order[member_positions]
        final = np.empty(members.size, dtype=np.int64)
        final[_sorted_members(np.repeat(wanted, lengths), members, rule, ids)] = member_positions
        by_row = np.argsort(members)
        slot = by_row[np.searchsorted(members, rows[groups >= 0], sorter=by_row)]
        resolved = positions.copy()
        resolved[groups >= 0] = final[slot]
        return resolved


def _sorted_members(groups: Ints, members: Ints, rule: TieRule, ids: pl.Series) -> NDArray[np.int64]:
    """The order of the members of tie groups: by group, then by the rule."""
    if rule == "order":
        return np.lexsort((members, groups))
    frame = pl.DataFrame({"group": groups, "id": sort_key(ids.gather(members))}).with_row_index("at")
    ordered = frame.sort("group", "id", descending=[False, rule == "id-desc"], maintain_order=True)
    return ordered["at"].cast(pl.Int64).to_numpy()


def order_rows(starts: Ints, values: Floats | None, *, single: bool = False) -> Ordered:
    """Sort the rows of each segment by value, descending; None: they stand in order and never tie.

    ``single`` compares the values as 32-bit numbers.
    """
    none = np.empty(0, dtype=np.int64)
    if values is None or values.size < 2:
        return Ordered(starts, None, none, none)

    def order_block(first: int, last: int) -> tuple[Ints | None, Ints, Ints]:
        low, high = int(starts[first]), int(starts[last])
        block = _as_single(values[low:high]) if single else values[low:high]
        order, *ties = _order_block(starts[first : last + 1] - low, block)
        return None if order is None else order + low, ties[0] + low, ties[1] + low

    parts = cut_into_blocks(starts)
    orders, firsts, lasts = zip(*in_threads(order_block, parts), strict=True)
    order = None
    if any(block is not None for block in orders):
        order = np.arange(values.size, dtype=np.int64)
        for (first, last), block in zip(parts, orders, strict=True):
            if block is not None:
                order[starts[first] : starts[last]] = block
    return Ordered(starts, order, np.concatenate(firsts), np.concatenate(lasts))


def _as_single(values: Floats) -> NDArray[np.float32]:
    """As C casts: what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _order_block(starts: Ints, values: NDArray[np.floating]) -> tuple[Ints | None, Ints, Ints]:
    """The permutation if one is needed, and first and last position of each group of equal values."""
    inner = starts[1:-1]
    boundaries = inner[(inner > 0) & (inner < values.size)] - 1
    rises = values[1:] > values[:-1]
    rises[boundaries] = False
    order = None
    if rises.any():
        order = _sort_unsorted(starts, values, rises)
        values = values[order]
    equal = values[1:] == values[:-1]
    equal[boundaries] = False
    return order, *_runs(equal)


def _sort_unsorted(starts: Ints, values: NDArray[np.floating], rises: Bools) -> Ints:
    """The permutation that sorts each segment that is not yet in order.

    One sort of all values, then one of (segment, place in that sort) packed into 64 bits: both run at the speed of
    sorting plain numbers, which a sort on two columns does not.
    """
    segment_of_rise = np.searchsorted(starts, np.flatnonzero(rises), side="right") - 1
    unsorted = np.unique(segment_of_rise)
    lengths = np.diff(starts)[unsorted]
    segment = np.repeat(np.arange(unsorted.size, dtype=np.uint64), lengths)
    offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(starts[unsorted], lengths) + offsets
    by_value = np.argsort(-values[rows])
    packed = (segment[by_value] << np.uint64(32)) | np.arange(rows.size, dtype=np.uint64)
    packed.sort()
    order = np.arange(values.size, dtype=np.int64)
    order[rows] = rows[by_value[(packed & np.uint64(0xFFFFFFFF)).astype(np.int64)]]
    return order


def _runs(equal: Bools) -> tuple[Ints, Ints]:
    """First and last position of each run of positions that equal their successor."""
    if not equal.any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    edges = np.diff(np.concatenate(([False], equal, [False])).astype(np.int8))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
