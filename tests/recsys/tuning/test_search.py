"""Which settings are tried: all, or some that are drawn; each once, in an order that hangs on the table alone."""

from typing import Any, ClassVar

import pytest

from rankjury.core.params import Param
from rankjury.errors import UnknownName, UsageError
from rankjury.recsys.tuning.search import ParamRange, grid_edges, list_settings, widen_grid

KNOWN = {
    "factors": Param(32, "how many", min=1, max=512),
    "alpha": Param(0.5, "how much", min=0.0),
    "how": Param("plain", "which", choices=("plain", "fancy")),
    "bias": Param(True, "whether"),
    "ridge": Param(0.0, "how much; 0: by itself", min=0, auto=True),
}


def tried(params: dict[str, Any], current: dict[str, Any] | None = None, **more: Any) -> list[dict[str, Any]]:
    return list_settings(KNOWN, current or {}, params, **more)


class TestGrid:
    def test_those_in_use_come_first_and_the_last_parameter_turns_fastest(self) -> None:
        found = tried({"factors": [8, 64], "alpha": [0.1, 1]}, {"how": "fancy"})
        assert found == [
            {"how": "fancy"},
            *({"how": "fancy", "factors": factors, "alpha": alpha} for factors in (8, 64) for alpha in (0.1, 1)),
        ]

    def test_equal_settings_are_tried_once_whatever_their_spelling(self) -> None:
        assert tried({"alpha": [1, 0.5, 1.0, 0.1, 0.1]}) == [{}, {"alpha": 1}, {"alpha": 0.1}]
        assert tried({"factors": [32]}, {"alpha": 0.5}) == [{"alpha": 0.5}], "all usual values: what is in use"


class TestSimpler:
    """Settings that make a model a simpler one, such as a hybrid without content, are tried whatever the grid says."""

    SIMPLER: ClassVar = {"alpha": 0.0}

    def test_with_all_combinations_of_a_grid(self) -> None:
        found = tried({"alpha": [0.1, 1.0], "factors": [8, 64]}, simpler=self.SIMPLER)
        assert len(found) == 1 + 4 + 3
        assert [one for one in found if one.get("alpha") == 0.0] == [
            {"alpha": 0.0}, {"alpha": 0.0, "factors": 8}, {"alpha": 0.0, "factors": 64},
        ]  # fmt: skip

    def test_with_those_in_use_where_the_search_is_random(self) -> None:
        ranges = {"alpha": ParamRange(0.001, 1.0, log=True)}
        found = tried(ranges, {"factors": 8}, search="random", trials=5, simpler=self.SIMPLER)
        assert len(found) == 7 and found[-1] == {"factors": 8, "alpha": 0.0}


class TestEdges:
    @pytest.mark.parametrize(
        ("name", "values", "best", "end", "beyond"),
        [
            ("factors", [8, 16, 64], 64, "largest", 256),
            ("factors", [8, 16, 64], 8, "smallest", 4),
            ("factors", [100, 200, 300], 300, "largest", 400),
            ("factors", [64, 256], 256, "largest", 512),
            ("factors", [60, 70], 70, "largest", 80),
            ("alpha", [0.01, 0.1, 1], 0.01, "smallest", 0.001),
            ("alpha", [1, 3, 10, 30], 30.0, "largest", 90.0),
            ("alpha", [0.0, 20.0, 100.0], 100.0, "largest", 500.0),
            ("alpha", [0.4, 0.6, 0.8], 0.4, "smallest", 0.2),
            ("ridge", [100.0, 1000.0], 100.0, "smallest", 10.0),
        ],
    )
    def test_the_next_value(self, name: str, values: list[Any], best: float, end: str, beyond: float) -> None:
        """Geometric where the grid is, and within the parameter's limits; those in use count as tried."""
        (edge,) = grid_edges(KNOWN, {name: values[1]}, {name: values, "how": ["plain", "fancy"]}, {name: best})
        assert (edge.parameter, edge.value, edge.end, edge.beyond) == (name, best, end, beyond)
        assert type(edge.beyond) is type(KNOWN[name].default)
        assert widen_grid({name: values, "bias": [True]}, [edge]) == {name: [*values, beyond], "bias": [True]}

    @pytest.mark.parametrize(
        ("current", "params", "best"),
        [
            ({"factors": 8}, {"factors": [8, 16, 32]}, {"factors": 16}),
            ({"factors": 256}, {"factors": [8, 16, 32]}, {"factors": 32}),
            ({"factors": 8}, {"factors": [8]}, {"factors": 8}),
            ({"alpha": 1}, {"alpha": [0.0, 1.0]}, {"alpha": 0.0}),
            ({"factors": 8}, {"factors": [8, 512]}, {"factors": 512}),
            ({}, {"how": ["plain", "fancy"], "bias": [True, False]}, {"how": "fancy"}),
            ({}, {"ridge": [100.0, 200.0]}, {"ridge": 0.0}),
            ({"ridge": 200.0}, {"ridge": [100.0, 190.0]}, {"ridge": 300.0}),
        ],
    )
    def test_none(self, current: dict[str, Any], params: dict[str, Any], best: dict[str, Any]) -> None:
        """Within the grid, at the limit of the parameter, of one value, no number, or chosen by the model."""
        assert grid_edges(KNOWN, current, params, best) == []


