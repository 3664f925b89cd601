"""Slices: estimates there, differences to the baseline or to the rest, corrections, and which lose most."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from rankjury.core.types import Bools, Floats
from rankjury.evaluation.paired import pair_with_baseline
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.slices.groups import Group
from rankjury.evaluation.slices.stats import (
    Gap,
    Slice,
    break_down,
    correct_slices,
    signs_for,
    slice_items,
    worst_slices,
)
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import Comparison, compare_pairs
from rankjury.stats.estimates import estimate_all
from rankjury.stats.resampling import Resampling, query_keys

NAN = math.nan
QUICK = Resampling(resamples=400)


def scores_of(columns: Sequence[Any], aggregates: Sequence[Aggregate] = (), lower: Sequence[str] = ()) -> Scores:
    """Measures m0, m1 … over q000, q001 …"""
    values = np.column_stack(columns).astype(float)
    labels = tuple(f"m{n}" for n in range(values.shape[1]))
    queries = pl.Series([f"q{n:03}" for n in range(len(values))])
    kinds = tuple(aggregates) or ("mean",) * len(labels)
    return Scores(queries, labels, labels, kinds, values, lower_is_better=frozenset(lower))


def groups_of(codes: Sequence[int] | Floats) -> list[Group]:
    codes = np.asarray(codes)
    return [Group(f"g={code}", "", codes == code) for code in np.unique(codes)]


def larger_p(left: Any, right: Any) -> float:
    return float(max(stats.ttest_ind(left, right, equal_var=equal).pvalue for equal in (True, False)))


def random_scores(seed: int, n: int = 90) -> Scores:
    """A column with values of 1 in all thirds, one on a grid with undefined queries, one geometric."""
    rng = np.random.default_rng(seed)
    first = rng.beta(0.6, 0.5, n)
    first[::15] = 1.0
    grid = np.where(rng.random(n) < 0.2, NAN, np.round(rng.random(n), 1))
    grid[1::15] = 1.0
    third = rng.choice([0.0, 0.2, 0.9], n)
    third[2::15] = 0.9
    return scores_of([first, grid, third], ["mean", "sum", "geometric"])


CODES = np.arange(90) // 30


def known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


class TestEstimates:
    @pytest.mark.parametrize("interval", ["percentile", "bca"])
    def test_those_of_the_rows_alone_bit_by_bit(self, interval: Any) -> None:
        resampling = Resampling(resamples=500, seed=3, interval=interval)
        scores = random_scores(1)
        slices = list(break_down({"a": scores}, groups_of(CODES), resampling, None))
        for part, group in zip(slices, groups_of(CODES), strict=True):
            keys = query_keys(scores.queries.filter(group.members), resampling.seed)
            expected = estimate_all(scores.values[group.members], scores.aggregates, keys, resampling)
            assert repr(list(part.estimates["a"].values())) == repr(expected)
            assert (part.name, part.of, part.n) == (group.name, "queries", 30)

    def test_those_of_a_slice_of_small_scores_bit_by_bit(self) -> None:
        """The whole's largest value, and so its fixed-point step, is another than the slice's."""
        rng = np.random.default_rng(2)
        scores = scores_of([np.concatenate([rng.random(30) * 0.3, rng.random(30)])])
        low = groups_of([0] * 30 + [1] * 30)[0]
        (part,) = break_down({"a": scores}, [low], QUICK, None)
        alone = estimate_all(scores.values[:30], ["mean"], query_keys(scores.queries[:30], 0), QUICK)
        assert repr(part.estimates["a"]["m0"]) == repr(alone[0])

    def test_one_query_and_none_defined(self) -> None:
        scores = scores_of([[0.5, 0.25, 1.0], [NAN, 0.25, 1.0]])
        one, rest = break_down({"a": scores}, groups_of([0, 1, 1]), QUICK, None)
        assert (one.estimates["a"]["m0"].mean, one.estimates["a"]["m0"].ci) == (0.5, None)
        assert (one.estimates["a"]["m1"].n, one.estimates["a"]["m1"].undefined) == (0, 1)
        assert {gap.measure for gap in one.beside} == {"m0"}, "what is undefined in the slice has no gap"
        assert {gap.measure for gap in rest.beside} == {"m0"}, "nor what is undefined in the rest"
        assert one.beside[0].p is None and one.beside[0].ci is None
        json.dumps([one.to_json(), rest.to_json()], allow_nan=False)


class TestGaps:
    def gaps(self, scores: Scores, members: Bools, resampling: Resampling = QUICK) -> dict[str, Gap]:
        (part,) = break_down({"a": scores}, [Group("g", "", members)], resampling, None)
        assert all(isinstance(gap, Gap) for gap in part.beside)
        return {gap.measure: gap for gap in part.beside if isinstance(gap, Gap)}

    @pytest.mark.parametrize("seed", range(4))
    def test_difference_and_the_larger_p_of_welch_and_student(self, seed: int) -> None:
        scores, members = random_scores(seed), np.arange(90) % 3 == seed % 3
        gaps = self.gaps(scores, members)
        for label in ("m0", "m1"):
            inside, rest = known(scores[label][members]), known(scores[label][~members])
            assert gaps[label].difference == pytest.approx(inside.mean() - rest.mean(), abs=1e-10)
            assert gaps[label].p == pytest.approx(larger_p(inside, rest), rel=1e-9)
        inside, rest = (np.log(np.maximum(scores["m2"][rows], 1e-5)) for rows in (members, ~members))
        assert gaps["m2"].difference == pytest.approx(np.exp(inside.mean()) - np.exp(rest.mean()), abs=1e-10)
        assert gaps["m2"].p == pytest.approx(larger_p(inside, rest), rel=1e-9)

    @pytest.mark.parametrize("interval", ["percentile", "bca"])
    def test_interval_like_a_bootstrap_of_two_samples(self, interval: Any) -> None:
        scores, members = random_scores(7), np.arange(90) < 40
        gap = self.gaps(scores, members, Resampling(interval=interval))["m0"]
        data = (scores["m0"][members], scores["m0"][~members])
        method = {"bca": "BCa", "percentile": "percentile"}[interval]
        rng = np.random.default_rng(1)
        peer = stats.bootstrap(data, lambda a, b, axis: a.mean(axis) - b.mean(axis), method=method, rng=rng)
        assert gap.ci is not None
        low, high = peer.confidence_interval
        assert gap.ci == pytest.approx((low, high), abs=0.06 * (high - low))

    def test_a_slice_of_all_queries_has_no_rest(self) -> None:
        assert self.gaps(random_scores(1), np.ones(90, dtype=bool)) == {}

    def test_equal_scores_are_no_gap(self) -> None:
        gap = self.gaps(scores_of([[0.25] * 12]), np.arange(12) < 5)["m0"]
        assert (gap.difference, gap.ci, gap.p) == (0.0, (0.0, 0.0), None)

    def test_less_is_better_turns_it_around(self) -> None:
        scores = scores_of([[0.9, 0.8, 0.1, 0.2], [0.9, 0.8, 0.1, 0.2]], lower=["m1"])
        gaps = self.gaps(scores, np.array([True, True, False, False]))
        assert gaps["m0"].gain == gaps["m0"].difference == pytest.approx(0.7)
        assert gaps["m1"].difference == gaps["m0"].difference and gaps["m1"].gain == -gaps["m0"].gain


def three_systems(seed: int = 3) -> dict[str, Scores]:
    rng = np.random.default_rng(seed)
    base = random_scores(seed)
    return {
        name: Scores(base.queries, base.labels, base.conventions, base.aggregates, np.clip(base.values + moved, 0, 1))
        for name, moved in (
            ("base", np.zeros((90, 3))),
            ("one", rng.normal(0.05, 0.2, (90, 3))),
            ("two", rng.normal(-0.05, 0.2, (90, 3))),
        )
    }


class TestAgainstTheBaseline:
    def test_those_of_the_rows_alone_bit_by_bit(self) -> None:
        systems = three_systems()
        for group, part in zip(groups_of(CODES), break_down(systems, groups_of(CODES), QUICK, "base"), strict=True):
            pairs = [one for pair in pair_with_baseline(systems, "base") for one in pair.columns(group.members)]
            assert [(pair.system, pair.measure) for pair in pairs] == [
                (name, label) for name in ("one", "two") for label in ("m0", "m1", "m2")
            ]
            queries = systems["base"].queries.filter(group.members)
            assert repr(list(part.beside)) == repr(compare_pairs(pairs, query_keys(queries, 0), QUICK))

    def test_a_baseline_that_is_not_the_first(self) -> None:
        (part,) = break_down(three_systems(), groups_of(np.zeros(90)), QUICK, "two")
        assert {(one.system, one.baseline) for one in part.beside if isinstance(one, Comparison)} == {
            ("base", "two"),
            ("one", "two"),
        }

    def test_slices_of_items_are_whole_evaluations(self) -> None:
        systems = three_systems()
        part = slice_items(Group("item.tail", "", np.ones(1, dtype=bool)), systems, QUICK, "base")
        assert (part.of, part.n) == ("items", 90)
        assert part.estimates == {name: scores.estimates(QUICK) for name, scores in systems.items()}
        pairs = [one for pair in pair_with_baseline(systems, "base") for one in pair.columns()]
        keys = query_keys(systems["base"].queries, 0)
        assert repr(list(part.beside)) == repr(compare_pairs(pairs, keys, QUICK))


class TestCorrections:
    @pytest.mark.parametrize("baseline", ["base", None])
    def test_under_each_measure_over_slices_and_systems(self, baseline: str | None) -> None:
        systems = three_systems()
        found = [*break_down(systems, groups_of(CODES), QUICK, baseline)]
        found += break_down(systems, groups_of(np.arange(90) % 2 + 5), QUICK, baseline)
        corrected = correct_slices(found)
        for label in ("m0", "m1", "m2"):
            family = [one for part in corrected for one in part.beside if one.measure == label]
            assert len(family) == 5 * (2 if baseline else 3)
            p_values = [one.p for one in family]
            for name, method in (("p_holm", "holm"), ("p_bh", "fdr_bh")):
                expected = multipletests(p_values, method=method)[1]
                np.testing.assert_allclose([getattr(one, name) for one in family], expected, rtol=1e-12)

    def test_only_the_corrected_figures_change(self) -> None:
        found = [*break_down(three_systems(), groups_of(CODES), QUICK, None)]
        for before, after in zip(found, correct_slices(found), strict=True):
            assert before.estimates == after.estimates and before.label == after.label
            for one, other in zip(before.beside, after.beside, strict=True):
                changed = {"p_holm": None, "p_bh": None}
                assert one.to_json() == other.to_json() | changed and other.p_holm is not None

    def test_tests_that_could_not_be_made_do_not_count(self) -> None:
        def slice_with(name: str, p: float | None) -> Slice:
            return Slice(name, "", "queries", 3, {}, beside=(Gap("a", "m", -0.1, None, p),))

        corrected = correct_slices([slice_with("x", 0.01), slice_with("y", None), slice_with("z", 0.04)])
        assert [part.beside[0].p_holm for part in corrected] == [0.02, None, 0.04]


class TestWorst:
    def gap(self, system: str, measure: str, difference: float, p: float | None, lower: bool = False) -> Gap:
        return Gap(system, measure, difference, None, p, lower, p_holm=p, p_bh=p, n=9)

    def slices(self) -> list[Slice]:
        rows = {
            "b": [self.gap("s", "m", -0.2, 0.2), self.gap("s", "bad", 0.3, 0.01, lower=True)],
            "a": [self.gap("s", "m", -0.2, 0.05), self.gap("s", "bad", -0.4, 0.01, lower=True)],
            "c": [self.gap("s", "m", 0.5, 0.001), self.gap("t", "m", -0.1, None), self.gap("u", "m", 0.0, 1.0)],
        }
        return [Slice(name, "", "queries", 9, {}, beside=tuple(beside)) for name, beside in rows.items()]

    def test_n_is_that_of_the_measure(self) -> None:
        """It was the number of the slice's queries, of which a measure may leave some out."""
        scores = {"a": scores_of([[0.5, NAN, 0.25, 0.75]]), "b": scores_of([[0.25, NAN, 0.25, 0.5]])}
        group = Group("x=1", "", np.array([True, True, True, False]))
        (lost,) = worst_slices(correct_slices(list(break_down(scores, [group], QUICK, "a"))), 0.95)
        assert (lost.slice.n, lost.to_json()["n"]) == (3, 2)

    def test_those_that_lose_most_come_first(self) -> None:
        lost = worst_slices(self.slices(), 0.95)
        assert [(one.slice.name, one.found.system, one.found.measure, one.noise) for one in lost] == [
            ("b", "s", "bad", False),
            ("a", "s", "m", False),
            ("b", "s", "m", True),
            ("c", "t", "m", True),
        ]

    def test_of_one_measure(self) -> None:
        assert [one.slice.name for one in worst_slices(self.slices(), 0.95, measure="bad")] == ["b"]

    def test_noise_hangs_on_the_level(self) -> None:
        assert {one.noise for one in worst_slices(self.slices(), 0.75, measure="m") if one.found.p} == {False}
        assert {one.noise for one in worst_slices(self.slices(), 0.96, measure="m")} == {True}

    def test_as_json(self) -> None:
        assert worst_slices(self.slices(), 0.95)[0].to_json() == {
            "slice": "b",
            "n": 9,
            "system": "s",
            "measure": "bad",
            "difference": 0.3,
            "ci": None,
            "p_holm": 0.01,
            "within_noise": False,
        }


