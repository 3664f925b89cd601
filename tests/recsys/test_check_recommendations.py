"""Recommendations from elsewhere: what users have and what is unknown is counted, and dropped or kept."""

import numpy as np
import polars as pl
import pytest

from rankjury.core.convert import as_ranking
from rankjury.errors import DataError
from rankjury.recsys.data.log import log_from_frame
from rankjury.recsys.recommend import candidate_mask, check_recommendations
from rankjury.recsys.split import Split
from rankjury.recsys.task import Sampled, Task


def task() -> Task:
    """u has a, b and, again in test, b and c; v has d in test, which the catalogue lacks; w has no test."""
    rows = [("u", "a", 0), ("u", "b", 0), ("u", "b", 2), ("u", "c", 2), ("v", "a", 0), ("v", "d", 2), ("w", "c", 0)]
    users, items, part = zip(*rows, strict=True)
    log = log_from_frame(pl.DataFrame({"user": users, "item": items, "time": range(len(rows))}))
    catalogue = np.array([True, True, True, False, True])
    log = log.with_items(pl.Series(["e"]))
    return Task(Split(log, np.array(part, dtype=np.int8), {}), catalogue=catalogue)


def test_what_is_no_candidate_is_dropped_and_counted() -> None:
    given = as_ranking({"u": ["a", "b", "d", "c", "x"], "v": ["d", "a", "e"], "w": ["c", "x"], "nobody": ["y"]})
    ranking, notes = check_recommendations(given, task())
    frame = ranking.frame()
    lists = {user: frame.filter(query_id=user)["item_id"].to_list() for user in ("u", "v", "w", "nobody")}
    assert lists == {"u": ["b", "c"], "v": ["d", "e"], "w": ["c", "x"], "nobody": ["y"]}
    assert notes == [
        "2 users of the recommendations have nothing held out in test, and do not count",
        "2 recommendations are of items that the user has from training (2 users), left out: what follows moves up",
        "2 recommendations are of items that the catalogue lacks (1 user), left out: what follows moves up",
    ]


def test_or_kept_and_counted_all_the_same() -> None:
    given = as_ranking({"u": ["a", "x"], "v": ["d"]})
    ranking, notes = check_recommendations(given, task(), seen="keep", unknown="keep")
    assert ranking is given
    assert [note.partition("), ")[2] for note in notes] == ["kept: they take places, and cannot be right"] * 2
    only_seen, _ = check_recommendations(given, task(), unknown="keep")
    assert only_seen.items.to_list() == ["x", "d"]
    only_known, _ = check_recommendations(given, task(), seen="keep")
    assert only_known.items.to_list() == ["a", "d"]


def test_scores_stay_with_their_items() -> None:
    given = as_ranking({"v": {"d": 1.0, "a": 9.0, "e": 5.0}, "u": {"c": 2.0}})
    ranking, _ = check_recommendations(given, task())
    assert sorted(ranking.frame().iter_rows()) == [("u", "c", 2.0), ("v", "d", 1.0), ("v", "e", 5.0)]


def test_users_who_are_recommended_nothing() -> None:
    ranking, notes = check_recommendations(as_ranking({"u": ["c"]}), task())
    assert len(ranking) == 1 and notes == ["1 user is recommended nothing: v"]


def test_faultless_recommendations_have_no_notes() -> None:
    given = as_ranking({"u": ["c", "e"], "v": ["b"]})
    ranking, notes = check_recommendations(given, task())
    assert ranking is given and notes == []


def test_users_of_another_log_are_refused() -> None:
    with pytest.raises(DataError, match="none of its users is among those of test: x, y; expected users such as u, v"):
        check_recommendations(as_ranking({"x": ["a"], "y": ["b"]}), task())


def test_only_what_was_drawn_where_candidates_were() -> None:
    """Else a run over the whole catalogue would stand beside models that choose among a few."""
    rows = [(user, f"i{place}", 0) for user in "abc" for place in range(2)] + [(user, "held", 2) for user in "abc"]
    users, items, part = zip(*rows, strict=True)
    log = log_from_frame(pl.DataFrame({"user": users, "item": items, "time": range(len(rows))}))
    log = log.with_items(pl.Series([f"n{place:02}" for place in range(40)]))
    split = Split(log, np.array(part, dtype=np.int8), {})
    drawing = Task(split, sampled=Sampled(5))
    given = as_ranking({user: [*(f"n{place:02}" for place in range(40)), "held"] for user in "abc"})
    ranking, notes = check_recommendations(given, drawing)
    lists = ranking.frame()
    drawn = candidate_mask(drawing, np.arange(3))
    for place, user in enumerate("abc"):
        found = lists.filter(query_id=user)["item_id"].to_list()
        assert found[-1] == "held" and len(found) == 6
        assert set(found) == set(log.items.filter(pl.Series(drawn[place])))
    assert notes == [
        "105 recommendations are of items that are not among the drawn candidates, left out: what follows moves up"
    ]
    assert len(check_recommendations(given, Task(split))[0].items) == 3 * 41
