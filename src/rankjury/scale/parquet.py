"""Parquet tables of one file or a folder of files, with or without hive partitions, read in batches."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import exists, isdir, isfile
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from rankjury.core.columns import ITEM, QUERY, RANK, SCORE, find_id_column, match_columns
from rankjury.core.convert import as_ids, finite_numbers
from rankjury.errors import DataError, DuplicatePair, guard_reading
from rankjury.io.parquet import check_rows, scan
from rankjury.scale.memory import to_ipc

HiveColumns = Mapping[str, str | int | None]
"""Values from the folder names of a file, by column."""

_SUFFIXES = (".parquet", ".pq")
_MAGIC = b"PAR1"
_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_parquet(path: str | Path) -> bool:
    """Return whether the path is a Parquet file, or a folder that contains some at any depth."""
    place = Path(path)
    try:
        if isdir(place):
            return any(map(_is_parquet_file, _data_files(place)))
        return isfile(place) and _is_parquet_file(place)
    except OSError:
        return False


def parquet_files(path: Path) -> tuple[Path, ...]:
    """Return the file itself, or all files of a folder in the natural order of their paths, at least one.

    A file of another format is an error, as its rows would be missing.
    """
    try:
        if not exists(path):
            raise DataError("no such file or folder", where=str(path), hint="Check the path.")
        if not isdir(path):
            return (path,)
        found = [(file, _is_parquet_file(file)) for file in _data_files(path)]
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=str(error.filename or path)) from error
    if not any(fits for _, fits in found):
        raise DataError("found no Parquet file in this folder", where=str(path), expected="files that end in .parquet")
    other = next((file for file, fits in found if not fits), None)
    if other is not None:
        raise DataError(
            "not a Parquet file, in a folder of Parquet files",
            where=str(other),
            expected="Parquet files only",
            hint="Move it elsewhere; names that begin with a dot or an underscore are skipped.",
        )
    return tuple(file for file, _ in found)


def _data_files(folder: Path) -> Iterator[Path]:
    """Yield the files at any depth, without checksums and names with a leading dot or underscore, such as _SUCCESS."""

    def natural_order(entry: os.DirEntry[str]) -> list[tuple[int, int | str]]:  # part-2 comes before part-10
        pieces = re.split(r"([0-9]+)", entry.name)
        return [(0, int(piece)) if piece.isdecimal() else (1, piece) for piece in pieces if piece]

    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith((".", "_"))]
    for entry in sorted(entries, key=natural_order):
        if entry.name.lower().endswith(".crc"):
            continue
        if entry.is_dir():
            yield from _data_files(Path(entry.path))
        else:
            yield Path(entry.path)


def _is_parquet_file(path: Path) -> bool:
    """Return whether a file is Parquet by its suffix, or by its first bytes if it has another or no suffix."""
    if path.suffix.lower() in _SUFFIXES:
        return True
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def hive_columns(files: Sequence[Path], root: Path) -> list[HiveColumns]:
    """Return the hive columns of each file, ``split=test`` in its path; integers if they are integers in every file."""
    texts: list[dict[str, str]] = []
    for file in files:
        pairs = [part.partition("=") for part in (file.relative_to(root).parts[:-1] if file != root else ())]
        texts.append({unquote(name): unquote(value) for name, equals, value in pairs if equals})
    for file, text in zip(files, texts, strict=True):
        if text.keys() != texts[0].keys():
            raise DataError(
                f"found {', '.join(text) or 'no column'} in the names of its folders",
                where=str(file),
                expected=f"{', '.join(texts[0]) or 'no column'}, as for {files[0]}",
            )
    # 007 is not an integer, since 7 would be another id.
    integer = re.compile(rf"0|-?[1-9][0-9]{{0,17}}|{_NULL}")
    whole = {name for name in texts[0] if all(integer.fullmatch(text[name]) for text in texts)}
    return [
        {name: None if value == _NULL else int(value) if name in whole else value for name, value in text.items()}
        for text in texts
    ]


_SAMPLED_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class ParquetPart:
    """A file of a table."""

    path: Path
    rows: int
    schema: pl.Schema
    """Schema of the file's columns, and of those from its folder names."""
    named: HiveColumns

    def scan(self) -> pl.LazyFrame:
        inside = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)  # checked when it was opened
        return inside.with_columns(pl.lit(value, self.schema[name]).alias(name) for name, value in self.named.items())


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A gold, a run or attributes as Parquet: one file, or a folder of files, with or without hive partitions."""

    name: str
    """The path from the user."""
    kind: str
    """``gold``, ``run`` or ``attributes``."""
    parts: tuple[ParquetPart, ...]
    """The files, in the natural order of their paths."""
    columns: Mapping[str, str]
    """rankjury's names of the columns → those of the files."""
    schema: pl.Schema
    """Types of the batches: ids are Int64 or String; grades, scores and ranks Float64."""

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(part.path for part in self.parts)

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @cached_property
    def bytes_per_row(self) -> float:
        """Bytes of a row as Arrow, estimated from the first rows."""
        part = next(part for part in self.parts if part.rows)
        head = next(self._frames(part, _SAMPLED_ROWS, self.schema.names()))
        return len(to_ipc(head)) / head.height

    def with_text(self, name: str) -> "ParquetTable":
        """Return the table with the ids of one column read as text."""
        return replace(self, schema=pl.Schema({**self.schema, name: pl.String()}))

    def batches(self, rows: int, *, queries_alone: bool = False) -> Iterator[pl.DataFrame]:
        """Yield all rows in the order of the files, about ``rows`` at once; all columns, or only the query ids.

        Raises:
            DataError: A row is invalid; names its file and number.
        """
        frames: list[pl.DataFrame] = []
        for part in self.parts:
            for frame in self._frames(part, rows, [QUERY] if queries_alone else self.schema.names()):
                if frames and sum(map(len, frames)) + frame.height > rows:
                    yield pl.concat(frames)
                    frames = []
                frames.append(frame)
        if frames:
            yield pl.concat(frames)

    def read_range(self, part: int, first: int, last: int, rows: int) -> Iterator[pl.DataFrame]:
        """Yield rows ``first`` to ``last`` of one file, ``rows`` at once."""
        return self._frames(self.parts[part], rows, self.schema.names(), (first, last))

    def _frames(
        self, part: ParquetPart, rows: int, names: Sequence[str], within: tuple[int, int] | None = None
    ) -> Iterator[pl.DataFrame]:
        if not part.rows:
            return
        done, last = within or (0, part.rows)
        where = str(part.path)
        wanted = part.scan().slice(done, last - done).select(pl.col(self.columns[name]).alias(name) for name in names)
        frames = wanted.collect_batches(chunk_size=rows, maintain_order=True)
        while True:
            with guard_reading(where, "Parquet"):
                frame = next(frames, None)
            if frame is None:
                break
            checked = frame.select(QUERY) if self.kind == "attributes" else frame
            check_rows(checked, self.columns, where, rows_before=done)
            numbers = [
                pl.Series(name, finite_numbers(frame, name, where, rows_before=done))
                for name in checked.columns
                if name not in (QUERY, ITEM)
            ]
            yield frame.with_columns(numbers).cast({name: self.schema[name] for name in names})
            done += frame.height
        if done != last:  # Polars ends without an error if it panics in one of its threads
            found = f"cannot be read as Parquet beyond row {done:,}"
            raise DataError(found, where=where, expected=f"{last:,} rows")


