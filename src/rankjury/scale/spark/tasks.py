"""What tasks do: judge the buckets of a partition, go through the scores of one, join what others found."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path
from pickle import dumps, loads
from typing import Any

import polars as pl
import pyarrow as pa

from rankjury.scale.blocks import Block, Partition
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds.found import BlockFindings
from rankjury.scale.rounds.score import score_block
from rankjury.scale.rounds.scored import BlockScores
from rankjury.scale.storage import from_ipc, to_ipc

SCORES, FOUND = "scores", "found"
RESULTS = "kind string, result binary"


def _results(kind: str, *results: bytes) -> Any:
    return pa.RecordBatch.from_arrays(
        [pa.array([kind] * len(results), pa.string()), pa.array(results, pa.binary())], names=["kind", "result"]
    )


def _rows(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


class JudgeBuckets:
    """Pieces, sorted by bucket → the scores of each bucket's queries, and what was found of them all."""

    def __init__(self, request: Any, schemas: tuple[pl.Schema, ...], block_rows: int) -> None:
        """``request`` is sent to the workers, and has it as its value."""
        self._request, self._schemas, self._block_rows = request, schemas, block_rows

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        request: EvaluationRequest = self._request.value
        found: BlockFindings | None = None
        for _, rows in groupby(_rows(batches), key=lambda row: row[1]):  # one bucket after the other
            for block in self._blocks((number, piece) for _, _, number, piece in rows):
                scored, here = score_block(request, block)
                found = here if found is None else found + here
                if scored is not None:
                    yield _results(SCORES, bytes(to_ipc(scored.frame)))
        if found is not None:
            yield _results(FOUND, dumps(found))

    def _blocks(self, pieces: Iterator[tuple[int, bytes]]) -> Iterator[Block]:
        """One block, unless the bucket is too large for that, as it has queries with very many rows."""
        held: list[list[pl.DataFrame]] = [[schema.to_frame()] for schema in self._schemas]
        rows = 0
        for number, piece in pieces:
            frame = from_ipc(piece)
            held[number].append(frame)
            rows += frame.height
            if rows > self._block_rows:
                yield from self._parted(held, rows, pieces)
                return
        yield tuple(pl.concat(frames) for frames in held)

    def _parted(self, held: list[list[pl.DataFrame]], rows: int, rest: Iterator[tuple[int, bytes]]) -> Iterator[Block]:
        with Partition(self._schemas, 4 * rows, self._block_rows, temp=_place_on_disk()) as partition:
            for number, frames in enumerate(held):
                for frame in frames:
                    partition.add(number, frame)
                frames.clear()
            for number, piece in rest:
                partition.add(number, from_ipc(piece))
            yield from partition.blocks()


def _place_on_disk() -> Path | None:
    """Where the executor puts what it spills: it has the room, if any folder has."""
    first = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    return Path(first) if first and Path(first).is_dir() else None


class RunRound:
    """Scores → what a round gathers of them, one result a partition."""

    def __init__(self, work: Any, columns: int) -> None:
        """``work`` is sent to the workers: what is done with the scores of a block."""
        self._work, self._columns = work, columns

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        work: Callable[[BlockScores], Any] = self._work.value
        parts = (work(BlockScores(from_ipc(piece), self._columns)) for kind, piece in _rows(batches) if kind == SCORES)
        first = next(parts, None)
        if first is not None:
            yield _results(FOUND, dumps(reduce(add, parts, first)))


class SumResults:
    """Results → their sum."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        parts = (loads(result) for kind, result in _rows(batches) if kind == FOUND)
        first = next(parts, None)
        if first is not None:
            yield _results(FOUND, dumps(reduce(add, parts, first)))


class PerQueryRows:
    """Scores → rows that people read."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        request: EvaluationRequest = self._request.value
        columns = len(request.layout.columns)
        for kind, piece in _rows(batches):
            if kind == SCORES:
                table = (
                    BlockScores(from_ipc(piece), columns)
                    .per_query(request)
                    .to_arrow(compat_level=pl.CompatLevel.oldest())
                )
                yield from table.to_batches()
