"""Paths as Spark is to have them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_here(spark: "SparkSession", path: str) -> bool:
    """Whether it is a file or a folder of this machine."""
    return is_local(spark, path) and Path(path).exists()


def is_local(spark: "SparkSession", path: str) -> bool:
    """Whether a path is one of this machine, whatever is there."""
    return "://" not in path and _is_of_this_machine(spark)


def absolute_path(spark: "SparkSession", path: str) -> str:
    """One of this machine does not depend on the folder that Java was started in, one of another store is as it is."""
    return str(Path(path).absolute()) if is_local(spark, path) else path


def _is_of_this_machine(spark: "SparkSession") -> bool:
    """What a path means that does not say of which store it is."""
    return str(spark._jsc.hadoopConfiguration().get("fs.defaultFS")).startswith("file:")


def escape_glob(spark: "SparkSession", path: str) -> str:
    """Brackets and stars in the name of a file that is there are no pattern."""
    place = absolute_path(spark, path)
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", place) if Path(place).exists() else place
