"""Evaluation of recommendations given as arrays of item codes, without strings, joins or sorts of ids.

Row i of both sides is the same user, whose id is that number; an item is its code, from 0 on.

Pairs are looked up in a hash table that fits the cache, a block of rows at a time. Every match is compared with the
key that was looked for, so that the result does not depend on two pairs having different slots.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import is_whole
from rankjury.core.types import (
    Background,
    Bools,
    Floats,
    Gold,
    Ints,
    Lists,
    checked_background,
    cut_into_blocks,
    freeze,
    gathered,
    segments_within,
)
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.checks import warn_of_names
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, Evaluation, resolve_measures
from rankjury.evaluation.judge import MatchedRanking, OrderRules
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.shared_ids import IdSample, SharedIds
from rankjury.measures.judged import Judged, TieGroups, order_rows
from rankjury.measures.measure import Measure, OnEmpty, OnMissing, ScorePrecision, SelfMatches, Ties

MISSING = -1
_MAX_ITEMS = 1 << 40
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_SPARE_SLOT_BITS = 3  # the hash table has 2 to this power slots for each pair


@dataclass(frozen=True, eq=False)
class ItemCodes:
    """Item codes of each row, in order (CSR)."""

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
    def read(cls, data: Any, where: str) -> "ItemCodes":
        """Read codes from a table, −1 where a row has fewer, or from ``(starts, items)``."""
        if isinstance(data, tuple) and len(data) == 2:
            starts, items = (_whole_numbers(part, 1, where) for part in data)
            rising = starts.size > 0 and starts[0] == 0 and bool((starts[1:] >= starts[:-1]).all())
            if not rising or starts[-1] != items.size:
                expected = "0, then the end of each row, the last being the number of items"
                raise DataError(f"starts do not partition the {items.size:,} items", where=where, expected=expected)
            return cls(starts.astype(np.int64), items.view(), where)
        table = _whole_numbers(data, 2, where)
        if table.dtype.kind == "u" or not (table == MISSING).any():
            return cls(np.arange(len(table) + 1) * table.shape[1], table.reshape(-1).view(), where)
        cells = table != MISSING
        gap = (~cells[:, :-1] & cells[:, 1:]).any(axis=1)
        if gap.any():
            raise DataError("an item follows −1", where=f"{where}, row {np.argmax(gap)}", expected="−1 last")
        return cls(np.concatenate(([0], np.cumsum(cells.sum(axis=1)))), table[cells], where, cells)

    def check(self, n_items: int) -> None:
        """Refuse codes outside of 0 to ``n_items`` − 1."""
        if not 0 <= n_items <= _MAX_ITEMS:
            raise UsageError(f"{n_items:,} items", where=self.where, expected=f"0 to {_MAX_ITEMS:,}")
        if self.items.size and not (self.items.min() >= 0 and self.items.max() < n_items):
            at = int(np.argmax((self.items < 0) | (self.items >= n_items)))
            raise DataError(
                f"the code {self.items[at]}",
                where=f"{self.where}, row {self.row_of(at)}",
                expected=f"0 to {n_items - 1:,}" if n_items else "no code, of no items",
            )

    def row_of(self, at: int) -> int:
        """Return the row of an entry of ``items``."""
        return int(np.searchsorted(self.starts, at, side="right")) - 1

    def grades(self, data: Any) -> Floats:
        """Return a grade for each item, from an array of the shape that the items had."""
        try:
            table = np.asarray(data)
        except ValueError:
            raise DataError("rows of different lengths", where="grades", expected="the shape of held_out") from None
        cells = np.ones(table.shape, dtype=bool) if self.cells is None else self.cells
        in_rows = table.ndim == 1 or (table.ndim > 1 and len(table) == len(self))
        same_shape = table.shape == cells.shape and cells.sum() == self.items.size and in_rows
        if table.dtype.kind not in "biuf" or not same_shape:
            raise DataError(
                f"grades of shape {table.shape} and type {table.dtype}",
                where="grades",
                expected=f"numbers, one for each of the {self.items.size:,} held-out items, laid out as these are",
            )
        values = (table if self.cells is None else table[cells]).astype(np.float64).reshape(-1)
        if not np.isfinite(values).all():
            row = self.row_of(int(np.argmin(np.isfinite(values))))
            raise DataError("a grade is not a finite number", where=f"grades, row {row}", expected="finite grades")
        return values

    def keys(self, first: int, last: int, n_items: int) -> Ints:
        """Return one number for each pair of row and item, of the rows from ``first`` to ``last`` − 1."""
        lengths = np.diff(self.starts[first : last + 1])
        keys = np.repeat(np.arange(last - first, dtype=np.int64) * n_items, lengths)
        keys += self.items[self.starts[first] : self.starts[last]].astype(np.int64, copy=False)
        return keys

    def take(self, rows: Ints) -> "ItemCodes":
        """Return some of the rows."""
        starts, at = gathered(self.starts, rows)
        return ItemCodes(starts, self.items[at], self.where)


def look_up(known: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return which of the wanted keys are among the known ones, in their order, and where; known keys are distinct.

    Where several known keys share a slot, the last gets it; the others get it in later rounds, in which only the wanted
    keys of such slots are looked up again.
    """
    bits = int(known.size).bit_length() + _SPARE_SLOT_BITS
    table = np.full(1 << bits, known.size, dtype=np.int32)
    keys = np.append(known, MISSING)
    slots, wanted_slots = _slots(known, bits), _slots(wanted, bits)
    left, which = np.arange(known.size, dtype=np.int32), np.arange(wanted.size)
    matches = [(which[:0], which[:0])]
    while left.size:
        table[slots] = left
        there, near = table.take(slots), table.take(wanted_slots)
        same = keys.take(near) == wanted
        matches.append((which[same], near[same]))
        lost = np.flatnonzero(there != left)
        contested = np.zeros(keys.size, dtype=bool)
        contested[there[lost]] = True
        again = np.flatnonzero(contested.take(near) & ~same)
        left, slots = left[lost], slots[lost]
        wanted_slots, wanted, which = wanted_slots[again], wanted[again], which[again]
    at, place = (np.concatenate(part) for part in zip(*matches, strict=True))
    order = np.argsort(at)
    return at[order], place[order]


