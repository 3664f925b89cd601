"""Percentiles like NumPy's, intervals that hold what they say, and one form of it all."""

import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rankjury.core.types import Floats
from rankjury.errors import UsageError
from rankjury.retrieval.bench.latency import (
    SHARES,
    FailureCount,
    Latency,
    binomial_quantile,
    latency_percentile,
    order_bounds,
    summarise,
)
from rankjury.retrieval.bench.loops import closed_loop
from tests.retrieval.bench.loop_support import timed

thorough = settings(max_examples=100, deadline=None, derandomize=True, database=None)
NAN = float("nan")


@pytest.mark.parametrize("n", [1, 2, 3, 80, 400])
def test_percentiles_of_recorded_times_are_numpys(n: int) -> None:
    recorded = closed_loop([lambda query: sum(range(query))], n, rounds=2, warm_up=1)
    found = summarise(recorded)
    for name, share in SHARES.items():
        assert getattr(found, name).ms == np.percentile(recorded.seconds, share * 100) * 1e3
    assert found.max_ms == recorded.seconds.max() * 1e3
    assert found.mean_ms == pytest.approx(recorded.seconds.mean() * 1e3, rel=1e-12)
    assert found.qps == 2 * n / recorded.wall


@given(values=arrays(np.float64, st.integers(1, 300), elements=st.floats(0, 100)), level=st.floats(0.5, 0.999))
@thorough
def test_the_percentile_is_within_its_interval_and_the_interval_within_the_values(values: Floats, level: float) -> None:
    for share in SHARES.values():
        found = latency_percentile(values, share, level)
        assert found.ms == np.percentile(values, share * 100) * 1e3
        low, high = found.ci or (NAN, NAN)
        assert values.min() * 1e3 <= low <= found.ms <= high <= values.max() * 1e3
        if not found.bounded:
            assert high == values.max() * 1e3


@given(n=st.integers(1, 5_000), share=st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]), level=st.floats(0.5, 0.9999))
@thorough
def test_the_chance_between_the_bounds_is_the_level_and_no_narrower_would_do(
    n: int, share: float, level: float
) -> None:
    lower, upper = order_bounds(n, share, level)
    tail, below = (1 - level) / 2, stats.binom(n, share).cdf
    assert below(lower - 1) <= tail * (1 + 1e-9)
    assert 1 - below(upper - 1) <= tail * (1 + 1e-9) + 1e-15
    assert below(upper - 1) - below(lower - 1) >= level - 1e-9
    assert below(lower) >= tail * (1 - 1e-9)
    assert 1 - below(upper - 2) >= tail * (1 - 1e-9) - 1e-15


@given(n=st.integers(1, 3_000), share=st.floats(0.001, 0.999), chance=st.floats(0.0001, 0.9999))
@thorough
def test_binomial_quantiles_are_scipys(n: int, share: float, chance: float) -> None:
    found, below = binomial_quantile(chance, n, share), stats.binom(n, share).cdf
    assert below(found) >= chance * (1 - 1e-9)
    assert below(found - 1) <= chance * (1 + 1e-9)


@pytest.mark.parametrize("n", [100_000, 1_000_000, 20_000_000])
@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_binomial_quantiles_of_many(n: int, share: float) -> None:
    for chance in (0.025, 0.975):
        assert binomial_quantile(chance, n, share) == stats.binom(n, share).ppf(chance)


@pytest.mark.parametrize(
    ("n", "share", "bounds"),
    [
        (100, 0.5, (40, 61)),  # the bounds of a median of 100 that tables have
        (10, 0.5, (2, 9)),
        (5, 0.5, (0, 6)),
        (6, 0.5, (1, 6)),
        (71, 0.95, (63, 72)),  # 0.95^71 is above a fortieth, 0.95^72 is not
        (72, 0.95, (64, 72)),
        (367, 0.99, (359, 368)),
        (368, 0.99, (360, 368)),
    ],
)
def test_bounds_worked_by_hand(n: int, share: float, bounds: tuple[int, int]) -> None:
    assert order_bounds(n, share, 0.95) == bounds


