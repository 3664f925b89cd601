"""The frontier and the cheapest setting, by hand."""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from rankjury.core.types import Floats
from rankjury.errors import UnknownName
from rankjury.retrieval.bench.sweep_result import (
    PAIRED_ROUNDS,
    SCHEMA,
    PairedTimes,
    SweepPoint,
    SweepResult,
    is_significantly_less,
    setting_key,
)
from tests.retrieval.bench.support import point, sweep_from_json


def swept(
    *points: SweepPoint, target: float | None = None, limit: float | None = None, paired: bool = True
) -> SweepResult:
    """With paired rounds that repeat the P95 of the points, unless these are not wanted."""
    sweep = SweepResult("hnsw", "glance", "cosine", 10, 200, 8, 40, points, target, limit, 0.95)
    return replace(sweep, times=times(*sweep.comparable)) if paired else sweep


def times(*points: SweepPoint, noise: float = 0.0, seed: int = 0) -> PairedTimes:
    """The P95 of the points in rounds of different load, which slows all of them alike, with a noise of their own."""
    rng = np.random.default_rng(seed)
    load = rng.uniform(1, 5, PAIRED_ROUNDS)
    rows = [
        tuple((one.p95.ms * load * np.exp(noise * rng.normal(size=PAIRED_ROUNDS))).tolist())
        for one in points
        if one.p95
    ]
    return PairedTimes(tuple((one.build, one.search) for one in points), tuple(rows), 10)


class TestFrontier:
    def test_points_that_another_beats_are_not_on_it(self) -> None:
        quick, slower, worse, best = point(0.5, 1.0), point(0.8, 2.0), point(0.7, 2.5), point(1.0, 4.0)
        assert swept(best, worse, quick, slower).frontier() == [quick, slower, best]

    def test_of_two_as_quick_the_one_that_finds_more_and_of_two_that_find_as_much_the_quicker(self) -> None:
        a, b, c = point(0.5, 1.0, m=1), point(0.8, 1.0, m=2), point(0.8, 2.0, m=3)
        assert swept(a, b, c).frontier() == [b]

    def test_of_two_alike_the_first(self) -> None:
        a, b = point(0.5, 1.0, m=1), point(0.5, 1.0, m=2)
        assert swept(a, b).frontier() == [a]

    def test_what_was_not_measured_or_not_answered_is_not_on_it(self) -> None:
        failing = point(1.0, 0.1, failed=3)
        pruned = SweepPoint({}, {}, "pruned", because="…")
        good = point(0.5, 1.0)
        assert swept(failing, pruned, good).frontier() == [good]
        assert swept(pruned).frontier() == []


