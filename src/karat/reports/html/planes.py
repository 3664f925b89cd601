"""Whole numbers as text that deflates well: digits to the base 90, one string a digit, lowest first.

Digits that lie together are alike, so that Huffman's code gives each about as many bits as it deserves; and the text
needs no escaping in JSON.
"""

import numpy as np

from karat.types import Floats, Ints

__all__ = ["BASE", "planes_of", "scaled"]

_LETTERS = np.frombuffer(bytes(one for one in range(0x23, 0x7F) if one != 0x5C)[:90], dtype=np.uint8)
BASE = len(_LETTERS)
"""From # on, without the backslash; the page's script reads it back."""
_DIGITS = 4


def planes_of(numbers: Ints) -> list[str]:
    """As many strings as the largest number has digits; numbers are 0 or more."""
    planes: list[str] = []
    rest = np.asarray(numbers, dtype=np.int64)
    while not planes or rest.any():
        rest, digit = np.divmod(rest, BASE)
        planes.append(_LETTERS[digit].tobytes().decode("ascii"))
    return planes


def scaled(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
    """Decimals of each segment, and its values as whole numbers of their last one: four digits of its largest.

    ``starts`` are the segments' (CSR). What is undefined is 0.
    """
    held = np.where(np.isfinite(values), values, 0.0)
    filled = np.diff(starts) > 0
    largest = np.zeros(len(filled))
    if filled.any():
        largest[filled] = np.maximum.reduceat(np.abs(held), starts[:-1][filled])
    power = np.floor(np.log10(largest, out=np.zeros(len(largest)), where=largest > 0))
    decimals = np.clip(_DIGITS - 1 - power, 0, 15).astype(np.int64)
    return decimals, np.rint(held * 10.0 ** np.repeat(decimals, np.diff(starts))).astype(np.int64)
