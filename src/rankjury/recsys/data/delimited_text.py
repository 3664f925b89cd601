"""Delimited text of a log: fast parsing by column types, a slow line-by-line path, and line numbers for errors."""

import csv
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import polars as pl

from rankjury.errors import DataError
from rankjury.io.json import parse_json
from rankjury.io.source import Source
from rankjury.io.tables import unreadable
from rankjury.recsys.data.log import ITEM, TIME, USER, VALUE
from rankjury.recsys.data.times import find_date_format

SHOWN = 80
"""Maximum characters of a line in an error."""
_DOUBLE_COLON = "::"


@dataclass(frozen=True, eq=False)
class LogRows:
    """Rows of a log as stored in a file."""

    frame: pl.DataFrame
    """The available columns of user, item, value, time; text columns if some row is irregular."""
    names: Mapping[str, str]
    """Names of these columns in the file."""
    place: Callable[[int], str]
    """Returns the location of the n-th row, for errors."""


@dataclass(frozen=True)
class DelimitedText:
    """Text with one row per line, and a separator between fields."""

    source: Source
    separator: str
    """One character, or two colons."""
    names: tuple[str, ...]
    """Names of the fields."""
    headed: bool = True
    """Whether the first row is a header, and fields may be quoted."""

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line number and fields of each row below the header, without blank lines."""
        with _lines(self.source) as lines:
            plain = (line.rstrip("\r\n").split(self.separator) for line in lines)
            numbered = self._quoted(lines) if self.headed else enumerate(plain, start=1)
            rows = ((line, row) for line, row in numbered if any(field.strip() for field in row))
            if self.headed:
                next(rows, None)
            yield from rows

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
        """Return the error for the first row with too many or too few fields, or without a required field."""
        for line, row in self.rows():
            where, shown = f"{self.source.name}:{line}", self.separator.join(row)[:SHOWN]
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
        """Return the location of the n-th row: counted by lines if no quoted field can span several."""
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

    def scan(self) -> tuple[pl.LazyFrame, dict[str, pl.Expr], list[pl.Expr]]:
        """Return a scan, its fields by name, and the empty columns between two colons."""
        blank_lines = 0
        if not self.headed:
            with _lines(self.source) as lines:
                blank_lines = next((number for number, line in enumerate(lines) if line.strip()), 0)
        scan = pl.scan_csv(
            self.source.polars,
            separator=self.separator[0],
            has_header=self.headed,
            quote_char='"' if self.headed else None,
            infer_schema=False,
            glob=False,
            skip_rows=blank_lines,
        )
        columns, step = scan.collect_schema().names(), len(self.separator)
        if len(columns[::step]) != len(self.names):  # a single colon in the first line
            raise pl.exceptions.ShapeError(f"{len(columns)} columns")
        fields = dict(zip(self.names, map(pl.col, columns[::step]), strict=True))
        return scan, fields, [pl.col(name) for name in columns[1::2]] if step > 1 else []


@contextmanager
def _lines(source: Source) -> Iterator[Iterator[str]]:
    """Yield the lines one by one, in any encoding."""
    if source.file is None or source.compression is not None:
        yield (f"{line}\n" for line in source.lines())
        return
    with source.file.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        yield file


def read_text(text: DelimitedText, wanted: Mapping[str, str]) -> LogRows:
    """Return the wanted columns under rankjury's names; raise an error for the first row that does not match."""
    first = next(text.rows(), None)
    if first is None:
        raise DataError("found a header but no rows", where=text.source.name, expected="at least one row")
    if len(first[1]) != len(text.names):
        raise text.misfit(()) or AssertionError
    cells = dict(zip(text.names, first[1], strict=True))
    try:
        frame = _read_regular(text, wanted, cells)
    except pl.exceptions.PolarsError as error:
        return _read_irregular(text, wanted, error)
    return LogRows(frame, wanted, text.place)


