"""Estimates of one measure over all queries: mean, spread, confidence interval, quantiles.

Quantile sketch: a score keeps its exponent and 11 bits of its fraction, and the counts of these rounded scores do not
depend on the order or the blocks of the scores. So a quantile is off by at most one part in 4,096 of the score at its
rank; between two scores, of the one that is farther from zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isnan, nan, sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from rankjury.core.types import Floats, Ints
from rankjury.core.validation import Record
from rankjury.errors import DataError, shorten
from rankjury.measures.measure import Aggregate
from rankjury.stats.resampling import Bounds, Influence, Keys, Resampling, draw_sums, interval
from rankjury.stats.sums import FixedPoint, PowerSums, exact_total, mean_and_std, means_and_stds, to_fixed

FEW_QUERIES = 20
"""Intervals from fewer queries cover the true value less often than their level says."""
_GEOMETRIC_FLOOR = 0.00001


@dataclass(frozen=True)
class Estimate(Record):
    """Mean, spread and interval of one measure over all queries."""

    computed = ("se",)
    json_keys = MappingProxyType({"total": "sum"})
    omitted = ("total",)

    mean: float
    """NaN if the measure is undefined for all queries."""
    n: int
    undefined: int
    total: float | None = None
    """Sum, for measures that count."""
    std: float = nan
    """Sample standard deviation over queries; NaN for fewer than two."""
    ci: Bounds | None = None

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.std / sqrt(self.n) if self.n else nan


def summarise(values: Floats, aggregate: Aggregate = "mean") -> Estimate:
    """Return mean and spread over the queries where a measure is defined.

    Sums are exact before they are rounded, so the digits do not depend on the order of queries.
    """
    raw = values[~np.isnan(values)]
    defined = to_mean_scale(raw, aggregate)
    n = defined.size
    total = exact_total(defined)
    mean = from_mean_scale(total / n, aggregate) if n else nan
    std = mean_and_std(raw, total if defined is raw else None)[1]
    return Estimate(mean, n, values.size - n, total if aggregate == "sum" else None, std)


def _summaries(values: Floats, aggregates: Sequence[Aggregate]) -> list[Estimate]:
    """Summarise all columns at once, except geometric means."""
    totals, means, stds, numbers = means_and_stds(values)
    estimates = []
    for place, (aggregate, n) in enumerate(zip(aggregates, numbers.tolist(), strict=True)):
        if aggregate == "geometric":
            estimates.append(summarise(values[:, place], aggregate))
            continue
        total = float(totals[place]) if aggregate == "sum" else None
        estimates.append(Estimate(float(means[place]) if n else nan, n, len(values) - n, total, float(stds[place])))
    return estimates


def mean_of(values: Floats, aggregate: Aggregate = "mean") -> float:
    """Return only the mean of ``summarise``, to the same digit."""
    defined = to_mean_scale(values[~np.isnan(values)], aggregate)
    return from_mean_scale(exact_total(defined) / defined.size, aggregate) if defined.size else nan


def to_mean_scale(values: Floats, aggregate: Aggregate) -> Floats:
    """Return the values whose arithmetic mean is computed."""
    return np.log(np.maximum(values, _GEOMETRIC_FLOOR)) if aggregate == "geometric" else values


def from_mean_scale(mean: float, aggregate: Aggregate) -> float:
    return exp(mean) if aggregate == "geometric" else mean


def estimate_all(
    values: Floats, aggregates: Sequence[Aggregate], keys: Keys | None, resampling: Resampling | None
) -> list[Estimate]:
    """Summarise each column of queries × measures, with an interval if there are at least two queries.

    ``keys`` or ``resampling`` None: no intervals.
    """
    if resampling is None or keys is None:
        return _summaries(values, aggregates)
    columns = [to_mean_scale(column, aggregate) for column, aggregate in zip(values.T, aggregates, strict=True)]
    pooled = resample_columns([to_fixed(column)[0] for column in columns], columns, keys, resampling)
    return [
        add_interval(summarise(column, aggregate), aggregate, sums, resampling)
        for column, aggregate, sums in zip(values.T, aggregates, pooled, strict=True)
    ]


def add_interval(estimate: Estimate, aggregate: Aggregate, pooled: "ResampledSums", resampling: Resampling) -> Estimate:
    """Return an estimate with the interval of the resampled sums."""
    if estimate.n < 2:
        return estimate
    if not pooled.powers.varies:
        return replace(estimate, ci=(estimate.mean, estimate.mean))
    low, high = interval(pooled.means(), pooled.mean, pooled.influence, resampling.level, resampling.of_means)
    return replace(estimate, ci=(from_mean_scale(low, aggregate), from_mean_scale(high, aggregate)))


@dataclass(frozen=True, eq=False)
class ResampledSums:
    """Fixed-point sums of a column for resampling: power sums of the defined values, and resampled sums."""

    unit: float
    powers: PowerSums
    sums: Ints
    drawn: Ints
    """Number of drawn queries of each resample, with repetitions."""

    @property
    def n(self) -> int:
        return self.powers.n

    @property
    def mean(self) -> float:
        return self.powers.mean * self.unit

    def __add__(self, other: "ResampledSums") -> "ResampledSums":
        """Add the sums of other queries on the same scale."""
        return ResampledSums(self.unit, self.powers + other.powers, self.sums + other.sums, self.drawn + other.drawn)

    def without(self, part: "ResampledSums") -> "ResampledSums":
        """Return the sums of the other queries, on the same scale."""
        return ResampledSums(self.unit, self.powers - part.powers, self.sums - part.sums, self.drawn - part.drawn)

    def means(self) -> Floats:
        """Return the resampled means; resamples without queries are omitted."""
        drawn = self.drawn > 0
        return self.sums[drawn] / self.drawn[drawn] * self.unit

    @property
    def influence(self) -> Influence:
        return Influence(self.powers.squares, self.powers.cubes)


def resample_columns(
    fixed: Sequence[FixedPoint], columns: Sequence[Floats], keys: Keys, resampling: Resampling
) -> Iterator[ResampledSums]:
    """Resample columns together; columns that are defined on the same queries share the number of drawn queries."""
    if not fixed:
        return
    defined = [~np.isnan(column) for column in columns]
    patterns = {mask.tobytes(): mask for mask in defined}
    matrix = np.column_stack([*(column.whole for column in fixed), *patterns.values()])
    sums = draw_sums(keys, matrix, resampling.resamples)
    drawn = dict(zip(patterns, sums[len(fixed) :], strict=True))
    for column, mask, row in zip(fixed, defined, sums, strict=False):
        yield ResampledSums(column.unit, PowerSums.of(column.whole[mask]), row, drawn[mask.tobytes()])


FRACTION = 52
"""Bits of a float's fraction."""
_BITS_DROPPED = 41
QUANTILE_ERROR = 2.0**-12
"""The largest error of a quantile that is not exact, relative to the score at its rank (the larger one of two)."""
_HIGHEST_BIT = np.uint64(1 << 63)


