"""The first k of the catalogue against a loop that looks at one user and one item at a time."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury.recsys.recommend
import rankjury.retrieval.knn.search
from rankjury.core.convert import as_ranking
from rankjury.core.types import Bools, Ints, Matrix
from rankjury.errors import DataError, UnknownName
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import Recommender
from rankjury.recsys.recommend import (
    Recommendations,
    candidate_mask,
    check_recommendations,
    recommend,
    sample_candidates,
    top_items,
)
from rankjury.recsys.split import Split
from rankjury.recsys.task import Sampled, Task
from tests.recsys.models.made import made_log, task_of
from tests.stats.support import thorough

MISSING = -1


class Told(Recommender):
    """Scores as they are told; by factors, or block by block."""

    def __init__(self, users: Matrix, items: Matrix, *, by_factors: bool = True, known: Bools | None = None) -> None:
        super().__init__()
        self.users, self.items, self.by_factors, self.known = users, items, by_factors, known

    def fit(self, train: Log, features: SideFeatures, progress: Any = None) -> None: ...

    def score(self, users: Ints, items: Ints) -> Matrix:
        found = np.array([[float(np.dot(self.users[u], self.items[i])) for i in items] for u in users])
        return np.where(np.isnan(found), -np.inf, found).reshape(users.size, items.size)

    def factors(self) -> tuple[Matrix, Matrix] | None:
        return (self.users, self.items) if self.by_factors else None

    def knows(self, users: Ints) -> Bools:
        return np.ones(users.size, dtype=bool) if self.known is None else self.known[users]


def whole_numbers(log: Log, seed: int = 0, *, by_factors: bool = True, **options: Any) -> Told:
    """Factors that are small whole numbers, so that scores are exact in any order, and many tie."""
    rng = np.random.default_rng(seed)
    users, items = (rng.integers(-2, 3, (len(ids), 3)).astype(float) for ids in (log.users, log.items))
    return Told(users, items, by_factors=by_factors, **options)


def slowly(model: Told, task: Task, k: int, *, cold: str = "popularity") -> list[list[tuple[int, float]]]:
    """Every user's candidates one by one."""
    log, train, held = task.log, task.train, task.split.held_out(task.window)
    popularity = [len(set(train.user[train.item == item].tolist())) for item in range(len(log.items))]
    found = []
    for row, user in enumerate(task.users.tolist()):
        taken = set(train.item[train.user == user].tolist())
        wanted = set(held.item[held.user == user].tolist())
        allowed = [
            item in wanted or (bool(task.in_catalogue[item]) and item not in taken) for item in range(len(log.items))
        ]
        if task.sampled is not None:
            allowed = sample_candidates(task, np.array([row]), np.array([allowed]))[0].tolist()
        knows = bool(model.knows(np.array([user]))[0])
        scored = []
        for item in range(len(log.items)):
            score = float(popularity[item])
            if knows:
                score = float(np.dot(model.users[user], model.items[item]))
            if allowed[item] and not np.isnan(score):
                scored.append((item, score))
        scored.sort(key=lambda one: (-one[1], log.items[one[0]]))
        found.append(scored[:k] if knows or cold == "popularity" else [])
    return found


def lists_of(found: Recommendations) -> list[list[tuple[int, float]]]:
    return [
        [(item, score) for item, score in zip(items, scores, strict=True) if item != MISSING]
        for items, scores in zip(found.items.tolist(), found.scores.tolist(), strict=True)
    ]


def with_again(task: Task) -> Task:
    """The same with some held-out pairs in training as well."""
    log = task.log
    test = np.flatnonzero(task.split.window_codes == 2)[::3]
    both = Log(log.users, log.items, *(np.concatenate([one, one[test]]) for one in (log.user, log.item, log.value)))
    part = np.concatenate([task.split.window_codes, np.zeros(test.size, dtype=np.int8)])
    split = Split(both, part, {"kind": "made"})
    return Task(split, catalogue=task.catalogue, sampled=task.sampled)


def catalogue(log: Log, share: float, seed: int = 1) -> Bools:
    return np.random.default_rng(seed).random(len(log.items)) < share


