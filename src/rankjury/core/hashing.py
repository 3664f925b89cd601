"""What tells one set of vectors from another, whatever the order of its rows."""

from hashlib import sha256

import numpy as np
import polars as pl

from rankjury.core.types import Vectors

_ROWS_AT_ONCE = 4096


def fingerprint_ids(ids: pl.Series) -> str:
    """Of ids in their own order."""
    digest = sha256()
    for name in ids.cast(pl.String).sort().to_list():
        digest.update(str(name).encode() + b"\0")
    return digest.hexdigest()


def fingerprint(vectors: Vectors) -> str:
    """Of ids and numbers, row by row in the order of ids; the width of the numbers counts as well."""
    digest = sha256(fingerprint_ids(vectors.ids).encode() + str(vectors.values.dtype).encode())
    order = vectors.ids.cast(pl.String).arg_sort().to_numpy()
    for first in range(0, len(order), _ROWS_AT_ONCE):
        digest.update(np.ascontiguousarray(vectors.values[order[first : first + _ROWS_AT_ONCE]]).tobytes())
    return digest.hexdigest()