def find_duplicate(keys: Ints) -> int | None:
    """Return the first place of a key that occurs again later; None where all are distinct.

    Equal keys share a slot, so that one of them gets it or both try again.
    """
    bits = int(keys.size).bit_length() + 1
    table = np.empty(1 << bits, dtype=np.int32)
    left, slots = np.arange(keys.size, dtype=np.int32), _slots(keys, bits)
    while left.size:
        table[slots] = left
        there = table.take(slots)
        lost = np.flatnonzero(there != left)
        left, slots = left[lost], slots[lost]
        if (keys.take(there[lost]) == keys.take(left)).any():
            order = np.argsort(keys, kind="stable")
            return int(order[:-1][keys[order[1:]] == keys[order[:-1]]].min())
    return None


def _slots(keys: Ints, bits: int) -> Ints:
    return ((keys.view(np.uint64) * _STRIDE) >> np.uint64(64 - bits)).view(np.int64)


def _whole_numbers(data: Any, dimensions: int, where: str) -> NDArray[np.integer]:
    if isinstance(data, np.ma.MaskedArray):
        raise DataError("a masked array", where=where, expected="a plain one, −1 where a row has fewer")
    try:
        numbers = np.asarray(data)
    except ValueError:
        raise DataError("rows of different lengths", where=where, expected="−1 where a row has fewer") from None
    if numbers.size == 0 and numbers.ndim == dimensions:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != dimensions or numbers.dtype.kind not in "iu":
        shape = "one row per user, with codes of items" if dimensions == 2 else "(starts, items)"
        array = f"an array of type {numbers.dtype} in {numbers.ndim} dimensions"
        raise DataError(array, where=where, expected=f"whole numbers: {shape}")
    return np.ascontiguousarray(numbers)


_PAIRS_AT_ONCE = 1 << 15
"""Within the cache, and one after the other: steps so short would have threads wait for each other more than work."""