class TestRandom:
    RANGES: dict[str, Any] = {
        "alpha": ParamRange(0.001, 1.0, log=True),
        "factors": ParamRange(4, 64),
        "how": ["plain", "fancy"],
    }

    def test_the_seed_decides_and_more_trials_begin_with_the_same(self) -> None:
        some = tried(self.RANGES, search="random", trials=10, seed=3)
        assert some == tried(self.RANGES, search="random", trials=10, seed=3)
        assert len(some) == 11
        assert tried(self.RANGES, search="random", trials=25, seed=3)[:11] == some
        assert tried(self.RANGES, search="random", trials=10, seed=4) != some
        turned = dict(reversed(self.RANGES.items()))
        assert tried(turned, search="random", trials=10, seed=3) == some, "the order of the table does not count"

    def test_the_same_digits_on_every_machine(self) -> None:
        """Written down once: a change would make journals useless."""
        assert tried(
            {"alpha": ParamRange(0.001, 1.0, log=True), "factors": ParamRange(4, 64)}, search="random", trials=2
        ) == [
            {},
            {"alpha": 0.341402, "factors": 50},
            {"alpha": 0.018269, "factors": 19},
        ]

    def test_numbers_are_within_their_range_and_spread_over_it(self) -> None:
        found = tried(self.RANGES, search="random", trials=400)[1:]
        alphas, factors = [one["alpha"] for one in found], [one["factors"] for one in found]
        assert all(0.001 <= one <= 1.0 for one in alphas)
        assert 90 < sum(one < 0.01 for one in alphas) < 180, "a third is in the lowest of three decades"
        assert all(isinstance(one, int) for one in factors)
        assert set(factors) == set(range(4, 65)), "ends included"
        whole = [
            one["factors"] for one in tried({"factors": ParamRange(1, 512, log=True)}, search="random", trials=60)[1:]
        ]
        assert len(set(whole)) == 60
        assert all(isinstance(one, int) for one in whole)

    def test_a_space_that_is_small_is_tried_whole(self) -> None:
        found = tried({"factors": ParamRange(4, 6), "bias": [True, False]}, search="random", trials=20)
        assert len(found) == 1 + 6
        assert len(tried({"alpha": ParamRange(0.1, 0.100001)}, search="random", trials=20)) <= 4, (
            "few numbers of six digits"
        )

    def test_all_drawn_are_different(self) -> None:
        found = tried({"factors": ParamRange(4, 30)}, {"factors": 200}, search="random", trials=26)
        assert len({one["factors"] for one in found}) == 27


@pytest.mark.parametrize(
    ("params", "more", "fragments"),
    [
        ({}, {}, ["no parameter to try", "params = {"]),
        ({"factors": []}, {}, ["params.factors", "no value to try"]),
        ({"factros": [1]}, {}, ["params.factros", "Did you mean factors"]),
        ({"factors": [0]}, {}, ["params.factors", "1 or more"]),
        ({"factors": [1.5]}, {}, ["params.factors", "a whole number"]),
        ({"how": ["fanzy"]}, {}, ["params.how", "Did you mean fancy"]),
        ({"alpha": [float("nan")]}, {}, ["params.alpha", "finite"]),
        ({"alpha": ParamRange(0, 1)}, {}, ["params.alpha", 'search = "random"']),
        ({"alpha": ParamRange(1, 1)}, {"search": "random"}, ["low below high"]),
        ({"alpha": ParamRange(0, 1, log=True)}, {"search": "random"}, ["low above 0"]),
        ({"alpha": ParamRange(-1, 1)}, {"search": "random"}, ["params.alpha", "0 or more"]),
        ({"factors": ParamRange(1, 1000)}, {"search": "random"}, ["params.factors", "512 or less"]),
        ({"factors": ParamRange(1.5, 8)}, {"search": "random"}, ["params.factors", "whole numbers"]),
        ({"how": ParamRange(1, 8)}, {"search": "random"}, ["params.how", "not a number"]),
        ({"bias": ParamRange(0, 1)}, {"search": "random"}, ["params.bias", "not a number"]),
        ({"bais": ParamRange(0, 1)}, {"search": "random"}, ["params.bais", "Did you mean bias"]),
        ({"factors": list(range(1, 200)), "alpha": list(range(200))}, {}, ["39,800 settings", 'search = "random"']),
        ({"factors": [1]}, {"search": "random", "trials": 0}, ["0 trials"]),
    ],
)
def test_refused(params: dict[str, Any], more: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        tried(params, **more)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_a_misspelt_parameter_has_a_suggestion() -> None:
    with pytest.raises(UnknownName) as caught:
        tried({"factros": [1]})
    assert caught.value.suggestions == ["factors"]
