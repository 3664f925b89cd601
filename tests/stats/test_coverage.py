"""By simulation: intervals hold the truth as often as they say, tests find nothing in nothing as seldom as they say.

The scores are made as measures make them: between 0 and 1, skewed, many of them 0. Every simulated collection is a
column of one call. Seeds are fixed, so that a red test is a change in the code and not luck. Half of the collections
are simulated, unless all are wanted: RANKJURY_THOROUGH=1 pytest …
"""

import os
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from rankjury.core.types import Floats
from rankjury.stats.comparison import compare_pairs
from rankjury.stats.estimates import estimate_all
from rankjury.stats.resampling import IntervalMethod, Resampling
from rankjury.stats.significance import POWER, detectable_difference, moments, sign_flip_tests, t_test, wilcoxon_test
from rankjury.stats.sums import to_fixed
from tests.stats.support import keys, paired

pytestmark = pytest.mark.slow

Shape = Callable[[np.random.Generator, tuple[int, int]], Floats]

SHARE = 1 if os.environ.get("RANKJURY_THOROUGH") else 2
RESAMPLES = 2000
SIMULATED = {50: 3000 // SHARE, 300: 2000 // SHARE, 2000: 1000 // SHARE}
KINDS: list[IntervalMethod] = ["percentile", "bca"]


def average_precisions(chance: np.random.Generator, size: tuple[int, int]) -> Floats:
    """A quarter on average, skewness 1."""
    return chance.beta(0.6, 1.8, size)


def reciprocal_ranks(chance: np.random.Generator, size: tuple[int, int]) -> Floats:
    """Of the first ten places; a fifth of the queries finds nothing."""
    rank = chance.geometric(0.3, size)
    return np.where((rank <= 10) & (chance.random(size) > 0.2), 1.0 / rank, 0.0)


def hits(chance: np.random.Generator, size: tuple[int, int]) -> Floats:
    """Success at 1 of a poor system: skewness 1.5."""
    return (chance.random(size) < 0.2).astype(float)


def hard_queries(chance: np.random.Generator, size: tuple[int, int]) -> Floats:
    """Three of five find nothing and the rest little: skewness 2.9."""
    return np.where(chance.random(size) < 0.6, 0.0, chance.beta(0.5, 3.0, size))


TRUTH: dict[Shape, float] = {
    average_precisions: 0.6 / 2.4,
    reciprocal_ranks: 0.8 * sum(0.3 * 0.7 ** (rank - 1) / rank for rank in range(1, 11)),
    hits: 0.2,
    hard_queries: 0.4 * 0.5 / 3.5,
}


def coverage(shape: Shape, n: int, kind: IntervalMethod) -> float:
    simulated = SIMULATED[n]
    values = shape(np.random.default_rng(n), (n, simulated))
    resampling = Resampling(RESAMPLES, interval=kind)
    found = estimate_all(values, ["mean"] * simulated, keys(n), resampling)
    bounds = np.array([one.ci for one in found])
    return float(np.mean((bounds[:, 0] <= TRUTH[shape]) & (TRUTH[shape] <= bounds[:, 1])))


@pytest.mark.parametrize("n", SIMULATED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [average_precisions, reciprocal_ranks, hits], ids=lambda shape: shape.__name__)
def test_intervals_of_means_hold_the_truth(shape: Shape, kind: IntervalMethod, n: int) -> None:
    assert 0.93 <= coverage(shape, n, kind) <= 0.97


def test_bca_holds_what_percentiles_miss_of_very_skewed_scores() -> None:
    """The reason for having it: percentiles alone hold the truth in 91 or 92 % here."""
    held = coverage(hard_queries, 50, "bca")
    assert 0.93 <= held <= 0.97
    assert held > coverage(hard_queries, 50, "percentile") + 0.01


def two_systems(
    chance: np.random.Generator, size: tuple[int, int], ours_found: float = 0.8, theirs_found: float = 0.8
) -> tuple[Floats, Floats]:
    """Reciprocal ranks of two systems that find the same queries hard, and a third of the results in the same place."""
    hardness = chance.beta(2.0, 3.0, size)
    ranks = [chance.geometric(hardness), chance.geometric(hardness)]
    ranks[1] = np.where(chance.random(size) < 0.33, ranks[0], ranks[1])
    ours, theirs = (np.where(rank <= 10, 1.0 / rank, 0.0) for rank in ranks)
    return ours * (chance.random(size) < ours_found), theirs * (chance.random(size) < theirs_found)


@cache
def true_difference() -> float:
    return float(np.subtract(*two_systems(np.random.default_rng(0), (1000, 1000), ours_found=0.9)).mean())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [50, 300])
