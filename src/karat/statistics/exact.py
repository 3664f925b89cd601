"""Sums without rounding, in parts that can be joined in any order: of floats, and of powers of whole numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import fsum

import numpy as np

from karat.blocks import cut_rows
from karat.statistics.moments import same_sum
from karat.types import Floats

__all__ = ["ExactSum", "Powers", "central_products", "exact_products"]

_AT_ONCE = 1 << 12
_LIMB_BITS = 13
_LIMBS = 3
"""They hold 39 bits. Three products of three limbs have 41, and so many rows of those add up within a float."""


@dataclass
class ExactSum:
    """A sum of floats: a few numbers that do not overlap and have exactly that sum.

    Source: Shewchuk, Adaptive precision floating-point arithmetic, 1997.
    """

    parts: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Floats) -> "ExactSum":
        found = cls()
        for first, last in cut_rows(values.size, _AT_ONCE):
            found.add(same_sum(values[first:last]))
        return found

    def add(self, numbers: Iterable[float]) -> None:
        held = list(self.parts)
        for number in numbers:
            left, kept = number, 0
            for other in held:
                large, small = (left, other) if abs(left) >= abs(other) else (other, left)
                left = large + small
                lost = small - (left - large)
                if lost:
                    held[kept] = lost
                    kept += 1
            held[kept:] = [left]
        self.parts = tuple(held)

    def __add__(self, other: "ExactSum") -> "ExactSum":
        found = ExactSum(self.parts)
        found.add(other.parts)
        return found

    @property
    def value(self) -> float:
        """Rounded once."""
        return fsum(self.parts)


@dataclass(frozen=True)
class Powers:
    """How many whole numbers there are, and the sums of them, of their squares and of their cubes."""

    n: int = 0
    first: int = 0
    second: int = 0
    third: int = 0

    @classmethod
    def of(cls, whole: Floats) -> "Powers":
        second, third, _ = exact_products(whole, whole)
        return cls(whole.size, int(whole.astype(np.int64).sum()), second, third)

    def __add__(self, other: "Powers") -> "Powers":
        return Powers(self.n + other.n, self.first + other.first, self.second + other.second, self.third + other.third)

    def __sub__(self, other: "Powers") -> "Powers":
        return Powers(self.n - other.n, self.first - other.first, self.second - other.second, self.third - other.third)

    @property
    def mean(self) -> float:
        return self.first / self.n

    @property
    def varies(self) -> bool:
        return self.n * self.second != self.first * self.first

    @property
    def squares(self) -> float:
        """The sum of squared distances from the mean."""
        return (self.n * self.second - self.first**2) / self.n if self.n else 0.0

    @property
    def cubes(self) -> float:
        """The sum of cubed distances from the mean."""
        n = self.n
        return (n * n * self.third - 3 * n * self.first * self.second + 2 * self.first**3) / (n * n) if n else 0.0


def exact_products(left: Floats, right: Floats) -> tuple[int, int, int]:
    """The sums of left × right, of left² × right and of left × right², of whole numbers held as floats."""
    totals = [0, 0, 0]
    for first, last in cut_rows(left.size, _AT_ONCE):
        ours, theirs = _limbs(left[first:last]), _limbs(right[first:last])
        squares = [_products(ours), _products(theirs)]
        for place, (one, other) in enumerate(((ours, theirs), (squares[0], theirs), (squares[1], ours))):
            totals[place] += _joined(one @ other.T)
    return totals[0], totals[1], totals[2]


def _limbs(whole: Floats) -> Floats:
    """Of each number 13 bits a row, the lowest first; the last row has the sign."""
    left = whole.astype(np.int64)
    rows = []
    for _ in range(_LIMBS - 1):
        rows.append(left & ((1 << _LIMB_BITS) - 1))
        left = left >> _LIMB_BITS
    return np.array([*rows, left], dtype=np.float64)


def _products(limbs: Floats) -> Floats:
    """The squares of the numbers, as sums of products of limbs: rows of equal worth are added, the lowest first."""
    rows = np.zeros((2 * _LIMBS - 1, limbs.shape[1]))
    for one in range(_LIMBS):
        for other in range(_LIMBS):
            rows[one + other] += limbs[one] * limbs[other]
    return rows


def _joined(table: Floats) -> int:
    """A table of sums whose worth grows by 13 bits with each row and each column."""
    return sum(
        int(value) << (_LIMB_BITS * (row + column))
        for row, line in enumerate(table.tolist())
        for column, value in enumerate(line)
    )


def central_products(ours: Powers, theirs: Powers, crossed: tuple[int, int, int]) -> tuple[Fraction, ...]:
    """The sums of products of two columns' distances from their means: ab, a²b and ab².

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