@check_arguments
def evaluate_arrays(
    recommended: Any,
    held_out: Any,
    grades: Any = None,
    *,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    n_items: int | None = None,
    background: Background | None = None,
    dialect: str | None = None,
    source: str = "recommendations",
    rel: float | None = None,
    ties: Ties | None = None,
    missing: OnMissing | None = None,
    empty: OnEmpty | None = None,
    self: SelfMatches | None = None,
    scores: ScorePrecision | None = None,
) -> Scores:
    """Score recommendations that are codes of items, without ids: the fastest way for many users.

    Args:
        recommended: Users × k codes, best first, −1 where there are fewer.
        held_out: Users × m codes of the relevant items, −1 where there are fewer, or ``(starts, items)`` of a CSR.
            Users of whom nothing was held out are not counted.
        grades: Grades of the held-out items, in the same layout; by default all 1. Items of equal grade are ordered by
            code.
        measures: Measures such as ``"ndcg@10"``.
        n_items: How many items there are; by default one more than the highest code.
        background: What measures beyond accuracy compare with: codes are places in its items, rows are its users.
        dialect: Name of a tool whose conventions are used.
        source: The name that errors and reports show.
        rel: Grade from which an item is relevant; by default any above 0.
        ties: Order of equal scores: by id (``id``), by id descending (``id-desc``), or as given (``order``).
        missing: A query of the gold that a ranking lacks: scored ``zero``, left out (``skip``), or an ``error``.
        empty: A query with nothing relevant: left out (``skip``), scored ``zero``, or an ``error``.
        self: An item whose id is the query's: ``keep`` it in the ranking, or ``drop`` it.
        scores: Compare scores as 64-bit (``double``) or 32-bit (``single``) numbers.

    Returns:
        The scores, as ``rankjury.evaluate`` returns them; the queries are the numbers of the rows.

    Raises:
        DataError: Codes or grades are out of range or differ in shape.
        UsageError: A measure or convention is not known.

    Example:
        >>> rankjury.evaluate_arrays([[3, 1]], [[1, -1]], measures=["rr", "ndcg@10"]).mean()
        {'rr': 0.5, 'ndcg@10': 0.6309297535714575}
    """
    conventions = {"rel": rel, "ties": ties, "missing": missing, "empty": empty, "self": self, "scores": scores}
    asked = resolve_measures(measures, dialect, conventions)
    shown, held = ItemCodes.read(recommended, source), ItemCodes.read(held_out, "held out")
    if len(shown) != len(held):
        rows = f"{len(shown):,} rows of recommendations, and {len(held):,} of held-out items"
        raise DataError(rows, where=source, expected="one row per user on both sides")
    if n_items is not None and not is_whole(n_items):
        raise UsageError(f"n_items is {n_items!r}", where=source, expected="a whole number")
    background = checked_background(background, source)
    if background is not None:
        known = len(background.items)
        if len(background.users) != len(shown) or n_items not in (None, known):
            items = "" if n_items is None else f" and {n_items:,} items"
            raise DataError(
                f"a background of {len(background.users):,} users and {known:,} items, for {len(shown):,} rows{items}",
                where=source,
                expected="rows that are the background's users, and codes that are places in its items",
            )
        n_items = known
    size = max(shown.size, held.size) if n_items is None else n_items
    for side in (shown, held):
        side.check(size)
    matched = MatchedCodes(shown, held, None if grades is None else held.grades(grades), size)
    matched.same_ids = n_items is not None
    if matched.matches[0].size == 0:
        matched.check_items(source)
    found = Evaluation(matched, source, background).scores(asked)
    return replace(found, warnings=(*warn_of_names(asked), *found.warnings))


