"""Judged rankings: rankings joined with the gold, and array functions shared by judging and metrics."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import (
    Bools,
    Floats,
    Ints,
    Lists,
    Runs,
    cut_into_blocks,
    freeze,
    gathered,
    in_threads,
    segments_within,
    sort_key,
)
from rankjury.errors import DataError
from rankjury.measures.measure import COMMON_OPTIONS, Option

_MOST_LAID_OUT = 1 << 22


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Groups of equal scores: the row of the query, and the first and last rank of the group."""

    row: Ints
    first: Ints
    last: Ints

    def __post_init__(self) -> None:
        freeze(self)

    def queries_tied_at(self, k: int) -> int:
        """Return the number of queries with the same score at ranks k and k + 1."""
        return int(np.unique(self.row[(self.first <= k) & (k < self.last)]).size)


@dataclass(frozen=True, eq=False)
class Judged:
    """A ranking joined with the gold: the input of all metrics.

    Sparse: only judged items that were retrieved are stored, as parallel arrays sorted by (row, rank). Row i is the
    i-th gold query in ascending order of id, whether it was retrieved or not.
    """

    queries: pl.Series
    row: Ints
    rank: Ints
    grade: Floats
    tie_first: Ints
    tie_last: Ints
    """First and last rank of the item's group of equal scores (its rank if no other item has its score)."""
    gold_index: Ints
    """Row of the item in the arrays of the Gold."""
    place: Ints | None
    """Position in the query's gold, best grade first, equal grades by id; None unless requested."""
    depth: Ints
    """Number of items retrieved for each query."""
    present: Bools
    """Whether the ranking contains the query."""
    gold_starts: Ints
    gold_grades: Floats
    """Grades of the gold, best first within each query (CSR with ``gold_starts``)."""
    relevant_from: float | None
    gold_has_order: bool
    """The grades define an order: no two items of a query share one, or they are positions in a list."""
    ties: TieGroups
    counted: Runs | None = None
    """Number of gold items per grade, if these are too many for ``gold_grades``: ``parts`` expands them."""
    whole: "Judged | None" = None
    """The complete result, if this is a part of one."""
    lists: Lists | None = None
    """The top lists, for measures that need them."""
    highest_of_whole: float | None = None
    """Highest grade of the complete gold, if only some of its items are used: slices have the same scale."""

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def gold_rows(self) -> Ints:
        """Row of the query of each entry of ``gold_grades``."""
        return np.repeat(np.arange(len(self)), np.diff(self.gold_starts))

    @cached_property
    def gold_places(self) -> Ints:
        """Position (from 1) of each entry of ``gold_grades`` within its query."""
        return segments_within(self.gold_starts) + 1

    @cached_property
    def relevant_counts(self) -> dict[float | None, Floats]:
        """Cache of ``count_relevant`` by threshold."""
        return {}

    @cached_property
    def highest(self) -> float:
        """Highest grade of the complete gold, or 0 if none is above 0."""
        if self.whole is not None:
            return self.whole.highest
        if self.highest_of_whole is not None:
            return self.highest_of_whole
        grades = self.gold_grades if self.counted is None else self.counted.grades[self.counted.counts > 0]
        return float(grades.max(initial=0.0))

    def parts(self) -> Iterator["Judged"]:
        """Yield parts of the queries with the gold's grades expanded; everything at once if they already are."""
        if self.counted is None or self.whole is not None:
            yield self
            return
        total = np.concatenate(([0], np.cumsum(self.counted.counts)))[self.counted.starts]
        first = 0
        while first < len(self):
            last = int(np.searchsorted(total, total[first] + _MOST_LAID_OUT, side="right")) - 1
            last = min(max(last, first + 1), len(self))
            yield self._part(first, last, self.counted)
            first = last

    def _hits(self, chosen: Any, *without: str) -> dict[str, Any]:
        """Return the arrays of the retrieved judged items, by name, restricted to the chosen ones."""
        names = {"row", "rank", "grade", "tie_first", "tie_last", "gold_index", "place"}.difference(without)
        arrays = {name: getattr(self, name) for name in names}
        return {name: None if array is None else array[chosen] for name, array in arrays.items()}

    def _part(self, first: int, last: int, counted: Runs) -> "Judged":
        hits = slice(*np.searchsorted(self.row, (first, last)).tolist())
        runs = slice(*counted.starts[[first, last]].tolist())
        numbers = counted.counts[runs]
        ends = np.concatenate(([0], np.cumsum(numbers)))
        tied = (self.ties.row >= first) & (self.ties.row < last)
        return Judged(
            queries=self.queries[first:last],
            row=self.row[hits] - first,
            place=None,
            depth=self.depth[first:last],
            present=self.present[first:last],
            gold_starts=ends[counted.starts[first : last + 1] - counted.starts[first]],
            gold_grades=np.repeat(counted.grades[runs], numbers),
            relevant_from=self.relevant_from,
            gold_has_order=self.gold_has_order,
            ties=TieGroups(self.ties.row[tied] - first, self.ties.first[tied], self.ties.last[tied]),
            counted=Runs(counted.starts[first : last + 1] - counted.starts[first], counted.grades[runs], numbers),
            whole=self,
            **self._hits(hits, "row", "place"),
        )

    def cut_gold(self, k: int, *, tied: bool = False) -> "Judged":
        """Return the same ranking, judged only against the k best gold items of each query.

        ``tied``: all items with at least the k-th grade count. Otherwise equal grades are ordered by id.
        """
        if tied and self.counted is not None:
            return self._cut_counted(k, self.counted)
        if tied:
            lengths = np.diff(self.gold_starts)
            kth = self.gold_starts[:-1] + np.minimum(lengths, k) - 1  # the last if there are fewer
            lowest = np.where(lengths > 0, np.append(self.gold_grades, np.inf)[kth], np.inf)
            return self.select(self.grade >= lowest[self.row], self.gold_grades >= lowest[self.gold_rows])
        if self.place is None:
            raise ValueError("judge with places=True to cut the gold")
        return self.select(self.place <= k, self.gold_places <= k)

    def select(self, hits: Bools, gold: Bools) -> "Judged":
        """Return the result with some of the retrieved judged items, and some of the gold's grades."""
        starts, grades = np.concatenate(([0], np.cumsum(gold)))[self.gold_starts], self.gold_grades[gold]
        arrays = self._hits(np.flatnonzero(hits))
        return replace(self, **arrays, gold_starts=starts, gold_grades=grades, highest_of_whole=self.highest)

    def without_empty(self) -> "Judged":
        """Return the result without queries that have no gold."""
        has_gold = np.diff(self.gold_starts) > 0
        number, tied = np.cumsum(has_gold) - 1, has_gold[self.ties.row]
        return replace(
            self,
            queries=self.queries.filter(has_gold),
            row=number[self.row],
            depth=self.depth[has_gold],
            present=self.present[has_gold],
            gold_starts=np.append(self.gold_starts[:-1][has_gold], self.gold_starts[-1]),
            ties=TieGroups(number[self.ties.row[tied]], self.ties.first[tied], self.ties.last[tied]),
        )

    def _cut_counted(self, k: int, runs: Runs) -> "Judged":
        """Cut a gold given as counts per grade: grades after the k-th item count no items."""
        total, lengths = np.concatenate(([0], np.cumsum(runs.counts))), np.diff(runs.starts)
        query = np.repeat(np.arange(len(self)), lengths)
        before = total[:-1] - np.repeat(total[runs.starts[:-1]], lengths)
        reached = (before < k) & (runs.counts > 0)
        lowest = np.full(len(self), np.inf)
        np.minimum.at(lowest, query[reached], runs.grades[reached])
        arrays = self._hits(np.flatnonzero(self.grade >= lowest[self.row]), "place")
        counts = np.where(runs.grades >= lowest[query], runs.counts, 0)
        return replace(self, **arrays, counted=Runs(runs.starts, runs.grades, counts))


