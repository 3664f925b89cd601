"""rankjury's record, in an .npz, of how its vectors were made; and the hashes by which vectors and texts are known."""

import os
import zipfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.types import Vectors
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.jsonl import parse_json
from rankjury.io.source import plain_suffix
from rankjury.io.vectors.headers import check_member

SCHEMA = "rankjury.vectors/1"
METADATA_NAME = "rankjury.json"
VALUES_NAME = "vectors"


def read_metadata(path: str | Path) -> dict[str, Any] | None:
    """rankjury's record of how the vectors were made; None where the file has none."""
    if plain_suffix(str(path)) != ".npz":
        return None
    with guard_reading(str(path), ".npz"), zipfile.ZipFile(path) as archive:
        if METADATA_NAME not in archive.namelist():
            return None
        return parse_metadata(read_record(archive, str(path)), str(path))


def read_record(archive: zipfile.ZipFile, where: str) -> bytes:
    """Return rankjury's record as an .npz file holds it."""
    return archive.read(check_member(archive, METADATA_NAME, where))


def parse_metadata(content: bytes, where: str) -> dict[str, Any]:
    """The record, checked to be one that this rankjury knows."""
    place = f"{where}:{METADATA_NAME}"
    found = parse_json(content, place, expected=SCHEMA)
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise DataError(f"found the schema {schema!r}", where=place, expected=SCHEMA, hint="Is this rankjury too old?")
    numbers = [found.get(name) for name in ("count", "dimensions")]
    scale = found.get("scale")
    if any(type(one) is not int or one < 1 for one in numbers) or not (scale is None or type(scale) in (int, float)):
        raise DataError("found no count, dimensions or scale that can be", where=place, expected="positive numbers")
    return dict(found)


def fingerprint(vectors: Vectors) -> str:
    """A hash of ids and numbers as they are read, whatever codes the file holds them as."""
    values = np.ascontiguousarray(vectors.values, vectors.values.dtype.newbyteorder("<"))
    hasher = sha256(f"{hash_strings(vectors.ids)} {values.dtype.str} {values.shape}".encode())
    hasher.update(values.data)
    return hasher.hexdigest()


def hash_strings(*columns: pl.Series) -> str:
    """Over the strings row by row, each behind its length, so that none can run into the next."""
    hasher = sha256()
    for row in zip(*columns, strict=True):
        for text in row:
            content = text.encode()
            hasher.update(len(content).to_bytes(8, "little"))
            hasher.update(content)
    return hasher.hexdigest()


def time_now() -> str:
    """Now, or what SOURCE_DATE_EPOCH says, in UTC to the second."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = datetime.fromtimestamp(int(given), UTC) if given else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"SOURCE_DATE_EPOCH is {given!r}", expected="whole seconds since 1970") from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