def open_table(path: str | Path, kind: str) -> ParquetTable:
    """Open a table and check the columns of all its files; ``kind`` is ``gold``, ``run`` or ``attributes``."""
    parts = open_parts(Path(path))
    columns = table_columns(parts[0].schema.names(), kind, str(parts[0].path))
    for part in parts:  # attribute tables may not have more columns either
        names = part.schema.names()
        missing = [name for name in columns.values() if name not in names]
        more = [name for name in names if name not in parts[0].schema] if kind == "attributes" else []
        if missing or more:
            fault = f"no column {missing[0]}" if missing else f"the column {more[0]} is not in all files"
            raise DataError(
                f"found the columns {', '.join(names)}; {fault}",
                where=str(part.path),
                expected=f"the columns of {parts[0].path}",
            )
    schema = pl.Schema({name: _type(parts, given, name, kind) for name, given in columns.items()})
    table = ParquetTable(str(path), kind, parts, columns, schema)
    if not table.rows:
        raise DataError("found no rows", where=str(path), expected="at least one row")
    return table


def open_parts(root: Path) -> tuple[ParquetPart, ...]:
    """Open a file, or all files of a folder."""
    parts = []
    files = parquet_files(root)
    for path, named in zip(files, hive_columns(files, root), strict=True):
        with guard_reading(str(path), "Parquet"):
            if not path.stat().st_size:
                raise DataError("the file is empty", where=str(path), expected="a Parquet file")
            rows = scan(path, str(path))
            inside, count = rows.collect_schema(), rows.select(pl.len()).collect().item()
        outside = {name: value for name, value in named.items() if name not in inside}
        types = {name: pl.Int64() if isinstance(value, int) else pl.String() for name, value in outside.items()}
        parts.append(ParquetPart(path, count, pl.Schema({**inside, **types}), outside))
    return tuple(parts)


