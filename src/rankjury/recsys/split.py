"""Split: the windows of a log for training, validation and test; sizes and fractions of windows."""

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
from rankjury.recsys.data.log import Codes, Log
from rankjury.recsys.data.times import format_time

Window = Literal["train", "validation", "test"]
WINDOWS: tuple[Window, ...] = ("train", "validation", "test")
NO_WINDOW = -1
"""Code of a row outside of all windows."""
WindowCodes = NDArray[np.int8]
"""Window of each row: its index in WINDOWS, or NO_WINDOW."""


@dataclass(frozen=True, eq=False)
class Split:
    """Log with a window for each of its rows."""

    log: Log
    window_codes: WindowCodes
    settings: Mapping[str, Any]
    """Parameters of the split: kind, fractions, seed …"""
    cutoffs: Mapping[str, int] = field(default_factory=dict)
    """Start times of windows in a split by time: validation, test."""
    leaks: tuple[str, ...] = ()
    """Warnings on leakage: information that a deployed model would not have."""

    def __post_init__(self) -> None:
        freeze(self)

    def __repr__(self) -> str:
        return f"Split({self.log.source}: {self.sizes_text()} rows)"

    def sizes_text(self) -> str:
        """Return ``train 800, validation 100, test 100``."""
        return ", ".join(f"{name} {self.size(name):,}" for name in WINDOWS)

    def window(self, *names: Window) -> Log:
        """Return the rows of one or several windows."""
        codes = [_code_of(name) for name in names]
        if len(codes) == 1:
            return self.log.take(self.window_codes == codes[0])
        return self.log.take(np.isin(self.window_codes, codes))

    def users_of(self, *names: Window) -> Ints:
        """Return the codes of the users with rows in the windows, ascending."""
        return np.unique(self.window(*names).user).astype(np.int64)

    def with_items(self, ids: pl.Series) -> "Split":
        """Return the split with these items added to the log's catalogue, even if no row has them."""
        return replace(self, log=self.log.with_items(ids))

    @check_arguments
    def size(self, name: Window) -> int:
        """Return the number of rows of a window."""
        return int((self.window_codes == _code_of(name)).sum())

    @check_arguments
    def held_out(self, name: Window) -> Log:
        """Return the rows to evaluate on; raise an error if there are none."""
        rows = self.window(name)
        if not len(rows):
            raise DataError(
                f"the {name} window is empty ({self.sizes_text()} rows)",
                where=self.log.source,
                expected=f"interactions in {name}",
                hint="Choose other fractions or dates.",
            )
        return rows


def _code_of(name: Window) -> int:
    if not isinstance(name, str) or name not in WINDOWS:
        raise UnknownName("window", name, WINDOWS)
    return WINDOWS.index(name)


def window_sizes(split: Split) -> dict[str, dict[str, Any]]:
    """Return for each window its rows and their share, users, items, those missing in training, and its time range.

    Times are None if there are none; ``from`` and ``to`` are ISO, and None if times are plain numbers.
    """
    log = split.log
    sizes: dict[str, dict[str, Any]] = {}
    trained: tuple[Bools, Bools] | None = None
    for code, name in enumerate(WINDOWS):
        inside = split.window_codes == code
        users, items = _mask(log.user[inside], len(log.users)), _mask(log.item[inside], len(log.items))
        trained = trained or (users, items)
        rows = int(np.count_nonzero(inside))
        first = last = None
        if log.time is not None and rows:
            limits = np.iinfo(np.int64)
            first = int(np.min(log.time, where=inside, initial=limits.max))
            last = int(np.max(log.time, where=inside, initial=limits.min))
        sizes[name] = {
            "rows": rows,
            "share": rows / len(log) if len(log) else 0.0,
            "users": int(users.sum()),
            "items": int(items.sum()),
            "cold_users": int((users & ~trained[0]).sum()),
            "cold_items": int((items & ~trained[1]).sum()),
            "first": first,
            "last": last,
            "from": None if first is None else format_time(first, log.unit),
            "to": None if last is None else format_time(last, log.unit),
        }
    return sizes


def _mask(codes: Codes, size: int) -> Bools:
    mask = np.zeros(size, dtype=bool)
    mask[codes] = True
    return mask


Fractions = tuple[Fraction, Fraction, Fraction]
"""Exact shares of train, validation and test; they sum to one."""
FRACTIONS = Param("0.8/0.1/0.1", "shares of train, validation and test; or percent, 80/10/10")
_EXPECTED = "shares of train, validation and test that sum to 1 or to 100, like 80/10/10; validation may be 0"
_FINEST = 10**6
_ROUNDING = Fraction(1, 10**6)


def exact_fraction(number: float | str) -> Fraction:
    """Return the fraction for 0.8 or 0.333333, with a denominator of at most a million."""
    return Fraction(str(number)).limit_denominator(_FINEST)


def read_fractions(text: str) -> Fractions:
    """Parse ``0.8/0.1/0.1`` or ``80/10/10``."""
    try:
        shares = [Fraction(str(float(part))) for part in text.split("/")]
    except ValueError:
        raise UsageError(f"fractions are {text!r}", expected=_EXPECTED) from None
    total = sum(shares, Fraction(0))
    whole = next((whole for whole in (1, 100) if abs(total - whole) <= whole * _ROUNDING), None)
    if len(shares) != 3 or whole is None or min(shares) < 0 or not shares[0] or not shares[2]:
        raise UsageError(f"fractions are {text}", expected=_EXPECTED)
    train, validation = ((share / total).limit_denominator(_FINEST) for share in shares[:2])
    return train, validation, 1 - train - validation


def rows_of(share: Fraction, rows: Ints) -> Ints:
    """Return the whole numbers nearest to a share of each number of rows; halves are rounded up."""
    top, bottom = share.numerator, share.denominator
    rounded: Ints = (2 * top * rows.astype(np.int64) + bottom) // (2 * bottom)
    return rounded
