"""Agreement of similarities: by hand, like scipy, and undefined where it must be."""

from math import inf, isnan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from rankjury.core.types import Floats
from rankjury.retrieval.agreement.stats import AGREEMENTS, concordance, kendall, mae, midranks, pearson, rmse, spearman
from tests.stats.support import thorough

CORRELATIONS = {"spearman": spearman, "kendall": kendall, "pearson": pearson}
PEERS = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}

# Many ties, some ties, hardly any.
values = st.one_of(
    st.sampled_from([0.0, 0.5, 1.0]), st.integers(-9, 9).map(float), st.floats(-1, 1, allow_subnormal=False)
)
sides = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*(st.lists(values, min_size=n, max_size=n).map(np.array) for _ in range(2)))
)


def array(*numbers: float) -> Floats:
    return np.array(numbers, dtype=np.float64)


def made(n: int, seed: int = 0, decimals: int = 15) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    return x.round(decimals), (x + random.normal(size=n)).round(decimals)


class TestByHand:
    def test_without_ties(self) -> None:
        x, y = array(0.85, 0.72, 0.91, 0.68), array(0.79, 0.65, 0.88, 0.70)
        assert spearman(x, y) == pytest.approx(1 - 6 * 2 / (4 * 15), abs=1e-15)
        assert kendall(x, y) == pytest.approx(4 / 6, abs=1e-15)
        assert mae(x, y) == pytest.approx((0.06 + 0.07 + 0.03 + 0.02) / 4, abs=1e-15)
        assert rmse(x, y) == pytest.approx(sqrt((36 + 49 + 9 + 4) / 4) / 100, abs=1e-15)

    def test_pearson(self) -> None:
        assert pearson(array(1, 2, 3, 4), array(1, 3, 2, 4)) == pytest.approx(0.8, abs=1e-15)

    def test_with_ties(self) -> None:
        """x has one tied couple of six, y another; four couples agree, none disagrees."""
        x, y = array(1, 2, 2, 3), array(1, 1, 2, 3)
        assert midranks(x).tolist() == [1, 2.5, 2.5, 4] and midranks(y).tolist() == [1.5, 1.5, 3, 4]
        assert kendall(x, y) == pytest.approx(4 / 5, abs=1e-15)
        assert spearman(x, y) == pytest.approx(3.75 / 4.5, abs=1e-15)

    def test_concordance(self) -> None:
        agreeing, differing_x, differing_y = concordance(array(1, 2, 2, 3), array(3, 1, 2, 2))
        assert agreeing.tolist() == [-3, 0, -1, 0]
        assert differing_x.tolist() == [3, 2, 2, 3] and differing_y.tolist() == [3, 3, 2, 2]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 9, 10, 31, 100, 257])
def test_perfect_is_one_and_no_more(n: int) -> None:
    x = made(n, seed=n)[0]
    for correlation in CORRELATIONS.values():
        assert 1 - 1e-15 <= correlation(x, x) <= 1
        assert -1 <= correlation(x, -x) <= -1 + 1e-15
    assert kendall(x, np.exp(x)) == 1 and kendall(x, -(x**3)) == -1
    assert mae(x, x) == rmse(x, x) == 0


@given(sides)
@thorough(80)
def test_like_scipy(both: tuple[Floats, Floats]) -> None:
    x, y = both
    constant = len(x) < 2 or np.unique(x).size < 2 or np.unique(y).size < 2
    for name, correlation in CORRELATIONS.items():
        found = correlation(x, y)
        if constant:
            assert isnan(found)
        else:
            assert found == pytest.approx(float(PEERS[name](x, y).statistic), abs=1e-9)
            assert -1 <= found <= 1 and correlation(y, x) == pytest.approx(found, abs=1e-14)
    assert midranks(x).tolist() == stats.rankdata(x).tolist()
    assert mae(x, y) == pytest.approx(sum(abs(a - b) for a, b in zip(x, y, strict=True)) / len(x), abs=1e-12)
    assert rmse(x, y) ** 2 == pytest.approx(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / len(x), abs=1e-12)


@given(sides)
@thorough(60)
def test_concordance_as_a_square(both: tuple[Floats, Floats]) -> None:
    x, y = both
    order_x, order_y = (np.sign(side[:, None] - side[None, :]).astype(int) for side in (x, y))
    for found, expected in zip(concordance(x, y), (order_x * order_y, np.abs(order_x), np.abs(order_y)), strict=True):
        assert found.dtype == np.int64
        assert found.tolist() == expected.sum(axis=1).tolist()


