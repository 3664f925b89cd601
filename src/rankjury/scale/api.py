"""Public functions for Parquet tables that are too large for memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rankjury.core.convert import gold_from_frame
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import UsageError
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_measures
from rankjury.evaluation.judge import DuplicateRule, MatchedRanking, OrderRules
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices.files import split_attributes
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.measures.judged import Judged, TieRule
from rankjury.measures.measure import Measure, OnEmpty, OnMissing, ScorePrecision, SelfMatches, Ties
from rankjury.scale.block_scores import block_ranking
from rankjury.scale.blocks import read_blocks
from rankjury.scale.local import evaluate_tables
from rankjury.scale.memory import Budget, parse_memory
from rankjury.scale.parquet import name_duplicate_files, open_table
from rankjury.scale.request import EvaluationRequest, SliceFile
from rankjury.stats.resampling import Resampling

_RESAMPLING = Resampling()


def evaluate(
    gold: str | Path,
    runs: str | Path | Mapping[str, str | Path],
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    slices: str | Path | None = None,
    by: str | None = None,
    item_slices: str | Path | None = None,
    items_by: str | None = None,
    resampling: Resampling | None = _RESAMPLING,
    dialect: str | None = None,
    duplicates: DuplicateRule = "error",
    quantiles: Sequence[float] = (),
    per_query: str | Path | None = None,
    memory: str = "2GB",
    temp: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
    rel: float | None = None,
    ties: Ties | None = None,
    missing: OnMissing | None = None,
    empty: OnEmpty | None = None,
    self: SelfMatches | None = None,
    scores: ScorePrecision | None = None,
) -> Report:
    """Score runs that are Parquet files or folders of them in blocks of queries, within a memory limit.

    Args:
        gold: Path of the gold.
        runs: Path of a run, or several by name.
        measures: Measures such as ``"ndcg@10"``.
        baseline: Name of the run that the others are compared with; by default nothing is compared.
        slices: A table of attributes of queries, perhaps with those to break down by: ``"queries.csv:type"``.
        by: Which of its attributes to break down by; by default all that group.
        item_slices: The same for items.
        items_by: Which of its attributes to break down by.
        resampling: How intervals and tests are made; None for means only.
        dialect: Name of a tool whose conventions are used.
        duplicates: How to handle duplicate (query, item) pairs: ``error``, or keep the ``first``, ``last`` or ``max``.
        quantiles: Shares of the queries, such as 0.05 and 0.5, at which scores are reported.
        per_query: A new folder, or a file, for every query's scores.
        memory: The memory limit.
        temp: The folder for temporary files.
        progress: Reports how far it is.
        rel: Grade from which an item is relevant; by default any above 0.
        ties: Order of equal scores: by id (``id``), by id descending (``id-desc``), or as given (``order``).
        missing: A query of the gold that a ranking lacks: scored ``zero``, left out (``skip``), or an ``error``.
        empty: A query with nothing relevant: left out (``skip``), scored ``zero``, or an ``error``.
        self: An item whose id is the query's: ``keep`` it in the ranking, or ``drop`` it.
        scores: Compare scores as 64-bit (``double``) or 32-bit (``single``) numbers.

    Returns:
        The report, the same to the last bit as in memory.

    Raises:
        DataError: A file cannot be read, or its data is wrong.
        UsageError: An argument is not valid.

    Example:
        >>> rankjury.scale.evaluate("gold.parquet", {"old": "old.parquet", "new": "new.parquet"}, "rr").mean()
    """
    named = runs if isinstance(runs, Mapping) else {Path(runs).stem: runs}
    systems = {name: str(path) for name, path in named.items()}
    conventions = {"rel": rel, "ties": ties, "missing": missing, "empty": empty, "self": self, "scores": scores}
    wanted = tuple(resolve_measures(measures, dialect, conventions))
    request = EvaluationRequest(
        str(gold), systems, wanted, resampling, baseline, duplicates, quantiles=tuple(quantiles)
    )
    budget, folder = Budget(parse_memory(memory)), None if temp is None else Path(temp)
    target = None if per_query is None else Path(per_query)
    of_queries, of_items = slice_files(slices, by, str(slices)), slice_files(item_slices, items_by, str(item_slices))
    return evaluate_tables(request, of_queries, of_items, budget, per_query=target, temp=folder, progress=progress)


def judge(
    gold: str | Path,
    run: str | Path,
    *,
    ties: TieRule = "id",
    scores: str = "double",
    self_matches: str = "keep",
    duplicates: DuplicateRule = "error",
    places: bool = False,
    memory: str = "2GB",
    temp: str | Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Iterator[Judged]:
    """Judge a ranking block by block, for custom measures.

    Args:
        gold: A Parquet file, or a folder of them.
        run: A Parquet file, or a folder of them.
        ties: Order of equal scores: by id (``id``), by id descending (``id-desc``), or as given (``order``).
        scores: Compare scores as 64-bit (``double``) or 32-bit (``single``) numbers.
        self_matches: An item whose id is the query's: ``keep`` it in the ranking, or ``drop`` it.
        duplicates: How to handle duplicate (query, item) pairs: ``error``, or keep the ``first``, ``last`` or ``max``.
        places: Whether to compare with the order of the gold, too.
        memory: The memory limit.
        temp: The folder for temporary files.
        progress: Reports how far it is.

    Yields:
        What ``rankjury.evaluation.judge.judge`` returns, of some queries; every query of the gold is in one block.

    Raises:
        DataError: A file cannot be read, or its data is wrong.

    Example:
        >>> sum(len(judged.queries) for judged in rankjury.scale.judge("gold.parquet", "new.parquet"))
        2
    """
    tables = [open_table(gold, "gold"), open_table(run, "run")]
    budget, folder = Budget(parse_memory(memory)), None if temp is None else Path(temp)
    for judgments, rows in read_blocks(tables, budget, temp=folder, progress=progress):
        if judgments.is_empty():
            continue
        truth = gold_from_frame(judgments, source=str(gold))
        with name_duplicate_files(tables):
            matched = MatchedRanking(
                truth, block_ranking(rows, str(run)), duplicates=duplicates, allow_disjoint_queries=True
            )
        yield matched.judge(OrderRules(ties, scores, self_matches), places)


def slice_files(table: object, by: str | None, path: str) -> list[SliceFile]:
    """Return the table to slice by, with its attributes; empty if there is no table."""
    if table is None and by is not None:
        raise UsageError(f"no table has the attributes {by!r}", expected="slices=…, or item_slices=…")
    if not isinstance(table, str | Path):
        return [] if table is None else [SliceFile(path, parse_attributes(by) if by else None)]
    return [SliceFile(*split_attributes(path, by=by))]
