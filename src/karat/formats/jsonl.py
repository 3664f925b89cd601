"""JSONL: one object per line with the columns of a table."""

import io
import json

import polars as pl

from karat.columns import match_columns
from karat.errors import DataError
from karat.formats.delimited import numbers_of
from karat.formats.source import Source

__all__ = ["read"]


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade, or score and rank, of every line."""
    try:
        frame = pl.read_ndjson(source.polars if source.compression is None else io.BytesIO(source.text().encode()))
    except OSError as error:
        raise source.damaged(error) from error
    except pl.exceptions.PolarsError:
        frame = _read_line_by_line(source)
    found = match_columns(frame.columns, kind, where=source.name)
    frame = frame.select(pl.col(given).alias(name) for name, given in found.items())
    for name in frame.columns:
        if frame[name].null_count():
            line = int(frame[name].is_null().arg_max() or 0) + 1
            raise DataError(f"no {found[name]}", where=f"{source.name}:{line}", expected="a value on every line")
    return numbers_of(frame, source, first_line=1)


def _read_line_by_line(source: Source) -> pl.DataFrame:
    """The slow way: tells which line is broken, and takes ids that are strings here and numbers there."""
    records = []
    for number, line in enumerate(source.text().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"not JSON: {error}", where=f"{source.name}:{number}", expected="an object") from error
        if not isinstance(record, dict):
            raise DataError(f"found {line[:60]!r}", where=f"{source.name}:{number}", expected="an object on each line")
        records.append(record)
    try:
        return pl.DataFrame(records, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise DataError(f"the lines do not fit together: {error}", where=source.name) from error