@dataclass(frozen=True)
class QuantileValues(Record):
    """Quantiles of the scores, and their maximum relative error."""

    at: Mapping[str, float]
    """By quantile, as text; NaN if no query is defined."""
    relative_error: float = 0.0

    def __post_init__(self) -> None:
        for share in self.at:
            try:
                known = 0.0 <= float(share) <= 1.0
            except ValueError:
                known = False
            if not known:
                raise DataError(f"found the share {shorten(share, quoted=True)}")


@dataclass(frozen=True, eq=False)
class QuantileSketch:
    """Scores for quantiles; more than ``limit`` are counted instead of stored."""

    limit: int
    scores: Floats | None
    places: Ints
    """Rounded scores, as whole numbers in the same order."""
    counts: Ints

    @classmethod
    def of(cls, values: Floats, limit: int) -> "QuantileSketch":
        known = values[~np.isnan(values)] + 0.0  # -0.0 becomes 0.0: a sort of equal zeros keeps the order of parts
        places, counts = np.unique(_places(known), return_counts=True)
        return cls(limit, known if known.size <= limit else None, places, counts.astype(np.int64))

    def __add__(self, other: "QuantileSketch") -> "QuantileSketch":
        places, group = np.unique(np.concatenate((self.places, other.places)), return_inverse=True)
        counts = np.bincount(group, np.concatenate((self.counts, other.counts)), places.size).astype(np.int64)
        scores = None
        if self.scores is not None and other.scores is not None and self.scores.size + other.scores.size <= self.limit:
            scores = np.concatenate((self.scores, other.scores))
        return QuantileSketch(self.limit, scores, places, counts)

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def error(self) -> float:
        return 0.0 if self.scores is not None else QUANTILE_ERROR

    def at(self, shares: Sequence[float]) -> list[float]:
        """Interpolate linearly between the scores next to each rank, which are rounded unless stored."""
        if self.n == 0:
            return [nan] * len(shares)
        if self.scores is not None:
            return list(map(float, np.quantile(np.sort(self.scores), shares)))
        ranks = np.asarray(shares, dtype=np.float64) * (self.n - 1)
        below, above = self._rounded_at(np.floor(ranks)), self._rounded_at(np.ceil(ranks))
        share = ranks - np.floor(ranks)
        return list(map(float, np.where(below == above, below, below * (1 - share) + above * share)))

    def _rounded_at(self, ranks: Floats) -> Floats:
        """Return the rounded scores at these ranks, from 0 on."""
        return _middles(self.places[np.searchsorted(np.cumsum(self.counts), ranks, side="right")])

    def values(self, shares: Sequence[float]) -> QuantileValues:
        """Return quantiles for a report."""
        values = zip(shares, self.at(shares), strict=True)
        return QuantileValues({f"{share:g}": nan if isnan(value) else value for share, value in values}, self.error)


def bits_to_drop(numbers: Floats, most: int, at_least: int) -> int:
    """Return how many bits to drop from ascending numbers so that at most ``most`` differ, if possible."""
    for dropped in range(at_least, FRACTION):
        if np.count_nonzero(np.diff(_places(numbers, dropped))) < most:
            return dropped
    return FRACTION


def round_bits(values: Floats, dropped: int) -> Floats:
    """Return the values without this many bits of their fractions, so that nearly equal values become equal.

    Values that are equal remain equal when more bits are dropped.
    """
    return _middles(_places(values, dropped), dropped)


def _places(values: Floats, dropped: int = _BITS_DROPPED) -> Ints:
    bits = (values + 0.0).view(np.uint64)
    ordered: NDArray[np.uint64] = np.where(bits & _HIGHEST_BIT, ~bits, bits | _HIGHEST_BIT)
    return (ordered >> np.uint64(dropped)).astype(np.int64)


def _middles(places: Ints, dropped: int = _BITS_DROPPED) -> Floats:
    """Return the midpoints of the rounded intervals; zero and infinity are unchanged."""
    first = places.astype(np.uint64) << np.uint64(dropped)
    middle = first | np.uint64(1 << (dropped - 1))
    bits = np.where(middle & _HIGHEST_BIT, middle & ~_HIGHEST_BIT, ~middle)
    found = bits.view(np.float64)
    found = np.where(np.isnan(found), np.copysign(np.inf, found), found)
    return np.where(first == _HIGHEST_BIT, 0.0, found)