class MatchedCodes(MatchedRanking):
    """Recommended and held-out codes, matched once; the order given is the ranking, so that nothing ties."""

    def __init__(self, shown: ItemCodes, held: ItemCodes, grades: Floats | None, n_items: int) -> None:
        self.rows = np.flatnonzero(np.diff(held.starts))
        """The users for whom something was held out."""
        self.extra_queries, self.dropped, self.dropped_of_gold = len(held) - self.rows.size, 0, 0
        if self.rows.size == 0:
            raise DataError("no item was held out for any user", where=held.where, expected="a code in some row")
        if self.extra_queries:
            grades = None if grades is None else grades[gathered(held.starts, self.rows)[1]]
            shown, held = shown.take(self.rows), held.take(self.rows)
        self.shown, self.held, self.n_items = shown, held, n_items
        self.queries = pl.Series("query_id", self.rows).cast(pl.String)
        self.graded = grades is not None
        values = np.ones(held.items.size) if grades is None else grades
        self.gold = Gold(self.queries, held.starts, pl.Series(held.items), values, source=held.where)
        self.present = np.ones(len(self.queries), dtype=bool)
        self.deepest = int(np.diff(shown.starts).max(initial=0))
        self.joinable, self.depth, self.same_ids = False, None, True

    @cached_property
    def shared_ids(self) -> SharedIds:
        return SharedIds(IdSample.of(self.gold.items), IdSample.of(pl.Series(self.shown.items)))

    def judge(self, rules: OrderRules, places: bool = False) -> Judged:
        if rules.self_matches == "drop":
            raise UsageError("self=drop, but users and items have separate numbers", expected="self=keep")
        row, rank, gold_at = self.matches
        starts, grades, ordered = self._grades_in_order
        return Judged(
            queries=self.queries,
            row=row,
            rank=rank,
            grade=self.gold.grades[gold_at],
            tie_first=rank,
            tie_last=rank,
            gold_index=gold_at,
            place=self._code_places[gold_at] if places else None,
            depth=np.diff(self.shown.starts),
            present=self.present,
            gold_starts=starts,
            gold_grades=grades,
            relevant_from=None,
            gold_has_order=ordered,
            ties=TieGroups(*np.empty((3, 0), dtype=np.int64)),
        )

    def lists(self, background: Background, k: int, rules: OrderRules) -> Lists:
        codes = np.full((len(self.queries), k), MISSING, dtype=np.int64)
        rank = segments_within(self.shown.starts)
        row = np.repeat(np.arange(len(self.queries)), np.diff(self.shown.starts))
        within = rank < k
        codes[row[within], rank[within]] = self.shown.items[within]
        starts, at = gathered(background.starts, self.rows)
        return Lists(codes, starts, background.history[at], background)

    @cached_property
    def matches(self) -> tuple[Ints, Ints, Ints]:
        """Row, rank and index among the held-out items, of every recommended item that was held out."""
        blocks = cut_into_blocks(self.shown.starts + self.held.starts, _PAIRS_AT_ONCE)
        matches = [self._match(first, last) for first, last in blocks]
        row, rank, gold_at = (np.concatenate(parts) for parts in zip(*matches, strict=True))
        return row, rank, gold_at

    def _match(self, first: int, last: int) -> tuple[Ints, Ints, Ints]:
        """Match the rows from ``first`` to ``last`` − 1."""
        sides = self.shown, self.held
        wanted, known = (side.keys(first, last, self.n_items) for side in sides)
        of_shown, of_held = (int(side.starts[first]) for side in sides)
        for side, keys in zip(sides, (wanted, known), strict=True):
            duplicate = find_duplicate(keys)
            if duplicate is not None:
                place = int(side.starts[first]) + duplicate
                raise DataError(
                    f"duplicate item {side.items[place]}",
                    where=f"{side.where}, row {self.rows[side.row_of(place)]}",
                    expected="each item once in a row",
                )
        at, gold_at = look_up(known, wanted)
        row = np.searchsorted(self.shown.starts, at + of_shown, side="right") - 1
        return row, at + of_shown - self.shown.starts[row] + 1, gold_at + of_held

    @cached_property
    def _grades_in_order(self) -> tuple[Ints, Floats, bool]:
        """The grades best first, row by row, and whether no two of a row are equal."""
        starts, grades = self.held.starts, self.gold.grades
        if not self.graded:
            return starts, grades, bool(np.diff(starts).max() < 2)
        rows = order_rows(starts, grades)
        return starts, grades if rows.order is None else grades[rows.order], rows.first.size == 0

    @cached_property
    def _code_places(self) -> Ints:
        """The place of each held-out item within its row: by grade, equal grades by code."""
        starts = self.held.starts
        row = np.repeat(np.arange(len(self.queries)), np.diff(starts))
        order = np.lexsort((self.held.items, -self.gold.grades, row))
        places = np.empty(order.size, dtype=np.int64)
        places[order] = segments_within(starts) + 1
        return places
