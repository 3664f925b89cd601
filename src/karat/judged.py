"""Judged: a ranking with the gold looked up, the waist between where things come from and arithmetic."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from karat.lists import Lists
from karat.types import Bools, Floats, Ints, Runs, freeze, segments_within

__all__ = ["Judged", "TieGroups"]

_PER_HIT = ("row", "rank", "grade", "tie_first", "tie_last", "gold_index", "place")
_MOST_LAID_OUT = 1 << 22


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Runs of equal scores: the query's row, and the first and last rank that share a score."""

    row: Ints
    first: Ints
    last: Ints

    def __post_init__(self) -> None:
        freeze(self)

    def queries_tied_at(self, k: int) -> int:
        """How many queries have the same score at ranks k and k + 1."""
        return int(np.unique(self.row[(self.first <= k) & (k < self.last)]).size)


@dataclass(frozen=True, eq=False)
class Judged:
    """The ranking with the gold looked up: the waist between where things come from and arithmetic.

    Sparse: only judged items that were retrieved are held, as parallel arrays sorted by (row, rank). Row i is the
    i-th gold query in ascending order of id, whether it was retrieved or not.
    """

    queries: pl.Series
    row: Ints
    rank: Ints
    grade: Floats
    tie_first: Ints
    tie_last: Ints
    """First and last rank of the group of equal scores that the item stands in (its own rank where it is alone)."""
    gold_index: Ints
    """Which row of the Gold's arrays the item is."""
    place: Ints | None
    """Place in the query's gold, best grade first, equal grades by id; None unless it was asked for."""
    depth: Ints
    """How many items were retrieved for each query."""
    present: Bools
    """Whether the ranking has the query at all."""
    gold_starts: Ints
    gold_grades: Floats
    """The gold's grades, best first within each query (CSR with ``gold_starts``)."""
    relevant_from: float | None
    gold_has_order: bool
    """Grades give an order: no two items of a query share one, or they are places of a list."""
    ties: TieGroups
    counted: Runs | None = None
    """The gold's grades by number, where they are too many to be held one by one: ``parts`` lays them out."""
    whole: "Judged | None" = None
    """What these queries are a part of."""
    lists: Lists | None = None
    """The lists that were shown, where a measure looks at them."""
    highest_of_whole: float | None = None
    """The highest grade of the whole gold, where only some of its items are held: a slice has the same scale."""

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def gold_rows(self) -> Ints:
        """The query row of each entry of ``gold_grades``."""
        return np.repeat(np.arange(len(self)), np.diff(self.gold_starts))

    @cached_property
    def gold_places(self) -> Ints:
        """The place (from 1) of each entry of ``gold_grades`` within its query."""
        return segments_within(self.gold_starts) + 1

    @cached_property
    def relevant_counts(self) -> dict[float | None, Floats]:
        """How many relevant items each query has, by the threshold asked for; filled as they are asked for."""
        return {}

    @cached_property
    def highest(self) -> float:
        """The highest grade of any query's gold, 0 where there is none above; of a part, that of the whole gold."""
        if self.whole is not None:
            return self.whole.highest
        if self.highest_of_whole is not None:
            return self.highest_of_whole
        grades = self.gold_grades if self.counted is None else self.counted.grades[self.counted.counts > 0]
        return float(grades.max(initial=0.0))

    def parts(self) -> Iterator["Judged"]:
        """The same for some queries at a time, with the gold's grades one by one; alone where they are so already."""
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

    def _part(self, first: int, last: int, counted: Runs) -> "Judged":
        hits = slice(*np.searchsorted(self.row, (first, last)).tolist())
        runs = slice(*counted.starts[[first, last]].tolist())
        numbers = counted.counts[runs]
        ends = np.concatenate(([0], np.cumsum(numbers)))
        tied = (self.ties.row >= first) & (self.ties.row < last)
        per_hit: dict[str, Any] = {name: getattr(self, name)[hits] for name in _PER_HIT if name not in ("row", "place")}
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
            **per_hit,
        )

    def cut_gold(self, k: int, *, tied: bool = False) -> "Judged":
        """The same ranking judged against the k best gold items of each query only.

        ``tied``: against all whose grade is the k-th's or better. Else equal grades go by id.
        """
        if tied and self.counted is not None:
            return self._cut_counted(k, self.counted)
        if tied:
            lowest = self._kth_grades(k)
            held, kept = self.grade >= lowest[self.row], self.gold_grades >= lowest[self.gold_rows]
        elif self.place is None:
            raise ValueError("judge with places=True to cut the gold")
        else:
            held, kept = self.place <= k, self.gold_places <= k
        return self.keeping(held, kept)

    def keeping(self, held: Bools, kept: Bools) -> "Judged":
        """With some of the judged items that were retrieved, and some of the gold's grades."""
        hits = np.flatnonzero(held)
        per_hit: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name).take(hits) for name in _PER_HIT
        }
        starts = np.concatenate(([0], np.cumsum(kept)))[self.gold_starts]
        kept_grades = self.gold_grades[kept]
        return replace(self, **per_hit, gold_starts=starts, gold_grades=kept_grades, highest_of_whole=self.highest)

    def without_empty(self) -> "Judged":
        """Without the queries that have no gold."""
        held = np.diff(self.gold_starts) > 0
        number, tied = np.cumsum(held) - 1, held[self.ties.row]
        return replace(
            self,
            queries=self.queries.filter(held),
            row=number[self.row],
            depth=self.depth[held],
            present=self.present[held],
            gold_starts=np.append(self.gold_starts[:-1][held], self.gold_starts[-1]),
            ties=TieGroups(number[self.ties.row[tied]], self.ties.first[tied], self.ties.last[tied]),
        )

    def _cut_counted(self, k: int, runs: Runs) -> "Judged":
        """The same where grades are told by number: runs that begin behind the k-th item count none."""
        total, lengths = np.concatenate(([0], np.cumsum(runs.counts))), np.diff(runs.starts)
        query = np.repeat(np.arange(len(self)), lengths)
        before = total[:-1] - np.repeat(total[runs.starts[:-1]], lengths)
        reached = (before < k) & (runs.counts > 0)
        lowest = np.full(len(self), np.inf)
        np.minimum.at(lowest, query[reached], runs.grades[reached])
        hits = np.flatnonzero(self.grade >= lowest[self.row])
        per_hit: dict[str, Any] = {name: getattr(self, name).take(hits) for name in _PER_HIT if name != "place"}
        counts = np.where(runs.grades >= lowest[query], runs.counts, 0)
        return replace(self, **per_hit, counted=Runs(runs.starts, runs.grades, counts))

    def _kth_grades(self, k: int) -> Floats:
        """The grade of each query's k-th gold item, or of its last; infinite where it has none."""
        lengths = np.diff(self.gold_starts)
        last = self.gold_starts[:-1] + np.minimum(lengths, k) - 1
        return np.where(lengths > 0, np.append(self.gold_grades, np.inf)[last], np.inf)
