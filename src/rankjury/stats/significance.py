"""Paired tests of per-query differences, corrections for multiple comparisons, and power."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isnan, nan, sqrt

import numpy as np

from rankjury.core.types import Floats, Ints
from rankjury.stats.resampling import Keys, flip_sums, normal_quantile, normal_tails, t_quantile, t_tails
from rankjury.stats.sums import exact_sum, mean_and_std

PValues = Sequence[float | None]
_ROUNDING = 1e-12


def is_significant(p_value: float | None, level: float) -> bool:
    """Return whether a p-value is at most 1 − level; None, a test that could not be made, is not significant."""
    return p_value is not None and p_value <= 1.0 - level + _ROUNDING


def at_floor(p_value: float | None, resamples: int | None) -> bool:
    """Return whether a p-value is the smallest possible for this number of resamples; None: it was not resampled."""
    return p_value is not None and resamples is not None and p_value * (resamples + 1) <= 1.0 + _ROUNDING


def holm(p_values: PValues) -> list[float | None]:
    """Return adjusted p-values that control the probability of any false positive (family-wise error rate).

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
    """Return adjusted p-values that control the expected share of false positives (false discovery rate).

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


POWER = 0.8
_MOST_QUERIES = 10**9
_NEARLY_NORMAL = 1000


def detectable_difference(std: float, n: int, *, level: float = 0.95, power: float = POWER) -> float:
    """Return the true difference that a paired t-test at this level detects with this power.

    Formula: (t_{1−α/2} + t_{power}) · s / √n with n − 1 degrees of freedom; s is the standard deviation of the
    per-query differences.
    Source: Sakai, Statistical reform in information retrieval?, SIGIR Forum 2014.
    """
    return _quantiles(n, level, power) * std / sqrt(n)


def queries_needed(std: float, difference: float, *, level: float = 0.95, power: float = POWER) -> int | None:
    """Return the smallest number of queries that detects a difference of this size; None if no number does."""
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
    """Return Student's quantile by its series in 1/df: eight digits from a thousand degrees of freedom on."""
    z = normal_quantile(p)
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)


ENUMERATED = 18
EXACT_RANKS = 50
"""Maximum number of differences for enumeration of all signs."""


@dataclass(frozen=True)
class RandomizationTest:
    """Result of a randomization test."""

    p: float
    exact: bool
    """All sign assignments were enumerated, not sampled."""
    resamples: int | None = None
    """Number of sampled sign assignments, if sampled."""


def sign_flip_tests(
    differences: Sequence[Floats], keys: Keys, resamples: int, *, rounded: bool = False
) -> list[RandomizationTest | None]:
    """Return, for each column, the share of random signs under which the mean is as far from zero as observed.

    Differences are whole numbers; ``rounded`` ones may be off by half a step, so sums that differ by less are tied.

    Exact if at most 18 differences are not zero; else by resampling, p = (1 + hits) / (1 + resamples), which is never
    zero. None if there are no differences.
    Source: Fisher, The design of experiments, 1935; Phipson and Smyth, Permutation p-values should never be zero, 2010.
    """
    found: list[RandomizationTest | None] = [
        enumerated_test(column[column != 0], rounded=rounded) if column.size else None for column in differences
    ]
    left = [place for place, test in enumerate(found) if test is None and differences[place].size]
    if left:
        flipped = flip_sums(keys, np.column_stack([differences[place] for place in left]), resamples)
        for place, sums in zip(left, flipped, strict=True):
            moving = int(np.count_nonzero(differences[place]))
            found[place] = sampled_test(sums, exact_sum(differences[place]), moving if rounded else 0)
    return found


def sampled_test(flipped: Ints, found: int, slack: int) -> RandomizationTest:
    """Test the sum against sums under random signs; those that differ by less than ``slack`` are tied."""
    hits = int(np.count_nonzero(np.abs(flipped) >= abs(found) - slack))
    return RandomizationTest((1 + hits) / (1 + flipped.size), exact=False, resamples=flipped.size)


def enumerated_test(moving: Floats, *, rounded: bool) -> RandomizationTest | None:
    """Test under all signs of the nonzero differences; None if these are too many."""
    if moving.size > ENUMERATED:
        return None
    sums: Ints = np.zeros(1, dtype=np.int64)
    for step in moving.astype(np.int64):
        sums = np.concatenate((sums + step, sums - step))
    as_far = np.abs(sums) >= abs(exact_sum(moving)) - (moving.size if rounded else 0)
    return RandomizationTest(float(np.mean(as_far)), exact=True)


Moments = tuple[float, float, int]
"""Mean, sample standard deviation and number of values."""


def moments(values: Floats) -> Moments:
    """Return the mean, the sample standard deviation and the number of values."""
    return *mean_and_std(values), values.size


def t_test(differences: Moments) -> float:
    """Return the two-sided p-value of the paired t-test; NaN if the differences do not vary."""
    mean, std, n = differences
    return t_tails(mean / (std / sqrt(n)), n - 1) if std > 0 else nan


