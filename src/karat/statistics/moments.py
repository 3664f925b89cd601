"""Mean and standard deviation: sums exact before they are rounded, so no digit depends on the order of values."""

from math import frexp, fsum, ldexp, nan, sqrt

import numpy as np

from karat.types import Floats

__all__ = ["mean_and_std"]

_SAME = 4 * float(np.finfo(np.float64).eps)


def mean_and_std(values: Floats) -> tuple[float, float]:
    """The mean (NaN of nothing) and the sample standard deviation (NaN under two values, 0 where all are equal)."""
    if values.size == 0:
        return nan, nan
    # To a scale near 1, a power of two so that nothing is rounded: squares neither overflow nor vanish.
    largest = float(np.abs(values).max())
    exponent = frexp(largest)[1]
    scaled = np.ldexp(values, -exponent)
    mean = fsum(scaled.tolist()) / values.size
    if values.size < 2:
        return ldexp(mean, exponent), nan
    if float(np.ptp(scaled)) <= _SAME:
        return ldexp(mean, exponent), 0.0
    centred = scaled - mean
    return ldexp(mean, exponent), ldexp(sqrt(fsum((centred * centred).tolist()) / (values.size - 1)), exponent)
