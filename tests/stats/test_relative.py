"""Relative differences: by hand, and against queries written down as often as they were drawn."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rankjury.stats.comparison import Comparison, PairedValues, add_relative_differences, compare_pairs
from rankjury.stats.resampling import Bounds, Resampling, bootstrap_weights
from tests.stats.support import NAN, QUICK, digits, keys, paired, scores_or_none, thorough


def relative(*pairs: PairedValues, resampling: Resampling = QUICK) -> list[Comparison]:
    of = keys(pairs[0].values.size, resampling.seed)
    return add_relative_differences(compare_pairs(pairs, of, resampling), pairs, of, resampling)


def slowly(pair: PairedValues, resampling: Resampling) -> Bounds | None:
    """Each resample's mean over the baseline's, less 1; None where one of these is 0."""
    times = bootstrap_weights(keys(pair.values.size, resampling.seed), 0, resampling.resamples).astype(int)
    both = ~np.isnan(pair.values) & ~np.isnan(pair.baseline_values)
    shares = []
    for column in times.T:
        ours, theirs = (np.repeat(side[both], column[both]) for side in (pair.values, pair.baseline_values))
        if not ours.size:
            continue
        if not theirs.any():
            return None
        shares.append((ours.mean() - theirs.mean()) / abs(theirs.mean()))
    low, high = np.quantile(shares, [(1 - resampling.level) / 2, (1 + resampling.level) / 2]).tolist()
    return low, high


def made(n: int, seed: int = 0) -> PairedValues:
    random = np.random.default_rng(seed)
    theirs = random.beta(2, 3, n)
    return paired(np.clip(theirs + random.normal(0.05, 0.1, n), 0, 1), theirs)


def test_by_hand() -> None:
    """From 0.20 to 0.30: half as much again; the query that one side lacks takes no part."""
    (found,) = relative(paired([0.2, 0.4, 0.9, NAN], [0.1, 0.3, NAN, 0.5]))
    assert found.relative == pytest.approx(0.5)
    assert found.relative_ci == pytest.approx((1 / 3, 1.0))
    assert found.to_json()["relative_ci"] == list(found.relative_ci or ())


def test_worse_and_of_negative_scores() -> None:
    assert relative(paired([0.1, 0.3], [0.2, 0.6]))[0].relative == pytest.approx(-0.5)
    (found,) = relative(paired([-0.1, -0.3], [-0.2, -0.6]))
    assert found.relative == pytest.approx(0.5) and found.relative_ci == pytest.approx((0.5, 0.5))


def test_twice_as_much_everywhere_leaves_no_doubt() -> None:
    theirs = made(30).baseline_values / 2
    (found,) = relative(paired(theirs * 2, theirs))
    assert found.relative == pytest.approx(1) and found.relative_ci == pytest.approx((1, 1))


@pytest.mark.parametrize("n", [2, 3, 5, 9, 20, 300])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_queries_written_down(n: int, level: float) -> None:
    """Of few queries too, where some resamples draw none of them."""
    resampling = Resampling(resamples=500, level=level, seed=3)
    pair = made(n, n)
    (found,) = relative(pair, resampling=resampling)
    assert found.relative_ci == pytest.approx(slowly(pair, resampling), abs=1e-8)
    assert found.relative == pytest.approx(pair.values.mean() / pair.baseline_values.mean() - 1, abs=1e-12)


@given(st.lists(st.tuples(scores_or_none, scores_or_none), min_size=1, max_size=12))
@thorough(50)
def test_any_scores(rows: list[tuple[float, float]]) -> None:
    pair = paired(*zip(*rows, strict=True))
    resampling = Resampling(resamples=100)
    (found,) = relative(pair, resampling=resampling)
    both = ~np.isnan(pair.values - pair.baseline_values)
    theirs = pair.baseline_values[both]
    assert replace(found, relative=None, relative_ci=None) == compare_pairs([pair], keys(len(rows)), resampling)[0]
    if both.sum() < 2 or not theirs.any():
        assert found.relative is None and found.relative_ci is None
    elif theirs[theirs > 0].min() > 1e-6:  # not lost in the steps of fixed-point numbers
        assert found.relative is not None
        expected = slowly(pair, resampling)
        assert found.relative_ci == (None if expected is None else pytest.approx(expected, rel=1e-3, abs=1e-6))


class TestNone:
    def test_of_a_baseline_of_nothing(self) -> None:
        (found,) = relative(paired([0.1, 0.2, 0.3], [0, 0, 0]))
        assert (found.relative, found.relative_ci) == (None, None)
        assert "relative" not in found.to_json()

    def test_interval_of_a_baseline_that_may_be_nothing(self) -> None:
        """A single query has anything, and in a third of the resamples it is not drawn."""
        (found,) = relative(paired([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0.5]))
        assert found.relative == pytest.approx(1) and found.relative_ci is None
        assert json.loads(json.dumps(found.to_json(), allow_nan=False)).get("relative_ci") is None

    def test_of_a_geometric_mean(self) -> None:
        pair = made(20)
        (found,) = relative(replace(pair, aggregate="geometric"))
        assert (found.relative, found.relative_ci) == (None, None)

    @pytest.mark.parametrize("ours", [[0.5], [0.5, NAN], [NAN, NAN]])
    def test_of_less_than_two_queries(self, ours: list[float]) -> None:
        (found,) = relative(paired(ours, [0.25] * len(ours)))
        assert (found.relative, found.relative_ci) == (None, None)

    def test_of_nothing_compared(self) -> None:
        assert add_relative_differences([], [], keys(3), QUICK) == []


def test_of_sums_as_of_means() -> None:
    pair = made(25)
    means, sums = relative(pair, replace(pair, aggregate="sum"))
    assert (means.relative, means.relative_ci) == (sums.relative, sums.relative_ci)
    assert means.relative_ci is not None


def test_lower_is_better_changes_no_sign() -> None:
    pair = made(25)
    plain, lower = relative(pair, replace(pair, lower_is_better=True))
    assert (plain.relative, plain.relative_ci) == (lower.relative, lower.relative_ci)


def test_another_system_and_the_order_of_queries_are_of_no_account() -> None:
    pair, other = made(40), made(40, 7)
    (alone,) = relative(pair)
    assert digits(relative(other, pair, other)[1]) == digits(alone)
    order = np.random.default_rng(2).permutation(40)
    shuffled = replace(pair, values=pair.values[order], baseline_values=pair.baseline_values[order])
    of = keys(40)[order]
    found = add_relative_differences(compare_pairs([shuffled], of, QUICK), [shuffled], of, QUICK)
    assert digits(found[0]) == digits(alone)
