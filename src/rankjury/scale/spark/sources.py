"""Rows on their way to the tasks that judge them: many rows of a bucket of queries in one piece.

Spark moves rows one by one; of a piece of thousands, packed as Arrow, it only moves the bytes.


DataFrames of Spark as gold, rankings and attributes: columns found, types checked, ids alike.

Where the rows of an evaluation are, and how they come in pieces of buckets of queries."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from rankjury.core.convert import GRADE, ITEM, QUERY, RANK, SCORE, check_grades, find_id_column, match_columns
from rankjury.core.types import Ints
from rankjury.errors import DataError, UsageError
from rankjury.scale.blocks import unify_id_types
from rankjury.scale.memory import to_ipc
from rankjury.scale.parquet import ParquetTable
from rankjury.scale.spark.jobs import SparkJobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


BUCKET = "rankjury:bucket"
"""A name that no attribute has."""
PART = "part"
PIECES = f"{PART} int, `{BUCKET}` int, number int, piece binary"


def arrow_to_polars(arrow: Any) -> pl.DataFrame:
    """What Spark sends as Arrow, with moments in universal time, whichever zone the session has."""
    return pl.DataFrame(pl.from_arrow(arrow)).with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))


@dataclass(frozen=True)
class PackRows:
    """One of the tables: its place among them, and what is to be true of its rows."""

    number: int
    kind: str
    """``gold``, ``run`` or ``attributes``."""
    where: str
    names: tuple[tuple[str, str], ...]
    """Of each column, rankjury's name and the given one."""
    parts: tuple[int, ...]
    """What the pieces of a bucket are sent by: buckets take turns."""
    rows_at_once: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        held: list[pl.DataFrame] = []
        for batch in batches:
            frame = arrow_to_polars(batch)
            frame.columns = [*(name for name, _ in self.names), BUCKET]
            self._check(frame)
            held.append(frame)
            if sum(one.height for one in held) >= self.rows_at_once:
                yield self._pieces(held)
                held = []
        if any(one.height for one in held):
            yield self._pieces(held)

    def _check(self, frame: pl.DataFrame) -> None:
        for name, given in self.names:
            if self.kind == "attributes" and name != QUERY:
                continue
            absent = frame[name].is_null()
            if not absent.any() and (name in (QUERY, ITEM) or frame[name].is_finite().all()):
                if name == GRADE:
                    check_grades(given, frame[name], self.where)
                continue
            wrong = absent if absent.any() else ~frame[name].is_finite()
            row = frame.row(wrong.arg_max() or 0, named=True)
            if name in (QUERY, ITEM):
                known = ", ".join(f"{given} {row[name]!r}" for name, given in self.names if row[name] is not None)
                raise DataError(f"a row has no {given} ({known})", where=self.where, expected="an id in every row")
            raise DataError(
                f"the {given} of item {row[ITEM]!r} for query {row[QUERY]!r} is {row[name]}",
                where=self.where,
                expected=f"a finite {name} in every row",
                hint="Drop such rows, or give those items the lowest score.",
            )

    def _pieces(self, frames: list[pl.DataFrame]) -> Any:
        rows = pl.concat(frames, rechunk=True)
        return pack_pieces(rows.drop(BUCKET), rows[BUCKET].to_numpy(), self.number, self.parts)


def pack_pieces(rows: pl.DataFrame, bucket: Ints, number: int, parts: Sequence[int]) -> Any:
    """The rows of each bucket in a piece of their own, with what they are sent by."""
    order = np.argsort(bucket.astype(np.uint16), kind="stable")
    ordered, sorted_buckets = rows[order], bucket[order]
    edges = np.flatnonzero(np.diff(sorted_buckets)) + 1
    firsts, lasts = np.concatenate(([0], edges)), np.concatenate((edges, [len(order)]))
    pieces = [bytes(to_ipc(ordered.slice(a, b - a))) for a, b in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    buckets = sorted_buckets[firsts]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.array(parts)[buckets % len(parts)], pa.int32()),
            pa.array(buckets, pa.int32()),
            pa.array(np.full(len(pieces), number), pa.int32()),
            pa.array(pieces, pa.binary()),
        ],
        names=[PART, BUCKET, "number", "piece"],
    )


