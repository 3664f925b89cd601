"""Percentiles of a sample, with intervals that suppose nothing of how the values are distributed."""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, floor, lgamma, log, log1p, nan, sqrt

import numpy as np

from karat.errors import UsageError
from karat.records import Record
from karat.statistics.intervals import Bounds
from karat.types import Floats

__all__ = ["Percentile", "binomial_quantile", "order_bounds", "percentile_of"]

_DEVIATIONS, _STEPS = 12, 40
"""So far from the mean nothing is left of a binomial distribution: less than 1e-25."""


@dataclass(frozen=True)
class Percentile(Record):
    """A percentile of times, in milliseconds, and where that of all such queries is."""

    ms: float
    """NaN where there is none."""
    ci: Bounds | None = None
    bounded: bool = False
    """Whether the values are enough to bound it from above; if not, the upper end is the longest time seen."""


def percentile_of(values: Floats, share: float, level: float = 0.95) -> Percentile:
    """Return a percentile of seconds, between the two nearest values as in NumPy, its interval from the sample."""
    if not 0.0 < level < 1.0:
        raise UsageError(f"the level is {level}", expected="a share between 0 and 1, such as 0.95")
    if not values.size:
        return Percentile(nan)
    ordered = np.sort(values)
    found = float(np.percentile(ordered, 100.0 * share))
    lower, upper = order_bounds(values.size, share, level)
    low, high = ordered[max(lower, 1) - 1], ordered[min(upper, values.size) - 1]
    ci = min(found, float(low)) * 1e3, max(found, float(high)) * 1e3
    return Percentile(found * 1e3, ci, lower >= 1 and upper <= values.size)


def order_bounds(n: int, share: float, level: float) -> tuple[int, int]:
    """Which of n sorted values, counted from 1, bound a quantile; 0 and n + 1 where none does.

    How many values lie below the quantile is binomial, whatever they are, so that the quantile is between the l-th and
    the u-th with the chance that this number is from l to u − 1.
    Source: David and Nagaraja, Order Statistics, 2003, section 7.1.
    """
    tail = (1.0 - level) / 2.0
    return binomial_quantile(tail, n, share), binomial_quantile(1.0 - tail, n, share) + 1


@lru_cache(maxsize=256)
def binomial_quantile(chance: float, n: int, share: float) -> int:
    """The least k such that at most k of n happen with this chance or more, where each has the chance ``share``."""
    mean = n * share
    reach = _DEVIATIONS * sqrt(mean * (1.0 - share)) + _STEPS
    first, last = max(0, floor(mean - reach)), min(n, ceil(mean + reach))
    odds, none = log(share) - log1p(-share), lgamma(n + 1) + n * log1p(-share)
    chances = [exp(none - lgamma(k + 1) - lgamma(n - k + 1) + k * odds) for k in range(first, last + 1)]
    sums = np.cumsum(chances)
    return first + int(np.searchsorted(sums[:-1], chance * sums[-1]))
