"""Paths that Spark reads → what is evaluated on it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from karat.columns import ITEM
from karat.errors import DataError
from karat.formats.attributes import read_attributes
from karat.progress import NO_PROGRESS, Progress
from karat.report import Report
from karat.scale.duplicates import naming_files as naming_files_here
from karat.scale.inputs import SlicesAsked, opened, read_item_cuts
from karat.scale.memory import Budget
from karat.scale.request import AttributesAsked, Request
from karat.scale.spark.evaluation import evaluate_source
from karat.scale.spark.explaining import explained
from karat.scale.spark.frames import Given, given, quoted
from karat.scale.spark.jobs import watched
from karat.scale.spark.masters import read_master
from karat.scale.spark.naming import naming_files
from karat.scale.spark.paths import is_here, to_read
from karat.scale.spark.sources import FromFiles, FromFrames
from karat.scale.tables import is_table
from karat.slices import ItemGroups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["evaluate_files", "judged_items"]


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
    if _is_all_here(spark, [request.gold, *request.systems.values()]):
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


def _is_all_here(spark: "SparkSession", paths: Sequence[str]) -> bool:
    local = read_master(str(spark.sparkContext.master)).is_local
    return local and all(is_here(spark, path) for path in paths)


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