TieRule = Literal["id", "id-desc", "order"]


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Rows of CSR segments in descending order of value.

    Sorted rows stay in their segment, so a *position* (index into the sorted order) and a row index belong to the same
    segment. ``order`` is None if the rows are already sorted, which is the usual case.
    """

    order: Ints | None
    first: Ints
    """First position of each group of equal values (two or more)."""
    last: Ints

    @cached_property
    def _inverse(self) -> Ints:
        inverse = np.empty_like(self.order)
        inverse[self.order] = np.arange(inverse.size)
        return inverse

    def tie_group(self, positions: Ints) -> Ints:
        """Return the group of equal values of each position, −1 for unique values."""
        if self.first.size == 0:
            return np.full(positions.size, -1)
        group = np.searchsorted(self.first, positions, side="right") - 1
        alone = (group < 0) | (positions > self.last[group])
        return np.where(alone, -1, group)

    def tie_bounds(self, positions: Ints) -> tuple[Ints, Ints]:
        """Return the first and last position of each position's group of equal values; itself for unique values."""
        group = self.tie_group(positions)
        tied = group >= 0
        first, last = positions.copy(), positions.copy()
        first[tied], last[tied] = self.first[group[tied]], self.last[group[tied]]
        return first, last

    def resolved(self, rows: Ints, rule: TieRule, ids: pl.Series) -> Ints:
        """Return the final positions of these rows, ties broken by ``rule``; only tied groups are sorted."""
        positions = rows if self.order is None else self._inverse[rows]
        groups = self.tie_group(positions)
        wanted = np.unique(groups[groups >= 0])
        if wanted.size == 0:
            return positions
        lengths = self.last[wanted] - self.first[wanted] + 1
        offsets = segments_within(np.concatenate(([0], np.cumsum(lengths))))
        member_positions = np.repeat(self.first[wanted], lengths) + offsets
        members = member_positions if self.order is None else self.order[member_positions]
        group = np.repeat(wanted, lengths)
        if rule == "order":
            by_rule = np.lexsort((members, group))
        else:
            frame = pl.DataFrame({"group": group, "id": sort_key(ids.gather(members))}).with_row_index("at")
            ordered = frame.sort("group", "id", descending=[False, rule == "id-desc"], maintain_order=True)
            by_rule = ordered["at"].cast(pl.Int64).to_numpy()
        final = np.empty(members.size, dtype=np.int64)
        final[by_rule] = member_positions
        by_row = np.argsort(members)
        slot = by_row[np.searchsorted(members, rows[groups >= 0], sorter=by_row)]
        resolved = positions.copy()
        resolved[groups >= 0] = final[slot]
        return resolved


