"""Where the rows of an evaluation are, and how they come in pieces of buckets of queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from rankjury.core.convert import ITEM, QUERY
from rankjury.scale.blocks import unify_id_types
from rankjury.scale.parquet import ParquetTable
from rankjury.scale.spark.frames import SparkTable, text_ids
from rankjury.scale.spark.jobs import SparkJobs
from rankjury.scale.spark.shuffle import PIECES, PackRows, pack_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_UNKNOWN = 1 << 60
"""Spark's size of a table of which it knows nothing, or more."""
_ROWS_PACKED = (1_000_000, 4_000_000)
_ROWS_IN_A_PIECE = 500
"""Fewer would cost more than they hold."""
BYTES_IN_A_BUCKET = 8 << 20
"""Of what a table's size is taken to be; of Parquet that is a million rows or so."""
_ROWS_READ = (100_000, 3_000_000)
_TASKS_OF_A_CORE = 4


@dataclass(frozen=True)
class Buckets:
    """Into how many buckets rows go, and what the pieces of a bucket are sent by: buckets take turns."""

    number: int
    parts: tuple[int, ...]

    @property
    def rows_packed(self) -> int:
        """At once."""
        return min(max(_ROWS_PACKED[0], self.number * _ROWS_IN_A_PIECE), _ROWS_PACKED[1])


class RowSource(Protocol):
    """The gold, the systems' rankings and the attributes."""

    @property
    def size(self) -> int:
        """In bytes, about."""

    @property
    def schemas(self) -> tuple[pl.Schema, ...]: ...

    @property
    def texts(self) -> Sequence[str]:
        """The ids that are compared as text."""

    def pieces(self, jobs: SparkJobs, buckets: Buckets) -> "DataFrame": ...


@dataclass(frozen=True, eq=False)
class DataFrameSource:
    """DataFrames: Spark reads, and hands over rows to be packed."""

    tables: Sequence[SparkTable]

    @cached_property
    def texts(self) -> list[str]:
        return text_ids(self.tables)

    @cached_property
    def schemas(self) -> tuple[pl.Schema, ...]:
        return tuple(one.schema(self.texts) for one in self.tables)

    @property
    def size(self) -> int:
        return sum(_size(one.frame) for one in self.tables)

    def pieces(self, jobs: SparkJobs, buckets: Buckets) -> "DataFrame":
        found = [
            jobs.map_batches(
                one.bucketed(self.texts, buckets.number),
                PackRows(number, one.kind, one.where, tuple(one.columns.items()), buckets.parts, buckets.rows_packed),
                PIECES,
            )
            for number, one in enumerate(self.tables)
        ]
        return reduce(lambda ours, theirs: ours.unionAll(theirs), found)


def _size(frame: "DataFrame") -> int:
    """What Spark takes the size of all that a table is made of to be, before anything is read.

    One that it knows nothing of counts as large enough for the partitions that it would make itself.
    """
    usual = BYTES_IN_A_BUCKET * int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    sizes = [int(str(leaves.apply(place).stats().sizeInBytes())) for place in range(leaves.size())]
    return sum(size if size < _UNKNOWN else usual for size in sizes)


class ParquetSource:
    """Parquet on the machine where all tasks are: they read it themselves, which takes a third of the time."""

    def __init__(self, tables: Sequence[ParquetTable]) -> None:
        self._tables = [  # tasks may work in another folder
            replace(table, parts=tuple(replace(part, path=part.path.absolute()) for part in table.parts))
            for table in unify_id_types(tables)
        ]

    @property
    def texts(self) -> list[str]:
        gold = self._tables[0].schema
        return [name for name in (QUERY, ITEM) if gold[name] == pl.String]

    @property
    def schemas(self) -> tuple[pl.Schema, ...]:
        return tuple(table.schema for table in self._tables)

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for table in self._tables for path in table.files)

    def pieces(self, jobs: SparkJobs, buckets: Buckets) -> "DataFrame":
        cores = jobs.spark.sparkContext.defaultParallelism
        stretches = list(self._stretches(_TASKS_OF_A_CORE * cores))
        numbers = jobs.spark.range(len(stretches), numPartitions=len(stretches))
        return jobs.map_batches(numbers, _ReadRanges(jobs.broadcast((self._tables, stretches)), buckets), PIECES)

    def _stretches(self, tasks: int) -> Iterator[tuple[int, int, int, int]]:
        """Table, file, and the rows from the first up to the last."""
        rows = sum(table.rows for table in self._tables)
        step = min(max(rows // tasks, _ROWS_READ[0]), _ROWS_READ[1])
        for number, table in enumerate(self._tables):
            for place, part in enumerate(table.parts):
                for first in range(0, part.rows, step):
                    yield number, place, first, min(first + step, part.rows)


@dataclass(frozen=True)
class _ReadRanges:
    """Numbers of stretches → the pieces of their rows."""

    broadcast: Any
    buckets: Buckets

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        tables: Sequence[ParquetTable]
        tables, stretches = self.broadcast.value
        for batch in batches:
            for task in batch.column(0).to_pylist():
                number, part, first, last = stretches[task]
                for rows in tables[number].read_range(part, first, last, self.buckets.rows_packed):
                    bucket = (rows[QUERY].hash(0).to_numpy() % np.uint64(self.buckets.number)).astype(np.int64)
                    yield pack_pieces(rows.rechunk(), bucket, number, self.buckets.parts)
