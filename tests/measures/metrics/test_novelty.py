"""Popularity, novelty and serendipity: by hand, and against loops."""

import itertools
from functools import partial
from math import isnan, log2

import pytest
from hypothesis import given, settings

import rankjury
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.measures.measure import Measure
from tests.measures.metrics import slow_beyond as slow
from tests.measures.metrics.slow_beyond import World, check_users, worlds

# Four users trained: a was taken by all, b by two, c by one, d by nobody.
HISTORY = {"t1": ["a"], "t2": ["a", "b"], "t3": ["a", "b"], "t4": ["a", "c"]}
LETTERS = ("a", "b", "c", "d")


def shown(*items: str, gold: dict[str, float] | None = None, user: str = "t1") -> World:
    return World({user: list(items)}, HISTORY, {user: gold} if gold else {}, items=LETTERS)


class TestByHand:
    @pytest.mark.parametrize(("items", "share", "count"), [("a", 1, 4), ("ab", 0.75, 3), ("abcd", 7 / 16, 1.75)])
    def test_mean_popularity(self, items: str, share: float, count: float) -> None:
        assert shown(*items).figure("mean_popularity@4") == share
        assert shown(*items).figure("mean_popularity(scale=count)@4") == count

    @pytest.mark.parametrize(("items", "bits"), [("a", 0.0), ("b", 1.0), ("c", 2.0), ("abc", 1.0)])
    def test_novelty(self, items: str, bits: float) -> None:
        assert shown(*items).figure("novelty@4") == bits

    @pytest.mark.parametrize(
        ("unseen", "bits"), [("rarest", log2(5)), ("one", 2.0), ("smooth", log2(5)), ("skip", float("nan"))]
    )
    def test_novelty_of_what_nobody_took(self, unseen: str, bits: float) -> None:
        found = shown("d").figure(f"novelty(unseen={unseen})@4" if unseen != "rarest" else "novelty@4")
        assert found == pytest.approx(bits, nan_ok=True)

    def test_what_nobody_took_is_the_most_novel(self) -> None:
        assert shown("d").figure("novelty@1") > shown("c").figure("novelty@1")

    def test_novelty_smoothed_for_all(self) -> None:
        assert shown("a", "b").figure("novelty(unseen=smooth)@2") == pytest.approx(-log2(3 / 5) / 2)

    def test_only_the_top_k_counts(self) -> None:
        assert shown("a", "c", "d").figure("novelty@2") == 1.0
        assert shown("a", "c").figure("novelty") == 1.0

    def test_a_hit_that_popularity_gives_is_none(self) -> None:
        """To t1, who has a, popularity gives b and c."""
        assert shown("c", "d", gold={"c": 1, "d": 1}).figure("serendipity@2") == 0.5
        assert shown("c", "d", gold={"c": 1}).figure("serendipity@2") == 0.0
        assert shown("c", "d", gold={"c": 1}).figure("serendipity@1") == 1.0

    def test_what_a_user_took_makes_room(self) -> None:
        """To t2, who has a and b, popularity gives c and d; to a user who is not known, a and b."""
        assert shown("c", "d", gold={"c": 1, "d": 1}, user="t2").figure("serendipity@2") == 0.0
        assert shown("c", "d", gold={"c": 1, "d": 1}, user="new").figure("serendipity@2") == 1.0

    def test_a_hit_has_to_be_relevant(self) -> None:
        world = shown("d", "c", gold={"d": 3, "c": 5})
        assert world.figure("serendipity@2") == 0.5
        assert world.figure("serendipity(rel=4)@2") == 0.0
        assert shown("d", gold={"d": 3}).figure("serendipity(rel=4)@2") == 0.0
        assert isnan(shown("d", gold={"d": 3}).figure("serendipity(rel=4,empty=skip)@2"))

    def test_short_lists_are_divided_by_k_or_by_what_there_is(self) -> None:
        world = shown("d", gold={"d": 1})
        assert world.figure("serendipity@2") == 0.5
        assert world.figure("serendipity(over=retrieved)@2") == 1.0

    def test_by_how_far_above_its_place(self) -> None:
        """Places by popularity: a 1, b 2, c 3; d, which nobody took, 5."""
        world = shown("c", "d", gold={"c": 1, "d": 1})
        assert world.figure("serendipity(against=places)@2") == pytest.approx(((3 - 1) / 4 + (5 - 2) / 4) / 2)

    def test_an_item_outside_the_catalogue(self) -> None:
        world = shown("stranger", "b", gold={"stranger": 1})
        assert world.figure("novelty@2") == 1.0
        assert world.figure("serendipity@2") == 0.5


