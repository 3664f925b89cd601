"""Table reader: CSV, TSV, JSON, JSONL and Parquet as a frame, or as rows with their places; errors name the line.

Interaction logs have their own reader (``recsys/data/delimited_text.py``), as they may have a hundred million rows and
no header. TREC files (``trec.py``) are not tables: any number of blanks separates their columns.
"""

import ast
import csv
import io
import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from rankjury.core.columns import match_columns
from rankjury.errors import DataError, guard_reading
from rankjury.io.json import (
    check_numbers,
    parse_json,
    read_json_table,
    records_by_id,
    refuse_surrogates,
    unique_members,
)
from rankjury.io.parquet import read_schema, read_whole, scan
from rankjury.io.source import SEPARATORS, Source, cells_of, plain_suffix, separator_of

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
_LISTS = ("items", "products", "catalogue", "catalog", "queries", "labels", "data", "results", "rows")
"""Keys of an object that may contain the records."""
_LINES = (".jsonl", ".ndjson")
_FIRST_ROWS = 1000


def read_table(source: Source, *, text: Callable[[list[str]], Collection[str]] | None = None) -> pl.DataFrame:
    """Read a table by its content: Parquet, a JSON list of objects, {id: object}, JSONL, or delimited text.

    ``text`` returns, from the column names of delimited text, the columns that stay text, as 007 is not 7; None: all of
    them. An error names the line.
    """
    with guard_reading(source.name, "a table"):
        suffix = plain_suffix(source.name)
        if source.is_parquet() or suffix in (".parquet", ".pq"):
            return read_whole(source.polars, source.name)
        if "\0" in source.head:
            expected = "CSV, TSV or JSONL with a header or keys, or Parquet"
            raise DataError("found bytes that are not text", where=source.name, expected=expected)
        first = next(iter(source.head_lines), "").lstrip()
        if first.startswith("["):
            return read_json_table(source)
        if first.startswith("{") or suffix in (*_LINES, ".json"):
            keyed = records_by_id(source) if suffix == ".json" else None
            if keyed is not None:
                return pl.DataFrame(keyed, infer_schema_length=None)
            return read_json_table(source, lines=True)
        separator, names = read_header(source)
        try:
            frame = pl.read_csv(
                source.polars,
                separator=separator,
                new_columns=names,
                infer_schema_length=None,
                infer_schema=text is not None,
                schema_overrides={} if text is None else dict.fromkeys(text(names), pl.String),
                glob=False,
            )
        except pl.exceptions.PolarsError as error:
            raise find_bad_row(source, separator, []) or unreadable(source, error) from error
        return frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines are not rows


def first_rows(source: Source) -> pl.DataFrame:
    """Read the first rows of a table, however large it is: of Parquet 1,000, of a text those at its beginning."""
    if source.is_parquet():
        return scan(source.polars, source.name).head(_FIRST_ROWS).collect()
    return read_table(Source(source.name, None, source.head.rpartition("\n")[0].encode()))


def read_header(source: Source) -> tuple[str, list[str]]:
    """Return the separator and the column names of delimited text; duplicate names are refused."""
    line = next(iter(source.head_lines), "")
    separator = max(SEPARATORS, key=line.count)
    names = [name.strip() for name in cells_of(line, separator)]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise DataError(f"duplicate column {duplicate!r}", where=source.name, expected="each column once")
    return separator, names


def column_names(source: Source) -> list[str]:
    """Return the column names of a table that its first line contains."""
    if source.is_parquet():
        return list(read_schema(source.polars, source.name))
    first = next(iter(source.head_lines), "")
    if first.lstrip().startswith("{"):
        try:
            return list(parse_json(first, source.name))
        except DataError:
            return []
    return [name.strip() for name in cells_of(first, max(SEPARATORS, key=first.count))]


def read_delimited(source: Source, kind: str) -> pl.DataFrame:
    """Return query_id, item_id and grade, or score and rank, of all rows of a CSV or TSV gold or run."""
    header = next(iter(source.head_lines), "")
    separator = separator_of(header) or next((s for s in SEPARATORS if s in header), ",")
    names = cells_of(header, separator)
    columns = match_columns(names, kind, where=source.name)
    wanted = [pl.col(column).alias(name) for name, column in columns.items()]
    # A row that is too short has no last cell; blank lines have no cells and are skipped.
    scan = pl.scan_csv(source.polars, separator=separator, infer_schema=False, glob=False)
    try:
        frame = scan.select(*wanted, last=pl.col(names[-1]).is_null()).collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise find_bad_row(source, separator, list(columns.values())) or unreadable(source, error) from error
    if frame["last"].any() or any(frame[name].null_count() for name in columns):
        fault = find_bad_row(source, separator, list(columns.values()))
        if fault is not None:
            raise fault
        blank = (pl.col(name).is_null() | (pl.col(name).str.strip_chars() == "") for name in columns)
        frame = frame.filter(~pl.all_horizontal(blank))

    def place(row: int) -> str:
        lines = (f"{source.name}:{line}" for line, _ in _data_rows(source, separator))
        return next(islice(lines, row, None), source.name)

    return check_numbers(frame.select(list(columns)), columns, source, place)


