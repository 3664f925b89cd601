"""Studies that are also done on Spark: from their files, and from DataFrames."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from karat.evaluation import resolve_all
from karat.report import Report
from karat.scale.inputs import SlicesAsked
from karat.scale.memory import Budget
from karat.scale.request import Request
from karat.scale.spark.files import evaluate_files
from karat.slices import parse_attributes
from tests.scale.made import GIGABYTE, Study

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def on_spark(
    spark: "SparkSession", study: Study, most_rows: int = 10_000, *, per_query: Path | None = None, **options: Any
) -> Report:
    request = Request(
        str(study.gold[1]),
        {name: str(path) for name, (_, path) in study.runs.items()},
        tuple(resolve_all(study.measures)),
        study.how,
        study.baseline,
        study.duplicates,
        quantiles=tuple(study.quantiles),
    )
    asked, of_items = (
        [SlicesAsked(str(path), parse_attributes(by) if by else None) for path, by in given]
        for given in (study.slices, study.item_slices)
    )
    target = None if per_query is None else str(per_query)
    return evaluate_files(spark, request, asked, of_items, Budget(GIGABYTE, most_rows), per_query=target, **options)


def frame_of(spark: "SparkSession", rows: pl.DataFrame, parts: int = 1) -> "DataFrame":
    """In so many parts, in another order."""
    shuffled = rows.sample(fraction=1.0, shuffle=True, seed=parts)
    frame: DataFrame = spark.createDataFrame(shuffled.to_arrow(compat_level=pl.CompatLevel.oldest()))
    return frame.repartition(parts)
