"""Sums with twice the digits of a float, so that what is equal on paper is equal.

1/63 + 1/84 and 1/72 + 1/72 are the same number, and so are 0.1/61 + 0.2/61 and 0.3/61; added as floats they may differ
in the last digit, and then the id would not break the tie. A number is held as a complex: ``real`` is the number,
``imag`` what rounding took from it. After T. J. Dekker, A floating-point technique for extending the available
precision, Numerische Mathematik 18, 1971.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankjury.core.types import Floats, cut_rows, in_threads

Precise = NDArray[np.complex128]

_ROWS_PER_BLOCK = 1 << 15
_SPLITTER = 134217729.0  # 2^27 + 1


def from_decimal(number: float) -> complex:
    """The decimal number that a float prints as."""
    meant = Fraction(repr(float(number)))
    return complex(number, float(meant - Fraction(number)))


def shifted(number: complex, values: Floats) -> Precise:
    """number + values."""
    total, rest = _two_sum(np.float64(number.real), values)
    return _pair(total, rest + number.imag)


def quotient(number: complex, below: Precise) -> Precise:
    """number / below."""
    with np.errstate(over="ignore", invalid="ignore"):
        first = number.real / below.real
        back, rest = _two_product(first, below.real)
        left = (number.real - back) - rest + number.imag - first * below.imag
        return _pair(first, left / below.real)


def product(number: complex, values: Floats) -> Precise:
    """number × values."""
    if number == 1:
        return values.astype(np.complex128)
    with np.errstate(over="ignore", invalid="ignore"):
        first, rest = _two_product(np.float64(number.real), values)
        return _pair(first, rest + number.imag * values)


def times(numbers: Precise, factors: Floats) -> Floats:
    """numbers × factors, rounded once."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, rest = _two_product(numbers.real, factors)
        return np.asarray(first + (rest + numbers.imag * factors))


def totals(rows: int, columns: Sequence[Callable[[slice], Precise]]) -> Precise:
    """The sum over the columns for each row; the same to the last digit in whatever order the columns come."""

    def of_block(first: int, last: int) -> Precise:
        laid = np.stack([column(slice(first, last)) for column in columns], axis=1)
        if len(columns) > 2:  # two can be added either way round
            laid.sort(axis=1)
        total = laid[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            for other in laid.T[1:]:
                high, low = _two_sum(total.real, other.real)
                total = _pair(high, low + (total.imag + other.imag))
        return total

    return np.concatenate([np.empty(0, dtype=np.complex128), *in_threads(of_block, cut_rows(rows, _ROWS_PER_BLOCK))])


def _pair(high: Floats, low: Floats) -> Precise:
    """high + low, with all of it that fits in the first."""
    pair = np.empty(high.shape, dtype=np.complex128)
    total = high + low
    pair.real = total
    pair.imag = low - (total - high)
    return pair


def _two_sum(left: Floats | np.float64, right: Floats) -> tuple[Floats, Floats]:
    """The sum, and what rounding took from it."""
    total = left + right
    of_right = total - left
    return total, (left - (total - of_right)) + (right - of_right)


def _two_product(left: Floats | np.float64, right: Floats) -> tuple[Floats, Floats]:
    """The product, and what rounding took from it."""
    first = left * right
    left_high, left_low = _split(left)
    right_high, right_low = _split(right)
    rest = ((left_high * right_high - first) + left_high * right_low + left_low * right_high) + left_low * right_low
    # Numbers beyond 10^300 cannot be split: they are multiplied as plain floats.
    return np.asarray(first), np.where(np.isfinite(rest), rest, 0.0)


def _split(number: Floats | np.float64) -> tuple[Floats | np.float64, Floats | np.float64]:
    """Two halves of 26 digits each."""
    far = number * _SPLITTER
    high = far - (far - number)
    return high, number - high
