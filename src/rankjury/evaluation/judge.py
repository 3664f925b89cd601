"""Gold × ranking → Judged. The only place that orders, de-duplicates and breaks ties.

Queries are matched by name once; ``match_rows`` finds the judged rows, ``ordering`` their ranks. Only the ranks of
judged rows are computed, and only groups of equal scores that hold one are sorted by id.

(query, item) pairs become 64-bit keys. A bitmap over the gold's keys leaves the few rows that can match; those are
joined on the keys, and compared by the ids themselves. Pairs whose keys are equal are compared by their ids as well, so
the result does not depend on two hashes being different.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import (
    ROW_NUMBER,
    Background,
    Bools,
    Floats,
    Gold,
    Ints,
    Lists,
    Ranking,
    Runs,
    cut_into_blocks,
    gathered,
    in_threads,
    places_in,
    segments_within,
)
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, DuplicatePair, UnknownName, UsageError
from rankjury.evaluation.shared_ids import IdSample, SharedIds, no_item_in_common
from rankjury.measures.judged import Judged, RowOrder, TieGroups, TieRule, order_rows

DuplicateRule = Literal["error", "first", "last", "max"]
Keys = NDArray[np.uint64]

_HASH_SEED = 0
_QUERY_STRIDE = np.uint64(0x9E3779B97F4A7C15)


class OrderRules(NamedTuple):
    """Rules by which the items of a ranking are put in order."""

    ties: TieRule = "id"
    scores: str = "double"
    """``single`` compares scores as 32-bit numbers."""
    self_matches: str = "keep"
    """``drop`` takes items out of the ranking whose id is the query's."""


@dataclass(frozen=True, eq=False)
class QueryRows:
    """Rows of gold or ranking whose query is in the gold, grouped by query (CSR)."""

    queries: Ints
    """The row in Judged of each segment's query."""
    starts: Ints
    items: pl.Series
    values: Floats | None
    numbered: bool
    """Whether items are row numbers, also where they were cast to the strings of the other side."""

    @property
    def tie_ids(self) -> pl.Series:
        """The ids by which equal values are ordered."""
        return self.items.cast(ROW_NUMBER) if self.numbered else self.items

    def query_of(self, rows: Ints) -> Ints:
        """Return the query's row in Judged, for row numbers here."""
        return self.queries[np.searchsorted(self.starts, rows, side="right") - 1]

    def keys(self, first: int, last: int) -> Keys:
        """Return the keys of the rows of the segments from ``first`` up to ``last``."""
        low, high = int(self.starts[first]), int(self.starts[last])
        shift = self.queries[first:last].astype(np.uint64) * _QUERY_STRIDE
        hashes = self.items.slice(low, high - low).hash(_HASH_SEED).to_numpy()
        return np.asarray(hashes + np.repeat(shift, np.diff(self.starts[first : last + 1])))

    def select(self, mask: Bools) -> "QueryRows":
        starts = np.concatenate(([0], np.cumsum(mask)))[self.starts]
        values = None if self.values is None else self.values[mask]
        return replace(self, starts=starts, items=self.items.filter(pl.Series(mask)), values=values)

    def without(self, rows: Ints) -> "QueryRows":
        mask = np.ones(len(self.items), dtype=bool)
        mask[rows] = False
        return self.select(mask)


