"""Recommenders: ``fit`` on a log, then ``score`` users × items; one module per family of models.

A model learns from training rows and from side features of items and users, and never sees what was held out: items and
users that training lacks are not known to it, whatever codes they have.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from rankjury.core.params import Param, Params, Setting, resolve_params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.registry import Registry
from rankjury.core.types import Bools, Ints, Matrix
from rankjury.errors import MissingExtra
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log


class Recommender(ABC):
    """A model that learns from a log which items a user may like."""

    description: ClassVar[str] = ""
    """One line of description."""
    extra: ClassVar[str | None] = None
    """The extra that installs its library."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """The optional libraries that it imports, by module name."""
    params: ClassVar[Mapping[str, Param]] = {}
    """Its parameters."""
    personal: ClassVar[bool] = True
    """Whether scores differ between users."""
    paths: ClassVar[tuple[str, ...]] = ()
    """The parameters that name files."""
    simpler: ClassVar[Params] = {}
    """Settings with which it equals a simpler model that it contains; a search always tries them."""
    chosen: Params
    """The values that fitting chose for settings that were left to the model (0 where ``Param.auto``)."""

    def __init__(self, settings: Params | None = None) -> None:
        self.settings = resolve_params(self.params, settings, "parameter")
        self.chosen = {}

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether its libraries are installed."""
        return all(find_spec(name) is not None for name in cls.libraries)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Return its libraries and their versions."""
        found = {}
        for name in cls.libraries:
            try:
                found[name] = version({"sklearn": "scikit-learn"}.get(name, name))
            except PackageNotFoundError:
                found[name] = "unknown"
        return found

    def fitted_settings(self) -> dict[str, Setting]:
        """Return all settings that it was fitted with, also those that it chose itself."""
        return {**self.settings, **self.chosen}

    def used(self) -> dict[str, str]:
        """Return the libraries, with their versions, that it was fitted with."""
        return self.versions()

    @abstractmethod
    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        """Learn from training rows. Codes of users and items are those of the log, also in ``score``."""

    @abstractmethod
    def score(self, users: Ints, items: Ints) -> Matrix:
        """Return users × items, the higher the better; −∞ where it cannot score the item."""

    def factors(self) -> tuple[Matrix, Matrix] | None:
        """Return one row per user and one per item of the log, whose inner products are the scores, if there are any.

        Rows of users and items that it does not know are NaN.
        """
        return None

    def knows(self, users: Ints) -> Bools:
        """Return which users it can score items for; the others are cold."""
        return np.ones(users.size, dtype=bool)

    def notes(self) -> list[str]:
        """Return warnings, once it was fitted."""
        return []


RECOMMENDERS: Registry[type[Recommender]] = Registry(
    "recommender", home="rankjury.recsys.models", group="rankjury.recommenders"
)


def make_recommender(name: str, settings: Params | None = None) -> Recommender:
    """Return a recommender by its name, not yet fitted."""
    kind = RECOMMENDERS.get(name)
    if not kind.is_installed() and kind.extra is not None:
        lacking = next(library for library in kind.libraries if find_spec(library) is None)
        raise MissingExtra(lacking, kind.extra, f"the recommender {name}")
    return kind(settings)
