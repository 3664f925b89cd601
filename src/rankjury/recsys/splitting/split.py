"""Split: which rows of a log a model may learn from, and which it is evaluated on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Ints, freeze
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName
from rankjury.recsys.data.log import Log

Window = Literal["train", "validation", "test"]
WINDOWS: tuple[Window, ...] = ("train", "validation", "test")
NOWHERE = -1
"""A row that is in no window."""
Parts = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Split:
    """A log, and the window that each of its rows is in."""

    log: Log
    part: Parts
    """Of each row the place of its window in WINDOWS, or NOWHERE."""
    how: Mapping[str, Any]
    """How it was made: kind, fractions, seed …"""
    cutoffs: Mapping[str, int] = field(default_factory=dict)
    """Times at which windows begin, where time parts them: validation, test."""
    leaks: tuple[str, ...] = ()
    """What a model may learn from it that it could not know when it is deployed."""

    def __post_init__(self) -> None:
        freeze(self)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {self.size(name):,}" for name in WINDOWS)
        return f"Split({self.log.source}: {sizes} rows)"

    def window(self, *names: Window) -> Log:
        """The rows of one window or several."""
        places = [_place_of(name) for name in names]
        if len(places) == 1:
            return self.log.take(self.part == places[0])
        return self.log.take(np.isin(self.part, places))

    def users_of(self, *names: Window) -> Ints:
        """The codes of those who have rows in the windows, ascending."""
        return np.unique(self.window(*names).user).astype(np.int64)

    def with_items(self, ids: pl.Series) -> "Split":
        """With these items known as well, whether anybody took them or not."""
        return replace(self, log=self.log.with_items(ids))

    @check_arguments
    def size(self, name: Window) -> int:
        return int((self.part == _place_of(name)).sum())

    @check_arguments
    def held_out(self, name: Window) -> Log:
        """The rows that something is to be evaluated on: an error where there are none."""
        found = self.window(name)
        if not len(found):
            sizes = ", ".join(f"{one} {self.size(one):,}" for one in WINDOWS)
            raise DataError(
                f"the {name} window is empty ({sizes} rows)",
                where=self.log.source,
                expected=f"interactions in {name}",
                hint="Choose other fractions or dates.",
            )
        return found


def _place_of(name: Window) -> int:
    if not isinstance(name, str) or name not in WINDOWS:
        raise UnknownName("window", name, WINDOWS)
    return WINDOWS.index(name)
