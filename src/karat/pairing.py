"""Which pairs of queries and items two models' similarities are compared over."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from karat.agreement import Pairs
from karat.columns import ITEM, QUERY
from karat.sampling import sample_others
from karat.similarities import Similarities
from karat.tops import first_rows
from karat.types import Gold, Ints, Ranking, segments_within

__all__ = ["Listed", "compared", "sampled_pairs", "top_pairs"]


@dataclass(frozen=True, eq=False)
class Listed:
    """Pairs by id, in order of query."""

    row: Ints
    """The place of each pair's query among all queries in ascending order."""
    queries: pl.Series
    items: pl.Series
    about: str


def sampled_pairs(queries: pl.Series, items: pl.Series, size: int, seed: int) -> Listed:
    """About so many pairs in all: of each query the same number of other items, drawn by the seed and its id."""
    asked, pool = queries.cast(pl.String).sort(), items.cast(pl.String).sort()
    places = pl.DataFrame({"id": pool, "place": np.arange(len(pool))})
    own = asked.to_frame("id").join(places, on="id", how="left", maintain_order="left")["place"].fill_null(-1)
    drawn = sample_others(asked, own.to_numpy(), len(pool), -(-size // len(asked)), seed)
    row, place = np.nonzero(drawn >= 0)
    about = f"drawn by seed {seed}"
    return Listed(row, asked.gather(row), pool.gather(drawn[row, place]), about)


def top_pairs(gold: Gold, ranking: Ranking, k: int) -> Listed:
    """Every query with the first k items of the reference, which are the gold's, and with the ranking's."""
    place = segments_within(gold.starts)
    best = gold.frame().select(pl.col(QUERY, ITEM).cast(pl.String)).filter(pl.Series(place < k))
    asked = gold.queries.cast(pl.String).sort()
    others = first_rows(ranking, asked, k + 1).filter(pl.col(QUERY) != pl.col(ITEM))
    found = others.group_by(QUERY, maintain_order=True).head(k)
    both = pl.concat([best, found.select(QUERY, ITEM)]).unique().sort(QUERY, ITEM)
    numbers = pl.DataFrame({QUERY: asked, "row": np.arange(len(asked))})
    row = both.join(numbers, on=QUERY, how="left", maintain_order="left")["row"].to_numpy()
    return Listed(row, both[QUERY], both[ITEM], f"among the first {k} of either")


def compared(listed: Listed, reference: Similarities, candidate: Similarities) -> Pairs:
    """The similarities by both; pairs of which one knows none are left out."""
    ours, theirs = reference.of(listed.queries, listed.items), candidate.of(listed.queries, listed.items)
    known = ~(np.isnan(ours) | np.isnan(theirs))
    return Pairs(listed.row[known], ours[known], theirs[known], listed.about, int((~known).sum()))
