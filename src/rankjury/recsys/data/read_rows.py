"""Rows of a log as a file holds them, and where they stand; the slow way through a text, to explain a fault."""

import csv
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import polars as pl

from rankjury.errors import DataError
from rankjury.io.jsonl import parse_json
from rankjury.io.source import Source

_SHOWN = 80


@dataclass(frozen=True, eq=False)
class Rows:
    """What a file holds of a log."""

    frame: pl.DataFrame
    """The columns that it has of user, item, value, time; texts where they are not all regular."""
    names: Mapping[str, str]
    """What they are called in the file."""
    place: Callable[[int], str]
    """Where the n-th row stands."""


@dataclass(frozen=True)
class Text:
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

    def recoded(self) -> "Text":
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
