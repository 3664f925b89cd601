"""Mean and standard deviation: sums exact before they are rounded, so no digit depends on the order of values."""

from dataclasses import dataclass
from math import frexp, fsum, inf, ldexp, nan, sqrt
from typing import cast

import numpy as np

from karat.blocks import cut_rows
from karat.types import Bools, Floats, Ints

__all__ = ["Extent", "mean_and_std", "means_and_stds", "same_sum", "total_of"]

_AT_ONCE = 1 << 13
_CELLS_AT_ONCE = 1 << 14
_BITS = 40
"""So many numbers of so many bits have a sum that is a float."""
_FEW = 1 << 9
"""Added sooner one by one."""
_SHORT = 1 << 11
"""So many rows at most are summarised in all columns at once."""
_MOST_ROUNDS = 4
_TINY = 1e-200
_SAME = 4 * float(np.finfo(np.float64).eps)


def total_of(values: Floats) -> float:
    """The sum, rounded once, as ``fsum`` gives it; several times faster where there are many values."""
    blocks = (values[first : first + _AT_ONCE] for first in range(0, values.size, _AT_ONCE))
    return fsum(part for block in blocks for part in same_sum(block))


def same_sum(values: Floats) -> list[float]:
    """A few numbers that have the same sum.

    Each round takes 40 bits off all values: whole numbers of one unit, whose sum is a float in whatever order they are
    added. Where there are bits further down than the last round, the values stay as they are.
    """
    if values.size >= _FEW:
        largest = float(np.abs(values).max())
        rest, unit, sums = values, ldexp(1.0, frexp(largest)[1]), []
        for _ in range(_MOST_ROUNDS if _TINY < largest < 1 / _TINY else 0):
            unit = ldexp(unit, -_BITS)
            whole = np.rint(rest / unit) * unit
            sums.append(float(whole.sum()))
            rest = rest - whole
            if not rest.any():
                return sums
    return cast(list[float], values.tolist())


def totals_of(table: Floats) -> list[float]:
    """The sum of each column, as ``total_of`` gives it; of all columns at once, as many rows as stay in cache."""
    parts: list[list[float]] = [[] for _ in range(table.shape[1])]
    for first, last in cut_rows(len(table), max(_FEW, _CELLS_AT_ONCE // max(1, table.shape[1]))):
        columns = np.ascontiguousarray(table[first:last].T)
        sums, settled = _same_sums(columns)
        for place, part in enumerate(parts):
            part += [float(one[place]) for one in sums] if settled[place] else columns[place].tolist()
    return [fsum(part) for part in parts]


def _same_sums(columns: Floats) -> tuple[list[Floats], Bools]:
    """Of each column, which is a row here, a few numbers that have the same sum, and whether they have."""
    largest = np.abs(columns).max(axis=1, initial=0.0)
    known = (largest > _TINY) & (largest < 1 / _TINY)
    unit = np.ldexp(1.0, np.frexp(np.where(known, largest, 1.0))[1])[:, None]
    rest, sums = columns if known.all() else np.where(known[:, None], columns, 0.0), []
    for _ in range(_MOST_ROUNDS):
        unit = np.ldexp(unit, -_BITS)
        whole = np.rint(rest / unit)
        whole *= unit
        sums.append(whole.sum(axis=1))
        rest = rest - whole
        left = rest.any(axis=1)
        if not (left & known).any():
            break
    return sums, (known & ~left) | (largest == 0.0)


def mean_and_std(values: Floats, total: float | None = None) -> tuple[float, float]:
    """The mean (NaN of nothing) and the sample standard deviation (NaN under two values, 0 where all are equal).

    ``total`` is their sum, where it is known.
    """
    if values.size == 0:
        return nan, nan
    extent = Extent(values.size, float(values.min()), float(values.max()))
    known = total is not None and _TINY < extent.largest < 1 / _TINY
    scaled = np.ldexp(values, -extent.exponent)
    mean = extent.scaled_mean(cast(float, total)) if known else total_of(scaled) / values.size
    squares = total_of(_squared(scaled - mean)) if extent.varies else 0.0
    return ldexp(mean, extent.exponent), extent.std(squares)


@dataclass(frozen=True)
class Extent:
    """How many values there are and between what: enough to bring them to a scale near 1.

    It is a power of two, so that nothing is rounded: squares neither overflow nor vanish.
    """

    n: int = 0
    low: float = inf
    high: float = -inf

    @classmethod
    def of(cls, values: Floats) -> "Extent":
        return cls(values.size, float(values.min(initial=inf)), float(values.max(initial=-inf)))

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(self.n + other.n, min(self.low, other.low), max(self.high, other.high))

    @property
    def largest(self) -> float:
        """The largest of the values without their signs."""
        return max(abs(self.low), abs(self.high)) if self.n else 0.0

    @property
    def exponent(self) -> int:
        return frexp(self.largest)[1]

    @property
    def varies(self) -> bool:
        return self.n >= 2 and ldexp(self.high, -self.exponent) - ldexp(self.low, -self.exponent) > _SAME

    def scaled_mean(self, total: float) -> float:
        return ldexp(total, -self.exponent) / self.n

    def squares(self, values: Floats, total: float) -> Floats:
        """Of some of the values the squared distance from the mean of all, on the scale."""
        return _squared(np.ldexp(values, -self.exponent) - self.scaled_mean(total))

    def std(self, squares: float) -> float:
        """The sample standard deviation from the sum of all squares."""
        if self.n < 2:
            return nan
        return ldexp(sqrt(squares / (self.n - 1)), self.exponent) if self.varies else 0.0


def _squared(centred: Floats) -> Floats:
    return centred * centred


def means_and_stds(table: Floats) -> tuple[Floats, Floats, Floats, Ints]:
    """Of each column the sum, the mean and the standard deviation of what is defined, and how many values that are.

    The same to the last digit as ``total_of`` and ``mean_and_std`` of each: all columns at once where they are short,
    as those of slices are, of which there are many; else one by one, which is quicker then.
    """
    defined = ~np.isnan(table)
    n = defined.sum(axis=0)
    if len(table) > _SHORT:
        kept = [column[known] for column, known in zip(table.T, defined.T, strict=True)]
        totals = np.array([total_of(column) for column in kept])
        stds = np.array([mean_and_std(column, total)[1] for column, total in zip(kept, totals.tolist(), strict=True)])
    else:
        totals, stds = _of_short(table, defined, n)
    return totals, np.divide(totals, n, out=np.full(n.size, nan), where=n > 0), stds, n


def _of_short(table: Floats, defined: Bools, n: Ints) -> tuple[Floats, Floats]:
    """The sum of each column, and its standard deviation."""
    filled = table if defined.all() else np.where(defined, table, 0.0)
    largest = np.abs(filled).max(axis=0, initial=0.0)
    totals = np.array(totals_of(filled))
    exponent = np.frexp(largest)[1]
    scaled = np.ldexp(filled, -exponent)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = scaled - np.ldexp(totals, -exponent) / n
        if filled is not table:
            centred[~defined] = 0.0
        squares = np.array(totals_of(np.multiply(centred, centred, out=centred)))
        stds = np.ldexp(np.sqrt(squares / (n - 1)), exponent)
    high = scaled.max(axis=0, where=defined, initial=-np.inf)
    same = high - scaled.min(axis=0, where=defined, initial=np.inf) <= _SAME
    stds[same & (n >= 2)] = 0.0
    usual = (largest > _TINY) & (largest < 1 / _TINY) & (n >= 2)
    for place in np.flatnonzero(~usual).tolist():
        stds[place] = mean_and_std(table[defined[:, place], place])[1]
    return totals, stds
