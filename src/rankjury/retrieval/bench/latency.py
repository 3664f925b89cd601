"""Latency: percentiles with confidence intervals, maximum, mean, queries per second and failures."""

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, floor, fsum, lgamma, log, log1p, nan, sqrt
from typing import Literal

import numpy as np

from rankjury.core.types import Floats, Ints
from rankjury.core.validation import Record
from rankjury.errors import UsageError
from rankjury.stats.resampling import Bounds


@dataclass(frozen=True)
class Percentile(Record):
    """A latency percentile in milliseconds with its confidence interval."""

    ms: float
    """NaN if there are no times."""
    ci: Bounds | None = None
    bounded: bool = False
    """Whether the sample is large enough for an upper bound; if not, the upper end is the longest time."""


def latency_percentile(values: Floats, share: float, level: float = 0.95) -> Percentile:
    """Return a percentile of seconds, interpolated as in NumPy, with an interval from order statistics."""
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
    """Return which of n sorted values, counted from 1, bound a quantile; 0 and n + 1 if none does.

    How many values lie below the quantile is binomial, whatever they are, so that the quantile is between the l-th and
    the u-th with the chance that this number is from l to u − 1.
    Source: David and Nagaraja, Order Statistics, 2003, section 7.1.
    """
    tail = (1.0 - level) / 2.0
    return binomial_quantile(tail, n, share), binomial_quantile(1.0 - tail, n, share) + 1


@lru_cache(maxsize=256)
def binomial_quantile(chance: float, n: int, share: float) -> int:
    """Return the quantile of a binomial distribution of ``n`` trials with probability ``share``."""
    mean = n * share
    reach = 12 * sqrt(mean * (1.0 - share)) + 40  # beyond it, less than 1e-25 is left
    first, last = max(0, floor(mean - reach)), min(n, ceil(mean + reach))
    odds, none = log(share) - log1p(-share), lgamma(n + 1) + n * log1p(-share)
    chances = [exp(none - lgamma(k + 1) - lgamma(n - k + 1) + k * odds) for k in range(first, last + 1)]
    sums = np.cumsum(chances)
    return first + int(np.searchsorted(sums[:-1], chance * sums[-1]))


Loop = Literal["closed", "open"]


@dataclass(frozen=True, eq=False)
class QueryTimes:
    """Times of the queries of one loop, in the order asked. Arrays are read-only."""

    seconds: Floats
    """In the open loop from the planned arrival on, including the wait for a free worker; NaN for failures."""
    service: Floats
    """From the moment it was asked on; NaN for failures."""
    queries: Ints
    """Which query each was."""
    failures: tuple[tuple[int, str], ...]
    """Its place in the order asked, and why it failed."""
    wall: float
    """Seconds from the first that was due to the last that ended; warm-up does not count."""
    kind: Loop
    concurrency: int
    rate: float | None
    """How many came a second, in the open loop."""
    gc_seconds: float
    """Duration of garbage collections; it is part of the times."""
    overhead_seconds: float
    """Overhead of the loop per query, measured with an empty query; it is part of the times."""
    late: int = 0
    """Queries asked more than a millisecond after they were due because no worker was free."""
    planned: int = 0
    """Planned queries; more than were asked if the loop gave up."""

    def __post_init__(self) -> None:
        self.seconds.flags.writeable = self.service.flags.writeable = self.queries.flags.writeable = False

    @property
    def answered(self) -> Floats:
        """The times of the queries that did not fail."""
        return self.seconds[~np.isnan(self.seconds)]


SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class FailureCount(Record):
    """An error message and the number of queries that failed with it."""

    message: str
    count: int


@dataclass(frozen=True)
class Latency(Record):
    """Latency summary of one loop."""

    omitted = ("late", "messages", "not_asked")

    kind: Loop
    concurrency: int
    rate: float | None
    n: int
    """Answered queries; percentiles, maximum and mean are over these."""
    failed: int
    p50: Percentile
    p95: Percentile
    p99: Percentile
    max_ms: float
    mean_ms: float
    qps: float
    """Answered queries per second."""
    gc_ms: float
    overhead_us: float
    late: int | None = None
    """Open loop: queries asked later than due because all workers were busy."""
    messages: tuple[FailureCount, ...] = ()
    """The most frequent error messages."""
    not_asked: int = 0
    """Planned queries that were not asked because the loop gave up."""

    @property
    def percentiles(self) -> dict[str, Percentile]:
        """Return the percentiles by name."""
        return {name: getattr(self, name) for name in SHARES}


def summarise(timed: QueryTimes, *, level: float = 0.95) -> Latency:
    """Summarise the answered queries; percentiles have intervals at this level."""
    answered = timed.answered
    messages = Counter(message for _, message in timed.failures)
    return Latency(
        kind=timed.kind,
        concurrency=timed.concurrency,
        rate=timed.rate,
        n=answered.size,
        failed=len(timed.failures),
        **{name: latency_percentile(answered, share, level) for name, share in SHARES.items()},
        max_ms=float(answered.max()) * 1e3 if answered.size else nan,
        mean_ms=fsum(answered.tolist()) / answered.size * 1e3 if answered.size else nan,
        qps=answered.size / timed.wall if timed.wall > 0 else nan,
        gc_ms=timed.gc_seconds * 1e3,
        overhead_us=timed.overhead_seconds * 1e6,
        late=timed.late if timed.kind == "open" else None,
        messages=tuple(FailureCount(*message) for message in messages.most_common(3)),
        not_asked=max(0, timed.planned - timed.seconds.size),
    )
