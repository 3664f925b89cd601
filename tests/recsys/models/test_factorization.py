"""Factors against NumPy's own SVD, and against what implicit recommends itself."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import log_from_frame
from rankjury.recsys.models import make_recommender
from rankjury.recsys.models.base import TrainingMatrix, ignore_library_warnings, sparse_matrix, training_matrix
from rankjury.recsys.recommend import recommend
from rankjury.recsys.task import Task
from tests.recsys.models.made import all_of, dense, fitted, made_frame, made_log, task_of


def cut_off(matrix: np.ndarray, n: int) -> np.ndarray:
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    return (left[:, :n] * sizes[:n]) @ right[:n]


@pytest.mark.parametrize("n", [1, 5, 17, 18, 64])
def test_pure_svd(n: int) -> None:
    log = made_log()
    assert np.allclose(fitted("svd", log, factors=n).score(*all_of(log)), cut_off(dense(log), n), atol=1e-10)


def test_svd_of_ratings_predicts_stars() -> None:
    log = made_log()
    damping, mean = 3.0, log.value.mean()
    rated, ratings = dense(log) > 0, dense(log, ratings=True)
    items = np.array([(ratings[rated[:, i], i] - mean).sum() / (rated[:, i].sum() + damping) for i in range(18)])
    users = np.array([(ratings[u] - mean - items)[rated[u]].sum() / (rated[u].sum() + damping) for u in range(25)])
    base = mean + users[:, None] + items
    expected = base + cut_off(np.where(rated, ratings - base, 0.0), 4)
    scores = fitted("svd", log, values="ratings", factors=4, damping=damping).score(*all_of(log))
    assert np.allclose(scores, expected, atol=1e-10)


def test_ratings_that_are_all_alike_are_predicted() -> None:
    log = log_from_frame(made_frame().with_columns(value=pl.lit(3.0)))
    assert np.allclose(fitted("svd", log, values="ratings", damping=0.0).score(*all_of(log)), 3.0)


@pytest.mark.parametrize("values", ["implicit", "ratings"])
def test_als_recommends_what_implicit_does(values: str) -> None:
    from implicit.cpu.als import AlternatingLeastSquares

    task = task_of(made_log())
    known = training_matrix(task.train)
    matrix = sparse_matrix(known, known.values if values == "ratings" else None, np.float32)
    with ignore_library_warnings():
        theirs = AlternatingLeastSquares(factors=6, regularization=0.1, alpha=4.0, iterations=5, random_state=7)
    theirs.fit(matrix, show_progress=False)
    settings = {"factors": 6, "regularization": 0.1, "alpha": 4.0, "iterations": 5, "seed": 7, "values": values}
    check_against(task, "als", settings, theirs, matrix, known)


def test_bpr_recommends_what_implicit_does() -> None:
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    task = task_of(made_log())
    known = training_matrix(task.train)
    matrix = sparse_matrix(known, dtype=np.float32)
    theirs = BayesianPersonalizedRanking(
        factors=6, learning_rate=0.05, regularization=0.02, iterations=30, num_threads=1, random_state=7
    )
    theirs.fit(matrix, show_progress=False)
    settings = {"factors": 6, "learning_rate": 0.05, "regularization": 0.02, "iterations": 30, "seed": 7}
    check_against(task, "bpr", settings, theirs, matrix, known)


def check_against(
    task: Task, name: str, settings: dict[str, Any], theirs: Any, matrix: Any, known: TrainingMatrix
) -> None:
    """The same items in the same order, for each user whose candidates are all that training has and they have not."""
    model = make_recommender(name, settings)
    model.fit(task.train, SideFeatures())
    found = recommend(model, task, 5)
    users = known.user_at[task.users]
    assert (users >= 0).all()
    ids, scores = theirs.recommend(users, matrix[users], N=5, filter_already_liked_items=True)
    held = {
        user: set(task.held_out.items[task.held_out.starts[user] : task.held_out.starts[user + 1]])
        for user in task.users
    }
    checked = 0
    for row, user in enumerate(task.users):
        taken = set(task.train.item[task.train.user == user])
        if not (held[user] & taken) and (scores[row] > -1e30).all():
            assert known.items[ids[row]].tolist() == found.items[row].tolist()
            assert np.allclose(scores[row], found.scores[row], atol=1e-5)
            checked += 1
    assert checked > 10


@pytest.mark.parametrize(("name", "setting"), [("als", {"alpha": 1e30}), ("bpr", {"learning_rate": 1e10})])
def test_a_model_that_diverges_says_so(name: str, setting: dict[str, float]) -> None:
    with pytest.raises(DataError, match=rf"{name}: training diverged: factors are NaN"):
        fitted(name, made_log(), **setting)