def planted(seed: int, loss: float) -> list[Slice]:
    """400 queries of ten types; the 60 of one lose so much. Else the two systems differ by chance alone."""
    rng = np.random.default_rng(seed)
    kind = np.concatenate([np.zeros(60), 1 + np.arange(340) % 9]).astype(int)
    hardness = rng.beta(0.8, 0.6, 400)
    before, after = (hardness + rng.normal(0, 0.12, 400) for _ in range(2))
    after -= loss * (kind == 0)
    systems = {"old": scores_of([np.clip(before, 0, 1)]), "new": scores_of([np.clip(after, 0, 1)])}
    return correct_slices([*break_down(systems, groups_of(kind), QUICK, "old")])


@pytest.mark.parametrize("seed", range(10))
def test_a_planted_regression_is_found_as_the_worst_and_not_noise(seed: int) -> None:
    worst = worst_slices(planted(seed, 0.15), 0.95)[0]
    assert (worst.slice.name, worst.slice.n, worst.noise) == ("g=0", 60, False)
    assert worst.found.ci is not None and worst.found.ci[1] < 0 and -0.2 < worst.found.difference < -0.08


@pytest.mark.slow
def test_where_nothing_was_planted_the_worst_slices_are_called_noise() -> None:
    """The chance of any false finding among the ten slices is held to 5 %, and losses are half of the findings."""
    found = [worst_slices(planted(seed, 0.0), 0.95) for seed in range(60)]
    assert all(found), "there are losses to judge"
    assert sum(any(not lost.noise for lost in losses) for losses in found) <= 3


def test_many_slices_can_still_show_a_loss() -> None:
    """With 10,000 signs no p-value could pass a correction for 600 tests; more are tried then."""
    resampling = Resampling(resamples=1000)
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(100), 25)
    base = rng.random(codes.size)
    lost = base + rng.normal(0, 0.1, codes.size) - 0.5 * (codes == 42)
    systems = {"base": scores_of([base]), "new": scores_of([lost])}
    assert (signs_for(100, resampling), signs_for(101, resampling)) == (1000, 2000)
    few, many = (
        correct_slices([*break_down(systems, groups_of(codes), resampling, "base", signs)]) for signs in (1000, 10_000)
    )
    assert worst_slices(few, 0.95)[0].noise and not worst_slices(many, 0.95)[0].noise
    assert worst_slices(many, 0.95)[0].slice.name == "g=42"
