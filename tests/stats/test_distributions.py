"""Tails and quantiles, like scipy's."""

from math import inf, isnan

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from rankjury.stats.resampling import normal_cdf, normal_quantile, normal_tails, t_quantile, t_tails
from tests.stats.support import thorough

DEGREES = [1, 2, 3, 4.5, 10, 49, 299, 1999, 100_000, 1e7]


@pytest.mark.parametrize("z", [-37.0, -8.3, -1.96, -1e-9, 0.0, 0.5, 1.96, 8.3, 37.0])
def test_normal_tails(z: float) -> None:
    assert normal_cdf(z) == pytest.approx(stats.norm.cdf(z), rel=1e-12, abs=0)
    assert normal_tails(z) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-12, abs=0)


def test_the_quantiles_everybody_knows() -> None:
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054, rel=1e-14)
    assert t_quantile(0.975, 1) == pytest.approx(12.706204736174698, rel=1e-11)
    assert t_quantile(0.975, 10) == pytest.approx(2.2281388519649385, rel=1e-11)
    assert normal_quantile(0.5) == 0.0


@given(p=st.floats(1e-12, 1 - 1e-12))
@thorough(100)
def test_normal_quantiles(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize(("p", "z"), [(0.0, -inf), (1.0, inf), (-0.1, -inf), (1.1, inf)])
def test_the_ends_of_the_normal_distribution(p: float, z: float) -> None:
    assert normal_quantile(p) == z


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("t", [0.0, 1e-8, 0.01, 0.3, 0.999, 1.0, 1.7, 1.96, 2.5, 6.0, 20.0, 300.0, 1e5])
def test_t_tails(t: float, df: float) -> None:
    expected = 2 * stats.t.sf(t, df)
    assert t_tails(t, df) == pytest.approx(expected, rel=1e-7, abs=1e-300)
    assert t_tails(-t, df) == t_tails(t, df)


@given(t=st.floats(0.05, 40), df=st.integers(1, 3000))
@thorough(100)
def test_t_tails_of_usual_tests_to_ten_digits(t: float, df: int) -> None:
    assert t_tails(t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-10, abs=1e-300)


def test_t_tails_without_end() -> None:
    assert t_tails(inf, 5) == t_tails(-inf, 5) == 0.0
    assert t_tails(1e200, 5) == 0.0
    assert t_tails(0.0, 5) == 1.0


def test_t_with_many_degrees_is_normal() -> None:
    for t in (0.5, 1.96, 4.0):
        assert t_tails(t, 1e9) == pytest.approx(normal_tails(t), rel=1e-6)


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("p", [0.001, 0.025, 0.2, 0.6, 0.8, 0.9, 0.975, 0.995, 0.9999])
def test_t_quantiles(p: float, df: float) -> None:
    assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-8)


@pytest.mark.parametrize("df", DEGREES)
def test_t_quantiles_are_symmetric(df: float) -> None:
    assert t_quantile(0.5, df) == 0.0
    assert t_quantile(0.25, df) == -t_quantile(0.75, df)


@given(p=st.floats(0.001, 0.999), df=st.floats(1, 500))
@thorough(100)
def test_quantile_and_tail_undo_each_other(p: float, df: float) -> None:
    t = t_quantile(p, df)
    assert not isnan(t)
    assert t_tails(t, df) == pytest.approx(2 * min(p, 1 - p), rel=1e-7)
