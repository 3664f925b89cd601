"""Quantiles of scores: exact where all of them fit, else from counts of rounded ones that can be joined.

A score keeps its exponent and 11 bits of its fraction; how often each such number stands does not depend on the order
or the parts in which scores came. So a quantile is off by at most one part in 4,096 of the score at its rank; between
two scores, of the one that is farther from zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from karat.errors import DataError, shorten
from karat.records import Record
from karat.types import Floats, Ints

__all__ = ["ERROR", "FRACTION", "QuantileValues", "Quantiles", "about", "bits_to_drop"]

FRACTION = 52
"""Bits of a float's fraction."""
_BITS_DROPPED = 41
ERROR = 2.0**-12
"""The largest error of a quantile that is not exact, relative to the score at its rank (the larger one of two)."""
_HIGHEST_BIT = np.uint64(1 << 63)


@dataclass(frozen=True)
class QuantileValues(Record):
    """The scores at some shares of the queries, and how far they may be off."""

    at: Mapping[str, float]
    """By share, as a text; NaN where no query is defined."""
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
class Quantiles:
    """Scores to take quantiles of; more than ``limit`` of them are counted instead of held."""

    limit: int
    held: Floats | None
    places: Ints
    """Rounded scores, as whole numbers in the same order."""
    counts: Ints

    @classmethod
    def of(cls, values: Floats, limit: int) -> "Quantiles":
        known = values[~np.isnan(values)]
        places, counts = np.unique(_places(known), return_counts=True)
        return cls(limit, known if known.size <= limit else None, places, counts.astype(np.int64))

    def __add__(self, other: "Quantiles") -> "Quantiles":
        places, group = np.unique(np.concatenate((self.places, other.places)), return_inverse=True)
        counts = np.bincount(group, np.concatenate((self.counts, other.counts)), places.size).astype(np.int64)
        held = None
        if self.held is not None and other.held is not None and self.held.size + other.held.size <= self.limit:
            held = np.concatenate((self.held, other.held))
        return Quantiles(self.limit, held, places, counts)

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def error(self) -> float:
        return 0.0 if self.held is not None else ERROR

    def at(self, shares: Sequence[float]) -> list[float]:
        """By linear interpolation between the scores next to each rank, which are rounded where they are not held."""
        if self.n == 0:
            return [float("nan")] * len(shares)
        if self.held is not None:
            return [float(value) for value in np.quantile(np.sort(self.held), shares)]
        ranks = np.asarray(shares, dtype=np.float64) * (self.n - 1)
        below, above = self._rounded_at(np.floor(ranks)), self._rounded_at(np.ceil(ranks))
        share = ranks - np.floor(ranks)
        found = np.where(below == above, below, below * (1 - share) + above * share)
        return [float(value) for value in found]

    def _rounded_at(self, ranks: Floats) -> Floats:
        """The rounded scores that have these ranks, from 0 on."""
        return _middles(self.places[np.searchsorted(np.cumsum(self.counts), ranks, side="right")])

    def values(self, shares: Sequence[float]) -> QuantileValues:
        """Return the scores at some shares, for a report."""
        found = zip(shares, self.at(shares), strict=True)
        return QuantileValues({f"{share:g}": nan if isnan(value) else value for share, value in found}, self.error)


def bits_to_drop(numbers: Floats, most: int, at_least: int) -> int:
    """Without so many bits of their fractions no more than ``most`` of these ascending numbers differ, if possible."""
    for dropped in range(at_least, FRACTION):
        if np.count_nonzero(np.diff(_places(numbers, dropped))) < most:
            return dropped
    return FRACTION


def about(values: Floats, dropped: int) -> Floats:
    """The values without so many bits of their fractions: what is about the same becomes the same.

    It remains the same when more bits are dropped later.
    """
    return _middles(_places(values, dropped), dropped)


def _places(values: Floats, dropped: int = _BITS_DROPPED) -> Ints:
    bits = (values + 0.0).view(np.uint64)
    ordered: NDArray[np.uint64] = np.where(bits & _HIGHEST_BIT, ~bits, bits | _HIGHEST_BIT)
    return (ordered >> np.uint64(dropped)).astype(np.int64)


def _middles(places: Ints, dropped: int = _BITS_DROPPED) -> Floats:
    """The numbers in the middle of those that are rounded alike; zero stays zero, and what is infinite so."""
    first = places.astype(np.uint64) << np.uint64(dropped)
    middle = first | np.uint64(1 << (dropped - 1))
    bits = np.where(middle & _HIGHEST_BIT, middle & ~_HIGHEST_BIT, ~middle)
    found = bits.view(np.float64)
    found = np.where(np.isnan(found), np.copysign(np.inf, found), found)
    return np.where(first == _HIGHEST_BIT, 0.0, found)