def _read_regular(text: DelimitedText, wanted: Mapping[str, str], first: Mapping[str, str]) -> pl.DataFrame:
    """Read ids and times with the types of the first row's cells; as text if some row has another type."""
    scan, fields, between = text.scan()
    columns = {}
    is_regular = [fields[text.names[-1]].is_not_null(), *(column.is_null() for column in between)]
    for column, name in wanted.items():
        field, cell = fields[name], first[name]
        if column == VALUE or (column == TIME and is_number(cell) and not cell.isdecimal()):
            field = field.cast(pl.Float64, strict=False)
        elif cell.isascii() and cell.isdecimal():
            field = field.cast(pl.Int64, strict=False)
        elif column == TIME and (date_format := find_date_format(cell)) is not None:
            field = field.str.to_datetime(date_format, strict=False, time_unit="us")
        columns[column] = field
        is_regular.append(field.is_finite() if column == VALUE else field.is_not_null())
        if column in (USER, ITEM):  # 007 is not 7
            is_regular.append(field.cast(pl.String) == fields[name])
    regular = pl.all_horizontal(is_regular).fill_null(False)
    frame = scan.select(**columns, regular=regular).collect(engine="streaming")
    if frame["regular"].all():
        return frame.drop("regular")
    if between and not scan.select(pl.all_horizontal(column.is_null() for column in between).all()).collect().item():
        return _split_lines(text, wanted)
    frame = scan.select(fields[name].alias(column) for column, name in wanted.items()).collect(engine="streaming")
    return _without_blank_rows(text, frame, wanted)


def _split_lines(text: DelimitedText, wanted: Mapping[str, str]) -> pl.DataFrame:
    """Read rows split by two colons, whose fields may contain a single colon."""
    lines = text.source.lines()
    parts = lines.filter(lines.str.strip_chars() != "").str.strip_chars("\r\n").str.split(_DOUBLE_COLON)
    if (parts.list.len() != len(text.names)).any():
        raise text.misfit(()) or AssertionError
    places = {column: text.names.index(name) for column, name in wanted.items()}
    frame = pl.DataFrame({column: parts.list.get(place) for column, place in places.items()})
    return _without_blank_rows(text, frame, wanted)


def _read_irregular(text: DelimitedText, wanted: Mapping[str, str], error: Exception) -> LogRows:
    """Read files that Polars cannot (Latin-1, ids with a colon, quotes within a field), or raise an error."""
    undecodable = "utf" in str(error).lower()
    if not text.headed and undecodable and text.source.data is None and not text.source.compression:
        recoded = text.source.content.decode("latin-1").encode()
        return read_text(replace(text, source=replace(text.source, data=recoded)), wanted)
    fault = text.misfit(wanted.values())
    if fault is not None:
        raise fault from error
    if text.separator == _DOUBLE_COLON:
        return LogRows(_split_lines(text, wanted), wanted, text.place)
    if not text.headed or undecodable:
        raise unreadable(text.source, error) from error
    places = [text.names.index(name) for name in wanted.values()]
    rows = [[row[place] for place in places] for _, row in text.rows()]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(wanted, pl.String), orient="row")
    return LogRows(_without_blank_rows(text, frame, wanted), wanted, text.place)


def _without_blank_rows(text: DelimitedText, frame: pl.DataFrame, wanted: Mapping[str, str]) -> pl.DataFrame:
    """Return the frame without blank lines; raise an error if a row lacks a cell."""
    blank = [(pl.col(name).is_null() | (pl.col(name).str.strip_chars() == "")) for name in frame.columns]
    if not frame.select(pl.any_horizontal(blank).any()).item():
        return frame
    fault = text.misfit(wanted.values())
    if fault is not None:
        raise fault
    return frame.filter(~pl.all_horizontal(blank))


def is_number(text: str) -> bool:
    """Return whether a cell is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def json_fault(source: Source) -> DataError | None:
    """Return the error for the first line that is not a JSON object."""
    expected = "an object on each line"
    with _lines(source) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = parse_json(line, source.name, line=number, expected=expected)
            except DataError as error:
                return error
            if not isinstance(record, dict):
                found = f"found {line.strip()[:SHOWN]!r}"
                return DataError(found, where=f"{source.name}:{number}", expected=expected)
    return None