@pytest.mark.parametrize("decimals", [0, 1, 3, 15])
@pytest.mark.parametrize("n", [4_095, 4_097])
def test_like_scipy_with_many(n: int, decimals: int) -> None:
    x, y = made(n, seed=n, decimals=decimals)
    for name, correlation in CORRELATIONS.items():
        assert correlation(x, y) == pytest.approx(float(PEERS[name](x, y).statistic), abs=1e-12)


@given(sides, st.randoms(use_true_random=False))
@thorough(30)
def test_the_order_of_pairs_is_of_no_account(both: tuple[Floats, Floats], random: Any) -> None:
    x, y = both
    order = list(range(len(x)))
    random.shuffle(order)
    for figure in AGREEMENTS.values():
        assert figure(x[order], y[order]) == pytest.approx(figure(x, y), abs=1e-12, nan_ok=True)
    assert kendall(x[order], y[order]) == pytest.approx(kendall(x, y), abs=0, nan_ok=True)


@given(sides)
@thorough(30)
def test_monotone_and_linear_functions(both: tuple[Floats, Floats]) -> None:
    """Numbers on a grid, so that no two of them fall together."""
    x, y = (np.round(side * 64) for side in both)
    for correlation in (spearman, kendall):
        assert correlation(x**3, y * 2 + 7) == pytest.approx(correlation(x, y), abs=1e-14, nan_ok=True)
        assert correlation(-x, y) == pytest.approx(-correlation(x, y), abs=1e-14, nan_ok=True)
    assert pearson(x * 0.25 - 3, y * 8) == pytest.approx(pearson(x, y), abs=1e-12, nan_ok=True)


class TestUndefined:
    @pytest.mark.parametrize("correlation", CORRELATIONS.values(), ids=CORRELATIONS)
    @pytest.mark.parametrize(
        ("x", "y"),
        [
            ((), ()),
            ((0.5,), (0.7,)),
            ((0.3, 0.3, 0.3), (1, 2, 3)),
            ((1, 2, 3), (0.1, 0.1, 0.1)),
            ((0, 0), (0, 0)),
            ((0.0, -0.0), (1, 2)),
        ],
    )
    def test_correlations(self, correlation: Any, x: tuple[float, ...], y: tuple[float, ...]) -> None:
        assert isnan(correlation(array(*x), array(*y)))

    def test_errors_of_nothing(self) -> None:
        assert isnan(mae(array(), array())) and isnan(rmse(array(), array()))
        assert mae(array(1), array(4)) == rmse(array(1), array(4)) == 3


class TestScales:
    @pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-80, 1e80, 1e160, 1e300])
    def test_far_from_one(self, scale: float) -> None:
        """Squares of these overflow, or vanish; a warning would be an error here."""
        x, y = (np.clip(side, -1, 1) * 0.4 for side in made(50))
        for name, correlation in CORRELATIONS.items():
            assert correlation(x * scale, y) == pytest.approx(correlation(x, y), abs=1e-12), name
            assert correlation(x, y * scale) == pytest.approx(correlation(x, y), abs=1e-12), name
        assert mae(x * scale, y * scale) / scale == pytest.approx(mae(x, y), rel=1e-12)
        assert rmse(x * scale, y * scale) / scale == pytest.approx(rmse(x, y), rel=1e-12)

    def test_ends_of_the_scale(self) -> None:
        largest = np.finfo(float).max
        assert spearman(array(-largest, 0, largest), array(1, 2, 3)) == 1
        assert pearson(array(-largest, 0, largest), array(1, 2, 3)) == pytest.approx(1)
        assert kendall(array(-inf, 0, inf), array(1, 2, 3)) == 1

    @pytest.mark.parametrize("step", [1, 3, 1_000])
    def test_steps_of_the_last_bit(self, step: int) -> None:
        """1 and the next number differ, as much as two numbers can."""
        near = 1 + np.arange(4) * step * np.finfo(float).eps
        assert pearson(near, array(1, 2, 3, 4)) == pytest.approx(1, abs=1e-3)
        assert pearson(near, -near) == pytest.approx(-1, abs=1e-3)
        assert spearman(near, -near) == kendall(near, -near) == -1


def test_names_of_the_figures() -> None:
    assert list(AGREEMENTS) == ["spearman", "kendall", "pearson", "mae", "rmse"]
