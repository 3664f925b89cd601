"""Tables → blocks: all rows of some queries, of all tables, as many as fit into memory.

Tables that are all sorted by query are merged as they are read. Where one is not, all are first parted on disk.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from karat.columns import ITEM, QUERY
from karat.progress import NO_PROGRESS, Progress
from karat.scale.memory import Budget
from karat.scale.merging import Block, are_sorted, merged
from karat.scale.partition import Partition
from karat.scale.tables import Table

__all__ = ["Block", "blocks_of", "with_ids_alike"]


def blocks_of(
    tables: Sequence[Table],
    budget: Budget,
    *,
    temp: Path | None = None,
    progress: Progress = NO_PROGRESS,
) -> Iterator[Block]:
    """Every query's rows are in one block, in the order of the files and, but by chance, next to each other.

    Ids have the same type in all tables: Int64 where all are whole numbers, else String.
    """
    alike = with_ids_alike(tables)
    rows = sum(table.rows for table in alike)
    bytes_per_row = sum(table.bytes_per_row * table.rows for table in alike) / rows
    block_rows, batch_rows = budget.block_rows(bytes_per_row), budget.batch_rows(bytes_per_row)
    if are_sorted(alike, progress):
        yield from merged(alike, block_rows, batch_rows)
        return
    with Partition([table.schema for table in alike], rows, block_rows, temp=temp) as partition:
        partition.check_space(rows * bytes_per_row)
        done = 0
        for number, table in enumerate(alike):
            for frame in table.batches(batch_rows):
                progress.update("Partitioning", done, rows)
                partition.add(number, frame)
                done += frame.height
        yield from partition.blocks()


def with_ids_alike(tables: Sequence[Table]) -> list[Table]:
    """Whole numbers become text where they are compared with text."""
    found = list(tables)
    for name in (QUERY, ITEM):
        compared = [table for table in found if name == QUERY or table.kind != "attributes"]
        if any(table.schema[name] == pl.String for table in compared):
            found = [table.with_text(name) if table in compared else table for table in found]
    return found
