"""NumPy's own files: one array in .npy, several by name in .npz. Pickles are never opened."""

import io
import zipfile
from typing import Any

import numpy as np
import polars as pl

from karat.errors import DataError
from karat.formats.source import Source
from karat.formats.vectors.checks import Raw, the_only_one

__all__ = ["ID_NAMES", "load", "read_npy", "read_npz"]

ID_NAMES = ("ids", "id", "item_ids", "item_id", "names", "keys")


def load(source: Source) -> Any:
    """What ``np.load`` gives, or an error that says why not."""
    try:
        return np.load(io.BytesIO(source.content) if source.path is None else source.path, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        pickled = "pickle" in str(error).lower()
        raise DataError(
            "holds pickled Python objects, which can run code when opened: refused"
            if pickled
            else f"cannot be read as NumPy's format: {error}",
            where=source.name,
            expected="plain numbers",
            hint="Save it again with np.save(path, np.stack(vectors).astype('float32'))." if pickled else None,
        ) from error


def read_npy(source: Source, key: str | None) -> Raw:
    """One array, without ids."""
    if key is not None:
        raise DataError(f"an .npy file holds one array, and none called {key!r}", where=source.name)
    return Raw(load(source))


def read_npz(source: Source, key: str | None) -> Raw:
    """Arrays by name, one of which may be the ids."""
    with load(source) as held:
        names = list(held.files)
        id_name = next((name for name in ID_NAMES if name in names and name != key), None)
        chosen = the_only_one([name for name in names if name != id_name], key, "array", source.name)
        try:
            values = held[chosen]
            ids = None if id_name is None else held[id_name]
        except (ValueError, zipfile.BadZipFile, OSError) as error:
            raise DataError(
                f"cannot be read: {error}", where=source.name, expected="plain arrays, without pickled objects"
            ) from error
    if ids is None:
        return Raw(values)
    if ids.ndim != 1 or ids.dtype.kind not in "UiuS":
        raise DataError(f"{id_name} is of shape {ids.shape} and type {ids.dtype}", where=source.name,
                        expected="a list of strings or whole numbers")  # fmt: skip
    return Raw(values, pl.Series(ids.astype(str) if ids.dtype.kind in "US" else ids))
