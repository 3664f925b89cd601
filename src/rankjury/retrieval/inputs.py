"""Vectors as a script has them: a matrix, a dict of id to vector, a path, or ``Vectors``."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Vectors, as_floats
from rankjury.errors import DataError
from rankjury.io.vectors import read_vectors
from rankjury.io.vectors.checks import checked


def as_vectors(given: Any, ids: pl.Series | None, name: str) -> Vectors:
    """A view of a matrix: vectors are made read-only, and the caller's array is the caller's."""
    if isinstance(given, Vectors):
        return given.check()
    if isinstance(given, Mapping):
        return Vectors(given, source=name).check()
    if isinstance(given, str | Path):
        return read_vectors(given)
    try:
        values = as_floats(np.asarray(given).view(), name)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"cannot be read: {error}", where=name, expected="a matrix, a dict, a path, or Vectors"
        ) from error
    numbers = pl.int_range(len(values), eager=True).cast(pl.String) if ids is None else ids
    return replace(checked(numbers, values, name), numbered=ids is None)
