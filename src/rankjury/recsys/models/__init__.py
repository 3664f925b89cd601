"""Recommenders behind one protocol: ``fit`` on a log, then ``score`` users × items; one file a family of models.

A model learns from the rows it is given and from facts about items and users, and never sees what was held out: items
and users of whom training has nothing are not known to it, whatever codes they have.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from rankjury.core.params import Param, Params, Setting, settled
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.registry import Registry
from rankjury.core.types import Bools, Ints, Matrix
from rankjury.errors import MissingExtra
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log


class Recommender(ABC):
    """Learns from a log who may like what."""

    about: ClassVar[str] = ""
    """What it is, in a line."""
    extra: ClassVar[str | None] = None
    """The extra that installs its library."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """What it imports beside rankjury's own, by the names of modules."""
    params: ClassVar[Mapping[str, Param]] = {}
    """What can be set of it."""
    personal: ClassVar[bool] = True
    """Whether users differ; else all get the same, known or not."""
    paths: ClassVar[tuple[str, ...]] = ()
    """The parameters that name files."""
    simpler: ClassVar[Params] = {}
    """Settings with which it gives the same scores as a simpler model that it contains: a search always tries them."""
    chosen: Params
    """Settings that were left to the model (0 where ``Param.auto``), with the values that fitting chose for them."""

    def __init__(self, settings: Params | None = None) -> None:
        self.settings = settled(self.params, settings, "parameter")
        self.chosen = {}

    @classmethod
    def is_installed(cls) -> bool:
        """Whether its libraries are there."""
        return all(find_spec(name) is not None for name in cls.libraries)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Its libraries and their versions."""
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
        """The libraries, with their versions, that it was fitted by."""
        return self.versions()

    @abstractmethod
    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        """Learn. Codes of users and items are those of the log, also in ``score``."""

    @abstractmethod
    def score(self, users: Ints, items: Ints) -> Matrix:
        """Users × items, the higher the better; −∞ where it can say nothing of the item."""

    def factors(self) -> tuple[Matrix, Matrix] | None:
        """One row a user and one an item of the log, whose inner products are the scores; None where there are none.

        Rows of users and items that it does not know are NaN.
        """
        return None

    def knows(self, users: Ints) -> Bools:
        """Of which users it can say something; the others are cold."""
        return np.ones(users.size, dtype=bool)

    def notes(self) -> list[str]:
        """What is to be warned of, once it was fitted."""
        return []


RECOMMENDERS: Registry[type[Recommender]] = Registry(
    "recommender", home="rankjury.recsys.models", group="rankjury.recommenders"
)


def make_recommender(name: str, settings: Params | None = None) -> Recommender:
    """A recommender by its name, not yet fitted."""
    kind = RECOMMENDERS.get(name)
    if not kind.is_installed() and kind.extra is not None:
        lacking = next(one for one in kind.libraries if find_spec(one) is None)
        raise MissingExtra(lacking, kind.extra, f"the recommender {name}")
    return kind(settings)
