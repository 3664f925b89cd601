"""Parquet written by Spark, of which nothing is left where it does not come to an end."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from karat.errors import DataError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["writing_parquet"]

_OTHER_FORMS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz", ".zst")


@contextmanager
def writing_parquet(spark: "SparkSession", path: str | None) -> Iterator[str | None]:
    """A folder that is not there yet; whatever was written there goes when the block is left by an error."""
    if path is None:
        yield None
        return
    if PurePath(path).suffix.lower() in _OTHER_FORMS:
        raise UsageError(f"Spark writes Parquet, not {PurePath(path).suffix}", where=path, hint="Name a folder.")
    target, files = _on_its_file_system(spark, path)
    if files.exists(target):
        raise DataError("there is something here already", where=path, expected="a folder that is not there yet")
    try:
        yield path
    except BaseException:
        with suppress(Exception):  # the session may be gone
            files.delete(target, True)
        raise


def _on_its_file_system(spark: "SparkSession", path: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    target = jvm.org.apache.hadoop.fs.Path(path)
    return target, target.getFileSystem(spark._jsc.hadoopConfiguration())
