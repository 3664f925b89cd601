"""Blocks: all rows of some queries, from all tables, as many as fit into memory.

Tables that are all sorted by query are merged while they are read. Otherwise they are first partitioned on disk.

Rows are only appended, so the rows of a query keep their order.
"""

import shutil
from collections.abc import Iterator, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.columns import ITEM, QUERY
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import stable_order
from rankjury.io.source import in_units
from rankjury.scale.memory import Budget, ScratchFile, StoredFrame
from rankjury.scale.parquet import ParquetTable

Block = tuple[pl.DataFrame, ...]
"""One frame per table, perhaps empty."""

_ROWS_LOOKED_AT = 1_000_000


def are_sorted(tables: Sequence[ParquetTable], progress: Progress) -> bool:
    """Return whether the queries of each table ascend; only the id column is read."""
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
    """Merge sorted tables into blocks of about ``block_rows`` rows; a query with more rows makes a larger block."""
    streams = [_Stream(table, batch_rows) for table in tables]
    while unread := [stream for stream in streams if not stream.ended]:
        behind = min(unread, key=lambda stream: stream.last)
        if sum(frame.height for stream in streams for frame in stream.frames) + batch_rows > block_rows:
            block = tuple(stream.take(behind.last) for stream in streams)
            if any(frame.height for frame in block):
                yield block
        behind.read()
    rest = tuple(stream.take() for stream in streams)
    if any(frame.height for frame in rest):
        yield rest


class _Stream:
    """Sorted table that is read in batches; its last query may continue in the next batch."""

    def __init__(self, table: ParquetTable, batch_rows: int) -> None:
        self._schema = table.schema
        self._batches = table.batches(batch_rows)
        self.frames: list[pl.DataFrame] = []
        """The rows in memory."""
        self.last: Any = None
        self.ended = False
        self.read()

    def read(self) -> None:
        frame = next(self._batches, None)
        if frame is None:
            self.ended = True
        else:
            self.frames.append(frame)
            self.last = frame[QUERY][-1]

    def take(self, before: Any = None) -> pl.DataFrame:
        """Return the rows of queries that come before this one, or all rows."""
        cuts = [frame.height if before is None else int(frame[QUERY].search_sorted(before)) for frame in self.frames]
        pairs = list(zip(self.frames, cuts, strict=True))
        self.frames = [frame.slice(cut) for frame, cut in pairs if cut < frame.height]
        return pl.concat([self._schema.to_frame(), *(frame.head(cut) for frame, cut in pairs)])


_BUCKETS_PER_BLOCK = 4
"""Buckets differ in size; several small buckets fill a block better than one large bucket."""
_MIN_BUCKETS, _MAX_BUCKETS = 16, 1024


class Partition:
    """Hash partition on disk: accepts rows in any order, and returns them in blocks.

    ``rows`` is the expected number of all rows, ``block_rows`` the maximum per block; only a single query with more
    rows makes a larger block. All tables have the column query_id, of the same type.
    """

    def __init__(
        self, schemas: Sequence[pl.Schema], rows: int, block_rows: int, *, temp: Path | None = None, level: int = 0
    ) -> None:
        self.buckets = min(max(ceil(_BUCKETS_PER_BLOCK * rows / block_rows), _MIN_BUCKETS), _MAX_BUCKETS)
        self.block_rows = block_rows
        self._rows, self._added = rows, 0
        self._temp, self._level = temp, level
        self._schemas = tuple(schemas)
        self._scratch = ScratchFile(temp)
        self._pieces: list[list[list[StoredFrame]]] = [[[] for _ in range(self.buckets)] for _ in schemas]
        self._heights = np.zeros(self.buckets, dtype=np.int64)
        """Number of rows of each bucket in all tables."""

    def add(self, table: int, frame: pl.DataFrame) -> None:
        """Add rows of a table, given by its number."""
        bucket = (_hashes(frame, self._level) % np.uint64(self.buckets)).astype(np.uint16)
        ordered = _take(frame, np.argsort(bucket, kind="stable"))
        first = 0
        counts = np.bincount(bucket, minlength=self.buckets)
        self._heights += counts
        for pieces, count in zip(self._pieces[table], counts, strict=True):
            if count:
                try:
                    pieces.append(self._scratch.append(ordered.slice(first, count)))
                except OSError as error:
                    needed = self._scratch.written * max(self._rows / max(self._added, 1), 1)
                    raise self._scratch.write_error(error, needed) from error
                first += count
        self._added += frame.height

    def check_space(self, needed: float) -> None:
        """Raise an error where the temporary folder has less space than needed."""
        free = shutil.disk_usage(self._scratch.folder).free
        if free < needed:
            raise self._scratch.too_small(f"{in_units(free)} are free", needed)

    def blocks(self) -> Iterator[Block]:
        """Yield blocks; each query is in one of them, with its rows in order and, except for collisions, adjacent."""
        for group in self._groups():
            if len(group) == 1 and self._is_too_large(group[0]):
                rows, level = int(self._heights[group[0]]), self._level + 1
                with Partition(self._schemas, rows, self.block_rows, temp=self._temp, level=level) as finer:
                    for table in range(len(self._schemas)):
                        for frame in self._frames(table, group[0]):
                            finer.add(table, frame)
                    yield from finer.blocks()
            else:
                tables = range(len(self._schemas))
                yield tuple(pl.concat([self._bucket(table, bucket) for bucket in group]) for table in tables)

    def _bucket(self, table: int, bucket: int) -> pl.DataFrame:
        """Read a bucket with the rows of each query adjacent; those of queries with equal hashes stay mixed."""
        rows = pl.concat([self._schemas[table].to_frame(), *self._frames(table, bucket)])
        return _take(rows, stable_order((_hashes(rows, self._level) >> np.uint64(32)).astype(np.int64)))

    def _frames(self, table: int, bucket: int) -> Iterator[pl.DataFrame]:
        return map(self._scratch.read, self._pieces[table][bucket])

    def _groups(self) -> Iterator[list[int]]:
        """Yield the buckets that form one block."""
        group: list[int] = []
        for bucket in np.flatnonzero(self._heights).tolist():
            if group and self._heights[[*group, bucket]].sum() > self.block_rows:
                yield group
                group = []
            group.append(bucket)
        if group:
            yield group

    def _is_too_large(self, bucket: int) -> bool:
        """Return whether a bucket has too many rows, of more than one query."""
        if self._heights[bucket] <= self.block_rows:
            return False
        queries = (frame[QUERY] for table in range(len(self._schemas)) for frame in self._frames(table, bucket))
        first = next(queries)
        return not (first == first[0]).all() or not all((other == first[0]).all() for other in queries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.close()


def _hashes(frame: pl.DataFrame, level: int) -> NDArray[np.uint64]:
    """Return hashes that differ by level, so that queries of one bucket are separated on the next level."""
    return frame[QUERY].hash(level).to_numpy()


def _take(frame: pl.DataFrame, order: NDArray[np.int64]) -> pl.DataFrame:
    return frame.rechunk()[order]  # five times as fast as with several chunks


def read_blocks(
    tables: Sequence[ParquetTable],
    budget: Budget,
    *,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Iterator[Block]:
    """Yield blocks; the rows of a query are in one block, in the order of the files and, but for collisions, adjacent.

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
    """Return the tables with integer ids as text where they are compared with text."""
    unified = list(tables)
    for name in (QUERY, ITEM):
        compared = [table for table in unified if name == QUERY or table.kind != "attributes"]
        if any(table.schema[name] == pl.String for table in compared):
            unified = [table.with_text(name) if table in compared else table for table in unified]
    return unified
