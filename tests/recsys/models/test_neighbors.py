"""Neighbours against cosines worked out one by one."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import RECOMMENDERS
from tests.recsys.models.made import all_of, dense, fitted, made_log


def nearest_of(vectors: np.ndarray, n: int, shrinkage: float = 0.0) -> np.ndarray:
    """Similarities of the rows, of each row only those to its n nearest others."""
    lengths = np.linalg.norm(vectors, axis=1)
    found = np.zeros((len(vectors), len(vectors)))
    for one in range(len(vectors)):
        alike = {
            other: vectors[one] @ vectors[other] / (lengths[one] * lengths[other] + shrinkage)
            for other in range(len(vectors))
            if other != one
        }
        for other in sorted(alike, key=lambda other: -alike[other])[:n]:
            found[one, other] = alike[other]
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
    scores = [fitted(name, log, weighting=one).score(*all_of(log)) for one in choices]
    assert len(scores) > 1
    assert not any(np.allclose(one, other, atol=1e-3) for one, other in combinations(scores, 2))