@thorough(25)
@given(
    seed=st.integers(0, 50),
    k=st.sampled_from([1, 3, 10, 18, 30]),
    by_factors=st.booleans(),
    share=st.sampled_from([None, 0.3, 0.8]),
    again=st.booleans(),
    sampled=st.sampled_from([None, 2, 40]),
)
def test_the_same_as_one_by_one(
    seed: int, k: int, by_factors: bool, share: float | None, again: bool, sampled: int | None
) -> None:
    log = made_log(seed % 3)
    options: dict[str, Any] = {} if share is None else {"catalogue": catalogue(log, share, seed)}
    task = task_of(log, sampled=None if sampled is None else Sampled(sampled, seed), **options)
    task = with_again(task) if again else task
    known = np.random.default_rng(seed).random(len(log.users)) < 0.8
    model = whole_numbers(log, seed, by_factors=by_factors, known=known)
    model.items[seed % len(log.items)] = np.nan
    for cold in ("popularity", "nothing"):
        found = recommend(model, task, k, cold=cold)
        assert lists_of(found) == slowly(model, task, k, cold=cold)
        assert found.items.shape == (task.users.size, k)
        assert found.cold.tolist() == (~known[task.users]).tolist()


def test_held_out_items_that_were_taken_before_are_candidates() -> None:
    task = with_again(task_of(made_log()))
    train, held = (
        set(zip(log.user.tolist(), log.item.tolist(), strict=True)) for log in (task.train, task.split.held_out("test"))
    )
    again = train & held
    found = recommend(whole_numbers(task.log), task, len(task.log.items))
    shown = {(user, item) for user, items in zip(found.users, found.items, strict=True) for item in items}
    assert again
    assert again <= shown


def test_what_the_catalogue_lacks_is_a_candidate_of_those_alone_who_took_it() -> None:
    log = made_log()
    task = task_of(log, catalogue=np.arange(len(log.items)) != 4)
    found = recommend(whole_numbers(log), task, len(log.items))
    held = task.split.held_out("test")
    takers = set(held.user[held.item == 4].tolist())
    assert takers
    assert {int(user) for user, items in zip(found.users, found.items, strict=True) if 4 in items} == takers


@pytest.mark.parametrize("share", [None, 0.6])
def test_factors_and_blocks_agree(share: float | None) -> None:
    log = made_log()
    task = task_of(log, **({} if share is None else {"catalogue": catalogue(log, share)}))
    rng = np.random.default_rng(3)
    users, items = (rng.standard_normal((len(ids), 5)) for ids in (log.users, log.items))
    items[[2, 7]] = np.nan
    searched, scored = (recommend(Told(users, items, by_factors=way), task, 6) for way in (True, False))
    np.testing.assert_array_equal(searched.items, scored.items)
    np.testing.assert_allclose(searched.scores, scored.scores, rtol=1e-12)


def test_without_scores_the_order_and_the_ties_are_the_same() -> None:
    rng = np.random.default_rng(0)
    task, model = large(rng)
    found, quick = recommend(model, task, 10), recommend(model, task, 10, scored=False)
    np.testing.assert_array_equal(found.items, quick.items)
    np.testing.assert_array_equal(np.diff(found.scores) == 0, np.diff(quick.scores) == 0)
    assert (np.diff(quick.scores) <= 0).all()
    assert (np.diff(found.scores) == 0).any()


