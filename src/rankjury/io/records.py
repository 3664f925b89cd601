"""Files of records, each with the place where it stands, so that a fault can be named: JSON, JSONL, CSV, Parquet."""

import ast
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rankjury.errors import DataError, guard_reading
from rankjury.io.json import records_by_id, refuse_surrogates, unique_members
from rankjury.io.parquet import read_whole
from rankjury.io.source import SEPARATORS, Source, cells_of, plain_suffix

_LISTS = ("items", "products", "catalogue", "catalog", "queries", "labels", "data", "results", "rows")
"""Under which key an object may hold the records."""
_LINES = (".jsonl", ".ndjson")
_DELIMITED = (".csv", ".tsv", ".psv")
_SHOWN = 60


@dataclass(frozen=True)
class Row:
    """What stands in one place."""

    place: str
    fields: dict[str, Any]


def read_records(source: Source) -> list[Row]:
    """Read a list of objects, an object that holds one, {id: object}, an object a line, a table, or Parquet."""
    with guard_reading(source.name, "a table or JSON"):
        if source.is_parquet():
            rows = read_whole(source.polars, source.name).iter_rows(named=True)
            found = [Row(f"{source.name}, row {n}", row) for n, row in enumerate(rows, start=1)]
        elif plain_suffix(source.name) in _DELIMITED or not source.head.lstrip().startswith(("{", "[")):
            found = list(_of_table(source))
        else:
            found = _of_json(source)
    if not found:
        raise DataError("found no records", where=source.name, expected="at least one")
    return found


def parsed(text: str) -> Any:
    """What a text stands for that was written as JSON, or as Python writes it; None where it is neither."""
    try:
        return _loaded(text)
    except ValueError:
        return None


def _loaded(text: str, members: Any = None) -> Any:
    try:
        found = json.loads(text, object_pairs_hook=members)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError as error:
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            raise error from None
    refuse_surrogates(text, found)
    return found


def _of_table(source: Source) -> Iterator[Row]:
    header_line = next(iter(source.head_lines), "")
    separator = max(SEPARATORS, key=header_line.count)
    header = [name.strip() for name in cells_of(header_line, separator)]
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"the column {twice!r} stands twice", where=source.name, expected="each column once")
    reader = csv.reader(io.StringIO(source.text(), newline=""), delimiter=separator)
    rows = ((reader.line_num, row) for row in _whole_rows(reader, source.name) if any(cell.strip() for cell in row))
    next(rows, None)
    for line, row in rows:
        place = f"{source.name}:{line}"
        if len(row) != len(header):
            expected = f"{len(header)} columns: {', '.join(header)}"
            raise DataError(f"found {len(row)} columns", where=place, expected=expected)
        yield Row(place, {name: cell or None for name, cell in zip(header, row, strict=True)})


def _whole_rows(reader: Any, where: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise DataError(f"cannot be read as a table: {error}", where=f"{where}:{reader.line_num}") from error


def _of_json(source: Source) -> list[Row]:
    text = source.text()
    if plain_suffix(source.name) in _LINES and not text.lstrip().startswith("["):
        return _of_lines(source, text)
    try:
        whole = json.loads(text, object_pairs_hook=unique_members(source.name))
        refuse_surrogates(text, whole)
    except UnicodeError:
        raise
    except ValueError as error:
        return _of_lines(source, text, error)
    if isinstance(whole, dict):
        lists = (whole[name] for name in _LISTS if isinstance(whole.get(name), list) and whole[name])
        held = next((one for one in lists if all(isinstance(record, dict) for record in one)), None)
        held = records_by_id(source, whole) if held is None else held
        whole = [whole] if held is None else held
    if not isinstance(whole, list):
        raise DataError(f"found {str(whole)[:_SHOWN]!r}", where=source.name, expected="a list of objects")
    return [_record(f"{source.name}, number {n}", one) for n, one in enumerate(whole, start=1)]


def _of_lines(source: Source, text: str, of_whole: ValueError | None = None) -> list[Row]:
    """An object a line; ``of_whole`` is told where the first line is none, and so the whole was meant as one."""
    found: list[Row] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _loaded(line.strip(), unique_members(f"{source.name}:{number}"))
        except UnicodeError:
            raise
        except ValueError as of_line:
            error, at = (of_line, number) if found or not of_whole else (of_whole, getattr(of_whole, "lineno", number))
            expected = "a list of objects, or an object a line"
            raise DataError(f"not JSON: {error}", where=f"{source.name}:{at}", expected=expected) from error
        found.append(_record(f"{source.name}:{number}", value))
    return found


def _record(place: str, value: Any) -> Row:
    if not isinstance(value, dict):
        raise DataError(f"found {str(value)[:_SHOWN]!r}", where=place, expected="an object")
    return Row(place, {str(name): one for name, one in value.items()})
