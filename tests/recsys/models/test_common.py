"""What is true of every model that learns: nothing of the future, the same again, unknown users and items."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rankjury.core.progress import Progress
from rankjury.core.types import places_in
from rankjury.errors import DataError, MissingExtra, UnknownName, UsageError
from rankjury.recsys.data.log import Log, log_from_frame
from rankjury.recsys.models import RECOMMENDERS, make_recommender
from rankjury.recsys.recommend import recommend
from tests.recsys.models.made import PERSONAL, all_of, fitted, made_facts, made_frame, made_log, task_of

LEARNING = ["popularity", *PERSONAL]
FUTURE_USERS, FUTURE_ITEMS = ["a-new", "u07x", "zz"], ["a-new", "i03x", "zz"]


def with_future(log: Log) -> Log:
    """The same rows; ids before, between and after the others are known as well."""
    users = pl.concat([log.users, pl.Series(FUTURE_USERS)]).sort()
    code = places_in(users, log.users).astype(np.int32)
    return replace(log, users=users, user=code[log.user]).with_items(pl.Series(FUTURE_ITEMS))


@pytest.mark.parametrize("name", LEARNING)
def test_who_and_what_comes_later_changes_nothing(name: str) -> None:
    log = made_log()
    later = with_future(log)
    before, after = fitted(name, log), fitted(name, later)
    users, items = places_in(later.users, log.users), places_in(later.items, log.items)
    assert (np.diff(items) > 1).any() and items[0] == 1
    assert np.array_equal(after.score(users, items), before.score(*all_of(log)))


@pytest.mark.parametrize("name", LEARNING)
def test_a_second_fit_gives_the_same_to_the_last_digit(name: str) -> None:
    log = made_log()
    assert np.array_equal(fitted(name, log).score(*all_of(log)), fitted(name, log).score(*all_of(log)))


@pytest.mark.parametrize("name", ["als", "bpr", "fm"])
def test_another_seed_is_another_model(name: str) -> None:
    log = made_log()
    assert not np.array_equal(fitted(name, log).score(*all_of(log)), fitted(name, log, seed=1).score(*all_of(log)))


@pytest.mark.parametrize("name", LEARNING)
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    frame = made_frame()
    log, mixed = log_from_frame(frame), log_from_frame(frame.sample(fraction=1.0, shuffle=True, seed=3))
    assert not np.array_equal(log.user, mixed.user)
    assert np.array_equal(fitted(name, log).score(*all_of(log)), fitted(name, mixed).score(*all_of(log)))


@pytest.mark.parametrize("name", LEARNING)
def test_scores_do_not_hang_on_who_is_asked_for_with_whom(name: str) -> None:
    log = made_log()
    model = fitted(name, log)
    whole = np.asarray(model.score(*all_of(log)))
    users, items = np.array([7, 3]), np.array([11, 2, 5])
    assert np.array_equal(model.score(users, items), whole[np.ix_(users, items)])
    for user in range(len(log.users)):
        assert np.array_equal(model.score(np.array([user]), all_of(log)[1])[0], whole[user])


@pytest.mark.parametrize("name", PERSONAL)
def test_cold_users_are_not_known(name: str) -> None:
    log = with_future(made_log())
    model = fitted(name, log)
    cold = np.isin(log.users, FUTURE_USERS)
    assert np.array_equal(model.knows(np.arange(len(log.users))), ~cold)
    assert np.isneginf(model.score(np.flatnonzero(cold), np.arange(len(log.items)))).all()


@pytest.mark.parametrize("name", PERSONAL)
def test_cold_items_are_scored_by_content_alone(name: str) -> None:
    log = with_future(made_log())
    scores = fitted(name, log).score(*all_of(log))
    cold, known = np.isin(log.items, FUTURE_ITEMS), ~np.isin(log.users, FUTURE_USERS)
    assert np.isfinite(scores[known][:, ~cold]).all()
    found = scores[known][:, cold]
    assert np.isfinite(found).all() if name in ("content", "hybrid") else np.isneginf(found).all()


@pytest.mark.parametrize("name", ["svd", "als", "bpr", "fm", "content"])
def test_factors_multiply_to_the_scores_and_are_nan_of_the_unknown(name: str) -> None:
    log = with_future(made_log())
    model = fitted(name, log)
    factors = model.factors()
    assert factors is not None
    users, items = factors
    assert users.shape[0] == len(log.users) and items.shape[0] == len(log.items)
    scores = model.score(*all_of(log))
    products = users @ items.T
    assert np.array_equal(np.isnan(products), np.isneginf(scores))
    assert np.allclose(products[~np.isnan(products)], scores[~np.isnan(products)], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", LEARNING)
def test_every_model_recommends_candidates_alone(name: str) -> None:
    task = task_of(made_log())
    model = fitted(name, task.train)
    found = recommend(model, task, 5)
    starts, out = task.excluded
    for row in range(task.users.size):
        listed = found.items[row][found.items[row] >= 0]
        assert listed.size and len(set(listed)) == listed.size
        assert not set(listed) & set(out[starts[row] : starts[row + 1]])
    assert (np.diff(found.scores, axis=1)[np.isfinite(found.scores[:, 1:])] <= 0).all()


@pytest.mark.parametrize("name", PERSONAL)
def test_what_users_like_comes_before_what_others_like(name: str) -> None:
    """Users take items of their own half: a model that learned puts those first."""
    log = made_log()
    scores = np.asarray(fitted(name, log).score(*all_of(log)))
    same = np.arange(len(log.users))[:, None] % 2 == np.arange(len(log.items))[None, :] % 2
    free = np.ones(scores.shape, dtype=bool)
    free[log.user, log.item] = False
    gap = np.mean([scores[u][free[u] & same[u]].mean() - scores[u][free[u] & ~same[u]].mean() for u in range(25)])
    assert gap > 0


@pytest.mark.parametrize("name", PERSONAL)
def test_nothing_to_learn_from_is_an_error(name: str) -> None:
    log = made_log()
    with pytest.raises(DataError, match="no training interactions"):
        fitted(name, log.take(np.zeros(len(log), dtype=bool)))


@pytest.mark.parametrize("name", PERSONAL)
@pytest.mark.parametrize("pairs", [[("u1", "i1")], [("u1", "i1"), ("u1", "i2")], [("u1", "i1"), ("u2", "i1")]])
def test_the_smallest_logs(name: str, pairs: list[tuple[str, str]]) -> None:
    users, items = zip(*pairs, strict=True)
    log = log_from_frame(pl.DataFrame({"user": users, "item": items, "value": [4.0] * len(pairs)}))
    assert np.isfinite(fitted(name, log).score(*all_of(log))).all()


@pytest.mark.parametrize("name", PERSONAL)
def test_logs_without_ratings(name: str) -> None:
    log = log_from_frame(made_frame().drop("value"))
    assert not log.rated and np.isfinite(fitted(name, log).score(*all_of(log))).all()


@pytest.mark.parametrize("name", ["svd", "als", "fm"])
def test_ratings_that_are_not_there_are_refused(name: str) -> None:
    log = log_from_frame(made_frame().drop("value"))
    with pytest.raises(UsageError, match=rf'{name}, values: the log has no ratings; expected values = "implicit"'):
        fitted(name, log, values="ratings")


def test_parameters_are_checked() -> None:
    with pytest.raises(UnknownName, match="Did you mean factors"):
        make_recommender("als", {"factor": 3})
    with pytest.raises(UsageError, match="factors is 0; expected 1 or more"):
        make_recommender("svd", {"factors": 0})
    with pytest.raises(UsageError, match=r"factors is 2\.5; expected a whole number"):
        make_recommender("bpr", {"factors": 2.5})
    with pytest.raises(UnknownName, match="ratings"):
        make_recommender("svd", {"values": "rating"})
    with pytest.raises(UnknownName, match="item-knn"):
        make_recommender("item-nn")


def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RECOMMENDERS.get("als"), "libraries", ("scipy", "no_such_library"))
    with pytest.raises(
        MissingExtra, match=r"the recommender als needs the library 'no_such_library'.*rankjury\[recsys\]"
    ):
        make_recommender("als")


def test_libraries_and_versions_are_told() -> None:
    assert set(LEARNING) < set(RECOMMENDERS.names())
    for name in RECOMMENDERS.names():
        kind = RECOMMENDERS.get(name)
        assert kind.description and (kind.extra == "recsys") == bool(kind.libraries)
        assert all(version[0].isdigit() for version in kind.versions().values())
    assert set(RECOMMENDERS.get("als").versions()) == {"implicit", "scipy"}


@pytest.mark.parametrize("name", ["als", "bpr", "fm"])
def test_progress_is_told_and_nothing_is_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    log = made_log()
    told: list[tuple[int, int]] = []
    model = make_recommender(name, {"iterations": 4})
    model.fit(log, made_facts(log), Progress(lambda what, done, of: told.append((done, of))))
    assert told[-1] == (4, 4) and {of for _, of in told} == {4}
    assert capfd.readouterr() == ("", "")
