"""What could have been shown: like the formula by scipy, close to statsmodels' exact power; one undoes the other."""

from math import inf, sqrt

import pytest
from hypothesis import given, strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from rankjury.stats.significance import POWER, detectable_difference, queries_needed
from tests.stats.support import thorough


def by_scipy(std: float, n: int, level: float = 0.95, power: float = POWER) -> float:
    quantiles = stats.t.ppf((1 + level) / 2, n - 1) + stats.t.ppf(power, n - 1)
    return float(quantiles * std / sqrt(n))


def test_by_hand() -> None:
    """With 49 degrees of freedom the quantiles are 2.0096 and 0.8489; √50 is 7.0711."""
    assert POWER == 0.8
    assert detectable_difference(0.2, 50) == pytest.approx(0.2 * (2.0096 + 0.8489) / 7.0711, rel=1e-4)


@pytest.mark.parametrize("n", [2, 3, 10, 50, 1000, 1001, 2000, 50_000])
@pytest.mark.parametrize(("level", "power"), [(0.95, 0.8), (0.99, 0.9)])
def test_like_the_formula_by_scipy(n: int, level: float, power: float) -> None:
    """To eight digits, on both sides of where Student's quantile is replaced by the first terms of a series."""
    found = detectable_difference(0.3, n, level=level, power=power)
    assert found == pytest.approx(by_scipy(0.3, n, level, power), rel=1e-8)


@pytest.mark.parametrize("n", [20, 50, 300, 2000])
def test_close_to_the_exact_power_of_a_paired_t_test(n: int) -> None:
    """The formula stands for the noncentral t distribution, which it meets within a hundredth of power."""
    power = TTestPower().power(detectable_difference(0.25, n) / 0.25, n, alpha=0.05)
    assert power == pytest.approx(0.8, abs=0.01)


@given(std=st.floats(0.01, 1), difference=st.floats(0.01, 1), level=st.sampled_from([0.9, 0.95, 0.99]))
@thorough(60)
def test_the_fewest_queries_that_detect_the_difference(std: float, difference: float, level: float) -> None:
    n = queries_needed(std, difference, level=level)
    assert n is not None and n >= 2
    assert by_scipy(std, n, level) <= difference * (1 + 1e-9)
    if n > 2:
        assert by_scipy(std, n - 1, level) > difference * (1 - 1e-9)


@pytest.mark.parametrize("n", [4, 37, 400, 1000, 1001, 5000])
def test_one_undoes_the_other(n: int) -> None:
    assert queries_needed(0.3, detectable_difference(0.3, n) * (1 + 1e-9)) == n
    assert queries_needed(0.3, detectable_difference(0.3, n) * (1 - 1e-9)) == n + 1


@pytest.mark.parametrize("n", [30, 200])
def test_close_to_the_exact_number(n: int) -> None:
    exact = TTestPower().solve_power(effect_size=detectable_difference(1.0, n), alpha=0.05, power=0.8)
    assert queries_needed(1.0, detectable_difference(1.0, n) * (1 + 1e-9)) == pytest.approx(exact, rel=0.02)


@given(std=st.floats(0.01, 1), difference=st.floats(0.02, 1), power=st.integers(-900, 900))
@thorough(60)
def test_only_the_ratio_counts_and_the_sign_does_not(std: float, difference: float, power: int) -> None:
    expected = queries_needed(std, difference)
    assert queries_needed(std, -difference) == expected
    assert queries_needed(std * 2.0**power, difference * 2.0**power) == expected


def test_more_is_asked_of_a_higher_level_and_power() -> None:
    usual = queries_needed(0.3, 0.05)
    higher, stronger = queries_needed(0.3, 0.05, level=0.99), queries_needed(0.3, 0.05, power=0.9)
    assert usual is not None and higher is not None and stronger is not None
    assert usual < higher and usual < stronger


@pytest.mark.parametrize(
    ("std", "difference"), [(0.1, 0.0), (0.1, -0.0), (0.0, 0.1), (1.0, 1e-9), (1e300, 1e-300), (inf, 1.0)]
)
def test_no_number_would_do(std: float, difference: float) -> None:
    assert queries_needed(std, difference) is None


def test_two_queries_are_the_fewest() -> None:
    assert queries_needed(1e-12, 1.0) == 2
