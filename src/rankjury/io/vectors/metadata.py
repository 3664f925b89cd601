"""Metadata that rankjury stores in an .npz: how its vectors were made."""

import zipfile
from pathlib import Path
from typing import Any

from rankjury.errors import DataError, guard_reading
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
