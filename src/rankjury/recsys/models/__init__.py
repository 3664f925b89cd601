"""Recommenders: ``fit`` on a log, then ``score`` users × items; one module per family of models.

A model learns from training rows and from features of items and users, never from held-out rows: items and users that
are missing in training are unknown to it, whatever codes they have.
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
    """Model that learns from a log which items a user may like."""

    description: ClassVar[str] = ""
    """One-line description."""
    extra: ClassVar[str | None] = None
    """Extra that installs its library."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """Optional libraries that it imports, by module name."""
    params: ClassVar[Mapping[str, Param]] = {}
    """Its parameters."""
    personal: ClassVar[bool] = True
    """Whether scores differ between users."""
    paths: ClassVar[tuple[str, ...]] = ()
    """Parameters that are file names."""
    simpler: ClassVar[Params] = {}
    """Settings that make it equal to a simpler model; a search always tries them."""
    chosen: Params
    """Values chosen by ``fit`` for automatic parameters (0 for ``Param.auto``)."""

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
        """Return all settings of the fit, including those that it chose itself."""
        return {**self.settings, **self.chosen}

    def used(self) -> dict[str, str]:
        """Return the libraries used by the fit, with their versions."""
        return self.versions()

    @abstractmethod
    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        """Learn from training rows. Codes of users and items are those of the log, also in ``score``."""

    @abstractmethod
    def score(self, users: Ints, items: Ints) -> Matrix:
        """Return scores of users × items, higher is better; −∞ if it cannot score the item."""

    def factors(self) -> tuple[Matrix, Matrix] | None:
        """Return rows per user and per item of the log whose inner products are the scores; None without factors.

        Rows of unknown users and items are NaN.
        """
        return None

    def knows(self, users: Ints) -> Bools:
        """Return which users it can score items for; the others are cold."""
        return np.ones(users.size, dtype=bool)

    def notes(self) -> list[str]:
        """Return warnings of the fit."""
        return []


RECOMMENDERS: Registry[type[Recommender]] = Registry(
    "recommender", home="rankjury.recsys.models", group="rankjury.recommenders"
)


def make_recommender(name: str, settings: Params | None = None) -> Recommender:
    """Return an unfitted recommender by its name."""
    kind = RECOMMENDERS.get(name)
    if not kind.is_installed() and kind.extra is not None:
        lacking = next(library for library in kind.libraries if find_spec(library) is None)
        raise MissingExtra(lacking, kind.extra, f"the recommender {name}")
    return kind(settings)
