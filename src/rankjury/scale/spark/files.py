"""Files that Spark reads and writes: paths of this machine and of other stores, and the files of an invalid row."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from rankjury.core.columns import ITEM, QUERY
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import DataError, DuplicatePair, UsageError
from rankjury.io.atomic import check_destination, make_folder, replacing
from rankjury.io.attributes import read_attributes
from rankjury.scale.parquet import is_parquet
from rankjury.scale.spark.errors import local_path, translate_errors
from rankjury.scale.spark.jobs import watch_jobs
from rankjury.scale.spark.sources import SparkTable, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES_NAMED = 3
_OTHER_FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz", ".zst")


def is_local(spark: "SparkSession", path: str) -> bool:
    """Return whether a path is on this machine, whether or not it exists."""
    default = str(spark._jsc.hadoopConfiguration().get("fs.defaultFS"))  # the store of paths without a scheme
    return "://" not in path and default.startswith("file:")


def is_here(spark: "SparkSession", path: str) -> bool:
    """Return whether a path is an existing file or folder of this machine."""
    return is_local(spark, path) and Path(path).exists()


def _absolute_path(spark: "SparkSession", path: str) -> str:
    """Return a local path that does not depend on Java's working directory; other paths are unchanged."""
    return str(Path(path).absolute()) if is_local(spark, path) else path


def read_parquet(spark: "SparkSession", path: str) -> "DataFrame":
    """Return a Parquet file or folder as a DataFrame."""
    place = _absolute_path(spark, path)
    if Path(place).exists():  # brackets and stars in the name of an existing file are not a glob
        place = re.sub(r"([\[\]{}*?\\])", r"\\\1", place)
    with translate_errors(path):
        frame = spark.read.parquet(place)
    if not frame.columns:
        raise DataError("found no columns", where=path, expected="Parquet with query_id, item_id and a score or grade")
    return frame


def read_attribute_table(spark: "SparkSession", path: str) -> Any:
    """Return a table of query attributes as a DataFrame; formats other than Parquet are small, and read here."""
    if "://" in path or is_parquet(path):
        return read_parquet(spark, path)
    table, _ = read_attributes(path, "query")
    return spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest()))


def judged_items(gold: SparkTable) -> pl.Series:
    """Return the ids of all judged items as strings, unique and ascending."""
    from pyspark.sql import functions as f

    with translate_errors(gold.where):
        ids = gold.frame.select(f.col(quote_name(gold.columns[ITEM])).cast("string").alias(ITEM)).distinct().toArrow()
    return pl.DataFrame(pl.from_arrow(ids))[ITEM].drop_nulls().sort()


@contextmanager
def name_faulty_files(tables: Sequence[SparkTable], progress: Progress = NO_PROGRESS) -> Iterator[None]:
    """Add to an error about a table the files with the invalid rows."""
    try:
        yield
    except DataError as error:
        table = next((table for table in tables if table.where == error.where), None)
        if table is not None:
            with suppress(Exception), watch_jobs(table.frame.sparkSession, "Looking for the file", progress):
                _name_files(table, error)
        raise


def _name_files(table: SparkTable, error: DataError) -> None:
    from pyspark.sql import functions as f

    columns = {name: f.col(quote_name(column)) for name, column in table.columns.items()}
    if isinstance(error, DuplicatePair):
        query, item = (columns[name].cast("string") for name in (QUERY, ITEM))
        faulty = (query == error.query) & (item == error.item)
    else:
        faulty = f.lit(False)
        for name in [QUERY] if table.kind == "attributes" else columns:
            faulty |= columns[name].isNull()
            if table.type_of(name) in ("float", "double"):
                faulty |= columns[name].isNaN() | (f.abs(columns[name]) == float("inf"))
    found = table.frame.where(faulty).select(f.input_file_name().alias("file")).distinct().sort("file")
    files = [local_path(row.file) for row in found.limit(_FILES_NAMED).collect() if row.file]
    if isinstance(error, DuplicatePair):
        error.details = tuple(f"in {path}" for path in files)
    elif files:
        error.where = files[0]


@contextmanager
def open_parquet_folder(spark: "SparkSession", path: str | None) -> Iterator[str | None]:
    """Yield the path of a new folder for Spark to write to; it is removed after an error.

    A local folder is written next to its destination and renamed at the end. Other stores may not support renames:
    there Spark writes in place, and ``_SUCCESS`` marks a complete folder.
    """
    from py4j.protocol import Py4JJavaError

    if path is None:
        yield None
        return
    if PurePath(path).suffix.lower() in _OTHER_FORMATS:
        raise UsageError(f"Spark writes Parquet, not {PurePath(path).suffix}", where=path, hint="Give a folder.")
    place = _absolute_path(spark, path)
    jvm: Any = spark._jvm
    target = jvm.org.apache.hadoop.fs.Path(place)
    store = target.getFileSystem(spark._jsc.hadoopConfiguration())
    if store.exists(target):
        raise DataError("the folder already exists", where=path, expected="a new folder")
    if is_local(spark, path):
        check_destination(Path(place), parents=True)
        make_folder(Path(place).parent)
        with replacing(Path(place), folder=True) as part:
            yield str(part)
        return
    made = False
    with suppress(Py4JJavaError):  # checked before any work
        made = store.mkdirs(target)
    if not made:
        raise DataError("cannot create the folder", where=path)
    try:
        yield place
    except BaseException:
        with suppress(Exception):  # the session may be gone
            store.delete(target, True)
        raise
