"""Tables of attributes of queries or items: an id column, and columns of any kind."""

import polars as pl

from karat.columns import find_id_column
from karat.errors import DataError
from karat.formats.source import Source

__all__ = ["read_attributes"]


def read_attributes(given: str, kind: str) -> tuple[pl.DataFrame, str]:
    """A CSV, TSV, JSONL or Parquet table, and the name of its column of ids; ``kind`` is ``query`` or ``item``."""
    source = Source.open(given)
    try:
        frame = _read(source, kind)
    except OSError as error:
        raise source.damaged(error) from error
    except pl.exceptions.PolarsError as error:
        expected = "CSV, TSV or JSONL with a header or keys, or Parquet"
        raise DataError(f"cannot be read as a table: {error}", where=source.name, expected=expected) from error
    found = find_id_column(frame.columns, kind, source.name)
    if frame.is_empty():
        raise DataError("found a header but no rows", where=source.name, expected="at least one row")
    if frame[found].null_count():
        row = int(frame[found].is_null().arg_max() or 0)
        raise DataError(f"row {row + 1:,} has no {found}", where=source.name, expected="an id in every row")
    if len(frame.columns) == 1:
        raise DataError(f"found no column but {found}", where=source.name, expected="at least one attribute")
    return frame, found


def _read(source: Source, kind: str) -> pl.DataFrame:
    if source.is_parquet():
        return pl.read_parquet(source.polars)
    first = next(iter(source.head_lines), "").lstrip()
    if first.startswith("["):
        return pl.read_json(source.text().encode(), infer_schema_length=None)
    if first.startswith("{"):
        return pl.read_ndjson(source.text().encode(), infer_schema_length=None)
    separator = max(",\t;|", key=first.count)
    names = [name.strip().strip('"') for name in first.split(separator)]
    # Ids stay as they are written: 007 is not 7.
    ids = {find_id_column(names, kind, source.name): pl.String}
    return pl.read_csv(source.polars, separator=separator, infer_schema_length=None, schema_overrides=ids, glob=False)
