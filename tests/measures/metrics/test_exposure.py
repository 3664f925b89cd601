"""Coverage, Gini, entropy and personalisation: one figure over all users, and what each user contributes to it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import isnan, log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings

import rankjury
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.stats.resampling import Resampling
from tests.measures.metrics import slow_beyond as slow
from tests.measures.metrics.slow_beyond import World, worlds

FIGURES: dict[str, Callable[..., float]] = {
    "coverage": slow.coverage,
    "exposure_gini": slow.exposure_gini,
    "exposure_gini(over=recommended)": partial(slow.exposure_gini, over="recommended"),
    "exposure_entropy": slow.exposure_entropy,
    "exposure_entropy(scale=share)": partial(slow.exposure_entropy, scale="share"),
    "personalisation": slow.personalisation,
}
every_figure = pytest.mark.parametrize("name", FIGURES)
LETTERS = tuple("abcd")


def shown(*lists: str) -> World:
    return World({f"u{n}": list(items) for n, items in enumerate(lists)}, items=LETTERS)


class TestByHand:
    @pytest.mark.parametrize(
        ("lists", "expected"), [(["ab", "ab"], 0.5), (["ab", "cd"], 1.0), (["ab", "", "bc"], 0.75)]
    )
    def test_coverage(self, lists: list[str], expected: float) -> None:
        assert shown(*lists).figure("coverage@2") == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(
        ("lists", "catalogue", "recommended"),
        [
            (["ab", "cd"], 0.0, 0.0),
            (["a", "a"], 0.75, 0.0),
            # 0, 0, 1, 2 times: (−3·0 − 1·0 + 1·1 + 3·2) / (4 · 3), and (−1·1 + 1·2) / (2 · 3)
            (["a", "ab"], 7 / 12, 1 / 6),
        ],
    )
    def test_gini(self, lists: list[str], catalogue: float, recommended: float) -> None:
        assert shown(*lists).figure("exposure_gini@2") == pytest.approx(catalogue, abs=1e-12)
        assert shown(*lists).figure("exposure_gini(over=recommended)@2") == pytest.approx(recommended, abs=1e-12)

    @pytest.mark.parametrize(
        ("lists", "bits"), [(["a", "a"], 0.0), (["ab", "cd"], 2.0), (["ab", "a"], log2(3) - 2 / 3)]
    )
    def test_entropy(self, lists: list[str], bits: float) -> None:
        assert shown(*lists).figure("exposure_entropy@2") == pytest.approx(bits, abs=1e-12)
        assert shown(*lists).figure("exposure_entropy(scale=share)@2") == pytest.approx(bits / 2, abs=1e-12)

    @pytest.mark.parametrize(
        ("lists", "expected"),
        [
            (["ab", "ba"], 0.0),
            (["ab", "cd"], 1.0),
            (["ab", "bc", "cd"], (0.5 + 0.5 + 1.0) / 3),
            (["ab", "bc", ""], 0.5),
            (["a", "a"], 0.5),
        ],
    )
    def test_personalisation(self, lists: list[str], expected: float) -> None:
        assert shown(*lists).figure("personalisation@2") == pytest.approx(expected, abs=1e-12)

    def test_contributions_to_coverage(self) -> None:
        """Three of four items, of which one user alone has none and the other two have one each."""
        assert list(shown("ab", "bc", "b").values("coverage@2").values()) == pytest.approx(
            [0.75 + 2 * (1 / 4 - 1 / 6), 0.75 + 2 * (1 / 4 - 1 / 6), 0.75 - 2 / 6], abs=1e-12
        )

    def test_contributions_to_personalisation(self) -> None:
        """Without the first or the last, half of two lists is shared; without the second, nothing."""
        assert list(shown("ab", "bc", "cd").values("personalisation@2").values()) == pytest.approx(
            [2 / 3 + 2 * (2 / 3 - 0.5), 2 / 3 + 2 * (2 / 3 - 1.0), 2 / 3 + 2 * (2 / 3 - 0.5)], abs=1e-12
        )


@given(world=worlds())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_like_the_loops(world: World) -> None:
    """The figure, and each user's contribution with the figure worked out anew without them."""
    cuts = (1, 3, 9)
    scores = world.scores(*(f"{name}@{k}" for name in FIGURES for k in cuts))
    for name, figure in FIGURES.items():
        for k in cuts:
            label = f"{name}@{k}"
            assert scores.mean()[label] == pytest.approx(figure(world, k), abs=1e-12, nan_ok=True), label
            expected = slow.contributions(world, partial(figure, k=k))
            np.testing.assert_allclose(scores[label], expected, rtol=0, atol=1e-12, err_msg=label)