def large(rng: np.random.Generator, users: int = 60, items: int = 300) -> tuple[Task, Told]:
    """Enough items for a search by products; some items are copies of others, so that they tie."""
    user, item = np.nonzero(rng.random((users, items)) < 0.2)
    ids = [np.array([f"{one:04}" for one in range(n)]) for n in (users, items)]
    log = Log(pl.Series(ids[0]), pl.Series(ids[1]), user.astype(np.int32), item.astype(np.int32), np.ones(user.size))
    part = np.where(rng.random(user.size) < 0.2, 2, 0).astype(np.int8)
    factors = [rng.standard_normal((n, 8)).astype(np.float32) for n in (users, items)]
    factors[1][items // 2 :] = factors[1][: items - items // 2]
    return Task(Split(log, part, {"kind": "made"})), Told(*factors)


def test_nothing_hangs_on_blocks_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = large(np.random.default_rng(1))
    by_rows = Told(model.users.astype(np.float64), model.items.astype(np.float64), by_factors=False)
    whole, blocks = recommend(model, task, 7), recommend(by_rows, task, 7)
    np.testing.assert_array_equal(whole.items, blocks.items)
    for cells, threads in ((1, 1), (301, 1), (1000, 3)):
        monkeypatch.setattr(rankjury.recsys.recommend, "_CELLS_AT_ONCE", cells)
        monkeypatch.setattr(rankjury.retrieval.knn.search, "TILE_BYTES", 64 * cells)
        monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
        for model_, expected in ((model, whole), (by_rows, blocks)):
            found = recommend(model_, task, 7)
            np.testing.assert_array_equal(found.items, expected.items)
            np.testing.assert_array_equal(found.scores, expected.scores)


def test_users_with_fewer_candidates_are_counted() -> None:
    log = made_log()
    task = task_of(log)
    found = recommend(whole_numbers(log), task, len(log.items))
    short = [row for row, one in enumerate(lists_of(found)) if len(one) < len(log.items)]
    assert short and found.notes()[-1].startswith(f"{len(short):,} user")
    assert any(f"fewer than {len(log.items)} candidates" in note for note in found.notes())
    assert recommend(whole_numbers(log), task, 1).notes() == []


def test_users_whom_the_model_does_not_know_are_told() -> None:
    log = made_log()
    task = task_of(log)
    known = np.ones(len(log.users), dtype=bool)
    known[task.users[:2]] = False
    for cold, told in (("popularity", "get the most popular items"), ("nothing", "get nothing, and score 0")):
        notes = recommend(whole_numbers(log, known=known), task, 3, cold=cold).notes()
        assert notes == [f"2 users are unknown to the model, and {told}"]
    nothing = recommend(whole_numbers(log, known=known), task, 3, cold="nothing").ranking(task)
    assert np.diff(nothing.starts)[:2].tolist() == [0, 0]
    with pytest.raises(UnknownName, match="fall-back"):
        recommend(whole_numbers(log), task, 3, cold="average")


def test_a_ranking_has_the_ids() -> None:
    log = made_log()
    task = task_of(log)
    found = recommend(whole_numbers(log), task, 4)
    frame = found.ranking(task, "told").frame()
    for row, user in enumerate(found.users.tolist()):
        items = frame.filter(frame["query_id"] == log.users[user])["item_id"].to_list()
        assert items == [log.items[item] for item in found.items[row].tolist() if item != MISSING]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_factors_that_are_no_numbers_are_refused(bad: float) -> None:
    log = made_log()
    task = task_of(log)
    model = whole_numbers(log)
    model.items[3, 1] = bad
    with pytest.raises(DataError, match=f"told: a factor of item {log.items[3]!r} is not a number"):
        recommend(model, task, 3, source="told")
    model = whole_numbers(log)
    model.users[task.users[2], 0] = bad
    with pytest.raises(DataError, match=f"a factor of user {log.users[int(task.users[2])]!r} is not a number"):
        recommend(model, task, 3)


class Scores(Told):
    """A table that is given back as it is."""

    def score(self, users: Ints, items: Ints) -> Matrix:
        return self.users[users]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(bad: float) -> None:
    log = made_log()
    task = task_of(log)
    table = np.zeros((len(log.users), len(log.items)))
    table[task.users[1], 5] = bad
    with pytest.raises(DataError, match=f"item {log.items[5]!r} for user {log.users[int(task.users[1])]!r}"):
        recommend(Scores(table, table, by_factors=False), task, 3)
    with pytest.raises(DataError, match=r"expected \d+ users × 18 items"):
        recommend(Scores(table[:, :4], table, by_factors=False), task, 3)


@thorough(60)
@given(st.integers(0, 5), st.integers(0, 6), st.integers(0, 8), st.integers(0, 1000))
def test_the_highest_of_each_row(rows: int, width: int, k: int, seed: int) -> None:
    table = np.random.default_rng(seed).choice([-np.inf, 0.0, 1.0, 2.5], (rows, width))
    items, scores = top_items(table, k)
    assert items.shape == scores.shape == (rows, k)
    for row in range(rows):
        held = [column for column in range(width) if table[row, column] > -np.inf]
        expected = sorted(held, key=lambda column: (-table[row, column], column))[:k]
        assert items[row].tolist() == expected + [MISSING] * (k - len(expected))
        assert scores[row, : len(expected)].tolist() == [table[row, column] for column in expected]


def small_task() -> Task:
    """u has a, b and, again in test, b and c; v has d in test, which the catalogue lacks; w has no test."""
    rows = [("u", "a", 0), ("u", "b", 0), ("u", "b", 2), ("u", "c", 2), ("v", "a", 0), ("v", "d", 2), ("w", "c", 0)]
    users, items, part = zip(*rows, strict=True)
    log = log_from_frame(pl.DataFrame({"user": users, "item": items, "time": range(len(rows))}))
    catalogue = np.array([True, True, True, False, True])
    log = log.with_items(pl.Series(["e"]))
    return Task(Split(log, np.array(part, dtype=np.int8), {}), catalogue=catalogue)


def test_what_is_no_candidate_is_dropped_and_counted() -> None:
    ranked = as_ranking({"u": ["a", "b", "d", "c", "x"], "v": ["d", "a", "e"], "w": ["c", "x"], "nobody": ["y"]})
    ranking, notes = check_recommendations(ranked, small_task())
    frame = ranking.frame()
    lists = {user: frame.filter(query_id=user)["item_id"].to_list() for user in ("u", "v", "w", "nobody")}
    assert lists == {"u": ["b", "c"], "v": ["d", "e"], "w": ["c", "x"], "nobody": ["y"]}
    assert notes == [
        "2 users of the recommendations have nothing held out in test, and are ignored",
        "2 recommendations are of training items of the user (2 users), removed: the following items move up",
        "2 recommendations are of items outside the catalogue (1 user), removed: the following items move up",
    ]


def test_scores_stay_with_their_items() -> None:
    ranked = as_ranking({"v": {"d": 1.0, "a": 9.0, "e": 5.0}, "u": {"c": 2.0}})
    ranking, _ = check_recommendations(ranked, small_task())
    assert sorted(ranking.frame().iter_rows()) == [("u", "c", 2.0), ("v", "d", 1.0), ("v", "e", 5.0)]


def test_users_who_are_recommended_nothing() -> None:
    ranking, notes = check_recommendations(as_ranking({"u": ["c"]}), small_task())
    assert len(ranking) == 1 and notes == ["1 user is without recommendations: v"]


def test_faultless_recommendations_have_no_notes() -> None:
    ranked = as_ranking({"u": ["c", "e"], "v": ["b"]})
    ranking, notes = check_recommendations(ranked, small_task())
    assert ranking is ranked and notes == []


def test_users_of_another_log_are_refused() -> None:
    with pytest.raises(DataError, match="none of its users is among those of test: x, y; expected users such as u, v"):
        check_recommendations(as_ranking({"x": ["a"], "y": ["b"]}), small_task())


def test_only_what_was_drawn_where_candidates_were() -> None:
    """Else a run over the whole catalogue would stand beside models that choose among a few."""
    rows = [(user, f"i{place}", 0) for user in "abc" for place in range(2)] + [(user, "held", 2) for user in "abc"]
    users, items, part = zip(*rows, strict=True)
    log = log_from_frame(pl.DataFrame({"user": users, "item": items, "time": range(len(rows))}))
    log = log.with_items(pl.Series([f"n{place:02}" for place in range(40)]))
    split = Split(log, np.array(part, dtype=np.int8), {})
    drawing = Task(split, sampled=Sampled(5))
    ranked = as_ranking({user: [*(f"n{place:02}" for place in range(40)), "held"] for user in "abc"})
    ranking, notes = check_recommendations(ranked, drawing)
    lists = ranking.frame()
    drawn = candidate_mask(drawing, np.arange(3))
    for place, user in enumerate("abc"):
        found = lists.filter(query_id=user)["item_id"].to_list()
        assert found[-1] == "held" and len(found) == 6
        assert set(found) == set(log.items.filter(pl.Series(drawn[place])))
    assert notes == [
        "105 recommendations are of items outside the sampled candidates, removed: the following items move up"
    ]
    assert len(check_recommendations(ranked, Task(split))[0].items) == 3 * 41
