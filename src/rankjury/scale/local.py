"""An evaluation in blocks by one process: as much is held at a time as memory allows, not as much as there is."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add
from os.path import exists, isdir
from pathlib import Path
from typing import Self, TypeVar

import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.temp_files import new_part
from rankjury.errors import DataError
from rankjury.evaluation.report import Report
from rankjury.io.atomic import replacing, write_errors
from rankjury.io.formats import TABLE_FORMATS, form_to_write
from rankjury.scale.blocks import read_blocks
from rankjury.scale.duplicates import name_duplicate_files
from rankjury.scale.inputs import SliceFile, open_inputs
from rankjury.scale.memory import Budget
from rankjury.scale.parquet import ParquetTable
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds.found import BlockFindings
from rankjury.scale.rounds.gather import differences_within, signed_differences, survey, tally
from rankjury.scale.rounds.panels import make_panels
from rankjury.scale.rounds.ranks import join_blocks, join_ranges
from rankjury.scale.rounds.report import RoundResults, check_number_of_queries, make_report
from rankjury.scale.rounds.score import score_block
from rankjury.scale.rounds.scored import BlockScores
from rankjury.scale.storage import ScratchFile, StoredFrame
from rankjury.stats.mergeable import RankTotals, size_ranges


class ScoreStore:
    """Frames that can be gone through several times."""

    def __init__(self, memory: int, temp: Path | None = None) -> None:
        self._memory, self._temp = memory, temp
        self._frames: list[pl.DataFrame] = []
        self._held = 0
        self._scratch: ScratchFile | None = None
        self._pieces: list[StoredFrame] = []

    def add(self, frame: pl.DataFrame) -> None:
        size = int(frame.estimated_size())
        if self._scratch is None and self._held + size <= self._memory:
            self._frames.append(frame)
            self._held += size
            return
        if self._scratch is None:
            self._scratch = ScratchFile(self._temp)
        try:
            self._pieces.append(self._scratch.append(frame))
        except OSError as error:
            raise self._scratch.write_error(error) from error

    def __len__(self) -> int:
        return len(self._frames) + len(self._pieces)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        yield from self._frames
        if self._scratch is not None:
            yield from map(self._scratch.read, self._pieces)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._scratch is not None:
            self._scratch.close()


class PerQueryWriter:
    """Takes the scores of blocks; None as the folder: nobody wants them."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._parts = 0

    def add(self, frame: pl.DataFrame) -> None:
        if self._folder is not None:
            part = self._folder / f"part-{self._parts:05d}.parquet"
            with write_errors(part):
                frame.write_parquet(part)
            self._parts += 1


def check_per_query(path: Path) -> None:
    """Refuse what cannot be written before anything is computed: a name without a form is that of a new folder."""
    if not path.suffix:
        if exists(path) and (not isdir(path) or any(path.iterdir())):
            raise DataError("there is something here already", where=str(path), expected="a new or an empty folder")
    else:
        form_to_write(path, None, TABLE_FORMATS)


@contextmanager
def open_per_query(path: Path | None) -> Iterator[PerQueryWriter]:
    """What is written takes its place when all went well; else nothing is left."""
    if path is None:
        yield PerQueryWriter(None)
        return
    if not path.suffix:
        with replacing(path, folder=True) as folder:
            yield PerQueryWriter(folder)
        return
    folder = new_part(path)
    try:
        with write_errors(path):
            folder.mkdir()
        yield PerQueryWriter(folder)
        _joined(folder, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _joined(folder: Path, path: Path) -> None:
    """One file of the parts, of which no more than a few are in memory at a time."""
    form, compression = form_to_write(path, None, TABLE_FORMATS)
    rows = pl.scan_parquet(sorted(folder.iterdir()), glob=False)
    with replacing(path) as part:
        if form == "parquet":
            rows.sink_parquet(part)
        elif form == "jsonl":
            rows.sink_ndjson(part, compression=compression, check_extension=False)
        else:
            separator = "\t" if form == "tsv" else ","
            rows.sink_csv(part, separator=separator, compression=compression, check_extension=False)


_SHARE_OF_SCORES = 8
"""One part in so many of the memory holds scores between the rounds, another one what is ranked of them."""
_BYTES_RANKED = 200
_BYTES_PER_SCORE = 16

Summed = TypeVar("Summed")


def evaluate_tables(
    request: EvaluationRequest,
    slices: Sequence[SliceFile],
    item_slices: Sequence[SliceFile],
    budget: Budget,
    *,
    per_query: Path | None = None,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """Gold, rankings and attributes by their paths."""
    if per_query is not None:
        check_per_query(per_query)
    with open_inputs(request, slices, item_slices, budget, temp) as (whole, tables):
        return evaluate_in_blocks(whole, tables, budget, per_query=per_query, temp=temp, progress=progress)


def evaluate_in_blocks(
    request: EvaluationRequest,
    tables: Sequence[ParquetTable],
    budget: Budget,
    *,
    per_query: Path | None = None,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """``tables`` are the gold, the systems' rankings, and the tables of attributes, as the request names them."""
    rows, done = sum(table.rows for table in tables), 0
    with ScoreStore(budget.memory // _SHARE_OF_SCORES, temp) as kept, open_per_query(per_query) as written:
        found: BlockFindings | None = None
        for block in read_blocks(tables, budget, temp=temp, progress=progress):
            progress.update("Scoring", done, rows)
            with name_duplicate_files(tables):
                scored, here = score_block(request, block)
            found = here if found is None else found + here
            if scored is not None:
                kept.add(scored.frame)
                written.add(scored.per_query(request))
            done += sum(frame.height for frame in block)
        if found is None:
            raise DataError("found no rows", where=request.gold, expected="at least one query with an item")
        report = make_report(request, _gather(request, kept, found, budget.memory // _SHARE_OF_SCORES, progress))
    return report


def _gather(
    request: EvaluationRequest, kept: ScoreStore, found: BlockFindings, memory: int, progress: Progress
) -> RoundResults:
    """The rounds over the scores of all blocks."""
    found.check(request)
    check_number_of_queries(found, request)
    panels = make_panels(request, found)
    columns = len(request.layout.columns)

    def joined(what: str, work: Callable[[BlockScores], Summed]) -> Summed:
        parts = (work(BlockScores(frame, columns)) for frame in told(what))
        return reduce(add, parts)

    def told(what: str) -> Iterator[pl.DataFrame]:
        for number, frame in enumerate(kept):
            progress.update(what, number, len(kept))
            yield frame

    surveyed = joined("Adding up", lambda scored: survey(request, panels, scored))
    inhabited, outlined = surveyed.nonempty(panels, request)
    held = memory // (_BYTES_PER_SCORE * columns)
    tallied = joined("Resampling", lambda scored: tally(request, inhabited, outlined, scored, held))
    ranks: Sequence[Sequence[RankTotals]] = [[] for _ in inhabited]
    if request.baseline is not None:
        at_once = memory // (_BYTES_RANKED * len(inhabited) * max(len(request.layout.pairs), 1))
        by_range = []
        for low, high in size_ranges(found.queries, max(at_once, 1)):
            parts = (
                signed_differences(request, inhabited, outlined, BlockScores(frame, columns))
                for frame in told("Ranking")
            )
            by_range.append(join_blocks([differences_within(part, low, high) for part in parts]))
        ranks = join_ranges(by_range)
    return RoundResults(found, inhabited, outlined, tallied, ranks)
