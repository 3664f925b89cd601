"""Mean, spread and interval of a measure: by hand, like numpy and scipy, and the same to the last bit however asked."""

import json
import math
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

import rankjury.core.types
from rankjury.core.types import Floats
from rankjury.measures.measure import Aggregate
from rankjury.stats import resampling as resampling_module
from rankjury.stats.estimates import Estimate, estimate_all, summarise
from rankjury.stats.resampling import IntervalMethod, Resampling, bootstrap_weights, query_keys
from tests.stats.support import NAN, QUICK, digits, estimate, keys, numbered, scores, scores_or_none, thorough

KINDS: list[IntervalMethod] = ["percentile", "bca"]
AGGREGATES: list[Aggregate] = ["mean", "sum", "geometric"]
columns = arrays(np.float64, st.integers(0, 30), elements=scores_or_none, fill=st.nothing())
defined_columns = arrays(np.float64, st.integers(2, 30), elements=scores, fill=st.nothing())
ways = st.builds(Resampling, resamples=st.just(256), interval=st.sampled_from(KINDS))
aggregates = st.sampled_from(AGGREGATES)


def skewed(n: int, measures: int = 1, seed: int = 0) -> Floats:
    chance = np.random.default_rng(seed)
    return np.where(chance.random((n, measures)) < 0.2, 0.0, chance.beta(0.6, 1.8, (n, measures)))


def test_by_hand() -> None:
    found = summarise(np.array([1.0, 2.0, NAN, 3.0, 4.0]))
    assert (found.mean, found.n, found.undefined, found.total, found.ci) == (2.5, 4, 1, None, None)
    assert found.std == pytest.approx(math.sqrt(5 / 3), rel=1e-15)
    assert found.se == pytest.approx(math.sqrt(5 / 3) / 2, rel=1e-15)


def test_sums_and_geometric_means_by_hand() -> None:
    assert summarise(np.array([2.0, NAN, 3.0]), "sum").total == 5.0
    assert summarise(np.array([2.0, NAN, 3.0]), "sum").mean == 2.5
    found = summarise(np.array([0.5, 0.125, NAN]), "geometric")
    assert found.mean == pytest.approx(0.25, rel=1e-15)
    assert found.total is None
    assert found.std == pytest.approx(0.375 / math.sqrt(2), rel=1e-15), "of the values as they are"


def test_a_zero_in_a_geometric_mean_is_raised_to_the_floor() -> None:
    assert summarise(np.array([1.0, 0.0]), "geometric").mean == pytest.approx(math.sqrt(1e-5), rel=1e-12)


