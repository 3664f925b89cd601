"""Exact sums, means and moments: sums are exact until rounded once, so no digit depends on the order of values.

A column of scores becomes whole numbers of at most 36 bits, on a scale that is a power of two. They are stored as
floats, so that sums are matrix products; a block of them adds up to less than 2^53 and so without rounding, and blocks
are added as 64-bit integers. Up to 2^27 queries are supported.
"""

from dataclasses import astuple, dataclass, fields
from fractions import Fraction
from math import frexp, fsum, inf, ldexp, nan, sqrt
from typing import Any, Self, cast

import numpy as np

from rankjury.core.types import Bools, Floats, Ints, cut_rows

_BITS = 36
_SMALLEST = 5e-324
LARGEST_BLOCK = 1 << 13
"""Number of queries whose weighted sum is exact in a float: 36 bits, 13 for the queries, at most 4 for a weight."""


class Summable:
    """Base class of dataclasses that are added field by field; tuples are added element by element."""

    def __add__(self, other: Self) -> Self:
        sides = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return type(self)(*(add_pairwise(*pair) if isinstance(pair[0], tuple) else pair[0] + pair[1] for pair in sides))


def add_pairwise(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the sums of corresponding elements."""
    return tuple(left + right for left, right in zip(ours, theirs, strict=True))


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Whole numbers, stored as floats, and the value of one step."""

    whole: Floats
    unit: float


def to_fixed(*columns: Floats, largest: float = 0.0) -> list[FixedPoint]:
    """Convert the columns to one scale, rounded to steps of 2^-36 of the next power of two; NaN becomes 0.

    ``largest`` may require a larger scale: that of the scores of which the columns are differences.
    """
    filled = [np.nan_to_num(column, nan=0.0) for column in columns]
    unit = step_size(max([largest, *(float(np.abs(column).max(initial=0.0)) for column in filled)]))
    return [FixedPoint(np.rint(column / unit), unit) for column in filled]


def step_size(largest: float) -> float:
    """Return the value of one step if no value is larger than ``largest``."""
    exponent = frexp(largest)[1] if largest else 0
    return max(ldexp(1.0, exponent - _BITS), _SMALLEST)


def to_steps(column: Floats, unit: float) -> Floats:
    """Return the whole numbers of ``to_fixed`` on a known scale."""
    return np.rint(np.nan_to_num(column, nan=0.0) / unit)


def exact_sum(whole: Floats) -> int:
    """Return the sum of whole numbers stored as floats."""
    return int(whole.astype(np.int64).sum())


_AT_ONCE = 1 << 13
_CELLS_AT_ONCE = 1 << 14
_MANTISSA_BITS = 40  # ``_AT_ONCE`` numbers of this many bits have a sum that is exact in a float
_FEW = 1 << 9  # up to this many numbers are added faster one by one
_MAX_ROUNDS = 4
_TINY = 1e-200
_SAME = 4 * float(np.finfo(np.float64).eps)


def exact_total(values: Floats) -> float:
    """Return the sum, rounded once, equal to ``fsum``; several times faster for many values."""
    blocks = (values[first : first + _AT_ONCE] for first in range(0, values.size, _AT_ONCE))
    return fsum(part for block in blocks for part in sum_parts(block))


def sum_parts(values: Floats) -> list[float]:
    """Return a few numbers with the same sum.

    Each round splits 40 bits off all values: whole numbers of one unit, whose sum is a float in any order of addition.
    If bits remain after the last round, the values are returned unchanged.
    """
    if values.size >= _FEW:
        largest = float(np.abs(values).max())
        rest, unit, sums = values, ldexp(1.0, frexp(largest)[1]), []
        for _ in range(_MAX_ROUNDS if _TINY < largest < 1 / _TINY else 0):
            unit = ldexp(unit, -_MANTISSA_BITS)
            whole = np.rint(rest / unit) * unit
            sums.append(float(whole.sum()))
            rest = rest - whole
            if not rest.any():
                return sums
    return cast(list[float], values.tolist())


def column_totals(table: Floats) -> list[float]:
    """Return the sum of each column, equal to ``exact_total``: all columns at once, in blocks that fit into cache."""
    parts: list[list[float]] = [[] for _ in range(table.shape[1])]
    for first, last in cut_rows(len(table), max(_FEW, _CELLS_AT_ONCE // max(1, table.shape[1]))):
        columns = np.ascontiguousarray(table[first:last].T)
        sums, settled = _same_sums(columns)
        for place, part in enumerate(parts):
            part += (
                [float(sums_of_round[place]) for sums_of_round in sums] if settled[place] else columns[place].tolist()
            )
    return [fsum(part) for part in parts]


def _same_sums(columns: Floats) -> tuple[list[Floats], Bools]:
    """Return, for each column (a row here), the numbers of ``sum_parts``, and whether they have the same sum."""
    largest = np.abs(columns).max(axis=1, initial=0.0)
    known = (largest > _TINY) & (largest < 1 / _TINY)
    unit = np.ldexp(1.0, np.frexp(np.where(known, largest, 1.0))[1])[:, None]
    rest, sums = columns if known.all() else np.where(known[:, None], columns, 0.0), []
    for _ in range(_MAX_ROUNDS):
        unit = np.ldexp(unit, -_MANTISSA_BITS)
        whole = np.rint(rest / unit)
        whole *= unit
        sums.append(whole.sum(axis=1))
        rest = rest - whole
        left = rest.any(axis=1)
        if not (left & known).any():
            break
    return sums, (known & ~left) | (largest == 0.0)


def mean_and_std(values: Floats, total: float | None = None) -> tuple[float, float]:
    """Return the mean (NaN without values) and the sample standard deviation (NaN for one value, 0 if all are equal).

    ``total`` is their sum, if known.
    """
    if values.size == 0:
        return nan, nan
    extent = Extent.of(values)
    known = total is not None and _TINY < extent.largest < 1 / _TINY
    scaled = np.ldexp(values, -extent.exponent)
    mean = extent.scaled_mean(cast(float, total)) if known else exact_total(scaled) / values.size
    squares = exact_total(np.square(scaled - mean)) if extent.varies else 0.0
    return ldexp(mean, extent.exponent), extent.std(squares)


@dataclass(frozen=True)
class Extent:
    """Number of values and their range, which determines a scale near 1.

    The scale is a power of two, so that scaling does not round: squares neither overflow nor vanish.
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
        """Largest absolute value."""
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
        """Return the squared distances of these values from the mean of all, on the scale."""
        return np.square(np.ldexp(values, -self.exponent) - self.scaled_mean(total))

    def std(self, squares: float) -> float:
        """Return the sample standard deviation from the sum of all squares."""
        if self.n < 2:
            return nan
        return ldexp(sqrt(squares / (self.n - 1)), self.exponent) if self.varies else 0.0


def means_and_stds(table: Floats) -> tuple[Floats, Floats, Floats, Ints]:
    """Return sum, mean, standard deviation and number of the defined values of each column.

    Identical to the last digit to ``exact_total`` and ``mean_and_std`` of each: all columns at once if they are short,
    as for slices, of which there are many; else one by one, which is faster then.
    """
    defined = ~np.isnan(table)
    n = defined.sum(axis=0)
    if len(table) > 1 << 11:
        columns = [column[known] for column, known in zip(table.T, defined.T, strict=True)]
        totals = np.array([exact_total(column) for column in columns])
        stds = np.array([mean_and_std(*pair)[1] for pair in zip(columns, totals.tolist(), strict=True)])
    else:
        totals, stds = _of_short(table, defined, n)
    return totals, np.divide(totals, n, out=np.full(n.size, nan), where=n > 0), stds, n


def _of_short(table: Floats, defined: Bools, n: Ints) -> tuple[Floats, Floats]:
    """Return the sum and the standard deviation of each column."""
    filled = table if defined.all() else np.where(defined, table, 0.0)
    largest = np.abs(filled).max(axis=0, initial=0.0)
    totals = np.array(column_totals(filled))
    exponent = np.frexp(largest)[1]
    scaled = np.ldexp(filled, -exponent)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = scaled - np.ldexp(totals, -exponent) / n
        if filled is not table:
            centred[~defined] = 0.0
        squares = np.array(column_totals(np.multiply(centred, centred, out=centred)))
        stds = np.ldexp(np.sqrt(squares / (n - 1)), exponent)
    high = scaled.max(axis=0, where=defined, initial=-np.inf)
    same = high - scaled.min(axis=0, where=defined, initial=np.inf) <= _SAME
    stds[same & (n >= 2)] = 0.0
    regular = (largest > _TINY) & (largest < 1 / _TINY) & (n >= 2)
    for place in np.flatnonzero(~regular).tolist():
        stds[place] = mean_and_std(table[defined[:, place], place])[1]
    return totals, stds


_ROWS_AT_ONCE = 1 << 12
_LIMB_BITS = 13
_LIMBS = 3  # 39 bits. Three products of three limbs have 41, and _ROWS_AT_ONCE rows of those are exact in a float


@dataclass
class ExactSum:
    """Exact sum of floats: a few numbers that do not overlap and have exactly this sum.

    Source: Shewchuk, Adaptive precision floating-point arithmetic, 1997.
    """

    parts: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Floats) -> "ExactSum":
        blocks = cut_rows(values.size, _ROWS_AT_ONCE)
        return sum((cls(tuple(sum_parts(values[first:last]))) for first, last in blocks), start=cls())

    def __add__(self, other: "ExactSum") -> "ExactSum":
        parts = list(self.parts)
        for number in other.parts:
            left, size = number, 0
            for part in parts:
                large, small = (left, part) if abs(left) >= abs(part) else (part, left)
                left = large + small
                lost = small - (left - large)
                if lost:
                    parts[size] = lost
                    size += 1
            parts[size:] = [left]
        return ExactSum(tuple(parts))

    @property
    def value(self) -> float:
        """The sum, rounded once."""
        return fsum(self.parts)


@dataclass(frozen=True)
class PowerSums(Summable):
    """Count of whole numbers, with the sums of them, of their squares and of their cubes."""

    n: int = 0
    first: int = 0
    second: int = 0
    third: int = 0

    @classmethod
    def of(cls, whole: Floats) -> "PowerSums":
        second, third, _ = exact_products(whole, whole)
        return cls(whole.size, exact_sum(whole), second, third)

    def __sub__(self, other: "PowerSums") -> "PowerSums":
        return PowerSums(*map(int.__sub__, astuple(self), astuple(other)))

    @property
    def mean(self) -> float:
        return self.first / self.n

    @property
    def varies(self) -> bool:
        return self.n * self.second != self.first * self.first

    @property
    def squares(self) -> float:
        """Sum of squared distances from the mean."""
        return (self.n * self.second - self.first**2) / self.n if self.n else 0.0

    @property
    def cubes(self) -> float:
        """Sum of cubed distances from the mean."""
        n = self.n
        return (n * n * self.third - 3 * n * self.first * self.second + 2 * self.first**3) / (n * n) if n else 0.0


def exact_products(left: Floats, right: Floats) -> tuple[int, int, int]:
    """Return the sums of left × right, left² × right and left × right² of whole numbers stored as floats."""
    totals = [0, 0, 0]
    for first, last in cut_rows(left.size, _ROWS_AT_ONCE):
        ours, theirs = _limbs(left[first:last]), _limbs(right[first:last])
        squares = [_products(ours), _products(theirs)]
        for place, (rows, others) in enumerate(((ours, theirs), (squares[0], theirs), (squares[1], ours))):
            totals[place] += _joined(rows @ others.T)
    return totals[0], totals[1], totals[2]


def _limbs(whole: Floats) -> Floats:
    """Return 13 bits of each number per row, the lowest first; the last row has the sign."""
    left = whole.astype(np.int64)
    rows = []
    for _ in range(_LIMBS - 1):
        rows.append(left & ((1 << _LIMB_BITS) - 1))
        left = left >> _LIMB_BITS
    return np.array([*rows, left], dtype=np.float64)


def _products(limbs: Floats) -> Floats:
    """Return the squares of the numbers as sums of products of limbs: rows of equal weight, the lowest first."""
    rows = np.zeros((2 * _LIMBS - 1, limbs.shape[1]))
    for left in range(_LIMBS):
        for right in range(_LIMBS):
            rows[left + right] += limbs[left] * limbs[right]
    return rows


def _joined(table: Floats) -> int:
    """Return the value of a table of sums whose weight grows by 13 bits with each row and each column."""
    return sum(
        int(value) << (_LIMB_BITS * (row + column))
        for row, line in enumerate(table.tolist())
        for column, value in enumerate(line)
    )


def central_products(ours: PowerSums, theirs: PowerSums, crossed: tuple[int, int, int]) -> tuple[Fraction, ...]:
    """Return the sums of products of two columns' distances from their means: ab, a²b and ab².

    ``crossed`` are the plain sums of those products.
    """
    n = ours.n
    a, b = Fraction(ours.first, n), Fraction(theirs.first, n)
    ab, aab, abb = crossed
    return (
        ab - n * a * b,
        aab - b * ours.second - 2 * a * ab + 2 * n * a * a * b,
        abb - a * theirs.second - 2 * b * ab + 2 * n * a * b * b,
    )
