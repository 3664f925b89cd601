"""Content hashes of ids, vectors, strings and JSON values."""

import json
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Vectors

_ROWS_AT_ONCE = 4096


def hash_ids(ids: pl.Series) -> str:
    """Return the hash of a set of ids, independent of their order."""
    digest = sha256()
    for name in ids.cast(pl.String).sort().to_list():
        digest.update(str(name).encode() + b"\0")
    return digest.hexdigest()


def hash_vectors(vectors: Vectors) -> str:
    """Return the hash of ids, numbers and their type, independent of the row order."""
    digest = sha256(hash_ids(vectors.ids).encode() + str(vectors.values.dtype).encode())
    order = vectors.ids.cast(pl.String).arg_sort().to_numpy()
    for first in range(0, len(order), _ROWS_AT_ONCE):
        digest.update(np.ascontiguousarray(vectors.values[order[first : first + _ROWS_AT_ONCE]]).tobytes())
    return digest.hexdigest()


def hash_strings(*columns: pl.Series) -> str:
    """Return the hash of strings row by row, each preceded by its length, so that boundaries are part of the hash."""
    digest = sha256()
    for row in zip(*columns, strict=True):
        for text in row:
            content = text.encode()
            digest.update(len(content).to_bytes(8, "little"))
            digest.update(content)
    return digest.hexdigest()


def hash_json(value: Any) -> str:
    """Return the hash of JSON values, independent of the order of keys."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return sha256(canonical.encode()).hexdigest()
