"""Rows of several tables parted by query on disk, so that each part fits into memory.

Pieces are only ever appended, so the rows of a query keep the order in which they came.
"""

import shutil
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from karat.columns import QUERY
from karat.intake import stable_order
from karat.scale.memory import in_units
from karat.scale.scratch import Piece, Scratch

__all__ = ["Partition"]

_BUCKETS_PER_BLOCK = 4
"""Buckets differ in size; some small ones together fill a block better than a large one."""
_LEAST_BUCKETS, _MOST_BUCKETS = 16, 1024


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
        self._schemas = tuple(schemas)
        self._scratch = Scratch(temp)
        self._pieces: list[list[list[Piece]]] = [[[] for _ in range(self.buckets)] for _ in schemas]

    def add(self, table: int, frame: pl.DataFrame) -> None:
        """Some rows of a table, by its number."""
        bucket = (_hashes(frame, self._level) % np.uint64(self.buckets)).astype(np.uint16)
        ordered = _gathered(frame, np.argsort(bucket, kind="stable"))
        first = 0
        for pieces, count in zip(self._pieces[table], np.bincount(bucket, minlength=self.buckets), strict=True):
            if count:
                pieces.append(self._append(ordered.slice(first, count)))
                first += count
        self._added += frame.height

    def _append(self, rows: pl.DataFrame) -> Piece:
        try:
            return self._scratch.append(rows)
        except OSError as error:
            needed = self._scratch.written * max(self._rows / max(self._added, 1), 1)
            raise self._scratch.fault(error, needed) from error

    def check_space(self, needed: float) -> None:
        """Refuse to begin where so many bytes cannot fit."""
        free = shutil.disk_usage(self._scratch.folder).free
        if free < needed:
            raise self._scratch.too_small(f"{in_units(free)} are free", needed)

    def blocks(self) -> Iterator[tuple[pl.DataFrame, ...]]:
        """Each query is in one of them, with its rows in their order and, but by chance, next to each other."""
        for group in self._groups():
            if len(group) == 1 and self._is_too_large(group[0]):
                yield from self._parted_again(group[0])
            else:
                yield tuple(self._joined(table, group) for table in range(len(self._schemas)))

    def _joined(self, table: int, group: Sequence[int]) -> pl.DataFrame:
        return pl.concat([_together(self._bucket(table, bucket), self._level) for bucket in group])

    def _bucket(self, table: int, bucket: int) -> pl.DataFrame:
        return pl.concat([self._schemas[table].to_frame(), *self._frames(table, bucket)])

    def _frames(self, table: int, bucket: int) -> Iterator[pl.DataFrame]:
        return map(self._scratch.read, self._pieces[table][bucket])

    def _height(self, bucket: int) -> int:
        """Rows of all tables."""
        return sum(piece.rows for pieces in self._pieces for piece in pieces[bucket])

    def _groups(self) -> Iterator[list[int]]:
        """Buckets that together make up a block."""
        group: list[int] = []
        held = 0
        for bucket in range(self.buckets):
            rows = self._height(bucket)
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
        if self._height(bucket) <= self.block_rows:
            return False
        queries = (frame[QUERY] for table in range(len(self._schemas)) for frame in self._frames(table, bucket))
        first = next(queries)
        return not (first == first[0]).all() or not all((other == first[0]).all() for other in queries)

    def _parted_again(self, bucket: int) -> Iterator[tuple[pl.DataFrame, ...]]:
        rows, level = self._height(bucket), self._level + 1
        with Partition(self._schemas, rows, self.block_rows, temp=self._temp, level=level) as parted:
            for table in range(len(self._schemas)):
                for frame in self._frames(table, bucket):
                    parted.add(table, frame)
            yield from parted.blocks()

    def close(self) -> None:
        """Free the space."""
        self._scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _hashes(frame: pl.DataFrame, level: int) -> NDArray[np.uint64]:
    """Another hash on each level, so that what fell together once is parted the next time."""
    return frame[QUERY].hash(level).to_numpy()


def _together(frame: pl.DataFrame, level: int) -> pl.DataFrame:
    """The rows of each query next to each other, else in their order; by chance those of two queries stay mixed."""
    return _gathered(frame, stable_order((_hashes(frame, level) >> np.uint64(32)).astype(np.int64)))


def _gathered(frame: pl.DataFrame, order: NDArray[np.int64]) -> pl.DataFrame:
    return frame.rechunk()[order]  # of one chunk it is gathered five times as fast
