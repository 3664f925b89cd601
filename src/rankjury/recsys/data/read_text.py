"""Texts of rows → columns: at once where every row is regular, else as texts, which are then looked over."""

from collections.abc import Mapping

import polars as pl

from rankjury.errors import DataError
from rankjury.io.csv import unreadable
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE
from rankjury.recsys.data.read_rows import Rows, Text
from rankjury.recsys.data.read_times import format_of

_DOUBLE = "::"


def read_text(text: Text, wanted: Mapping[str, str]) -> Rows:
    """The wanted columns, by rankjury's names for them, of a text; an error for the first row that does not fit."""
    first = next(text.rows(), None)
    if first is None:
        raise DataError("found a header but no rows", where=text.source.name, expected="at least one row")
    if len(first[1]) != len(text.names):
        raise text.misfit(()) or AssertionError
    cells = dict(zip(text.names, first[1], strict=True))
    try:
        frame = _quick(text, {column: (name, cells[name]) for column, name in wanted.items()})
        frame = _as_texts(text, wanted) if frame is None else frame
    except pl.exceptions.PolarsError as error:
        return _otherwise(text, wanted, error)
    return Rows(frame, wanted, text.place)


def _otherwise(text: Text, wanted: Mapping[str, str], error: Exception) -> Rows:
    """What Polars could not read: old files in Latin-1, ids with a colon; else why not."""
    if not text.headed and "utf" in str(error).lower() and text.source.held is None and not text.source.compression:
        return read_text(text.recoded(), wanted)
    fault = text.misfit(wanted.values())
    if fault is not None:
        raise fault from error
    if text.separator == _DOUBLE:
        return Rows(_split(text, wanted), wanted, text.place)
    if not text.headed or "utf" in str(error).lower():
        raise unreadable(text.source, error) from error
    return Rows(_whole(text, _one_by_one(text, wanted), wanted), wanted, text.place)


def _scan(text: Text) -> tuple[pl.LazyFrame, dict[str, pl.Expr], list[pl.Expr]]:
    """A scan, its fields by name, and what stands between two colons, which has to be nothing."""
    scan = pl.scan_csv(
        text.source.polars,
        separator=text.separator[0],
        has_header=text.headed,
        quote_char='"' if text.headed else None,
        infer_schema=False,
        glob=False,
        skip_rows=0 if text.headed else text.blank,
    )
    columns, step = scan.collect_schema().names(), len(text.separator)
    if len(columns[::step]) != len(text.names):  # a single colon in the first line
        raise pl.exceptions.ShapeError(f"{len(columns)} columns")
    fields = dict(zip(text.names, map(pl.col, columns[::step]), strict=True))
    return scan, fields, [pl.col(name) for name in columns[1::2]] if step > 1 else []


def _quick(text: Text, wanted: Mapping[str, tuple[str, str]]) -> pl.DataFrame | None:
    """Ids and times as the kind of numbers that the first row's are; None where some row is otherwise."""
    scan, fields, between = _scan(text)
    cast = {column: _cast(column, fields[name], cell) for column, (name, cell) in wanted.items()}
    checks = [fields[text.names[-1]].is_not_null(), *(one.is_null() for one in between)]
    for column, (name, _) in wanted.items():
        checks.append(cast[column].is_not_null())
        if column == VALUE:
            checks.append(cast[column].is_finite())
        if column in (USER, ITEM):  # 007 is not 7
            checks.append(cast[column].cast(pl.String) == fields[name])
    regular = pl.all_horizontal(checks).fill_null(False)
    frame = scan.select(*(one.alias(column) for column, one in cast.items()), regular=regular)
    found = frame.collect(engine="streaming")
    return found.drop("regular") if found["regular"].all() else None


def _cast(column: str, field: pl.Expr, first: str) -> pl.Expr:
    if column == VALUE:
        return field.cast(pl.Float64, strict=False)
    if first.isascii() and first.isdecimal():
        return field.cast(pl.Int64, strict=False)
    if column != TIME:
        return field
    if is_number(first):
        return field.cast(pl.Float64, strict=False)
    form = format_of(first)
    return field if form is None else field.str.to_datetime(form, strict=False, time_unit="us")


def _as_texts(text: Text, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The rows as they are written; an error where one does not fit."""
    scan, fields, between = _scan(text)
    if between and not scan.select(pl.all_horizontal(one.is_null() for one in between).all()).collect().item():
        return _split(text, wanted)
    frame = scan.select(fields[name].alias(column) for column, name in wanted.items()).collect(engine="streaming")
    return _whole(text, frame, wanted)


def _split(text: Text, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The same line by line, where fields may hold a single colon."""
    lines = text.source.lines()
    parts = lines.filter(lines.str.strip_chars() != "").str.strip_chars("\r\n").str.split(_DOUBLE)
    if (parts.list.len() != len(text.names)).any():
        raise text.misfit(()) or AssertionError
    places = {column: text.names.index(name) for column, name in wanted.items()}
    frame = pl.DataFrame({column: parts.list.get(place) for column, place in places.items()})
    return _whole(text, frame, wanted)


def _one_by_one(text: Text, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The slow way, for tables that are odd but clear, such as with a quote within a field."""
    places = [text.names.index(name) for name in wanted.values()]
    rows = [[row[place] for place in places] for _, row in text.rows()]
    return pl.DataFrame(rows, schema=dict.fromkeys(wanted, pl.String), orient="row")


def _whole(text: Text, frame: pl.DataFrame, wanted: Mapping[str, str]) -> pl.DataFrame:
    """Without blank lines; an error where a row lacks something."""
    blank = [(pl.col(name).is_null() | (pl.col(name).str.strip_chars() == "")) for name in frame.columns]
    if not frame.select(pl.any_horizontal(blank).any()).item():
        return frame
    fault = text.misfit(wanted.values())
    if fault is not None:
        raise fault
    return frame.filter(~pl.all_horizontal(blank))


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
