"""Content by hand, and hybrids: warm items in their model's order, cold ones where their content puts them."""

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import Recommender, make_recommender
from rankjury.recsys.models.hybrid import Hybrid
from rankjury.recsys.recommend import recommend
from rankjury.recsys.tiers import Tiers, item_tiers
from tests.recsys.models.made import all_of, fitted, made_facts, made_log, task_of


def hand_made() -> tuple[Log, SideFeatures]:
    """Two users; item d is new, e has no genres."""
    frame = pl.DataFrame({"user": ["u", "u", "v"], "item": ["a", "b", "c"], "value": [4.0, 2.0, 5.0]})
    log = log_from_frame(frame).with_items(pl.Series(["d", "e"]))
    genres = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=np.float64)
    return log, SideFeatures(items={"genre": genres})


def unit(*numbers: float) -> np.ndarray:
    return np.array(numbers) / np.linalg.norm(numbers)


def test_content_by_hand() -> None:
    log, features = hand_made()
    rare, usual = 1 + np.log(3 / 1), 1 + np.log(3 / 2)
    a, b, c, d = unit(usual, 0, 0), unit(usual, rare, 0), unit(0, 0, rare), unit(usual, 0, rare)
    u, v = unit(*(4 * a + 2 * b)), c
    expected = np.array([[w @ one for one in (a, b, c, d)] + [-np.inf] for w in (u, v)])
    model = fitted("content", log, features)
    assert np.allclose(model.score(*all_of(log)), expected, atol=1e-12)
    factors = model.factors()
    assert factors is not None and np.isnan(factors[1][4]).all()


def test_without_idf_and_with_embeddings() -> None:
    log, features = hand_made()
    plain = fitted("content", log, features, idf=False).score(*all_of(log))
    assert np.isclose(plain[1, 3], unit(1, 0, 1) @ unit(0, 0, 1))
    embedded = SideFeatures(
        items={"text": np.random.default_rng(0).normal(size=(5, 8)), "genre": features.items["genre"]}
    )
    with_idf, without = (fitted("content", log, embedded, features="text", idf=one) for one in (True, False))
    assert np.array_equal(with_idf.score(*all_of(log)), without.score(*all_of(log)))
    assert not np.allclose(with_idf.score(*all_of(log))[:, :4], plain[:, :4])


def test_users_of_items_without_attributes_are_not_known() -> None:
    frame = pl.DataFrame({"user": ["u", "v"], "item": ["a", "b"]})
    model = fitted("content", log_from_frame(frame), SideFeatures(items={"genre": np.array([[1.0, 0.0], [0.0, 0.0]])}))
    assert model.knows(np.array([0, 1])).tolist() == [True, False]
    assert np.isneginf(model.score(np.array([1]), np.array([0, 1]))).all()


def test_ratings_below_zero_do_not_turn_a_profile_round() -> None:
    frame = pl.DataFrame({"user": ["u", "u"], "item": ["a", "b"], "value": [-1.0, 1.0]})
    scores = fitted("content", log_from_frame(frame), SideFeatures(items={"genre": np.eye(2)})).score(
        np.array([0]), np.array([0, 1])
    )
    assert scores[0].tolist() == [0.0, 1.0]


def test_attributes_that_are_not_there() -> None:
    log, features = hand_made()
    with pytest.raises(UsageError, match="the items have no attributes"):
        fitted("content", log, SideFeatures())
    with pytest.raises(UnknownName, match="Did you mean genre"):
        fitted("content", log, features, features="genres")
    with pytest.raises(DataError, match=r"attributes of shape \(4, 3\).*finite numbers of 5 items"):
        fitted("content", log, SideFeatures(items={"genre": features.items["genre"][:4]}))


@pytest.mark.parametrize("name", ["ease", "als", "item-knn"])
def test_a_hybrid_keeps_its_models_order_of_warm_items(name: str) -> None:
    log = made_log().with_items(pl.Series(["x1", "x2"]))
    settings = {} if name == "ease" else {"model": name}
    hybrid = fitted("hybrid", log, trust=1.0, cold_items=1, **settings).score(*all_of(log))
    theirs = np.asarray(collaborative_of(name, log).score(*all_of(log)))[:, :18]
    free = np.ones((25, 18), dtype=bool)
    free[log.user, log.item] = False
    for user in range(25):
        mine, others = hybrid[user, :18][free[user]], theirs[user][free[user]]
        assert np.array_equal(np.argsort(mine, kind="stable"), np.argsort(others, kind="stable"))
    assert np.isfinite(hybrid[:, 18:]).all() and (hybrid[np.isfinite(hybrid)] >= 0).all() and hybrid.max() <= 1


