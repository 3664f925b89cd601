"""Tests of two systems: by hand, over all signs written out, and like scipy."""

import itertools
import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

import rankjury.core.types
from rankjury.core.types import Floats
from rankjury.stats import resampling as resampling_module
from rankjury.stats.significance import RandomizationTest, moments, sign_flip_tests, t_test, welch_test, wilcoxon_test
from tests.stats.support import keys, sign_bits, thorough

few_differences = arrays(np.float64, st.integers(1, 9), elements=st.integers(-4, 4), fill=st.nothing())
reals = st.floats(-1, 1).filter(lambda value: value == 0 or abs(value) > 1e-6)


def sign_flip(differences: Floats, resamples: int = 1000) -> RandomizationTest | None:
    return sign_flip_tests([differences], keys(differences.size), resamples)[0]


def all_signs(differences: Floats, statistic: Callable[[Floats], float]) -> float:
    """The share of all assignments of signs whose statistic is as far out."""
    found = abs(statistic(differences))
    signs = itertools.product((-1.0, 1.0), repeat=differences.size)
    return float(np.mean([abs(statistic(differences * np.array(one))) >= found - 1e-9 for one in signs]))


def rank_difference(differences: Floats) -> float:
    """Positive less negative ranks, zeros without a rank."""
    moving = differences[differences != 0]
    return float((stats.rankdata(np.abs(moving)) * np.sign(moving)).sum())


@pytest.mark.parametrize(
    ("differences", "p"),
    [([1, 2, 3], 0.25), ([3, -1, -1], 1.0), ([5], 1.0), ([1, 1, 1, 1, 1], 0.0625), ([4, -1], 1.0), ([0, 0], 1.0)],
)
def test_signs_by_hand(differences: list[float], p: float) -> None:
    assert sign_flip(np.array(differences, dtype=float)) == RandomizationTest(p, exact=True)


@given(differences=few_differences)
@thorough(50)
def test_few_differences_are_tested_over_all_signs(differences: Floats) -> None:
    expected = all_signs(differences, lambda one: float(one.sum()))
    assert sign_flip(differences) == RandomizationTest(expected, exact=True)


@pytest.mark.parametrize("seed", range(3))
def test_like_the_permutation_test_of_scipy(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-50, 100, 10).astype(float)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    found = sign_flip(differences)
    assert found is not None and found.exact
    assert found.p == pytest.approx(expected.pvalue, abs=1e-12)


def test_exact_up_to_eighteen_differences_that_are_not_zero() -> None:
    ones = np.ones(18)
    assert sign_flip(ones) == RandomizationTest(2.0**-17, exact=True)
    assert sign_flip(np.concatenate((ones, np.zeros(1000)))) == RandomizationTest(2.0**-17, exact=True)
    found = sign_flip(np.ones(19))
    assert found is not None and not found.exact


def test_a_sampled_p_value_is_never_zero() -> None:
    """No sample of a thousand reaches what happens once in 2^39."""
    for resamples in (100, 999):
        assert sign_flip(np.ones(40), resamples) == RandomizationTest(
            1 / (1 + resamples), exact=False, resamples=resamples
        )


def test_sampled_signs_as_the_definition_has_them() -> None:
    differences = np.random.default_rng(8).integers(-30, 45, 60).astype(float)
    signs = 2 * sign_bits(keys(60), 0, 2000) - 1
    hits = int((np.abs(differences @ signs) >= abs(differences.sum())).sum())
    assert 20 < hits < 1500, "the example is too easy"
    assert sign_flip(differences, 2000) == RandomizationTest((1 + hits) / 2001, exact=False, resamples=2000)


def test_sums_as_far_out_count_as_hits() -> None:
    """Twenty and twenty: the sum is zero, which every sum is as far out as."""
    found = sign_flip(np.repeat([1.0, -1.0], 20))
    assert found is not None and found.p == 1.0 and not found.exact


