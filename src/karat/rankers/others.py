"""Rankings of items by items, without the query itself."""

from dataclasses import replace

import numpy as np
import polars as pl

from karat.types import Ranking

__all__ = ["without_own"]


def without_own(ranking: Ranking) -> Ranking:
    """Every item but the one that asks; the others move up."""
    of_row = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    kept = (ranking.queries.cast(pl.String).gather(of_row) != ranking.items.cast(pl.String)).to_numpy()
    if kept.all():
        return ranking
    starts = np.concatenate(([0], np.cumsum(kept)))[ranking.starts]
    scores = None if ranking.scores is None else ranking.scores[kept]
    ranks_only = not ranking.has_scores  # before the ranks have gaps
    return replace(
        ranking, starts=starts, items=ranking.items.filter(pl.Series(kept)), scores=scores, ranks_only=ranks_only
    )
