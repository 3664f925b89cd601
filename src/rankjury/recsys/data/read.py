"""Reader of logs: MovieLens files, tables in CSV, TSV, JSONL and Parquet, and frames; ids and values are checked."""

import io
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.convert import frame_of
from rankjury.core.text import join_names, plural
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError, guard_reading
from rankjury.io.json import parse_json
from rankjury.io.parquet import scan
from rankjury.io.source import SEPARATORS, Source, cells_of, plain_suffix
from rankjury.io.tables import first_rows, unreadable
from rankjury.recsys.data.attributes import Attributes, read_items
from rankjury.recsys.data.delimited_text import SHOWN, DelimitedText, LogRows, is_number, json_fault, read_text
from rankjury.recsys.data.log import (
    COLUMNS,
    ITEM,
    NO_COLUMN,
    TIME,
    USER,
    VALUE,
    Log,
    as_whole,
    find_column,
    find_columns,
    is_header,
    log_from_frame,
)
from rankjury.recsys.data.movielens import resolve_file
from rankjury.recsys.data.times import TimeParser

FORMATS = ("csv", "tsv", "jsonl", "parquet", "ratings.dat", "u.data")
_SAMPLED = 1000
"""Rows of a frame in which ratings are looked for."""
_ID_NAME = re.compile(r"(?i:(?:^|[\s_-])(?:id|idx|index))$|I[dD]$")
_LOWEST_TIME = 1e7
"""Above any rating; days such as 20201231 are above it, and so are seconds since April 1970."""
_EXPECTED = "CSV, TSV, JSONL, Parquet, ratings.dat or u.data"
_HEADLESS = {"ratings.dat": "::", "u.data": "\t"}
_NAMES = dict(zip(COLUMNS, ("user", "item", "rating", "timestamp"), strict=True))
_SURELY_TIME = 1e8
"""Above any rating; as a time in seconds, it is in 1973."""


@check_arguments
def read_log(
    path: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    value: str | None = None,
    time: str | None = None,
    format: str | None = None,
    scale: tuple[float, float] | None = None,
    catalogue: pl.Series | Attributes | str | Path | None = None,
) -> Log:
    """Read a log of interactions.

    Args:
        path: ratings.dat, u.data, ratings.csv, a folder that holds one of them, or any CSV, TSV, JSONL or Parquet
            table; or a Polars or pandas frame, or any object with the Arrow capsule interface.
        user: The column of users, where it has none of the common names.
        item: The column of items.
        value: The column of values; ``none`` if there is none. Without values the log is implicit.
        time: The column of times; ``none`` if there is none. Without times it can only be split at random.
        format: The format of the file, where its content does not tell.
        scale: The lowest and the highest rating there can be.
        catalogue: Items that are known as well, whether a row has them or not.

    Returns:
        The log; its ``notes`` are warnings.

    Raises:
        UsageError: An argument is not valid, or names a column that does not exist.
        DataError: The file cannot be read, or a row is faulty; the error says where.

    Example:
        >>> rankjury.read_log("ratings.csv")
    """
    if scale is not None and not scale[0] < scale[1]:
        raise UsageError(f"the scale {scale[0]:g} to {scale[1]:g} is empty", expected="the lowest, then the highest")
    named = dict(zip(COLUMNS, (user, item, value, time), strict=True))
    given = {column: name for column, name in named.items() if name is not None}
    if isinstance(path, str | Path):
        source = Source.open(resolve_file(path, "log"))
        with guard_reading(source.name, "a log"):
            rows = _read_rows(source, given, format)
            log = _log_from_rows(rows, source.name, scale)
    else:
        try:
            frame = frame_of(path)
        except DataError as error:
            raise UsageError(f"the log is of type {type(path).__name__}", expected="a path or a frame") from error
        rows = _named_rows(frame.lazy(), given, "frame")
        log = _log_from_rows(rows, "frame", scale)
    if VALUE not in rows.names and value != NO_COLUMN:
        with suppress(RankjuryError):  # the first rows of a text without a header are not a table
            sample = first_rows(source) if isinstance(path, str | Path) else frame.head(_SAMPLED)
            log = replace(log, notes=(*_unused_ratings(sample, rows.names.values()), *log.notes))
    if catalogue is None:
        return log
    known = read_items(catalogue) if isinstance(catalogue, str | Path) else catalogue
    return log.with_items(known.ids if isinstance(known, Attributes) else known)