def order_rows(starts: Ints, values: Floats | None, *, single: bool = False) -> RowOrder:
    """Sort the rows of each segment by value, descending; None: they are in order, without ties.

    ``single`` compares the values as 32-bit numbers.
    """
    none = np.empty(0, dtype=np.int64)
    if values is None or values.size < 2:
        return RowOrder(None, none, none)

    def order_block(first: int, last: int) -> tuple[Ints | None, Ints, Ints]:
        low, high = int(starts[first]), int(starts[last])
        block: NDArray[np.floating] = values[low:high]
        if single:
            with np.errstate(over="ignore"):  # like a C cast, overflow becomes infinite
                block = block.astype(np.float32)
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
    return RowOrder(order, np.concatenate(firsts), np.concatenate(lasts))


def _order_block(starts: Ints, values: NDArray[np.floating]) -> tuple[Ints | None, Ints, Ints]:
    """Return the permutation, if one is needed, and first and last position of each group of equal values."""
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
    if not equal.any():
        return order, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    edges = np.diff(np.concatenate(([False], equal, [False])).astype(np.int8))
    return order, np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def _sort_unsorted(starts: Ints, values: NDArray[np.floating], rises: Bools) -> Ints:
    """Return the permutation that sorts each unsorted segment.

    One sort of all values, then one of (segment, rank in that sort) packed into 64 bits: both run at the speed of
    sorting plain numbers, which a sort by two columns does not.
    """
    segment_of_rise = np.searchsorted(starts, np.flatnonzero(rises), side="right") - 1
    unsorted = np.unique(segment_of_rise)
    bounds, rows = gathered(starts, unsorted)
    segment = np.repeat(np.arange(unsorted.size, dtype=np.uint64), np.diff(bounds))
    by_value = np.argsort(-values[rows])
    packed = (segment[by_value] << np.uint64(32)) | np.arange(rows.size, dtype=np.uint64)
    packed.sort()
    order = np.arange(values.size, dtype=np.int64)
    order[rows] = rows[by_value[(packed & np.uint64(0xFFFFFFFF)).astype(np.int64)]]
    return order


HIGHEST_SUMMED = 1e300
"""The sum of 10^8 grades up to this value is still a finite float."""
NEGATIVE = Option("negative", "an item of a grade below 0 is unjudged, or judged not relevant", ("unjudged", "judged"))
REL = Option("rel", "lowest relevant grade (default: that of the gold, any grade above 0)")


