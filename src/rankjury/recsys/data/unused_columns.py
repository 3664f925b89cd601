"""Warning about a log that is read without ratings although an unused column may hold them, by its first rows."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from rankjury.core.text import join_names
from rankjury.errors import RankjuryError
from rankjury.io.json import parse_json
from rankjury.io.source import Source, cells_of
from rankjury.recsys.data.log import ITEM, NO_COLUMN, TIME, USER, VALUE, find_column

_ROWS = 1000
"""Rows that are looked at."""
_SHOWN = 3
_ID_NAME = re.compile(r"(?i:(?:^|[\s_-])(?:id|idx|index))$|I[dD]$")
_LOWEST_TIME = 1e7
"""Above any rating; days such as 20201231 are above it, and so are seconds since April 1970."""
_YEARS = (1900, 2100)


def has_values(found: Mapping[str, str], given: Mapping[str, str]) -> bool:
    """Return whether a column of ratings was found, or was given as absent."""
    return VALUE in found or given.get(VALUE) == NO_COLUMN


def note_unused_of_frame(rows: pl.LazyFrame, names: Sequence[str], used: Collection[str]) -> tuple[str, ...]:
    """Return the warning for a frame or a Parquet file with these columns."""
    return _note(rows.select(name for name in names if name not in used).head(_ROWS).collect().to_dict())


def note_unused_of_text(source: Source, separator: str, names: Sequence[str], used: Collection[str]) -> tuple[str, ...]:
    """Return the warning for delimited text below a header."""
    rows = [cells_of(line, separator) for line in _first_lines(source)[1:]]
    columns = zip(*(row for row in rows if len(row) == len(names)), strict=True)
    return _note({name: cells for name, cells in zip(names, columns, strict=False) if name not in used})


def note_unused_of_json(source: Source, names: Sequence[str], used: Collection[str]) -> tuple[str, ...]:
    """Return the warning for JSONL whose first record has these keys."""
    try:
        records = [parse_json(line, source.name) for line in _first_lines(source)]
        return _note({name: [record.get(name) for record in records] for name in names if name not in used})
    except (RankjuryError, AttributeError):  # the reader names the line
        return ()


def _first_lines(source: Source) -> list[str]:
    """Return the first lines; of several not the last, which may be cut."""
    lines = source.head_lines[:_ROWS]
    return lines[:-1] if len(lines) > 2 else lines


def _note(columns: Mapping[str, Sequence[Any] | pl.Series]) -> tuple[str, ...]:
    unused = [name for name, cells in columns.items() if _may_hold_ratings(name, cells)]
    if not unused:
        return ()
    ways = "--value (in Python value=, in a plan value under [gold]), or give none there"
    return (f"no rating column found: all values are 1; unused: {join_names(unused, _SHOWN)}; name it with {ways}",)


def _may_hold_ratings(name: str, cells: Sequence[Any] | pl.Series) -> bool:
    """Return whether a column holds numbers that are neither ids, times nor the numbers of the rows."""
    if not name or _ID_NAME.search(name) or any(find_column([name], column) for column in (USER, ITEM, TIME)):
        return False
    column = cells if isinstance(cells, pl.Series) else pl.Series(name, cells, strict=False)
    if column.dtype == pl.String:
        column = column.str.strip_chars().cast(pl.Float64, strict=False)
    if not column.dtype.is_numeric() or not len(column) or column.null_count():
        return False
    numbers = column.cast(pl.Float64)
    low, high = float(numbers.min() or 0), float(numbers.max() or 0)  # type: ignore[arg-type]
    is_whole = bool((numbers == numbers.round()).all())
    is_time = low >= _LOWEST_TIME or (is_whole and _YEARS[0] <= low and high <= _YEARS[1])
    counts_rows = len(numbers) > 2 and bool((numbers.diff().drop_nulls() == 1).all())
    return bool(numbers.is_finite().all()) and not is_time and not counts_rows