@given(values=defined_columns)
@thorough(40)
def test_like_numpy(values: Floats) -> None:
    found = summarise(values)
    assert found.mean == pytest.approx(values.mean(), rel=1e-13)
    assert found.std == pytest.approx(values.std(ddof=1), rel=1e-9, abs=1e-15)
    assert found.se == pytest.approx(stats.sem(values), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("scale", [1e300, 1e-170, 1e-300])
def test_the_spread_at_the_ends_of_what_a_float_holds(scale: float) -> None:
    """The squares would overflow, or vanish."""
    values = np.array([1.0, 2.0, -3.0, 0.5])
    assert summarise(values * scale).std / scale == pytest.approx(summarise(values).std, rel=1e-12)


@pytest.mark.parametrize("n", [0, 1])
def test_no_spread_and_no_interval_under_two_queries(n: int) -> None:
    for undefined in (0, 1, 5):
        values = np.array([0.5] * n + [NAN] * undefined)
        found = estimate(values)
        assert (found.n, found.undefined, found.ci) == (n, undefined, None)
        assert math.isnan(found.std) and math.isnan(found.se)
        assert found.mean == 0.5 if n else math.isnan(found.mean)


def test_nothing_known_is_null() -> None:
    none, one, two = (estimate(np.array(values)) for values in ([NAN], [0.5, NAN], [0.5, 1.0]))
    assert none.to_json() == {"mean": None, "n": 0, "undefined": 1, "std": None, "se": None, "ci": None}
    assert one.to_json() == {"mean": 0.5, "n": 1, "undefined": 1, "std": None, "se": None, "ci": None}
    shown = json.loads(json.dumps(two.to_json(), allow_nan=False))
    assert shown == {
        "mean": 0.75,
        "n": 2,
        "undefined": 0,
        "std": two.std,
        "se": two.se,
        "ci": list(two.ci or ()),
    }
    assert len(shown["ci"]) == 2
    assert Estimate(1.0, 2, 0, total=2.0, std=0.0).to_json()["sum"] == 2.0


def test_no_measure_and_no_query() -> None:
    assert estimate_all(np.zeros((5, 0)), [], keys(5), QUICK) == []
    (found,) = estimate_all(np.zeros((0, 1)), ["mean"], keys(0), QUICK)
    assert (found.n, found.undefined, found.ci) == (0, 0, None)


def test_without_resampling_there_is_no_interval() -> None:
    values = skewed(20, 2)
    plain = estimate_all(values, ["mean", "sum"], keys(20), None)
    assert plain == [summarise(values[:, 0]), summarise(values[:, 1], "sum")]
    assert estimate_all(values, ["mean", "sum"], None, QUICK) == plain


def test_two_queries_span_the_interval() -> None:
    """Either is left out of a resample with a chance of about a fifth, so that the bounds are the two values."""
    assert estimate(np.array([0.25, 0.75]), Resampling()).ci == (0.25, 0.75)


def test_the_interval_is_made_of_weighted_means() -> None:
    """Written out: each query counts as often as it is drawn, and a resample that draws none is left out."""
    values = np.array([0.1, 0.35, 0.5, 0.9, NAN])
    weights = bootstrap_weights(keys(5), 0, 1000)[:4]
    drawn = weights.sum(axis=0)
    assert (drawn == 0).any(), "the example is too easy"
    means = (values[:4] @ weights)[drawn > 0] / drawn[drawn > 0]
    for level in (0.3, 0.5, 0.8, 0.95):
        expected = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
        assert estimate(values, Resampling(1000, level, interval="percentile")).ci == pytest.approx(
            tuple(expected), rel=1e-9
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [30, 400])
def test_close_to_scipy(n: int, kind: IntervalMethod) -> None:
    """Poisson weights for scipy's drawing with replacement: within a twentieth of the width."""
    values = skewed(n, seed=n)[:, 0]
    low, high = estimate(values, Resampling(20_000, interval=kind)).ci or (NAN, NAN)
    method = {"bca": "BCa", "percentile": "percentile"}[kind]
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, batch=1000, method=method, rng=np.random.default_rng(1)
    ).confidence_interval
    near = 0.05 * (expected.high - expected.low)
    assert low == pytest.approx(expected.low, abs=near)
    assert high == pytest.approx(expected.high, abs=near)


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_of_a_geometric_mean_is_that_of_the_logarithms(kind: IntervalMethod) -> None:
    values = 0.1 + skewed(50)[:, 0]
    resampling = Resampling(1000, interval=kind)
    expected = estimate(np.log(values), resampling).ci or (NAN, NAN)
    assert estimate(values, resampling, "geometric").ci == pytest.approx(tuple(np.exp(expected)), rel=1e-9)


@given(values=defined_columns, resampling=ways, aggregate=aggregates)
@thorough(40)
def test_the_interval_lies_among_the_values(values: Floats, resampling: Resampling, aggregate: Aggregate) -> None:
    low, high = estimate(values, resampling, aggregate).ci or (NAN, NAN)
    floor = 1e-5 if aggregate == "geometric" else 0.0
    assert max(floor, values.min()) * (1 - 1e-9) - 1e-10 <= low <= high <= max(floor, values.max()) * (1 + 1e-9) + 1e-10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -0.3, 1.0])
def test_equal_values_have_an_interval_without_width_at_their_mean(value: float, kind: IntervalMethod) -> None:
    found = estimate(np.full(4, value), Resampling(256, interval=kind))
    assert found.mean == value and found.std == 0.0
    assert found.ci == (value, value)


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_are_equal_but_one(kind: IntervalMethod) -> None:
    low, high = estimate(np.array([0.0] * 49 + [1.0]), Resampling(2000, interval=kind)).ci or (NAN, NAN)
    assert 0.0 <= low < 0.02 < high < 0.2


@given(values=columns, resampling=ways, aggregate=aggregates, order=st.randoms(use_true_random=False))
@thorough(40)
def test_the_order_of_queries_changes_no_digit(
    values: Floats, resampling: Resampling, aggregate: Aggregate, order: random.Random
) -> None:
    places = list(range(values.size))
    order.shuffle(places)
    before = estimate_all(values[:, None], [aggregate], keys(values.size), resampling)
    after = estimate_all(values[places][:, None], [aggregate], keys(values.size)[places], resampling)
    assert digits(after) == digits(before)


@given(
    values=arrays(np.float64, st.tuples(st.integers(0, 12), st.just(3)), elements=scores_or_none, fill=st.nothing()),
    resampling=ways,
    chosen=st.lists(aggregates, min_size=3, max_size=3),
)
@thorough(40)
def test_other_measures_change_no_digit(values: Floats, resampling: Resampling, chosen: list[Aggregate]) -> None:
    together = estimate_all(values, chosen, keys(len(values)), resampling)
    alone = [estimate(values[:, place], resampling, chosen[place]) for place in range(3)]
    assert digits(together) == digits(alone)


