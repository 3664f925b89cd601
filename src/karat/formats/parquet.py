"""Parquet with the columns of a table."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from karat.columns import GRADE, ITEM, QUERY, check_grades, match_columns
from karat.errors import DataError
from karat.formats.footer import check_parquet
from karat.formats.source import Source
from karat.guard import guard_reading

__all__ = ["check_rows", "read", "read_schema", "read_whole", "scan"]


def scan(given: Path | bytes, where: str) -> pl.LazyFrame:
    """Return a scan of one Parquet file whose declared sizes were checked; ``where``: the file as the user named it.

    Whatever is read from the scan is to be read within ``guard_reading``: what the pages hold was not looked at.
    """
    with guard_reading(where, "Parquet"):
        check_parquet(given, where)
        return pl.scan_parquet(given, glob=False, hive_partitioning=False)


def read_whole(given: Path | bytes, where: str) -> pl.DataFrame:
    """Return all rows and columns of one Parquet file."""
    with guard_reading(where, "Parquet"):
        return scan(given, where).collect()


def read_schema(given: Path | bytes, where: str) -> pl.Schema:
    """Return the names and types of the columns of one Parquet file."""
    with guard_reading(where, "Parquet"):
        return scan(given, where).collect_schema()


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade, or score and rank, of every row."""
    with guard_reading(source.name, "Parquet"):
        rows = scan(source.polars, source.name)
        found = match_columns(rows.collect_schema().names(), kind, where=source.name)
        frame = rows.select(pl.col(given).alias(name) for name, given in found.items()).collect()
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
