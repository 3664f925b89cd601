"""Studies that are also done on Spark: from their files, and from DataFrames."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankjury.evaluation.report import Report
from rankjury.scale.memory import Budget
from rankjury.scale.spark.driver import evaluate_on_spark
from tests.scale.made import GIGABYTE, Study

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def on_spark(
    spark: "SparkSession", study: Study, max_rows: int = 10_000, *, per_query: Path | None = None, **options: Any
) -> Report:
    target = None if per_query is None else str(per_query)
    budget = Budget(GIGABYTE, max_rows)
    return evaluate_on_spark(spark, study.request, *study.slices_asked, budget, per_query=target, **options)


def frame_of(spark: "SparkSession", rows: pl.DataFrame, parts: int = 1) -> "DataFrame":
    """In so many parts, in another order."""
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=parts)
    frame: DataFrame = spark.createDataFrame(shuffled.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return frame.repartition(parts)