def _data_rows(source: Source, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row below the header; blank lines are skipped."""
    reader = csv.reader(io.StringIO(source.text(), newline=""), delimiter=separator)
    try:
        rows = ((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))
        next(rows, None)
        yield from rows
    except csv.Error as error:
        raise DataError(f"cannot be read as a table: {error}", where=f"{source.name}:{reader.line_num}") from error


def find_bad_row(source: Source, separator: str, required: list[str]) -> DataError | None:
    """Return the error for the first row that does not match the header, or lacks a cell of a required column."""
    header = cells_of(next(iter(source.head_lines), ""), separator)
    for line, row in _data_rows(source, separator):
        where, shown = f"{source.name}:{line}", separator.join(row)[:80]
        if len(row) != len(header):
            expected = f"{len(header)} columns: {', '.join(header)}"
            return DataError(f"found {len(row)} columns in the line {shown!r}", where=where, expected=expected)
        empty = next((name for name, cell in zip(header, row, strict=True) if name in required and not cell), None)
        if empty is not None:
            return DataError(f"no {empty} in the line {shown!r}", where=where, expected="a value in every column")
    return None


def unreadable(source: Source, error: Exception) -> DataError:
    """Return the error for a file that is not a table."""
    if "utf" in str(error).lower():
        return source.undecodable()
    reason = str(error).partition("\n")[0]
    return DataError(f"cannot be read as a table: {reason}", where=source.name, expected="CSV or TSV with a header")


@dataclass(frozen=True)
class Row:
    """Record of a file, with its location for errors: ``items.csv:12``."""

    place: str
    fields: dict[str, Any]


def read_records(source: Source) -> list[Row]:
    """Read records with values of any type, each with its location.

    The file is a list of objects, an object that contains one, {id: object}, JSONL, delimited text or Parquet.
    """
    with guard_reading(source.name, "a table or JSON"):
        if source.is_parquet():
            rows = read_whole(source.polars, source.name).iter_rows(named=True)
            records = [Row(f"{source.name}, row {n}", row) for n, row in enumerate(rows, start=1)]
        elif plain_suffix(source.name) in (".csv", ".tsv", ".psv") or not source.head.lstrip().startswith(("{", "[")):
            separator, names = read_header(source)
            records = []
            for line, cells in _data_rows(source, separator):
                if len(cells) != len(names):
                    expected = f"{len(names)} columns: {', '.join(names)}"
                    raise DataError(f"found {len(cells)} columns", where=f"{source.name}:{line}", expected=expected)
                fields = {name: cell or None for name, cell in zip(names, cells, strict=True)}
                records.append(Row(f"{source.name}:{line}", fields))
        else:
            records = _json_records(source)
    if not records:
        raise DataError("found no records", where=source.name, expected="at least one")
    return records


def parse_cell(text: str) -> Any:
    """Return the value of a cell written as JSON or as a Python literal; None if it is neither."""
    try:
        return _parse(text)
    except ValueError:
        return None


def _parse(text: str, members: Any = None) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=members)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            raise error from None
    refuse_surrogates(text, value)
    return value


def _json_records(source: Source) -> list[Row]:
    text = source.text()
    if plain_suffix(source.name) in _LINES and not text.lstrip().startswith("["):
        return _line_records(source, text)
    try:
        whole = json.loads(text, object_pairs_hook=unique_members(source.name))
        refuse_surrogates(text, whole)
    except UnicodeError:
        raise
    except ValueError as error:
        return _line_records(source, text, error)
    if isinstance(whole, dict):
        lists = (whole[name] for name in _LISTS if isinstance(whole.get(name), list) and whole[name])
        records = next((values for values in lists if all(isinstance(value, dict) for value in values)), None)
        whole = records or records_by_id(source, whole) or [whole]
    if not isinstance(whole, list):
        raise DataError(f"found {str(whole)[:60]!r}", where=source.name, expected="a list of objects")
    return [_record(f"{source.name}, number {n}", value) for n, value in enumerate(whole, start=1)]


def _line_records(source: Source, text: str, of_whole: ValueError | None = None) -> list[Row]:
    """Read one object per line; ``of_whole`` is the error for the whole text, raised if the first has none."""
    records: list[Row] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _parse(line.strip(), unique_members(f"{source.name}:{number}"))
        except UnicodeError:
            raise
        except ValueError as of_line:
            error: ValueError = of_line
            if of_whole and not records:
                error, number = of_whole, getattr(of_whole, "lineno", number)
            expected = "a list of objects, or one object per line"
            raise DataError(f"not JSON: {error}", where=f"{source.name}:{number}", expected=expected) from error
        records.append(_record(f"{source.name}:{number}", value))
    return records


def _record(place: str, value: Any) -> Row:
    if not isinstance(value, dict):
        raise DataError(f"found {str(value)[:60]!r}", where=place, expected="an object")
    return Row(place, {str(name): cell for name, cell in value.items()})
