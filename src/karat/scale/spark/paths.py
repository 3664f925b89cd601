"""Paths as Spark is to have them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["located"]


def located(spark: "SparkSession", path: str) -> str:
    """One of this machine does not depend on the folder that Java was started in, one of another store is as it is."""
    usual = str(spark._jsc.hadoopConfiguration().get("fs.defaultFS"))
    return path if "://" in path or not usual.startswith("file:") else str(Path(path).absolute())