def match_rows(gold: QueryRows, ranking: QueryRows) -> tuple[Ints, Ints, bool]:
    """Return row numbers in the ranking and in the gold of the pairs that both have, in the ranking's order.

    The third value is whether the ranking may have duplicate pairs.
    """
    gold_keys = gold.keys(0, gold.queries.size)
    bits = int(np.clip(np.ceil(np.log2(gold_keys.size + 1)) + 5, 16, 27))
    shift = np.uint64(64 - bits)
    bitmap = np.zeros(1 << bits, dtype=bool)
    bitmap[gold_keys >> shift] = True

    def match_block(first: int, last: int) -> tuple[pl.DataFrame, bool]:
        keys = ranking.keys(first, last)
        slots = (keys >> shift).view(np.int64)
        near = np.flatnonzero(bitmap.take(slots))
        candidates = pl.DataFrame({"key": keys[near], "at": near + ranking.starts[first]})
        keys.sort()
        return candidates, bool((keys[1:] == keys[:-1]).any())

    results = list(in_threads(match_block, cut_into_blocks(ranking.starts)))
    if not results:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), False
    right = pl.DataFrame({"key": gold_keys, "gold_at": np.arange(gold_keys.size)})
    joined = pl.concat([block for block, _ in results]).join(right, on="key", how="inner", maintain_order="left")
    at, gold_at = joined["at"].to_numpy(), joined["gold_at"].to_numpy()
    # Where items and keys are equal, so are queries: an odd stride takes no two of them to one number.
    same = (ranking.items.gather(at) == gold.items.gather(gold_at)).to_numpy()
    return at[same], gold_at[same], any(suspect for _, suspect in results)


def drop_duplicates(rows: QueryRows, rule: DuplicateRule, queries: pl.Series, source: str) -> QueryRows:
    """Keep one of each duplicate (query, item) pair, by the rule."""
    keys = rows.keys(0, rows.queries.size)
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if repeated.size == 0:
        return rows
    at = np.flatnonzero(np.isin(keys, repeated))
    frame = pl.DataFrame({"query": rows.query_of(at), "item": rows.items.gather(at), "at": at})
    frame = frame.filter(frame.select("query", "item").is_duplicated())
    if frame.is_empty():
        return rows
    if rule == "error":
        query, item = str(queries[int(frame["query"][0])]), str(frame["item"][0])
        raise DuplicatePair(query, item, frame.select("query", "item").n_unique(), source)
    if rule == "max" and rows.values is not None:
        frame = frame.with_columns(pl.Series("value", rows.values[frame["at"].to_numpy()]))
        frame = frame.sort("value", descending=True, maintain_order=True)
    unique = frame.unique(["query", "item"], keep="last" if rule == "last" else "first", maintain_order=True)
    return rows.without(np.setdiff1d(frame["at"].to_numpy(), unique["at"].to_numpy()))


@check_arguments
def judge(
    gold: Gold,
    ranking: Ranking,
    *,
    ties: TieRule = "id",
    scores: str = "double",
    self_matches: str = "keep",
    duplicates: DuplicateRule = "error",
    places: bool = False,
) -> Judged:
    """Look up the grades of a ranking's items in the gold.

    ``scores="single"`` compares scores as 32-bit numbers; ``self_matches="drop"`` takes items out of the ranking whose
    id is the query's; ``places`` also works out each item's place in its query's gold.
    """
    return MatchedRanking(gold, ranking, duplicates=duplicates).judge(OrderRules(ties, scores, self_matches), places)


@dataclass(frozen=True, eq=False)
class CatalogPositions:
    """The rankings of all queries, one after the other, as places in a catalogue."""

    codes: NDArray[np.int32]
    """By position, the item's place in the catalogue; −1 for an item that it lacks."""
    first: Ints
    """The position of the first item of each query."""

    def skipping(self, judged: Judged, members: Bools) -> Judged:
        """Return the judging with ranks counted among some items only, those of the catalogue that are ``members``.

        The last of ``members`` is for items that the catalogue lacks. Judged items that are not among them are to be
        dropped: their ranks mean nothing.
        """
        total = np.concatenate(([0], np.cumsum(members[self.codes])))

        def above(row: Ints, rank: Ints) -> Ints:
            """Count the items above each rank."""
            start = self.first[row]
            return np.asarray(total[start + rank - 1] - total[start])

        ties = judged.ties
        first, last = above(ties.row, ties.first) + 1, above(ties.row, ties.last + 1)
        tied = last > first
        return replace(
            judged,
            rank=above(judged.row, judged.rank + 1),
            tie_first=above(judged.row, judged.tie_first) + 1,
            tie_last=above(judged.row, judged.tie_last + 1),
            depth=above(np.arange(len(judged)), judged.depth + 1),
            ties=TieGroups(ties.row[tied], first[tied], last[tied]),
        )