@pytest.mark.parametrize(("name", "enough"), [("p50", 6), ("p95", 72), ("p99", 368)])
def test_too_few_queries_bound_nothing_from_above(name: str, enough: int) -> None:
    values = np.random.default_rng(1).exponential(size=enough)
    assert summarise(timed(values)).percentiles[name].bounded
    fewer = summarise(timed(values[:-1])).percentiles[name]
    assert not fewer.bounded
    assert fewer.ci is not None and fewer.ci[1] == values[:-1].max() * 1e3
    assert fewer.to_json()["bounded"] is False


@pytest.mark.parametrize(("share", "n"), [(0.5, 40), (0.95, 200), (0.99, 500)])
def test_intervals_hold_the_true_percentile_as_often_as_they_say(share: float, n: int) -> None:
    """Of skewed times; of 1,000 samples, 2.5 points below 95 % are more than three standard errors."""
    random, truth = np.random.default_rng(5), stats.lognorm(s=1.0).ppf(share)
    held = [
        found.ci is not None and found.ci[0] <= truth * 1e3 <= found.ci[1]
        for found in (latency_percentile(random.lognormal(size=n), share) for _ in range(1_000))
    ]
    assert np.mean(held) >= 0.925


def test_failed_queries_are_counted_beside_the_others() -> None:
    found = summarise(timed(np.array([0.1, NAN, 0.3, NAN, 0.2]), wall=2.0))
    assert (found.n, found.failed, found.qps) == (3, 2, 1.5)
    assert found.p50.ms == 200.0
    assert found.messages == (FailureCount("OSError: no answer", 2),)


def test_the_form_of_a_report() -> None:
    form = summarise(timed(np.linspace(0.001, 0.1, 100), wall=10.0)).to_json()
    assert list(form) == [
        "kind", "concurrency", "rate", "n", "failed", "p50", "p95", "p99", "max_ms", "mean_ms", "qps", "gc_ms",
        "overhead_us",
    ]  # fmt: skip
    assert form["p50"] == {"ms": pytest.approx(50.5), "ci": [pytest.approx(40.0), pytest.approx(61.0)], "bounded": True}
    assert form["p99"]["bounded"] is False
    assert form["p99"]["ci"][1] == form["max_ms"] == pytest.approx(100.0)
    assert (form["n"], form["failed"], form["qps"]) == (100, 0, 10.0)
    assert (form["gc_ms"], form["overhead_us"]) == (pytest.approx(2.0), pytest.approx(1.0))
    assert json.loads(json.dumps(form, allow_nan=False)) == form == Latency.from_json(form).to_json()


@pytest.mark.parametrize("values", [[], [NAN], [NAN, NAN]])
def test_nothing_answered_is_null_and_no_crash(values: list[float]) -> None:
    found = summarise(timed(np.array(values, dtype=float), wall=0.0))
    form = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert form["p95"] == {"ms": None, "ci": None, "bounded": False}
    assert form["max_ms"] is form["mean_ms"] is form["qps"] is None
    assert np.isnan([found.p50.ms, found.p95.ms, found.p99.ms]).all()
    assert Latency.from_json(form) == found


def test_one_answer_is_its_own_interval() -> None:
    form = summarise(timed(np.array([0.004]))).to_json()
    assert form["p99"] == {"ms": 4.0, "ci": [4.0, 4.0], "bounded": False}


def test_the_level_widens_the_interval() -> None:
    times = timed(np.random.default_rng(2).exponential(size=500))
    narrow, wide = (summarise(times, level=level).p95.ci for level in (0.5, 0.99))
    assert narrow is not None and wide is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, NAN])
def test_levels_that_make_no_sense(level: float) -> None:
    with pytest.raises(UsageError, match="the level is"):
        summarise(timed(np.array([0.1])), level=level)


def test_scipy_is_not_needed() -> None:
    """It takes a second to load."""
    import subprocess
    import sys

    code = "import sys; from rankjury.retrieval.bench import loops, latency; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
