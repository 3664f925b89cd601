"""What is true of vectors once they are in: an id a row, each once, all numbers finite, one length."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Matrix, Vectors, listed, names_of
from rankjury.errors import DataError

_CHOICES_LISTED = 20


@dataclass(frozen=True, eq=False)
class Raw:
    """Vectors as a file holds them; ``ids`` is None where it holds none."""

    values: NDArray[np.generic]
    ids: pl.Series | None = None


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
    return Vectors(names_of(ids, where), np.ascontiguousarray(numbers), where).check()


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