@pytest.mark.parametrize("shift", [0, 4, 9])
def test_sampled_is_close_to_scipy(shift: int) -> None:
    """Both p-values are shares of 20,000 samples, with a standard error of at most 0.0035."""
    differences = np.random.default_rng(4).integers(-40, 41, 100).astype(float) + shift
    found = sign_flip(differences, 20_000)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(3)
    )
    assert found is not None and not found.exact
    assert found.p == pytest.approx(expected.pvalue, abs=0.015)


def test_no_difference_to_look_at() -> None:
    assert sign_flip_tests([np.zeros(0)], keys(0), 100) == [None]
    assert sign_flip_tests([], keys(3), 100) == []
    assert sign_flip(np.zeros(100)) == RandomizationTest(1.0, exact=True)


@given(order=st.permutations(range(30)))
@thorough(20)
def test_the_order_of_queries_and_other_columns_change_no_digit(order: list[int]) -> None:
    chance = np.random.default_rng(5)
    column, other, short = (chance.integers(-90, 140, 30).astype(float) for _ in range(3))
    short[10:] = 0.0
    expected = [sign_flip_tests([one], keys(30), 500)[0] for one in (column, other, short)]
    assert [one.exact for one in expected if one] == [False, False, True]
    found = sign_flip_tests([column[order], other[order], short[order]], keys(30)[order], 500)
    assert found == expected


@pytest.mark.parametrize(("block", "part", "processors"), [(1, 64, 1), (9, 128, 3), (1 << 20, 1 << 20, 8)])
def test_blocks_and_threads_change_no_digit(
    block: int, part: int, processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = list(np.random.default_rng(6).integers(-(2**36), 2**36 + 2**34, (4, 200)).astype(float))
    before = sign_flip_tests(columns, keys(200), 9000)
    monkeypatch.setattr(resampling_module, "_QUERIES_PER_BLOCK", block)
    monkeypatch.setattr(resampling_module, "_RESAMPLES_PER_PART", part)
    monkeypatch.setattr(rankjury.core.types.os, "cpu_count", lambda: processors)
    assert sign_flip_tests(columns, keys(200), 9000) == before


@given(differences=arrays(np.float64, st.integers(0, 60), elements=st.integers(-9, 9), fill=st.nothing()))
@thorough(60)
def test_zeros_and_the_direction_are_of_no_account(differences: Floats) -> None:
    kept = differences != 0
    found = sign_flip(differences, 200)
    assert sign_flip(-differences, 200) == found
    without = sign_flip_tests([differences[kept]], keys(differences.size)[kept], 200)[0]
    assert without == (found if kept.any() else None)


@given(differences=arrays(np.float64, st.integers(2, 40), elements=reals, fill=st.nothing()))
@thorough(60)
def test_t_like_scipy(differences: Floats) -> None:
    if np.ptp(differences) < 1e-3:
        return
    expected = stats.ttest_rel(differences, np.zeros_like(differences)).pvalue
    assert t_test(moments(differences)) == pytest.approx(expected, rel=1e-7)


def test_t_by_hand() -> None:
    """Mean 2, standard error 1/√3: t = 3.4641 with two degrees of freedom."""
    assert t_test(moments(np.array([1.0, 2.0, 3.0]))) == pytest.approx(0.0741799, rel=1e-6)


@pytest.mark.parametrize("differences", [[], [0.3], [0.0, 0.0, 0.0], [0.5, 0.5], [0.1, 0.1, 0.1], [0.7] * 10])
def test_t_of_differences_that_do_not_vary(differences: list[float]) -> None:
    assert math.isnan(t_test(moments(np.array(differences, dtype=float))))


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_t_at_the_ends_of_what_a_float_holds(scale: float) -> None:
    values = np.array([1.0, 2.0, -0.5, 0.25])
    assert t_test(moments(values * scale)) == pytest.approx(t_test(moments(values)), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(2, 2), (5, 40), (100, 70)])
