"""The normal and Student's t distribution: tails and quantiles, without a library that takes a second to load."""

from functools import lru_cache
from math import erfc, exp, inf, isinf, lgamma, log, sqrt

__all__ = ["normal_cdf", "normal_quantile", "normal_tails", "t_quantile", "t_tails"]

_SMALLEST = 1e-300
_PRECISION = 1e-16
_MOST_STEPS = 10_000


def normal_cdf(z: float) -> float:
    """P(Z ≤ z)."""
    return 0.5 * erfc(-z / sqrt(2.0))


def normal_tails(z: float) -> float:
    """P(|Z| ≥ |z|)."""
    return erfc(abs(z) / sqrt(2.0))


def normal_quantile(p: float) -> float:
    """The z with P(Z ≤ z) = p; infinite for 0 and 1."""
    if p <= 0.0 or p >= 1.0:
        return -inf if p <= 0.0 else inf
    from statistics import NormalDist  # on use: it loads decimal numbers and fractions

    return NormalDist().inv_cdf(p)


def t_tails(t: float, df: float) -> float:
    """P(|T| ≥ |t|) for df degrees of freedom."""
    if isinf(t):
        return 0.0
    square = t * t
    return 0.0 if isinf(square) else _incomplete_beta(df / 2.0, 0.5, df / (df + square), square / (df + square))


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The t with P(T ≤ t) = p."""
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    tails = 2.0 * (1.0 - p)
    low, high = 0.0, 2.0
    while t_tails(high, df) > tails:
        high *= 2.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if t_tails(middle, df) > tails else (low, middle)
    return (low + high) / 2.0


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction; ``rest`` is 1 − x.

    Source: NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by Lentz's method.
    """
    if x <= 0.0 or rest <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(b, a, rest, x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)) / a
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1.0 / _apart(1.0 + step * d)
            c = _apart(1.0 + step / c)
            fraction *= c * d
        if abs(c * d - 1.0) < _PRECISION * 4:
            break
    return front * fraction


def _apart(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
