"""Lists that were shown, and what was known of their items and users before: what measures beyond accuracy look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import polars as pl

from rankjury.core.types import Ints, Matrix, freeze, gathered, places_in
from rankjury.errors import UsageError


@dataclass(frozen=True, eq=False)
class Background:
    """What was known before anything was recommended: of the future it knows nothing."""

    items: pl.Series
    """The catalogue's ids, ascending; codes below are places in it."""
    popularity: Ints
    """How many users took each item in training."""
    n_users: int
    """How many users trained."""
    users: pl.Series
    """The ids of users, ascending."""
    starts: Ints
    history: Ints
    """What each user took in training: codes of items, ascending (CSR with ``starts``)."""
    features: Mapping[str, Matrix] = field(default_factory=dict)
    """By name, such as genre: a row an item; a row of zeros is unknown."""

    def __post_init__(self) -> None:
        freeze(self)

    @cached_property
    def remembered(self) -> dict[str, tuple[object, Any]]:
        """What was worked out last, by its name, and what from: the same users are asked for by system after system."""
        return {}

    def histories(self, queries: pl.Series) -> tuple[Ints, Ints]:
        """Of each of these users what they took: CSR starts, and codes of items; none of a user who is not known."""
        of, found = self.remembered.get("histories", (None, None))
        if not isinstance(of, pl.Series) or not of.equals(queries):
            found = self._histories(queries)
            self.remembered["histories"] = queries, found
        return cast(tuple[Ints, Ints], found)

    def _histories(self, queries: pl.Series) -> tuple[Ints, Ints]:
        rows = places_in(self.users, queries.cast(pl.String))
        nobody = len(self.users)
        starts, at = gathered(np.append(self.starts, self.starts[-1]), np.where(rows < 0, nobody, rows))
        return starts, self.history[at]


@dataclass(frozen=True, eq=False)
class Lists:
    """The first items of each query, in order."""

    codes: Ints
    """Queries × depth: places in the background's items; −1 where there is none, or none of the catalogue."""
    starts: Ints
    history: Ints
    """What each query's user took in training (CSR)."""
    background: Background

    def __post_init__(self) -> None:
        freeze(self)

    def first(self, k: int | None) -> Ints:
        """The first k of each."""
        return self.codes if k is None else self.codes[:, :k]


def checked_background(given: object, where: str) -> Background | None:
    """The background, if it is one; a task, for one, only has it."""
    if given is None or isinstance(given, Background):
        return given
    raise UsageError(f"a background of type {type(given).__name__}", where=where, expected="background=task.background")
