"""Rankings laid on each other once: (query, item) pairs × lists.

Pairs stand by query and then by item, both in ascending order of id, so that "as they stand" breaks ties by id. Queries
and items are matched by name once; all that comes after is arithmetic on arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.convert import ITEM, QUERY
from rankjury.core.types import (
    ROW_NUMBER,
    Bools,
    Floats,
    Ints,
    Ranking,
    cut_into_blocks,
    in_threads,
    segments_within,
    sort_key,
)
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError
from rankjury.retrieval.fusion.fusion import METHODS, NORMALIZATIONS, Fusion


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows of all rankings by query, item and ranking, the names in ascending order of id."""

    queries: pl.Series
    items: pl.Series
    """The distinct ones."""
    query: Ints
    item: Ints
    """Of each row, as places among the distinct ones."""
    ranking: Ints
    at: Ints
    """Where the row stands in its ranking."""
    is_new: Bools
    """Whether the row is the first of its (query, item) pair."""

    @classmethod
    def of(cls, rankings: Sequence[Ranking]) -> "Rows":
        queries = pl.concat([ranking.queries for ranking in rankings]).unique().sort().rename(QUERY)
        items, item = _numbered_items([ranking.items for ranking in rankings])
        numbers = (_numbers(ranking.queries.rename(QUERY), queries) for ranking in rankings)
        query = np.concatenate(
            [np.repeat(own, np.diff(ranking.starts)) for own, ranking in zip(numbers, rankings, strict=True)]
        )
        lengths = [len(ranking.items) for ranking in rankings]
        of_ranking = np.repeat(np.arange(len(rankings)), lengths)
        at = np.concatenate([np.arange(length) for length in lengths])
        keys = (query * len(items) + item) * len(rankings) + of_ranking
        order = np.argsort(keys)
        keys = keys[order]
        is_new = np.ones(keys.size, dtype=bool)
        is_new[1:] = np.diff(keys // len(rankings)) > 0
        rows = cls(queries, items, query[order], item[order], of_ranking[order], at[order], is_new)
        again = np.flatnonzero(keys[1:] == keys[:-1])
        if again.size:
            row = int(again[0])
            twice, asked = items[int(rows.item[row])], queries[int(rows.query[row])]
            raise DataError(
                f"item {str(twice)!r} stands more than once for query {asked!r}",
                where=rankings[rows.ranking[row]].source,
                expected="each (query, item) pair once",
            )
        return rows


def _numbered_items(given: list[pl.Series]) -> tuple[pl.Series, Ints]:
    """The distinct items in ascending order of id, and the number among them of each item given.

    Whole numbers stay what they are if all are, but are in the order of their decimal form. Where some are row
    numbers and the ids of the others name rows too, all are in the order of these numbers.
    """
    dtypes = {items.dtype for items in given}
    if len(dtypes) > 1:
        given = [items.cast(pl.String) for items in given]
        if ROW_NUMBER in dtypes and all(_are_row_numbers(items) for items in given):
            given = [items.cast(ROW_NUMBER) for items in given]
    items = pl.concat([each.rename(ITEM) for each in given])
    distinct = items.unique()
    distinct = distinct.gather(sort_key(distinct).arg_sort())
    return distinct, _numbers(items, distinct)


def _are_row_numbers(ids: pl.Series) -> bool:
    """Whether all are whole numbers as rankjury writes them: 7, but not 07."""
    return bool((ids.cast(ROW_NUMBER, strict=False).cast(pl.String) == ids).fill_null(False).all())


def _numbers(names: pl.Series, distinct: pl.Series) -> Ints:
    numbered = distinct.to_frame().with_row_index("number")
    joined = names.to_frame().join(numbered, on=distinct.name, how="left", maintain_order="left")
    return np.asarray(joined["number"].cast(pl.Int64).to_numpy())


def starts_of(query: Ints, queries: int) -> Ints:
    """CSR starts of rows that are grouped by query."""
    return np.concatenate(([0], np.cumsum(np.bincount(query, minlength=queries))))


def descending(starts: Ints, values: Floats) -> Ints:
    """The rows of each segment in descending order of value, equal ones as they stand.

    As ``ordering.order_rows``, but by a stable sort: here nearly every value may have its equal, and all rows are asked
    for, which tells ties apart six times faster than one group after the other.
    """

    def of_block(first: int, last: int) -> Ints:
        low, high = int(starts[first]), int(starts[last])
        by_value = np.argsort(-values[low:high], kind="stable")
        segment = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
        packed = (segment[by_value] << 32) | np.arange(high - low)
        packed.sort()
        return np.asarray(low + by_value[packed & 0xFFFFFFFF])

    return np.concatenate([np.empty(0, dtype=np.int64), *in_threads(of_block, cut_into_blocks(starts))])


@check_arguments
def fuse(rankings: Sequence[Ranking], fusion: Fusion, source: str = "fusion") -> Ranking:
    """One ranking out of several: all queries and all items that any of them has."""
    return Aligned.of(rankings).fuse(fusion, source)


@dataclass(frozen=True, eq=False)
class Listed:
    """One ranking over the pairs, in order of rank within each query (CSR over all queries)."""

    starts: Ints
    pair: Ints
    score: Floats
    """Falling with the place where the ranking had none."""

    @classmethod
    def of(cls, starts: Ints, pair: Ints, score: Floats) -> "Listed":
        """Rows in order of their pair brought in order of rank: by score, equal ones by id."""
        order = descending(starts, score)
        return cls(starts, pair[order], score[order])

    @property
    def rank(self) -> Ints:
        return segments_within(self.starts) + 1

    def cut(self, depth: int, number: Ints) -> "Listed":
        """The first ``depth`` of each query; ``number`` is what each pair is called from now on."""
        kept = self.rank <= depth
        starts = np.concatenate(([0], np.cumsum(np.minimum(np.diff(self.starts), depth))))
        return Listed(starts, number[self.pair[kept]], self.score[kept])


@dataclass(frozen=True, eq=False)
class Aligned:
    """Rankings laid on each other. Make it with :meth:`of`."""

    queries: pl.Series
    starts: Ints
    """The pairs of the i-th query are ``starts[i]:starts[i + 1]``."""
    distinct_items: pl.Series
    item: Ints
    """The item of each pair, as its place among the distinct ones."""
    lists: tuple[Listed, ...]
    ranks: NDArray[np.int32]
    """Lists × pairs; 0 is absent."""
    _cuts: dict[int, "Aligned"] = field(default_factory=dict, repr=False)
    _columns: dict[str, Floats] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for array in (self.starts, self.item, self.ranks):
            array.flags.writeable = False

    @classmethod
    def of(cls, rankings: Sequence[Ranking]) -> "Aligned":
        """Match the queries and items of all rankings, and find the rank of each item in each."""
        if len(rankings) == 0:
            raise UsageError("no ranking to fuse", expected="one or more")
        rows = Rows.of(rankings)
        pair = np.cumsum(rows.is_new) - 1
        lists = []
        for number, ranking in enumerate(rankings):
            mine = np.flatnonzero(rows.ranking == number)
            starts = starts_of(rows.query[mine], len(rows.queries))
            scores = ranking.scores  # or, where there are none, numbers that fall with the place
            scores = -1.0 - segments_within(ranking.starts).astype(np.float64) if scores is None else scores
            lists.append(Listed.of(starts, pair[mine], scores[rows.at[mine]]))
        item = rows.item[rows.is_new]
        starts = starts_of(rows.query[rows.is_new], len(rows.queries))
        ranks = np.zeros((len(lists), item.size), dtype=np.int32)
        for row, each in zip(ranks, lists, strict=True):
            row[each.pair] = each.rank
        return cls(rows.queries, starts, rows.items, item, tuple(lists), ranks)

    def __len__(self) -> int:
        """How many (query, item) pairs there are."""
        return int(self.item.size)

    def __repr__(self) -> str:
        return f"Aligned({len(self.lists)} rankings: {len(self.queries):,} queries, {len(self):,} pairs)"

    def fuse(self, fusion: Fusion, source: str = "fusion", *, whole: bool = False) -> Ranking:
        """One ranking: by score descending, then by item id ascending; queries in ascending order of id.

        ``whole``: under rrf those below the depth of every list are ranked too, with 0.
        """
        fusion.weights_of(len(self.lists))  # checked before the work
        cut = self if fusion.depth is None else self.cut(fusion.depth)
        if whole and fusion.depth is not None and fusion.method == "rrf":
            ranks = np.where(self.ranks <= fusion.depth, self.ranks, np.int32(0))
            cut = Aligned(self.queries, self.starts, self.distinct_items, self.item, self.lists, ranks)
        scores = METHODS.get(fusion.method).function(cut, fusion) + 0.0
        if not np.isfinite(scores).all():
            raise DataError(
                "the scores are too large to be fused", where=str(fusion), expected="sums that are finite numbers"
            )
        order = descending(cut.starts, scores)
        return Ranking(cut.queries, cut.starts, cut.distinct_items.gather(cut.item[order]), scores[order], source)

    def cut(self, depth: int) -> "Aligned":
        """Only the first ``depth`` of each list, and the pairs that those hold. The last one asked for is kept."""
        if all(int(np.diff(each.starts).max(initial=0)) <= depth for each in self.lists):
            return self
        if depth not in self._cuts:
            ranks = np.where(self.ranks <= depth, self.ranks, np.int32(0))
            kept = np.asarray(ranks.any(axis=0))
            before = np.concatenate(([0], np.cumsum(kept)))
            lists = tuple(each.cut(depth, before) for each in self.lists)
            self._cuts.clear()
            self._cuts[depth] = Aligned(
                self.queries, before[self.starts], self.distinct_items, self.item[kept], lists, ranks[:, kept]
            )
        return self._cuts[depth]

    @property
    def held(self) -> Bools:
        """Lists × pairs: whether the list holds the pair."""
        return np.asarray(self.ranks > 0)

    @property
    def query(self) -> Ints:
        """The query of each pair, as its place among them."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.starts))

    def normalised(self, how: str) -> Floats:
        """Lists × pairs: scores made comparable; 0 where the pair is absent. The last one asked for is kept."""
        if how not in self._columns:
            columns = np.zeros(self.ranks.shape)
            for column, each in zip(columns, self.lists, strict=True):
                column[each.pair] = NORMALIZATIONS[how](each.starts, each.score)
            columns.flags.writeable = False
            self._columns.clear()
            self._columns[how] = columns
        return self._columns[how]
