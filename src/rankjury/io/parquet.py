"""Parquet reader: checks of declared sizes, scans, golds and runs as tables.

Polars trusts the sizes that a file declares: a damaged number makes it panic, or request so much memory that the whole
process is aborted. So declared sizes are first compared with the size of the file. The footer and the page headers are
structures in Thrift's compact encoding, of which only whole numbers are read here.
"""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from rankjury.core.columns import GRADE, ITEM, QUERY, match_columns
from rankjury.core.convert import check_grades
from rankjury.errors import DataError, guard_reading
from rankjury.io.source import Source, available_memory, most_unpacked

_MAGIC = b"PAR1"
# Field numbers of parquet.thrift.
_SCHEMA, _ROWS, _GROUPS = 2, 3, 4
_COLUMNS, _GROUP_ROWS = 1, 3
_META = 3
_CODEC, _VALUES, _PACKED, _DATA_AT, _DICTIONARY_AT = 4, 5, 7, 9, 11
_PAGE_UNPACKED, _PAGE_PACKED, _DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 2, 3, 5, 7, 8
_PAGE_VALUES, _PAGE_NULLS, _PAGE_ROWS, _DEFINITIONS, _REPETITIONS = 1, 2, 3, 5, 6
_PAGE_KIND, _ENCODINGS = 1, (2, 3, 4)
_BITS = {4: 16, 5: 32, 6: 64}
"""Bits of whole numbers by their type."""

Fields = Mapping[int, Any]
"""A structure: values by field number. Values other than numbers, lists and structures are None."""


class _Damaged(Exception):  # noqa: N818 - never leaves this module
    """Fault of the file."""


def check_parquet(given: Path | bytes, where: str) -> None:
    """Check that a file begins and ends as a Parquet file, and that the sizes it declares fit into it."""
    try:
        with io.BytesIO(given) if isinstance(given, bytes) else given.open("rb") as file:
            _check(file, file.seek(0, os.SEEK_END))
    except _Damaged as error:
        found, hint = f"cannot be read as Parquet: {error}", "Was the download or the copy interrupted?"
        raise DataError(found, where=where, expected="a whole Parquet file", hint=hint) from error


def _check(file: BinaryIO, size: int) -> None:
    file.seek(0)
    begins = file.read(len(_MAGIC))
    if begins == b"PARE":
        raise _Damaged("it is encrypted")
    if begins != _MAGIC:
        raise _Damaged("it does not begin with PAR1")
    if size < 12:
        raise _Damaged(f"it has only {size} bytes")
    file.seek(-8, os.SEEK_END)
    tail = file.read(8)
    if tail[4:] != _MAGIC:
        raise _Damaged("it does not end with PAR1")
    length = int.from_bytes(tail[:4], "little")
    end = size - 8 - length
    if end < len(_MAGIC):
        raise _Damaged(f"its footer declares {length:,} bytes, but the file has {size:,}")
    # Walking longer footers, of very many columns or row groups, is too slow in Python: one second for 2 MB.
    if length <= 2 << 20:
        file.seek(end)
        _check_footer(file, _Thrift(file.read(length)).struct(), end)


def _check_footer(file: BinaryIO, footer: Fields, end: int) -> None:
    """Check row groups and their column chunks; ``end``: the byte at which the pages end and the footer begins."""
    schema, groups = footer.get(_SCHEMA), footer.get(_GROUPS, [])
    if not isinstance(schema, list) or not schema or not isinstance(groups, list):
        raise _Damaged("its footer has no schema")
    total, pages = 0, 10_000  # the maximum number of pages to check
    for group in groups:
        columns = group.get(_COLUMNS) if isinstance(group, dict) else None
        if not isinstance(columns, list):
            raise _Damaged("a row group has no columns")
        total += (rows := _number(group, _GROUP_ROWS))
        # Polars loads row groups completely; a row of a column takes at least 8 bytes.
        if rows > 1 << 24 and rows > available_memory() / 8:
            raise _Damaged(f"a row group declares {rows:,} rows, too many for the memory")
        for column in columns:
            meta = column.get(_META) if isinstance(column, dict) else None
            if not isinstance(meta, dict):
                raise _Damaged("a column declares no sizes")
            pages = _check_column(file, meta, rows, end, pages)
    if _number(footer, _ROWS) != total:
        raise _Damaged(f"it declares {footer[_ROWS]:,} rows, but its row groups {total:,}")


