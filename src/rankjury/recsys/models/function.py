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
"""Exceptions of user code that must not end the program."""
_EXPECTED = "a function, or an object with score or predict"


@RECOMMENDERS.register("callable")
class CallableRecommender(Recommender):
    """A function ``f(user, items)`` → one score per item, or ``f(users, items)`` → users × items; ids are strings.

    A class, or an object, may have ``fit(frame)``, called with the training rows as a Polars frame (user, item, value,
    time), and has ``score(users, items)`` or ``predict(user, items)``.
    """

    description = (
        "a Python function module:name, or a class with fit and score or predict: scores of items by their ids"
    )
    params: ClassVar = {
        "function": Param("", "module:name, installed or in the current folder"),
        "call": Param("user", "whether the function takes one user or several", choices=("user", "users")),
    }
    scorer: Any = None
    users: list[str]
    items: list[str]

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        if self.scorer is None:
            spelling = str(self.settings["function"])
            if not is_function_name(spelling):
                raise UsageError(f"function is {spelling!r}", expected="module:name")
            scorer = _instance(import_object(spelling), spelling)
            if not (callable(scorer) or hasattr(scorer, "score") or hasattr(scorer, "predict")):
                raise UsageError(f"{spelling} is not a function", expected=_EXPECTED)
            self.scorer = scorer
        self.users, self.items = train.users.to_list(), train.items.to_list()
        if hasattr(self.scorer, "fit"):
            try:
                self.scorer.fit(train.frame())
            except _FAILURES as error:
                raise DataError(f"fit failed: {error!r}", where=self.name) from error

    def score(self, users: Ints, items: Ints) -> Matrix:
        ids, names = [self.users[user] for user in users], [self.items[item] for item in items]
        if callable(getattr(self.scorer, "score", None)):
            function, at_once = self.scorer.score, True
        elif callable(getattr(self.scorer, "predict", None)):
            function, at_once = self.scorer.predict, False
        elif callable(self.scorer):
            function, at_once = self.scorer, self.settings["call"] == "users"
        else:
            raise UsageError(f"{self.name} cannot score", expected=_EXPECTED)
        if at_once:
            return self._call(function, ids, names, (len(ids), len(names)), f"{len(ids):,} users")
        rows = [self._call(function, user, names, (len(names),), f"user {user!r}") for user in ids]
        return np.stack(rows) if rows else np.empty((0, len(names)))

    @property
    def name(self) -> str:
        """Name in errors."""
        spelling = str(self.settings["function"])
        return spelling or getattr(self.scorer, "__name__", type(self.scorer).__name__)

    def _call(
        self, function: Callable[..., Any], users: Any, items: Sequence[str], shape: tuple[int, ...], whom: str
    ) -> Floats:
        try:
            scores = np.asarray(function(users, list(items)), dtype=np.float64)
        except _FAILURES as error:
            raise DataError(f"scoring failed for {whom}: {error!r}", where=self.name) from error
        if scores.shape != shape:
            gave = "×".join(map(str, scores.shape)) or "one number"
            expected = "scores of shape " + "×".join(map(str, shape))
            raise DataError(f"gave {gave} for {whom} and {len(items):,} items", where=self.name, expected=expected)
        return scores


def wrap_recommender(scorer: Any, *, call: str = "user") -> Recommender:
    """Return a recommender for a function, a class or an object of a script."""
    if isinstance(scorer, type) and issubclass(scorer, Recommender):
        return scorer()
    recommender = CallableRecommender({"call": call})
    recommender.scorer = _instance(scorer, getattr(scorer, "__name__", "model"))
    return recommender


def _instance(scorer: Any, name: str) -> Any:
    """Return an instance of a class; any other object unchanged."""
    if not isinstance(scorer, type):
        return scorer
    try:
        return scorer()
    except _FAILURES as error:
        expected = "a class without required arguments"
        raise DataError(f"creating it failed: {error!r}", where=name, expected=expected) from error
