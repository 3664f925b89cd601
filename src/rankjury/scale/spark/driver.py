"""Evaluation on Spark, driver side: rows are shuffled by query, scores stay on the executors, sums are returned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import isqrt
from operator import add
from pathlib import Path
from pickle import loads
from typing import TYPE_CHECKING, Any

import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import DataError, DuplicatePair, UsageError
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_measures
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices import ItemGroups, SliceTable
from rankjury.io.attributes import check_attributes
from rankjury.measures.measure import Measure, OnEmpty, OnMissing, ScorePrecision, SelfMatches, Ties
from rankjury.scale.api import slice_files
from rankjury.scale.block_scores import BlockFindings, BlockScores
from rankjury.scale.memory import Budget, parse_memory
from rankjury.scale.parquet import name_duplicate_files
from rankjury.scale.request import EvaluationRequest, SliceFile, open_inputs, read_item_cuts
from rankjury.scale.rounds import Panel, Survey, run_rounds
from rankjury.scale.spark.files import (
    is_here,
    judged_items,
    name_faulty_files,
    open_parquet_folder,
    read_attribute_table,
    read_parquet,
)
from rankjury.scale.spark.jobs import SparkJobs, watch_jobs
from rankjury.scale.spark.session import parse_master
from rankjury.scale.spark.sources import (
    BUCKET,
    BYTES_IN_A_BUCKET,
    PART,
    Buckets,
    DataFrameSource,
    ParquetSource,
    RowSource,
    spark_table,
)
from rankjury.scale.spark.tasks import (
    FOUND,
    RANGES,
    RESULTS,
    JoinRanks,
    JudgeBuckets,
    PerQueryRows,
    RankDifferences,
    RunRound,
    SumResults,
)
from rankjury.stats.mergeable import RankTotals, size_ranges
from rankjury.stats.resampling import Resampling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BUCKETS_IN_A_PARTITION = 4
_KEYS_TRIED_PER_PARTITION = 20
_BYTES_OF_NUMBERS, _BYTES_OF_TEXT = 24.0, 40.0
"""Bytes per row; text ids take more."""
_MOST_BUCKETS = 1 << 14
_RESULTS_AT_ONCE = 32
_RANKED_AT_ONCE = 2_000_000
_SCORES_PER_COLUMN = 100_000
"""Number of scores that are collected on the driver for exact quantiles."""


def evaluate_on_spark(
    spark: "SparkSession",
    request: EvaluationRequest,
    slices: Sequence[SliceFile],
    item_slices: Sequence[SliceFile],
    budget: Budget,
    *,
    per_query: str | None = None,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """Evaluate Parquet files on any file system that Spark can read.

    If the master is local and the files are on this machine, tasks read the files without Spark's reader.
    """
    is_local = parse_master(str(spark.sparkContext.master)).is_local
    if is_local and all(is_here(spark, path) for path in (request.gold, *request.systems.values())):
        with open_inputs(request, slices, item_slices, budget, temp) as (whole, files), name_duplicate_files(files):
            return evaluate_source(spark, whole, ParquetSource(files), budget, per_query=per_query, progress=progress)
    with watch_jobs(spark, "Reading", progress):
        gold = spark_table(read_parquet(spark, request.gold), "gold", request.gold)
        runs = [spark_table(read_parquet(spark, path), "run", path) for path in request.systems.values()]
        attributes = [
            spark_table(read_attribute_table(spark, table.path), "attributes", table.path) for table in slices
        ]
        groups = ItemGroups.of(judged_items(gold), read_item_cuts(item_slices)) if item_slices else None
    tables = [gold, *runs, *attributes]
    whole = replace(request, attributes=tuple(slices), item_groups=groups)
    with name_faulty_files(tables, progress):
        return evaluate_source(spark, whole, DataFrameSource(tables), budget, per_query=per_query, progress=progress)


def evaluate_source(
    spark: "SparkSession",
    request: EvaluationRequest,
    source: RowSource,
    budget: Budget,
    *,
    per_query: str | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """Evaluate the tables of a source: the gold, the rankings and the attributes, in the order of the request."""
    if request.duplicates in ("first", "last"):
        raise UsageError(
            f"--duplicates {request.duplicates} is impossible on Spark: rows have no order", expected="error or max"
        )
    for asked in request.asked:
        if asked.measure["ties"] == "order":
            raise UsageError(f"{asked.label} breaks ties by the order of rows, which is undefined on Spark")
    try:
        with watch_jobs(spark, "Scoring", progress) as jobs:
            rounds = _SparkRounds(jobs, request, source, budget)
            with open_parquet_folder(spark, per_query) as target:
                return rounds.run(target)
    except DuplicatePair as error:  # without an order there is no first row
        error.hint = 'Keep the highest with --duplicates max; in Python duplicates="max".'
        raise


class _SparkRounds:
    """The jobs of an evaluation. Scores are computed once and persisted; each round is a job over them."""

    def __init__(self, jobs: SparkJobs, request: EvaluationRequest, source: RowSource, budget: Budget) -> None:
        self._jobs, self._request = jobs, request
        self._columns = len(request.layout.columns)
        self._broadcast = jobs.broadcast(request)
        cores = jobs.spark.sparkContext.defaultParallelism
        number = min(max(source.size // BYTES_IN_A_BUCKET, 4 * cores), _MOST_BUCKETS)
        self._partitions = max(number // _BUCKETS_IN_A_PARTITION, 2 * cores)
        block_rows = budget.block_rows(_BYTES_OF_NUMBERS + _BYTES_OF_TEXT * len(source.texts))
        buckets = Buckets(number, _partition_keys(jobs.spark, self._partitions))
        pieces = source.pieces(jobs, buckets).repartition(self._partitions, PART).sortWithinPartitions(BUCKET)
        judge = JudgeBuckets(self._broadcast, source.schemas, block_rows)
        self._scores = jobs.persist(jobs.map_batches(pieces, judge, RESULTS))

    def run(self, per_query: str | None) -> Report:
        """Judge, write the scores of every query to a folder if given, and run the rounds."""
        request = self._request
        found: BlockFindings = self._sum(self._scores)
        found.check(request)
        if per_query is not None:
            measures = ", ".join(f"`{named.label}` double" for named in request.asked)
            schema = f"system string, query_id string, {measures}"
            rows = self._jobs.map_batches(self._scores, PerQueryRows(self._broadcast), schema)
            rows.write.mode("append").parquet(per_query)

        def run(_: str, work: Callable[[BlockScores], Any]) -> Any:
            task = RunRound(self._jobs.broadcast(work), self._columns)
            return self._sum(self._jobs.map_batches(self._scores, task, RESULTS))

        def rank(panels: Sequence[Panel], outlined: Survey) -> list[list[RankTotals]]:
            """Shuffle differences by the range of their size, and rank each range separately."""
            ranges = size_ranges(found.queries * len(request.layout.pairs) * len(panels), _RANKED_AT_ONCE)
            task = RankDifferences(self._jobs.broadcast((request, panels, outlined)), ranges, self._columns)
            rows = self._jobs.map_batches(self._scores, task, RANGES)
            joined = self._jobs.map_batches(rows.repartition(len(ranges), "range"), JoinRanks(), RANGES)
            return [loads(row.result) for row in sorted(joined.collect(), key=lambda row: row.range)]

        return run_rounds(request, found, run, rank, _SCORES_PER_COLUMN)

    def _sum(self, results: "DataFrame") -> Any:
        """Return the sum of all partitions' results; if there are many, tasks add them first."""
        from pyspark.sql import functions as f

        wanted = results.where(f.col("kind") == FOUND)
        if self._partitions > _RESULTS_AT_ONCE:
            wanted = self._jobs.map_batches(wanted.repartition(isqrt(self._partitions)), SumResults(), RESULTS)
        parts = [loads(row.result) for row in wanted.select("result").collect()]
        self._jobs.raise_failure()
        if not parts:
            raise DataError("found no rows", where=self._request.gold, expected="at least one query with an item")
        return reduce(add, parts)


