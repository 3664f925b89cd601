"""Delimited text of a log: fast parsing by column types, a slow line-by-line path, and line numbers for errors."""

import csv
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import polars as pl

from rankjury.errors import DataError
from rankjury.io.csv import unreadable
from rankjury.io.jsonl import parse_json
from rankjury.io.source import Source
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE
from rankjury.recsys.data.times import format_of

_SHOWN = 80


@dataclass(frozen=True, eq=False)
class LogRows:
    """What a file holds of a log."""

    frame: pl.DataFrame
    """The columns that it has of user, item, value, time; texts where they are not all regular."""
    names: Mapping[str, str]
    """What they are called in the file."""
    place: Callable[[int], str]
    """Where the n-th row stands."""


@dataclass(frozen=True)
class DelimitedText:
    """A text of rows whose fields are split by something."""

    source: Source
    separator: str
    """One character, or two colons."""
    names: tuple[str, ...]
    """What its fields are called."""
    headed: bool = True
    """Whether the first row says so, and fields may stand in quotes."""

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of each row under the header; blank lines do not count."""
        with _lines(self.source) as lines:
            plain = (line.rstrip("\r\n").split(self.separator) for line in lines)
            found = self._quoted(lines) if self.headed else enumerate(plain, start=1)
            rows = ((line, row) for line, row in found if any(field.strip() for field in row))
            if self.headed:
                next(rows, None)
            yield from rows

    @property
    def blank(self) -> int:
        """How many blank lines stand above everything."""
        with _lines(self.source) as lines:
            return next((number for number, line in enumerate(lines) if line.strip()), 0)

    def _quoted(self, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader(lines, delimiter=self.separator)
        begins = 1
        try:
            for row in reader:
                yield begins, row
                begins = reader.line_num + 1
        except csv.Error as error:
            where = f"{self.source.name}:{reader.line_num}"
            raise DataError(f"cannot be read as a table: {error}", where=where) from error

    def misfit(self, wanted: Collection[str]) -> DataError | None:
        """The error for the first row with too many or too few fields, or without one that is wanted."""
        for line, row in self.rows():
            where, shown = f"{self.source.name}:{line}", self.separator.join(row)[:_SHOWN]
            if len(row) != len(self.names):
                fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                expected = f"{len(self.names)}: {', '.join(self.names)}"
                return DataError(f"found {fields} in the line {shown!r}", where=where, expected=expected)
            cells = zip(self.names, row, strict=True)
            empty = next((name for name, field in cells if name in wanted and not field.strip()), None)
            if empty is not None:
                return DataError(f"no {empty} in the line {shown!r}", where=where, expected="a value in every row")
        return None

    def place(self, row: int) -> str:
        """Where the n-th row stands: by its line, as long as no field may go over several."""
        blank, left = f" \t\r\n{self.separator[0]}", row + self.headed
        with _lines(self.source) as lines:
            for number, line in enumerate(lines, start=1):
                if self.headed and '"' in line:
                    break
                if line.strip(blank):
                    if not left:
                        return f"{self.source.name}:{number}"
                    left -= 1
        line_of_row = next(line for n, (line, _) in enumerate(self.rows()) if n == row)
        return f"{self.source.name}:{line_of_row}"

    def recoded(self) -> "DelimitedText":
        """The same, read as Latin-1."""
        held = self.source.content.decode("latin-1").encode()
        return replace(self, source=replace(self.source, held=held))


@contextmanager
def _lines(source: Source) -> Iterator[Iterator[str]]:
    """The lines one by one, whatever their encoding."""
    if source.path is None or source.held is not None or source.compression is not None:
        yield (f"{line}\n" for line in source.lines())
        return
    with source.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        yield file


def line_of(source: Source) -> Callable[[int], str]:
    """Tells where the n-th line that holds anything stands."""

    def place(row: int) -> str:
        with _lines(source) as lines:
            held = (number for number, line in enumerate(lines, start=1) if line.strip())
            return f"{source.name}:{next(number for n, number in enumerate(held) if n == row)}"

    return place


def json_fault(source: Source) -> DataError | None:
    """The error for the first line that is no object."""
    with _lines(source) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{source.name}:{number}"
            try:
                record = parse_json(line, source.name, line=number, expected="an object on each line")
            except DataError as error:
                return error
            if not isinstance(record, dict):
                return DataError(f"found {line.strip()[:_SHOWN]!r}", where=where, expected="an object on each line")
    return None


_DOUBLE = "::"


def read_text(text: DelimitedText, wanted: Mapping[str, str]) -> LogRows:
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
    return LogRows(frame, wanted, text.place)


def _otherwise(text: DelimitedText, wanted: Mapping[str, str], error: Exception) -> LogRows:
    """What Polars could not read: old files in Latin-1, ids with a colon; else why not."""
    if not text.headed and "utf" in str(error).lower() and text.source.held is None and not text.source.compression:
        return read_text(text.recoded(), wanted)
    fault = text.misfit(wanted.values())
    if fault is not None:
        raise fault from error
    if text.separator == _DOUBLE:
        return LogRows(_split(text, wanted), wanted, text.place)
    if not text.headed or "utf" in str(error).lower():
        raise unreadable(text.source, error) from error
    return LogRows(_whole(text, _one_by_one(text, wanted), wanted), wanted, text.place)


def _scan(text: DelimitedText) -> tuple[pl.LazyFrame, dict[str, pl.Expr], list[pl.Expr]]:
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


def _quick(text: DelimitedText, wanted: Mapping[str, tuple[str, str]]) -> pl.DataFrame | None:
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


def _as_texts(text: DelimitedText, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The rows as they are written; an error where one does not fit."""
    scan, fields, between = _scan(text)
    if between and not scan.select(pl.all_horizontal(one.is_null() for one in between).all()).collect().item():
        return _split(text, wanted)
    frame = scan.select(fields[name].alias(column) for column, name in wanted.items()).collect(engine="streaming")
    return _whole(text, frame, wanted)


def _split(text: DelimitedText, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The same line by line, where fields may hold a single colon."""
    lines = text.source.lines()
    parts = lines.filter(lines.str.strip_chars() != "").str.strip_chars("\r\n").str.split(_DOUBLE)
    if (parts.list.len() != len(text.names)).any():
        raise text.misfit(()) or AssertionError
    places = {column: text.names.index(name) for column, name in wanted.items()}
    frame = pl.DataFrame({column: parts.list.get(place) for column, place in places.items()})
    return _whole(text, frame, wanted)


def _one_by_one(text: DelimitedText, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The slow way, for tables that are odd but clear, such as with a quote within a field."""
    places = [text.names.index(name) for name in wanted.values()]
    rows = [[row[place] for place in places] for _, row in text.rows()]
    return pl.DataFrame(rows, schema=dict.fromkeys(wanted, pl.String), orient="row")


def _whole(text: DelimitedText, frame: pl.DataFrame, wanted: Mapping[str, str]) -> pl.DataFrame:
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