class TestCheapest:
    def test_the_quickest_of_those_whose_interval_meets_the_target(self) -> None:
        low, sure, slow = point(0.90, 1.0, (0.88, 0.92)), point(0.97, 2.0, (0.955, 0.98)), point(1.0, 3.0)
        choice = swept(low, slow, sure).cheapest(0.95)
        assert (choice.outcome, choice.point, choice.cheaper) == ("sure", sure, None)

    def test_a_cheaper_one_that_is_not_sure_is_told_beside(self) -> None:
        maybe, sure = point(0.96, 1.0, (0.93, 0.98)), point(0.99, 2.0, (0.97, 1.0))
        choice = swept(maybe, sure).cheapest(0.95)
        assert (choice.outcome, choice.point, choice.cheaper) == ("sure", sure, maybe)

    def test_where_only_means_meet_it_it_is_unsure(self) -> None:
        maybe, other = point(0.96, 1.0, (0.93, 0.98)), point(0.97, 2.0, (0.94, 0.99))
        choice = swept(other, maybe).cheapest(0.95)
        assert (choice.outcome, choice.point) == ("unsure", maybe)

    def test_without_an_interval_nothing_is_sure(self) -> None:
        bare = replace(point(1.0, 1.0), recall_ci=None)
        assert swept(bare).cheapest(0.95).outcome == "unsure"

    def test_where_none_meets_it_the_nearest_is_told(self) -> None:
        near, far = point(0.94, 5.0, (0.90, 0.97)), point(0.5, 1.0)
        choice = swept(far, near).cheapest(0.95)
        assert (choice.outcome, choice.point) == ("none", near)

    def test_the_limit_on_time_is_held_against_the_worse_end_too(self) -> None:
        one = point(1.0, 1.0, p95_ci=(0.9, 1.4))
        assert swept(one).cheapest(0.9, 1.4).outcome == "sure"
        assert swept(one).cheapest(0.9, 1.2).outcome == "unsure"
        assert swept(one).cheapest(0.9, 0.8).outcome == "none"

    def test_a_time_that_nothing_bounds_is_not_sure(self) -> None:
        one = point(1.0, 1.0, p95_ci=(0.9, 1.4), bounded=False)
        assert swept(one).cheapest(0.9, 2.0).outcome == "unsure"
        assert swept(one).cheapest(0.9).outcome == "sure"

    def test_nearest_weighs_what_lacks_by_what_is_wanted(self) -> None:
        slow, missing = point(1.0, 1.5), point(0.9, 0.5)  # half too slow; a tenth too few
        assert swept(slow, missing).cheapest(1.0, 1.0).point is missing
        assert swept(point(1.0, 1.05), missing).cheapest(1.0, 1.0).point is not missing

    def test_three_sweeps_of_equal_settings_name_no_winner_but_the_set_that_cannot_be_distinguished(self) -> None:
        """Each sweep used to call another of them the sure winner, by values that were measured one after the other."""
        for seed in range(3):
            equal = [point(0.99, 1.0 + 0.2 * np.random.default_rng((seed, n)).random(), m=n) for n in range(4)]
            slow = point(1.0, 4.0, m=9)
            alike = [replace(one, p95=replace(one.p95, ms=1.0)) for one in equal if one.p95]
            found = replace(swept(*equal, slow), times=times(*alike, slow, noise=0.1, seed=seed))
            choice = found.cheapest(0.95)
            assert choice.outcome == "tied"
            assert choice.point is not None
            assert {id(choice.point), *map(id, choice.rivals)} == set(map(id, equal))
            form = choice.to_json()
            assert len(form["cannot_be_distinguished"]) == 3 and slow.search not in form["cannot_be_distinguished"]

    def test_a_difference_in_every_round_is_sure_however_much_the_load_varies(self) -> None:
        quick, slow = point(0.99, 1.0, m=1), point(0.99, 1.2, m=2)
        found = replace(swept(slow, quick), times=times(slow, quick, noise=0.03))
        choice = found.cheapest(0.95)
        assert (choice.outcome, choice.point, choice.rivals) == ("sure", quick, ())

    def test_the_paired_rounds_decide_not_what_was_measured_one_after_the_other(self) -> None:
        lucky, quick = point(0.99, 1.0, m=1), point(0.99, 1.3, m=2)  # the second was measured under load
        found = replace(swept(lucky, quick), times=times(replace(lucky, p95=point(1, 2.0).p95), quick))
        assert (found.cheapest(0.95).outcome, found.cheapest(0.95).point) == ("sure", quick)

    def test_without_paired_rounds_only_twice_as_much_is_a_difference(self) -> None:
        quick, slow, slower = point(0.99, 1.0, m=1), point(0.99, 1.9, m=2), point(0.99, 2.0, m=3)
        choice = swept(slower, slow, quick, paired=False).cheapest(0.95)
        assert (choice.outcome, choice.point, choice.rivals) == ("tied", quick, (slow,))
        assert swept(slower, quick, paired=False).cheapest(0.95).outcome == "sure"

    def test_a_setting_that_was_not_compared_is_a_rival_unless_it_took_twice_as_long(self) -> None:
        quick, slow, left, far = (point(0.99, ms, m=n) for n, ms in enumerate((1.0, 1.5, 1.8, 2.5)))
        found = replace(swept(quick, slow, left, far), times=times(quick, slow))
        assert (found.cheapest(0.95).outcome, found.cheapest(0.95).rivals) == ("tied", (left,))

    def test_builds_of_one_size_are_tied_by_size_and_builds_timed_once_need_twice_the_time(self) -> None:
        a, b, c = (replace(point(1.0, 1.0, size=9, seconds=s), build={"m": n}) for n, s in enumerate((1.0, 1.5, 2.5)))
        found = swept(a, b, c, replace(a, search={"reach": 7}))
        assert (found.cheapest(0.9, by="size").outcome, found.cheapest(0.9, by="size").rivals) == ("tied", (b, c))
        assert (found.cheapest(0.9, by="build").outcome, found.cheapest(0.9, by="build").rivals) == ("tied", (b,))

    def test_cheap_may_mean_small_or_soon_built(self) -> None:
        quick = point(1.0, 1.0, size=300, seconds=3.0, m=1)
        small = point(1.0, 2.0, size=100, seconds=2.0, m=2)
        soon = point(1.0, 3.0, size=200, seconds=1.0, m=3)
        found = {by: swept(quick, small, soon).cheapest(0.9, by=by).point for by in ("p95", "size", "build")}  # type: ignore[arg-type]
        assert found == {"p95": quick, "size": small, "build": soon}
        with pytest.raises(UnknownName, match="unknown cost 'price'"):
            swept(quick).cheapest(0.9, by="price")  # type: ignore[arg-type]

    def test_a_size_that_is_not_known_is_not_cheap(self) -> None:
        unknown, known = point(1.0, 1.0, size=None), point(1.0, 2.0, size=10**12)
        assert swept(unknown, known).cheapest(0.9, by="size").point is known

    def test_equal_costs_go_by_the_other_costs_then_by_order(self) -> None:
        a, b, c = point(1.0, 2.0, m=1), point(1.0, 1.0, m=2), point(1.0, 1.0, m=3)
        assert swept(a, b, c).cheapest(0.9, by="size").point is b

    def test_the_sweeps_own_target_is_meant_where_none_is_given(self) -> None:
        low, high = point(0.90, 1.0), point(0.99, 2.0)
        assert swept(low, high, target=0.95).cheapest().point is high
        assert swept(low, high, target=0.95, limit=1.5).cheapest().outcome == "none"
        assert swept(low, high, target=0.95).cheapest(0.85).point is low

    def test_of_nothing_measured_there_is_none(self) -> None:
        choice = swept(SweepPoint({}, {}, "failed", because="lost"), target=0.9).cheapest()
        assert (choice.outcome, choice.point) == ("none", None)


