"""Input tables on Spark, as DataFrames or local Parquet files, packed into pieces that are shuffled by query.

Spark moves rows one by one. A piece contains thousands of rows of one bucket of queries as Arrow bytes, which Spark
moves as one row.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from rankjury.core.columns import GRADE, ITEM, QUERY
from rankjury.core.convert import check_grades
from rankjury.core.types import Ints
from rankjury.errors import DataError, UsageError
from rankjury.scale.blocks import unify_id_types
from rankjury.scale.memory import to_ipc
from rankjury.scale.parquet import ParquetTable, table_columns
from rankjury.scale.spark.jobs import SparkJobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKET = "rankjury:bucket"
"""A name that no attribute may have."""
PART = "part"
PIECES = f"{PART} int, `{BUCKET}` int, number int, piece binary"
BYTES_IN_A_BUCKET = 8 << 20
"""Of a table's estimated size; about a million rows of Parquet."""
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double", "boolean")
_TEXTS = ("string", "decimal(20,0)")
"""Unsigned 64-bit integers are read as decimal(20,0); they are compared as text, as everywhere."""
_UNKNOWN_SIZE = 1 << 60
"""Minimum size that Spark reports for tables of unknown size."""
_ROWS_PACKED = (1_000_000, 4_000_000)
_ROWS_IN_A_PIECE = 500
"""Smaller pieces cost more than they save."""
_ROWS_READ = (100_000, 3_000_000)
_TASKS_OF_A_CORE = 4


@dataclass(frozen=True)
class Buckets:
    """Number of buckets of queries, and the keys by which their pieces are shuffled, assigned in turn."""

    number: int
    keys: tuple[int, ...]

    @property
    def rows_packed(self) -> int:
        """Number of rows packed at once."""
        return min(max(_ROWS_PACKED[0], self.number * _ROWS_IN_A_PIECE), _ROWS_PACKED[1])


class RowSource(Protocol):
    """The gold, the rankings of the systems, and the attributes."""

    @property
    def size(self) -> int:
        """Estimated bytes."""

    @property
    def schemas(self) -> tuple[pl.Schema, ...]: ...

    @property
    def texts(self) -> Sequence[str]:
        """The id columns that are compared as text."""

    def pieces(self, jobs: SparkJobs, buckets: Buckets) -> "DataFrame": ...


def pack_pieces(rows: pl.DataFrame, bucket: Ints, number: int, keys: Sequence[int]) -> Any:
    """Return a record batch with one piece per bucket, its key for the shuffle and the number of the table."""
    order = np.argsort(bucket.astype(np.uint16), kind="stable")
    ordered, sorted_buckets = rows[order], bucket[order]
    edges = np.flatnonzero(np.diff(sorted_buckets)) + 1
    firsts, lasts = np.concatenate(([0], edges)), np.concatenate((edges, [len(order)]))
    pieces = [bytes(to_ipc(ordered.slice(a, b - a))) for a, b in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    buckets = sorted_buckets[firsts]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.array(keys)[buckets % len(keys)], pa.int32()),
            pa.array(buckets, pa.int32()),
            pa.array(np.full(len(pieces), number), pa.int32()),
            pa.array(pieces, pa.binary()),
        ],
        names=[PART, BUCKET, "number", "piece"],
    )


