"""An evaluation on Spark: rows go to where their query is judged, scores stay there, and sums come back.

On this machine it is written beside its place and renamed at the end, as all outputs are. Other stores may have no
renames: there Spark writes in place, and ``_SUCCESS`` tells whether it came to its end.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, reduce
from math import isqrt
from operator import add
from pathlib import Path, PurePath
from pickle import dumps, loads
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import DataError, DuplicatePair, UsageError
from rankjury.evaluation.report import Report
from rankjury.io.atomic import check_destination, make_folder, replacing
from rankjury.scale.memory import Budget
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds.found import BlockFindings
from rankjury.scale.rounds.gather import PanelDifferences, Survey, differences_within, signed_differences, survey, tally
from rankjury.scale.rounds.panels import Panel, make_panels
from rankjury.scale.rounds.ranks import join_blocks, join_ranges
from rankjury.scale.rounds.report import RoundResults, check_number_of_queries, make_report
from rankjury.scale.rounds.scored import BlockScores
from rankjury.scale.spark.jobs import SparkJobs, watch_jobs
from rankjury.scale.spark.paths import absolute_path, is_local
from rankjury.scale.spark.shuffle import BUCKET, PART
from rankjury.scale.spark.sources import BYTES_IN_A_BUCKET, Buckets, RowSource
from rankjury.scale.spark.tasks import FOUND, RESULTS, SCORES, JudgeBuckets, PerQueryRows, RunRound, SumResults
from rankjury.scale.storage import from_ipc
from rankjury.stats.mergeable import RankTotals, size_ranges

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RANGES = "range int, result binary"


@dataclass(frozen=True)
class RankDifferences:
    """Scores → differences, by range of their size."""

    asked: Any
    """Request, panels and survey, sent to the workers."""
    ranges: Sequence[tuple[float, float]]
    columns: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        request: EvaluationRequest
        panels: Sequence[Panel]
        found: Survey
        request, panels, found = self.asked.value
        for batch in batches:
            kinds, pieces = (column.to_pylist() for column in batch.columns)
            for kind, piece in zip(kinds, pieces, strict=True):
                if kind == SCORES:
                    scored = BlockScores(from_ipc(piece), self.columns)
                    differences = signed_differences(request, panels, found, scored)
                    for number, (low, high) in enumerate(self.ranges):
                        yield _row(number, dumps(differences_within(differences, low, high)))


class JoinRanks:
    """The differences of a range → their ranks, of each range that came here."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        held: dict[int, list[PanelDifferences]] = {}
        for batch in batches:
            numbers, results = (column.to_pylist() for column in batch.columns)
            for number, result in zip(numbers, results, strict=True):
                held.setdefault(number, []).append(loads(result))
        for number, parts in held.items():
            yield _row(number, dumps(join_blocks(parts)))


def _row(number: int, result: bytes) -> Any:
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int32()), pa.array([result], pa.binary())], names=["range", "result"]
    )


_OTHER_FORMS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".gz", ".zst")


@contextmanager
def open_parquet_folder(spark: "SparkSession", path: str | None) -> Iterator[str | None]:
    """Yield where Spark is to write a new folder; nothing is left of it when the block is left by an error."""
    if path is None:
        yield None
        return
    if PurePath(path).suffix.lower() in _OTHER_FORMS:
        raise UsageError(f"Spark writes Parquet, not {PurePath(path).suffix}", where=path, hint="Name a folder.")
    place = absolute_path(spark, path)
    jvm: Any = spark._jvm
    target = jvm.org.apache.hadoop.fs.Path(place)
    files = target.getFileSystem(spark._jsc.hadoopConfiguration())
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


_BUCKETS_IN_A_PART = 4
_TRIED_FOR_A_PART = 20
_BYTES_OF_NUMBERS, _BYTES_OF_TEXT = 24.0, 40.0
"""Of a row; ids that are text take more."""
_MOST_BUCKETS = 1 << 14
_RESULTS_AT_ONCE = 32
_RANKED_AT_ONCE = 2_000_000
_SCORES_HELD = 100_000
"""So many of a column are brought to the driver for exact quantiles."""


