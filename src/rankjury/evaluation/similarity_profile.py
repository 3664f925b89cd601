"""Stability: how alike a system's first items are to their queries, and how long its vectors, recorded to see drift."""

from dataclasses import dataclass
from math import nan

import numpy as np
import polars as pl

from rankjury.core.types import Floats
from rankjury.core.validation import Positive, Record
from rankjury.errors import DataError
from rankjury.evaluation.sections import Section
from rankjury.stats.sums import mean_and_std


@dataclass(frozen=True)
class MeanStd(Record):
    """Mean and sample standard deviation; NaN where there are too few values for one."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: Floats) -> "MeanStd":
        """Return those of values; sums are exact before they are rounded, so that no digit depends on their order."""
        return cls(*mean_and_std(values))


@dataclass(frozen=True, eq=False)
class QuerySimilarities(Record):
    """Similarities of each query's first items; NaN where a query found nothing."""

    ids: tuple[str, ...]
    top1: Floats
    topk_mean: Floats
    topk_std: Floats

    def __post_init__(self) -> None:
        if len(set(self.ids)) < len(self.ids):
            raise DataError("a query occurs twice")
        for column in (self.top1, self.topk_mean, self.topk_std):
            if len(column) != len(self.ids):
                raise DataError(f"found {len(column):,} values for {len(self.ids):,} queries")


@dataclass(frozen=True, eq=False)
class Stability(Section):
    """Of one system: similarities of the best item and of the k best, over queries; lengths of the vectors it holds."""

    name = "stability"
    system_only = True

    k: Positive
    top1: MeanStd
    topk: MeanStd
    """Of all similarities among the first k, of all queries together."""
    norm: MeanStd
    queries: QuerySimilarities


def measure_stability(queries: pl.Series, scores: Floats, norms: Floats, *, k: int = 10) -> Stability:
    """From the similarities that each query found (queries × items, not finite where nothing was) and vectors' lengths.

    The higher similarity is the more alike, in whatever order they stand.
    """
    held = np.where(np.isfinite(scores), scores, -np.inf)
    best = np.flip(np.sort(held, axis=1), axis=1)[:, :k]
    found = [row[np.isfinite(row)] for row in best]
    spreads = [MeanStd.of(row) for row in found]
    top1 = np.array([row[0] if row.size else nan for row in found], dtype=np.float64)
    return Stability(
        k,
        top1=MeanStd.of(top1[~np.isnan(top1)]),
        topk=MeanStd.of(best[np.isfinite(best)]),
        norm=MeanStd.of(np.asarray(norms, dtype=np.float64)),
        queries=QuerySimilarities(
            tuple(map(str, queries)),
            top1,
            np.array([one.mean for one in spreads], dtype=np.float64),
            np.array([one.std for one in spreads], dtype=np.float64),
        ),
    )
