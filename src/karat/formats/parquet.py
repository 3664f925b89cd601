"""Parquet with the columns of a table."""

from collections.abc import Mapping

import polars as pl

from karat.columns import GRADE, ITEM, QUERY, check_grades, match_columns
from karat.errors import DataError
from karat.formats.source import Source

__all__ = ["check_rows", "read", "unreadable"]


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade, or score and rank, of every row."""
    try:
        scan = pl.scan_parquet(source.polars, glob=False)
        found = match_columns(scan.collect_schema().names(), kind, where=source.name)
        frame = scan.select(pl.col(given).alias(name) for name, given in found.items()).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(source.name, error) from error
    check_rows(frame, found, source.name)
    return frame


def check_rows(frame: pl.DataFrame, found: Mapping[str, str], where: str, *, rows_before: int = 0) -> None:
    """Refuse nulls, values that are no numbers, and a gold's that are a run's.

    ``found`` maps karat's names of the columns to the file's; ``rows_before``: as many of its rows came before these.
    """
    for name in frame.columns:
        if frame[name].null_count():
            row = rows_before + int(frame[name].is_null().arg_max() or 0)
            raise DataError(f"row {row + 1:,} has no {found[name]}", where=where, expected="no nulls")
        if name not in (QUERY, ITEM) and not frame[name].dtype.is_numeric():
            raise DataError(f"{found[name]} is of type {frame[name].dtype}", where=where, expected="numbers")
    if GRADE in frame.columns:
        check_grades(found[GRADE], frame[GRADE], where)


def unreadable(where: str, error: BaseException) -> DataError:
    """The error for a file that is damaged, or none of Parquet."""
    return DataError(f"cannot be read as Parquet: {error}", where=where, expected="a whole file")
