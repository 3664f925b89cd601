"""Corrections for asking many questions at once. None is a test that could not be made; it does not count."""

from collections.abc import Sequence

__all__ = ["at_floor", "benjamini_hochberg", "holm", "is_shown"]

PValues = Sequence[float | None]
_ROUNDING = 1e-12


def is_shown(p_value: float | None, level: float) -> bool:
    """Whether chance alone would seldom do: 1 − level at most. What could not be tested is not shown."""
    return p_value is not None and p_value <= 1.0 - level + _ROUNDING


def at_floor(p_value: float | None, resamples: int | None) -> bool:
    """Return whether a p-value is the smallest that so many resamples can give; None: it was not resampled."""
    return p_value is not None and resamples is not None and p_value * (resamples + 1) <= 1.0 + _ROUNDING


def holm(p_values: PValues) -> list[float | None]:
    """Adjusted p-values that hold the chance of any false finding to the level.

    Formula: the i-th smallest of m becomes max over j ≤ i of (m − j + 1) · p_(j), at most 1.
    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 1979.
    """
    made = _ascending(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for place, (p, index) in enumerate(made):
        worst = max(worst, min(1.0, (len(made) - place) * p))
        adjusted[index] = worst
    return adjusted


def benjamini_hochberg(p_values: PValues) -> list[float | None]:
    """Adjusted p-values that hold the expected share of false findings among the findings to the level.

    Formula: the i-th smallest of m becomes min over j ≥ i of m · p_(j) / j, at most 1.
    Source: Benjamini and Hochberg, Controlling the false discovery rate, J. R. Statist. Soc. B 1995.
    """
    made = _ascending(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for place in range(len(made), 0, -1):
        p, index = made[place - 1]
        least = min(least, len(made) * p / place)
        adjusted[index] = least
    return adjusted


def _ascending(p_values: PValues) -> list[tuple[float, int]]:
    return sorted((p, index) for index, p in enumerate(p_values) if p is not None)
