"""Parquet written by Spark, of which nothing is left where it does not come to an end."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from karat.errors import DataError, UsageError
from karat.scale.spark.paths import located

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["writing_parquet"]

_OTHER_FORMS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz", ".zst")


@contextmanager
def writing_parquet(spark: "SparkSession", path: str | None) -> Iterator[str | None]:
    """A new folder, which goes with whatever was written there when the block is left by an error."""
    if path is None:
        yield None
        return
    if PurePath(path).suffix.lower() in _OTHER_FORMS:
        raise UsageError(f"Spark writes Parquet, not {PurePath(path).suffix}", where=path, hint="Name a folder.")
    place = located(spark, path)
    target, files = _on_its_file_system(spark, place)
    if files.exists(target):
        raise DataError("there is something here already", where=path, expected="a folder that is not there yet")
    _make(target, files, path)
    try:
        yield place
    except BaseException:
        with suppress(Exception):  # the session may be gone
            files.delete(target, True)
        raise


def _make(target: Any, files: Any, path: str) -> None:
    """Now, as what cannot be made shall not be found out after all the work."""
    from py4j.protocol import Py4JJavaError

    try:
        made = files.mkdirs(target)
    except Py4JJavaError:
        made = False
    if not made:
        raise DataError("no folder can be made here", where=path)


def _on_its_file_system(spark: "SparkSession", path: str) -> tuple[Any, Any]:
    jvm: Any = spark._jvm
    target = jvm.org.apache.hadoop.fs.Path(path)
    return target, target.getFileSystem(spark._jsc.hadoopConfiguration())
