"""Bootstrap bounds from resampled estimates: like scipy's from the same resamples, and what was asked is checked."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rankjury
from rankjury.core.types import Floats
from rankjury.stats.resampling import Bounds, Influence, IntervalMethod, Resampling, interval as interval_of


def interval(resampled: Floats, estimate: float, influence: Floats, level: float, method: IntervalMethod) -> Bounds:
    """From what each query moves the estimate by."""
    sums = Influence(float((influence**2).sum()), float((influence**3).sum()))
    return interval_of(resampled, estimate, sums, level, method)


def skewed(seed: int, n: int = 60) -> Floats:
    return np.random.default_rng(seed).beta(0.4, 2.0, n)


def resampled_means(values: Floats, resamples: int = 3000) -> Floats:
    chance = np.random.default_rng(7)
    return values[chance.integers(0, values.size, (resamples, values.size))].mean(axis=1)


def by_scipy(values: Floats, resampled: Floats, resampling: Resampling) -> tuple[float, float]:
    """From the resamples handed in: scipy adds none of its own."""
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=0,
        confidence_level=resampling.level,
        method={"bca": "BCa", "percentile": "percentile"}[resampling.interval],
        bootstrap_result=SimpleNamespace(bootstrap_distribution=resampled),
    )
    return found.confidence_interval.low, found.confidence_interval.high


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_like_scipy_from_the_same_resamples(kind: IntervalMethod, level: float, seed: int) -> None:
    values = skewed(seed)
    resampled = resampled_means(values)
    resampling = Resampling(level=level, interval=kind)
    found = interval(resampled, float(values.mean()), values - values.mean(), resampling.level, resampling.interval)
    assert found == pytest.approx(by_scipy(values, resampled, resampling), rel=1e-10)


def test_percentiles_by_hand() -> None:
    """Of 0, 1 … 1000, 80 % lie between 100 and 900."""
    resampling = Resampling(level=0.8)
    assert interval(np.arange(1001.0), 500.0, np.zeros(0), resampling.level, resampling.interval) == pytest.approx(
        (100.0, 900.0), abs=1e-9
    )
    assert interval(
        np.arange(1001.0)[::-1], 500.0, np.zeros(0), resampling.level, resampling.interval
    ) == pytest.approx((100.0, 900.0), abs=1e-9)


def test_a_bias_by_hand() -> None:
    """A share of 0.6 below, no skewness: both tails move by twice Φ⁻¹(0.6)."""
    resampling = Resampling(level=0.9, interval="bca")
    low, high = interval(np.arange(10_000.0), 5999.5, np.array([-1.0, 1.0]), resampling.level, resampling.interval)
    shift = 2 * stats.norm.ppf(0.6)
    assert low == pytest.approx(9999 * stats.norm.cdf(shift + stats.norm.ppf(0.05)), rel=1e-9)
    assert high == pytest.approx(9999 * stats.norm.cdf(shift + stats.norm.ppf(0.95)), rel=1e-9)


def test_bca_without_bias_and_skewness_is_percentile() -> None:
    symmetric = np.arange(-1000.0, 1001.0)
    found = interval(symmetric, 0.0, symmetric, 0.95, "bca")
    assert found == pytest.approx(interval(symmetric, 0.0, symmetric, 0.95, "percentile"), rel=1e-12)


def test_bca_of_a_skewed_sample_lies_further_out_on_the_long_side() -> None:
    values = skewed(1)
    resampled = resampled_means(values)
    arguments = (resampled, float(values.mean()), values - values.mean())
    plain, shifted = interval(*arguments, 0.95, "percentile"), interval(*arguments, 0.95, "bca")
    assert shifted[0] > plain[0] and shifted[1] > plain[1]


@pytest.mark.parametrize(
    ("estimate", "influence"), [(-1.0, [1.0, -1.0]), (5000.0, [1.0, -1.0]), (500.0, [0.0, 0.0]), (500.0, [])]
)
def test_bca_that_cannot_be_made_is_percentile(estimate: float, influence: list[float]) -> None:
    """All resamples on one side of the estimate, or no query has any influence."""
    resampled = np.arange(1001.0)
    found = interval(resampled, estimate, np.array(influence), 0.95, "bca")
    assert found == interval(resampled, estimate, np.array(influence), 0.95, "percentile")


def test_resamples_that_are_all_equal() -> None:
    for kind in ("percentile", "bca"):
        resampling = Resampling(interval=kind)
        assert interval(np.full(100, 0.25), 0.25, np.zeros(5), resampling.level, resampling.interval) == (0.25, 0.25)


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_a_higher_level_is_wider(kind: IntervalMethod) -> None:
    values = skewed(2)
    resampled = resampled_means(values)
    bounds = [
        interval(resampled, float(values.mean()), values - values.mean(), level, kind)
        for level in (0.5, 0.8, 0.95, 0.99)
    ]
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    assert lows == sorted(set(lows), reverse=True)
    assert highs == sorted(set(highs))


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0.0},
        {"level": 1.0},
        {"level": 95},
        {"level": -0.5},
        {"level": float("nan")},
        {"resamples": 99},
        {"resamples": 0},
        {"resamples": 10_000_001},
        {"seed": 2**63},
        {"seed": -(2**63) - 1},
    ],
)
def test_what_makes_no_sense_is_refused_with_what_was_expected(wrong: dict[str, Any]) -> None:
    with pytest.raises(rankjury.RankjuryError, match="expected"):
        Resampling(**wrong)
    with pytest.raises(rankjury.RankjuryError, match="expected"):
        replace(Resampling(), **wrong)


def test_a_misspelt_kind_is_suggested() -> None:
    with pytest.raises(rankjury.RankjuryError, match="Did you mean bca"):
        Resampling(interval="bcs")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fine", [{"level": 0.5}, {"resamples": 100}, {"resamples": 10_000_000}, {"seed": 2**63 - 1}, {"seed": -(2**63)}]
)
def test_the_ends_of_what_is_allowed(fine: dict[str, Any]) -> None:
    shown = Resampling(**fine).to_json()
    assert shown == {"resamples": 10_000, "level": 0.95, "seed": 0, "interval": "auto"} | fine