def table_columns(names: Sequence[str], kind: str, where: str) -> dict[str, str]:
    """Return the columns that are read from a gold, a run or attributes: rankjury's names → the table's."""
    if kind == "attributes":
        found = find_id_column(names, "query", where)
        if len(names) == 1:
            raise DataError(f"found no column but {found}", where=where, expected="at least one attribute")
        return {QUERY: found, **{name: name for name in names if name not in (found, QUERY)}}
    columns = match_columns(names, kind, where)
    if SCORE in columns:
        columns.pop(RANK, None)
    return columns


def _type(parts: Sequence[ParquetPart], given: str, name: str, kind: str) -> pl.DataType:
    """Return the type in which a column is read, the same for all files."""
    of_ids = name == QUERY or (name == ITEM and kind != "attributes")
    common = parts[0].schema[given]
    for part in parts:
        type_ = part.schema[given]
        if of_ids:
            as_ids(pl.Series(given, [], type_), str(part.path))
        both = _common(common, type_)
        if both is None:
            raise DataError(
                f"column {given!r} is of type {type_}",
                where=str(part.path),
                expected=f"{parts[0].schema[given]}, as in {parts[0].path}",
                hint="Write all files with the same types.",
            )
        common = both
    if of_ids:
        return as_ids(pl.Series(given, [], common)).dtype
    return common if kind == "attributes" else pl.Float64()


def _common(first: pl.DataType, second: pl.DataType) -> pl.DataType | None:
    """Return a type that holds the values of both; None for numbers and text."""
    if first == second or second == pl.Null:
        return first
    if first == pl.Null:
        return second
    if first.is_integer() and second.is_integer():
        return pl.Int128() if pl.UInt64 in (first, second) else pl.Int64()
    if first.is_numeric() and second.is_numeric():
        return pl.Float64()
    texts = (pl.String, pl.Categorical, pl.Enum)
    return pl.String() if first in texts and second in texts else None


_FILES_NAMED = 3


@contextmanager
def name_duplicate_files(tables: Sequence[ParquetTable]) -> Iterator[None]:
    """Add to an error about a duplicate pair the files that contain it, which may be several."""
    try:
        yield
    except DuplicatePair as error:
        table = next((table for table in tables if table.name == error.where), None)
        if table is not None:
            query, item = (pl.col(table.columns[name]).cast(pl.String) for name in (QUERY, ITEM))
            is_pair = (query == error.query) & (item == error.item)
            files = [part.path for part in table.parts if part.scan().filter(is_pair).select(pl.len()).collect().item()]
            error.details = tuple(f"in {path}" for path in files[:_FILES_NAMED])
        raise
