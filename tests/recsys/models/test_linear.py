"""EASE against its closed form, over users and over items; SLIM against its own conditions of optimality."""

import numpy as np
import polars as pl
import pytest

from rankjury.recsys.data.log import Log, log_from_frame
from tests.recsys.models.made import all_of, dense, fitted, made_facts, made_frame, made_log


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