def _partition_keys(spark: "SparkSession", partitions: int) -> tuple[int, ...]:
    """Return for each partition a number that Spark's hash assigns to it; consecutive numbers leave some empty."""
    from pyspark.sql import functions as f

    keys: dict[int, int] = {}
    step = _KEYS_TRIED_PER_PARTITION * partitions
    first = 0
    while len(keys) < partitions:
        numbers = spark.range(first, first + step, numPartitions=1).select(f.col("id").cast("int").alias("number"))
        rows = numbers.select("number", f.pmod(f.hash("number"), f.lit(partitions)).alias("partition")).collect()
        keys = {row.partition: row.number for row in rows} | keys
        first += step
    return tuple(keys[partition] for partition in range(partitions))


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
    rel: float | None = None,
    ties: Ties | None = None,
    missing: OnMissing | None = None,
    empty: OnEmpty | None = None,
    self: SelfMatches | None = None,
    scores: ScorePrecision | None = None,
) -> Report:
    """Score runs on Spark: the same report, to the last digit, as from one process.

    Args:
        spark: The session.
        gold: A DataFrame with query_id, item_id and grade.
        runs: A DataFrame with query_id, item_id and score or rank, or several by name.
        measures: Measures such as ``"ndcg@10"``.
        baseline: Name of the run that the others are compared with; by default nothing is compared.
        slices: A DataFrame of attributes of queries.
        by: Which of its attributes to break down by; by default all that group.
        item_slices: Any table of attributes of items.
        items_by: Which of its attributes to break down by.
        resampling: How intervals and tests are made; None for means only.
        dialect: Name of a tool whose conventions are used.
        duplicates: How to handle duplicate (query, item) pairs: ``error``, or keep the ``first``, ``last`` or ``max``.
        quantiles: Shares of the queries, such as 0.05 and 0.5, at which scores are reported.
        per_query: A folder for every query's scores, as Parquet.
        memory: The memory that the Python of a task may take.
        progress: Reports how far it is.
        rel: Grade from which an item is relevant; by default any above 0.
        ties: Order of equal scores: by id (``id``), by id descending (``id-desc``), or as given (``order``).
        missing: A query of the gold that a ranking lacks: scored ``zero``, left out (``skip``), or an ``error``.
        empty: A query with nothing relevant: left out (``skip``), scored ``zero``, or an ``error``.
        self: An item whose id is the query's: ``keep`` it in the ranking, or ``drop`` it.
        scores: Compare scores as 64-bit (``double``) or 32-bit (``single``) numbers.

    Returns:
        The report.

    Raises:
        DataError: The data is wrong.
        UsageError: An argument is not valid.

    Example:
        >>> rankjury.scale.spark.evaluate(spark, gold, run, ["ndcg@10", "recall@100"], slices=users, by="country")
    """
    conventions = {"rel": rel, "ties": ties, "missing": missing, "empty": empty, "self": self, "scores": scores}
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
        # A Spark DataFrame is collected, since there are few items compared with queries.
        rows = pl.from_arrow(item_slices.toArrow()) if hasattr(item_slices, "toArrow") else item_slices
        table, id_column = check_attributes(pl.DataFrame(rows), "item", file.path)
        cuts = SliceTable(table, id_column, "items", file.asked, file.path)
        request = replace(request, item_groups=ItemGroups.of(judged_items(truth), [cuts]))
    source, budget = DataFrameSource(tables), Budget(parse_memory(memory))
    return evaluate_source(spark, request, source, budget, per_query=per_query, progress=progress)
