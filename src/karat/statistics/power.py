"""What a comparison could have shown: the smallest difference it detects, and how many queries another would need."""

from math import ceil, sqrt

from karat.statistics.distributions import normal_quantile, t_quantile

__all__ = ["POWER", "detectable_difference", "queries_needed"]

POWER = 0.8
_MOST_QUERIES = 10**9
_NEARLY_NORMAL = 1000


def detectable_difference(std: float, n: int, *, level: float = 0.95, power: float = POWER) -> float:
    """The true difference that a paired t-test at this level finds with this power.

    Formula: (t_{1−α/2} + t_{power}) · s / √n with n − 1 degrees of freedom; s is the standard deviation of the
    per-query differences.
    Source: Sakai, Statistical reform in information retrieval?, SIGIR Forum 2014.
    """
    return _quantiles(n, level, power) * std / sqrt(n)


def queries_needed(std: float, difference: float, *, level: float = 0.95, power: float = POWER) -> int | None:
    """The fewest queries with which a difference of this size would be found; None where no number would do."""
    if difference == 0.0 or std <= 0.0:
        return None
    ratio = std / abs(difference)
    start = (normal_quantile((1 + level) / 2) + normal_quantile(power)) * ratio
    if start * start > _MOST_QUERIES:
        return None
    n = max(2, ceil(start * start))
    while _quantiles(n, level, power) * ratio > sqrt(n):
        n += 1
    return n


def _quantiles(n: int, level: float, power: float) -> float:
    p = (1 + level) / 2
    if n > _NEARLY_NORMAL:
        return _nearly_t_quantile(p, n - 1) + _nearly_t_quantile(power, n - 1)
    return t_quantile(p, n - 1) + t_quantile(power, n - 1)


def _nearly_t_quantile(p: float, df: int) -> float:
    """Student's quantile by its series in 1/df: eight digits for a thousand degrees of freedom, and no search."""
    z = normal_quantile(p)
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)