@given(world=worlds())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_bounds_names_and_orders(world: World) -> None:
    labels = [f"{name}@9" for name in FIGURES]
    figures = world.scores(*labels).mean()
    other = world.reversed().renamed(
        lambda user: f"z{9 - int(user[1:])}", lambda item: f"{9 - ord(item[-1]) % 9}-{item}"
    )
    assert other.scores(*labels).mean() == pytest.approx(figures, abs=1e-12, nan_ok=True)
    for label, value in figures.items():
        assert isnan(value) or -1e-12 <= value <= (log2(7) if label == "exposure_entropy@9" else 1) + 1e-12, label


def crowd(n: int, size: int = 80) -> World:
    """Lists in which some items are much more likely than others."""
    chance = np.random.default_rng(8)
    items = tuple(f"i{number:03}" for number in range(size))
    weight = 1 / np.arange(1, size + 1)
    lists = {
        f"u{user:03}": chance.choice(items, 4, replace=False, p=weight / weight.sum()).tolist() for user in range(n)
    }
    return World(lists, items=items)


@every_figure
def test_spread_is_that_of_leaving_one_out(name: str) -> None:
    world, label = crowd(60), f"{name}@4"
    left = [FIGURES[name](slow.without(world, user), 4) for user in world.users]
    expected = sqrt((len(left) - 1) / len(left) * sum((one - slow.mean(left)) ** 2 for one in left))
    values = world.scores(label)[label]
    assert values.std(ddof=1) / sqrt(values.size) == pytest.approx(expected, rel=1e-9)
    assert expected > 0


@every_figure
def test_interval_is_that_of_the_jackknife(name: str) -> None:
    world, label = crowd(100), f"{name}@4"
    left = [FIGURES[name](slow.without(world, user), 4) for user in world.users]
    error = sqrt(99 / 100 * sum((one - slow.mean(left)) ** 2 for one in left))
    low, high = world.scores(label).estimates(Resampling(resamples=2_000))[label].ci or (0.0, 0.0)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.15)
    assert low < FIGURES[name](world, 4) < high


@pytest.mark.parametrize("name", ["exposure_gini", "exposure_entropy", "personalisation"])
def test_spread_is_that_of_other_users(name: str) -> None:
    """Drawn anew again and again from the same population, the figure spreads as the contributions say."""
    chance = np.random.default_rng(1)
    world, label = crowd(200), f"{name}@4"
    values = world.scores(label)[label]
    drawn = []
    for _ in range(60):
        users = chance.choice(world.users, len(world.users))
        again = replace(world, lists={f"{n}": world.lists[user] for n, user in enumerate(users)})
        drawn.append(again.figure(label))
    assert np.std(drawn, ddof=1) == pytest.approx(values.std(ddof=1) / sqrt(values.size), rel=0.35)


