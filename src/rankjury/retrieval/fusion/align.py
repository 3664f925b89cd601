"""Rankings laid on each other once: (query, item) pairs × lists.

Pairs stand by query and then by item, both in ascending order of id, so that "as they stand" breaks ties by id. Queries
and items are matched by name once; all that comes after is arithmetic on arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Bools, Floats, Ints, Ranking, segments_within
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError
from rankjury.retrieval.fusion.fusion import METHODS, Fusion
from rankjury.retrieval.fusion.normalize import NORMALISATIONS
from rankjury.retrieval.fusion.pairs import Rows, descending, starts_of


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
                column[each.pair] = NORMALISATIONS[how](each.starts, each.score)
            columns.flags.writeable = False
            self._columns.clear()
            self._columns[how] = columns
        return self._columns[how]
