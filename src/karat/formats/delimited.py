"""CSV and TSV with a header."""

import csv
import io
from collections.abc import Sequence

import polars as pl

from karat.columns import QUERY, looks_like_header, match_columns
from karat.errors import DataError
from karat.formats.source import Source

__all__ = ["numbers_of", "read", "separator_of"]

_SEPARATORS = ",\t;|"


def separator_of(header: str) -> str | None:
    """The separator under which this line is a header that names a query and an item; None where it is none."""
    for separator in _SEPARATORS:
        if looks_like_header(_cells(header, separator)):
            return separator
    return None


def _cells(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade, or score and rank, of every row."""
    header = next((line for line in source.head.splitlines() if line.strip()), "")
    separator = separator_of(header) or next((s for s in _SEPARATORS if s in header), ",")
    found = match_columns(_cells(header, separator), kind, where=source.name)
    try:
        frame = pl.scan_csv(
            source.polars, separator=separator, infer_schema=False, glob=False
        ).select(pl.col(given).alias(name) for name, given in found.items()).collect(engine="streaming")  # fmt: skip
    except OSError as error:
        raise source.damaged(error) from error
    except pl.exceptions.PolarsError as error:
        raise _explained(source, separator, error) from error
    if frame.null_count().row(0) != (0,) * frame.width:
        raise _explained(source, separator, None)
    return numbers_of(frame, source)


def numbers_of(frame: pl.DataFrame, source: Source, first_line: int = 2) -> pl.DataFrame:
    """Numeric columns as numbers; the first that is none is named with its line."""
    for name in frame.columns[2:]:
        column = frame[name]
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False) if column.dtype == pl.String else column
        bad = numbers.is_null() | ~numbers.cast(pl.Float64).is_finite().fill_null(False)
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise DataError(
                f"the {name} of query {frame[QUERY][row]!r} is {column[row]!r}",
                where=f"{source.name}:{row + first_line}",
                expected="a finite number",
            )
        frame = frame.with_columns(numbers.alias(name))
    return frame


def _explained(source: Source, separator: str, error: Exception | None) -> DataError:
    """Find the row that does not fit the header; only run once something is known to be wrong."""
    reader = csv.reader(io.StringIO(source.text(), newline=""), delimiter=separator)
    header: Sequence[str] = next(reader, [])
    for row in reader:
        if row and len(row) != len(header):
            return DataError(
                f"found {len(row)} columns in the line {separator.join(row)!r}",
                where=f"{source.name}:{reader.line_num}",
                expected=f"{len(header)} columns: {', '.join(header)}",
            )
        if row and "" in row:
            empty = header[row.index("")]
            return DataError(
                f"no {empty} in the line {separator.join(row)!r}",
                where=f"{source.name}:{reader.line_num}",
                expected="a value in every column",
            )
    return DataError(f"cannot be read as a table: {error}", where=source.name, expected="CSV or TSV with a header")
