"""Public functions for Parquet tables that are too large for memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rankjury.core.convert import gold_from_frame
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.errors import UsageError
from rankjury.evaluation.evaluate import DEFAULT_MEASURES, resolve_measures
from rankjury.evaluation.judge import DuplicateRule, MatchedRanking, OrderRules
from rankjury.evaluation.report import Report
from rankjury.evaluation.slices.groups import parse_attributes
from rankjury.measures.judged import Judged, TieRule
from rankjury.measures.measure import Measure, Value
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
    **conventions: Value,
) -> Report:
    """Evaluate rankings from Parquet files or folders of them in blocks, within a memory limit.

    ``runs`` is one path, or several by name; with ``baseline`` they are compared with that one. ``slices`` is a table
    of query attributes, and ``by`` selects the attributes to group by; ``item_slices`` and ``items_by`` are the same
    for items. ``quantiles`` are shares of the queries, such as 0.05 and 0.5. The scores of every query are written to
    ``per_query``: a new folder, or a file.

    >>> rankjury.scale.evaluate("gold/", {"old": "old/", "new": "new/"}, "ndcg@10", baseline="old").comparisons
    """
    named = runs if isinstance(runs, Mapping) else {Path(runs).stem: runs}
    systems = {name: str(path) for name, path in named.items()}
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
    """Judge a ranking block by block, for custom measures: yields results of ``rankjury.judge`` for some queries.

    Both are Parquet files or folders of them; every query of the gold is in exactly one block.
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
    return [] if table is None else [SliceFile(path, parse_attributes(by) if by else None)]
