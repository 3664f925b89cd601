"""A similarity below which a result is not shown."""

from dataclasses import replace

import numpy as np
import polars as pl

from karat.errors import UsageError
from karat.types import Ranking

__all__ = ["shown_from"]


def shown_from(ranking: Ranking, threshold: float) -> Ranking:
    """Only what scores so much or more; a query of which nothing is left has found nothing."""
    if ranking.scores is None:
        raise UsageError(
            "a threshold, but the ranking has no scores", where=ranking.source, expected="scores to hold it against"
        )
    kept = ranking.scores >= threshold
    starts = np.concatenate(([0], np.cumsum(kept)))[ranking.starts]
    return replace(ranking, starts=starts, items=ranking.items.filter(pl.Series(kept)), scores=ranking.scores[kept])
