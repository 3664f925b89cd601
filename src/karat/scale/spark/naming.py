"""Which file of a table has the row that is wrong: looked up when it matters, by a job of its own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from operator import or_
from typing import Any

from karat.columns import ITEM, QUERY
from karat.errors import DataError, DuplicatePair
from karat.progress import NO_PROGRESS, Progress
from karat.scale.spark.explaining import path_of
from karat.scale.spark.frames import Given, quoted
from karat.scale.spark.jobs import watched

__all__ = ["naming_files"]

_MOST_NAMED = 3


@contextmanager
def naming_files(tables: Sequence[Given], progress: Progress = NO_PROGRESS) -> Iterator[None]:
    """An error about a table that is read from files names those that have the fault."""
    try:
        yield
    except DataError as error:
        table = next((one for one in tables if one.where == error.where), None)
        if table is not None:
            with suppress(Exception), watched(table.frame.sparkSession, "Looking for the file", progress):
                _name(table, error)
        raise


def _name(table: Given, error: DataError) -> None:
    if isinstance(error, DuplicatePair):
        error.details = tuple(f"in {path}" for path in _files_where(table, _is_pair(table, error)))
        return
    files = _files_where(table, _is_incomplete(table))
    error.where = files[0] if files else error.where


def _files_where(table: Given, holds: Any) -> list[str]:
    from pyspark.sql import functions as f

    files = table.frame.where(holds).select(f.input_file_name().alias("file")).distinct().sort("file")
    return [path_of(row.file) for row in files.limit(_MOST_NAMED).collect() if row.file]


def _is_pair(table: Given, pair: DuplicatePair) -> Any:
    return (_column(table, QUERY).cast("string") == pair.query) & (_column(table, ITEM).cast("string") == pair.item)


def _is_incomplete(table: Given) -> Any:
    """A row with a value that is null or no finite number."""
    names = [QUERY] if table.kind == "attributes" else list(table.columns)
    return reduce(or_, (_is_absent(table, name) for name in names))


def _is_absent(table: Given, name: str) -> Any:
    from pyspark.sql import functions as f

    column = _column(table, name)
    if table.type_of(name) not in ("float", "double"):
        return column.isNull()
    infinite = float("inf")
    return column.isNull() | column.isNaN() | (f.abs(column) == infinite)


def _column(table: Given, name: str) -> Any:
    from pyspark.sql import functions as f

    return f.col(quoted(table.columns[name]))
