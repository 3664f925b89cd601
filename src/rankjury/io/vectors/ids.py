"""Lists of ids for vectors that come without: a text, a JSON list, an array of strings, or a column of a table."""

from os.path import exists, isfile
from pathlib import Path

import polars as pl

from rankjury.core.convert import ITEM, QUERY, RANK, find_id_column, match_columns
from rankjury.core.types import names_of
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.io.json import parse_json
from rankjury.io.source import Source, plain_suffix
from rankjury.io.tables import TABLE_SUFFIXES, read_table
from rankjury.io.vectors.arrays import ids_of, load


def find_ids_file(path: Path, taken: str | None = None) -> str | None:
    """The file of ids that goes with these vectors by its name; None where there is none but one that is taken."""
    stem = path.with_suffix("")
    names = [f"{stem.name}{joint}ids{suffix}" for joint in (".", "_", "-") for suffix in (".txt", ".json", ".npy")]
    names += ["ids.txt", "ids.json", "ids.npy"]
    found = (path.parent / name for name in names)
    other = Path(taken).resolve() if taken else None
    return next((str(one) for one in found if isfile(one) and one.resolve() != other), None)


def read_ids(given: str) -> pl.Series:
    """In the order of the rows."""
    path, column = given, None
    if not exists(given) and ":" in given:
        path, _, column = given.rpartition(":")
    source = Source.open(path)
    suffix = plain_suffix(path)
    with guard_reading(source.name, "a list of ids"):
        if suffix in TABLE_SUFFIXES:
            return _of_table(source, column)
        if column is not None:
            raise UsageError(f"{path} has no columns", hint=f"Leave :{column} away.")
        if suffix == ".npy":
            return ids_of(load(source, "ids"), path)
        if suffix == ".json":
            return ids_of_json(source.text(), path)
        return source.lines().rename("id")


def ids_of_json(text: str, where: str) -> pl.Series:
    """A JSON list of strings or whole numbers."""
    listed = parse_json(text, where, expected='a list of ids: ["a", "b", …]')
    if isinstance(listed, list) and all(type(one) in (str, int) for one in listed):
        return pl.Series("id", [str(one) for one in listed], dtype=pl.String)
    raise DataError("found no list of ids", where=where, expected='["a", "b", …]')


def _of_table(source: Source, column: str | None) -> pl.Series:
    frame = read_table(source)
    if column is None:
        column = find_id_column(frame.columns, "item", source.name)
    if column not in frame.columns:
        raise UnknownName("column", column, frame.columns, where=source.name)
    return frame[column].rename("id")


def read_candidates(given: str) -> pl.Series | pl.DataFrame:
    """Ids, or a frame of query_id and item_id where the table has both."""
    with guard_reading(given, "a list of candidates"):
        pairs = _pairs(given) if plain_suffix(given) in TABLE_SUFFIXES else None
        found = pairs if pairs is not None else names_of(read_ids(given), given).unique().sort()
    if not len(found):
        raise DataError("found no candidates", where=given, expected="at least one")
    return found


def _pairs(given: str) -> pl.DataFrame | None:
    table = read_table(Source.open(given))
    try:
        found = match_columns([*table.columns, RANK], "run", given)
    except DataError:
        return None
    return pl.DataFrame({name: names_of(table[found[name]], given) for name in (QUERY, ITEM)}).unique(
        maintain_order=True
    )
