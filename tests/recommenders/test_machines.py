"""The machine's factors against myFM's own predictions of every pair."""

from typing import Any

import numpy as np
import pytest

from karat.errors import UnknownName
from karat.interactions.log import Log
from karat.interactions.task import Facts
from karat.recommenders.machines import FactorizationMachine

from .made import all_of, dense, fitted, genres_of, made_facts, made_log


def predicted(model: FactorizationMachine, log: Log, facts: Facts) -> np.ndarray:
    """What myFM says of each user and item, from plain rows of features."""
    n_users, n_items = len(log.users), len(log.items)
    of_users = np.hstack([np.eye(n_users), *(facts.users[name] for name in sorted(facts.users))])
    of_items = np.hstack([np.eye(n_items), *(facts.items[name] for name in sorted(facts.items))])
    rows = np.hstack([np.repeat(of_users, n_items, axis=0), np.tile(of_items, (n_users, 1))])
    return model.model.predict(rows).reshape(n_users, n_items)


def both_sides(log: Log) -> Facts:
    users = np.eye(3)[np.arange(len(log.users)) % 3]
    return Facts(items={"genre": genres_of(len(log.items)), "age": np.arange(len(log.items))[:, None] / 10},
                 users={"job": users})  # fmt: skip


@pytest.mark.parametrize("settings", [{}, {"values": "ratings"}, {"samples": 1, "rank": 1}, {"samples": 12}])
def test_scores_are_those_of_myfm(settings: dict[str, Any]) -> None:
    log = made_log()
    facts = both_sides(log)
    model = fitted("fm", log, facts, **settings)
    assert isinstance(model, FactorizationMachine)
    assert np.allclose(model.score(*all_of(log)), predicted(model, log, facts), atol=1e-9)


def test_attributes_can_be_chosen() -> None:
    log = made_log()
    facts = both_sides(log)
    plain = fitted("fm", log, facts, attributes="none").score(*all_of(log))
    assert np.array_equal(plain, fitted("fm", log, Facts()).score(*all_of(log)))
    some = fitted("fm", log, facts, attributes="genre, job")
    expected = Facts(items={"genre": facts.items["genre"]}, users=facts.users)
    assert np.array_equal(some.score(*all_of(log)), fitted("fm", log, expected).score(*all_of(log)))
    with pytest.raises(UnknownName, match="Did you mean genre"):
        fitted("fm", log, facts, attributes="genres")


def test_it_learns_ratings() -> None:
    """A user's and an item's own level, which ratings here are the sum of."""
    log = made_log()
    users, items = np.linspace(-1, 1, 25), np.linspace(-1.5, 1.5, 18)
    from dataclasses import replace

    planted = replace(log, value=3 + users[log.user] + items[log.item])
    scores = fitted("fm", planted, Facts(), values="ratings", iterations=80, samples=40).score(*all_of(log))
    truth = 3 + users[:, None] + items
    taken = dense(log) > 0
    assert np.corrcoef(scores[taken], truth[taken])[0, 1] > 0.98
    assert np.corrcoef(scores[~taken], truth[~taken])[0, 1] > 0.95


def test_items_that_are_drawn_are_none_that_the_user_has() -> None:
    from karat.recommenders.machines import _drawn
    from karat.recommenders.trained import known_of

    log = made_log()
    users, items = _drawn(known_of(log), 4, 0)
    assert users.size > len(log) and not dense(log)[users, items].any()
    assert made_facts(log).items["genre"].shape[0] == 18
