"""Two systems on the same queries: by hand, like scipy, and the same to the last bit however asked."""

import json
import math
import random
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from scipy import stats

import karat.blocks
from karat.measure import Aggregate
from karat.statistics import resampling
from karat.statistics.comparison import Comparison, Paired, compare_pairs, correct
from karat.statistics.corrections import benjamini_hochberg, holm
from karat.statistics.intervals import IntervalMethod, Resampling
from karat.statistics.paired import sign_flip_tests, wilcoxon_test
from karat.statistics.power import detectable_difference, queries_needed
from karat.statistics.streams import keys_of
from karat.types import Floats

from .support import NAN, QUICK, compare, digits, keys, numbered, paired, scores_or_none, thorough

KINDS: list[IntervalMethod] = ["percentile", "bca"]
AGGREGATES: list[Aggregate] = ["mean", "sum", "geometric"]
ways = st.builds(Resampling, resamples=st.just(256), interval=st.sampled_from(KINDS))


@st.composite
def pairs(draw: DrawFn, sizes: tuple[int, int] = (0, 40)) -> Paired:
    n = draw(st.integers(*sizes))
    values, baseline_values = (draw(st.lists(scores_or_none, min_size=n, max_size=n)) for _ in range(2))
    return paired(values, baseline_values, draw(st.sampled_from(AGGREGATES)), draw(st.booleans()))


def rows_of(pair: Paired, rows: list[int] | Floats) -> Paired:
    return replace(pair, values=pair.values[rows], baseline_values=pair.baseline_values[rows])


def realistic(n: int, seed: int = 0, gain: float = 0.05) -> Paired:
    """Scores of two systems that find the same queries hard; many are equal, some undefined for one of the two."""
    chance = np.random.default_rng(seed)
    theirs = chance.beta(0.6, 1.8, n)
    ours = np.where(chance.random(n) < 0.3, theirs, np.clip(theirs + chance.normal(gain, 0.15, n), 0, 1))
    ours[::11], theirs[::13] = NAN, NAN
    return paired(ours, theirs)


def both_defined(pair: Paired) -> tuple[Floats, Floats]:
    both = ~(np.isnan(pair.values) | np.isnan(pair.baseline_values))
    return pair.values[both], pair.baseline_values[both]


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
    shown = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert shown["mean"] == (0.5 if n else None)
    assert shown["difference"] == (0.25 if n else None)
    assert shown["ci"] is None


def test_undefined_for_either_is_left_out() -> None:
    found = compare(paired([0.5, NAN, 0.25, NAN], [0.25, 0.5, NAN, NAN]))
    assert (found.n, found.left_out, found.mean, found.baseline_mean) == (1, 3, 0.5, 0.25)


def test_no_pair() -> None:
    assert compare_pairs([], keys(3), QUICK) == []
    assert correct([]) == []


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
    how = Resampling(256, interval=kind)
    plain, scaled = compare(paired(ours, theirs), how), compare(paired(ours * scale, theirs * scale), how)
    for name in ("p", "p_wilcoxon", "n", "better", "equal", "worse", "needed"):
        assert getattr(scaled, name) == getattr(plain, name), name
    for name in ("p_t", "effect"):
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name), rel=1e-9), name
    assert scaled.detectable == pytest.approx((plain.detectable or NAN) * scale, rel=1e-9, abs=0)
    assert scaled.ci == pytest.approx(tuple(bound * scale for bound in plain.ci or ()), rel=1e-9, abs=0)
    json.dumps(scaled.as_json(), allow_nan=False)


@given(pair=pairs(), how=ways)
@thorough(40)
def test_turned_round_everything_is_mirrored(pair: Paired, how: Resampling) -> None:
    one = compare(pair, how)
    other = compare(replace(pair, values=pair.baseline_values, baseline_values=pair.values), how)
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


@given(pair=pairs((2, 40)), how=ways)
@thorough(40)
def test_figures_are_what_they_can_be(pair: Paired, how: Resampling) -> None:
    found = compare(pair, how)
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
    json.dumps(found.as_json(), allow_nan=False)