def collaborative_of(name: str, log: Log) -> Recommender:
    """Return the model within a hybrid, by itself."""
    found = make_recommender(name, {"regularization": 5.0} if name == "ease" else {})
    found.fit(log, made_facts(log))
    return found


@pytest.mark.parametrize("name", ["ease", "als", "item-knn"])
def test_a_hybrid_without_content_is_its_model_to_the_last_bit(name: str) -> None:
    """No weight of a hybrid used to give the collaborative model's ranking, so that validation could choose worse."""
    log = made_log()
    task = task_of(log)
    alone, hybrid = (
        collaborative_of(name, task.train),
        fitted("hybrid", task.train, task.features, model=name, **Hybrid.simpler),
    )
    assert np.array_equal(hybrid.score(*all_of(log)), alone.score(*all_of(log)))
    mine, theirs = (recommend(model, task, 10) for model in (hybrid, alone))
    assert np.array_equal(mine.items, theirs.items) and np.array_equal(mine.scores, theirs.scores)


def test_cold_is_what_the_tiers_call_cold() -> None:
    """An item of one training interaction was warm to the hybrid, and cold to the slices that judge it."""
    log = made_log()
    tier = item_tiers(task_of(log, share=0.99), Tiers(cold_items=12))[1]
    train = task_of(log, share=0.99).train
    plain, raised = (fitted("hybrid", train, trust=trust, cold_items=12) for trust in (0.0, 1.0))
    before, after = (np.asarray(model.score(*all_of(log))) for model in (collaborative_places(train), raised))
    moved = (before != after).any(axis=0)
    assert moved.any() and not moved[tier.place == 1].any() and (tier.place == 1).any()
    assert (after >= before).all(), "content can only raise an item"
    assert (
        plain.settings["cold_items"] == 12 and make_recommender("hybrid").settings["cold_items"] == Tiers().cold_items
    )


def collaborative_places(log: Log) -> Recommender:
    """A hybrid whose items are all warm, so that its scores are places by its model alone."""
    return fitted("hybrid", log, cold_items=1)


def test_the_place_of_a_cold_item() -> None:
    """User u has a and b; of the warm items they lack, c is the only one: d is nearer to them than c, by content."""
    log, features = hand_made()
    scores = fitted("hybrid", log, features, trust=1.0, cold_items=1).score(*all_of(log))
    assert scores[0, 3] == 1.0 and scores[0, 2] == 0.5
    assert np.isneginf(scores[0, 4])
    half = 0.5
    for trust in (0.25, 0.5):
        low = fitted("hybrid", log, features, trust=trust, cold_items=1).score(*all_of(log))
        assert np.isclose(low[0, 3], 1 + half - half / trust) and low[0, 2] == 0.5 >= low[0, 3]


def test_blended_content_moves_warm_items() -> None:
    log = made_log()
    some = {one: fitted("hybrid", log, blend=one, trust=0.0).score(*all_of(log)) for one in (0.0, 0.5, 1.0)}
    assert not np.array_equal(np.argsort(some[0.0]), np.argsort(some[0.5]))
    assert not np.array_equal(np.argsort(some[0.5]), np.argsort(some[1.0]))
    alone = np.asarray(fitted("content", log).score(*all_of(log)))
    apart = np.abs(alone[:, :, None] - alone[:, None, :]) > 1e-9
    higher = (alone[:, :, None] > alone[:, None, :]) & apart
    assert (some[1.0][:, :, None] >= some[1.0][:, None, :])[higher].all()


def test_parameters_of_the_model_within() -> None:
    log = made_log()
    assert not np.array_equal(
        fitted("hybrid", log, ease_regularization=1.0).score(*all_of(log)),
        fitted("hybrid", log, ease_regularization=500.0).score(*all_of(log)),
    )
    with pytest.raises(UnknownName, match="als_factors"):
        make_recommender("hybrid", {"als_factor": 3})