def _check_column(file: BinaryIO, meta: Fields, rows: int, end: int, pages: int) -> int:
    """Check one column of a row group and up to ``pages`` pages; return the remaining number of pages to check."""
    packed, declared, found = _number(meta, _PACKED), _number(meta, _VALUES), 0
    if not declared and not rows and packed <= end:  # without rows, offsets may be 0, as pyarrow writes them
        return pages
    first = data = _number(meta, _DATA_AT)
    if isinstance(at := meta.get(_DICTIONARY_AT), int) and 0 < at < data:
        first = at
    if first < len(_MAGIC) or packed > end - first or (data >= first + packed and packed):
        raise _Damaged(f"a column declares {packed:,} bytes at byte {first:,}, outside of the data")
    place = first
    while place < first + packed and pages:
        header, begins = _page_header(file, place, end)
        place = begins + _number(header, _PAGE_PACKED)
        if place > first + packed:
            raise _Damaged(f"a page at byte {begins:,} extends beyond its column")
        found += _check_page(header, _number(meta, _CODEC))
        pages -= 1
    if pages and found != declared:
        raise _Damaged(f"a column declares {declared:,} values, but its pages {found:,}")
    if declared < rows:
        raise _Damaged(f"a column has {declared:,} values for {rows:,} rows")
    return pages


def _check_page(header: Fields, codec: int) -> int:
    """Check the header of a page, and return its number of values; 0 for a dictionary page."""
    packed, unpacked = _number(header, _PAGE_PACKED), _number(header, _PAGE_UNPACKED)
    if unpacked > (most_unpacked(packed) if codec else packed):  # codec 0: uncompressed
        raise _Damaged(f"a page of {packed:,} bytes declares {unpacked:,} uncompressed bytes")
    data = header.get(_DATA_PAGE)
    encodings = [data.get(name) for name in _ENCODINGS] if isinstance(data, dict) else []
    if _number(header, _PAGE_KIND) > 3 or any(not 0 <= (code or 0) <= 9 for code in encodings):
        raise _Damaged("a page has an unknown type or encoding")
    if isinstance(data, dict):
        return _number(data, _PAGE_VALUES)
    data = header.get(_DATA_PAGE_2)
    if isinstance(data, dict):
        values, levels = _number(data, _PAGE_VALUES), _number(data, _DEFINITIONS) + _number(data, _REPETITIONS)
        if _number(data, _PAGE_NULLS) > values or _number(data, _PAGE_ROWS) > values or levels > packed:
            raise _Damaged("the counts in the header of a page contradict each other")
        return values
    dictionary = header.get(_DICTIONARY_PAGE)
    # Each value of a dictionary page takes at least one bit.
    if isinstance(dictionary, dict) and _number(dictionary, _PAGE_VALUES) > 8 * unpacked:
        raise _Damaged("a dictionary declares more values than it has bits")
    return 0


def _page_header(file: BinaryIO, place: int, end: int) -> tuple[Fields, int]:
    """Return the header of the page at this byte, and the byte at which the page data begins."""
    length = 256  # with statistics of long texts, a header may be longer
    while True:
        file.seek(place)
        thrift = _Thrift(file.read(min(length, end - place)))
        try:
            return thrift.struct(), place + thrift.place
        except _Damaged:
            if length >= min(1 << 20, end - place):
                raise
            length *= 8


def _number(fields: Fields, name: int) -> int:
    """Return a whole number that must be present and not negative."""
    value = fields.get(name)
    if not isinstance(value, int) or value < 0:
        raise _Damaged(f"found {value} for a size or a count" if isinstance(value, int) else "a size is missing")
    return value


