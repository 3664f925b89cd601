"""What the tests of the formats share: writing files, compressing them, and comparing rows to the last bit."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import zstandard

from rankjury.io.formats import read

Row = tuple[str, str, float]

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def put(folder: Path, name: str, content: str | bytes) -> Path:
    """A file with this content, compressed as its suffix says."""
    data = content.encode() if isinstance(content, str) else content
    path = folder / name
    path.write_bytes(COMPRESS[path.suffix if path.suffix in COMPRESS else ""](data))
    return path


def rows_of(frame: pl.DataFrame) -> list[tuple[str, str, str]]:
    """Ids as strings and the number in hexadecimal, so that the last bit and the sign of zero count."""
    return [(str(query), str(item), float(number).hex()) for query, item, number in frame.iter_rows()]


def read_rows(path: Path, kind: str, form: str | None = None) -> list[tuple[str, str, str]]:
    return rows_of(read(path, kind, form).select("query_id", "item_id", "grade" if kind == "gold" else "score"))


def exact(rows: list[Row]) -> list[tuple[str, str, str]]:
    """Expected rows in the form of :func:`rows_of`."""
    return [(query, item, number.hex()) for query, item, number in rows]
