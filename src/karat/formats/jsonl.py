"""JSONL: one object per line with the columns of a table."""

import json
from collections.abc import Callable

import polars as pl

from karat.columns import GRADE, check_grades, match_columns
from karat.errors import DataError
from karat.formats.delimited import as_numbers, first_bad_number, not_a_number
from karat.formats.jsontext import Octets, check_depth, count_octets, may_hold_surrogates, parse_json, unique_members
from karat.formats.source import Source

__all__ = ["read", "read_json_table", "table_of"]

_INFERRED = 100
"""Lines by which Polars chooses the types of columns."""


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade, or score and rank, of every line."""
    content = source.mapped() if source.compression is None else source.text().encode()
    check_depth(content, source.name, rows=_INFERRED)
    try:
        given = content if isinstance(content, bytes) else source.polars
        frame = pl.read_ndjson(given, infer_schema_length=_INFERRED)
    except pl.exceptions.PolarsError:
        frame = _read_line_by_line(source, content)
    else:
        # Polars takes the last of equal keys, and any half of a character.
        colons, backslashes = count_octets(content, b":\\")
        if _may_repeat_keys(frame, content, colons) or (backslashes and may_hold_surrogates(bytes(content))):
            _read_line_by_line(source, content)
    return table_of(frame, source, kind, lambda row: f"{source.name}:{_line_of(source, row)}")


def read_json_table(source: Source, *, lines: bool = False) -> pl.DataFrame:
    """Return a JSON list of objects, or an object on each of the ``lines``, as a table of any columns."""
    content = source.text().encode()
    check_depth(content, source.name)
    read_as = pl.read_ndjson if lines else pl.read_json
    return read_as(content, infer_schema_length=None)


def table_of(frame: pl.DataFrame, source: Source, kind: str, place: Callable[[int], str]) -> pl.DataFrame:
    """The wanted columns of a table of records, checked; ``place`` tells where a row stands."""
    found = match_columns(frame.columns, kind, where=source.name)
    frame = frame.select(pl.col(given).alias(name) for name, given in found.items())
    for name in frame.columns:
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise DataError(f"no {found[name]}", where=place(row), expected="a value on every line")
    numbers = as_numbers(frame)
    bad = first_bad_number(frame, numbers)
    if bad is not None:
        raise not_a_number(frame, *bad, place(bad[0]))
    if kind == "gold":
        check_grades(found[GRADE], numbers[GRADE], source.name)
    return numbers


def _may_repeat_keys(frame: pl.DataFrame, content: Octets, colons: int) -> bool:
    """Return whether an object of the text may have a key twice.

    Where nothing is null, each object has each column's key at least once, and behind each is a colon. So with no more
    colons than that, no key occurs twice. Else, as with colons in ids, the keys are counted themselves.
    """
    whole = not any(column.null_count() for column in frame)
    if whole and colons == frame.width * frame.height:
        return False
    octets = bytes(content)
    return any(octets.count(json.dumps(name).encode()) > frame.height for name in frame.columns)


def _line_of(source: Source, row: int) -> int:
    """The line of the n-th object; blank lines hold none."""
    held = (number for number, line in enumerate(source.lines(), start=1) if line.strip())
    return next(number for n, number in enumerate(held) if n == row)


def _read_line_by_line(source: Source, content: Octets) -> pl.DataFrame:
    """The slow way: tells which line is broken, and takes ids that are strings here and numbers there."""
    check_depth(content, source.name)
    records = []
    for number, line in enumerate(source.lines(), start=1):
        if not line.strip():
            continue
        where = f"{source.name}:{number}"
        record = parse_json(line, source.name, line=number, expected="an object", members=unique_members(where))
        if not isinstance(record, dict):
            raise DataError(f"found {line[:60]!r}", where=where, expected="an object on each line")
        records.append(record)
    return pl.DataFrame(records, infer_schema_length=None, strict=False)