class TestForm:
    def test_it_reads_back_what_it_wrote(self) -> None:
        points = (
            point(0.9, 1.0, (0.85, 0.95), p95_ci=(0.9, 1.2), bounded=False, size=None),
            SweepPoint({"m": 8}, {"reach": 9}, "pruned", because="reach=5 finds everything", by={"reach": 5}),
            SweepPoint({"m": 9}, {"reach": 9}, "failed", because="lost"),
            SweepPoint({"m": 9}, {"reach": 1}, "skipped", because="reach is 1"),
        )
        sweep = replace(swept(*points, target=0.8, limit=2.0), timed={"rounds": 3}, notes=("so",), resumed=1)
        form = json.loads(json.dumps(sweep.to_json(), allow_nan=False))
        again = sweep_from_json(form)
        assert again == sweep
        assert again.to_json() == sweep.to_json()

    def test_it_tells_the_frontier_by_place_and_the_cheapest_by_every_cost(self) -> None:
        form = swept(point(0.7, 3.0), point(0.9, 1.0), point(1.0, 2.0), target=0.95).to_json()
        assert form["schema"] == SCHEMA
        assert form["frontier"] == [1, 2]
        assert list(form["cheapest"]) == ["p95", "size", "build"]
        for choice in form["cheapest"].values():
            assert choice["outcome"] == "sure"
            assert choice["point"] == {"build": {"m": 8}, "search": {"reach": 2000}}
        assert swept(point(0.7, 3.0)).to_json()["cheapest"] is None

    def test_a_point_that_lacks_a_part_or_has_a_strange_status_is_refused(self) -> None:
        form = point(0.7, 3.0).to_json()
        with pytest.raises(KeyError, match="recall"):
            SweepPoint.from_json({key: value for key, value in form.items() if key != "recall"})
        with pytest.raises(ValueError, match="status is 'guessed'"):
            SweepPoint.from_json(form | {"status": "guessed"})