class MatchedRanking:
    """A gold and a ranking matched once, to be judged under several tie rules."""

    def __init__(
        self, gold: Gold, ranking: Ranking, *, duplicates: DuplicateRule = "error", allow_disjoint_queries: bool = False
    ) -> None:
        """Match both; ``allow_disjoint_queries``: whether they may have no query, or no item, in common."""
        if duplicates not in get_args(DuplicateRule):
            raise UnknownName("rule for duplicates", duplicates, get_args(DuplicateRule))
        gold = gold.against(ranking)
        self.queries = gold.sorted_queries
        self._given = gold
        item_type = ranking.items.dtype if gold.items.dtype == ranking.items.dtype else pl.String()
        gold_rows = unique_gold = self._rows_of(gold, gold.grades, item_type)
        if not gold.remembered.get("unique"):
            unique_gold = drop_duplicates(gold_rows, duplicates, self.queries, gold.source)
            gold.remembered["unique"] = unique_gold is gold_rows
        rows = unique_rows = self._rows_of(ranking, ranking.scores, item_type)
        if rows.queries.size == 0 and not allow_disjoint_queries:
            raise _nothing_in_common(gold, ranking)
        self.extra_queries = len(ranking) - rows.queries.size
        self._matched = match_rows(unique_gold, rows)
        if self._matched[2]:
            unique_rows = drop_duplicates(rows, duplicates, self.queries, ranking.source)
            self._matched = match_rows(unique_gold, unique_rows)
        self._gold_rows, self._rows = unique_gold, unique_rows
        self.dropped = len(rows.items) - len(unique_rows.items)
        self.dropped_of_gold = len(gold_rows.items) - len(unique_gold.items)
        self.gold = replace(gold, starts=unique_gold.starts, items=unique_gold.items, grades=self._grades)
        self.joinable, self.depth = allow_disjoint_queries, ranking.depth
        # A gold that lists only what the ranking names was made with the catalogue.
        self.same_ids = ranking.same_ids or gold.counted is not None
        if self._matched[0].size == 0 and not allow_disjoint_queries:
            self.check_items(f"{gold.source} × {ranking.source}")

    def check_items(self, where: str) -> None:
        """Refuse item ids that are spelled differently in gold and ranking; call it where no item was matched."""
        if not self.same_ids and self.shared_ids.surely_disjoint:
            raise no_item_in_common(self.shared_ids, where)

    @cached_property
    def shared_ids(self) -> SharedIds:
        """Which items gold and ranking have in common, over the queries that both have."""
        gold, items = self._gold_rows, self._gold_rows.items
        if not self.present.all():
            items = items.filter(pl.Series(np.repeat(self.present[gold.queries], np.diff(gold.starts))))
        return SharedIds(IdSample.of(items), IdSample.of(self._rows.items))

    @cached_property
    def present(self) -> Bools:
        """Which of the queries the ranking has."""
        present = np.zeros(len(self.queries), dtype=bool)
        present[self._rows.queries] = True
        return present

    @cached_property
    def deepest(self) -> int:
        """How many items the longest list has."""
        return int(np.diff(self._rows.starts).max(initial=0))

    @property
    def _grades(self) -> Floats:
        return np.asarray(self._gold_rows.values, dtype=np.float64)

    def _rows_of(self, side: Gold | Ranking, values: Floats | None, item_type: pl.DataType) -> QueryRows:
        """Return the rows of queries that the gold has, each segment numbered by its place among them."""
        number = places_in(self.queries, side.queries)
        rows = QueryRows(number, side.starts, side.items.cast(item_type), values, side.items.dtype == ROW_NUMBER)
        known = number >= 0
        if known.all():
            return rows
        lengths = np.diff(rows.starts)
        starts = np.concatenate(([0], np.cumsum(lengths[known])))
        return replace(rows.select(np.repeat(known, lengths)), queries=number[known], starts=starts)

    def _ordered(self, rules: OrderRules) -> tuple[QueryRows, RowOrder]:
        """Return the ranking's rows, without items whose id is their query's where the rules drop these, and order."""
        rows = self._rows
        if rules.self_matches == "drop":
            names = self.queries.cast(rows.items.dtype, strict=False)
            query_hashes = names.hash(_HASH_SEED).to_numpy()[rows.queries]
            hashes = rows.items.hash(_HASH_SEED).to_numpy()
            suspects = np.flatnonzero(hashes == np.repeat(query_hashes, np.diff(rows.starts)))
            same = rows.items.gather(suspects) == names.gather(rows.query_of(suspects))
            rows = rows.without(suspects[same.fill_null(False).to_numpy()])
        return rows, order_rows(rows.starts, rows.values, single=rules.scores == "single")

    def judge(self, rules: OrderRules, places: bool = False) -> Judged:
        """Judge the ranking under one set of rules; ``places``: also each item's place in its query's gold."""
        if places and self.gold.counted is not None:
            raise UsageError(
                "the gold is too large to be put in order", where=self.gold.source, expected="measures without gold=k"
            )
        rows, ranked = self._ordered(rules)
        at, gold_at, _ = self._matched if rows is self._rows else match_rows(self._gold_rows, rows)
        positions = ranked.resolved(at, rules.ties, rows.tie_ids)
        first_row, depth = np.zeros((2, len(self.queries)), dtype=np.int64)
        first_row[rows.queries] = rows.starts[:-1]
        depth[rows.queries] = np.diff(rows.starts)
        row = rows.query_of(at)
        order = np.lexsort((positions, row))
        row, positions, gold_at = row[order], positions[order], gold_at[order]
        before = first_row[row] - 1
        first, last = ranked.tie_bounds(positions)
        tied = np.searchsorted(rows.starts, ranked.first, side="right") - 1
        before_tied = rows.starts[tied] - 1
        starts, grades = np.zeros(1, dtype=np.int64), np.empty(0)
        if self.gold.counted is None:
            starts, by_grade = self._gold_by_grade
            grades = self._grades[by_grade]
        return Judged(
            queries=self.queries,
            row=row,
            rank=positions - before,
            grade=self._grades[gold_at],
            tie_first=first - before,
            tie_last=last - before,
            gold_index=gold_at,
            place=self._places(gold_at) if places else None,
            depth=depth,
            present=self.present,
            gold_starts=starts,
            gold_grades=grades,
            relevant_from=self.gold.relevant_from,
            gold_has_order=self.gold.ordered or (self.gold.counted is None and self._gold_order.first.size == 0),
            ties=TieGroups(rows.queries[tied], ranked.first - before_tied, ranked.last - before_tied),
            counted=self._counted,
            highest_of_whole=self.gold.highest_of_whole,
        )

    def lists(self, background: Background, k: int, rules: OrderRules) -> Lists:
        """Return the first k items of every query as places in the catalogue; −1 for items that it lacks."""
        rows, ranked = self._ordered(rules)
        positions = ranked.resolved(np.arange(len(rows.items)), rules.ties, rows.tie_ids)
        rank = positions - np.repeat(rows.starts[:-1], np.diff(rows.starts))
        top = np.flatnonzero(rank < k)
        codes = np.full((len(self.queries), k), -1, dtype=np.int64)
        codes[rows.query_of(top), rank[top]] = places_in(background.items, rows.items.gather(top).cast(pl.String))
        return Lists(codes, *background.histories(self.queries), background)

    def places(self, catalogue: pl.Series, rules: OrderRules) -> CatalogPositions:
        """Return the rankings as places in the catalogue, whose ids are strings in ascending order."""
        rows, ranked = self._ordered(rules)
        positions = ranked.resolved(np.arange(len(rows.items)), rules.ties, rows.tie_ids)
        codes = np.empty(positions.size, dtype=np.int32)
        codes[positions] = places_in(catalogue, rows.items.cast(pl.String))
        first = np.zeros(len(self.queries), dtype=np.int64)
        first[rows.queries] = rows.starts[:-1]
        return CatalogPositions(codes, first)

    def within(self, judged: Judged, kept: Bools) -> Judged:
        """Restrict a judging to some rows of the gold; queries that have none of them are left out."""
        starts, at = self._gold_by_grade
        part = judged.select(kept[judged.gold_index], kept[at])
        equal = part.gold_grades[1:] == part.gold_grades[:-1]
        firsts = part.gold_starts[1:-1]
        equal[firsts[(firsts > 0) & (firsts <= equal.size)] - 1] = False
        place = None
        if part.place is not None:
            # The place among the gold items of the query that are kept.
            rows = np.arange(kept.size)
            first = starts[self._gold_rows.query_of(rows)]
            at = first + self._places(rows) - 1
            before = np.zeros(kept.size + 1, dtype=np.int64)
            before[at + 1] = kept
            np.cumsum(before, out=before)
            place = (before[at + 1] - before[first])[part.gold_index]
        return replace(part, place=place, gold_has_order=judged.gold_has_order or not equal.any()).without_empty()

    @cached_property
    def _counted(self) -> Runs | None:
        """The numbers of items by grade, query by query in the order of Judged."""
        runs = self.gold.counted
        if runs is None:
            return None
        starts, at = gathered(runs.starts, self.gold.queries.arg_sort().to_numpy())
        return Runs(starts, runs.grades[at], runs.counts[at])

    @cached_property
    def _gold_order(self) -> RowOrder:
        known, rows = self._given.remembered, self._gold_rows
        if not known["unique"]:
            return order_rows(rows.starts, rows.values)
        if "order" not in known:
            known["order"] = order_rows(rows.starts, rows.values)
        return cast(RowOrder, known["order"])

    @cached_property
    def _gold_by_grade(self) -> tuple[Ints, Ints]:
        """The gold's rows by grade, best first, query by query in the order of Judged (CSR)."""
        gold, order = self._gold_rows, self._gold_order.order
        lengths = np.zeros(len(self.queries), dtype=np.int64)
        lengths[gold.queries] = np.diff(gold.starts)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        target = np.repeat(starts[gold.queries], np.diff(gold.starts)) + segments_within(gold.starts)
        at = np.empty(target.size, dtype=np.int64)
        at[target] = np.arange(target.size) if order is None else order
        return starts, at

    def _places(self, gold_at: Ints) -> Ints:
        """The place of gold items within their query: by grade, equal grades by id."""
        gold = self._gold_rows
        first = np.repeat(gold.starts[:-1], np.diff(gold.starts))
        return self._gold_order.resolved(gold_at, "id", gold.tie_ids) - first[gold_at] + 1


def _nothing_in_common(gold: Gold, ranking: Ranking) -> DataError:
    def shown(queries: pl.Series) -> str:
        return ", ".join(map(repr, queries.head(3))) + (" …" if len(queries) > 3 else "")

    def numbered(queries: pl.Series) -> bool:
        first = queries.head(3).cast(pl.String).to_list()
        return bool(first) and first == ["0", "1", "2"][: len(first)]

    hint = "Check prefixes, leading zeros, and that these two files belong together."
    if numbered(ranking.queries) or numbered(gold.queries):
        hint = (
            "If 0, 1, 2 … are numbers of rows: pass {query: [items]} instead of an array, or give rankjury neighbours "
            "the ids, --ids FILE or --queries-ids FILE."
        )
    return DataError(
        f"no query in common: the gold has {shown(gold.queries)}, the ranking has {shown(ranking.queries)}",
        where=f"{gold.source} × {ranking.source}",
        expected="the same query ids on both sides",
        hint=hint,
    )
