"""Comparisons: what follows from how they are made, and the same to the last bit however asked."""

import json
import random
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury.core.types
from rankjury.stats import resampling as resampling_module
from rankjury.stats.comparison import PairedValues, compare_pairs
from rankjury.stats.resampling import IntervalMethod, Resampling, query_keys
from tests.stats.pairs_of_systems import KINDS, both_defined, pairs, realistic, rows_of, ways
from tests.stats.support import compare, digits, keys, numbered, thorough


@given(pair=pairs(), resampling=ways)
@thorough(40)
def test_turned_round_everything_is_mirrored(pair: PairedValues, resampling: Resampling) -> None:
    one = compare(pair, resampling)
    other = compare(replace(pair, values=pair.baseline_values, baseline_values=pair.values), resampling)
    for name in ("n", "left_out", "p", "exact", "p_wilcoxon", "equal", "std", "detectable", "needed"):
        assert digits(getattr(one, name)) == digits(getattr(other, name)), name
    assert (one.better, one.worse) == (other.worse, other.better)
    assert digits((one.mean, one.baseline_mean)) == digits((other.baseline_mean, other.mean))
    assert (one.p_t is None) == (other.p_t is None)
    assert one.p_t is None or one.p_t == pytest.approx(other.p_t, rel=1e-9)
    if one.ci is None or other.ci is None:
        assert one.ci == other.ci
    else:
        assert one.ci == pytest.approx((-other.ci[1], -other.ci[0]), abs=1e-9)
    if one.effect is not None and other.effect is not None:
        assert one.effect == -other.effect


@given(pair=pairs((2, 40)), resampling=ways)
@thorough(40)
def test_figures_are_what_they_can_be(pair: PairedValues, resampling: Resampling) -> None:
    found = compare(pair, resampling)
    assert found.better + found.equal + found.worse == found.n
    assert found.n + found.left_out == pair.values.size
    for p in (found.p, found.p_t, found.p_wilcoxon):
        assert p is None or 0.0 <= p <= 1.0
    assert found.p is None or found.p > 0.0
    assert (found.ci is None) == (found.n < 2)
    if found.ci is not None:
        ours, theirs = both_defined(pair)
        assert found.ci[0] <= found.ci[1]
        if pair.aggregate != "geometric":
            assert (ours - theirs).min() - 1e-9 <= found.ci[0] and found.ci[1] <= (ours - theirs).max() + 1e-9
    json.dumps(found.to_json(), allow_nan=False)


@given(pair=pairs(), resampling=ways, order=st.randoms(use_true_random=False))
@thorough(40)
def test_the_order_of_queries_changes_no_digit(
    pair: PairedValues, resampling: Resampling, order: random.Random
) -> None:
    rows = list(range(pair.values.size))
    order.shuffle(rows)
    before = compare_pairs([pair], keys(len(rows)), resampling)
    after = compare_pairs([rows_of(pair, rows)], keys(len(rows))[rows], resampling)
    assert digits(after) == digits(before)


@given(pair=pairs(), resampling=ways)
@thorough(40)
def test_queries_undefined_for_either_are_as_if_they_were_not_there(pair: PairedValues, resampling: Resampling) -> None:
    kept = ~(np.isnan(pair.values) | np.isnan(pair.baseline_values))
    masked = compare(pair, resampling)
    (dropped,) = compare_pairs([rows_of(pair, kept)], keys(kept.size)[kept], resampling)
    assert masked.left_out == kept.size - kept.sum() and dropped.left_out == 0
    assert digits(replace(masked, left_out=0)) == digits(dropped)


@given(n=st.integers(0, 25), data=st.data(), resampling=ways)
@thorough(40)
def test_other_pairs_change_no_digit(n: int, data: st.DataObject, resampling: Resampling) -> None:
    several = data.draw(st.lists(pairs((n, n)), min_size=2, max_size=4))
    together = compare_pairs(several, keys(n), resampling)
    assert digits(together) == digits([compare(pair, resampling) for pair in several])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("block", "part", "processors"), [(1, 128, 1), (17, 192, 2), (1 << 20, 1 << 20, 7)])
def test_blocks_and_threads_change_no_digit(
    block: int, part: int, processors: int, kind: IntervalMethod, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = [realistic(150), realistic(150, seed=1), replace(realistic(150, seed=2), aggregate="geometric")]
    resampling = Resampling(5000, interval=kind)
    before = compare_pairs(several, keys(150), resampling)
    assert not any(one.exact for one in before)
    monkeypatch.setattr(resampling_module, "_QUERIES_PER_BLOCK", block)
    monkeypatch.setattr(resampling_module, "_RESAMPLES_PER_PART", part)
    monkeypatch.setattr(rankjury.core.types.os, "cpu_count", lambda: processors)
    assert digits(compare_pairs(several, keys(150), resampling)) == digits(before)


def test_seed_and_names_change_only_what_is_resampled() -> None:
    pair, resampling = realistic(100, gain=0.01), Resampling(2000)
    usual = compare(pair, resampling)
    renamed = query_keys(pl.Series([f"another {name}" for name in numbered(100)]), 0)
    for other_keys in (keys(100, seed=1), renamed):
        (other,) = compare_pairs([pair], other_keys, resampling)
        assert other.ci != usual.ci and other.p != usual.p
        assert replace(other, ci=usual.ci, p=usual.p) == usual


def test_whole_number_ids_give_the_digits_of_their_decimal_form() -> None:
    pair, resampling = realistic(60), Resampling(1000)
    numbers = compare_pairs([pair], query_keys(pl.Series(range(60), dtype=pl.Int64), 2), resampling)
    strings = compare_pairs([pair], query_keys(pl.Series([str(n) for n in range(60)]), 2), resampling)
    assert digits(numbers) == digits(strings)


def test_input_is_left_as_it_was() -> None:
    pair = realistic(30)
    pair.values.flags.writeable = pair.baseline_values.flags.writeable = False
    before = pair.values.copy(), pair.baseline_values.copy()
    compare(pair)
    np.testing.assert_array_equal(pair.values, before[0])
    np.testing.assert_array_equal(pair.baseline_values, before[1])
