"""Vectors to and from PostgreSQL's binary forms, a block at a time.

A row of COPY BINARY is the number of its fields, then each field's length and bytes; a vector is its dimension, two
unused bytes, and its numbers, big end first. All fields but the attributes have one length, so a block of rows is one
array of records; texts are put between the records.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Matrix, cut_rows
from rankjury.errors import DataError

KINDS = {"vector": ">f4", "halfvec": ">f2"}
"""The types of pgvector, and their numbers."""
_START = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_HEAD = 4
"""Bytes of a vector before its numbers."""
_NULL = b"\xff\xff\xff\xff"
_BYTES_IN_A_BLOCK = 1 << 16
"""No more than a socket takes at once."""


def load(
    cursor: Any, statement: str, vectors: Matrix, texts: pl.DataFrame, kind: str, progress: Progress = NO_PROGRESS
) -> None:
    """Stream rows into a table: its number, its vector, its texts."""
    with cursor.copy(statement) as copy:
        copy.write(_START)
        for done, block in blocks_of(vectors, texts, kind):
            copy.write(block)
            progress.update("Building", done, len(vectors))
        copy.write(_END)


def blocks_of(vectors: Matrix, texts: pl.DataFrame, kind: str) -> Iterator[tuple[int, bytes | memoryview]]:
    """The bytes of the rows, with how many rows there are up to there."""
    dimensions = vectors.shape[1]
    record = _record(dimensions, kind)
    records = np.zeros(max(1, _BYTES_IN_A_BLOCK // record.itemsize), dtype=record)
    records["fields"], records["row_bytes"] = 2 + texts.width, 4
    records["vector_bytes"], records["dimensions"] = 4 + dimensions * np.dtype(KINDS[kind]).itemsize, dimensions
    for first, last in cut_rows(len(vectors), len(records)):
        part = records[: last - first]
        part["row"] = np.arange(first, last)
        part["numbers"] = _checked(vectors[first:last], kind, first)
        yield last, _between(part, texts[first:last]) if texts.width else memoryview(part.view(np.uint8).data)


def _record(dimensions: int, kind: str) -> "np.dtype[np.void]":
    lengths = [("fields", ">i2"), ("row_bytes", ">i4"), ("row", ">i4"), ("vector_bytes", ">i4")]
    return np.dtype([*lengths, ("dimensions", ">i2"), ("unused", ">i2"), ("numbers", KINDS[kind], (dimensions,))])


def _checked(block: Matrix, kind: str, first: int = 0) -> Matrix:
    """The numbers, refused where the type cannot hold them."""
    with np.errstate(over="ignore"):
        held = block.astype(KINDS[kind][1:], copy=False)
    if not np.isfinite(held).all():
        row = first + int(np.argmin(np.isfinite(held).all(axis=1)))
        hint = "Use type vector: halfvec holds no number beyond 65,504." if kind == "halfvec" else None
        raise DataError(f"vector {row} has a number that {kind} cannot hold", expected="finite numbers", hint=hint)
    return held


def _between(records: "np.ndarray[Any, Any]", texts: pl.DataFrame) -> bytes:
    """Every record followed by the texts of its row."""
    size, plain = records.dtype.itemsize, records.tobytes()
    tails = [_fields(column) for column in texts.iter_columns()]
    heads = [plain[at : at + size] for at in range(0, len(plain), size)]
    return b"".join([part for row in zip(heads, *tails, strict=True) for part in row])


def _fields(texts: pl.Series) -> list[bytes]:
    """Each text as a field; the same text is encoded once."""
    known = {text: _field(text) for text in texts.unique()}
    return [known[text] for text in texts]


def _field(text: str | None) -> bytes:
    if text is None:
        return _NULL
    if "\0" in text:
        raise DataError(f"the attribute {text[:40]!r} holds a zero byte", expected="texts that PostgreSQL can hold")
    encoded = text.encode()
    return len(encoded).to_bytes(4, "big") + encoded


def parameters_of(queries: Matrix, kind: str) -> list[bytes]:
    """Each vector as a parameter of a statement."""
    head = queries.shape[1].to_bytes(2, "big") + b"\0\0"
    return [head + row.tobytes() for row in _checked(queries, kind).astype(KINDS[kind])]


def vectors_of(rows: list[bytes], kind: str, source: str, width: int | None = None) -> Matrix:
    """Read vectors as a statement returned them, one row each; all must have ``width``, or the same, dimensions."""
    widths = sorted({int.from_bytes(row[:2], "big") for row in rows} | ({width} if width is not None else set()))
    if len(widths) > 1:
        found = " and ".join(f"{width:,}" for width in widths)
        hint = "Choose the rows of one model with where."
        raise DataError(f"{source} has vectors of {found} dimensions", expected="one number of dimensions", hint=hint)
    octets = np.frombuffer(b"".join(row[_HEAD:] for row in rows), dtype=KINDS[kind])
    return octets.reshape(len(rows), widths[0]).astype(KINDS[kind][1:])
