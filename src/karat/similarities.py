"""How alike a model finds the two of a pair: from its vectors, or from a run it made."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from karat.columns import ITEM, QUERY, SCORE
from karat.neighbours import score_listed
from karat.types import Floats, Ranking, Vectors

__all__ = ["OfRun", "OfVectors", "Similarities"]


class Similarities(Protocol):
    """Knows the similarity of pairs."""

    everything: bool
    """Whether it knows those of all its queries and items."""

    def of(self, queries: pl.Series, items: pl.Series) -> Floats:
        """Of the i-th query with the i-th item; NaN where it is not known."""


@dataclass(frozen=True, eq=False)
class OfVectors:
    """By its vectors."""

    corpus: Vectors
    queries: Vectors | None = None
    metric: str = "cosine"
    everything = True

    def of(self, queries: pl.Series, items: pl.Series) -> Floats:
        asked = self.corpus if self.queries is None else self.queries
        rows, columns = asked.rows_of(queries), self.corpus.rows_of(items)
        found = np.full(len(queries), np.nan)
        known = np.flatnonzero((rows >= 0) & (columns >= 0))
        found[known] = score_listed(asked.values, self.corpus.values, rows[known], columns[known], metric=self.metric)
        return found


@dataclass(frozen=True, eq=False)
class OfRun:
    """By the scores of a run: known for what it retrieved; a run that has only ranks knows none."""

    ranking: Ranking
    everything = False

    def of(self, queries: pl.Series, items: pl.Series) -> Floats:
        if not self.ranking.has_scores:
            return np.full(len(queries), np.nan)
        given = self.ranking.frame().with_columns(pl.col(QUERY, ITEM).cast(pl.String))
        known = given.group_by(QUERY, ITEM).agg(pl.col(SCORE).max())
        asked = pl.DataFrame({QUERY: queries.cast(pl.String), ITEM: items.cast(pl.String)})
        found = asked.join(known, on=[QUERY, ITEM], how="left", maintain_order="left")[SCORE]
        return found.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