def evaluate_source(
    spark: "SparkSession",
    request: EvaluationRequest,
    source: RowSource,
    budget: Budget,
    *,
    per_query: str | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """The source has the gold, the systems' rankings and the attributes, as the request names them."""
    _check(request)
    with _without_order(), watch_jobs(spark, "Scoring", progress) as jobs:
        work = _SparkRounds(jobs, request, source, budget)
        with open_parquet_folder(spark, per_query) as target:
            found = work.found()
            found.check(request)
            check_number_of_queries(found, request)
            if target is not None:
                work.write(target)
            return make_report(request, work.gathered(found))


def _check(request: EvaluationRequest) -> None:
    """Rows have no order on Spark."""
    if request.duplicates in ("first", "last"):
        raise UsageError(
            f"--duplicates {request.duplicates} on Spark, where rows have no order", expected="error or max"
        )
    for one in request.asked:
        if one.measure["ties"] == "order":
            raise UsageError(f"{one.label} breaks ties by the order of rows, and on Spark they have none")


@contextmanager
def _without_order() -> Iterator[None]:
    """Of what stands twice, neither can be taken for the first."""
    try:
        yield
    except DuplicatePair as error:
        error.hint = "Keep the highest of them with --duplicates max."
        raise


class _SparkRounds:
    """Jobs over the scores, which are computed once."""

    def __init__(self, jobs: SparkJobs, request: EvaluationRequest, source: RowSource, budget: Budget) -> None:
        self._jobs, self._request = jobs, request
        self._columns = len(request.layout.columns)
        self._sent = jobs.broadcast(request)
        cores = jobs.spark.sparkContext.defaultParallelism
        number = min(max(source.size // BYTES_IN_A_BUCKET, 4 * cores), _MOST_BUCKETS)
        self._parts = max(number // _BUCKETS_IN_A_PART, 2 * cores)
        rows_held = budget.block_rows(_BYTES_OF_NUMBERS + _BYTES_OF_TEXT * len(source.texts))
        buckets = Buckets(number, _partition_keys(jobs.spark, self._parts))
        pieces = source.pieces(jobs, buckets).repartition(self._parts, PART).sortWithinPartitions(BUCKET)
        judging = JudgeBuckets(self._sent, source.schemas, rows_held)
        self._scores = jobs.persist(jobs.map_batches(pieces, judging, RESULTS))

    def found(self) -> BlockFindings:
        found: BlockFindings = self._sum(self._scores)
        return found

    def write(self, path: str) -> None:
        measures = ", ".join(f"`{one.label}` double" for one in self._request.asked)
        rows = self._jobs.map_batches(
            self._scores, PerQueryRows(self._sent), f"system string, query_id string, {measures}"
        )
        rows.write.mode("append").parquet(path)

    def gathered(self, found: BlockFindings) -> RoundResults:
        request = self._request
        panels = make_panels(request, found)
        surveyed = self._round(partial(survey, request, panels))
        inhabited, outlined = surveyed.nonempty(panels, request)
        tallied = self._round(partial(tally, request, inhabited, outlined, held=_SCORES_HELD))
        ranks: Sequence[Sequence[RankTotals]] = [[] for _ in inhabited]
        if request.baseline is not None:
            ranks = self._ranks(found.queries, (request, inhabited, outlined))
        return RoundResults(found, inhabited, outlined, tallied, ranks)

    def _round(self, work: Callable[[BlockScores], Any]) -> Any:
        sent = self._jobs.broadcast(work)
        return self._sum(self._jobs.map_batches(self._scores, RunRound(sent, self._columns), RESULTS))

    def _sum(self, results: "DataFrame") -> Any:
        """Of all partitions' results; of many, some are joined by tasks first."""
        from pyspark.sql import functions as f

        wanted = results.where(f.col("kind") == FOUND)
        if self._parts > _RESULTS_AT_ONCE:
            wanted = self._jobs.map_batches(wanted.repartition(isqrt(self._parts)), SumResults(), RESULTS)
        found = [loads(row.result) for row in wanted.select("result").collect()]
        self._jobs.raise_failure()
        if not found:
            raise DataError("found no rows", where=self._request.gold, expected="at least one query with an item")
        return reduce(add, found)

    def _ranks(self, queries: int, asked: Any) -> list[list[RankTotals]]:
        panels = asked[1]
        pairs = len(self._request.layout.pairs) * len(panels)
        ranges = size_ranges(queries * pairs, _RANKED_AT_ONCE)
        rows = self._jobs.map_batches(
            self._scores, RankDifferences(self._jobs.broadcast(asked), ranges, self._columns), RANGES
        )
        joined = self._jobs.map_batches(rows.repartition(len(ranges), "range"), JoinRanks(), RANGES)
        found = {row.range: loads(row.result) for row in joined.collect()}
        return join_ranges([found[number] for number in sorted(found)])


def _partition_keys(spark: "SparkSession", parts: int) -> tuple[int, ...]:
    """For each part a number that Spark sends there: it spreads numbers by a hash, and would leave some parts empty."""
    from pyspark.sql import functions as f

    sent: dict[int, int] = {}
    tried = 0
    while len(sent) < parts:
        numbers = spark.range(tried, tried + _TRIED_FOR_A_PART * parts, numPartitions=1).select(
            f.col("id").cast("int").alias("number")
        )
        rows = numbers.select("number", f.pmod(f.hash("number"), f.lit(parts)).alias("part")).collect()
        sent = {row.part: row.number for row in rows} | sent
        tried += _TRIED_FOR_A_PART * parts
    return tuple(sent[part] for part in range(parts))
