"""How much of what is truly nearest an approximate search finds.

An item counts as found where it is as near as the k-th of the exact neighbours, whichever of several equally near ones
that is; one that comes back twice counts once. What was found is divided by k, or by how many there are where these are
fewer.
"""

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
import polars as pl

from karat.neighbours import NOBODY, Neighbours, score_listed
from karat.statistics.estimates import estimate_all
from karat.statistics.intervals import Bounds, Resampling
from karat.statistics.streams import keys_of
from karat.types import Bools, Floats, Ints, Matrix

__all__ = ["LOW_PERCENTILE", "AnnRecall", "recall_of", "share_found"]

LOW_PERCENTILE = 5.0


@dataclass(frozen=True, eq=False)
class AnnRecall:
    """Recall at k against exact search, query by query and over all."""

    k: int
    values: Floats
    """By query; NaN where there was nothing to find, 0 where the search failed to answer."""
    mean: float
    ci: Bounds | None
    low: float
    """The 5th percentile over queries: the mean hides a few that find nothing."""

    @property
    def n(self) -> int:
        return int((~np.isnan(self.values)).sum())

    def to_json(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "mean": None if isnan(self.mean) else self.mean,
            "ci": None if self.ci is None else list(self.ci),
            "p5": None if isnan(self.low) else self.low,
            "n": self.n,
        }


def recall_of(values: Floats, k: int, queries: pl.Series, how: Resampling | None) -> AnnRecall:
    """Over all queries, with an interval from resampling them."""
    keys = keys_of(queries, how.seed) if how else None
    (estimate,) = estimate_all(values[:, None], ["mean"], keys, how)
    known = values[~np.isnan(values)]
    low = float(np.percentile(known, LOW_PERCENTILE)) if known.size else float("nan")
    return AnnRecall(k, values, estimate.mean, estimate.ci, low)


def share_found(
    found: Neighbours, truth: Neighbours, k: int, queries: Matrix, items: Matrix, *, metric: str = "cosine"
) -> Floats:
    """Of each query, the share of its exact k nearest that was found; ``truth`` has k columns or all items."""
    available = np.minimum(k, truth.found)
    returned = np.array(found.items[:, :k])
    returned[_repeated(returned)] = NOBODY
    held = returned != NOBODY
    rows: Ints = np.broadcast_to(np.arange(len(returned))[:, None], returned.shape)
    scores = np.full(returned.shape, -np.inf)
    scores[held] = score_listed(queries, items, rows[held], returned[held], metric=metric)
    last = truth.scores[np.arange(len(returned)), np.maximum(available - 1, 0)]
    hits = (held & (scores >= last[:, None])).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(available > 0, np.minimum(hits, available) / available, np.nan), dtype=np.float64)


def _repeated(items: Ints) -> Bools:
    """Which of a row's items stood there before."""
    order = np.argsort(items, axis=1, kind="stable")
    ordered = np.take_along_axis(items, order, axis=1)
    again = np.zeros(items.shape, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    found = np.empty_like(again)
    np.put_along_axis(found, order, again, axis=1)
    return found