_WHOLE = ("tinyint", "smallint", "int", "bigint")
_TEXTS = ("string", "decimal(20,0)")
"""Whole numbers without a sign, of 64 bits, come as the latter; they are compared as text, as everywhere."""


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A DataFrame, and which of its columns is what."""

    frame: "DataFrame"
    kind: str
    where: str
    columns: dict[str, str]
    """rankjury's names → the given ones."""

    def type_of(self, name: str) -> str:
        return str(dict(self.frame.dtypes)[self.columns[name]])

    def bucketed(self, texts: Sequence[str], buckets: int) -> "DataFrame":
        """rankjury's columns in their order, ids of one type, and at last the bucket that the query belongs to.

        Spark's way to Arrow stumbles over dots in names, so the columns have none but their number.
        """
        from pyspark.sql import functions as f

        def typed(name: str) -> Any:
            column = f.col(quote_name(self.columns[name]))
            if name == QUERY or (name == ITEM and self.kind != "attributes"):
                return column.cast("string" if name in texts else "bigint")
            return column if self.kind == "attributes" else column.cast("double")

        rows = self.frame.select(*(typed(name).alias(f"c{place}") for place, name in enumerate(self.columns)))
        query = f"c{list(self.columns).index(QUERY)}"
        return rows.withColumn(BUCKET, f.pmod(f.xxhash64(f.col(query)), f.lit(buckets)).cast("int"))

    def schema(self, texts: Sequence[str]) -> pl.Schema:
        """Of the rows in a block; that of attributes is taken from an empty frame."""
        if self.kind == "attributes":
            empty = arrow_to_polars(self.bucketed(texts, 1).drop(BUCKET).limit(0).toArrow())
            return pl.Schema(zip(self.columns, empty.dtypes, strict=True))
        return pl.Schema(
            {
                name: (pl.String() if name in texts else pl.Int64()) if name in (QUERY, ITEM) else pl.Float64()
                for name in self.columns
            }
        )


def quote_name(name: str) -> str:
    """A name for Spark, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def spark_table(frame: Any, kind: str, where: str) -> SparkTable:
    """A DataFrame with the columns of a gold, a run, or attributes of queries."""
    if not hasattr(frame, "mapInArrow"):
        raise UsageError(f"the {where} is a {type(frame).__name__}", expected="a DataFrame of Spark")
    if frame.isStreaming:
        raise UsageError(f"the {where} is a stream, which has no end", expected="a DataFrame that is read once")
    names = list(frame.columns)
    if kind == "attributes":
        found = find_id_column(names, "query", where)
        columns = {QUERY: found} | {name: name for name in names if name not in (found, QUERY)}
    else:
        columns = match_columns(names, kind, where)
        if SCORE in columns:
            columns.pop(RANK, None)
    one = SparkTable(frame, kind, where, columns)
    _check_names(one)
    _check_types(one)
    return one


def _check_names(one: SparkTable) -> None:
    """Spark tells names apart by their case only where it was told to."""
    minds_case = str(one.frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    folded = str if minds_case else str.lower
    called = Counter(map(folded, one.frame.columns))
    for column in one.columns.values():
        if called[folded(column)] > 1:
            raise DataError(f"several columns are called {column!r}", where=one.where, expected="one of each name")


def _check_types(one: SparkTable) -> None:
    for name, column in one.columns.items():
        kind = one.type_of(name)
        if name == QUERY or (name == ITEM and one.kind != "attributes"):
            if kind not in (*_TEXTS, *_WHOLE):
                raise DataError(
                    f"the ids in column {column!r} are of type {kind}",
                    where=one.where,
                    expected="strings or whole numbers",
                )
        elif one.kind != "attributes" and kind not in (*_WHOLE, "float", "double", "boolean") and "decimal" not in kind:
            raise DataError(f"column {column!r} is of type {kind}", where=one.where, expected="numbers")


def text_ids(tables: Sequence[SparkTable]) -> list[str]:
    """The ids that are compared as text: those that are text in one of the tables."""
    return [
        name
        for name in (QUERY, ITEM)
        if any(one.type_of(name) in _TEXTS for one in tables if name == QUERY or one.kind != "attributes")
    ]


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
