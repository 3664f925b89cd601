"""Which pairs of queries and items two models' similarities are compared over."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from karat.agreement import Agreement, Pairs, agreement_of
from karat.columns import ITEM, QUERY
from karat.errors import DataError, UsageError
from karat.sampling import sample_others
from karat.similarities import Similarities
from karat.statistics.intervals import Resampling
from karat.statistics.streams import keys_of
from karat.tops import first_rows
from karat.types import Gold, Ints, Ranking, Vectors, segments_within

__all__ = ["Listed", "PairsOfSystems", "ReferenceSide", "compared", "sampled_pairs", "top_pairs"]


@dataclass(frozen=True, eq=False)
class Listed:
    """Pairs by id, in order of query."""

    row: Ints
    """The place of each pair's query among all queries in ascending order."""
    queries: pl.Series
    items: pl.Series
    about: str


def sampled_pairs(queries: pl.Series, items: pl.Series, size: int, seed: int, *, exclude_self: bool = True) -> Listed:
    """About so many pairs in all: of each query the same number of items, drawn by the seed and its id.

    ``exclude_self`` never draws the item of the query's own id.
    """
    asked, pool = queries.cast(pl.String).sort(), items.cast(pl.String).sort()
    places = pl.DataFrame({"id": pool, "place": np.arange(len(pool))})
    own = asked.to_frame("id").join(places, on="id", how="left", maintain_order="left")["place"].fill_null(-1)
    left_out = own.to_numpy() if exclude_self else np.full(len(asked), -1)
    drawn = sample_others(asked, left_out, len(pool), -(-size // len(asked)), seed)
    row, place = np.nonzero(drawn >= 0)
    about = f"drawn by seed {seed}"
    return Listed(row, asked.gather(row), pool.gather(drawn[row, place]), about)


def top_pairs(gold: Gold, ranking: Ranking, k: int) -> Listed:
    """Pair every query with the first k items of the reference, which are the gold's, and with the ranking's."""
    place = segments_within(gold.starts)
    best = gold.frame().select(pl.col(QUERY, ITEM).cast(pl.String)).filter(pl.Series(place < k))
    asked = gold.queries.cast(pl.String).sort()
    found = first_rows(ranking, asked, k)
    both = pl.concat([best, found.select(QUERY, ITEM)]).unique().sort(QUERY, ITEM)
    numbers = pl.DataFrame({QUERY: asked, "row": np.arange(len(asked))})
    row = both.join(numbers, on=QUERY, how="left", maintain_order="left")["row"].to_numpy()
    return Listed(row, both[QUERY], both[ITEM], f"among the first {k} of either")


def compared(listed: Listed, reference: Similarities, candidate: Similarities) -> Pairs:
    """The similarities by both; pairs of which one knows none are left out."""
    ours, theirs = reference.of(listed.queries, listed.items), candidate.of(listed.queries, listed.items)
    known = ~(np.isnan(ours) | np.isnan(theirs))
    return Pairs(listed.row[known], ours[known], theirs[known], listed.about, int((~known).sum()))


@dataclass(frozen=True, eq=False)
class ReferenceSide:
    """A model whose ranking is the gold."""

    gold: Gold
    similarities: Similarities
    vectors: Vectors | None = None
    """Of its items, where it is known by vectors."""
    exclude_self: bool = True
    """Whether a query's own item is left out, of the gold as of the pairs."""


class PairsOfSystems:
    """Takes systems in as they are loaded, and keeps only the numbers of the pairs."""

    def __init__(
        self,
        reference: ReferenceSide,
        *,
        over: Literal["sampled", "top"] | None,
        size: int,
        seed: int,
        k: int,
        where: str = "agreement",
    ) -> None:
        """``size`` is how many pairs are sampled, ``k`` the depth of ``top``; None: sampled where vectors are known."""
        self.reference = reference
        self.over, self.size, self.seed, self.k = over, size, seed, k
        self.where = where
        self._pairs: dict[str, Pairs] = {}

    def add(self, name: str, similarities: Similarities, ranking: Ranking) -> None:
        listed = self._listed(name, similarities, ranking)
        pairs = compared(listed, self.reference.similarities, similarities)
        if not pairs.row.size:
            raise DataError(
                f"no pair has a similarity by both the reference and {name}",
                where=self.where,
                expected="runs with scores",
                hint="Leave the agreement of similarities away: --pairs 0, or a plan without [agreement].",
            )
        self._pairs[name] = pairs

    def _listed(self, name: str, similarities: Similarities, ranking: Ranking) -> Listed:
        vectors = self.reference.vectors if similarities.everything else None
        if self.over == "top" or (self.over is None and vectors is None):
            return top_pairs(self.reference.gold, ranking, self.k)
        if vectors is None:
            raise UsageError(
                f"sampled pairs need vectors, and {name} or the reference is a run",
                where=self.where,
                expected="the pairs of the top k",
            )
        gold, exclude = self.reference.gold, self.reference.exclude_self
        return sampled_pairs(gold.queries, vectors.ids, self.size, self.seed, exclude_self=exclude)

    def agreements(self, how: Resampling | None, baseline: str | None) -> dict[str, Agreement]:
        """By system, with the differences to the baseline where both are over the same pairs."""
        level = (how or Resampling()).level
        keys = keys_of(self.reference.gold.queries.sort(), how.seed if how else 0)
        found = {name: agreement_of(pairs, keys, how) for name, pairs in self._pairs.items()}
        if baseline not in found:
            return found
        return {
            name: one.beside(found[baseline], level) if name != baseline and self._same(name, baseline) else one
            for name, one in found.items()
        }

    def _same(self, name: str, other: str) -> bool:
        ours, theirs = self._pairs[name], self._pairs[other]
        return np.array_equal(ours.row, theirs.row) and np.array_equal(ours.reference, theirs.reference)
