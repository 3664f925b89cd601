"""Python callables as recommenders: a function that scores, or an object with fit and score or predict."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from rankjury.core.importing import import_object, is_function_name
from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS, Recommender

_FAILURES = (Exception, SystemExit)
"""What foreign code may raise; it must not end the program."""


@RECOMMENDERS.register("callable")
class CallableRecommender(Recommender):
    """A function ``f(user, items)`` → a score an item, or ``f(users, items)`` → users × items; ids are strings.

    A class, or an object, may have ``fit(frame)``, which is given the training rows as a Polars frame (user, item,
    value, time), and has ``score(users, items)`` or ``predict(user, items)``.
    """

    about = "a Python function module:name, or a class with fit and score or predict: scores of items by their ids"
    params: ClassVar = {
        "function": Param("", "module:name, installed or in the current folder"),
        "call": Param("user", "whether a function takes one user, or several at once", choices=("user", "users")),
    }
    thing: Any = None
    users: list[str]
    items: list[str]

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        if self.thing is None:
            spelling = str(self.settings["function"])
            if not is_function_name(spelling):
                raise UsageError(f"function is {spelling!r}", expected="module:name")
            found = _made(import_object(spelling), spelling)
            if not (callable(found) or hasattr(found, "score") or hasattr(found, "predict")):
                expected = "a function, or an object with score or predict"
                raise UsageError(f"{spelling} is not a function", expected=expected)
            self.thing = found
        self.users, self.items = train.users.to_list(), train.items.to_list()
        if hasattr(self.thing, "fit"):
            try:
                self.thing.fit(train.frame())
            except _FAILURES as error:
                raise DataError(f"fit failed: {error!r}", where=self.name) from error

    def score(self, users: Ints, items: Ints) -> Matrix:
        ids, names = [self.users[user] for user in users], [self.items[item] for item in items]
        scores, at_once = self._scoring()
        if at_once:
            return self._numbers(scores, ids, names, (len(ids), len(names)), f"{len(ids):,} users")
        rows = [self._numbers(scores, user, names, (len(names),), f"user {user!r}") for user in ids]
        return np.stack(rows) if rows else np.empty((0, len(names)))

    @property
    def name(self) -> str:
        """The name in errors."""
        given = str(self.settings["function"])
        return given or getattr(self.thing, "__name__", type(self.thing).__name__)

    def _scoring(self) -> tuple[Callable[..., Any], bool]:
        """Return what to call, and whether it takes several users."""
        for method, at_once in (("score", True), ("predict", False)):
            if callable(getattr(self.thing, method, None)):
                return getattr(self.thing, method), at_once
        if not callable(self.thing):
            raise UsageError(f"{self.name} cannot score", expected="a function, or an object with score or predict")
        return self.thing, self.settings["call"] == "users"

    def _numbers(
        self, scores: Callable[..., Any], who: Any, items: Sequence[str], shape: tuple[int, ...], whom: str
    ) -> Floats:
        try:
            found = np.asarray(scores(who, list(items)), dtype=np.float64)
        except _FAILURES as error:
            raise DataError(f"scoring failed for {whom}: {error!r}", where=self.name) from error
        if found.shape != shape:
            got = "×".join(map(str, found.shape)) or "one number"
            raise DataError(
                f"gave {got} for {whom} and {len(items):,} items",
                where=self.name,
                expected="scores of shape " + "×".join(map(str, shape)),
            )
        return found


def wrap_recommender(thing: Any, *, call: str = "user") -> Recommender:
    """Return a recommender from a function, a class or an object of a script."""
    if isinstance(thing, type) and issubclass(thing, Recommender):
        return thing()
    found = CallableRecommender({"call": call})
    found.thing = _made(thing, getattr(thing, "__name__", "model"))
    return found


def _made(thing: Any, name: str) -> Any:
    """Return an object of a class; anything else as it is."""
    if not isinstance(thing, type):
        return thing
    try:
        return thing()
    except _FAILURES as error:
        expected = "a class that needs no arguments to be made"
        raise DataError(f"could not be made: {error!r}", where=name, expected=expected) from error
