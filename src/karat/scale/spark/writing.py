"""Parquet written by Spark, of which nothing is left where it does not come to an end.

On this machine it is written beside its place and renamed at the end, as all outputs are. Other stores may have no
renames: there Spark writes in place, and ``_SUCCESS`` tells whether it came to its end.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from karat.errors import DataError, UsageError
from karat.formats.atomic import check_destination, make_folder, replacing
from karat.scale.spark.paths import is_local, located

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["writing_parquet"]

_OTHER_FORMS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz", ".zst")


@contextmanager
def writing_parquet(spark: "SparkSession", path: str | None) -> Iterator[str | None]:
    """Yield where Spark is to write a new folder; nothing is left of it when the block is left by an error."""
    if path is None:
        yield None
        return
    if PurePath(path).suffix.lower() in _OTHER_FORMS:
        raise UsageError(f"Spark writes Parquet, not {PurePath(path).suffix}", where=path, hint="Name a folder.")
    place = located(spark, path)
    target, files = _on_its_file_system(spark, place)
    if files.exists(target):
        raise DataError("there is something here already", where=path, expected="a folder that is not there yet")
    if is_local(spark, path):
        check_destination(Path(place), parents=True)
        make_folder(Path(place).parent)
        with replacing(Path(place), folder=True) as part:
            yield str(part)
        return
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
