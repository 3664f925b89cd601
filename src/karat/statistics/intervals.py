"""Bootstrap intervals over queries, from resampled estimates."""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, isnan
from typing import Literal, get_args

import numpy as np

from karat.arguments import check_fields
from karat.errors import UnknownName, UsageError
from karat.records import Record, SignedInt
from karat.statistics.distributions import normal_cdf, normal_quantile
from karat.types import Floats

__all__ = ["FEWEST_RESAMPLES", "MOST_RESAMPLES", "Bounds", "Influence", "IntervalMethod", "Resampling", "interval"]

Bounds = tuple[float, float]
IntervalMethod = Literal["auto", "bca", "percentile"]
FEWEST_RESAMPLES, MOST_RESAMPLES = 100, 10_000_000


@dataclass(frozen=True)
class Resampling(Record):
    """How intervals and randomisation tests are made."""

    resamples: int = 10_000
    level: float = 0.95
    seed: SignedInt = 0
    interval: IntervalMethod = "auto"
    """``auto``: bca for means, which are skewed; percentile for differences, of which many are zero."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 < self.level < 1.0:
            raise UsageError(f"the level is {self.level}", expected="a share between 0 and 1, such as 0.95")
        if not FEWEST_RESAMPLES <= self.resamples <= MOST_RESAMPLES:
            raise UsageError(f"found {self.resamples:,} resamples", expected=f"100 to {MOST_RESAMPLES:,}")
        if not -(2**63) <= self.seed < 2**63:
            raise UsageError(f"the seed is {self.seed}", expected="a whole number of at most 63 bits")
        if self.interval not in get_args(IntervalMethod):
            raise UnknownName("kind of interval", self.interval, get_args(IntervalMethod))

    @property
    def of_means(self) -> IntervalMethod:
        return "bca" if self.interval == "auto" else self.interval

    @property
    def of_differences(self) -> IntervalMethod:
        return "percentile" if self.interval == "auto" else self.interval


@dataclass(frozen=True)
class Influence:
    """What each query moves the estimate by (the estimate less that without it, up to a factor): the sums that count.

    They are floats, or numbers without rounding.
    """

    squares: float | Fraction
    cubes: float | Fraction

    def __add__(self, other: "Influence") -> "Influence":
        return Influence(self.squares + other.squares, self.cubes + other.cubes)

    def scaled(self, factor: float) -> "Influence":
        return Influence(self.squares * factor**2, self.cubes * factor**3)

    @property
    def acceleration(self) -> float | None:
        """None where no query moves it."""
        squares = float(self.squares)
        return float(self.cubes) / (6.0 * squares**1.5) if squares > 0.0 else None


def interval(resampled: Floats, estimate: float, influence: Influence, level: float, method: IntervalMethod) -> Bounds:
    """The bounds that hold the share ``level`` of the resampled estimates.

    ``percentile`` takes their quantiles as they are; ``bca`` shifts them by the bias and the acceleration, the latter
    from the queries' ``influence``.
    Source: Efron, Better bootstrap confidence intervals, JASA 1987.
    """
    tail = (1.0 - level) / 2.0
    tails = [tail, 1.0 - tail]
    if method == "bca":
        tails = _shifted(tails, resampled, estimate, influence)
    low, high = np.quantile(resampled, tails).tolist()
    return low, high


def _shifted(tails: list[float], resampled: Floats, estimate: float, influence: Influence) -> list[float]:
    below = (np.count_nonzero(resampled < estimate) + np.count_nonzero(resampled <= estimate)) / (2 * resampled.size)
    bias = normal_quantile(below)
    acceleration = influence.acceleration
    if not isfinite(bias) or acceleration is None:
        return tails
    shifted = []
    for tail in tails:
        z = bias + normal_quantile(tail)
        shifted.append(normal_cdf(bias + z / (1.0 - acceleration * z)))
    return tails if any(isnan(tail) for tail in shifted) else shifted
