"""One measure over all queries: mean, spread, and how far to trust it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, nan, sqrt
from types import MappingProxyType

import numpy as np

from karat.measure import Aggregate
from karat.records import Record
from karat.statistics.intervals import Bounds, Influence, Resampling, interval
from karat.statistics.resampling import draw_sums
from karat.statistics.streams import Keys
from karat.statistics.sums import Fixed, Powers, mean_and_std, means_and_stds, to_fixed, total_of
from karat.types import Floats, Ints

__all__ = [
    "FEW_QUERIES",
    "Estimate",
    "Pooled",
    "estimate_all",
    "mean_of",
    "off_scale",
    "onto_scale",
    "pool",
    "summarise",
    "with_interval",
]

FEW_QUERIES = 20
"""An interval from fewer queries is too narrow more often than it says."""
_GEOMETRIC_FLOOR = 0.00001


@dataclass(frozen=True)
class Estimate(Record):
    """One measure over all queries."""

    computed = ("se",)
    json_keys = MappingProxyType({"total": "sum"})
    omitted = ("total",)

    mean: float
    """NaN where no query is defined."""
    n: int
    undefined: int
    total: float | None = None
    """The sum, for measures that count."""
    std: float = nan
    """Sample standard deviation over queries; NaN under two of them."""
    ci: Bounds | None = None

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.std / sqrt(self.n) if self.n else nan


def summarise(values: Floats, aggregate: Aggregate = "mean") -> Estimate:
    """Mean and spread over the queries where a measure is defined.

    Sums are exact before they are rounded, so the digits do not depend on the order of queries.
    """
    raw = values[~np.isnan(values)]
    defined = onto_scale(raw, aggregate)
    n = defined.size
    total = total_of(defined)
    mean = off_scale(total / n, aggregate) if n else nan
    std = mean_and_std(raw, total if defined is raw else None)[1]
    return Estimate(mean, n, values.size - n, total if aggregate == "sum" else None, std)


def _summaries(values: Floats, aggregates: Sequence[Aggregate]) -> list[Estimate]:
    """Each column summarised, all at once; geometric means one by one."""
    totals, means, stds, numbers = means_and_stds(values)
    found = []
    for place, (aggregate, n) in enumerate(zip(aggregates, numbers.tolist(), strict=True)):
        if aggregate == "geometric":
            found.append(summarise(values[:, place], aggregate))
            continue
        total = float(totals[place]) if aggregate == "sum" else None
        found.append(Estimate(float(means[place]) if n else nan, n, len(values) - n, total, float(stds[place])))
    return found


def mean_of(values: Floats, aggregate: Aggregate = "mean") -> float:
    """The mean of ``summarise``, to the same digit, where nothing else is wanted."""
    defined = onto_scale(values[~np.isnan(values)], aggregate)
    return off_scale(total_of(defined) / defined.size, aggregate) if defined.size else nan


def onto_scale(values: Floats, aggregate: Aggregate) -> Floats:
    """The values whose plain mean is taken."""
    return np.log(np.maximum(values, _GEOMETRIC_FLOOR)) if aggregate == "geometric" else values


def off_scale(mean: float, aggregate: Aggregate) -> float:
    return exp(mean) if aggregate == "geometric" else mean


def estimate_all(
    values: Floats, aggregates: Sequence[Aggregate], keys: Keys | None, how: Resampling | None
) -> list[Estimate]:
    """Each column of queries × measures summarised, with an interval where there are two queries or more.

    None for ``keys`` or ``how``: no intervals.
    """
    if how is None or keys is None:
        return _summaries(values, aggregates)
    columns = [onto_scale(column, aggregate) for column, aggregate in zip(values.T, aggregates, strict=True)]
    pooled = pool([to_fixed(column)[0] for column in columns], columns, keys, how)
    return [
        with_interval(summarise(column, aggregate), aggregate, one, how)
        for column, aggregate, one in zip(values.T, aggregates, pooled, strict=True)
    ]


def with_interval(estimate: Estimate, aggregate: Aggregate, pooled: "Pooled", how: Resampling) -> Estimate:
    """An estimate with the interval that the resampled sums give."""
    if estimate.n < 2:
        return estimate
    if not pooled.powers.varies:
        return replace(estimate, ci=(estimate.mean, estimate.mean))
    low, high = interval(pooled.means(), pooled.mean, pooled.influence, how.level, how.of_means)
    return replace(estimate, ci=(off_scale(low, aggregate), off_scale(high, aggregate)))


@dataclass(frozen=True, eq=False)
class Pooled:
    """What resampling needs of a column of fixed-point scores: sums of powers of those defined, and resampled sums."""

    unit: float
    powers: Powers
    sums: Ints
    drawn: Ints
    """How many queries, counted as often as drawn, each resample holds."""

    @property
    def n(self) -> int:
        return self.powers.n

    @property
    def mean(self) -> float:
        return self.powers.mean * self.unit

    def __add__(self, other: "Pooled") -> "Pooled":
        """With other queries; both are to the same scale."""
        return Pooled(self.unit, self.powers + other.powers, self.sums + other.sums, self.drawn + other.drawn)

    def without(self, part: "Pooled") -> "Pooled":
        """Of the other queries; both are to the same scale."""
        return Pooled(self.unit, self.powers - part.powers, self.sums - part.sums, self.drawn - part.drawn)

    def means(self) -> Floats:
        """The resampled means; a resample that drew no query is left out."""
        held = self.drawn > 0
        return self.sums[held] / self.drawn[held] * self.unit

    @property
    def influence(self) -> Influence:
        return Influence(self.powers.squares, self.powers.cubes)


def pool(fixed: Sequence[Fixed], columns: Sequence[Floats], keys: Keys, how: Resampling) -> Iterator[Pooled]:
    """Resample columns together; those that are defined on the same queries share the count of them."""
    if not fixed:
        return
    defined = [~np.isnan(column) for column in columns]
    patterns = {mask.tobytes(): mask for mask in defined}
    matrix = np.column_stack([*(one.whole for one in fixed), *patterns.values()])
    sums = draw_sums(keys, matrix, how.resamples)
    drawn = dict(zip(patterns, sums[len(fixed) :], strict=True))
    for one, mask, row in zip(fixed, defined, sums, strict=False):
        yield Pooled(one.unit, Powers.of(one.whole[mask]), row, drawn[mask.tobytes()])