class _Thrift:
    """Parser of Thrift's compact encoding; lists and texts may not be longer than the remaining bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.place = 0

    def struct(self, depth: int = 0) -> Fields:
        """Read a structure: fields, each with its type and the difference from the previous field number."""
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            field = field + step if step else self._zigzag()
            fields[field] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > 12:
            raise _Damaged("its footer is nested too deeply")
        match kind:
            case 1 | 2 | 3:  # in lists, booleans take a byte
                self._skip(1)
            case 4 | 5 | 6:
                number = self._zigzag()
                if not -1 << _BITS[kind] - 1 <= number < 1 << _BITS[kind] - 1:
                    raise _Damaged(f"found the number {number} in a field of {_BITS[kind]} bits")
                return number
            case 7:
                self._skip(8)
            case 8:
                self._skip(self._varint())
            case 9 | 10:
                return self._list(depth)
            case 12:
                return self.struct(depth + 1)
            case _:
                raise _Damaged(f"found the unknown type {kind} in its footer")
        return None

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size, kind = head >> 4, head & 15
        size = self._varint() if size == 15 else size
        if size > len(self.content) - self.place:
            raise _Damaged(f"its footer lists {size:,} values in {len(self.content) - self.place:,} bytes")
        return [self._value(kind, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        if self.place >= len(self.content):
            raise _Damaged("its footer is truncated")
        self.place += 1
        return self.content[self.place - 1]

    def _skip(self, size: int) -> None:
        self.place += size
        if self.place > len(self.content):
            raise _Damaged("its footer is truncated")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            octet = self._byte()
            value |= (octet & 127) << shift
            if octet < 128:
                return value
            shift += 7
            if shift > 63:
                raise _Damaged("found a number of more than 64 bits in its footer")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)


def scan(given: Path | bytes, where: str) -> pl.LazyFrame:
    """Return a scan of one Parquet file after checking its declared sizes; ``where``: the file as the user named it.

    Read from the scan only within ``guard_reading``: the content of the pages was not checked.
    """
    with guard_reading(where, "Parquet"):
        check_parquet(given, where)
        return pl.scan_parquet(given, glob=False, hive_partitioning=False)


def read_whole(given: Path | bytes, where: str) -> pl.DataFrame:
    """Return all rows and columns of one Parquet file."""
    with guard_reading(where, "Parquet"):
        return scan(given, where).collect()


def read_schema(given: Path | bytes, where: str) -> pl.Schema:
    """Return the names and types of the columns of one Parquet file."""
    with guard_reading(where, "Parquet"):
        return scan(given, where).collect_schema()


def read(source: Source, kind: str) -> pl.DataFrame:
    """Return query_id, item_id and grade, or score and rank, of every row."""
    with guard_reading(source.name, "Parquet"):
        rows = scan(source.polars, source.name)
        columns = match_columns(rows.collect_schema().names(), kind, where=source.name)
        frame = rows.select(pl.col(column).alias(name) for name, column in columns.items()).collect()
    check_rows(frame, columns, source.name)
    return frame


def check_rows(frame: pl.DataFrame, found: Mapping[str, str], where: str, *, rows_before: int = 0) -> None:
    """Refuse nulls, values that are not numbers, and run scores given as grades.

    ``found`` maps rankjury's names of the columns to those of the file; ``rows_before``: the number of rows before
    these.
    """
    for name in frame.columns:
        if frame[name].null_count():
            row = rows_before + int(frame[name].is_null().arg_max() or 0)
            raise DataError(f"row {row + 1:,} has no {found[name]}", where=where, expected="no nulls")
        if name not in (QUERY, ITEM) and not frame[name].dtype.is_numeric():
            raise DataError(f"{found[name]} is of type {frame[name].dtype}", where=where, expected="numbers")
    if GRADE in frame.columns:
        check_grades(found[GRADE], frame[GRADE], where)
