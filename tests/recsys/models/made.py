"""Small logs that tests of recommenders learn from."""

from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Ints
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import Recommender, make_recommender
from rankjury.recsys.split import Split
from rankjury.recsys.task import Task

USERS, ITEMS = 25, 18
PERSONAL = ["item-knn", "user-knn", "svd", "als", "bpr", "ease", "slim", "fm", "content", "hybrid"]
"""Models that learn, and of whom users differ."""
QUICK: dict[str, dict[str, Any]] = {
    "svd": {"factors": 5},
    "als": {"factors": 6, "iterations": 4},
    "bpr": {"factors": 6, "iterations": 100, "learning_rate": 0.1},
    "fm": {"rank": 3, "iterations": 12, "samples": 5},
    "item-knn": {"neighbours": 5},
    "user-knn": {"neighbours": 6},
    "ease": {"regularization": 5.0},
    "slim": {"alpha": 0.01},
    "hybrid": {"ease_regularization": 5.0},
}


def made_frame(seed: int = 0) -> pl.DataFrame:
    """Two groups of users with items of their own, and noise; every user and item occurs."""
    rng = np.random.default_rng(seed)
    same = np.arange(USERS)[:, None] % 2 == np.arange(ITEMS)[None, :] % 2
    taken = rng.random((USERS, ITEMS)) < np.where(same, 0.55, 0.15)
    taken[np.arange(USERS), np.arange(USERS) % ITEMS] = True
    user, item = np.nonzero(taken)
    return pl.DataFrame(
        {
            "user": [f"u{one:02}" for one in user],
            "item": [f"i{one:02}" for one in item],
            "value": rng.integers(1, 11, user.size) / 2,
            "time": rng.permutation(user.size) + 1_000_000,
        }
    )


def made_log(seed: int = 0) -> Log:
    return log_from_frame(made_frame(seed))


def genres_of(n: int, seed: int = 5) -> np.ndarray:
    found = (np.random.default_rng(seed).random((n, 4)) < 0.4).astype(np.float64)
    found[:, 0] = np.arange(n) % 2
    found[::2, 1] = 1.0
    return found


def made_facts(log: Log) -> SideFeatures:
    """By id, so that the same item has the same genres in any log."""
    rows = np.array([int(one[1:]) if one[1:].isdigit() else 90 for one in log.items])
    return SideFeatures(items={"genre": genres_of(100)[rows]})


def fitted(name: str, log: Log, features: SideFeatures | None = None, /, **settings: Any) -> Recommender:
    model = make_recommender(name, QUICK.get(name, {}) | settings)
    model.fit(log, made_facts(log) if features is None else features)
    return model


def all_of(log: Log) -> tuple[Ints, Ints]:
    return np.arange(len(log.users)), np.arange(len(log.items))


def dense(log: Log, *, ratings: bool = False) -> np.ndarray:
    """Users × items."""
    found = np.zeros((len(log.users), len(log.items)))
    found[log.user, log.item] = log.value if ratings else 1.0
    return found


def task_of(log: Log, share: float = 0.8, **options: Any) -> Task:
    """The last part in time is held out."""
    assert log.time is not None
    cut = np.sort(log.time)[int(share * len(log))]
    return Task(
        Split(log, np.where(log.time < cut, 0, 2).astype(np.int8), {"kind": "made"}),
        features=made_facts(log),
        **options,
    )
