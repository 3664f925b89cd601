"""Files of interactions in any of the formats → rows."""

import io
from collections.abc import Collection, Mapping

import polars as pl

from rankjury.errors import DataError, UnknownName, guard_reading
from rankjury.io.csv import unreadable
from rankjury.io.jsonl import parse_json
from rankjury.io.parquet import scan
from rankjury.io.source import SEPARATORS, Source, cells_of, plain_suffix
from rankjury.recsys.data.columns import COLUMNS, NO_COLUMN, find_columns, names_columns
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE
from rankjury.recsys.data.read_rows import Rows, Text, json_fault, line_of
from rankjury.recsys.data.read_text import is_number, read_text

FORMATS = ("csv", "tsv", "jsonl", "parquet", "ratings.dat", "u.data")
_HEADLESS = {"ratings.dat": "::", "u.data": "\t"}
_NAMES = ("user", "item", "rating", "timestamp")
_FEWEST, _SHOWN = 2, 80
_IMPLICIT, _SURELY_TIME = (USER, ITEM, TIME), 1e8
"""Three fields are user, item and rating, unless no rating is as high as the third, which is 1973 in seconds."""
_EXPECTED = "CSV, TSV, JSONL, Parquet, ratings.dat or u.data"


def read_rows(source: Source, given: Mapping[str, str], form: str | None = None) -> Rows:
    """The rows of a file; ``given``: how columns are called, where it was said."""
    if form is not None and form not in FORMATS:
        raise UnknownName("format", form, FORMATS)
    absent = {column for column in (VALUE, TIME) if given.get(column) == NO_COLUMN}
    chosen = form or _form_of(source, {column: name for column, name in given.items() if column not in absent})
    if chosen == "parquet":
        return _of_parquet(source, given)
    if chosen == "jsonl":
        return _of_json(source, given)
    return _of_headless(source, chosen, absent) if chosen in _HEADLESS else _of_table(source, given)


def _form_of(source: Source, given: Mapping[str, str]) -> str:
    """By its content first, by its suffix where that leaves it open."""
    if source.is_parquet():
        return "parquet"
    if plain_suffix(source.name) in (".parquet", ".pq"):
        raise DataError("does not begin as Parquet does", where=source.name, expected="a Parquet file")
    lines = source.head_lines
    if not lines:
        raise DataError("found only blank lines", where=source.name, expected=_EXPECTED)
    first = lines[0].strip()
    # in Latin-1 are only old files, whose first line is split by colons or tabs
    binary = "\0" in source.head
    if "\ufffd" in (source.head if binary else first) and (binary or not ("::" in first or "\t" in first)):
        raise source.undecodable()
    if binary:
        raise DataError("found bytes that are no text", where=source.name, expected=_EXPECTED)
    if first.startswith("{"):
        return "jsonl"
    if _separator(first, given) is not None or given:
        return "csv"
    if "::" in first:
        return "ratings.dat"
    cells = first.split("\t")
    return "u.data" if len(cells) in (3, 4) and all(map(is_number, cells[2:])) else "csv"


def _separator(header: str, given: Mapping[str, str]) -> str | None:
    return next((one for one in SEPARATORS if names_columns(_header(header, one), given)), None)


def _header(line: str, separator: str) -> list[str]:
    return [name.strip() for name in cells_of(line, separator)]


def _of_parquet(source: Source, given: Mapping[str, str]) -> Rows:
    with guard_reading(source.name, "Parquet"):
        rows = scan(source.polars, source.name)
        found = find_columns(rows.collect_schema().names(), given, source.name)
        frame = rows.select(pl.col(name).alias(column) for column, name in found.items()).collect()
    return Rows(frame, found, lambda row: f"{source.name}, row {row + 1:,}")


def _of_json(source: Source, given: Mapping[str, str]) -> Rows:
    """All values as texts: an id may be a number in one line and a string in another."""
    try:
        keys = parse_json(source.head_lines[0], source.name)
    except DataError as error:
        raise json_fault(source) or error from error
    found = find_columns(list(keys), given, source.name)
    plain = source.compression is None and not source.begins_with_mark
    content = source.polars if plain else io.BytesIO(source.text().encode())
    rows = pl.scan_ndjson(content, schema=dict.fromkeys(found.values(), pl.String))
    try:
        frame = rows.select(pl.col(name).alias(column) for column, name in found.items()).collect()
    except pl.exceptions.PolarsError as error:
        raise json_fault(source) or unreadable(source, error) from error
    return Rows(frame, found, line_of(source))


def _of_table(source: Source, given: Mapping[str, str]) -> Rows:
    line = source.head_lines[0]
    separator = _separator(line, given) or max(SEPARATORS, key=line.count)
    names = _header(line, separator)
    if not names_columns(names, given) and any(map(is_number, names)):
        raise DataError(
            f"the first line {line[:_SHOWN]!r} names no columns",
            where=f"{source.name}:1",
            expected="a header such as user,item,rating,timestamp",
        )
    found = find_columns(names, given, source.name)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"the column {twice!r} stands twice", where=source.name, expected="each column once")
    return read_text(Text(source, separator, tuple(names)), found)


def _of_headless(source: Source, form: str, absent: Collection[str]) -> Rows:
    """User, item, rating and time in this order, with nothing above them; those ``absent`` are not read."""
    separator = _HEADLESS[form]
    fields = source.head_lines[0].split(separator)
    if not _FEWEST <= len(fields) <= len(COLUMNS):
        many = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        expected = "user::item::rating::timestamp" if separator == "::" else "user, item, rating and time, by tabs"
        shown = source.head_lines[0][:_SHOWN]
        raise DataError(f"found {many} in the line {shown!r}", where=f"{source.name}:1", expected=expected)
    kept = COLUMNS[: len(fields)]
    if len(fields) == len(_IMPLICIT) and is_number(fields[-1]) and float(fields[-1]) >= _SURELY_TIME:
        kept = _IMPLICIT
    names = tuple(_NAMES[COLUMNS.index(column)] for column in kept)
    wanted = {column: name for column, name in zip(kept, names, strict=True) if column not in absent}
    return read_text(Text(source, separator, names, headed=False), wanted)
