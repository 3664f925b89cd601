"""Tables of attributes of queries or items: an id column, and columns of any kind."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from karat.columns import find_id_column
from karat.errors import DataError, UnknownName, UsageError
from karat.formats import delimited
from karat.formats.source import Source

__all__ = ["check_attributes", "read_attributes", "read_column"]

_EXPECTED = "CSV, TSV or JSONL with a header or keys, or Parquet"
_EXAMPLES = {"item": "items.csv:title", "query": "queries.jsonl:text"}


def read_attributes(
    given: str, kind: str, *, id_column: str | None = None, as_written: bool = False, ids_alone: bool = False
) -> tuple[pl.DataFrame, str]:
    """A CSV, TSV, JSONL or Parquet table, and the name of its column of ids; ``kind`` is ``query`` or ``item``.

    ``id_column`` says which it is, where its name does not. ``as_written``: what a CSV holds stays text. ``ids_alone``:
    there need be no attributes.
    """
    source = Source.open(given)
    try:
        frame = _read(source, kind, id_column, as_written)
    except OSError as error:
        raise source.damaged(error) from error
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"cannot be read as a table: {reason}", where=source.name, expected=_EXPECTED) from error
    return check_attributes(frame, kind, source.name, id_column, ids_alone=ids_alone)


def read_column(given: str, kind: str, what: str, place: Callable[[str], str] = str) -> dict[str, str]:
    """``items.jsonl:title``: by id what one column says, where it says something.

    ``what`` is how the setting is called, for an error; ``place`` says where a path is.
    """
    path, _, column = given.rpartition(":")
    if not path or Path(place(given)).exists():
        raise UsageError(f"{what} is {given!r}", expected=f"FILE:COLUMN, such as {_EXAMPLES[kind]}")
    table, id_column = read_attributes(place(path), kind)
    if column not in table.columns:
        raise UnknownName("column", column, table.columns, where=place(path))
    ids, texts = table[id_column].cast(pl.String), table[column].cast(pl.String)
    return {str(id_): text for id_, text in zip(ids, texts, strict=True) if text}


def check_attributes(
    frame: pl.DataFrame, kind: str, where: str, id_column: str | None = None, *, ids_alone: bool = False
) -> tuple[pl.DataFrame, str]:
    """A table that has ids and attributes, and the name of its column of ids."""
    found = _id_column(frame.columns, kind, where, id_column)
    if frame.is_empty():
        raise DataError("found a header but no rows", where=where, expected="at least one row")
    if frame[found].null_count():
        row = int(frame[found].is_null().arg_max() or 0)
        raise DataError(f"row {row + 1:,} has no {found}", where=where, expected="an id in every row")
    if len(frame.columns) == 1 and not ids_alone:
        raise DataError(f"found no column but {found}", where=where, expected="at least one attribute")
    return frame, found


def _id_column(names: Sequence[str], kind: str, where: str, given: str | None) -> str:
    if given is None:
        return find_id_column(names, kind, where)
    if given not in names:
        raise UnknownName("column", given, names, where=where)
    return given


def _read(source: Source, kind: str, id_column: str | None, as_written: bool) -> pl.DataFrame:
    if source.is_parquet():
        return pl.read_parquet(source.polars, glob=False)
    if "\0" in source.head:
        raise DataError("found bytes that are no text", where=source.name, expected=_EXPECTED)
    first = next(iter(source.head_lines), "").lstrip()
    if first.startswith("["):
        return pl.read_json(source.text().encode(), infer_schema_length=None)
    if first.startswith("{"):
        return pl.read_ndjson(source.text().encode(), infer_schema_length=None)
    return _read_delimited(source, first, kind, id_column, as_written)


def _read_delimited(source: Source, header: str, kind: str, id_column: str | None, as_written: bool) -> pl.DataFrame:
    separator = max(delimited.SEPARATORS, key=header.count)
    names = [name.strip() for name in delimited.cells_of(header, separator)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"the column {twice!r} stands twice", where=source.name, expected="each column once")
    # Ids stay as they are written: 007 is not 7.
    place = names.index(_id_column(names, kind, source.name, id_column))
    try:
        frame = pl.read_csv(
            source.polars,
            separator=separator,
            new_columns=names,
            infer_schema_length=None,
            infer_schema=not as_written,
            schema_overrides={names[place]: pl.String},
            glob=False,
        )
    except pl.exceptions.PolarsError as error:
        raise delimited.misfit(source, separator, []) or delimited.unreadable(source, error) from error
    return frame.filter(~pl.all_horizontal(pl.all().is_null()))  # a blank line is no row