def _named_rows(rows: pl.LazyFrame, given: Mapping[str, str], source: str) -> LogRows:
    """Return the columns of a log in a frame or a Parquet file."""
    columns = find_columns(rows.collect_schema().names(), given, source)
    frame = rows.select(pl.col(name).alias(column) for column, name in columns.items()).collect()
    return LogRows(frame, columns, lambda row: f"{source}, row {row + 1:,}")


def _unused_ratings(sample: pl.DataFrame, used: Collection[str]) -> tuple[str, ...]:
    """Return the warning about columns that are not used and may hold ratings, by the first rows of a table."""
    columns = {column.name.strip(): column for column in sample}
    if not columns.keys() >= {*used}:  # there is no header
        return ()
    unused = [name for name, column in columns.items() if name not in used and _may_hold_ratings(name, column)]
    ways = "set --value (in Python value=, in a plan value under [gold]) to a column, or to none"
    text = f"no rating column found: all values are 1; unused: {join_names(unused, 3)}; {ways}"
    return (text,) if unused else ()


def _may_hold_ratings(name: str, column: pl.Series) -> bool:
    """Return whether a column holds numbers that are neither ids, times, years nor the numbers of the rows."""
    if not name or _ID_NAME.search(name) or any(find_column([name], known) for known in (USER, ITEM, TIME)):
        return False
    if column.dtype == pl.String:
        column = column.str.strip_chars().cast(pl.Float64, strict=False)
    if not column.dtype.is_numeric() or column.is_empty() or column.null_count():
        return False
    numbers = column.cast(pl.Float64).to_numpy()
    is_year = (numbers == np.round(numbers)).all() and numbers.min() >= 1900 and numbers.max() <= 2100
    counts_rows = numbers.size > 2 and (np.diff(numbers) == 1).all()
    return bool(np.isfinite(numbers).all()) and not (numbers.min() >= _LOWEST_TIME or is_year or counts_rows)


def _log_from_rows(rows: LogRows, source: str, scale: tuple[float, float] | None) -> Log:
    """Return a log of checked ids, values and times."""
    if rows.frame.is_empty():
        raise DataError("found no rows", where=source, expected="at least one interaction")
    columns = {column: _ids(rows, column) for column in (USER, ITEM)}
    unit, notes = "s", tuple[str, ...]()
    if VALUE in rows.frame.columns:
        columns[VALUE] = _values(rows, scale)
    if TIME in rows.frame.columns:
        times = TimeParser(rows.names[TIME], rows.place).parse(rows.frame[TIME])
        columns[TIME], unit, notes = times.values, times.unit, times.notes
    log = log_from_frame(pl.DataFrame(columns), source=source, unit=unit, notes=notes)
    for column, ids, codes in ((USER, log.users, log.user), (ITEM, log.items, log.item)):
        blank = (ids.str.strip_chars() != ids).arg_true()  # surrounding blanks would split one id into two
        if len(blank):
            row = int(np.isin(codes, blank.to_numpy()).argmax())
            shown = rows.frame[column][row]
            found = f"the {rows.names[column]} is {shown!r}"
            if shown.strip():
                found += f", with blanks around it ({plural(len(blank), 'such id', 'such ids')})"
            raise DataError(found, where=rows.place(row), expected="ids without blanks around them")
    return log


