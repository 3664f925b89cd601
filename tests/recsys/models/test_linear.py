"""Neighbours against cosines worked out one by one, EASE against its closed form, SLIM against its loss."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import RECOMMENDERS
from tests.recsys.models.made import all_of, dense, fitted, made_facts, made_frame, made_log


def nearest_of(vectors: np.ndarray, n: int, shrinkage: float = 0.0) -> np.ndarray:
    """Similarities of the rows, of each row only those to its n nearest others."""
    lengths = np.linalg.norm(vectors, axis=1)
    found = np.zeros((len(vectors), len(vectors)))
    for row in range(len(vectors)):
        alike = {
            other: vectors[row] @ vectors[other] / (lengths[row] * lengths[other] + shrinkage)
            for other in range(len(vectors))
            if other != row
        }
        for other in sorted(alike, key=lambda other: -alike[other])[:n]:
            found[row, other] = alike[other]
    return found


@pytest.mark.parametrize(("n", "shrinkage"), [(17, 0.0), (17, 3.0), (5, 0.0)])
def test_items_by_the_items_that_a_user_took(n: int, shrinkage: float) -> None:
    log = made_log()
    taken = dense(log)
    expected = taken @ nearest_of(taken.T, n, shrinkage)
    scores = fitted("item-knn", log, neighbours=n, shrinkage=shrinkage).score(*all_of(log))
    assert np.allclose(scores, expected, atol=2e-5)


@pytest.mark.parametrize("n", [24, 4])
def test_items_by_users_who_took_the_same(n: int) -> None:
    log = made_log(2)
    taken = dense(log)
    alike = nearest_of(taken, n)
    scores = fitted("user-knn", log, neighbours=n).score(*all_of(log))
    assert np.allclose(scores, alike @ taken, atol=2e-5)


def hand_made() -> Log:
    """Item a is of u1 and u2, b of u1, c of u2 and u3."""
    pairs = [("u1", "a"), ("u1", "b"), ("u2", "a"), ("u2", "c"), ("u3", "c")]
    users, items = zip(*pairs, strict=True)
    return log_from_frame(pl.DataFrame({"user": users, "item": items}))


def test_by_hand() -> None:
    log = hand_made()
    scores = fitted("item-knn", log, neighbours=2, shrinkage=0.0).score(*all_of(log))
    ab, ac = 1 / np.sqrt(2), 1 / 2
    assert np.allclose(scores, [[ab, ab, ac], [ac, ab, ac], [ac, 0, 0]], atol=1e-5)


@pytest.mark.parametrize("name", ["item-knn", "user-knn"])
def test_every_weighting_is_another_similarity(name: str) -> None:
    log = made_log()
    choices = RECOMMENDERS.get(name).params["weighting"].choices
    scores = [fitted(name, log, weighting=choice).score(*all_of(log)) for choice in choices]
    assert len(scores) > 1
    assert not any(np.allclose(one, other, atol=1e-3) for one, other in combinations(scores, 2))


def turned(seed: int = 0) -> Log:
    """Users and items change places: fewer users than items."""
    frame = made_frame(seed)
    return log_from_frame(frame.rename({"user": "item", "item": "user"}))


def ease_of(taken: np.ndarray, ridge: float) -> np.ndarray:
    inverse = np.linalg.inv(taken.T @ taken + ridge * np.eye(taken.shape[1]))
    weights = np.eye(taken.shape[1]) - inverse / np.diag(inverse)
    assert np.allclose(np.diag(weights), 0)
    return taken @ weights


@pytest.mark.parametrize("ridge", [0.5, 20.0, 250.0])
def test_ease_with_more_users_than_items(ridge: float) -> None:
    log = made_log()
    assert len(log.users) > len(log.items)
    scores = fitted("ease", log, regularization=ridge).score(*all_of(log))
    assert np.allclose(scores, ease_of(dense(log), ridge), atol=2e-5)


@pytest.mark.parametrize("ridge", [0.5, 20.0, 250.0])
def test_ease_with_fewer_users_than_items(ridge: float) -> None:
    log = turned()
    assert len(log.users) < len(log.items)
    scores = fitted("ease", log, regularization=ridge).score(*all_of(log))
    assert np.allclose(scores, ease_of(dense(log), ridge), atol=1e-10)


def test_ease_fitted_again_on_the_other_shape_forgets_the_first() -> None:
    first, second = turned(), made_log()
    model = fitted("ease", first)
    model.fit(second, made_facts(second))
    assert np.array_equal(model.score(*all_of(second)), fitted("ease", second).score(*all_of(second)))


def slim_loss(taken: np.ndarray, weights: np.ndarray, alpha: float, ratio: float) -> float:
    n = len(taken)
    squares = ((taken - taken @ weights) ** 2).sum() / 2
    return float(squares + n * alpha * ((1 - ratio) / 2 * (weights**2).sum() + ratio * np.abs(weights).sum()))


def test_slim_is_where_its_loss_is_least() -> None:
    log = made_log()
    taken, alpha, ratio = dense(log), 0.02, 0.1
    model = fitted("slim", log, alpha=alpha, l1_ratio=ratio, iterations=1000)
    weights = model.weights.toarray()
    assert (np.diag(weights) == 0).all() and (weights >= 0).all() and (weights > 0).any()
    assert np.allclose(model.score(*all_of(log)), taken @ weights, atol=1e-5)
    least = slim_loss(taken, weights, alpha, ratio)
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = rng.normal(0, 0.05, weights.shape) * (rng.random(weights.shape) < 0.2)
        other = np.maximum(0, weights + step)
        np.fill_diagonal(other, 0)
        assert slim_loss(taken, other, alpha, ratio) >= least - 1e-3


def test_slim_may_have_weights_below_zero() -> None:
    log = made_log()
    assert (fitted("slim", log, positive=False).weights.toarray() < 0).any()


def test_a_pair_that_stands_twice_counts_once() -> None:
    frame = made_frame()
    twice = pl.concat([frame, frame.head(20).with_columns(pl.col("time") - 10_000)])
    log = log_from_frame(frame)
    for name in ("ease", "slim", "item-knn", "user-knn", "svd", "als", "popularity"):
        again = fitted(name, log_from_frame(twice))
        assert np.array_equal(again.score(*all_of(log)), fitted(name, log).score(*all_of(log))), name
