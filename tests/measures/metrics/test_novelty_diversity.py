"""Diversity within lists, and calibration to what users took before: by hand, and against loops."""

from dataclasses import replace
from functools import partial
from math import isnan, log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings

import rankjury
from rankjury.evaluation.evaluate import Evaluation, resolve_measures
from rankjury.measures.measure import Measure
from tests.measures.metrics import slow_beyond as slow
from tests.measures.metrics.slow_beyond import World, check_users, worlds

# Columns: comedy, drama, war.
GENRES = {"a": [1.0, 0.0, 0.0], "b": [1.0, 0.0, 0.0], "c": [0.0, 1.0, 0.0], "d": [1.0, 1.0, 0.0], "e": [0.0, 0.0, 0.0]}
LETTERS = tuple("abcde")


def shown(items: str, history: str = "") -> World:
    return World({"u": list(items)}, {"u": list(history), "v": ["a"]}, genres=GENRES, items=LETTERS)


class TestDiversity:
    @pytest.mark.parametrize(
        ("items", "expected"),
        [
            ("ab", 0.0),
            ("ac", 1.0),
            ("abc", 2 / 3),
            ("ad", 1 - 1 / sqrt(2)),
            ("acd", (1 + 2 * (1 - 1 / sqrt(2))) / 3),
            ("ace", 1.0),
            ("ae", float("nan")),
            ("a", float("nan")),
            ("e", float("nan")),
        ],
    )
    def test_by_hand(self, items: str, expected: float) -> None:
        assert shown(items).figure("diversity@5") == pytest.approx(expected, abs=1e-15, nan_ok=True)

    def test_only_the_top_k_counts(self) -> None:
        assert shown("abc").figure("diversity@2") == 0.0
        assert shown("abc").figure("ild") == pytest.approx(2 / 3)

    def test_lengths_of_features_are_of_no_account(self) -> None:
        world = shown("acd")
        longer = replace(world, genres={item: [7 * cell for cell in row] for item, row in GENRES.items()})
        assert longer.figure("diversity@3") == pytest.approx(world.figure("diversity@3"), rel=1e-12)

    def test_opposite_directions_are_two_apart(self) -> None:
        world = replace(shown("ab"), genres={"a": [1.0, 0.5], "b": [-1.0, -0.5]})
        assert world.figure("diversity@2") == pytest.approx(2.0, rel=1e-12)


class TestCalibration:
    @pytest.mark.parametrize("divergence", ["kl", "js"])
    def test_the_same_mixture(self, divergence: str) -> None:
        measure = str(Measure("calibration", 4, (("divergence", divergence),)))
        assert shown("bc", history="ac").figure(measure) == pytest.approx(0.0, abs=1e-15)
        assert shown("d", history="ac").figure(measure) == pytest.approx(0.0, abs=1e-15)

    def test_nothing_in_common(self) -> None:
        """Only the smoothing is left of what the user took: 1 in 100."""
        assert shown("c", history="ab").figure("calibration@4") == pytest.approx(log2(100))
        assert shown("c", history="ab").figure("calibration(divergence=js)@4") == pytest.approx(1.0)

    def test_half_of_it(self) -> None:
        """Taken: all comedy. Shown: half comedy, half drama."""
        world = shown("ac", history="b")
        assert world.figure("calibration@2") == pytest.approx(-log2(0.99 / 2 + 0.01))
        assert world.figure("calibration(divergence=js)@2") == pytest.approx(
            (log2(1 / 0.75) + 0.5 * log2(0.5 / 0.75) + 0.5 * log2(0.5 / 0.25)) / 2
        )

    def test_an_item_spreads_its_weight(self) -> None:
        """Shown: three quarters comedy. Taken: two thirds."""
        assert shown("ad", history="abc").figure("calibration@2") == pytest.approx(
            2 / 3 * log2((2 / 3) / (0.99 * 0.75 + 0.01 * 2 / 3)) + 1 / 3 * log2((1 / 3) / (0.99 * 0.25 + 0.01 / 3))
        )

    @pytest.mark.parametrize(("items", "history"), [("a", ""), ("a", "e"), ("e", "a")])
    def test_undefined_where_no_genre_is_known(self, items: str, history: str) -> None:
        assert isnan(shown(items, history).figure("calibration@3"))

    def test_a_user_who_is_not_known(self) -> None:
        world = World({"u": ["a"], "new": ["a"]}, {"u": ["a"]}, genres=GENRES, items=LETTERS)
        values = world.values("calibration@1")
        assert values["u"] == pytest.approx(0.0, abs=1e-15)
        assert isnan(values["new"])

    def test_a_feature_without_shares(self) -> None:
        world = replace(shown("ab", "a"), genres={"a": [1.0, -0.5], "b": [0.0, 1.0]})
        with pytest.raises(rankjury.UsageError, match="'genre' has negative values"):
            world.figure("calibration@2")


