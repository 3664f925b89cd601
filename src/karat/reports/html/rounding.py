"""Figures of single queries with as many digits as a page has of them: a server and a file must order queries alike."""

import numpy as np

from karat.types import Floats

__all__ = ["few_digits"]

_DIGITS = 4
"""Significant ones; the report's JSON has all."""
_MOST_DECIMALS = 17
_POWERS = np.array([float(f"1e{power}") for power in range(_MOST_DECIMALS + 1)])
_NEARLY_HALF = 1e-6


def few_digits(values: Floats) -> Floats:
    """To four significant digits, whole numbers to the unit; what is not finite becomes NaN.

    The same numbers as Python's ``round``: a whole number divided by a power of ten is the double that is nearest to
    the decimal. Where a product may have been rounded over a half, Python decides.
    """
    known = np.isfinite(values)
    held = np.where(known, values, 0.0)
    with np.errstate(divide="ignore"):
        power = np.where(held != 0, np.floor(np.log10(np.abs(held))), 0.0)
    decimals = np.clip(_DIGITS - 1 - power, 0, _MOST_DECIMALS).astype(np.int64)
    scale = _POWERS[decimals]
    scaled = held * scale
    found = np.rint(scaled) / scale
    for at in zip(*np.nonzero(np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) < _NEARLY_HALF), strict=True):
        found[at] = round(float(held[at]), int(decimals[at]))
    return np.where(known, found, np.nan)
