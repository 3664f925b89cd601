"""Paths as Spark is to have them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["located", "to_read"]


def located(spark: "SparkSession", path: str) -> str:
    """One of this machine does not depend on the folder that Java was started in, one of another store is as it is."""
    usual = str(spark._jsc.hadoopConfiguration().get("fs.defaultFS"))
    return path if "://" in path or not usual.startswith("file:") else str(Path(path).absolute())


def to_read(spark: "SparkSession", path: str) -> str:
    """Brackets and stars in the name of a file that is there are no pattern."""
    place = located(spark, path)
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", place) if Path(place).exists() else place
