"""A similarity below which a result is not shown."""

from dataclasses import replace

import numpy as np
import polars as pl

from rankjury.core.types import Ranking
from rankjury.evaluation.query_lists import known_scores


def shown_from(ranking: Ranking, threshold: float) -> Ranking:
    """Only what scores so much or more; a query of which nothing is left has found nothing."""
    scores = known_scores(ranking)
    kept = scores >= threshold
    starts = np.concatenate(([0], np.cumsum(kept)))[ranking.starts]
    return replace(ranking, starts=starts, items=ranking.items.filter(pl.Series(kept)), scores=scores[kept])
