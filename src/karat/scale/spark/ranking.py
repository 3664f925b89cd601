"""Ranks of differences on Spark: differences of one range of sizes come together in one task."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pickle import dumps, loads
from typing import Any

import pyarrow as pa

from karat.scale.panels import Panel
from karat.scale.ranks import join_blocks
from karat.scale.request import Request
from karat.scale.rounds import Ranked, Survey, ranked, within
from karat.scale.scored import Scored
from karat.scale.scratch import unpacked
from karat.scale.spark.tasks import SCORES

__all__ = ["RANGES", "JoiningRanks", "Ranking"]

RANGES = "range int, result binary"


@dataclass(frozen=True)
class Ranking:
    """Scores → differences, by range of their size."""

    asked: Any
    """Request, panels and survey, sent to the workers."""
    ranges: Sequence[tuple[float, float]]
    columns: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        request: Request
        panels: Sequence[Panel]
        found: Survey
        request, panels, found = self.asked.value
        for batch in batches:
            kinds, pieces = (column.to_pylist() for column in batch.columns)
            for kind, piece in zip(kinds, pieces, strict=True):
                if kind == SCORES:
                    scored = Scored(unpacked(piece), self.columns)
                    differences = ranked(request, panels, found, scored)
                    for number, (low, high) in enumerate(self.ranges):
                        yield _row(number, dumps(within(differences, low, high)))


class JoiningRanks:
    """The differences of a range → their ranks, of each range that came here."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        held: dict[int, list[Ranked]] = {}
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
