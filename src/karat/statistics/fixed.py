"""Fixed-point numbers: sums that are exact, so that no digit depends on the order of adding.

A column of scores becomes whole numbers of at most 36 bits, to a scale that is a power of two. They are held as floats,
so that sums are matrix products; a block of them adds up to less than 2^53 and so without rounding, and blocks are
added as 64-bit integers. Up to 2^25 queries fit.
"""

from dataclasses import dataclass
from math import frexp, ldexp

import numpy as np

from karat.types import Floats

__all__ = ["LARGEST_BLOCK", "Fixed", "exact_sum", "steps_of", "to_fixed", "unit_for"]

_BITS = 36
_SMALLEST = 5e-324
LARGEST_BLOCK = 1 << 13
"""Queries whose weighted sum is exact in a float: 36 bits, 13 for the queries, at most 4 for a weight."""


@dataclass(frozen=True, eq=False)
class Fixed:
    """Whole numbers, as floats, and what one of them is worth."""

    whole: Floats
    unit: float


def to_fixed(*columns: Floats, largest: float = 0.0) -> list[Fixed]:
    """The columns to one scale, each value rounded to a step of 2^-36 of the next power of two; NaN becomes 0.

    The scale may be larger than the columns need: that of the scores of which they are differences.
    """
    filled = [np.nan_to_num(column, nan=0.0) for column in columns]
    unit = unit_for(max([largest, *(float(np.abs(column).max(initial=0.0)) for column in filled)]))
    return [Fixed(np.rint(column / unit), unit) for column in filled]


def unit_for(largest: float) -> float:
    """What one step is worth where no value is larger."""
    exponent = frexp(largest)[1] if largest else 0
    return max(ldexp(1.0, exponent - _BITS), _SMALLEST)


def steps_of(column: Floats, unit: float) -> Floats:
    """The whole numbers of ``to_fixed``, to a scale that is known."""
    return np.rint(np.nan_to_num(column, nan=0.0) / unit)


def exact_sum(whole: Floats) -> int:
    """The sum of whole numbers held as floats."""
    return int(whole.astype(np.int64).sum())