@given(world=worlds())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_like_the_loops(world: World) -> None:
    expected = {}
    for k in (1, 2, 4, 9):
        expected[f"diversity@{k}"] = partial(slow.diversity, world, k=k)
        expected[f"calibration@{k}"] = partial(slow.calibration, world, k=k)
        expected[f"calibration(divergence=js)@{k}"] = partial(slow.calibration, world, k=k, divergence="js")
    check_users(world, expected)


HIGHEST = {"diversity@9": 1.0, "calibration@9": log2(100), "calibration(divergence=js)@9": 1.0}


@given(world=worlds())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_bounds_and_the_order_within_a_list(world: World) -> None:
    reverse = world.reversed().tables(*HIGHEST)
    for measure, values in world.tables(*HIGHEST).items():
        assert all(isnan(value) or 0 <= value <= HIGHEST[measure] + 1e-12 for value in values.values())
        assert reverse[measure] == pytest.approx(values, rel=1e-12, abs=1e-12, nan_ok=True)


@given(world=worlds())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_names_are_of_no_account(world: World) -> None:
    other = world.renamed(lambda user: f"z{9 - int(user[1:])}", lambda item: f"{9 - ord(item[-1]) % 9}-{item}")
    renamed = other.tables(*HIGHEST)
    for measure, values in world.tables(*HIGHEST).items():
        expected = {f"z{9 - int(user[1:])}": value for user, value in values.items()}
        assert renamed[measure] == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


def test_many_users_at_a_time_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    items = tuple(f"i{n:02}" for n in range(30))
    genres = {item: chance.integers(0, 2, 4).astype(float).tolist() for item in items}
    users = [f"u{n:02}" for n in range(25)]
    world = World(
        {user: chance.permutation(items)[:8].tolist() for user in users},
        {user: chance.permutation(items)[: chance.integers(0, 12)].tolist() for user in users},
        genres=genres,
        items=items,
    )
    whole = world.scores("diversity@5", "calibration@5").values
    monkeypatch.setattr("rankjury.measures.metrics.novelty._CELLS_AT_ONCE", 12)
    np.testing.assert_array_equal(world.scores("diversity@5", "calibration@5").values, whole)


@pytest.mark.parametrize("name", ["diversity", "calibration"])
class TestFaults:
    def test_a_feature_that_is_not_known(self, name: str) -> None:
        with pytest.raises(rankjury.UsageError, match=r"no feature 'text'.*one of: genre"):
            shown("ab", "a").figure(f"{name}(by=text)@2")

    def test_no_feature_at_all(self, name: str) -> None:
        with pytest.raises(rankjury.UsageError, match="there are none"):
            replace(shown("ab", "a"), genres={}).figure(f"{name}@2")

    def test_a_feature_that_cannot_be_named(self, name: str) -> None:
        with pytest.raises(rankjury.UsageError, match="Did you mean genre"):
            resolve_measures([f"{name}(by=genres)@2"])

    def test_without_what_was_known_before(self, name: str) -> None:
        gold, ranking = rankjury.as_gold({"u": {"a": 1}}), rankjury.as_ranking({"u": ["a"]})
        with pytest.raises(rankjury.UsageError, match="looks at what was known before"):
            Evaluation.match(gold, ranking).scores(resolve_measures([f"{name}@2"]))


def test_which_way_is_better() -> None:
    scores = shown("ab", "a").scores("diversity@2", "calibration@2")
    assert scores.lower_is_better == {"calibration@2"}
    assert not scores.whole
