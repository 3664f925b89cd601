"""Shares as exact fractions: how they are written, and how many rows they come to."""

from fractions import Fraction
from typing import Any

import numpy as np

from rankjury.core.params import Param
from rankjury.core.types import Ints
from rankjury.errors import UsageError

Fractions = tuple[Fraction, Fraction, Fraction]
"""Of train, validation and test; they sum to one."""
FRACTIONS = Param("0.8/0.1/0.1", "shares of train, validation and test; or percent, 80/10/10")
_EXPECTED = "shares of train, validation and test that sum to 1 or to 100, like 80/10/10; validation may be 0"
_FINEST = 10**6
_ROUNDING = Fraction(1, 10**6)


def exactly(number: float | str) -> Fraction:
    """What was meant by 0.8 or 0.333333: with a denominator of a million at most."""
    return Fraction(str(number)).limit_denominator(_FINEST)


def read_fractions(text: str) -> Fractions:
    """``0.8/0.1/0.1`` or ``80/10/10``."""
    try:
        given = [Fraction(str(float(part))) for part in text.split("/")]
    except ValueError:
        raise UsageError(f"fractions are {text!r}", expected=_EXPECTED) from None
    total = sum(given, Fraction(0))
    whole = next((one for one in (1, 100) if abs(total - one) <= one * _ROUNDING), None)
    if len(given) != 3 or whole is None or min(given) < 0 or not given[0] or not given[2]:
        raise UsageError(f"fractions are {text}", expected=_EXPECTED)
    train, validation = ((one / total).limit_denominator(_FINEST) for one in given[:2])
    return train, validation, 1 - train - validation


def fractions_told(fractions: Fractions) -> dict[str, Any]:
    """For the record of how a split was made."""
    return {"fractions": [float(one) for one in fractions]}


def rows_of(share: Fraction, rows: Ints) -> Ints:
    """The whole numbers nearest to a share of each of several numbers of rows; halves go up."""
    top, bottom = share.numerator, share.denominator
    found: Ints = (2 * top * rows.astype(np.int64) + bottom) // (2 * bottom)
    return found
