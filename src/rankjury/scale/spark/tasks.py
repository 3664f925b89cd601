"""Tasks on the executors: judge the buckets of a partition, run a round over its scores, add up results."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path
from pickle import dumps, loads
from typing import Any

import polars as pl
import pyarrow as pa

from rankjury.scale.block_scores import BlockFindings, BlockScores, score_block
from rankjury.scale.blocks import Block, Partition
from rankjury.scale.memory import from_ipc, to_ipc
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds import rank_differences, signed_differences
from rankjury.stats.significance import SignedRanks

SCORES, FOUND = "scores", "found"
RESULTS = "kind string, result binary"
RANGES = "range int, result binary"


def _result(key: str | int, result: bytes) -> Any:
    """Return a row of results, by kind, or by number of the range."""
    name, type_ = ("kind", pa.string()) if isinstance(key, str) else ("range", pa.int32())
    return pa.RecordBatch.from_arrays([pa.array([key], type_), pa.array([result], pa.binary())], [name, "result"])


def _rows(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _scores(batches: Iterable[Any], columns: int) -> Iterator[BlockScores]:
    return (BlockScores(from_ipc(piece), columns) for kind, piece in _rows(batches) if kind == SCORES)


def _sum(values: Iterator[Any]) -> Iterator[Any]:
    """Yield the sum of values as a result; nothing where there is none."""
    first = next(values, None)
    if first is not None:
        yield _result(FOUND, dumps(reduce(add, values, first)))


@dataclass(frozen=True)
class JudgeBuckets:
    """Maps pieces, sorted by bucket, to the scores of each bucket's queries and the findings of the partition."""

    request: Any
    """Broadcast of the request."""
    schemas: tuple[pl.Schema, ...]
    block_rows: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        request: EvaluationRequest = self.request.value
        found: BlockFindings | None = None
        for _, rows in groupby(_rows(batches), key=lambda row: row[1]):  # by bucket
            for block in self._blocks((number, piece) for _, _, number, piece in rows):
                scored, findings = score_block(request, block)
                found = findings if found is None else found + findings
                if scored is not None:
                    yield _result(SCORES, bytes(to_ipc(scored.frame)))
        if found is not None:
            yield _result(FOUND, dumps(found))

    def _blocks(self, pieces: Iterator[tuple[int, bytes]]) -> Iterator[Block]:
        """Yield one block, or several if the bucket is too large because of queries with very many rows."""
        tables: list[list[pl.DataFrame]] = [[schema.to_frame()] for schema in self.schemas]
        rows = 0
        for number, piece in pieces:
            frame = from_ipc(piece)
            tables[number].append(frame)
            rows += frame.height
            if rows > self.block_rows:
                break
        else:
            yield tuple(pl.concat(frames) for frames in tables)
            return
        first = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]  # the executor's spill folder
        temp = Path(first) if first and Path(first).is_dir() else None
        with Partition(self.schemas, 4 * rows, self.block_rows, temp=temp) as partition:
            for number, frames in enumerate(tables):
                for frame in frames:
                    partition.add(number, frame)
                frames.clear()
            for number, piece in pieces:
                partition.add(number, from_ipc(piece))
            yield from partition.blocks()


@dataclass(frozen=True)
class RunRound:
    """Maps scores to the results of a round, one result per partition."""

    work: Any
    """Broadcast of the function that is applied to the scores of a block."""
    columns: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        work: Callable[[BlockScores], Any] = self.work.value
        return _sum(work(scored) for scored in _scores(batches, self.columns))


class SumResults:
    """Maps results to their sum."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return _sum(loads(result) for kind, result in _rows(batches) if kind == FOUND)


@dataclass(frozen=True)
class PerQueryRows:
    """Maps scores to rows of the per-query output."""

    request: Any
    """Broadcast of the request."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        request: EvaluationRequest = self.request.value
        for scored in _scores(batches, len(request.layout.columns)):
            yield from scored.per_query(request).to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


@dataclass(frozen=True)
class RankDifferences:
    """Maps scores to signed differences, by range of their size."""

    context: Any
    """Broadcast of request, panels and survey."""
    ranges: Sequence[tuple[float, float]]
    columns: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        request, panels, outlined = self.context.value
        for scored in _scores(batches, self.columns):
            differences = signed_differences(request, panels, outlined, scored)
            for number, (low, high) in enumerate(self.ranges):
                yield _result(number, dumps([of_pair.within(low, high) for of_pair in differences]))


class JoinRanks:
    """Maps the differences of each range to their ranks."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        ranges: dict[int, list[list[SignedRanks]]] = {}
        for number, result in _rows(batches):
            ranges.setdefault(number, []).append(loads(result))
        for number, blocks in ranges.items():
            yield _result(number, dumps(rank_differences(blocks)))