def test_welch_like_scipy(seed: int, sizes: tuple[int, int]) -> None:
    chance = np.random.default_rng(seed)
    left, right = chance.beta(0.6, 1.8, sizes[0]), chance.normal(0.4, 0.3, sizes[1])
    expected = stats.ttest_ind(left, right, equal_var=False).pvalue
    assert welch_test(moments(left), moments(right)) == pytest.approx(expected, rel=1e-8)
    assert welch_test(moments(right), moments(left)) == pytest.approx(expected, rel=1e-8)


def test_welch_with_one_group_that_does_not_vary() -> None:
    left, right = np.array([0.5, 0.5, 0.5]), np.array([0.1, 0.4, 0.3])
    assert welch_test(moments(left), moments(right)) == pytest.approx(stats.ttest_1samp(right, 0.5).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("left", "right"), [([], [1.0, 2.0]), ([1.0], [1.0, 2.0]), ([1.0, 2.0], [3.0]), ([1.0, 1.0], [2.0, 2.0])]
)
def test_welch_that_cannot_be_made(left: list[float], right: list[float]) -> None:
    assert math.isnan(welch_test(moments(np.array(left)), moments(np.array(right))))


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 2, 3, 4, 5], 2 / 32),
        ([-1, 2, 3, 4, 5], 4 / 32),
        ([1, 1, -1], 1.0),
        ([2, 2, 2, 2], 2 / 16),
        ([7], 1.0),
        ([0, 0, 1, 2, 3], 2 / 8),
        ([0, 0], 1.0),
    ],
)
def test_ranks_by_hand(differences: list[float], p: float) -> None:
    assert wilcoxon_test(np.array(differences, dtype=float)) == pytest.approx(p, rel=1e-14)


def test_ranks_of_no_query() -> None:
    assert math.isnan(wilcoxon_test(np.zeros(0)))


@given(differences=few_differences)
@thorough(50)
def test_ranks_over_all_signs_ties_included(differences: Floats) -> None:
    moving = differences[differences != 0]
    expected = all_signs(moving, rank_difference) if moving.size else 1.0
    assert wilcoxon_test(differences) == pytest.approx(expected, rel=1e-12)


def by_scipy(differences: Floats, method: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(stats.wilcoxon(differences, zero_method="wilcox", correction=False, method=method).pvalue)


@pytest.mark.parametrize("n", [10, 25, 49, 50])
@pytest.mark.parametrize("shift", [0.0, 0.2, 0.6])
def test_ranks_without_ties_like_scipy_exactly(n: int, shift: float) -> None:
    differences = np.random.default_rng(n).normal(shift, 1.0, n)
    assert wilcoxon_test(differences) == pytest.approx(by_scipy(differences, "exact"), rel=1e-10)


@pytest.mark.parametrize("n", [95, 200, 3000])
@pytest.mark.parametrize("shift", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("decimals", [15, 1, 0])
def test_ranks_of_many_queries_like_the_approximation_of_scipy(n: int, shift: float, decimals: int) -> None:
    """Rounded, most differences are tied or zero."""
    differences = np.round(np.random.default_rng(n).normal(shift, 1.0, n), decimals)
    assert np.count_nonzero(differences) > 50, "the example is too small"
    assert wilcoxon_test(differences) == pytest.approx(by_scipy(differences, "asymptotic"), rel=1e-9)


def test_ranks_of_millions_of_equal_differences() -> None:
    """The cube of so many passes 64 bits."""
    differences = np.repeat([1.0, -1.0], [1_200_000, 1_199_000])
    n = differences.size
    # With one rank for all, the test is that of the number of positive signs.
    z = (1_200_000 - n / 2) / math.sqrt(n / 4)
    assert wilcoxon_test(differences) == pytest.approx(2 * stats.norm.sf(z), rel=1e-6)


@given(differences=few_differences, factor=st.sampled_from([0.5, 2.0, 1e9]))
@thorough(50)
def test_only_order_and_sign_count_for_ranks(differences: Floats, factor: float) -> None:
    expected = wilcoxon_test(differences)
    assert wilcoxon_test(-differences) == expected
    assert wilcoxon_test(differences[::-1] * factor) == expected
    assert wilcoxon_test(np.sign(differences) * differences**2) == expected
