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
from rankjury.scale.duplicates import name_duplicate_files as naming_files_here
from rankjury.scale.inputs import SliceFile, open_inputs, read_item_cuts
from rankjury.scale.memory import Budget
from rankjury.scale.parquet_files import is_parquet
from rankjury.scale.request import EvaluationRequest, SliceAttributes
from rankjury.scale.spark.errors import local_path, translate_errors
from rankjury.scale.spark.evaluate import evaluate_source
from rankjury.scale.spark.frames import SparkTable, quote_name, spark_table
from rankjury.scale.spark.jobs import watch_jobs
from rankjury.scale.spark.masters import parse_master
from rankjury.scale.spark.paths import escape_glob, is_here
from rankjury.scale.spark.sources import DataFrameSource, ParquetSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_NAMED = 3


@contextmanager
def name_faulty_files(tables: Sequence[SparkTable], progress: Progress = NO_PROGRESS) -> Iterator[None]:
    """An error about a table that is read from files names those that have the fault."""
    try:
        yield
    except DataError as error:
        table = next((one for one in tables if one.where == error.where), None)
        if table is not None:
            with suppress(Exception), watch_jobs(table.frame.sparkSession, "Looking for the file", progress):
                _name(table, error)
        raise


def _name(table: SparkTable, error: DataError) -> None:
    if isinstance(error, DuplicatePair):
        ids = ((QUERY, error.query), (ITEM, error.item))
        is_pair = reduce(and_, (_column(table, name).cast("string") == id_ for name, id_ in ids))
        error.details = tuple(f"in {path}" for path in _files_where(table, is_pair))
        return
    files = _files_where(table, _is_incomplete(table))
    error.where = files[0] if files else error.where


def _files_where(table: SparkTable, holds: Any) -> list[str]:
    from pyspark.sql import functions as f

    files = table.frame.where(holds).select(f.input_file_name().alias("file")).distinct().sort("file")
    return [local_path(row.file) for row in files.limit(_MOST_NAMED).collect() if row.file]


def _is_incomplete(table: SparkTable) -> Any:
    """A row with a value that is null or no finite number."""
    names = [QUERY] if table.kind == "attributes" else list(table.columns)
    return reduce(or_, (_is_absent(table, name) for name in names))


def _is_absent(table: SparkTable, name: str) -> Any:
    from pyspark.sql import functions as f

    column = _column(table, name)
    if table.type_of(name) not in ("float", "double"):
        return column.isNull()
    infinite = float("inf")
    return column.isNull() | column.isNaN() | (f.abs(column) == infinite)


def _column(table: SparkTable, name: str) -> Any:
    from pyspark.sql import functions as f

    return f.col(quote_name(table.columns[name]))


def evaluate_on_spark(
    spark: "SparkSession",
    request: EvaluationRequest,
    slices: Sequence[SliceFile],
    item_slices: Sequence[SliceFile],
    budget: Budget,
    *,
    per_query: str | None = None,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """Gold, rankings and attributes by their paths, on any file system that Spark knows.

    Where all work is done on this machine and the files are there, tasks read them themselves.
    """
    local = parse_master(str(spark.sparkContext.master)).is_local
    if local and all(is_here(spark, path) for path in (request.gold, *request.systems.values())):
        with open_inputs(request, slices, item_slices, budget, temp) as (whole, here), naming_files_here(here):
            return evaluate_source(spark, whole, ParquetSource(here), budget, per_query=per_query, progress=progress)
    with watch_jobs(spark, "Reading", progress):
        gold = spark_table(_read(spark, request.gold), "gold", request.gold)
        runs = [spark_table(_read(spark, path), "run", path) for path in request.systems.values()]
        tables = [
            gold,
            *runs,
            *(spark_table(_read_attributes(spark, one.path), "attributes", one.path) for one in slices),
        ]
        groups = ItemGroups.of(judged_items(gold), read_item_cuts(item_slices)) if item_slices else None
    asked = tuple(SliceAttributes(one.path, one.asked) for one in slices)
    whole = replace(request, attributes=asked, item_groups=groups)
    with name_faulty_files(tables, progress):
        return evaluate_source(spark, whole, DataFrameSource(tables), budget, per_query=per_query, progress=progress)


def judged_items(gold: SparkTable) -> pl.Series:
    """Each once, as strings, ascending."""
    from pyspark.sql import functions as f

    with translate_errors(gold.where):
        ids = gold.frame.select(f.col(quote_name(gold.columns[ITEM])).cast("string").alias(ITEM)).distinct().toArrow()
    return pl.DataFrame(pl.from_arrow(ids))[ITEM].drop_nulls().sort()


def _read(spark: "SparkSession", path: str) -> "DataFrame":
    with translate_errors(path):
        frame = spark.read.parquet(escape_glob(spark, path))
    if not frame.columns:
        raise DataError("found no columns", where=path, expected="Parquet with query_id, item_id and a score or grade")
    return frame


def _read_attributes(spark: "SparkSession", path: str) -> Any:
    """Parquet is read by Spark; what else is a table is small, and is read here."""
    if "://" in path or is_parquet(path):
        return _read(spark, path)
    table, _ = read_attributes(path, "query")
    return spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest()))
