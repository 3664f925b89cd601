"""Mean and standard deviation: sums exact before they are rounded, so no digit depends on the order of values."""

from math import frexp, fsum, ldexp, nan, sqrt
from typing import cast

import numpy as np

from karat.types import Floats

__all__ = ["mean_and_std", "total_of"]

_AT_ONCE = 1 << 13
_BITS = 40
"""So many numbers of so many bits have a sum that is a float."""
_FEW = 1 << 9
"""Added sooner one by one."""
_MOST_ROUNDS = 4
_TINY = 1e-200
_SAME = 4 * float(np.finfo(np.float64).eps)


def total_of(values: Floats) -> float:
    """The sum, rounded once, as ``fsum`` gives it; several times faster where there are many values."""
    blocks = (values[first : first + _AT_ONCE] for first in range(0, values.size, _AT_ONCE))
    return fsum(part for block in blocks for part in _same_sum(block))


def _same_sum(values: Floats) -> list[float]:
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


def mean_and_std(values: Floats, total: float | None = None) -> tuple[float, float]:
    """The mean (NaN of nothing) and the sample standard deviation (NaN under two values, 0 where all are equal).

    ``total`` is their sum, where it is known.
    """
    if values.size == 0:
        return nan, nan
    # To a scale near 1, a power of two so that nothing is rounded: squares neither overflow nor vanish.
    largest = float(np.abs(values).max())
    exponent = frexp(largest)[1]
    scaled = np.ldexp(values, -exponent)
    known = total is not None and _TINY < largest < 1 / _TINY
    mean = (ldexp(cast(float, total), -exponent) if known else total_of(scaled)) / values.size
    if values.size < 2:
        return ldexp(mean, exponent), nan
    if float(np.ptp(scaled)) <= _SAME:
        return ldexp(mean, exponent), 0.0
    centred = scaled - mean
    return ldexp(mean, exponent), ldexp(sqrt(total_of(centred * centred) / (values.size - 1)), exponent)
