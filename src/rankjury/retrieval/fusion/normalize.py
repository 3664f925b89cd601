"""Scores of different lists made comparable, within each query of each list.

All are functions of CSR ``starts`` and of values that fall within each segment. Where all scores of a list are equal
(or there is only one), min-max, z-score and sum give 0, as ranx does.
"""

from collections.abc import Callable

import numpy as np

from rankjury.core.types import Floats, Ints, segments_within


def _min_max(starts: Ints, values: Floats) -> Floats:
    """(score − lowest) / (highest − lowest)."""
    lengths = np.diff(starts)
    held = lengths > 0
    halves = values / 2  # so that no difference is too large for a float
    lowest = np.repeat(halves[starts[1:][held] - 1], lengths[held])
    highest = np.repeat(halves[starts[:-1][held]], lengths[held])
    return _divided(halves - lowest, highest - lowest)


def _z_score(starts: Ints, values: Floats) -> Floats:
    """(score − mean) / standard deviation, that of the population."""
    lengths = np.diff(starts)
    spread = _min_max(starts, values)  # which changes no z-score, and squares of it are neither too large nor too small
    centred = spread - np.repeat(_sums(starts, spread) / np.maximum(lengths, 1), lengths)
    deviation = np.sqrt(_sums(starts, centred**2) / np.maximum(lengths, 1))
    return _divided(centred, np.repeat(deviation, lengths))


def _sum(starts: Ints, values: Floats) -> Floats:
    """(score − lowest) / the sum of these over the list."""
    spread = _min_max(starts, values)
    return _divided(spread, np.repeat(_sums(starts, spread), np.diff(starts)))


def _rank(starts: Ints, values: Floats) -> Floats:
    """1 − (rank − 1) / n."""
    lengths = np.repeat(np.diff(starts), np.diff(starts))
    return np.asarray((lengths - segments_within(starts)) / lengths)


def _sums(starts: Ints, values: Floats) -> Floats:
    """The sum of each segment, added up in order of rank: no digit depends on ids or on the order of rows."""
    segment = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return np.bincount(segment, weights=values, minlength=starts.size - 1).astype(np.float64)


def _divided(above: Floats, below: Floats) -> Floats:
    """The quotient, and 0 where it would be 0 / 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


NORMALISATIONS: dict[str, Callable[[Ints, Floats], Floats]] = {
    "none": lambda _, values: values,
    "min-max": _min_max,
    "z-score": _z_score,
    "sum": _sum,
    "rank": _rank,
}