def test_costs_that_are_not_known_are_infinite() -> None:
    from rankjury.retrieval.bench.sweep_result import COSTS

    bare = SweepPoint({}, {}, "failed")
    assert [cost(bare) for cost in COSTS.values()] == [inf, inf, inf]


def rounds(ms: float, rng: np.random.Generator, load: Floats, noise: float = 0.1) -> list[float]:
    found: list[float] = (ms * load * np.exp(noise * rng.normal(size=PAIRED_ROUNDS))).tolist()
    return found


class TestDecision:
    def test_a_setting_that_is_quicker_in_every_round_is_surely_quicker_under_any_load(self) -> None:
        rng = np.random.default_rng(0)
        load = rng.uniform(1, 10, PAIRED_ROUNDS)
        quick, slow = rounds(1.0, rng, load, 0.02), rounds(1.2, rng, load, 0.02)
        assert max(quick) > min(slow), "their values overlap"
        assert is_significantly_less(quick, slow)
        assert not is_significantly_less(slow, quick)

    def test_equal_values_and_a_few_per_cent_are_no_difference(self) -> None:
        one = [1.0] * PAIRED_ROUNDS
        assert not is_significantly_less(one, one)
        assert not is_significantly_less(one, [1.04] * PAIRED_ROUNDS)
        assert is_significantly_less(one, [1.06] * PAIRED_ROUNDS)

    def test_a_single_round_under_load_decides_nothing(self) -> None:
        one = [1.0] * PAIRED_ROUNDS
        assert not is_significantly_less(one, [*one[:-1], 1e6])
        assert not is_significantly_less([*one[:-1], 1e6], one)

    def test_more_rivals_need_more_evidence(self) -> None:
        slow = [1.2] * 12 + [0.95] * 3 + [0.85]
        assert is_significantly_less([1.0] * PAIRED_ROUNDS, slow)
        assert not is_significantly_less([1.0] * PAIRED_ROUNDS, slow, tests=10)
        assert is_significantly_less([1.0] * PAIRED_ROUNDS, [1.2] * PAIRED_ROUNDS, tests=1600)

    def test_the_best_of_equal_settings_is_called_sure_in_no_more_than_five_of_a_hundred(self) -> None:
        rng = np.random.default_rng(1)
        wrong = 0
        for _ in range(300):
            load = rng.uniform(1, 4, PAIRED_ROUNDS)
            settings = [rounds(1.0, rng, load) for _ in range(3)]
            best = min(settings, key=lambda values: float(np.log(values).mean()))
            wrong += all(is_significantly_less(best, other, 2) for other in settings if other is not best)
        assert wrong <= 15


class TestPairedForm:
    def test_it_reads_back_what_it_wrote_and_finds_settings_by_their_parameters(self) -> None:
        times = PairedTimes((({"m": 8, "ef": 1}, {"reach": 9}), ({"m": 8}, {})), ((1.0, 4.0), (2.0, 3.0)), 5)
        assert PairedTimes.from_json(times.to_json()) == times
        assert times.to_json()["rounds"] == 2
        assert setting_key({"ef": 1, "m": 8}, {}) == setting_key({"m": 8, "ef": 1}, {})
        assert times.of(point(1.0, 1.0, reach=9)) is None
        assert times.mean(point(1.0, 1.0)) is None

    @pytest.mark.parametrize("values", [[1.0], [1.0, 0.0], [1.0, -1.0]])
    def test_a_round_without_a_time_is_refused(self, values: list[float]) -> None:
        form = {"rounds": 2, "asked": 5, "settings": [{"build": {}, "search": {}, "p95_ms": values}]}
        with pytest.raises(ValueError, match="a positive time for every round"):
            PairedTimes.from_json(form)