def test_intervals_of_differences_hold_the_truth(n: int, kind: IntervalMethod) -> None:
    simulated, truth = 1000, true_difference()
    ours, theirs = two_systems(np.random.default_rng(n + 1), (n, simulated), ours_found=0.9)
    pairs = [paired(one, other) for one, other in zip(ours.T, theirs.T, strict=True)]
    found = compare_pairs(pairs, keys(n), Resampling(RESAMPLES, interval=kind))
    bounds = np.array([one.ci for one in found])
    assert 0.93 <= np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])) <= 0.97


@pytest.mark.parametrize("n", SIMULATED)
def test_random_signs_find_nothing_in_nothing(n: int) -> None:
    simulated = {50: 4000, 300: 4000, 2000: 2000}[n] // SHARE
    ours, theirs = to_fixed(*two_systems(np.random.default_rng(n), (n, simulated)))
    found = sign_flip_tests(list((ours.whole - theirs.whole).T), keys(n), RESAMPLES)
    assert np.mean([one.exact for one in found if one]) < 0.1, "most are to be sampled"
    assert 0.04 <= np.mean([one.p <= 0.05 for one in found if one]) <= 0.06


def test_all_signs_find_nothing_in_nothing() -> None:
    """Of differences without ties, so that p-values come in steps of 2^-11."""
    ours, theirs = to_fixed(*np.random.default_rng(3).beta(0.6, 1.8, (2, 12, 6000)))
    found = sign_flip_tests(list((ours.whole - theirs.whole).T), keys(12), RESAMPLES)
    assert all(one.exact for one in found if one)
    assert 0.04 <= np.mean([one.p <= 0.05 for one in found if one]) <= 0.06


@pytest.mark.parametrize("test", [lambda values: t_test(moments(values)), wilcoxon_test], ids=["t", "wilcoxon"])
@pytest.mark.parametrize("n", [50, 300])
def test_the_other_tests_find_nothing_in_nothing(test: Callable[[Floats], float], n: int) -> None:
    """Ranks with fewer than 50 differences that are not zero by all signs, with more by the approximation."""
    ours, theirs = to_fixed(*two_systems(np.random.default_rng(n + 2), (n, 4000 // SHARE)))
    p_values = [test(differences) for differences in (ours.whole - theirs.whole).T]
    assert 0.04 <= np.mean(np.array(p_values) <= 0.05) <= 0.06


@pytest.mark.parametrize("n", [50, 300])
def test_the_detectable_difference_is_found_as_often_as_it_says(n: int) -> None:
    """Four times of five, by the t-test and by random signs."""
    std = 0.25
    shift = detectable_difference(std, n)
    (fixed,) = to_fixed(np.random.default_rng(n).normal(shift, std, (n, 3000)))
    by_signs = sign_flip_tests(list(fixed.whole.T), keys(n), RESAMPLES)
    assert np.mean([one.p <= 0.05 for one in by_signs if one]) == pytest.approx(POWER, abs=0.02)
    assert np.mean([t_test(moments(differences)) <= 0.05 for differences in fixed.whole.T]) == pytest.approx(
        POWER, abs=0.02
    )
