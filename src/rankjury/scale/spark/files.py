"""Paths that Spark reads → what is evaluated on it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankjury.core.convert import ITEM, QUERY
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import DataError, DuplicatePair
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices import ItemGroups
from rankjury.io.attributes import read_attributes
from rankjury.scale.duplicates import naming_files as naming_files_here
from rankjury.scale.inputs import SlicesAsked, opened, read_item_cuts
from rankjury.scale.memory import Budget
from rankjury.scale.parquet_files import is_table
from rankjury.scale.request import AttributesAsked, Request
from rankjury.scale.spark.errors import explained, path_of
from rankjury.scale.spark.evaluate import evaluate_source
from rankjury.scale.spark.frames import Given, given, quoted
from rankjury.scale.spark.jobs import watched
from rankjury.scale.spark.masters import read_master
from rankjury.scale.spark.paths import is_here, to_read
from rankjury.scale.spark.sources import FromFiles, FromFrames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
        ids = ((QUERY, error.query), (ITEM, error.item))
        is_pair = reduce(and_, (_column(table, name).cast("string") == id_ for name, id_ in ids))
        error.details = tuple(f"in {path}" for path in _files_where(table, is_pair))
        return
    files = _files_where(table, _is_incomplete(table))
    error.where = files[0] if files else error.where


def _files_where(table: Given, holds: Any) -> list[str]:
    from pyspark.sql import functions as f

    files = table.frame.where(holds).select(f.input_file_name().alias("file")).distinct().sort("file")
    return [path_of(row.file) for row in files.limit(_MOST_NAMED).collect() if row.file]


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


def evaluate_files(
    spark: "SparkSession",
    request: Request,
    slices: Sequence[SlicesAsked],
    item_slices: Sequence[SlicesAsked],
    budget: Budget,
    *,
    per_query: str | None = None,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """Gold, rankings and attributes by their paths, on any file system that Spark knows.

    Where all work is done on this machine and the files are there, tasks read them themselves.
    """
    local = read_master(str(spark.sparkContext.master)).is_local
    if local and all(is_here(spark, path) for path in (request.gold, *request.systems.values())):
        with opened(request, slices, item_slices, budget, temp) as (whole, here), naming_files_here(here):
            return evaluate_source(spark, whole, FromFiles(here), budget, per_query=per_query, progress=progress)
    with watched(spark, "Reading", progress):
        gold = given(_read(spark, request.gold), "gold", request.gold)
        runs = [given(_read(spark, path), "run", path) for path in request.systems.values()]
        tables = [gold, *runs, *(given(_read_attributes(spark, one.path), "attributes", one.path) for one in slices)]
        groups = ItemGroups.of(judged_items(gold), read_item_cuts(item_slices)) if item_slices else None
    asked = tuple(AttributesAsked(one.path, one.asked) for one in slices)
    whole = replace(request, attributes=asked, item_groups=groups)
    with naming_files(tables, progress):
        return evaluate_source(spark, whole, FromFrames(tables), budget, per_query=per_query, progress=progress)


def judged_items(gold: Given) -> pl.Series:
    """Each once, as strings, ascending."""
    from pyspark.sql import functions as f

    with explained(gold.where):
        ids = gold.frame.select(f.col(quoted(gold.columns[ITEM])).cast("string").alias(ITEM)).distinct().toArrow()
    return pl.DataFrame(pl.from_arrow(ids))[ITEM].drop_nulls().sort()


def _read(spark: "SparkSession", path: str) -> "DataFrame":
    with explained(path):
        frame = spark.read.parquet(to_read(spark, path))
    if not frame.columns:
        raise DataError("found no columns", where=path, expected="Parquet with query_id, item_id and a score or grade")
    return frame


def _read_attributes(spark: "SparkSession", path: str) -> Any:
    """Parquet is read by Spark; what else is a table is small, and is read here."""
    if "://" in path or is_table(path):
        return _read(spark, path)
    table, _ = read_attributes(path, "query")
    return spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest()))
