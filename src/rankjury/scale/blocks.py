"""Tables → blocks: all rows of some queries, of all tables, as many as fit into memory.

Tables that are all sorted by query are merged as they are read. Where one is not, all are first parted on disk.

Pieces are only ever appended, so the rows of a query keep the order in which they came.
"""

import shutil
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.convert import ITEM, QUERY, stable_order
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.io.source import in_units
from rankjury.scale.memory import Budget, ScratchFile, StoredFrame
from rankjury.scale.parquet import ParquetTable

Block = tuple[pl.DataFrame, ...]
"""One frame a table, perhaps empty."""

_ROWS_LOOKED_AT = 1_000_000


def are_sorted(tables: Sequence[ParquetTable], progress: Progress) -> bool:
    """Whether the queries of each table ascend; only their column is read."""
    rows, done = sum(table.rows for table in tables), 0
    for table in tables:
        last = None
        for frame in table.batches(_ROWS_LOOKED_AT, queries_alone=True):
            progress.update("Reading", done, rows)
            queries = frame[QUERY]
            if not queries.is_sorted() or (last is not None and queries[0] < last):
                return False
            last = queries[-1]
            done += frame.height
    return True


def merge_sorted(tables: Sequence[ParquetTable], block_rows: int, batch_rows: int) -> Iterator[Block]:
    """Blocks of about so many rows, read in batches; a query that has more makes a larger block."""
    streams = [_Stream(table, batch_rows) for table in tables]
    while unread := [stream for stream in streams if not stream.ended]:
        behind = min(unread, key=lambda stream: stream.last)
        if sum(stream.rows for stream in streams) + batch_rows > block_rows:
            block = tuple(stream.take(behind.last) for stream in streams)
            if any(frame.height for frame in block):
                yield block
        behind.read()
    rest = tuple(stream.take_all() for stream in streams)
    if any(frame.height for frame in rest):
        yield rest


class _Stream:
    """A sorted table that is read batch after batch; its last query may go on in the next one."""

    def __init__(self, table: ParquetTable, batch_rows: int) -> None:
        self._schema = table.schema
        self._batches = table.batches(batch_rows)
        self._held: list[pl.DataFrame] = []
        self.last: Any = None
        self.ended = False
        self.read()

    @property
    def rows(self) -> int:
        """That are held."""
        return sum(frame.height for frame in self._held)

    def read(self) -> None:
        frame = next(self._batches, None)
        if frame is None:
            self.ended = True
        else:
            self._held.append(frame)
            self.last = frame[QUERY][-1]

    def take(self, before: Any) -> pl.DataFrame:
        """The rows of queries that come before this one."""
        cuts = [int(frame[QUERY].search_sorted(before)) for frame in self._held]
        taken = [frame.head(cut) for frame, cut in zip(self._held, cuts, strict=True)]
        self._held = [frame.slice(cut) for frame, cut in zip(self._held, cuts, strict=True) if cut < frame.height]
        return pl.concat([self._schema.to_frame(), *taken])

    def take_all(self) -> pl.DataFrame:
        taken, self._held = self._held, []
        return pl.concat([self._schema.to_frame(), *taken])


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
        self._scratch = ScratchFile(temp)
        self._pieces: list[list[list[StoredFrame]]] = [[[] for _ in range(self.buckets)] for _ in schemas]

    def add(self, table: int, frame: pl.DataFrame) -> None:
        """Some rows of a table, by its number."""
        bucket = (_hashes(frame, self._level) % np.uint64(self.buckets)).astype(np.uint16)
        ordered = _take(frame, np.argsort(bucket, kind="stable"))
        first = 0
        for pieces, count in zip(self._pieces[table], np.bincount(bucket, minlength=self.buckets), strict=True):
            if count:
                pieces.append(self._append(ordered.slice(first, count)))
                first += count
        self._added += frame.height

    def _append(self, rows: pl.DataFrame) -> StoredFrame:
        try:
            return self._scratch.append(rows)
        except OSError as error:
            needed = self._scratch.written * max(self._rows / max(self._added, 1), 1)
            raise self._scratch.write_error(error, needed) from error

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
                yield tuple(
                    pl.concat([self._bucket(table, bucket) for bucket in group]) for table in range(len(self._schemas))
                )

    def _bucket(self, table: int, bucket: int) -> pl.DataFrame:
        """The rows of each query next to each other, else in their order; by chance those of two queries stay mixed."""
        rows = pl.concat([self._schemas[table].to_frame(), *self._frames(table, bucket)])
        return _take(rows, stable_order((_hashes(rows, self._level) >> np.uint64(32)).astype(np.int64)))

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


def _take(frame: pl.DataFrame, order: NDArray[np.int64]) -> pl.DataFrame:
    return frame.rechunk()[order]  # of one chunk it is gathered five times as fast


def read_blocks(
    tables: Sequence[ParquetTable],
    budget: Budget,
    *,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Iterator[Block]:
    """Every query's rows are in one block, in the order of the files and, but by chance, next to each other.

    Ids have the same type in all tables: Int64 where all are whole numbers, else String.
    """
    alike = unify_id_types(tables)
    rows = sum(table.rows for table in alike)
    bytes_per_row = sum(table.bytes_per_row * table.rows for table in alike) / rows
    block_rows, batch_rows = budget.block_rows(bytes_per_row), budget.batch_rows(bytes_per_row)
    if are_sorted(alike, progress):
        yield from merge_sorted(alike, block_rows, batch_rows)
        return
    with Partition([table.schema for table in alike], rows, block_rows, temp=temp) as partition:
        partition.check_space(rows * bytes_per_row)
        done = 0
        for number, table in enumerate(alike):
            for frame in table.batches(batch_rows):
                progress.update("Partitioning", done, rows)
                partition.add(number, frame)
                done += frame.height
        yield from partition.blocks()


def unify_id_types(tables: Sequence[ParquetTable]) -> list[ParquetTable]:
    """Whole numbers become text where they are compared with text."""
    found = list(tables)
    for name in (QUERY, ITEM):
        compared = [table for table in found if name == QUERY or table.kind != "attributes"]
        if any(table.schema[name] == pl.String for table in compared):
            found = [table.with_text(name) if table in compared else table for table in found]
    return found
