"""Number formatting: values, differences, confidence intervals, p-values and percentages.

A number has as many digits as its confidence interval justifies.
"""

from collections.abc import Iterable
from math import ceil, floor, isclose, isnan, log10

from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Bounds

NO_VALUE = "–"
"""Placeholder for a missing number."""
_DEFAULT_DECIMALS = 4
_MIN_DECIMALS, _MAX_DECIMALS = 3, 6
_MAX_SHARE = 2.0  # narrower intervals are of shares and similar values, for which readers expect three decimals


def format_percent(share: float, decimals: int | None = None, *, signed: bool = False) -> str:
    """Format a share as a percentage: ``95 %``, ``99.95 %``, ``85.9 %``.

    Args:
        share: 0.95 for 95 %.
        decimals: Exactly this many decimals. By default one, without trailing zeros; a value with up to three decimals,
            such as a confidence level, is not rounded, and a value between 0 and 100 % never becomes 0 or 100.
        signed: Put a plus sign before positive values.
    """
    value = 100 * share
    sign = "+" if signed else ""
    if decimals is not None:
        return f"{value:{sign}.{decimals}f} %".replace("-", "−")
    exact = next((places for places in range(4) if isclose(value, round(value, places), rel_tol=1e-12)), None)
    places = 1 if exact is None else exact
    while exact is None and places < _MAX_DECIMALS and round(value, places) in (0.0, 100.0):
        places += 1
    text = f"{value:{sign}.{places}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %".replace("-", "−")


def format_range(numbers: Iterable[int]) -> str:
    """Format the smallest and the largest of some numbers, one number where they are equal: ``9``, ``9–10``."""
    found = set(numbers)
    return "–".join(f"{number:,}" for number in sorted({min(found), max(found)}))


def interval_decimals(ci: Bounds | None) -> int:
    """Return the decimals that show two digits of the interval's half-width, within limits; 4 without an interval."""
    half = (ci[1] - ci[0]) / 2 if ci else 0.0
    if half <= 0:
        return _DEFAULT_DECIMALS
    least = _MIN_DECIMALS if ci and max(map(abs, ci)) < _MAX_SHARE else 0
    return min(max(ceil(-log10(half)) + 1, least), _MAX_DECIMALS)


def format_value(value: float, decimals: int) -> str:
    """Format a number with a true minus sign, and zero without one."""
    return f"{value:z.{decimals}f}".replace("-", "−")


def format_interval(ci: Bounds, *, signed: bool = False) -> str:
    """Format a confidence interval: ``[0.566, 0.657]``."""
    decimals = interval_decimals(ci)
    low, high = (_signed(end, decimals) if signed else format_value(end, decimals) for end in ci)
    return f"[{low}, {high}]"


def format_estimate(estimate: Estimate, decimals: int | None = None) -> str:
    """Format an estimate with its interval: ``0.612 [0.566, 0.657]``. A total is marked by ``Σ``.

    ``decimals``: of the mean; by default as many as the interval justifies.
    """
    if estimate.n == 0:
        return NO_VALUE
    if estimate.total is not None:
        return f"Σ {estimate.total:,.0f}"
    text = format_value(estimate.mean, interval_decimals(estimate.ci) if decimals is None else decimals)
    return f"{text} {format_interval(estimate.ci)}" if estimate.ci else text


def format_with_interval(value: float, ci: Bounds | None) -> str:
    """Return a value with its interval, if it has one: ``0.612 [0.566, 0.657]``."""
    return format_value(value, interval_decimals(ci)) + (f" {format_interval(ci)}" if ci else "")


def format_rounded(value: float) -> str:
    """Return four digits of a value without an interval; a whole number and thousands in full."""
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}".replace("-", "−")


def format_difference(difference: float, ci: Bounds | None, *, decimals: int | None = None) -> str:
    """Format a difference with its interval: ``+0.043 [+0.019, +0.068]``.

    ``decimals``: of the difference; by default as many as the interval justifies.
    """
    if isnan(difference):
        return NO_VALUE
    text = _signed(difference, interval_decimals(ci) if decimals is None else decimals)
    return f"{text} {format_interval(ci, signed=True)}" if ci else text


def format_p(p: float | None, *, at_floor: bool = False) -> str:
    """Format a p-value with three decimals, or as ``<0.001``.

    ``at_floor``: the p-value is the smallest, perhaps corrected, that this number of resamples can give, so that it is
    shown as an upper bound: ``<0.0003``.
    """
    if p is None:
        return NO_VALUE
    if at_floor and p < 1:
        digits = max(0, 1 - floor(log10(p)))
        return f"<{ceil(round(p * 10**digits, 6)) / 10**digits:.{digits}f}".rstrip("0").rstrip(".")
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _signed(value: float, decimals: int) -> str:
    rounded = round(value, decimals)
    return f"{rounded:+.{decimals}f}".replace("-", "−") if rounded else f"{0:.{decimals}f}"
