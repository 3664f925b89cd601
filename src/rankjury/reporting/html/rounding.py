"""Rounding of the numbers that a page's script shows: few digits, and every shown text is that of the exact number."""

from collections.abc import Sequence
from fractions import Fraction
from math import nan

import numpy as np

from rankjury.core.types import Bools, Floats, Ints

_DIGITS = 4
"""Significant ones, wherever they suffice; the report's JSON has all."""
_MORE_DIGITS = (5, 6, 7, 8)
"""Where a text would differ; after them the number itself."""
_MOST_DECIMALS = 17
_POWERS = np.array([float(f"1e{power}") for power in range(_MOST_DECIMALS + 1)])
_NEARLY_HALF, _OF_PRODUCT = 1e-6, 1e-15
"""How near to a half a product may have been rounded over it: at least, and as a share of the product."""
_OF_SMALLEST, _MOST_DIGITS = 2, 13
_SMALL, _TINY = 0.0005, 1e-6
"""Numbers between these have three significant digits on a page, as ``number`` in page.js shows them; 0.000 below."""


def round_for_display(values: Floats, bases: Sequence[int]) -> Floats:
    """Round scores, systems × queries, to few digits so that a page shows every score and difference correctly.

    Four significant digits are kept. Where these would make the page show another number than the exact score, or than
    the exact difference from the system at ``bases`` (−1: none), all scores of the query have more. What is not finite
    becomes NaN.
    """
    exact = np.where(np.isfinite(values), values, nan)
    rounded = round_significant(exact)
    columns = np.arange(exact.shape[1])
    for digits in (*_MORE_DIGITS, None):
        columns = columns[~_looks_alike(exact[:, columns], rounded[:, columns], bases)]
        if not len(columns):
            break
        wrong = exact[:, columns]
        rounded[:, columns] = wrong if digits is None else round_significant(wrong, digits)
    return rounded


def round_significant(values: Floats, digits: int = _DIGITS) -> Floats:
    """Round to significant digits, eight at most, and whole numbers to the unit; what is not finite becomes NaN."""
    known = np.isfinite(values)
    finite = np.where(known, values, 0.0)
    return np.where(known, _round_decimals(finite, digits - 1 - _power(finite)), nan)


def scale_scores(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
    """Return the decimals of each segment, and its values as whole numbers of their last decimal.

    There are four digits of the segment's largest value, two of its smallest where that is not too far away, and all
    of whole numbers up to 13 digits. ``starts`` are the segments' (CSR). What is undefined is 0; decimals are negative
    where values are huge.
    """
    lengths = np.diff(starts)
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), nan)
    with np.errstate(divide="ignore"):
        power = np.floor(np.log10(size))
    filled = lengths > 0
    largest, smallest = np.full(len(lengths), nan), np.full(len(lengths), nan)
    if filled.any():
        largest[filled] = np.fmax.reduceat(power, starts[:-1][filled])
        smallest[filled] = np.fmin.reduceat(power, starts[:-1][filled])
    largest, smallest = np.nan_to_num(largest, nan=0.0), np.nan_to_num(smallest, nan=0.0)
    wanted = np.maximum(np.maximum(_DIGITS - 1 - largest, _OF_SMALLEST - 1 - smallest), 0)
    decimals = np.clip(np.minimum(wanted, _MOST_DIGITS - 1 - largest), -300, 15).astype(np.int64)
    held = np.where(np.isfinite(values), values, 0.0)
    places = np.repeat(decimals, lengths)
    scaled = held * 10.0 ** places.astype(np.float64)
    numbers = np.rint(scaled).astype(np.int64)
    for at in np.flatnonzero(_is_near_half(scaled)).tolist():
        numbers[at] = round(Fraction(float(held[at])) * Fraction(10) ** int(places[at]))
    return decimals, numbers


def round_list(scores: Sequence[float]) -> list[float | None]:
    """Round the scores of a list as a page holds them in full detail; what is not finite becomes None."""
    values = np.array(scores, dtype=np.float64)
    (decimals,), numbers = scale_scores(values, np.array([0, len(values)]))
    scale = 10.0 ** float(abs(decimals))
    rounded = (numbers / scale if decimals > 0 else numbers * scale).tolist()
    return [score if known else None for score, known in zip(rounded, np.isfinite(values).tolist(), strict=True)]


def _looks_alike(exact: Floats, rounded: Floats, bases: Sequence[int]) -> Bools:
    """Return for which queries a page shows the same scores and differences of both."""
    same = _equal(_shown(exact), _shown(rounded))
    for system, base in enumerate(bases):
        if base >= 0:
            with np.errstate(over="ignore"):
                differences = [table[system] - table[base] for table in (exact, rounded)]
            ours, theirs = (np.where(np.abs(each) < _SMALL, 0.0, _shown(each)) for each in differences)
            same &= _equal(ours, theirs)
    return same


def _equal(ours: Floats, theirs: Floats) -> Bools:
    equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    return np.asarray(equal.all(axis=0) if equal.ndim > 1 else equal)


def _shown(values: Floats) -> Floats:
    """Return the numbers that ``number`` in page.js shows."""
    known = np.isfinite(values)
    finite = np.where(known, values, 0.0)
    size = np.abs(finite)
    few = np.where(size >= 1000, 0, np.where(size >= 100, 1, 3))
    decimals = np.where((size < _SMALL) & (size >= _TINY), 2 - _power(finite), few)
    return np.where(known, _round_decimals(finite, decimals), nan)


def _power(finite: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(finite != 0, np.floor(np.log10(np.abs(finite))), 0.0))


def _round_decimals(finite: Floats, decimals: Floats | Ints) -> Floats:
    """Round each number to its decimals, 0 to 17, and not to more than about nine digits.

    The same numbers as Python's ``round``: a whole number divided by a power of ten is the double that is nearest to
    the decimal. Where a product may have been rounded over a half, Python decides.
    """
    places = np.clip(decimals, 0, _MOST_DECIMALS).astype(np.int64)
    scale = _POWERS[places]
    scaled = finite * scale
    rounded = np.rint(scaled) / scale
    for at in zip(*np.nonzero(_is_near_half(scaled) & (places > 0)), strict=True):
        rounded[at] = round(float(finite[at]), int(places[at]))
    return np.asarray(rounded)


def _is_near_half(scaled: Floats) -> Bools:
    distance = np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5)
    return np.asarray(distance < np.maximum(_NEARLY_HALF, _OF_PRODUCT * np.abs(scaled)))
