"""Split: which rows of a log a model may learn from, and which it is evaluated on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import Param
from rankjury.core.types import Bools, Ints, freeze
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.recsys.data.log import Log
from rankjury.recsys.data.times import format_time

Window = Literal["train", "validation", "test"]
WINDOWS: tuple[Window, ...] = ("train", "validation", "test")
NOWHERE = -1
"""A row that is in no window."""
WindowCodes = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Split:
    """A log, and the window that each of its rows is in."""

    log: Log
    part: WindowCodes
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


Fractions = tuple[Fraction, Fraction, Fraction]
"""Of train, validation and test; they sum to one."""
FRACTIONS = Param("0.8/0.1/0.1", "shares of train, validation and test; or percent, 80/10/10")
_EXPECTED = "shares of train, validation and test that sum to 1 or to 100, like 80/10/10; validation may be 0"
_FINEST = 10**6
_ROUNDING = Fraction(1, 10**6)


def exact_fraction(number: float | str) -> Fraction:
    """What was meant by 0.8 or 0.333333: with a denominator of a million at most."""
    return Fraction(str(number)).limit_denominator(_FINEST)


def read_fractions(text: str) -> Fractions:
    """``0.8/0.1/0.1`` or ``80/10/10``."""
    try:
        given = [Fraction(str(float(part))) for part in text.split("/")]
    except ValueError:
        raise UsageError(f"fractions are {text!r}", expected=_EXPECTED) from None
    total = sum(given, Fraction(0))
    whole = next((one for one in (1, 100) if abs(total - one) <= one * _ROUNDING), None)
    if len(given) != 3 or whole is None or min(given) < 0 or not given[0] or not given[2]:
        raise UsageError(f"fractions are {text}", expected=_EXPECTED)
    train, validation = ((one / total).limit_denominator(_FINEST) for one in given[:2])
    return train, validation, 1 - train - validation


def fractions_record(fractions: Fractions) -> dict[str, Any]:
    """For the record of how a split was made."""
    return {"fractions": [float(one) for one in fractions]}


def rows_of(share: Fraction, rows: Ints) -> Ints:
    """The whole numbers nearest to a share of each of several numbers of rows; halves go up."""
    top, bottom = share.numerator, share.denominator
    found: Ints = (2 * top * rows.astype(np.int64) + bottom) // (2 * bottom)
    return found


def window_sizes(split: Split) -> dict[str, dict[str, Any]]:
    """Of each window: rows, their share, users, items, those of them that training does not have, and its times.

    Training itself has no cold ones. Times are None where there are none; as ISO also where they are plain numbers.
    """
    log = split.log
    found: dict[str, dict[str, Any]] = {}
    seen: tuple[Bools, Bools] | None = None
    for place, name in enumerate(WINDOWS):
        inside = split.part == place
        users, items = _marked(log.user[inside], len(log.users)), _marked(log.item[inside], len(log.items))
        seen = seen or (users, items)
        rows = int(np.count_nonzero(inside))
        found[name] = {
            "rows": rows,
            "share": rows / len(log) if len(log) else 0.0,
            "users": int(users.sum()),
            "items": int(items.sum()),
            "cold_users": int((users & ~seen[0]).sum()),
            "cold_items": int((items & ~seen[1]).sum()),
            **_times(split, inside),
        }
    return found


def _marked(codes: Any, size: int) -> Bools:
    found = np.zeros(size, dtype=bool)
    found[codes] = True
    return found


def _times(split: Split, inside: Bools) -> dict[str, Any]:
    """The earliest and the latest time, as they stand in the log and as ISO."""
    time = split.log.time
    if time is None or not inside.any():
        return dict.fromkeys(("first", "last", "from", "to"))
    limits = np.iinfo(np.int64)
    first = int(np.min(time, where=inside, initial=limits.max))
    last = int(np.max(time, where=inside, initial=limits.min))
    unit = split.log.unit
    return {"first": first, "last": last, "from": format_time(first, unit), "to": format_time(last, unit)}
