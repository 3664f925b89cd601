"""Two systems on the same queries: by hand, like scipy, and the same to the last bit however asked."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from rankjury.core.types import Floats
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import compare_pairs, correct_p_values
from rankjury.stats.resampling import IntervalMethod, Resampling
from rankjury.stats.significance import detectable_difference, queries_needed, sign_flip_tests, wilcoxon_test
from tests.stats.pairs_of_systems import AGGREGATES, KINDS, both_defined, realistic
from tests.stats.support import NAN, QUICK, compare, keys, paired, thorough


def test_by_hand() -> None:
    """Differences of 0.125, 0.25 and 0.375: mean 0.25, standard deviation 0.125."""
    found = compare(paired([0.5, 0.5, 0.875, NAN, 0.1], [0.375, 0.25, 0.5, 0.3, NAN]))
    assert (found.system, found.baseline, found.measure) == ("ours", "theirs", "m")
    assert (found.n, found.left_out) == (3, 2)
    assert (found.mean, found.baseline_mean, found.difference) == (0.625, 0.375, 0.25)
    assert (found.better, found.equal, found.worse) == (3, 0, 0)
    assert (found.p, found.exact, found.p_wilcoxon) == (0.25, True, 0.25)
    assert found.p_t == pytest.approx(0.0741799, rel=1e-6)
    assert found.std == 0.125
    assert found.effect == 2.0
    assert found.detectable == pytest.approx(0.125 / math.sqrt(3) * (4.302653 + 1.060660), rel=1e-6)
    assert found.needed == queries_needed(0.125, 0.25) == 5
    assert (found.p_holm, found.p_bh) == (None, None)
    assert found.ci == (0.125, 0.375)


@pytest.mark.parametrize("n", [15, 45, 400])
@pytest.mark.parametrize("kind", KINDS)
def test_like_scipy(n: int, kind: IntervalMethod) -> None:
    pair = realistic(n, seed=n)
    found = compare(pair, Resampling(20_000, interval=kind))
    ours, theirs = both_defined(pair)
    differences = ours - theirs
    assert found.n == differences.size and found.left_out == n - differences.size > 0
    assert found.mean == pytest.approx(ours.mean(), rel=1e-12)
    assert found.baseline_mean == pytest.approx(theirs.mean(), rel=1e-12)
    assert found.p_t == pytest.approx(stats.ttest_rel(ours, theirs).pvalue, rel=1e-8)
    assert found.effect == pytest.approx(differences.mean() / differences.std(ddof=1), rel=1e-10)
    assert found.std is not None
    assert found.std == pytest.approx(differences.std(ddof=1), rel=1e-12)
    assert found.detectable == detectable_difference(found.std, found.n)
    assert found.needed == queries_needed(found.std, found.difference)
    assert (found.better, found.equal, found.worse) == tuple(
        int(np.count_nonzero(one)) for one in (differences > 0, differences == 0, differences < 0)
    )
    by_ranks = stats.wilcoxon(
        differences[differences != 0], correction=False, method="exact" if n < 50 else "asymptotic"
    )
    assert found.p_wilcoxon == pytest.approx(by_ranks.pvalue, rel=1e-8)
    by_signs = stats.permutation_test(
        (differences[differences != 0],),
        np.sum,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert found.exact == (np.count_nonzero(differences) <= 18)
    assert found.p == pytest.approx(by_signs.pvalue, abs=0.015)
    method = {"bca": "BCa", "percentile": "percentile"}[kind]
    bounds = stats.bootstrap(
        (differences,), np.mean, n_resamples=20_000, batch=1000, method=method, rng=np.random.default_rng(1)
    ).confidence_interval
    near = (0.05 if n > 20 else 0.15) * (bounds.high - bounds.low)
    assert found.ci == pytest.approx((bounds.low, bounds.high), abs=near)


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_of_geometric_means_like_scipy(kind: IntervalMethod) -> None:
    pair = replace(realistic(200, seed=3), aggregate="geometric")
    ours, theirs = (np.maximum(values, 1e-5) for values in both_defined(pair))
    found = compare(pair, Resampling(20_000, interval=kind))
    assert found.mean == pytest.approx(stats.gmean(ours), rel=1e-12)

    def apart(one: Floats, other: Floats, axis: int) -> Floats:
        return np.exp(np.log(one).mean(axis=axis)) - np.exp(np.log(other).mean(axis=axis))

    bounds = stats.bootstrap(
        (ours, theirs),
        apart,
        paired=True,
        n_resamples=20_000,
        batch=1000,
        method={"bca": "BCa", "percentile": "percentile"}[kind],
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert found.ci == pytest.approx((bounds.low, bounds.high), abs=0.05 * (bounds.high - bounds.low))
    assert [found.std, found.effect, found.detectable, found.needed] == [None] * 4
    assert found.p_t == pytest.approx(stats.ttest_rel(np.log(ours), np.log(theirs)).pvalue, rel=1e-8)


tenths = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=12)


@given(data=tenths)
@thorough(40)
def test_equal_differences_are_tied(data: list[tuple[int, int]]) -> None:
    """Precision at 10: 0.3 − 0.2 is as much as 0.2 − 0.1, whatever floats make of it."""
    whole = np.array([ours - theirs for ours, theirs in data], dtype=float)
    found = compare(paired([ours / 10 for ours, _ in data], [theirs / 10 for _, theirs in data]))
    (expected,) = sign_flip_tests([whole], keys(whole.size), 256)
    assert expected is not None and expected.exact
    assert (found.better, found.equal, found.worse) == tuple(
        int(np.count_nonzero(one)) for one in (whole > 0, whole == 0, whole < 0)
    )
    assert (found.p, found.p_wilcoxon) == (expected.p, wilcoxon_test(whole))


@pytest.mark.parametrize("seed", range(4))
def test_equal_differences_are_tied_where_signs_are_sampled(seed: int) -> None:
    ours, theirs = np.random.default_rng(seed).integers(0, 11, (2, 60))
    whole = (ours - theirs).astype(float)
    (expected,) = sign_flip_tests([whole], keys(60), 1000)
    found = compare(paired(ours / 10, theirs / 10), Resampling(1000))
    assert expected is not None and not expected.exact
    assert (found.p, found.p_wilcoxon) == (expected.p, wilcoxon_test(whole))


@pytest.mark.parametrize("k", [3, 5, 7, 10, 20, 30])
def test_equal_differences_of_any_precision_are_tied(k: int) -> None:
    """One hit more on five queries, one fewer on four, at many levels: signs alone decide."""
    theirs = np.arange(9) % k + (np.arange(9) >= 5)
    ours = theirs + np.where(np.arange(9) < 5, 1, -1)
    found = compare(paired(ours / k, theirs / k))
    assert (found.p, found.p_wilcoxon) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("n", "undefined"), [(0, 0), (0, 3), (1, 0), (1, 4)], ids=["none", "all undefined", "one", "one defined"]
)
def test_what_cannot_be_known_is_none(n: int, undefined: int) -> None:
    found = compare(paired([0.5] * n + [NAN] * undefined, [0.25] * n + [0.5] * undefined))
    assert (found.n, found.left_out, found.ci) == (n, undefined, None)
    assert [found.p_t, found.std, found.effect, found.detectable, found.needed] == [None] * 5
    assert (found.p, found.p_wilcoxon) == ((1.0, 1.0) if n else (None, None))
    shown = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert shown["mean"] == (0.5 if n else None)
    assert shown["difference"] == (0.25 if n else None)
    assert shown["ci"] is None


def test_undefined_for_either_is_left_out() -> None:
    found = compare(paired([0.5, NAN, 0.25, NAN], [0.25, 0.5, NAN, NAN]))
    assert (found.n, found.left_out, found.mean, found.baseline_mean) == (1, 3, 0.5, 0.25)


def test_no_pair() -> None:
    assert compare_pairs([], keys(3), QUICK) == []
    assert correct_p_values([]) == []


@pytest.mark.parametrize("n", [2, 5, 60])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_system_against_itself(n: int, aggregate: Aggregate) -> None:
    values = np.random.default_rng(n).random(n)
    found = compare(paired(values, values, aggregate))
    assert (found.p, found.p_wilcoxon, found.exact, found.difference) == (1.0, 1.0, True, 0.0)
    assert (found.better, found.equal, found.worse) == (0, n, 0)
    assert found.ci == (0.0, 0.0)
    assert [found.p_t, found.std, found.effect, found.detectable, found.needed] == [None] * 5


@pytest.mark.parametrize("shift", [0.1, -0.3, 0.25, 1e-6])
@pytest.mark.parametrize("n", [2, 9, 50])
def test_a_constant_shift_has_an_interval_without_width(n: int, shift: float) -> None:
    """As far as floats allow; where nothing varies, nothing can be divided by its spread."""
    values = np.random.default_rng(n).random(n)
    found = compare(paired(values + shift, values))
    assert found.ci == (found.difference, found.difference)
    assert found.difference == pytest.approx(shift, rel=1e-9)
    assert [found.p_t, found.std, found.effect, found.detectable, found.needed] == [None] * 5
    assert (found.better, found.worse) == ((n, 0) if shift > 0 else (0, n))


def test_a_constant_shift_is_as_unlikely_as_equal_signs() -> None:
    values = np.random.default_rng(1).random(12)
    found = compare(paired(values + 0.1, values))
    assert (found.p, found.p_wilcoxon) == (2.0**-11, 2.0**-11)


def test_two_queries() -> None:
    found = compare(paired([0.75, 0.25], [0.25, 0.5]))
    assert (found.n, found.ci, found.p, found.p_wilcoxon) == (2, (-0.25, 0.5), 1.0, 1.0)
    assert found.p_t == pytest.approx(stats.ttest_1samp([0.5, -0.25], 0).pvalue, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [2.0**996, 2.0**-565, 2.0**-996], ids=["large", "small", "smallest"])
def test_values_at_the_ends_of_what_a_float_holds(scale: float, kind: IntervalMethod) -> None:
    ours, theirs = np.array([1.0, 2.0, -3.0, 0.5, 0.25]), np.array([0.5, 1.0, -1.0, 0.75, 0.125])
    resampling = Resampling(256, interval=kind)
    plain, scaled = compare(paired(ours, theirs), resampling), compare(paired(ours * scale, theirs * scale), resampling)
    for name in ("p", "p_wilcoxon", "n", "better", "equal", "worse", "needed"):
        assert getattr(scaled, name) == getattr(plain, name), name
    for name in ("p_t", "effect"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name), rel=1e-9), name
    assert scaled.detectable == pytest.approx((plain.detectable or NAN) * scale, rel=1e-9, abs=0)
    assert scaled.ci == pytest.approx(tuple(bound * scale for bound in plain.ci or ()), rel=1e-9, abs=0)
    json.dumps(scaled.to_json(), allow_nan=False)