@given(pair=pairs(), how=ways, order=st.randoms(use_true_random=False))
@thorough(40)
def test_the_order_of_queries_changes_no_digit(pair: Paired, how: Resampling, order: random.Random) -> None:
    rows = list(range(pair.values.size))
    order.shuffle(rows)
    before = compare_pairs([pair], keys(len(rows)), how)
    after = compare_pairs([rows_of(pair, rows)], keys(len(rows))[rows], how)
    assert digits(after) == digits(before)


@given(pair=pairs(), how=ways)
@thorough(40)
def test_queries_undefined_for_either_are_as_if_they_were_not_there(pair: Paired, how: Resampling) -> None:
    kept = ~(np.isnan(pair.values) | np.isnan(pair.baseline_values))
    masked = compare(pair, how)
    (dropped,) = compare_pairs([rows_of(pair, kept)], keys(kept.size)[kept], how)
    assert masked.left_out == kept.size - kept.sum() and dropped.left_out == 0
    assert digits(replace(masked, left_out=0)) == digits(dropped)


@given(n=st.integers(0, 25), data=st.data(), how=ways)
@thorough(40)
def test_other_pairs_change_no_digit(n: int, data: st.DataObject, how: Resampling) -> None:
    several = data.draw(st.lists(pairs((n, n)), min_size=2, max_size=4))
    together = compare_pairs(several, keys(n), how)
    assert digits(together) == digits([compare(pair, how) for pair in several])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("block", "part", "processors"), [(1, 128, 1), (17, 192, 2), (1 << 20, 1 << 20, 7)])
