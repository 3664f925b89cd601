"""Grids: every combination once, in a fixed order, and only what the engine knows."""

import pytest

from rankjury.core.params import Param
from rankjury.errors import RankjuryError, UnknownName, UsageError
from rankjury.retrieval.bench.grid import MAX_POINTS, SweepGrid, format_params, is_at_most, params_key
from rankjury.retrieval.engines.base import ENGINES, Engine

KNOWN = {
    "ef": Param(64, "more", min=1, monotonic_recall=True),
    "share": Param(0.5, "more of it", monotonic_recall=True),
    "mode": Param("fast", "how", choices=("fast", "slow")),
    "sort": Param(True, "whether"),
}
HNSW: type[Engine] = ENGINES.get("faiss-hnsw")


class TestOrder:
    def test_the_last_parameter_turns_fastest_and_values_stay_as_given(self) -> None:
        grid = SweepGrid({"m": [32, 8], "ef_construction": [200, 64]}, {})
        found = [tuple(build.values()) for build in grid.builds()]
        assert found == [(32, 200), (32, 64), (8, 200), (8, 64)]

    def test_values_that_find_more_as_they_grow_rise(self) -> None:
        grid = SweepGrid({}, {"mode": ["slow", "fast"], "ef": [128, 16, 32]})
        found = [tuple(search.values()) for search in grid.searches(KNOWN)]
        assert found == [(mode, ef) for mode in ("slow", "fast") for ef in (16, 32, 128)]

    def test_without_parameters_there_is_one_setting(self) -> None:
        grid = SweepGrid({}, {})
        assert len(grid) == 1
        assert list(grid.builds()) == list(grid.searches(KNOWN)) == [{}]

    def test_it_is_as_long_as_its_product(self) -> None:
        grid = SweepGrid({"m": [8, 16, 32], "ef_construction": [64, 200]}, {"ef_search": [16, 32, 64, 128]})
        assert len(grid) == 24
        assert len(grid) == len(list(grid.builds())) * len(list(grid.searches(HNSW.search_params)))


class TestChecks:
    def test_what_the_engine_knows_passes(self) -> None:
        SweepGrid({"m": [8, 16]}, {"ef_search": [16, 32]}).check(HNSW)

    def test_a_misspelt_parameter_suggests_the_right_one_and_says_where(self) -> None:
        with pytest.raises(UnknownName, match=r"search\.ef_serch: .*Did you mean ef_search") as caught:
            SweepGrid({}, {"ef_serch": [1]}).check(HNSW)
        assert caught.value.where == "search.ef_serch"

    def test_a_build_parameter_is_no_search_parameter(self) -> None:
        with pytest.raises(UnknownName, match=r"search\.m"):
            SweepGrid({}, {"m": [8]}).check(HNSW)

    def test_values_are_checked_one_by_one(self) -> None:
        with pytest.raises(UsageError, match=r"build\.m: m is 1; expected 2 or more"):
            SweepGrid({"m": [8, 1]}, {}).check(HNSW)
        with pytest.raises(UsageError, match=r"search\.ef_search: ef_search is 'many'; expected a whole number"):
            SweepGrid({}, {"ef_search": [16, "many"]}).check(HNSW)

    def test_a_value_twice_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"build\.m: 8 is a duplicate"):
            SweepGrid({"m": [8, 16, 8]}, {}).check(HNSW)

    def test_no_value_at_all_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"build\.m: no value to try"):
            SweepGrid({"m": []}, {}).check(HNSW)

    def test_more_points_than_anyone_waits_for_are_refused_without_making_them(self) -> None:
        grid = SweepGrid({"m": range(2, 5000)}, {"ef_search": range(1, 5000)})
        with pytest.raises(UsageError, match=f"24,985,002 settings; expected {MAX_POINTS:,} or fewer"):
            grid.check(HNSW)


class TestKeys:
    def test_order_and_usual_values_do_not_count(self) -> None:
        assert (
            params_key({"ef": 64}, KNOWN) == params_key({}, KNOWN) == params_key({"sort": True, "mode": "fast"}, KNOWN)
        )
        assert params_key({"mode": "slow", "ef": 1}, KNOWN) == params_key({"ef": 1, "mode": "slow"}, KNOWN)
        assert params_key({"ef": 65}, KNOWN) != params_key({}, KNOWN)

    def test_a_whole_number_for_a_fraction_is_the_same(self) -> None:
        assert params_key({"share": 1}, KNOWN) == params_key({"share": 1.0}, KNOWN)

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_what_is_no_number_is_refused(self, value: float) -> None:
        with pytest.raises(RankjuryError, match="expected a finite number"):
            params_key({"share": value}, KNOWN)


class TestMonotony:
    @pytest.mark.parametrize(
        ("one", "other", "so"),
        [
            ({"ef": 16}, {"ef": 32}, True),
            ({"ef": 32}, {"ef": 32}, True),
            ({"ef": 33}, {"ef": 32}, False),
            ({"ef": 16, "share": 0.9}, {"ef": 32, "share": 0.8}, False),
            ({"ef": 16, "share": 0.8}, {"ef": 32, "share": 0.9}, True),
            ({"ef": 16, "mode": "slow"}, {"ef": 32}, False),
            ({"ef": 16, "sort": False}, {"ef": 32, "sort": False}, True),
            ({}, {"ef": 100}, True),
            ({}, {"ef": 10}, False),
        ],
    )
    def test_only_parameters_that_find_more_may_differ_and_only_upwards(
        self, one: dict[str, object], other: dict[str, object], so: bool
    ) -> None:
        assert is_at_most(one, other, KNOWN) is so  # type: ignore[arg-type]


def test_settings_are_spelled_for_people() -> None:
    assert format_params({"m": 16, "share": 0.50, "sort": True, "mode": "slow"}) == "m=16 share=0.5 sort=true mode=slow"
    assert format_params({}) == "as usual"
