"""Content hashes of ids, vectors, golds, strings and JSON values."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Gold, Vectors
from rankjury.core.validation import Record

_ROWS_AT_ONCE = 4096
_JUDGMENTS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class GoldDigest(Record):
    """Hash and size of a gold: equal for the same judgments, whatever the file format and the order of rows."""

    sha256: str
    queries: int
    judgments: int


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


def digest_gold(gold: Gold | GoldDigest | None) -> GoldDigest | None:
    """Return the digest of a gold's judgments, sorted by query, item and grade; None where they are not listed."""
    if gold is None or isinstance(gold, GoldDigest):
        return gold
    if gold.lookup is not None or gold.counted is not None:
        return None
    if "digest" not in gold.remembered:
        frame = gold.frame().with_columns(pl.col("query_id", "item_id").cast(pl.String), pl.col("grade") + 0.0)
        digest = sha256(hash_json([gold.relevant_from, gold.ordered, gold.complete]).encode())
        for rows in frame.sort("query_id", "item_id", "grade").iter_slices(_JUDGMENTS_AT_ONCE):
            for name in ("query_id", "item_id"):  # with the lengths, so that boundaries are part of the hash
                digest.update(rows[name].str.len_bytes().to_numpy().astype("<u4").tobytes())
                digest.update(rows[name].str.join("").item().encode())
            digest.update(rows["grade"].to_numpy().astype("<f8").tobytes())
        gold.remembered["digest"] = GoldDigest(digest.hexdigest(), len(gold), len(gold.items))
    found: GoldDigest = gold.remembered["digest"]
    return found


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
