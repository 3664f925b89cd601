"""A pair that stands twice may do so in different files: which they are is looked up when it matters."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from rankjury.core.convert import ITEM, QUERY
from rankjury.errors import DuplicatePair
from rankjury.scale.parquet import ParquetTable

_MOST_NAMED = 3


@contextmanager
def name_duplicate_files(tables: Sequence[ParquetTable]) -> Iterator[None]:
    """An error about such a pair names the files that have it."""
    try:
        yield
    except DuplicatePair as error:
        table = next((one for one in tables if one.name == error.where), None)
        if table is not None:
            error.details = tuple(f"in {path}" for path in _files_with(table, error)[:_MOST_NAMED])
        raise


def _files_with(table: ParquetTable, error: DuplicatePair) -> list[str]:
    here = (pl.col(table.columns[QUERY]).cast(pl.String) == error.query) & (
        pl.col(table.columns[ITEM]).cast(pl.String) == error.item
    )
    return [str(part.path) for part in table.parts if part.scan().filter(here).select(pl.len()).collect().item()]
