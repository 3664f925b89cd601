"""Popularity, overall and lately."""

import numpy as np
import polars as pl
import pytest

from rankjury.errors import UsageError
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.recommend import sample_candidates
from rankjury.recsys.task import Sampled
from tests.recsys.models.made import all_of, fitted, made_log, task_of

DAY = 86_400


def log() -> Log:
    """Item a is of long ago, b and c of the last days; b stands twice for a user."""
    rows = [("u", "a", 0), ("v", "a", 1), ("w", "a", 2), ("u", "b", 8), ("u", "b", 9), ("v", "c", 9), ("w", "c", 9)]
    users, items, days = zip(*rows, strict=True)
    return log_from_frame(pl.DataFrame({"user": users, "item": items, "time": np.array(days) * DAY}))


def counts(**settings: float) -> list[float]:
    scores = fitted("popularity", log(), **settings).score(*all_of(log()))
    assert (scores == scores[0]).all()
    return scores[0].tolist()


def test_overall_each_user_counts_once() -> None:
    assert counts() == [3, 1, 2]


def test_the_last_days() -> None:
    assert counts(days=1.5) == [0, 1, 2] and counts(days=7.5) == [1, 1, 2]


def test_the_latest_share_is_never_cut_within_a_time() -> None:
    assert counts(share=0.01) == [0, 1, 2]
    assert counts(share=0.6) == [0, 1, 2] and counts(share=5 / 7) == [1, 1, 2]


def test_a_log_without_times_has_nothing_recent() -> None:
    bare = log_from_frame(log().frame().drop("time"))
    with pytest.raises(UsageError, match="popularity, share: the log has no times; expected share = 1"):
        fitted("popularity", bare, share=0.5)
    with pytest.raises(UsageError, match="popularity, days"):
        fitted("popularity", bare, days=3)
    with pytest.raises(UsageError, match=r"share is 1\.5; expected 1 or less"):
        fitted("popularity", bare, share=1.5)


def test_random_hangs_on_seed_and_ids_alone() -> None:
    first = fitted("random", log()).score(*all_of(log()))
    more = log().with_items(pl.Series(["aa"]))
    later = fitted("random", more).score(*all_of(more))
    assert np.array_equal(later[:, [0, 2, 3]], first)
    assert len(np.unique(first)) == first.size
    assert not np.array_equal(first, fitted("random", log(), seed=1).score(*all_of(log())))


def test_random_does_not_know_what_was_drawn_by_the_same_seed() -> None:
    task = task_of(made_log(), sampled=Sampled(6, seed=0))
    rows = np.arange(task.users.size)
    chosen = sample_candidates(task, rows, np.ones((rows.size, len(task.log.items)), dtype=bool))
    for row, user in enumerate(task.users):
        chosen[row, task.held_out.items[task.held_out.starts[user] : task.held_out.starts[user + 1]]] = False
    scores = fitted("random", task.train).score(task.users, np.arange(len(task.log.items)))
    assert abs(scores[chosen].mean() - 0.5) < 0.1
