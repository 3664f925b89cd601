"""Tables sorted by query, merged into blocks as they are read."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from karat.columns import QUERY
from karat.progress import Progress
from karat.scale.tables import Table

__all__ = ["Block", "are_sorted", "merged"]

Block = tuple[pl.DataFrame, ...]
"""One frame a table, perhaps empty."""
"""What is being done, how many rows are done, and of how many."""

_ROWS_LOOKED_AT = 1_000_000


def are_sorted(tables: Sequence[Table], progress: Progress) -> bool:
    """Whether the queries of each table ascend; only their column is read."""
    rows, done = sum(table.rows for table in tables), 0
    for table in tables:
        last = None
        for frame in table.batches(_ROWS_LOOKED_AT, queries_alone=True):
            progress.update("Reading", done, rows)
            queries = frame[QUERY]
            if not queries.is_sorted() or (last is not None and queries[0] < last):
                return False
            last = queries[-1]
            done += frame.height
    return True


def merged(tables: Sequence[Table], block_rows: int, batch_rows: int) -> Iterator[Block]:
    """Blocks of about so many rows, read in batches; a query that has more makes a larger block."""
    streams = [_Stream(table, batch_rows) for table in tables]
    while unread := [stream for stream in streams if not stream.ended]:
        behind = min(unread, key=lambda stream: stream.last)
        if sum(stream.rows for stream in streams) + batch_rows > block_rows:
            block = tuple(stream.take(behind.last) for stream in streams)
            if any(frame.height for frame in block):
                yield block
        behind.read()
    rest = tuple(stream.take_all() for stream in streams)
    if any(frame.height for frame in rest):
        yield rest


class _Stream:
    """A sorted table that is read batch after batch; its last query may go on in the next one."""

    def __init__(self, table: Table, batch_rows: int) -> None:
        self._schema = table.schema
        self._batches = table.batches(batch_rows)
        self._held: list[pl.DataFrame] = []
        self.last: Any = None
        self.ended = False
        self.read()

    @property
    def rows(self) -> int:
        """That are held."""
        return sum(frame.height for frame in self._held)

    def read(self) -> None:
        frame = next(self._batches, None)
        if frame is None:
            self.ended = True
        else:
            self._held.append(frame)
            self.last = frame[QUERY][-1]

    def take(self, before: Any) -> pl.DataFrame:
        """The rows of queries that come before this one."""
        cuts = [int(frame[QUERY].search_sorted(before)) for frame in self._held]
        taken = [frame.head(cut) for frame, cut in zip(self._held, cuts, strict=True)]
        self._held = [frame.slice(cut) for frame, cut in zip(self._held, cuts, strict=True) if cut < frame.height]
        return pl.concat([self._schema.to_frame(), *taken])

    def take_all(self) -> pl.DataFrame:
        taken, self._held = self._held, []
        return pl.concat([self._schema.to_frame(), *taken])