class TestUsersWithNothing:
    def test_they_count_and_change_nothing(self) -> None:
        some = World({"u0": list("ab"), "u1": list("bc"), "u3": list("cd")}, items=LETTERS)
        more = World({**some.lists, "u2": []}, items=LETTERS)
        for name in FIGURES:
            scores = more.scores(f"{name}@2")
            assert scores.summary(f"{name}@2").n == 4
            assert scores.mean()[f"{name}@2"] == pytest.approx(some.figure(f"{name}@2"), abs=1e-12)

    @every_figure
    def test_left_out_on_request(self, name: str) -> None:
        """As if they had never been."""
        some = World({"u0": list("ab"), "u1": list("bc"), "u3": list("b")}, items=LETTERS)
        more = World({**some.lists, "u2": []}, items=LETTERS)
        label = f"{name}(missing=skip)@2" if "(" not in name else name.replace(")", ",missing=skip)@2")
        found = more.values(label)
        assert isnan(found.pop("u2"))
        assert found == pytest.approx(some.values(f"{name}@2"), abs=1e-12)

    def test_no_interval_comes_of_one_list_or_pair(self) -> None:
        """Without either there is no figure, and so no telling how far to trust it."""
        pair = World({"u0": list("ab"), "u1": list("bc"), "u2": []}, items=LETTERS)
        estimate = pair.scores("personalisation@2").estimates()["personalisation@2"]
        assert (estimate.mean, estimate.n, estimate.ci) == (0.5, 1, None)
        alone = World({"u0": list("ab"), "u1": [], "u2": []}, items=LETTERS)
        found = alone.scores("exposure_gini@2", "exposure_entropy@2").estimates()
        assert [one.ci for one in found.values()] == [None, None]

    def test_nobody_is_shown_anything(self) -> None:
        world = World({"u0": [], "u1": []}, items=LETTERS)
        assert world.figure("coverage@2") == 0.0
        for name in FIGURES:
            if name != "coverage":
                assert isnan(world.figure(f"{name}@2")), name

    def test_one_user(self) -> None:
        world = World({"u0": list("ab")}, items=LETTERS)
        assert world.values("coverage@2") == {"u0": 0.5}
        assert world.values("exposure_gini@2") == {"u0": 0.5}
        assert isnan(world.figure("personalisation@2"))

    def test_items_outside_the_catalogue_are_passed_over(self) -> None:
        world = World({"u0": ["a", "stranger"], "u1": ["b"]}, items=LETTERS)
        assert world.figure("coverage@2") == pytest.approx(0.5, abs=1e-12)
        assert world.figure("exposure_entropy@2") == pytest.approx(1.0, abs=1e-12)


def test_without_a_cut_off_all_that_is_shown_counts() -> None:
    world = shown("abc", "b")
    assert world.figure("coverage") == pytest.approx(0.75, abs=1e-12)
    assert world.figure("personalisation") == pytest.approx(1 - 1 / 3, abs=1e-12)
    assert world.figure("personalization@2") == pytest.approx(0.5, abs=1e-12)


def test_they_are_of_all_users_together() -> None:
    labels = [f"{name}@2" for name in FIGURES]
    scores = shown("ab", "bc").scores(*labels, "novelty@2")
    assert set(scores.whole) == set(labels)
    assert scores.by_query.labels == ("novelty@2",)
    assert scores.lower_is_better == {"exposure_gini@2", "exposure_gini(over=recommended)@2"}


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("exposure_gini(over=users)@5", "value for over="),
        ("exposure_entropy(scale=nats)@5", "value for scale="),
        ("coverage(over=catalogue)@5", "option of coverage"),
        ("personalisation(missing=none)@5", "value for missing="),
    ],
)
def test_options_that_there_are_not(measure: str, message: str) -> None:
    with pytest.raises(rankjury.UsageError, match=message):
        resolve_measures([measure])


@every_figure
def test_without_what_was_known_before(name: str) -> None:
    with pytest.raises(rankjury.UsageError, match="looks at what was known before"):
        rankjury.evaluate({"u": {"a": 1}}, {"u": ["a"]}, [f"{name}@5"])


def test_a_user_whom_the_ranking_lacks_as_an_error() -> None:
    with pytest.raises(rankjury.DataError, match="missing from the ranking"):
        World({"u0": ["a"], "u1": []}, items=LETTERS).figure("coverage(missing=error)@2")
