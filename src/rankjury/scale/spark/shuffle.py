"""Rows on their way to the tasks that judge them: many rows of a bucket of queries in one piece.

Spark moves rows one by one; of a piece of thousands, packed as Arrow, it only moves the bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow as pa

from rankjury.core.convert import GRADE, ITEM, QUERY, check_grades
from rankjury.core.types import Ints
from rankjury.errors import DataError
from rankjury.scale.storage import to_ipc

BUCKET = "rankjury:bucket"
"""A name that no attribute has."""
PART = "part"
PIECES = f"{PART} int, `{BUCKET}` int, number int, piece binary"


def arrow_to_polars(arrow: Any) -> pl.DataFrame:
    """What Spark sends as Arrow, with moments in universal time, whichever zone the session has."""
    return pl.DataFrame(pl.from_arrow(arrow)).with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))


@dataclass(frozen=True)
class PackRows:
    """One of the tables: its place among them, and what is to be true of its rows."""

    number: int
    kind: str
    """``gold``, ``run`` or ``attributes``."""
    where: str
    names: tuple[tuple[str, str], ...]
    """Of each column, rankjury's name and the given one."""
    parts: tuple[int, ...]
    """What the pieces of a bucket are sent by: buckets take turns."""
    rows_at_once: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        held: list[pl.DataFrame] = []
        for batch in batches:
            frame = arrow_to_polars(batch)
            frame.columns = [*(name for name, _ in self.names), BUCKET]
            self._check(frame)
            held.append(frame)
            if sum(one.height for one in held) >= self.rows_at_once:
                yield self._pieces(held)
                held = []
        if any(one.height for one in held):
            yield self._pieces(held)

    def _check(self, frame: pl.DataFrame) -> None:
        for name, given in self.names:
            if self.kind == "attributes" and name != QUERY:
                continue
            absent = frame[name].is_null()
            if not absent.any() and (name in (QUERY, ITEM) or frame[name].is_finite().all()):
                if name == GRADE:
                    check_grades(given, frame[name], self.where)
                continue
            wrong = absent if absent.any() else ~frame[name].is_finite()
            row = frame.row(wrong.arg_max() or 0, named=True)
            if name in (QUERY, ITEM):
                known = ", ".join(f"{given} {row[name]!r}" for name, given in self.names if row[name] is not None)
                raise DataError(f"a row has no {given} ({known})", where=self.where, expected="an id in every row")
            raise DataError(
                f"the {given} of item {row[ITEM]!r} for query {row[QUERY]!r} is {row[name]}",
                where=self.where,
                expected=f"a finite {name} in every row",
                hint="Drop such rows, or give those items the lowest score.",
            )

    def _pieces(self, frames: list[pl.DataFrame]) -> Any:
        rows = pl.concat(frames, rechunk=True)
        return pack_pieces(rows.drop(BUCKET), rows[BUCKET].to_numpy(), self.number, self.parts)


def pack_pieces(rows: pl.DataFrame, bucket: Ints, number: int, parts: Sequence[int]) -> Any:
    """The rows of each bucket in a piece of their own, with what they are sent by."""
    order = np.argsort(bucket.astype(np.uint16), kind="stable")
    ordered, sorted_buckets = rows[order], bucket[order]
    edges = np.flatnonzero(np.diff(sorted_buckets)) + 1
    firsts, lasts = np.concatenate(([0], edges)), np.concatenate((edges, [len(order)]))
    pieces = [bytes(to_ipc(ordered.slice(a, b - a))) for a, b in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    buckets = sorted_buckets[firsts]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.array(parts)[buckets % len(parts)], pa.int32()),
            pa.array(buckets, pa.int32()),
            pa.array(np.full(len(pieces), number), pa.int32()),
            pa.array(pieces, pa.binary()),
        ],
        names=[PART, BUCKET, "number", "piece"],
    )
