"""Logs of interactions from files: MovieLens's own, and any table with users and items."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.convert import frame_of
from rankjury.core.text import plural
from rankjury.core.types import Bools
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.source import Source
from rankjury.recsys.data.attributes import Attributes, read_items
from rankjury.recsys.data.columns import COLUMNS, as_whole, find_columns
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE, Log, log_from_frame
from rankjury.recsys.data.movielens_folder import file_of
from rankjury.recsys.data.read_rows import Rows
from rankjury.recsys.data.read_tables import read_rows
from rankjury.recsys.data.read_times import read_times

_FRAME = "frame"


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
    """Read ratings.dat, u.data, ratings.csv, a folder that holds one of them, or any CSV, TSV, JSONL or Parquet table.

    ``path`` may be a table as well: a Polars or pandas frame, or anything with the Arrow capsule interface.
    ``user``, ``item``, ``value``, ``time``: what the columns are called, where it is none of the usual names. Without
    values the log is implicit; without times it can only be split at random. ``scale``: the lowest and the highest
    rating there can be. ``catalogue``: items that are known as well, whether anybody took them or not.
    """
    if scale is not None and not scale[0] < scale[1]:
        raise UsageError(f"the scale {scale[0]:g} to {scale[1]:g} is empty", expected="the lowest, then the highest")
    named = dict(zip(COLUMNS, (user, item, value, time), strict=True))
    given = {column: name for column, name in named.items() if name is not None}
    if isinstance(path, str | Path):
        source = Source.open(file_of(path, "log"))
        with guard_reading(source.name, "a log"):
            log = _log_of(read_rows(source, given, format), source.name, scale)
    else:
        log = _log_of(_rows_of(path, given), _FRAME, scale)
    if catalogue is None:
        return log
    known = read_items(catalogue) if isinstance(catalogue, str | Path) else catalogue
    return log.with_items(known.ids if isinstance(known, Attributes) else known)


def _rows_of(given: Any, named: Mapping[str, str]) -> Rows:
    """Of a table in memory."""
    try:
        frame = frame_of(given)
    except DataError as error:
        raise UsageError(f"the log is of type {type(given).__name__}", expected="a path or a frame") from error
    found = find_columns(frame.columns, named, _FRAME)
    selected = frame.select(pl.col(name).alias(column) for column, name in found.items())
    return Rows(selected, found, lambda row: f"{_FRAME}, row {row + 1:,}")


def _log_of(rows: Rows, source: str, scale: tuple[float, float] | None) -> Log:
    if rows.frame.is_empty():
        raise DataError("found no rows", where=source, expected="at least one interaction")
    columns = {column: _ids(rows, column) for column in (USER, ITEM)}
    unit, notes = "s", tuple[str, ...]()
    if VALUE in rows.frame.columns:
        columns[VALUE] = _values(rows, scale)
    if TIME in rows.frame.columns:
        times = read_times(rows.frame[TIME], rows.names[TIME], rows.place)
        columns[TIME], unit, notes = times.values, times.unit, times.notes
    log = log_from_frame(pl.DataFrame(columns), source=source, unit=unit, notes=notes)
    _check_spelling(log, rows)
    return log


def _ids(rows: Rows, column: str) -> pl.Series:
    """Whole numbers or strings, none of them missing."""
    ids, name = as_whole(rows.frame[column]), rows.names[column]
    if not (ids.dtype.is_integer() or ids.dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise DataError(f"{name} is of type {ids.dtype}", where=rows.place(0), expected="whole numbers or texts")
    if ids.null_count():
        raise DataError(f"no {name}", where=rows.place(int(ids.is_null().arg_max() or 0)), expected="an id in each row")
    return ids if ids.dtype.is_integer() else ids.cast(pl.String)


def _check_spelling(log: Log, rows: Rows) -> None:
    """Refuse ids of blanks; and blanks around an id, which make two of one."""
    for column, ids, codes in ((USER, log.users, log.user), (ITEM, log.items, log.item)):
        odd = (ids.str.strip_chars() != ids).arg_true()
        if len(odd):
            row = int(np.isin(codes, odd.to_numpy()).argmax())
            shown = rows.frame[column][row]
            found = f"the {rows.names[column]} is {shown!r}"
            if shown.strip():
                found += f", with blanks around it ({plural(len(odd), 'such id', 'such ids')})"
            raise DataError(found, where=rows.place(row), expected="ids without blanks around them")


def _values(rows: Rows, scale: tuple[float, float] | None) -> pl.Series:
    given, name = rows.frame[VALUE], rows.names[VALUE]
    texts = given.str.strip_chars() if given.dtype == pl.String else given
    if not (texts.dtype.is_numeric() or texts.dtype in (pl.String, pl.Boolean)):
        raise DataError(f"{name} is of type {given.dtype}", where=rows.place(0), expected="numbers")
    values = texts.cast(pl.Float64, strict=False)
    bad = ~values.is_finite().fill_null(False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        missing = given[row] is None
        found = f"no {name}" if missing else f"the {name} of {_who(rows, row)} is {given[row]!r}"
        raise DataError(found, where=rows.place(row), expected="a finite number")
    if scale is not None:
        low, high = scale
        outside: Bools = ((values < low) | (values > high)).to_numpy()
        if outside.any():
            row, many = int(outside.argmax()), int(outside.sum())
            raise DataError(
                f"the {name} of {_who(rows, row)} is {values[row]:g} "
                f"({plural(many, 'row is', 'rows are')} outside the scale)",
                where=rows.place(row),
                expected=f"{low:g} to {high:g}",
            )
    return values


def _who(rows: Rows, row: int) -> str:
    return f"user {rows.frame[USER][row]} for item {rows.frame[ITEM][row]}"
