"""What any faithful set-up shows on a real log, parted by time, over the whole catalogue."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rankjury
from rankjury.recsys.api import held_out
from rankjury.recsys.models import make_recommender
from rankjury.recsys.recommend import recommend
from tests import paths

FOLDER = paths.SHARED / "interactions" / "ml-latest-small"
Ndcg = Callable[..., float]


@pytest.fixture(scope="module")
def ndcg() -> Ndcg:
    """The mean ndcg@10 of a model over the users whom training knows."""
    if not (FOLDER / "ratings.csv").exists():
        pytest.skip("the MovieLens log is not here")
    task = held_out(FOLDER / "ratings.csv", items=FOLDER / "movies.csv", fractions="65/0/35")
    known = np.diff(task.train.pairs.starts)[task.users] > 0
    assert known.sum() > 15

    def of(name: str, **settings: Any) -> float:
        model = make_recommender(name, settings)
        model.fit(task.train, task.features)
        ranking = recommend(model, task, 10).ranking(task)
        return float(rankjury.evaluate(task.gold, ranking, ["ndcg@10"])["ndcg@10"][known].mean())

    return of


def by_chance(ndcg: Ndcg) -> float:
    return float(np.mean([ndcg("random", seed=seed) for seed in range(5)]))


def test_popularity_is_close_to_models_that_learn_tastes(ndcg: Ndcg) -> None:
    popularity, chance = ndcg("popularity"), by_chance(ndcg)
    learned = [ndcg("ease"), ndcg("svd", factors=16), ndcg("als", factors=16)]
    assert chance < 0.03 < min(popularity, *learned)
    assert all(0.5 * popularity < one < 2 * popularity for one in learned)


def test_predicted_stars_can_rank_below_random(ndcg: Ndcg) -> None:
    assert ndcg("svd", values="ratings", factors=16, damping=0.0) < by_chance(ndcg)


def test_a_hybrid_does_not_lose_what_its_model_knows(ndcg: Ndcg) -> None:
    assert ndcg("hybrid") > 0.5 * ndcg("ease")
