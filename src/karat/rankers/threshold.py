"""A similarity below which a result is not shown."""

from dataclasses import replace

import numpy as np
import polars as pl

from karat.errors import UsageError
from karat.types import Floats, Ints, Ranking, segments_within

__all__ = ["shown_from"]


def shown_from(ranking: Ranking, threshold: float) -> Ranking:
    """Only what scores so much or more; a query of which nothing is left has found nothing."""
    if ranking.scores is None or _are_places(ranking, ranking.scores):
        raise UsageError(
            "a threshold, but the ranking has no scores", where=ranking.source, expected="scores to hold it against"
        )
    kept = ranking.scores >= threshold
    starts = np.concatenate(([0], np.cumsum(kept)))[ranking.starts]
    return replace(ranking, starts=starts, items=ranking.items.filter(pl.Series(kept)), scores=ranking.scores[kept])


def _are_places(ranking: Ranking, scores: Floats) -> bool:
    """Whether every query's scores are −1, −2 … or 0, −1 …: ranks, of a run or a service that tells no scores."""
    lengths = np.diff(ranking.starts)
    rows: Ints = np.repeat(np.arange(len(lengths)), lengths)
    ordered, places = scores[np.lexsort((-scores, rows))], segments_within(ranking.starts)
    return bool(lengths.max(initial=0) > 1 and any(np.array_equal(ordered, first - places) for first in (0, -1)))
