"""Block-wise evaluation in one process, within a memory limit."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import add
from os.path import exists, isdir
from pathlib import Path
from typing import Any, Self

import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.temp_files import new_part
from rankjury.errors import DataError
from rankjury.evaluation.report import Report
from rankjury.io.atomic import replacing, write_errors
from rankjury.io.formats import TABLE_FORMATS, form_to_write
from rankjury.scale.block_scores import BlockFindings, BlockScores, score_block
from rankjury.scale.blocks import read_blocks
from rankjury.scale.memory import Budget, ScratchFile, StoredFrame
from rankjury.scale.parquet import name_duplicate_files
from rankjury.scale.request import EvaluationRequest, SliceFile, open_inputs
from rankjury.scale.rounds import Panel, Survey, rank_differences, run_rounds, signed_differences
from rankjury.stats.mergeable import RankTotals, size_ranges

_SHARE_OF_SCORES = 8
"""This part of the memory is used for scores between the rounds, and the same for ranking them."""
_BYTES_RANKED = 200
_BYTES_PER_SCORE = 16


class ScoreStore:
    """Frames of scores that are iterated several times, in memory or, above its limit, in a scratch file."""

    def __init__(self, memory: int, temp: Path | None = None) -> None:
        self._memory, self._temp = memory, temp
        self._frames: list[pl.DataFrame] = []
        self._bytes = 0
        self._scratch: ScratchFile | None = None
        self._stored: list[StoredFrame] = []

    def add(self, frame: pl.DataFrame) -> None:
        size = int(frame.estimated_size())
        if self._scratch is None and self._bytes + size <= self._memory:
            self._frames.append(frame)
            self._bytes += size
            return
        if self._scratch is None:
            self._scratch = ScratchFile(self._temp)
        try:
            self._stored.append(self._scratch.append(frame))
        except OSError as error:
            raise self._scratch.write_error(error) from error

    def __len__(self) -> int:
        return len(self._frames) + len(self._stored)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        yield from self._frames
        if self._scratch is not None:
            yield from map(self._scratch.read, self._stored)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._scratch is not None:
            self._scratch.close()


class PerQueryWriter:
    """Writes the scores of each block as a Parquet file of a folder; without a folder, writes nothing."""

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
    """Refuse an output that cannot be written, before anything is computed; a name without suffix is a new folder."""
    if path.suffix:
        form_to_write(path, None, TABLE_FORMATS)
    elif exists(path) and (not isdir(path) or any(path.iterdir())):
        raise DataError("the path already exists", where=str(path), expected="a new or an empty folder")


@contextmanager
def open_per_query(path: Path | None) -> Iterator[PerQueryWriter]:
    """Yield a writer whose output is renamed to its destination on success, and removed on failure."""
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
        form, compression = form_to_write(path, None, TABLE_FORMATS)
        rows = pl.scan_parquet(sorted(folder.iterdir()), glob=False)  # streamed: few of the parts are in memory
        with replacing(path) as part:
            if form == "parquet":
                rows.sink_parquet(part)
            elif form == "jsonl":
                rows.sink_ndjson(part, compression=compression, check_extension=False)
            else:
                separator = "\t" if form == "tsv" else ","
                rows.sink_csv(part, separator=separator, compression=compression, check_extension=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    """Evaluate Parquet files or folders of them, named by the request and the slices."""
    if per_query is not None:
        check_per_query(per_query)
    memory = budget.memory // _SHARE_OF_SCORES
    with (
        open_inputs(request, slices, item_slices, budget, temp) as (whole, tables),
        ScoreStore(memory, temp) as store,
        open_per_query(per_query) as writer,
    ):
        rows, done = sum(table.rows for table in tables), 0
        found: BlockFindings | None = None
        for block in read_blocks(tables, budget, temp=temp, progress=progress):
            progress.update("Scoring", done, rows)
            with name_duplicate_files(tables):
                scored, findings = score_block(whole, block)
            found = findings if found is None else found + findings
            if scored is not None:
                store.add(scored.frame)
                writer.add(scored.per_query(whole))
            done += sum(frame.height for frame in block)
        if found is None:
            raise DataError("found no rows", where=request.gold, expected="at least one query with an item")
        found.check(whole)
        queries, columns = found.queries, len(whole.layout.columns)

        def blocks(what: str) -> Iterator[BlockScores]:
            for number, frame in enumerate(store):
                progress.update(what, number, len(store))
                yield BlockScores(frame, columns)

        def rank(panels: Sequence[Panel], outlined: Survey) -> Iterator[list[RankTotals]]:
            at_once = memory // (_BYTES_RANKED * len(panels) * max(len(whole.layout.pairs), 1))
            for low, high in size_ranges(queries, max(at_once, 1)):
                differences = (signed_differences(whole, panels, outlined, scored) for scored in blocks("Ranking"))
                yield rank_differences([[pair.within(low, high) for pair in block] for block in differences])

        def run(what: str, work: Callable[[BlockScores], Any]) -> Any:
            return reduce(add, map(work, blocks(what)))

        return run_rounds(whole, found, run, rank, memory // (_BYTES_PER_SCORE * columns))