def test_blocks_and_threads_change_no_digit(
    block: int, part: int, processors: int, kind: IntervalMethod, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = [realistic(150), realistic(150, seed=1), replace(realistic(150, seed=2), aggregate="geometric")]
    how = Resampling(5000, interval=kind)
    before = compare_pairs(several, keys(150), how)
    assert not any(one.exact for one in before)
    monkeypatch.setattr(resampling, "_QUERIES_PER_BLOCK", block)
    monkeypatch.setattr(resampling, "_RESAMPLES_PER_PART", part)
    monkeypatch.setattr(karat.blocks.os, "cpu_count", lambda: processors)
    assert digits(compare_pairs(several, keys(150), how)) == digits(before)


def test_seed_and_names_change_only_what_is_resampled() -> None:
    pair, how = realistic(100, gain=0.01), Resampling(2000)
    usual = compare(pair, how)
    renamed = keys_of(pl.Series([f"another {name}" for name in numbered(100)]), 0)
    for other_keys in (keys(100, seed=1), renamed):
        (other,) = compare_pairs([pair], other_keys, how)
        assert other.ci != usual.ci and other.p != usual.p
        assert replace(other, ci=usual.ci, p=usual.p) == usual


def test_whole_number_ids_give_the_digits_of_their_decimal_form() -> None:
    pair, how = realistic(60), Resampling(1000)
    numbers = compare_pairs([pair], keys_of(pl.Series(range(60), dtype=pl.Int64), 2), how)
    strings = compare_pairs([pair], keys_of(pl.Series([str(n) for n in range(60)]), 2), how)
    assert digits(numbers) == digits(strings)


def test_input_is_left_as_it_was() -> None:
    pair = realistic(30)
    pair.values.flags.writeable = pair.baseline_values.flags.writeable = False
    before = pair.values.copy(), pair.baseline_values.copy()
    compare(pair)
    np.testing.assert_array_equal(pair.values, before[0])
    np.testing.assert_array_equal(pair.baseline_values, before[1])


def test_lower_is_better_turns_gain_and_counts() -> None:
    pair = paired([0.5, 0.5, 0.25, 0.75], [0.25, 0.25, 0.5, 0.75])
    more, less = compare(pair), compare(replace(pair, lower_is_better=True))
    assert (more.better, more.equal, more.worse, more.gain) == (2, 1, 1, 0.0625)
    assert (less.better, less.equal, less.worse, less.gain) == (1, 1, 2, -0.0625)
    assert (less.difference, less.ci, less.p, less.effect) == (more.difference, more.ci, more.p, more.effect)


def made(p: float | None) -> Comparison:
    return replace(compare(paired([0.5, 0.25], [0.25, 0.25])), p=p)


def test_all_comparisons_are_corrected_together() -> None:
    given_p: list[float | None] = [0.01, None, 0.04, 0.03, 0.005]
    found = correct(made(p) for p in given_p)
    assert [one.p for one in found] == given_p
    assert [one.p_holm for one in found] == holm(given_p) == pytest.approx([0.03, None, 0.06, 0.06, 0.02])
    assert [one.p_bh for one in found] == benjamini_hochberg(given_p)


@dataclass(frozen=True)
class Asked:
    """Anything with a p-value can be corrected."""

    p: float | None
    p_holm: float | None = None
    p_bh: float | None = None


def test_other_tests_are_corrected_alike() -> None:
    assert correct([Asked(0.02), Asked(None), Asked(0.5)]) == [
        Asked(0.02, 0.04, 0.04),
        Asked(None),
        Asked(0.5, 0.5, 0.5),
    ]


def test_queries_needed_for_another_difference() -> None:
    found = compare(realistic(80))
    assert found.std is not None
    assert found.needed_for(0.01, 0.99) == queries_needed(found.std, 0.01, level=0.99)
    assert found.needed_for(found.difference, 0.95) == found.needed
    assert found.needed_for(0.0, 0.95) is None
    assert compare(paired([0.5], [0.25])).needed_for(0.1, 0.95) is None


def test_a_difference_is_shown_by_the_p_value_corrected() -> None:
    once, thrice = correct([made(0.02)]), correct([made(0.02), made(0.3), made(0.6)])
    assert once[0].is_shown(0.95) and not once[0].is_shown(0.99)
    assert not thrice[0].is_shown(0.95)
    assert not correct([made(None)])[0].is_shown(0.5)
    assert not made(0.001).is_shown(0.95), "not yet corrected"


@pytest.mark.parametrize(("level", "p"), [(0.8, 0.2), (0.9, 0.1), (0.95, 0.05), (0.99, 0.01), (0.999, 0.001)])
def test_a_p_value_at_the_limit_is_shown(level: float, p: float) -> None:
    """(1 + 99) / (1 + 999) is 0.1, and 1 − 0.9 is less than that in floats."""
    (found,) = correct([made(p)])
    assert found.is_shown(level)


def test_the_level_asked_for_is_used_throughout() -> None:
    pair = realistic(80, gain=0.03)
    usual, strict = compare(pair, QUICK), compare(pair, replace(QUICK, level=0.99))
    assert usual.ci is not None and strict.ci is not None
    assert strict.ci[0] < usual.ci[0] < usual.ci[1] < strict.ci[1]
    assert (strict.detectable or 0) > (usual.detectable or 1)
    assert (strict.needed or 0) > (usual.needed or 1)
    assert (strict.p, strict.p_t, strict.effect) == (usual.p, usual.p_t, usual.effect)


def test_json_has_every_figure() -> None:
    pair = realistic(40)
    (found,) = correct([compare(pair)])
    assert found.as_json() == {
        "system": "ours",
        "baseline": "theirs",
        "measure": "m",
        "n": found.n,
        "left_out": found.left_out,
        "mean": found.mean,
        "baseline_mean": found.baseline_mean,
        "difference": found.mean - found.baseline_mean,
        "ci": list(found.ci or ()),
        "p": found.p,
        "p_method": "monte carlo",
        "p_holm": found.p,
        "p_bh": found.p,
        "p_t": found.p_t,
        "p_wilcoxon": found.p_wilcoxon,
        "std": found.std,
        "effect_size": found.effect,
        "better": found.better,
        "equal": found.equal,
        "worse": found.worse,
        "detectable": found.detectable,
        "queries_needed": found.needed,
    }
    assert compare(paired([0.5, 0.25], [0.25, 0.5])).as_json()["p_method"] == "exact"
