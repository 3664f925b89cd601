"""An evaluation in blocks by one process: as much is held at a time as memory allows, not as much as there is."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import TypeVar

import polars as pl

from karat.errors import DataError
from karat.progress import NO_PROGRESS, Progress
from karat.report import Report
from karat.scale.blocks import blocks_of
from karat.scale.duplicates import naming_files
from karat.scale.found import Found
from karat.scale.inputs import SlicesAsked, opened
from karat.scale.keeping import Kept
from karat.scale.memory import Budget
from karat.scale.panels import panels_of
from karat.scale.per_query import check_target, writing_per_query
from karat.scale.ranks import join_blocks, join_ranges
from karat.scale.reporting import Gathered, check_number_of_queries, report_of
from karat.scale.request import Request
from karat.scale.rounds import ranked, survey, tally, within
from karat.scale.scored import Scored
from karat.scale.scoring import score_block
from karat.scale.tables import Table
from karat.statistics.gathered import Ranks, ranges_for

__all__ = ["evaluate_files", "evaluate_in_blocks"]

_SHARE_OF_SCORES = 8
"""One part in so many of the memory holds scores between the rounds, another one what is ranked of them."""
_BYTES_RANKED = 200
_BYTES_PER_SCORE = 16

Summed = TypeVar("Summed")


def evaluate_files(
    request: Request,
    slices: Sequence[SlicesAsked],
    item_slices: Sequence[SlicesAsked],
    budget: Budget,
    *,
    per_query: Path | None = None,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """Gold, rankings and attributes by their paths."""
    if per_query is not None:
        check_target(per_query)
    with opened(request, slices, item_slices, budget, temp) as (whole, tables):
        return evaluate_in_blocks(whole, tables, budget, per_query=per_query, temp=temp, progress=progress)


def evaluate_in_blocks(
    request: Request,
    tables: Sequence[Table],
    budget: Budget,
    *,
    per_query: Path | None = None,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """``tables`` are the gold, the systems' rankings, and the tables of attributes, as the request names them."""
    rows, done = sum(table.rows for table in tables), 0
    with Kept(budget.memory // _SHARE_OF_SCORES, temp) as kept, writing_per_query(per_query) as written:
        found: Found | None = None
        for block in blocks_of(tables, budget, temp=temp, progress=progress):
            progress.update("Scoring", done, rows)
            with naming_files(tables):
                scored, here = score_block(request, block)
            found = here if found is None else found + here
            if scored is not None:
                kept.add(scored.frame)
                written.add(scored.per_query(request))
            done += sum(frame.height for frame in block)
        if found is None:
            raise DataError("found no rows", where=request.gold, expected="at least one query with an item")
        report = report_of(request, _gather(request, kept, found, budget.memory // _SHARE_OF_SCORES, progress))
    return report


def _gather(request: Request, kept: Kept, found: Found, memory: int, progress: Progress) -> Gathered:
    """The rounds over the scores of all blocks."""
    found.check(request)
    check_number_of_queries(found, request)
    panels = panels_of(request, found)
    columns = len(request.layout.columns)

    def joined(what: str, work: Callable[[Scored], Summed]) -> Summed:
        parts = (work(Scored(frame, columns)) for frame in told(what))
        return reduce(add, parts)

    def told(what: str) -> Iterator[pl.DataFrame]:
        for number, frame in enumerate(kept):
            progress.update(what, number, len(kept))
            yield frame

    surveyed = joined("Adding up", lambda scored: survey(request, panels, scored))
    inhabited, outlined = surveyed.inhabited(panels, request)
    held = memory // (_BYTES_PER_SCORE * columns)
    tallied = joined("Resampling", lambda scored: tally(request, inhabited, outlined, scored, held))
    ranks: Sequence[Sequence[Ranks]] = [[] for _ in inhabited]
    if request.baseline is not None:
        at_once = memory // (_BYTES_RANKED * len(inhabited) * max(len(request.layout.pairs), 1))
        by_range = []
        for low, high in ranges_for(found.queries, max(at_once, 1)):
            parts = (ranked(request, inhabited, outlined, Scored(frame, columns)) for frame in told("Ranking"))
            by_range.append(join_blocks([within(part, low, high) for part in parts]))
        ranks = join_ranges(by_range)
    return Gathered(found, inhabited, outlined, tallied, ranks)
