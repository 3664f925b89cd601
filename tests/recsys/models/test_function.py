"""Somebody's own Python: functions, classes and objects; what they do wrong is said with the user's id."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.models import make_recommender
from rankjury.recsys.models.function import wrap_recommender
from rankjury.recsys.models.popularity import Popularity
from rankjury.recsys.recommend import recommend
from tests.recsys.models.made import made_log, task_of

LOG = made_log()
OWN = """
import numpy as np

def length(user, items):
    return [int(item[1:]) * (1 + int(user[1:])) for item in items]

def table(users, items):
    return np.array([length(user, items) for user in users])

class Model:
    def fit(self, frame):
        self.counts = dict(frame["item"].value_counts().iter_rows())
    def score(self, users, items):
        return np.array([[self.counts.get(item, 0) for item in items] for _ in users])

class Single:
    def predict(self, user, items):
        return np.array(length(user, items), dtype=float)

class Needy:
    def __init__(self, size):
        self.size = size

class Leaving:
    def fit(self, frame):
        raise SystemExit(0)
    def predict(self, user, items):
        raise SystemExit(0)

thing = Single()
number = 3
"""
PLACES = np.array([4, 2]), np.array([7, 1, 0])
EXPECTED = [[35.0, 5.0, 0.0], [21.0, 3.0, 0.0]]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of its own name, as modules are imported once."""
    name = f"own_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


@pytest.mark.parametrize(
    ("function", "call"), [("length", "user"), ("table", "users"), ("Single", "user"), ("thing", "user")]
)
def test_functions_and_classes_by_name(module: str, function: str, call: str) -> None:
    model = make_recommender("callable", {"function": f"{module}:{function}", "call": call})
    model.fit(LOG, SideFeatures())
    assert model.score(*PLACES).tolist() == EXPECTED
    assert model.knows(PLACES[0]).all()


def test_a_class_is_fitted_on_training_alone(module: str) -> None:
    task = task_of(LOG)
    model = make_recommender("callable", {"function": f"{module}:Model"})
    model.fit(task.train, SideFeatures())
    counted = np.bincount(task.train.item, minlength=18).astype(float)
    assert model.score(np.array([0]), np.arange(18)).tolist() == [counted.tolist()]
    popularity = make_recommender("popularity")
    popularity.fit(task.train, SideFeatures())
    assert np.array_equal(recommend(model, task, 5).items, recommend(popularity, task, 5).items)


def test_objects_of_a_script() -> None:
    class Fitted:
        seen: pl.DataFrame

        def fit(self, frame: pl.DataFrame) -> None:
            self.seen = frame

        def predict(self, user: str, items: list[str]) -> list[float]:
            return [float(len(self.seen.filter(user=user, item=item))) for item in items]

    mine = Fitted()
    for thing in (mine, Fitted):
        model = wrap_recommender(thing)
        model.fit(LOG, SideFeatures())
        taken = model.score(np.arange(25), np.arange(18))
        assert taken.sum() == len(LOG) and taken[LOG.user, LOG.item].all()
    assert mine.seen.columns == ["user", "item", "value", "time"]


def fails(user: str, items: list[str]) -> Any:
    raise KeyError(user)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda user, items: [1.0], r"<lambda>: gave 1 for user 'u04' and 3 items; expected scores of shape 3"),
        (lambda user, items: 1.0, "gave one number for user 'u04'"),
        (lambda user, items: ["high"] * len(items), "scoring failed for user 'u04': ValueError"),
        (fails, r"fails: scoring failed for user 'u04': KeyError\('u04'\)"),
    ],
)
def test_what_a_function_does_wrong_is_told(function, message: str) -> None:
    model = wrap_recommender(function)
    model.fit(LOG, SideFeatures())
    with pytest.raises(DataError, match=message):
        model.score(*PLACES)


def test_what_is_no_number_is_refused_when_it_ranks() -> None:
    task = task_of(LOG)
    model = wrap_recommender(lambda user, items: [np.nan if item == "i04" and user == "u09" else 1.0 for item in items])
    model.fit(task.train, SideFeatures())
    with pytest.raises(
        DataError, match=r"mine: the score of item 'i04' for user 'u09' is not a number \(1 such value here\)"
    ):
        recommend(model, task, 5, source="mine")


def test_a_fit_that_fails() -> None:
    class Broken:
        def fit(self, frame: pl.DataFrame) -> None:
            raise ValueError("no memory")

    with pytest.raises(DataError, match=r"Broken: fit failed: ValueError\('no memory'\)"):
        wrap_recommender(Broken()).fit(LOG, SideFeatures())


def test_names_that_lead_nowhere(module: str) -> None:
    for function, error, message in (
        ("", UsageError, "function is ''; expected module:name"),
        (f"{module}:lengt", UnknownName, "Did you mean length"),
        (f"{module}:number", UsageError, "is not a function"),
        ("no_such_module_at_all:f", UsageError, "there is no module"),
    ):
        with pytest.raises(error, match=message):
            make_recommender("callable", {"function": function}).fit(LOG, SideFeatures())
    silent = wrap_recommender(object())
    silent.fit(LOG, SideFeatures())
    with pytest.raises(UsageError, match="object cannot score"):
        silent.score(*PLACES)


def test_a_class_that_cannot_be_made(module: str) -> None:
    with pytest.raises(
        DataError, match=r"Needy: creating it failed: TypeError.*; expected a class without required arg"
    ):
        make_recommender("callable", {"function": f"{module}:Needy"}).fit(LOG, SideFeatures())


def test_to_leave_the_program_is_not_up_to_a_model(module: str) -> None:
    """Else a gate would end with 0."""
    with pytest.raises(DataError, match=r"Leaving: fit failed: SystemExit\(0\)"):
        make_recommender("callable", {"function": f"{module}:Leaving"}).fit(LOG, SideFeatures())
    model = wrap_recommender(lambda user, items: exec("raise SystemExit(0)"))
    model.fit(LOG, SideFeatures())
    with pytest.raises(DataError, match="scoring failed for user 'u04': SystemExit"):
        model.score(*PLACES)


def test_items_that_a_function_puts_in_order_stay_where_they_were() -> None:
    def shuffling(user: str, items: list[str]) -> list[float]:
        found = [float(item[1:]) for item in items]
        items.reverse()
        return found

    model = wrap_recommender(shuffling)
    model.fit(LOG, SideFeatures())
    assert model.score(*PLACES).tolist() == [[7.0, 1.0, 0.0]] * 2


def test_a_recommender_s_class_is_made() -> None:
    assert isinstance(wrap_recommender(Popularity), Popularity)
