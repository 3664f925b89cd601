"""Attribute tables of queries or items (an id column and columns of any type), and query sets as plain text."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from hashlib import sha256
from os.path import exists

import polars as pl

from rankjury.core.columns import find_id_column
from rankjury.core.text import join_names
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.io.source import Source, plain_suffix
from rankjury.io.tables import column_names, read_table

_HEADING = re.compile(r"#+\s*(type|version)\s*:\s*(.*)", re.IGNORECASE)


def read_attributes(
    given: str, kind: str, *, id_column: str | None = None, as_written: bool = False, ids_alone: bool = False
) -> tuple[pl.DataFrame, str]:
    """Read a CSV, TSV, JSONL or Parquet table and the name of its id column; ``kind`` is ``query`` or ``item``.

    A .json file may be {id: {column: value}}. Queries may be a .txt file with one query per line (``query_lines``).

    ``id_column`` names the id column if its name is not a known one. ``as_written``: CSV cells stay text.
    ``ids_alone``: attributes are optional.
    """
    source = Source.open(given)
    with guard_reading(source.name, "a table"):
        if kind == "query" and is_query_lines(source):
            frame = pl.DataFrame([fields for _, fields in query_lines(source)], infer_schema_length=None)
            frame = frame.select(name for name in frame.columns if name == "id" or frame[name].count())
        else:
            ids = None if as_written else lambda names: [_id_column(names, kind, source.name, id_column)]
            frame = read_table(source, text=ids)
    return check_attributes(frame, kind, source.name, id_column, ids_alone=ids_alone)


def read_column(given: str, kind: str, what: str, place: Callable[[str], str] = str) -> dict[str, str]:
    """Return one column by id, from ``items.jsonl:title``; empty cells are omitted.

    ``what`` is the name of the parameter, for errors; ``place`` resolves a path.
    """
    path, _, column = given.rpartition(":")
    if not path or exists(place(given)):
        example = "items.csv:title" if kind == "item" else "queries.jsonl:text"
        names = read_attributes(place(given), kind)[0].columns if exists(place(given)) else []
        hint = f"Columns of the file: {join_names(names)}." if names else None
        raise UsageError(f"{what} is {given!r}", expected=f"FILE:COLUMN, such as {example}", hint=hint)
    table, id_column = read_attributes(place(path), kind)
    if column not in table.columns:
        raise UnknownName("column", column, table.columns, where=place(path))
    ids, texts = table[id_column].cast(pl.String), _single(table[column], place(path), "texts").cast(pl.String)
    return {str(id_): text for id_, text in zip(ids, texts, strict=True) if text}


def check_attributes(
    frame: pl.DataFrame, kind: str, where: str, id_column: str | None = None, *, ids_alone: bool = False
) -> tuple[pl.DataFrame, str]:
    """Return a table that has ids and attributes, and the name of its column of ids.

    Fields of objects become columns: ``lang`` in BEIR's ``metadata`` is the column ``lang``.
    """
    if not frame.columns:
        raise DataError("found no rows", where=where, expected="at least one row")
    name = _id_column(frame.columns, kind, where, id_column)
    frame = _with_fields(frame, name)
    if frame.is_empty():
        raise DataError("found a header but no rows", where=where, expected="at least one row")
    _single(frame[name], where, "ids")
    if frame[name].null_count():
        row = int(frame[name].is_null().arg_max() or 0)
        raise DataError(f"row {row + 1:,} has no {name}", where=where, expected="an id in every row")
    if len(frame.columns) == 1 and not ids_alone:
        raise DataError(f"found no column but {name}", where=where, expected="at least one attribute")
    return frame, name


def _with_fields(frame: pl.DataFrame, id_column: str) -> pl.DataFrame:
    """Return the frame with a column for each field of an object in place of it, unless one has the field's name."""
    objects = [column for column in frame if isinstance(column.dtype, pl.Struct) and column.name != id_column]
    names = {column.name for column in objects}
    columns = {column.name: column for column in frame if column.name not in names}
    for column in objects:
        for field in column.struct.fields:
            columns.setdefault(field, column.struct.field(field))
    return pl.DataFrame(list(columns.values())) if objects else frame


def _single(column: pl.Series, where: str, what: str) -> pl.Series:
    """Return a column of single values; lists, structs and bytes that are not UTF-8 are refused."""
    if column.dtype == pl.Binary:
        with guard_reading(f"{where}, column {column.name!r}", "text"):
            return column.cast(pl.String)
    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise DataError(f"column {column.name!r} is of type {column.dtype}", where=where, expected=f"{what} or numbers")
    return column


def _id_column(names: Sequence[str], kind: str, where: str, chosen: str | None) -> str:
    if chosen is not None and chosen not in names:
        raise UnknownName("column", chosen, names, where=where)
    return find_id_column(names, kind, where) if chosen is None else chosen


def is_query_lines(source: Source) -> bool:
    """Return whether this is a .txt of queries, one per line, and not a table with a header under that name."""
    if plain_suffix(source.name) != ".txt":
        return False
    names = column_names(source)
    try:
        return len(names) < 2 or names[0].lstrip().startswith("#") or not find_id_column(names, "query", "")
    except DataError:
        return True


def query_lines(source: Source) -> list[tuple[int, dict[str, str | None]]]:
    """Read a query set from plain text: the number of each line, and its ``id``, ``text``, ``type`` and ``version``.

    A line is a text, ``ID<TAB>TEXT`` or ``ID<TAB>TEXT<TAB>TYPE``. Without an id, it is made of the text alone, so that
    it stays the same when lines are added or moved. Blank lines and lines that begin with # do not count, but
    ``# type: brand`` is the type of the lines below it, and ``# version: 3`` the version of the whole set.

    Raises:
        DataError: There is no query, a line has an empty id or text or too many columns, or there are two versions.
    """
    queries: list[tuple[int, dict[str, str | None]]] = []
    kind: str | None = None
    versions: dict[str, int] = {}
    for number, line in enumerate(map(str.strip, source.lines()), start=1):
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            value = heading[2].strip() or None
            if heading[1].lower() == "type":
                kind = value
            elif value is not None:
                versions.setdefault(value, number)
        elif line and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("\t")]
            if len(cells) > 3 or not all(cells[:2]):
                fault = f"found {len(cells)} columns" if len(cells) > 3 else "found an empty id or text"
                expected = "a text, ID<TAB>TEXT or ID<TAB>TEXT<TAB>TYPE"
                raise DataError(fault, where=f"{source.name}:{number}", expected=expected)
            name, text = (_id_of_text(cells[0]), cells[0]) if len(cells) == 1 else cells[:2]
            line_kind = cells[2] if len(cells) == 3 and cells[2] else kind
            queries.append((number, {"id": name, "text": text, "type": line_kind}))
    if not queries:
        raise DataError("found no queries", where=source.name, expected="a query on each line")
    if len(versions) > 1:
        first, second = list(versions)[:2]
        found, where = f"found version {second}, after version {first}", f"{source.name}:{versions[second]}"
        raise DataError(found, where=where, expected="one version of the set")
    version = next(iter(versions), None)
    return [(number, {**fields, "version": version}) for number, fields in queries]


def _id_of_text(text: str) -> str:
    """Return an id without blanks: the beginning of the text, for people, and a digest of all of it."""
    same = " ".join(unicodedata.normalize("NFC", text).split())
    letters = unicodedata.normalize("NFKD", same).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", letters))[:24].strip("-")
    return f"{slug or 'q'}-{sha256(same.encode()).hexdigest()[:8]}"
