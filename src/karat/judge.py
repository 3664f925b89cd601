"""Gold × ranking → Judged. The only place that orders, de-duplicates and breaks ties.

How it stays cheap: queries are matched by name once; (query, item) pairs become 64-bit keys; a bitmap over the gold's
keys leaves the few rows that can match, and those are joined exactly on the ids themselves. Only the ranks of matched
rows are worked out, and only groups of equal scores that hold one are sorted by id.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.errors import DataError
from karat.ordering import Ordered, TieRule, order_rows
from karat.types import Bools, Floats, Gold, Ints, Judged, Ranking, TieGroups

__all__ = ["Bench", "DuplicateRule", "judge"]

DuplicateRule = Literal["error", "first", "last", "max"]
Keys = NDArray[np.uint64]

_HASH_SEED = 0
_QUERY_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_BITMAP_BITS = (16, 27)
_BITS_PER_GOLD_ITEM = 5


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
    """Look the ranking up in the gold.

    ``scores="single"`` compares scores as 32-bit numbers; ``self_matches="drop"`` takes items out of the ranking whose
    id is the query's; ``places`` also works out each item's place in its query's gold.
    """
    bench = Bench(gold, ranking, duplicates=duplicates)
    return bench.judge(ties=ties, scores=scores, self_matches=self_matches, places=places)


@dataclass(frozen=True)
class _Rows:
    """Rows of gold or ranking whose query is in the gold, grouped by query (CSR)."""

    queries: Ints
    """The row in Judged of each segment's query."""
    starts: Ints
    items: pl.Series
    values: Floats | None
    keys: Keys

    @property
    def query_of_row(self) -> Ints:
        return np.repeat(self.queries, np.diff(self.starts))

    def kept(self, keep: Bools) -> "_Rows":
        kept_before = np.concatenate(([0], np.cumsum(keep)))
        return _Rows(
            self.queries,
            kept_before[self.starts],
            self.items.filter(pl.Series(keep)),
            None if self.values is None else self.values[keep],
            self.keys[keep],
        )


