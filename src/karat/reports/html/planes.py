"""Whole numbers as text that deflates well: digits to the base 90, one string a digit, lowest first.

Digits that lie together are alike, so that Huffman's code gives each about as many bits as it deserves; and the text
needs no escaping in JSON.
"""

import numpy as np

from karat.types import Floats, Ints

__all__ = ["BASE", "OFFSET", "planes_of", "scaled"]

_LETTERS = np.frombuffer(bytes(one for one in range(0x23, 0x7F) if one != 0x5C)[:90], dtype=np.uint8)
BASE = len(_LETTERS)
"""From # on, without the backslash; the page's script reads it back."""
_DIGITS, _OF_SMALLEST, _MOST_DIGITS = 4, 2, 13
OFFSET = 400
"""Added to decimals, which may be negative."""


def planes_of(numbers: Ints) -> list[str]:
    """As many strings as the largest number has digits; numbers are 0 or more."""
    if len(numbers) and numbers.min() < 0:
        raise ValueError(f"{numbers.min()} among numbers that are 0 or more")
    planes: list[str] = []
    rest = np.asarray(numbers, dtype=np.int64)
    while not planes or rest.any():
        rest, digit = np.divmod(rest, BASE)
        planes.append(_LETTERS[digit].tobytes().decode("ascii"))
    return planes


def scaled(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
    """Decimals of each segment, and its values as whole numbers of their last one.

    There are four digits of the segment's largest value, and two of its smallest where that is not too far away.
    ``starts`` are the segments' (CSR). What is undefined is 0; decimals are negative where values are huge.
    """
    lengths = np.diff(starts)
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), np.nan)
    with np.errstate(divide="ignore"):
        power = np.floor(np.log10(size))
    filled = lengths > 0
    largest, smallest = np.full(len(lengths), np.nan), np.full(len(lengths), np.nan)
    if filled.any():
        largest[filled] = np.fmax.reduceat(power, starts[:-1][filled])
        smallest[filled] = np.fmin.reduceat(power, starts[:-1][filled])
    largest, smallest = np.nan_to_num(largest, nan=0.0), np.nan_to_num(smallest, nan=0.0)
    wanted = np.maximum(_DIGITS - 1 - largest, _OF_SMALLEST - 1 - smallest)
    decimals = np.clip(np.minimum(wanted, _MOST_DIGITS - 1 - largest), -300, 15).astype(np.int64)
    held = np.where(np.isfinite(values), values, 0.0)
    return decimals, np.rint(held * 10.0 ** np.repeat(decimals, lengths).astype(np.float64)).astype(np.int64)
