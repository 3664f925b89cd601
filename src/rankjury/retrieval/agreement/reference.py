"""A reference's own ranking as gold: what it ranks first should come first.

The gold of a measure at k is the reference's first k (``gold=k``). Where its k-th and its k+1-th score are equal, the
id decides; or all that tie with the k-th count (``gold=tied``), for which items of equal scores share a grade here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from rankjury.core.types import Bools, Gold, Ints, Ranking, segments_within
from rankjury.errors import DataError

MEASURES = {
    "recall": "recall(over=k,{cut})",
    "ndcg": "ndcg(gain=binary,{cut})",
    "mrr": "rr({cut})",
    "map": "ap(over=found,{cut})",
}
"""What the papers protocol measures, by the names it uses; the cut is ``gold=k``."""
_LISTS = "rbo"
ReferenceTies = Literal["id", "any"]
Rank = Callable[[pl.Series, int], Ranking]
"""Ranks so many items for each of these queries, or as many as there are; equal scores by id."""


def measures_for(ties: ReferenceTies = "id", *options: str) -> list[str]:
    """The protocol's measures and the overlap of the lists, without cut-offs, with further options."""
    cut = ",".join(["gold=k" if ties == "id" else "gold=tied", *options])
    lists = f"{_LISTS}({','.join(options)})" if options else _LISTS
    return [*(measure.format(cut=cut) for measure in MEASURES.values()), lists]


@dataclass(frozen=True, eq=False)
class Reference:
    """The gold, and the places behind which it could have been cut another way."""

    gold: Gold
    ties: ReferenceTies
    tied_places: Ints
    """For every two neighbours of one query whose scores are equal, the place of the first."""

    def tied_at(self, k: int) -> int:
        """How many queries have equal scores at the places k and k + 1."""
        return int(np.count_nonzero(self.tied_places == k))

    def notes(self, cuts: tuple[int, ...]) -> list[str]:
        """What to say of ties at the cut-offs."""
        tied = {k: self.tied_at(k) for k in cuts}
        if not any(tied.values()):
            return []
        at = ", ".join(f"{n:,} at {k}" for k, n in tied.items() if n)
        rule = "all that tie count" if self.ties == "any" else "the id decides (ties = any counts all)"
        return [f"the reference's k-th and k+1-th score are equal, queries: {at}: {rule}"]


def reference_gold(
    rank: Rank, queries: pl.Series, depth: int, *, ties: ReferenceTies = "id", needed: int = 1, source: str = "gold"
) -> Reference:
    """The first ``depth`` of each query; ``ties="any"``: and all that tie with the last of them.

    A query of which fewer than ``needed`` are ranked is an error.
    """
    ranking = rank(queries, depth + 1)
    _check_all(queries, ranking, source)
    _check_lengths(ranking, needed, source)
    if ties == "any":
        ranking = _deep_enough(rank, ranking, depth)
    place, equal = segments_within(ranking.starts), _equals_next(ranking)
    # How many of a query's items score more than this one does.
    better = _first_of_run(place, equal) if ties == "any" else place
    kept = better < depth
    starts = np.concatenate(([0], np.cumsum(kept)))[ranking.starts]
    lengths = np.repeat(np.diff(starts), np.diff(ranking.starts))
    gold = Gold(
        ranking.queries,
        starts,
        ranking.items.filter(pl.Series(kept)),
        (lengths - better)[kept].astype(np.float64),
        ordered=True,
        source=source,
    )
    return Reference(gold, ties, place[equal] + 1)


def _check_all(queries: pl.Series, ranking: Ranking, source: str) -> None:
    asked = queries.cast(pl.String)
    lacking = asked.filter(~asked.is_in(ranking.queries.cast(pl.String).implode()))
    if len(lacking):
        raise DataError(
            f"the reference ranks nothing for query {lacking[0]!r} (for {len(lacking):,} of {len(asked):,} queries)",
            where=source,
            expected="other items for every query",
        )


def _check_lengths(ranking: Ranking, needed: int, source: str) -> None:
    lengths = np.diff(ranking.starts)
    short = lengths < needed
    if short.any():
        query = ranking.queries[int(np.argmax(short))]
        raise DataError(
            f"the cut-off is {needed:,}, but for query {query!r} the reference ranks {int(lengths[short][0]):,} items "
            f"(for {int(short.sum()):,} of {lengths.size:,} queries fewer than that)",
            where=source,
            expected=f"cut-offs up to {int(lengths.min()):,}",
        )


def _equals_next(ranking: Ranking) -> Bools:
    """Whether an item's score is that of the next of its query."""
    equal = np.zeros(len(ranking.items), dtype=bool)
    if ranking.scores is not None and equal.size:
        equal[:-1] = ranking.scores[:-1] == ranking.scores[1:]
        ends = ranking.starts[1:][np.diff(ranking.starts) > 0] - 1
        equal[ends] = False
    return equal


def _first_of_run(place: Ints, equal: Bools) -> Ints:
    """The place of the first of those that an item ties with."""
    begins = np.concatenate(([True], ~equal[:-1])) if equal.size else np.empty(0, dtype=bool)
    return np.asarray(place[begins][np.cumsum(begins) - 1], dtype=np.int64)


def _deep_enough(rank: Rank, ranking: Ranking, depth: int) -> Ranking:
    """Ranked further where all items from the last place on tie."""
    deep = depth + 1
    while True:
        lengths = np.diff(ranking.starts)
        ends = ranking.starts[1:] - 1
        scores = ranking.scores
        if scores is None:
            return ranking
        open_ = lengths >= deep
        open_[open_] = scores[ends[open_]] == scores[ranking.starts[:-1][open_] + depth - 1]
        if not open_.any():
            return ranking
        deep *= 2
        ranking = _joined(ranking, rank(ranking.queries.filter(pl.Series(open_)), deep), open_)


def _joined(ranking: Ranking, deeper: Ranking, where: Bools) -> Ranking:
    """With the rows of some queries taken from another ranking of them."""
    taken = np.zeros(len(ranking), dtype=np.int64)
    taken[where] = np.arange(len(deeper))
    lengths = np.where(where, np.diff(deeper.starts)[taken], np.diff(ranking.starts))
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    first = np.where(where, len(ranking.items) + deeper.starts[:-1][taken], ranking.starts[:-1])
    rows = np.repeat(first, lengths) + segments_within(starts)
    if ranking.scores is None or deeper.scores is None:
        raise ValueError("only rankings with scores are ranked further")
    return replace(
        ranking,
        starts=starts,
        items=pl.concat([ranking.items, deeper.items]).gather(rows),
        scores=np.concatenate([ranking.scores, deeper.scores])[rows],
    )
