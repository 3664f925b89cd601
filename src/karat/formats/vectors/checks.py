"""What is true of vectors once they are in: an id a row, each once, all numbers finite, one length."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.blocks import cut_rows
from karat.errors import DataError
from karat.types import Matrix, Vectors

__all__ = ["Raw", "as_floats", "check_lengths", "checked", "listed", "names_of", "the_only_one"]

_LISTED = 5
_CHOICES_LISTED = 20
_ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class Raw:
    """Vectors as a file holds them; ``ids`` is None where it holds none."""

    values: NDArray[np.generic]
    ids: pl.Series | None = None


def listed(names: pl.Series | list[str], most: int = _LISTED) -> str:
    """The first few, and how many more there are."""
    more = f" … ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


def the_only_one(names: list[str], key: str | None, what: str, where: str) -> str:
    """The one that the key names, or the only one there is."""
    if key is not None and key not in names:
        expected = f"one of {listed(names, _CHOICES_LISTED)}" if names else "none"
        raise DataError(f"no {what} is called {key!r}", where=where, expected=expected)
    if key is None and len(names) != 1:
        found = f"found {len(names)} {what}s that may be vectors" + (
            f": {listed(names, _CHOICES_LISTED)}" if names else ""
        )
        hint = f"Name one: {where}:{names[0]}" if names else None
        raise DataError(found, where=where, expected="one", hint=hint)
    return names[0] if key is None else key


def checked(ids: pl.Series, numbers: Matrix, where: str) -> Vectors:
    """Vectors, or an error that names the rows at fault."""
    names = names_of(ids, where)
    if names.is_duplicated().any():
        twice = names.filter(names.is_duplicated()).unique(maintain_order=True)
        raise DataError(f"ids that stand more than once: {listed(twice)}", where=where, expected="each id once")
    if len(names) != len(numbers):
        raise DataError(f"found {len(numbers):,} vectors and {len(names):,} ids", where=where, expected="an id a row")
    bad = [first + np.flatnonzero(~np.isfinite(numbers[first:last]).all(axis=1)) for first, last in
           cut_rows(len(numbers), _ROWS_AT_ONCE)]  # fmt: skip
    rows = np.concatenate(bad)
    if rows.size:
        raise DataError(
            f"NaN or infinite numbers in the vectors of {listed(names.gather(rows))}",
            where=where,
            expected="finite numbers",
            hint="Embed those texts again, or leave them out.",
        )
    return Vectors(names, np.ascontiguousarray(numbers), where)


def as_floats(values: NDArray[np.generic], where: str) -> Matrix:
    """A row of numbers for each id, in the width they came in; whole numbers become floats."""
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise DataError(
            f"found an array of shape {'×'.join(map(str, values.shape))} and type {values.dtype}",
            where=where,
            expected="a row of numbers for each id",
        )
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise DataError(f"found {values.shape[0]:,} vectors of {values.shape[1]:,} numbers", where=where,
                        expected="at least one")  # fmt: skip
    if values.dtype.kind != "f":
        return values.astype(np.float32 if values.dtype.itemsize <= 2 else np.float64)
    if values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is named as such
            return values.astype(np.float64)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def names_of(ids: pl.Series, where: str) -> pl.Series:
    """Ids as strings, one in every row."""
    if not (ids.dtype == pl.String or ids.dtype.is_integer() or ids.dtype in (pl.Categorical, pl.Enum)):
        raise DataError(f"the ids are of type {ids.dtype}", where=where, expected="strings or whole numbers")
    names = ids.cast(pl.String).rename("id")
    if names.null_count() or (names == "").any():
        row = int((names.is_null() | (names == "")).arg_max() or 0)
        raise DataError(f"row {row + 1:,} has no id", where=where, expected="an id in every row")
    return names


def check_lengths(lengths: NDArray[np.integer], ids: pl.Series, where: str) -> int:
    """The length that most have; an error that names those of another."""
    found, counts = np.unique(lengths, return_counts=True)
    usual = int(found[counts.argmax()]) if len(found) else 0
    if len(found) > 1:
        odd = ids.filter(pl.Series(lengths != usual))
        raise DataError(
            f"vectors of unequal length: {listed(odd)} of other than {usual:,} numbers",
            where=where,
            expected="one length for all",
        )
    return usual