def test_the_figures_that_rectools_documents() -> None:
    """The example of its Serendipity, whose second user has both items right, and the fourth one of two."""
    world = World(
        {"u1": ["i1", "i2"], "u2": ["i2", "i3"], "u3": ["i3"], "u4": ["i2", "i3"]},
        {"u1": ["i1", "i2"], "u2": ["i1", "i2"], "u3": ["i1"]},
        {"u1": {"i1": 1, "i2": 1}, "u2": {"i2": 1, "i3": 1}, "u3": {"i2": 1}, "u4": {"i2": 1}},
        items=("i1", "i2", "i3", "i4"),
    )
    first, second = world.tables(*(f"serendipity(against=places,over=retrieved)@{k}" for k in (1, 2))).values()
    assert list(first.values()) == pytest.approx([0.0, 0.25, 0.0, 0.25])
    assert list(second.values()) == pytest.approx([0.0, 0.5, 0.0, 0.125])


@given(world=worlds())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_like_the_loops(world: World) -> None:
    expected = {}
    for k in (1, 2, 4, 9):
        for scale in ("share", "count"):
            measure = str(Measure("mean_popularity", k, (("scale", scale),)))
            expected[measure] = partial(slow.mean_popularity, world, k=k, scale=scale)
        for unseen in ("rarest", "one", "skip", "smooth"):
            measure = str(Measure("novelty", k, (("unseen", unseen),)))
            expected[measure] = partial(slow.novelty, world, k=k, unseen=unseen)
        for against, over, rel in itertools.product(("popularity", "places"), ("k", "retrieved"), (1.0, 3.0)):
            options = {"against": against, "over": over, "rel": rel}
            measure = str(Measure("serendipity", k, tuple(options.items())))
            expected[measure] = partial(slow.serendipity, world, k=k, **options)
    check_users(world, expected)


MEASURES = (
    "mean_popularity@3",
    "novelty@3",
    "novelty(unseen=smooth)@3",
    "serendipity@3",
    "serendipity(against=places)@3",
)


@given(world=worlds())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_names_are_of_no_account(world: World) -> None:
    """Items keep their order, by which equal popularity goes; users do not."""
    other = world.renamed(lambda user: f"z{9 - int(user[1:])}", lambda item: f"item-{item}")
    renamed = other.tables(*MEASURES)
    for measure, found in world.tables(*MEASURES).items():
        expected = {f"z{9 - int(user[1:])}": value for user, value in found.items()}
        assert renamed[measure] == pytest.approx(expected, rel=1e-12, nan_ok=True)


@given(world=worlds())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_bounds_and_the_order_within_a_list(world: World) -> None:
    """All items are within the cut-off: their order is of no account."""
    labels = ("mean_popularity@9", "novelty@9", "serendipity@9")
    reverse = world.reversed().tables(*labels)
    for measure, values in world.tables(*labels).items():
        assert reverse[measure] == pytest.approx(values, rel=1e-12, nan_ok=True)
        highest = log2(5) + 1e-12 if measure == "novelty@9" else 1.0
        assert all(isnan(value) or 0 <= value <= highest for value in values.values())
    found, precision = world.tables("serendipity@3", "precision@3").values()
    for user, value in found.items():
        assert isnan(value) == isnan(precision[user])
        assert isnan(value) or value <= precision[user] + 1e-12


def test_the_most_popular_items_surprise_nobody() -> None:
    world = World(
        {user: [item for item in LETTERS if item not in taken][:2] for user, taken in HISTORY.items()},
        HISTORY,
        {user: dict.fromkeys(LETTERS, 1.0) for user in HISTORY},
        items=LETTERS,
    )
    assert world.figure("precision@2") == 1.0
    assert world.figure("serendipity@2") == 0.0


def test_an_empty_list_is_undefined_and_hits_nothing() -> None:
    world = World({"t1": ["b"], "t2": []}, HISTORY, {"t1": {"b": 1}, "t2": {"c": 1}}, items=LETTERS)
    assert isnan(world.values("novelty@2")["t2"]) and isnan(world.values("mean_popularity@2")["t2"])
    assert world.values("serendipity@2")["t2"] == 0.0


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("novelty(unseen=rare)@5", "Did you mean rarest"),
        ("mean_popularity(scale=bits)@5", "value for scale="),
        ("serendipity(against=random)@5", "value for against="),
        ("novelty(by=genre)@5", "option of novelty"),
    ],
)
def test_options_that_there_are_not(measure: str, message: str) -> None:
    with pytest.raises(rankjury.UsageError, match=message):
        resolve_measures([measure])


@pytest.mark.parametrize("measure", ["mean_popularity@5", "novelty@5", "serendipity@5"])
def test_without_what_was_known_before(measure: str) -> None:
    with pytest.raises(rankjury.UsageError, match="looks at what was known before"):
        rankjury.evaluate({"u": {"a": 1}}, {"u": ["a"]}, [measure])


def test_less_popular_is_better() -> None:
    scores = shown("a").scores("mean_popularity@1", "novelty@1", "serendipity@1")
    assert scores.lower_is_better == {"mean_popularity@1"}
    assert not scores.whole
