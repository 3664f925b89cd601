"""Public function for Spark DataFrames."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_measures
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices import ItemGroups, SliceTable
from rankjury.io.attributes import check_attributes
from rankjury.measures.measure import Measure, Value
from rankjury.scale.api import slice_files
from rankjury.scale.memory import Budget, parse_memory
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.spark.driver import evaluate_source
from rankjury.scale.spark.files import judged_items
from rankjury.scale.spark.sources import DataFrameSource, spark_table
from rankjury.stats.resampling import Resampling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RESAMPLING = Resampling()


def evaluate(
    spark: "SparkSession",
    gold: "DataFrame",
    runs: "DataFrame | Mapping[str, DataFrame]",
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    slices: "DataFrame | None" = None,
    by: str | None = None,
    item_slices: Any = None,
    items_by: str | None = None,
    resampling: Resampling | None = _RESAMPLING,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    quantiles: Sequence[float] = (),
    per_query: str | None = None,
    memory: str = "1GB",
    progress: Progress = NO_PROGRESS,
    **conventions: Value,
) -> Report:
    """Score rankings on Spark: the same report, to the last digit, as from one process.

    ``runs`` is one DataFrame, or several by name; with ``baseline`` they are compared with that one. ``slices`` is a
    DataFrame of attributes of queries, and ``by`` says which to break down by; ``item_slices``, any table of attributes
    of items, and ``items_by`` are the same for items. Every query's scores go to the folder ``per_query``, as Parquet.
    ``memory`` is what the Python of a task may take.

    >>> rankjury.scale.spark.evaluate(spark, gold, run, ["ndcg@10", "recall@100"], slices=users, by="country")
    """
    named = runs if isinstance(runs, Mapping) else {"run": runs}
    of_queries = slice_files(slices, by, "attributes of queries")
    of_items = slice_files(item_slices, items_by, "attributes of items")
    truth = spark_table(gold, "gold", "gold")
    tables = [truth, *(spark_table(run, "run", name) for name, run in named.items())]
    tables += [spark_table(slices, "attributes", table.path) for table in of_queries]
    request = EvaluationRequest(
        "gold",
        {name: name for name in named},
        tuple(resolve_measures(measures, dialect, conventions)),
        resampling,
        baseline,
        duplicates,
        attributes=tuple(of_queries),
        quantiles=tuple(quantiles),
    )
    for file in of_items:
        # A Spark DataFrame is collected, since items are few compared with queries.
        rows = pl.from_arrow(item_slices.toArrow()) if hasattr(item_slices, "toArrow") else item_slices
        table, id_column = check_attributes(pl.DataFrame(rows), "item", file.path)
        cuts = SliceTable(table, id_column, "items", file.asked, file.path)
        request = replace(request, item_groups=ItemGroups.of(judged_items(truth), [cuts]))
    source, budget = DataFrameSource(tables), Budget(parse_memory(memory))
    return evaluate_source(spark, request, source, budget, per_query=per_query, progress=progress)