@given(values=columns, resampling=ways, aggregate=aggregates)
@thorough(40)
def test_undefined_queries_are_as_if_they_were_not_there(
    values: Floats, resampling: Resampling, aggregate: Aggregate
) -> None:
    kept = ~np.isnan(values)
    masked = estimate_all(values[:, None], [aggregate], keys(values.size), resampling)[0]
    dropped = estimate_all(values[kept][:, None], [aggregate], keys(values.size)[kept], resampling)[0]
    assert masked.undefined == values.size - kept.sum() and dropped.undefined == 0
    assert digits((masked.mean, masked.n, masked.total, masked.std, masked.ci)) == digits(
        (dropped.mean, dropped.n, dropped.total, dropped.std, dropped.ci)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("queries_per_block", "resamples_per_part", "processors"), [(1, 64, 1), (17, 192, 2), (1 << 20, 1 << 20, 7)]
)
def test_blocks_and_threads_change_no_digit(
    queries_per_block: int,
    resamples_per_part: int,
    processors: int,
    kind: IntervalMethod,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = skewed(150, 3)
    values[::7, 1] = NAN
    resampling = Resampling(10_000, interval=kind)
    before = estimate_all(values, ["mean", "sum", "geometric"], keys(150), resampling)
    monkeypatch.setattr(resampling_module, "_QUERIES_PER_BLOCK", queries_per_block)
    monkeypatch.setattr(resampling_module, "_RESAMPLES_PER_PART", resamples_per_part)
    monkeypatch.setattr(rankjury.core.types.os, "cpu_count", lambda: processors)
    assert digits(estimate_all(values, ["mean", "sum", "geometric"], keys(150), resampling)) == digits(before)


def test_the_seed_and_the_names_of_queries_change_the_interval_alone() -> None:
    values = skewed(40)
    usual = estimate_all(values, ["mean"], keys(40), QUICK)[0]
    renamed = query_keys(pl.Series([f"another {name}" for name in numbered(40)]), 0)
    for other_keys in (keys(40, seed=1), renamed):
        other = estimate_all(values, ["mean"], other_keys, QUICK)[0]
        assert other.ci != usual.ci
        assert (other.mean, other.std, other.n) == (usual.mean, usual.std, usual.n)


def test_whole_number_ids_give_the_digits_of_their_decimal_form() -> None:
    values = skewed(30)
    found = [
        estimate_all(values, ["mean"], query_keys(pl.Series(range(30), dtype=dtype), 5), QUICK)
        for dtype in (pl.Int64, pl.Int32, pl.UInt8)
    ]
    strings = estimate_all(values, ["mean"], query_keys(pl.Series([str(n) for n in range(30)]), 5), QUICK)
    assert {digits(one) for one in found} == {digits(strings)}


@given(values=defined_columns, resampling=ways, power=st.integers(-400, 400))
@thorough(40)
def test_a_scale_of_a_power_of_two_scales_every_digit(values: Floats, resampling: Resampling, power: int) -> None:
    values = np.where(values < 1e-6, 0.0, values)
    plain, scaled = estimate(values, resampling), estimate(values * 2.0**power, resampling)
    assert plain.ci is not None
    assert scaled.mean == plain.mean * 2.0**power
    assert scaled.ci == (plain.ci[0] * 2.0**power, plain.ci[1] * 2.0**power)


@given(values=defined_columns, resampling=ways)
@thorough(40)
def test_negative_values_mirror_the_interval(values: Floats, resampling: Resampling) -> None:
    low, high = estimate(values, resampling).ci or (NAN, NAN)
    assert estimate(-values, resampling).ci == pytest.approx((-high, -low), abs=1e-9)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
@pytest.mark.parametrize("kind", KINDS)
def test_values_at_the_ends_of_what_a_float_holds(scale: float, kind: IntervalMethod) -> None:
    values, resampling = np.array([1.0, 2.0, -3.0, 0.5, 0.25]), Resampling(1000, interval=kind)
    plain, scaled = estimate(values, resampling), estimate(values * scale, resampling)
    assert scaled.ci == pytest.approx(tuple(bound * scale for bound in plain.ci or ()), rel=1e-9, abs=0)
    assert scaled.std == pytest.approx(plain.std * scale, rel=1e-9, abs=0)
    json.dumps(scaled.to_json(), allow_nan=False)


def test_the_interval_narrows_with_the_square_root_of_queries() -> None:
    few, many = (estimate(skewed(n, seed=4)[:, 0], Resampling(4000)).ci or (NAN, NAN) for n in (200, 3200))
    assert (few[1] - few[0]) / (many[1] - many[0]) == pytest.approx(4, rel=0.15)


def test_the_normal_interval_is_met_where_queries_are_many() -> None:
    values = skewed(3000, seed=6)[:, 0]
    found = estimate(values, Resampling(20_000))
    low, high = found.ci or (NAN, NAN)
    assert (low - found.mean) / found.se == pytest.approx(-1.96, abs=0.06)
    assert (high - found.mean) / found.se == pytest.approx(1.96, abs=0.06)
