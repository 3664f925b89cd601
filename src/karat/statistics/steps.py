"""Where a series of figures steps from one level to another, as a history does when something changed.

The series is cut into stretches of one mean each. Of all ways to cut it, the one is taken in which the squared
distances from the means, in units of the noise σ², plus a price for every cut are least; it is found exactly, by
optimal partitioning. σ comes from the median absolute difference of successive values, which a few steps do not move.

The price of a cut is 4 log n · (1 + 4 / (n − 1)). It is higher than the usual 2 log n, and higher still for short
series, since σ is itself an estimate of few numbers. Of series of pure noise, 4 to 7 in 100 of up to 12 values then
show a step, 4 in 100 of 20, 2 in 100 of 50 and fewer of more (``tests/statistics/test_steps.py`` counts them).

Figures that repeat to the last digit have no noise: where half of the successive differences are nothing, every change
beyond rounding is a step. σ is never less than 10⁻⁹ √n of the largest figure, so that rounding is none.

Source: Jackson et al., An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing Letters
2005; Killick, Fearnhead and Eckley, Optimal detection of changepoints, JASA 2012.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from karat.types import Floats

__all__ = ["Step", "noise_of", "price_of", "steps_of"]

_PRICE = 4.0
_MORE_FOR_FEW = 4.0
_ROUNDING = 1e-9
_NORMAL_QUARTILE = 0.6744897501960817
"""Half of normal values are nearer to their mean than so many standard deviations."""
_BEYOND = 1.959963984540054


@dataclass(frozen=True)
class Step:
    """A change of level."""

    index: int
    """The place of the first value on the new level."""
    before: float
    after: float
    """The means of the stretches on both sides."""
    z: float | None
    """The change in standard errors of a difference, as if both sides were measured on queries of their own; None
    where these are not known. On the same queries a change can be real that is far within them."""

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def beyond(self) -> bool | None:
        """Whether other queries would hardly show such a change by chance."""
        return None if self.z is None else abs(self.z) > _BEYOND


def steps_of(values: Floats, errors: Floats | None = None) -> tuple[Step, ...]:
    """The steps of a series, in its order; NaN is a gap. ``errors`` are the values' standard errors, where known."""
    places = np.flatnonzero(~np.isnan(values))
    known = values[places]
    starts = cut(known, noise_of(known), price_of(known.size))
    edges = [0, *starts, known.size]
    found = []
    for number, start in enumerate(starts):
        first, last = slice(edges[number], start), slice(start, edges[number + 2])
        before, after = float(known[first].mean()), float(known[last].mean())
        spread = None if errors is None else _spread(errors[places[first]], errors[places[last]])
        z = None if not spread else (after - before) / spread
        found.append(Step(int(places[start]), before, after, z))
    return tuple(found)


def noise_of(values: Floats) -> float:
    """The standard deviation of what is no step."""
    if values.size < 2:
        return 0.0
    apart = np.sort(np.abs(np.diff(values)))
    least = _ROUNDING * float(np.abs(values).max())
    # The lower of two middle ones decides whether there is noise at all: of a, a, b half of the differences are none.
    if apart[(apart.size - 1) // 2] <= least:
        return least * sqrt(values.size)
    return max(float(np.median(apart)) / (_NORMAL_QUARTILE * sqrt(2.0)), least * sqrt(values.size))


def price_of(n: int) -> float:
    """What a cut costs, in units of σ²."""
    return _PRICE * log(n) * (1.0 + _MORE_FOR_FEW / (n - 1)) if n > 1 else 0.0


def cut(values: Floats, noise: float, price: float) -> list[int]:
    """Where the stretches of the cheapest partition begin, but the first; of equally cheap ones that with few cuts.

    Value by value, the squared distances of every stretch that ends there are updated in one go (Welford's way, which
    is exact for stretches of equal values): O(n²) in all.
    """
    n = values.size
    if n < 2 or not noise:
        return []
    best, begins = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    means, squares = np.zeros(n), np.zeros(n)
    prices = np.full(n, price)
    prices[0] = 0.0
    for end in range(n):
        held = slice(0, end + 1)
        sizes = np.arange(end, -1, -1.0)
        apart = values[end] - means[held]
        squares[held] += apart * apart * sizes / (sizes + 1.0)
        means[held] += apart / (sizes + 1.0)
        totals = best[held] + squares[held] / (noise * noise) + prices[held]
        begins[end + 1] = np.argmin(totals)
        best[end + 1] = totals[begins[end + 1]]
    starts: list[int] = []
    place = int(begins[n])
    while place > 0:
        starts.append(place)
        place = int(begins[place])
    return starts[::-1]


def _spread(before: Floats, after: Floats) -> float | None:
    """The standard error of a difference; runs on the same queries tell no more together than one of them."""
    sides = [side[~np.isnan(side)] for side in (before, after)]
    if not all(side.size for side in sides):
        return None
    return sqrt(sum(float(np.mean(side * side)) for side in sides))
