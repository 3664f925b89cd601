"""The figures of an audit that need no time: spreads, concentration, duplicates, histograms."""

from dataclasses import dataclass
from math import ceil

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.interactions.log import Log
from karat.types import Floats, Ints

__all__ = ["Bin", "Spread", "duplicates", "gini", "histogram", "share_of_top", "spread"]

_MOST_VALUES = 20
_BINS = 10


@dataclass(frozen=True)
class Spread:
    """Of whole numbers."""

    min: int
    median: float
    mean: float
    max: int


@dataclass(frozen=True)
class Bin:
    """How many values there are from ``low`` to below ``high``; the last holds its end, and one value has no width."""

    low: float
    high: float
    count: int


def spread(counts: Ints) -> Spread:
    return Spread(int(counts.min()), float(np.median(counts)), float(counts.mean()), int(counts.max()))


def gini(counts: Ints) -> float:
    """How unequal the counts are.

    Formula: Σ (2i − n − 1) xᵢ / (n Σ x), xᵢ ascending, i from 1 to n; 0 where all are equal, (n − 1)/n where one has
    all. NaN where there is nothing to hold.
    """
    n, total = counts.size, int(counts.sum())
    if not total:
        return float("nan")
    ordered = np.sort(counts).astype(np.float64)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * total))


def share_of_top(counts: Ints, top: float) -> float:
    """The share of all that the largest counts hold: so many of them, rounded up to whole ones."""
    many = max(1, ceil(round(top * counts.size, 9)))
    return float(np.sort(counts)[::-1][:many].sum() / counts.sum())


def duplicates(log: Log) -> tuple[int, int]:
    """How many rows are of a pair that another row stands for, and how many of them repeat value and time as well."""
    key = log.user.astype(np.int64) * max(1, len(log.items)) + log.item
    ordered = np.sort(key)
    many = int(np.count_nonzero(ordered[1:] == ordered[:-1]))
    del ordered
    if not many:
        return 0, 0
    rows = np.flatnonzero(pl.Series(key).is_duplicated().to_numpy())
    columns: dict[str, NDArray[np.generic]] = {"key": key[rows], "value": log.value[rows]}
    frame = pl.DataFrame(columns if log.time is None else columns | {"time": log.time[rows]})
    return many, frame.height - frame.n_unique()


def histogram(values: Floats, counts: Ints) -> tuple[Bin, ...]:
    """Of ascending distinct values with their counts: each by itself, or in bins of equal width where they are many."""
    if values.size <= _MOST_VALUES:
        return tuple(Bin(value, value, n) for value, n in zip(values.tolist(), counts.tolist(), strict=True))
    numbers, edges = np.histogram(values, bins=_BINS, weights=counts)
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return tuple(Bin(low, high, round(n)) for (low, high), n in zip(ends, numbers.tolist(), strict=True))
