"""Ids and matrices of numbers as anybody has them, converted and checked before they become Vectors."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.errors import DataError, UsageError, shorten

__all__ = ["Matrix", "as_floats", "ids_and_rows", "listed", "names_of"]

Matrix = NDArray[np.floating]
_LISTED = 5


def listed(names: pl.Series | list[str], most: int = _LISTED) -> str:
    """Return the first few names, and how many more there are."""
    more = f" … ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(shorten(str(name)) for name in names[:most]) + more


def as_floats(values: NDArray[np.generic], where: str) -> Matrix:
    """Return a row of numbers for each id, in the width they came in; whole numbers become floats."""
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
    """Return ids as strings, one in every row."""
    if not (ids.dtype == pl.String or ids.dtype.is_integer() or ids.dtype in (pl.Categorical, pl.Enum)):
        raise DataError(f"the ids are of type {ids.dtype}", where=where, expected="strings or whole numbers")
    names = ids.cast(pl.String).rename("id")
    if names.null_count() or (names == "").any():
        row = int((names.is_null() | (names == "")).arg_max() or 0)
        raise DataError(f"row {row + 1:,} has no id", where=where, expected="an id in every row")
    return names


def ids_and_rows(ids: Any, values: Any, where: str) -> tuple[pl.Series, Matrix]:
    """Return ids and a matrix from lists, arrays or a dict of id to vector."""
    if isinstance(ids, Mapping) and values is None:
        ids, values = list(ids), list(ids.values())
    of_ids = isinstance(ids, Iterable) and not isinstance(ids, str) and getattr(ids, "ndim", 1) == 1
    if not of_ids or not isinstance(values, Iterable):
        found = f"found ids of type {type(ids).__name__} and values of type {type(values).__name__}"
        raise UsageError(found, where=where, expected="Vectors(ids, matrix), or Vectors({id: vector})")
    if not isinstance(ids, pl.Series):
        listed_ids = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        odd = [one for one in listed_ids if isinstance(one, bool) or not isinstance(one, str | int | np.integer)]
        if odd:
            raise DataError(f"found the id {odd[0]!r}", where=where, expected="strings or whole numbers")
        ids = pl.Series("id", [str(one) for one in listed_ids], dtype=pl.String)
    names = names_of(ids, where)
    if isinstance(values, list) and any(isinstance(one, Mapping | str) for one in values):
        one = next(one for one in values if isinstance(one, Mapping | str))
        found = f"the vector of {shorten(names[values.index(one)], quoted=True)} is of type {type(one).__name__}"
        hint = "Make Vectors of each space: {id: vectors[id][space] …}." if isinstance(one, Mapping) else None
        raise DataError(found, where=where, expected="a list or an array of numbers", hint=hint)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        expected = "one row of numbers for each id, all of one length"
        raise DataError(f"the values are not a matrix: {error}", where=where, expected=expected) from error
    if array.ndim == 0:
        raise DataError("the values are a single number", where=where, expected="one row of numbers for each id")
    if len(array) != len(names):
        raise DataError(f"found {len(array):,} vectors and {len(names):,} ids", where=where, expected="an id a row")
    return names, as_floats(array.view(), where)
