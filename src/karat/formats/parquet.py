"""Parquet with the columns of a table."""

import polars as pl

from karat.columns import GRADE, ITEM, QUERY, check_grades, match_columns
from karat.errors import DataError
from karat.formats.source import Source

__all__ = ["read"]


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade, or score and rank, of every row."""
    try:
        scan = pl.scan_parquet(source.polars, glob=False)
        found = match_columns(scan.collect_schema().names(), kind, where=source.name)
        frame = scan.select(pl.col(given).alias(name) for name, given in found.items()).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"cannot be read as Parquet: {error}", where=source.name, expected="a whole file") from error
    for name in frame.columns:
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise DataError(f"row {row + 1:,} has no {found[name]}", where=source.name, expected="no nulls")
        if name not in (QUERY, ITEM) and not frame[name].dtype.is_numeric():
            raise DataError(f"{found[name]} is of type {frame[name].dtype}", where=source.name, expected="numbers")
    if kind == "gold":
        check_grades(found[GRADE], frame[GRADE], source.name)
    return frame