def is_relevant(grades: Floats, rel: float | None, judged: Judged) -> Bools:
    """Return which of these grades are relevant: at least ``rel``, else the gold's threshold, else above zero."""
    threshold = judged.relevant_from if rel is None else rel
    return grades > 0 if threshold is None else grades >= threshold


def check_highest(judged: Judged, highest: float, expected: str, hint: str | None = None) -> None:
    """Refuse a gold with a grade above ``highest``; the error names the first query that has one."""
    if judged.highest <= highest:
        return
    above = np.flatnonzero(judged.gold_grades > highest)
    if above.size:  # empty if the grade is not among these queries or items
        query, grade = judged.queries[int(judged.gold_rows[above[0]])], judged.gold_grades[above[0]]
        raise DataError(f"query {query!r} has an item of grade {grade:g}", where="gold", expected=expected, hint=hint)


def relevant(judged: Judged, rel: float | None) -> Bools:
    """Return which of the retrieved judged items are relevant."""
    return is_relevant(judged.grade, rel, judged)


def within(judged: Judged, k: int | None) -> Bools:
    """Return which of the retrieved judged items are at rank k or better."""
    return np.ones(judged.rank.size, bool) if k is None else judged.rank <= k


def sum_by_row(judged: Judged, where: Bools, weights: Floats | None = None) -> Floats:
    """Return the sum of weights (or the count) of the chosen items per query, added in rank order."""
    chosen = None if weights is None else weights[where]
    return np.bincount(judged.row[where], chosen, minlength=len(judged)).astype(np.float64)


def count_hits(judged: Judged, k: int | None, rel: float | None) -> Floats:
    """Return the number of relevant items in the top k of each query."""
    return sum_by_row(judged, relevant(judged, rel) & within(judged, k))


def count_relevant(judged: Judged, rel: float | None) -> Floats:
    """Return the number of relevant items in the gold of each query; computed once per threshold."""
    if rel not in judged.relevant_counts:
        starts, grades, numbers = judged.gold_starts, judged.gold_grades, None
        if judged.counted is not None:
            starts, grades, numbers = judged.counted.starts, judged.counted.grades, judged.counted.counts
        chosen = is_relevant(grades, rel, judged)
        total = np.concatenate(([0], np.cumsum(chosen if numbers is None else chosen * numbers)))
        counts = np.diff(total[starts]).astype(np.float64)
        counts.flags.writeable = False
        judged.relevant_counts[rel] = counts
    return judged.relevant_counts[rel]


def cut_or_depth(judged: Judged, k: int | None) -> Floats:
    """Return the cut-off of each query: k, or the number retrieved if there is none."""
    return judged.depth.astype(np.float64) if k is None else np.full(len(judged), float(k))


def divide(numerator: NDArray[np.number], denominator: NDArray[np.number]) -> Floats:
    """Return the quotient, with 0 / 0 = 0."""
    quotient: Floats = np.divide(numerator, denominator, out=np.zeros(numerator.size), where=denominator > 0)
    return quotient


def nth_in_row(rows: Ints) -> Floats:
    """Return 1, 2, 3 … within each row, for rows in ascending order."""
    if rows.size == 0:
        return np.empty(0)
    firsts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    lengths = np.diff(np.append(firsts, rows.size))
    return np.arange(1.0, rows.size + 1) - np.repeat(firsts, lengths)


@lru_cache(maxsize=8)
def discounts(up_to: int) -> Floats:
    """Return log2(rank + 1) at index ``rank``, computed by the C library for the same last digit as other tools."""
    return np.array([math.inf, *(math.log2(rank + 1) for rank in range(1, up_to + 1))])


def running_count(judged: Judged, chosen: Bools) -> Floats:
    """Return the number of chosen items of the same query at each item's rank or above."""
    total = np.cumsum(chosen)
    starts = np.searchsorted(judged.row, np.arange(len(judged)))
    before = np.concatenate(([0], total))[starts]
    return np.asarray(total - before[judged.row], dtype=np.float64)


def ties_option(choice: str, about: str) -> Option:
    """Return the common option ``ties`` with an additional choice, which only the metric implements."""
    ties = next(option for option in COMMON_OPTIONS if option.name == "ties")
    return Option("ties", f"{ties.about}; {choice}: {about}", (*ties.choices, choice))
