"""Rows of several tables parted by query on disk, so that each part fits into memory.

The files have no name: whatever happens, also a kill, their space is freed. Pieces are only ever appended, so the rows
of a query keep the order in which they came.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.columns import QUERY
from karat.errors import DataError
from karat.intake import stable_order
from karat.scale.memory import in_units

__all__ = ["Partition", "packed_size"]

_BUCKETS_PER_BLOCK = 4
"""Buckets differ in size; some small ones together fill a block better than a large one."""
_LEAST_BUCKETS, _MOST_BUCKETS = 16, 1024
_HINT = "Name another folder with --temp DIR, or in the environment as TMPDIR."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class _Piece:
    """Some rows of one bucket, as an Arrow stream in a table's file."""

    offset: int
    size: int
    rows: int


class _Store:
    """The pieces of one table, in a file without a name."""

    def __init__(self, schema: pl.Schema, buckets: int, file: BinaryIO) -> None:
        self.schema, self.file = schema, file
        self.pieces: list[list[_Piece]] = [[] for _ in range(buckets)]
        self.written = 0

    def append(self, frame: pl.DataFrame, counts: Sequence[int]) -> None:
        """Rows in the order of their buckets, so many of each."""
        first = 0
        for pieces, count in zip(self.pieces, counts, strict=True):
            if count:
                packed = _packed(frame.slice(first, count))
                pieces.append(_Piece(self.written, len(packed), count))
                self._write(packed)
                first += count

    def _write(self, packed: memoryview) -> None:
        while packed:  # of what does not fit, or is very large, only a part is taken
            done = os.write(self.file.fileno(), packed)
            self.written += done
            packed = packed[done:]

    def rows(self, bucket: int) -> int:
        return sum(piece.rows for piece in self.pieces[bucket])

    def frames(self, bucket: int) -> Iterator[pl.DataFrame]:
        for piece in self.pieces[bucket]:
            yield pl.read_ipc_stream(BytesIO(os.pread(self.file.fileno(), piece.size, piece.offset)))

    def read(self, bucket: int) -> pl.DataFrame:
        return pl.concat([self.schema.to_frame(), *self.frames(bucket)])


def _packed(frame: pl.DataFrame) -> memoryview:
    """As an Arrow stream, in the old layout of texts, which takes no more than is shown of them."""
    packed = BytesIO()
    frame.write_ipc_stream(packed, compat_level=pl.CompatLevel.oldest())
    return packed.getbuffer()


def packed_size(frame: pl.DataFrame) -> int:
    """How many bytes it takes on disk."""
    return len(_packed(frame))


class Partition:
    """Takes rows in any order, gives them back in blocks: all rows of some queries, of all tables.

    ``rows`` is how many are expected of all tables together, ``block_rows`` how many a block shall have at most; only a
    single query that has more makes a larger one. All tables have the column query_id, of the same type.
    """

    def __init__(
        self, schemas: Sequence[pl.Schema], rows: int, block_rows: int, *, temp: Path | None = None, level: int = 0
    ) -> None:
        self.buckets = min(max(ceil(_BUCKETS_PER_BLOCK * rows / block_rows), _LEAST_BUCKETS), _MOST_BUCKETS)
        self.block_rows = block_rows
        self._rows, self._added = rows, 0
        self._temp, self._level = temp, level
        self._folder = str(temp or tempfile.gettempdir())
        self._schemas = tuple(schemas)
        self._files = ExitStack()
        self._stores = [_Store(schema, self.buckets, self._file()) for schema in schemas]

    def _file(self) -> BinaryIO:
        try:
            return self._files.enter_context(tempfile.TemporaryFile(dir=self._temp, buffering=0))
        except OSError as error:
            self.close()
            raise self._unwritable(error) from error

    def add(self, table: int, frame: pl.DataFrame) -> None:
        """Some rows of a table, by its number."""
        bucket = (_hashes(frame, self._level) % np.uint64(self.buckets)).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        counts = np.bincount(bucket, minlength=self.buckets).tolist()
        try:
            self._stores[table].append(_gathered(frame, order), counts)
        except OSError as error:
            if error.errno not in _FULL:
                raise self._unwritable(error) from error
            written = sum(store.written for store in self._stores)
            needed = written * max(self._rows / max(self._added, 1), 1)
            raise self._full(f"{error.strerror} after {in_units(written)}", needed) from error
        self._added += frame.height

    def check_space(self, needed: float) -> None:
        """Refuse to begin where so many bytes cannot fit."""
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise self._full(f"{in_units(free)} are free", needed)

    def _unwritable(self, error: OSError) -> DataError:
        found = f"the temporary folder cannot be written: {error.strerror}"
        return DataError(found, where=self._folder, hint=_HINT)

    def _full(self, found: str, needed: float) -> DataError:
        return DataError(
            f"the temporary folder is too small: {found}",
            where=self._folder,
            expected=f"room for about {in_units(needed)}",
            hint=_HINT,
        )

    def blocks(self) -> Iterator[tuple[pl.DataFrame, ...]]:
        """Each query is in one of them, with its rows in their order and, but by chance, next to each other."""
        for group in self._groups():
            if len(group) == 1 and self._is_too_large(group[0]):
                yield from self._parted_again(group[0])
            else:
                yield tuple(self._joined(store, group) for store in self._stores)

    def _joined(self, store: _Store, group: Sequence[int]) -> pl.DataFrame:
        return pl.concat([_together(store.read(bucket), self._level) for bucket in group])

    def _groups(self) -> Iterator[list[int]]:
        """Buckets that together make up a block."""
        group: list[int] = []
        held = 0
        for bucket in range(self.buckets):
            rows = sum(store.rows(bucket) for store in self._stores)
            if group and held + rows > self.block_rows:
                yield group
                group, held = [], 0
            if rows:
                group.append(bucket)
                held += rows
        if group:
            yield group

    def _is_too_large(self, bucket: int) -> bool:
        """Whether there are too many rows, and of more than one query."""
        if sum(store.rows(bucket) for store in self._stores) <= self.block_rows:
            return False
        queries = (frame[QUERY] for store in self._stores for frame in store.frames(bucket))
        first = next(queries)
        return not (first == first[0]).all() or not all((other == first[0]).all() for other in queries)

    def _parted_again(self, bucket: int) -> Iterator[tuple[pl.DataFrame, ...]]:
        rows = sum(store.rows(bucket) for store in self._stores)
        with Partition(self._schemas, rows, self.block_rows, temp=self._temp, level=self._level + 1) as parted:
            for table, store in enumerate(self._stores):
                for frame in store.frames(bucket):
                    parted.add(table, frame)
            yield from parted.blocks()

    def close(self) -> None:
        """Free the space."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _hashes(frame: pl.DataFrame, level: int) -> NDArray[np.uint64]:
    """Another hash on each level, so that what fell together once is parted the next time."""
    return frame[QUERY].hash(level).to_numpy()


def _together(frame: pl.DataFrame, level: int) -> pl.DataFrame:
    """The rows of each query next to each other, else in their order; by chance those of two queries stay mixed."""
    return _gathered(frame, stable_order((_hashes(frame, level) >> np.uint64(32)).astype(np.int64)))


def _gathered(frame: pl.DataFrame, order: NDArray[np.int64]) -> pl.DataFrame:
    return frame.rechunk()[order]  # of one chunk it is gathered five times as fast