def _ids(rows: LogRows, column: str) -> pl.Series:
    """Return a column of ids, whole numbers or strings, without missing values."""
    ids, name = as_whole(rows.frame[column]), rows.names[column]
    if not (ids.dtype.is_integer() or ids.dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise DataError(f"{name} is of type {ids.dtype}", where=rows.place(0), expected="whole numbers or texts")
    if ids.null_count():
        raise DataError(f"no {name}", where=rows.place(int(ids.is_null().arg_max() or 0)), expected="an id in each row")
    return ids if ids.dtype.is_integer() else ids.cast(pl.String)


def _values(rows: LogRows, scale: tuple[float, float] | None) -> pl.Series:
    """Return the values as finite numbers, within the scale."""
    given, name = rows.frame[VALUE], rows.names[VALUE]
    texts = given.str.strip_chars() if given.dtype == pl.String else given
    if not (texts.dtype.is_numeric() or texts.dtype in (pl.String, pl.Boolean)):
        raise DataError(f"{name} is of type {given.dtype}", where=rows.place(0), expected="numbers")

    values = texts.cast(pl.Float64, strict=False)
    low, high = scale or (-inf, inf)
    bad = ~values.is_finite().fill_null(False)
    outside = (values < low) | (values > high)
    if not bad.any() and not outside.any():
        return values
    row = int((bad if bad.any() else outside).arg_max() or 0)
    cell = f"the {name} of user {rows.frame[USER][row]} for item {rows.frame[ITEM][row]} is"
    if bad.any():
        found, expected = f"no {name}" if given[row] is None else f"{cell} {given[row]!r}", "a finite number"
    else:
        many = plural(int(outside.sum()), "row is", "rows are")
        found, expected = f"{cell} {values[row]:g} ({many} outside the scale)", f"{low:g} to {high:g}"
    raise DataError(found, where=rows.place(row), expected=expected)


def _read_rows(source: Source, given: Mapping[str, str], form: str | None) -> LogRows:
    """Return the rows of a file; ``given`` are the column names from the caller."""
    if form is not None and form not in FORMATS:
        raise UnknownName("format", form, FORMATS)
    absent = {column for column in (VALUE, TIME) if given.get(column) == NO_COLUMN}
    chosen = form or _detect_format(source, {column: name for column, name in given.items() if column not in absent})
    if chosen == "parquet":
        with guard_reading(source.name, "Parquet"):
            return _named_rows(scan(source.polars, source.name), given, source.name)
    if chosen == "jsonl":
        return _read_json(source, given)
    return _read_headless(source, chosen, absent) if chosen in _HEADLESS else _read_table(source, given)


def _detect_format(source: Source, given: Mapping[str, str]) -> str:
    """Return the format by the content, and by the suffix if the content is ambiguous."""
    if source.is_parquet():
        return "parquet"
    if plain_suffix(source.name) in (".parquet", ".pq"):
        raise DataError("not a Parquet file", where=source.name, expected="a Parquet file")
    if not source.head_lines:
        raise DataError("found only blank lines", where=source.name, expected=_EXPECTED)
    first = source.head_lines[0].strip()
    # only old files are Latin-1, and their first line is split by colons or tabs
    binary = "\0" in source.head
    if "\ufffd" in (source.head if binary else first) and (binary or not ("::" in first or "\t" in first)):
        raise source.undecodable()
    if binary:
        raise DataError("found bytes that are not text", where=source.name, expected=_EXPECTED)
    if first.startswith("{"):
        return "jsonl"
    if given or _separator(first, given) is not None:
        return "csv"
    if "::" in first:
        return "ratings.dat"
    cells = first.split("\t")
    return "u.data" if len(cells) in (3, 4) and all(map(is_number, cells[2:])) else "csv"


def _separator(header: str, given: Mapping[str, str]) -> str | None:
    """Return the separator that makes a line a header."""
    return next((separator for separator in SEPARATORS if is_header(_cells(header, separator), given)), None)


def _cells(line: str, separator: str) -> list[str]:
    return [name.strip() for name in cells_of(line, separator)]


def _read_json(source: Source, given: Mapping[str, str]) -> LogRows:
    """Read all values as text: an id may be a number in one line and a string in another."""
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
    return LogRows(frame, found, DelimitedText(source, " ", tuple(found), headed=False).place)


def _read_table(source: Source, given: Mapping[str, str]) -> LogRows:
    """Read a CSV or TSV with a header."""
    line = source.head_lines[0]
    separator = _separator(line, given) or max(SEPARATORS, key=line.count)
    names = _cells(line, separator)
    if not is_header(names, given) and any(map(is_number, names)):
        raise DataError(
            f"the first line {line[:SHOWN]!r} names no columns",
            where=f"{source.name}:1",
            expected="a header such as user,item,rating,timestamp",
        )
    found = find_columns(names, given, source.name)
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise DataError(f"duplicate column {duplicate!r}", where=source.name, expected="each column once")
    return read_text(DelimitedText(source, separator, tuple(names)), found)


def _read_headless(source: Source, form: str, absent: Collection[str]) -> LogRows:
    """Read user, item, rating and time in this order, without a header; ``absent`` columns are not read."""
    separator = _HEADLESS[form]
    fields = source.head_lines[0].split(separator)
    if not 2 <= len(fields) <= len(COLUMNS):
        many = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        expected = "user::item::rating::timestamp" if separator == "::" else "user, item, rating and time, by tabs"
        shown = source.head_lines[0][:SHOWN]
        raise DataError(f"found {many} in the line {shown!r}", where=f"{source.name}:1", expected=expected)
    columns = COLUMNS[: len(fields)]
    if len(fields) == 3 and is_number(fields[-1]) and float(fields[-1]) >= _SURELY_TIME:
        columns = (USER, ITEM, TIME)
    wanted = {column: _NAMES[column] for column in columns if column not in absent}
    names = tuple(_NAMES[column] for column in columns)
    return read_text(DelimitedText(source, separator, names, headed=False), wanted)
