"""The machine's factors against myFM's own predictions of every pair."""

from typing import Any

import numpy as np
import pytest

from rankjury.errors import UnknownName
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models.factorization_machine import FactorizationMachine
from tests.recsys.models.made import all_of, dense, fitted, genres_of, made_facts, made_log


def predicted(model: FactorizationMachine, log: Log, features: SideFeatures) -> np.ndarray:
    """What myFM says of each user and item, from plain rows of features."""
    n_users, n_items = len(log.users), len(log.items)
    of_users = np.hstack([np.eye(n_users), *(features.users[name] for name in sorted(features.users))])
    of_items = np.hstack([np.eye(n_items), *(features.items[name] for name in sorted(features.items))])
    rows = np.hstack([np.repeat(of_users, n_items, axis=0), np.tile(of_items, (n_users, 1))])
    return model.model.predict(rows).reshape(n_users, n_items)


def both_sides(log: Log) -> SideFeatures:
    users = np.eye(3)[np.arange(len(log.users)) % 3]
    return SideFeatures(items={"genre": genres_of(len(log.items)), "age": np.arange(len(log.items))[:, None] / 10},
                 users={"job": users})  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"values": "ratings"}, {"samples": 1, "rank": 1}, {"samples": 12}])
def test_scores_are_those_of_myfm(settings: dict[str, Any]) -> None:
    log = made_log()
    features = both_sides(log)
    model = fitted("fm", log, features, **settings)
    assert isinstance(model, FactorizationMachine)
    assert np.allclose(model.score(*all_of(log)), predicted(model, log, features), atol=1e-9)


def test_attributes_can_be_chosen() -> None:
    log = made_log()
    features = both_sides(log)
    plain = fitted("fm", log, features, attributes="none").score(*all_of(log))
    assert np.array_equal(plain, fitted("fm", log, SideFeatures()).score(*all_of(log)))
    some = fitted("fm", log, features, attributes="genre, job")
    expected = SideFeatures(items={"genre": features.items["genre"]}, users=features.users)
    assert np.array_equal(some.score(*all_of(log)), fitted("fm", log, expected).score(*all_of(log)))
    with pytest.raises(UnknownName, match="Did you mean genre"):
        fitted("fm", log, features, attributes="genres")


def test_it_learns_ratings() -> None:
    """A user's and an item's own level, which ratings here are the sum of."""
    log = made_log()
    users, items = np.linspace(-1, 1, 25), np.linspace(-1.5, 1.5, 18)
    from dataclasses import replace

    planted = replace(log, value=3 + users[log.user] + items[log.item])
    scores = fitted("fm", planted, SideFeatures(), values="ratings", iterations=80, samples=40).score(*all_of(log))
    truth = 3 + users[:, None] + items
    taken = dense(log) > 0
    assert np.corrcoef(scores[taken], truth[taken])[0, 1] > 0.98
    assert np.corrcoef(scores[~taken], truth[~taken])[0, 1] > 0.95


def test_items_that_are_drawn_are_none_that_the_user_has() -> None:
    from rankjury.recsys.models.base import training_matrix
    from rankjury.recsys.models.factorization_machine import _drawn

    log = made_log()
    users, items = _drawn(training_matrix(log), 4, 0)
    assert users.size > len(log) and not dense(log)[users, items].any()
    assert made_facts(log).items["genre"].shape[0] == 18


def with_strangers() -> tuple[Log, Log, SideFeatures]:
    """A log whose users with odd numbers take odd items; the last six users are not in training."""
    log = made_log()
    features = SideFeatures(users={"group": np.eye(3)[np.where(np.arange(25) == 24, 2, np.arange(25) % 2)]})
    return log, log.take(log.user < 19), features


def test_users_without_training_interactions_are_scored_by_their_attributes() -> None:
    """They were unknown to the model, and got the most popular items though their attributes were there."""
    log, train, features = with_strangers()
    users, items = all_of(log)
    model = fitted("fm", train, features, iterations=60, samples=30)
    assert model.knows(users).tolist() == [True] * 24 + [False], "nobody of training has the attribute of the last"
    scores = np.asarray(model.score(users, items))
    assert np.isfinite(scores[19:24][:, np.unique(train.item)]).all() and np.isneginf(scores[24]).all()
    odd, even = scores[[19, 21, 23]], scores[[20, 22]]
    assert np.array_equal(odd[0], odd[1]) and np.array_equal(even[0], even[1]), "by their attributes alone"
    known = np.unique(train.item)
    lean = (odd[0] - even[0])[known]
    assert lean[known % 2 == 1].mean() > lean[known % 2 == 0].mean(), "the odd lean to odd items, as training does"
    assert not fitted("fm", train, features, attributes="none").knows(users[19:]).any()


def test_strangers_change_nothing_of_those_in_training() -> None:
    """Neither their attributes nor what they took later may move a digit of what is learnt."""
    _, train, features = with_strangers()
    other = features.users["group"].copy()
    other[19:] = other[19:][:, ::-1]
    first, second = (
        fitted("fm", train, SideFeatures(users={"group": one})) for one in (features.users["group"], other)
    )
    assert np.array_equal(first.score(np.arange(19), np.arange(18)), second.score(np.arange(19), np.arange(18)))
