"""CSV and TSV with a header."""

import csv
import io
from collections.abc import Iterator

import polars as pl

from rankjury.core.convert import GRADE, ITEM, QUERY, check_grades, match_columns
from rankjury.errors import DataError
from rankjury.io.source import SEPARATORS, Source, cells_of, separator_of

_SHOWN = 80


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade, or score and rank, of every row."""
    header = next(iter(source.head_lines), "")
    separator = separator_of(header) or next((s for s in SEPARATORS if s in header), ",")
    names = cells_of(header, separator)
    found = match_columns(names, kind, where=source.name)
    wanted = [pl.col(given).alias(name) for name, given in found.items()]
    # A row that is too short has no last cell; a blank line has none at all, and does not count.
    scan = pl.scan_csv(source.polars, separator=separator, infer_schema=False, glob=False)
    try:
        frame = scan.select(*wanted, last=pl.col(names[-1]).is_null()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise misfit(source, separator, list(found.values())) or unreadable(source, error) from error
    if frame["last"].any() or any(frame[name].null_count() for name in found):
        fault = misfit(source, separator, list(found.values()))
        if fault is not None:
            raise fault
        blank = (pl.col(name).is_null() | (pl.col(name).str.strip_chars() == "") for name in found)
        frame = frame.filter(~pl.all_horizontal(blank))
    numbers = as_numbers(frame.select(list(found)))
    bad = first_bad_number(frame, numbers)
    if bad is not None:
        row, name = bad
        line = next((line for n, (line, _) in enumerate(_data_rows(source, separator)) if n == row), None)
        raise not_a_number(frame, row, name, f"{source.name}:{line}" if line else source.name)
    if kind == "gold":
        check_grades(found[GRADE], numbers[GRADE], source.name)
    return numbers


def as_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Columns other than ids as numbers; null where a cell is none."""
    texts = [name for name in frame.columns if name not in (QUERY, ITEM) and frame[name].dtype == pl.String]
    return frame.with_columns(pl.col(name).str.strip_chars().cast(pl.Float64, strict=False) for name in texts)


def first_bad_number(frame: pl.DataFrame, numbers: pl.DataFrame) -> tuple[int, str] | None:
    """The first row, and its column, whose number is missing or not finite."""
    for name in numbers.columns:
        if name in (QUERY, ITEM):
            continue
        column = numbers[name]
        if not column.dtype.is_numeric():
            return 0, name
        bad = ~column.cast(pl.Float64).is_finite().fill_null(False)
        if bad.any():
            return int(bad.arg_max() or 0), name
    return None


def not_a_number(frame: pl.DataFrame, row: int, name: str, where: str) -> DataError:
    value = frame[name][row]
    return DataError(f"the {name} of query {frame[QUERY][row]!r} is {value!r}", where=where, expected="a finite number")


def _data_rows(source: Source, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row under the header; blank lines do not count. Slow: only to explain an error."""
    reader = csv.reader(io.StringIO(source.text(), newline=""), delimiter=separator)
    rows = ((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))
    next(rows, None)
    yield from rows


def misfit(source: Source, separator: str, wanted: list[str]) -> DataError | None:
    """The error for the first row that does not fit the header, or lacks a cell that is wanted."""
    header = cells_of(next(iter(source.head_lines), ""), separator)
    for line, row in _data_rows(source, separator):
        where, shown = f"{source.name}:{line}", separator.join(row)[:_SHOWN]
        if len(row) != len(header):
            expected = f"{len(header)} columns: {', '.join(header)}"
            return DataError(f"found {len(row)} columns in the line {shown!r}", where=where, expected=expected)
        empty = next((name for name, cell in zip(header, row, strict=True) if name in wanted and not cell), None)
        if empty is not None:
            return DataError(f"no {empty} in the line {shown!r}", where=where, expected="a value in every column")
    return None


def unreadable(source: Source, error: Exception) -> DataError:
    """The error for what is no table at all."""
    if "utf" in str(error).lower():
        return source.undecodable()
    reason = str(error).partition("\n")[0]
    return DataError(f"cannot be read as a table: {reason}", where=source.name, expected="CSV or TSV with a header")
