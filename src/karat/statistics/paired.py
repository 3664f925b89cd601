"""Tests of whether two systems differ, from per-query differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from karat.statistics.distributions import normal_tails, t_tails
from karat.statistics.fixed import exact_sum
from karat.statistics.moments import mean_and_std
from karat.statistics.resampling import flip_sums
from karat.statistics.streams import Keys
from karat.types import Bools, Floats, Ints

__all__ = ["Randomised", "apart_test", "sign_flip_tests", "t_test", "t_test_of", "welch_test", "wilcoxon_test"]

_ENUMERATED = 18
_EXACT_RANKS = 50


@dataclass(frozen=True)
class Randomised:
    """What a randomisation test found."""

    p: float
    exact: bool
    """All assignments of signs were looked at, rather than a sample of them."""


def sign_flip_tests(
    differences: Sequence[Floats], keys: Keys, resamples: int, *, rounded: bool = False
) -> list[Randomised | None]:
    """The share of random signs under which the mean difference is as far from zero as it was found, for each column.

    Differences are whole numbers; ``rounded`` ones may each be off by half a step, so sums that differ by less tie.

    Exact where at most 18 differences are not zero; else by resampling, p = (1 + hits) / (1 + resamples), which is
    never zero. None for no difference at all to look at.
    Source: Fisher, The design of experiments, 1935; Phipson and Smyth, Permutation p-values should never be zero, 2010.
    """
    found: list[Randomised | None] = [_enumerated(column, rounded) for column in differences]
    left = [place for place, test in enumerate(found) if test is None and differences[place].size]
    if left:
        flipped = flip_sums(keys, np.column_stack([differences[place] for place in left]), resamples)
        for place, sums in zip(left, flipped, strict=True):
            hits = int(np.count_nonzero(_as_far(sums, differences[place], rounded)))
            found[place] = Randomised((1 + hits) / (1 + resamples), exact=False)
    return found


def _enumerated(differences: Floats, rounded: bool) -> Randomised | None:
    moving = differences[differences != 0]
    if moving.size > _ENUMERATED or differences.size == 0:
        return None
    sums: Ints = np.zeros(1, dtype=np.int64)
    for step in moving.astype(np.int64):
        sums = np.concatenate((sums + step, sums - step))
    return Randomised(float(np.mean(_as_far(sums, moving, rounded))), exact=True)


def _as_far(sums: Ints, differences: Floats, rounded: bool) -> Bools:
    """Which sums are as far from zero as the one found; half a step for every difference in either."""
    slack = np.count_nonzero(differences) if rounded else 0
    return np.abs(sums) >= abs(exact_sum(differences)) - slack


def t_test(differences: Floats) -> float:
    """Two-sided p-value of the paired t-test; NaN where differences do not vary."""
    n = differences.size
    if n < 2:
        return nan
    return t_test_of(*mean_and_std(differences), n)


def t_test_of(mean: float, std: float, n: int) -> float:
    """The same from the differences' mean and standard deviation."""
    return t_tails(mean / (std / sqrt(n)), n - 1) if std > 0 else nan


def welch_test(left: Floats, right: Floats) -> float:
    """Two-sided p-value of Welch's t-test of two separate groups; NaN where it cannot be made.

    Source: Welch, The generalization of Student's problem, Biometrika 1947.
    """
    if left.size < 2 or right.size < 2:
        return nan
    (mean_left, std_left), (mean_right, std_right) = mean_and_std(left), mean_and_std(right)
    var_left, var_right = std_left**2 / left.size, std_right**2 / right.size
    if var_left + var_right == 0:
        return nan
    df = (var_left + var_right) ** 2 / (var_left**2 / (left.size - 1) + var_right**2 / (right.size - 1))
    return t_tails((mean_left - mean_right) / sqrt(var_left + var_right), df)


def apart_test(left: Floats, right: Floats) -> float:
    """The larger of Welch's and Student's p-values of two separate groups; NaN where neither can be made.

    Welch's takes a small group whose values are all equal for one without spread: nine zeros beside a mean of 0.15
    would be certain. Student's lends it the spread of the other.
    """
    welch = welch_test(left, right)
    if isnan(welch):
        return welch
    (mean_left, std_left), (mean_right, std_right) = mean_and_std(left), mean_and_std(right)
    df = left.size + right.size - 2
    pooled = ((left.size - 1) * std_left**2 + (right.size - 1) * std_right**2) / df
    return max(welch, t_tails((mean_left - mean_right) / sqrt(pooled * (1 / left.size + 1 / right.size)), df))


def wilcoxon_test(differences: Floats) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test; zero differences are left out, equal ones share their rank.

    Exact, ties included, up to 50 differences; else by the normal approximation, corrected for ties.
    Source: Wilcoxon, Individual comparisons by ranking methods, 1945; Pratt and Gibbons, Concepts of nonparametric
    theory, 1981.
    """
    moving = differences[differences != 0]
    n = moving.size
    if n == 0:
        return 1.0 if differences.size else nan
    _, group, size = np.unique(np.abs(moving), return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    doubled_ranks = (2 * last - size + 1)[group]
    positive = int(doubled_ranks[moving > 0].sum())
    if n <= _EXACT_RANKS:
        return _exact_ranks(doubled_ranks, positive)
    mean, ties = n * (n + 1) / 4, sum(one**3 - one for one in size.tolist())
    std = sqrt((n * (n + 1) * (2 * n + 1) - ties / 2) / 24)
    return normal_tails((positive / 2 - mean) / std)


def _exact_ranks(doubled_ranks: Ints, positive: int) -> float:
    """Twice the smaller tail of the sum of ranks, over all assignments of signs."""
    total = int(doubled_ranks.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in doubled_ranks.tolist():
        moved = np.zeros_like(chance)
        moved[rank:] = chance[: total + 1 - rank]
        chance = (chance + moved) / 2
    less = min(positive, total - positive)
    return min(1.0, 2.0 * float(chance[: less + 1].sum()))