def arrow_to_polars(arrow: Any) -> pl.DataFrame:
    """Convert Arrow data from Spark; times become UTC, whatever the session's time zone."""
    return pl.DataFrame(pl.from_arrow(arrow)).with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A DataFrame with the roles of its columns."""

    frame: "DataFrame"
    kind: str
    """``gold``, ``run`` or ``attributes``."""
    where: str
    columns: dict[str, str]
    """rankjury's names → the frame's."""

    def type_of(self, name: str) -> str:
        return str(dict(self.frame.dtypes)[self.columns[name]])

    def is_id(self, name: str) -> bool:
        """Return whether a column holds ids of queries or items."""
        return name == QUERY or (name == ITEM and self.kind != "attributes")

    def bucketed(self, texts: Sequence[str], buckets: int) -> "DataFrame":
        """Return the columns in order, with ids of one type, and the bucket of the query last.

        Spark's conversion to Arrow fails on dots in names, so columns are named by their number.
        """
        from pyspark.sql import functions as f

        def typed(name: str) -> Any:
            column = f.col(quote_name(self.columns[name]))
            if self.is_id(name):
                return column.cast("string" if name in texts else "bigint")
            return column if self.kind == "attributes" else column.cast("double")

        rows = self.frame.select(*(typed(name).alias(f"c{place}") for place, name in enumerate(self.columns)))
        query = f"c{list(self.columns).index(QUERY)}"
        return rows.withColumn(BUCKET, f.pmod(f.xxhash64(f.col(query)), f.lit(buckets)).cast("int"))

    def schema(self, texts: Sequence[str]) -> pl.Schema:
        """Return the schema of the rows in a block."""
        if self.kind == "attributes":
            empty = arrow_to_polars(self.bucketed(texts, 1).drop(BUCKET).limit(0).toArrow())
            return pl.Schema(zip(self.columns, empty.dtypes, strict=True))
        types = {name: pl.String() if name in texts else pl.Int64() for name in (QUERY, ITEM)}
        return pl.Schema({name: types.get(name, pl.Float64()) for name in self.columns})


def quote_name(name: str) -> str:
    """Quote a column name for Spark."""
    return f"`{name.replace('`', '``')}`"


def spark_table(frame: Any, kind: str, where: str) -> SparkTable:
    """Check the columns of a gold, a run, or attributes of queries, and their types."""
    if not hasattr(frame, "mapInArrow"):
        raise UsageError(f"the {where} is a {type(frame).__name__}", expected="a Spark DataFrame")
    if frame.isStreaming:
        raise UsageError(f"the {where} is a stream, which has no end", expected="a DataFrame that is read once")
    names = list(frame.columns)
    columns = table_columns(names, kind, where)
    table = SparkTable(frame, kind, where, columns)
    is_case_sensitive = str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    folded = str if is_case_sensitive else str.lower
    counts = Counter(map(folded, names))
    for name, column in columns.items():
        if counts[folded(column)] > 1:
            raise DataError(f"several columns are called {column!r}", where=where, expected="unique names")
        type_ = table.type_of(name)
        if table.is_id(name):
            if type_ not in (*_TEXTS, *_INTEGERS):
                found = f"the ids in column {column!r} are of type {type_}"
                raise DataError(found, where=where, expected="strings or whole numbers")
        elif kind != "attributes" and type_ not in _NUMBERS and "decimal" not in type_:
            raise DataError(f"column {column!r} is of type {type_}", where=where, expected="numbers")
    return table


@dataclass(frozen=True)
class PackRows:
    """Maps the rows of a table to pieces, after a check of their values."""

    number: int
    """Index of the table among all tables."""
    kind: str
    """``gold``, ``run`` or ``attributes``."""
    where: str
    names: tuple[tuple[str, str], ...]
    """rankjury's name and the frame's name of each column."""
    keys: tuple[int, ...]
    rows_at_once: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        rows = pl.DataFrame()
        for batch in batches:
            frame = arrow_to_polars(batch)
            frame.columns = [*(name for name, _ in self.names), BUCKET]
            self._check(frame)
            rows = frame if rows.is_empty() else rows.vstack(frame)
            if rows.height >= self.rows_at_once:
                yield self._pieces(rows)
                rows = pl.DataFrame()
        if rows.height:
            yield self._pieces(rows)

    def _check(self, frame: pl.DataFrame) -> None:
        for name, column in self.names:
            if self.kind == "attributes" and name != QUERY:
                continue
            wrong = frame[name].is_null()
            if name not in (QUERY, ITEM) and not wrong.any():
                wrong = ~frame[name].is_finite()
            if not wrong.any():
                if name == GRADE:
                    check_grades(column, frame[name], self.where)
                continue
            row = frame.row(wrong.arg_max() or 0, named=True)
            if name in (QUERY, ITEM):
                known = ", ".join(f"{column} {row[name]!r}" for name, column in self.names if row[name] is not None)
                raise DataError(f"a row has no {column} ({known})", where=self.where, expected="an id in every row")
            shown = "missing" if row[name] is None else "NaN" if row[name] != row[name] else row[name]
            raise DataError(
                f"the {column} of item {row[ITEM]!r} for query {row[QUERY]!r} is {shown}",
                where=self.where,
                expected=f"a finite {name} in every row",
                hint=f"Drop such rows, or give those items the lowest {name}.",
            )

    def _pieces(self, rows: pl.DataFrame) -> Any:
        return pack_pieces(rows.drop(BUCKET).rechunk(), rows[BUCKET].to_numpy(), self.number, self.keys)


@dataclass(frozen=True, eq=False)
class DataFrameSource:
    """DataFrames, which Spark reads."""

    tables: Sequence[SparkTable]

    @cached_property
    def texts(self) -> list[str]:
        return [
            name
            for name in (QUERY, ITEM)
            if any(table.type_of(name) in _TEXTS for table in self.tables if table.is_id(name))
        ]

    @cached_property
    def schemas(self) -> tuple[pl.Schema, ...]:
        return tuple(table.schema(self.texts) for table in self.tables)

    @property
    def size(self) -> int:
        """Spark's size estimate of all tables, before anything is read.

        An unknown size counts as large enough for Spark's default number of partitions.
        """
        total = 0
        for frame in (table.frame for table in self.tables):
            partitions = int(str(frame.sparkSession.conf.get("spark.sql.shuffle.partitions")))
            leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
            sizes = [int(str(leaves.apply(place).stats().sizeInBytes())) for place in range(leaves.size())]
            total += sum(size if size < _UNKNOWN_SIZE else BYTES_IN_A_BUCKET * partitions for size in sizes)
        return total

    def pieces(self, jobs: SparkJobs, buckets: Buckets) -> "DataFrame":
        packed = []
        for number, table in enumerate(self.tables):
            names = tuple(table.columns.items())
            pack = PackRows(number, table.kind, table.where, names, buckets.keys, buckets.rows_packed)
            packed.append(jobs.map_batches(table.bucketed(self.texts, buckets.number), pack, PIECES))
        return reduce(lambda ours, theirs: ours.unionAll(theirs), packed)


class ParquetSource:
    """Parquet files on a machine shared by all tasks, which read them without Spark in a third of the time."""

    def __init__(self, tables: Sequence[ParquetTable]) -> None:
        self._tables = [  # tasks may have another working directory
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
        tasks = _TASKS_OF_A_CORE * jobs.spark.sparkContext.defaultParallelism
        rows = sum(table.rows for table in self._tables)
        step = min(max(rows // tasks, _ROWS_READ[0]), _ROWS_READ[1])
        ranges = [  # table, file, first row and end
            (number, place, first, min(first + step, part.rows))
            for number, table in enumerate(self._tables)
            for place, part in enumerate(table.parts)
            for first in range(0, part.rows, step)
        ]
        numbers = jobs.spark.range(len(ranges), numPartitions=len(ranges))
        return jobs.map_batches(numbers, _ReadRanges(jobs.broadcast((self._tables, ranges)), buckets), PIECES)


@dataclass(frozen=True)
class _ReadRanges:
    """Maps numbers of ranges to the pieces of their rows."""

    inputs: Any
    """Broadcast of tables and ranges."""
    buckets: Buckets

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        tables, ranges = self.inputs.value
        for batch in batches:
            for task in batch.column(0).to_pylist():
                number, part, first, last = ranges[task]
                for rows in tables[number].read_range(part, first, last, self.buckets.rows_packed):
                    bucket = (rows[QUERY].hash(0).to_numpy() % np.uint64(self.buckets.number)).astype(np.int64)
                    yield pack_pieces(rows.rechunk(), bucket, number, self.buckets.keys)