class Bench:
    """A gold and a ranking matched once, to be judged under several tie rules."""

    def __init__(self, gold: Gold, ranking: Ranking, *, duplicates: DuplicateRule = "error") -> None:
        self.queries = gold.queries.sort()
        self.gold, self.ranking = gold, ranking
        gold_items, items = _same_type(gold.items, ranking.items)
        self._gold_rows = self._rows_of(gold.queries, gold.starts, gold_items, gold.grades)
        self._rows = self._rows_of(ranking.queries, ranking.starts, items, ranking.scores)
        self.extra_queries = len(ranking) - self._rows.queries.size
        if self._rows.queries.size == 0:
            raise _nothing_in_common(gold, ranking)
        self._gold_rows, self.gold_duplicates = self._unique(self._gold_rows, duplicates, gold.source)
        self._rows, self.duplicates = self._unique(self._rows, duplicates, ranking.source)

    def judge(self, *, ties: TieRule = "id", scores: str = "double", self_matches: str = "keep", places: bool = False) -> Judged:  # fmt: skip
        rows = self._without_self(self._rows) if self_matches == "drop" else self._rows
        values = rows.values
        if scores == "single" and values is not None:
            values = values.astype(np.float32).astype(np.float64)
        ranked = order_rows(rows.starts, values)
        hit_rows, gold_rows = self._matches(rows)
        positions = ranked.resolved(hit_rows, ties, rows.items)
        return self._assemble(rows, ranked, hit_rows, gold_rows, positions, places)

    def _rows_of(self, queries: pl.Series, starts: Ints, items: pl.Series, values: Floats | None) -> _Rows:
        found = queries.to_frame("query").join(
            self.queries.to_frame("query").with_row_index("row"), on="query", how="left", maintain_order="left"
        )["row"]
        number = found.cast(pl.Int64).fill_null(-1).to_numpy()
        known = number >= 0
        lengths = np.diff(starts)
        if not known.all():
            keep = np.repeat(known, lengths)
            items = items.filter(pl.Series(keep))
            values = None if values is None else values[keep]
            number, lengths = number[known], lengths[known]
            starts = np.concatenate(([0], np.cumsum(lengths)))
        shift = number.astype(np.uint64) * _QUERY_STRIDE
        keys = items.hash(_HASH_SEED).to_numpy() + np.repeat(shift, lengths)
        return _Rows(number, starts, items, values, keys)

    def _matches(self, rows: _Rows) -> tuple[Ints, Ints]:
        """Row numbers in the ranking and in the gold of the pairs that both have, in the ranking's order."""
        gold = self._gold_rows
        bits = int(np.clip(np.ceil(np.log2(gold.keys.size + 1)) + _BITS_PER_GOLD_ITEM, *_BITMAP_BITS))
        shift = np.uint64(64 - bits)
        bitmap = np.zeros(1 << bits, dtype=bool)
        bitmap[gold.keys >> shift] = True
        candidates = np.flatnonzero(bitmap[rows.keys >> shift])
        left = pl.DataFrame(
            {"query": rows.query_of_row[candidates], "item": rows.items.gather(candidates), "at": candidates}
        )
        right = pl.DataFrame({"query": gold.query_of_row, "item": gold.items}).with_row_index("gold_at")
        joined = left.join(right, on=["query", "item"], how="inner", maintain_order="left")
        return joined["at"].to_numpy(), joined["gold_at"].cast(pl.Int64).to_numpy()

    def _unique(self, rows: _Rows, rule: DuplicateRule, source: str) -> tuple[_Rows, int]:
        """Each (query, item) once, by the rule; and how many rows were dropped."""
        ordered = np.sort(rows.keys)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if repeated.size == 0:
            return rows, 0
        suspects = np.flatnonzero(np.isin(rows.keys, repeated))
        frame = pl.DataFrame(
            {"query": rows.query_of_row[suspects], "item": rows.items.gather(suspects), "at": suspects}
        ).with_columns(value=0.0 if rows.values is None else pl.Series(rows.values[suspects]))
        frame = frame.filter(frame.select("query", "item").is_duplicated())
        if frame.is_empty():
            return rows, 0
        if rule == "error":
            raise self._duplicate_error(frame, source)
        if rule == "max":
            frame = frame.sort("value", descending=True, maintain_order=True)
        held = frame.unique(["query", "item"], keep="last" if rule == "last" else "first", maintain_order=True)
        keep = np.ones(rows.keys.size, dtype=bool)
        keep[frame["at"].to_numpy()] = False
        keep[held["at"].to_numpy()] = True
        return rows.kept(keep), int(keep.size - keep.sum())

    def _duplicate_error(self, frame: pl.DataFrame, source: str) -> DataError:
        query, item = self.queries[frame["query"][0]], frame["item"][0]
        pairs = frame.select("query", "item").n_unique()
        return DataError(
            f"item {item!r} stands more than once for query {query!r} ({pairs:,} such pairs)",
            where=source,
            expected="each (query, item) pair once",
            hint="Keep one of them with --duplicates first, last or max.",
        )

    def _without_self(self, rows: _Rows) -> _Rows:
        """Leaves out items whose id is their query's."""
        names = self.queries.cast(rows.items.dtype, strict=False)
        own = names.hash(_HASH_SEED).to_numpy() + np.arange(len(names)).astype(np.uint64) * _QUERY_STRIDE
        suspects = np.flatnonzero(rows.keys == own[rows.query_of_row])
        same = (rows.items.gather(suspects) == names.gather(rows.query_of_row[suspects])).fill_null(False).to_numpy()
        keep = np.ones(rows.keys.size, dtype=bool)
        keep[suspects[same]] = False
        return rows.kept(keep)

    def _assemble(
        self, rows: _Rows, ranked: Ordered, hit_rows: Ints, gold_at: Ints, positions: Ints, places: bool
    ) -> Judged:
        size = len(self.queries)
        first_row = np.zeros(size, dtype=np.int64)
        first_row[rows.queries] = rows.starts[:-1]
        depth = np.zeros(size, dtype=np.int64)
        depth[rows.queries] = np.diff(rows.starts)
        present = np.zeros(size, dtype=bool)
        present[rows.queries] = True
        row = rows.query_of_row[hit_rows]
        group = ranked.tie_group(positions)
        tied = group >= 0
        first = np.where(tied, ranked.first[group] if tied.any() else 0, positions)
        last = np.where(tied, ranked.last[group] if tied.any() else 0, positions)
        order = np.lexsort((positions, row))
        row = row[order]
        base = first_row[row] - 1
        grades = self._gold_rows.values
        assert grades is not None  # noqa: S101 - gold always has grades
        gold_starts, gold_grades, place, has_order = self._gold_by_grade(gold_at[order], places)
        tie_rows = np.searchsorted(rows.starts, ranked.first, side="right") - 1
        tie_query = rows.queries[tie_rows]
        return Judged(
            queries=self.queries,
            row=row,
            rank=positions[order] - base,
            grade=grades[gold_at[order]],
            tie_first=first[order] - base,
            tie_last=last[order] - base,
            gold_index=gold_at[order],
            place=place,
            depth=depth,
            present=present,
            gold_starts=gold_starts,
            gold_grades=gold_grades,
            relevant_from=self.gold.relevant_from,
            gold_has_order=has_order,
            ties=TieGroups(
                tie_query, ranked.first - first_row[tie_query] + 1, ranked.last - first_row[tie_query] + 1
            ),
        )

    def _gold_by_grade(self, gold_at: Ints, places: bool) -> tuple[Ints, Floats, Ints | None, bool]:
        """The gold's grades best first, query by query in the order of Judged; and places of the matched items."""
        gold = self._gold_rows
        ranked = order_rows(gold.starts, gold.values)
        values = gold.values if ranked.order is None else gold.values[ranked.order]  # type: ignore[index]
        lengths = np.zeros(len(self.queries), dtype=np.int64)
        lengths[gold.queries] = np.diff(gold.starts)
        starts = np.concatenate(([0], np.cumsum(lengths)))
        target = np.repeat(starts[gold.queries], np.diff(gold.starts))
        segment_start = np.repeat(gold.starts[:-1], np.diff(gold.starts))
        grades = np.empty(gold.keys.size)
        grades[target + np.arange(gold.keys.size) - segment_start] = values
        place = None
        if places:
            place = ranked.resolved(gold_at, "id", gold.items) - segment_start[gold_at] + 1
        return starts, grades, place, ranked.first.size == 0


def _same_type(left: pl.Series, right: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Ids of both sides in one type: whole numbers if both are, else strings."""
    if left.dtype == right.dtype:
        return left, right
    return left.cast(pl.String), right.cast(pl.String)


def _nothing_in_common(gold: Gold, ranking: Ranking) -> DataError:
    def shown(queries: pl.Series) -> str:
        return ", ".join(map(repr, queries.head(3))) + (" …" if len(queries) > 3 else "")

    return DataError(
        f"no query in common: the gold has {shown(gold.queries)}, the ranking has {shown(ranking.queries)}",
        where=f"{gold.source} × {ranking.source}",
        expected="the same query ids on both sides",
        hint="Check prefixes, leading zeros, and that these two files belong together.",
    )