def welch_test(left: Moments, right: Moments) -> float:
    """Return the two-sided p-value of Welch's t-test of two independent groups; NaN if it is undefined.

    Source: Welch, The generalization of Student's problem, Biometrika 1947.
    """
    (mean_left, std_left, n_left), (mean_right, std_right, n_right) = left, right
    if n_left < 2 or n_right < 2:
        return nan
    var_left, var_right = std_left**2 / n_left, std_right**2 / n_right
    if var_left + var_right == 0:
        return nan
    df = (var_left + var_right) ** 2 / (var_left**2 / (n_left - 1) + var_right**2 / (n_right - 1))
    return t_tails((mean_left - mean_right) / sqrt(var_left + var_right), df)


def two_sample_test(left: Moments, right: Moments) -> float:
    """Return the larger of Welch's and Student's p-values of two independent groups; NaN if both are undefined.

    Welch's test treats a small group of equal values as having no variance: nine zeros compared with a mean of 0.15
    would be certain. Student's test uses the variance of the other group as well.
    """
    welch = welch_test(left, right)
    if isnan(welch):
        return welch
    (mean_left, std_left, n_left), (mean_right, std_right, n_right) = left, right
    df = n_left + n_right - 2
    pooled = ((n_left - 1) * std_left**2 + (n_right - 1) * std_right**2) / df
    return max(welch, t_tails((mean_left - mean_right) / sqrt(pooled * (1 / n_left + 1 / n_right)), df))


def wilcoxon_test(differences: Floats) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; zeros are omitted, equal differences share a rank.

    Exact, ties included, up to 50 differences; else by the normal approximation, corrected for ties.
    Source: Wilcoxon, Individual comparisons by ranking methods, 1945; Pratt and Gibbons, Concepts of nonparametric
    theory, 1981.
    """
    return SignedRanks.of(differences).p if differences.size else nan


@dataclass(frozen=True, eq=False)
class SignedRanks:
    """Number of differences of each size with either sign, without zeros; sizes ascend."""

    sizes: Floats
    rises: Ints
    falls: Ints

    @classmethod
    def of(cls, differences: Floats) -> "SignedRanks":
        moving = differences[differences != 0]
        sizes, group = np.unique(np.abs(moving), return_inverse=True)
        rises = np.bincount(group[moving > 0], minlength=sizes.size)
        return cls(sizes, rises, np.bincount(group, minlength=sizes.size) - rises)

    @classmethod
    def joined(cls, parts: "Sequence[SignedRanks]") -> "SignedRanks":
        sizes, group = np.unique(np.concatenate([part.sizes for part in parts]), return_inverse=True)
        rises, falls = (
            np.bincount(group, np.concatenate(counts), sizes.size).astype(np.int64)
            for counts in ([part.rises for part in parts], [part.falls for part in parts])
        )
        return cls(sizes, rises, falls)

    def within(self, low: float, high: float) -> "SignedRanks":
        """Return those whose size is above ``low`` and at most ``high``."""
        first, last = np.searchsorted(self.sizes, [low, high], side="right")
        return SignedRanks(self.sizes[first:last], self.rises[first:last], self.falls[first:last])

    @property
    def differences(self) -> Floats:
        """All nonzero differences."""
        return np.concatenate((np.repeat(self.sizes, self.rises), -np.repeat(self.sizes, self.falls)))

    def part(self) -> "RankSums":
        """Return the sums of ranks, counted from the smallest of these differences."""
        counts = self.rises + self.falls
        doubled = 2 * np.cumsum(counts) - counts + 1
        positive = sum(map(int.__mul__, doubled.tolist(), self.rises.tolist()))
        ties = sum(count**3 - count for count in counts[counts > 1].tolist())
        return RankSums(int(counts.sum()), int(self.rises.sum()), positive, ties)

    @property
    def p(self) -> float:
        n = int(self.rises.sum() + self.falls.sum())
        if n == 0:
            return 1.0
        if n > EXACT_RANKS:
            return self.part().p
        counts = self.rises + self.falls
        doubled = np.repeat(2 * np.cumsum(counts) - counts + 1, counts)
        # Twice the smaller tail of the sum of ranks, over all assignments of signs.
        total, positive = int(doubled.sum()), self.part().positive
        chance = np.zeros(total + 1)
        chance[0] = 1.0
        for rank in doubled.tolist():
            moved = np.zeros_like(chance)
            moved[rank:] = chance[: total + 1 - rank]
            chance = (chance + moved) / 2
        return min(1.0, 2.0 * float(chance[: min(positive, total - positive) + 1].sum()))


@dataclass(frozen=True)
class RankSums:
    """Rank sums of differences within a range of sizes: their number, and twice the sum of the ranks of positive ones.

    Ranks count from the smallest of the range.
    """

    n: int = 0
    rises: int = 0
    positive: int = 0
    ties: int = 0
    """The sum of t³ − t over groups of t equal sizes."""

    def __add__(self, larger: "RankSums") -> "RankSums":
        """Add a range of larger sizes."""
        shifted = larger.positive + 2 * self.n * larger.rises
        return RankSums(self.n + larger.n, self.rises + larger.rises, self.positive + shifted, self.ties + larger.ties)

    @property
    def p(self) -> float:
        """Return the p-value by the normal approximation, corrected for ties."""
        n = self.n
        std = sqrt((n * (n + 1) * (2 * n + 1) - self.ties / 2) / 24)
        return normal_tails((self.positive / 2 - n * (n + 1) / 4) / std)
