"""Lists of ids for vectors that come without: a text, a JSON list, an array of strings, or a column of a table."""

from contextlib import suppress
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
    """Return the file of ids that belongs to these vectors by its name; None where there is none but ``taken``."""
    stem = path.with_suffix("")
    names = [f"{stem.name}{joint}ids{suffix}" for joint in (".", "_", "-") for suffix in (".txt", ".json", ".npy")]
    names += ["ids.txt", "ids.json", "ids.npy"]
    files = (path.parent / name for name in names)
    other = Path(taken).resolve() if taken else None
    return next((str(file) for file in files if isfile(file) and file.resolve() != other), None)


def read_ids(given: str) -> pl.Series:
    """Read ids in the order of the rows."""
    path, column = given, None
    if not exists(given) and ":" in given:
        path, _, column = given.rpartition(":")
    source = Source.open(path)
    suffix = plain_suffix(path)
    with guard_reading(source.name, "a list of ids"):
        if suffix in TABLE_SUFFIXES:
            frame = read_table(source)
            column = find_id_column(frame.columns, "item", source.name) if column is None else column
            if column not in frame.columns:
                raise UnknownName("column", column, frame.columns, where=source.name)
            return frame[column].rename("id")
        if column is not None:
            raise UsageError(f"{path} has no columns", hint=f"Omit :{column}.")
        if suffix == ".npy":
            return ids_of(load(source, "ids"), path)
        if suffix == ".json":
            return ids_of_json(source.text(), path)
        return source.lines().rename("id")


def ids_of_json(text: str, where: str) -> pl.Series:
    """Return the ids of a JSON list of strings or whole numbers."""
    ids = parse_json(text, where, expected='a list of ids: ["a", "b", …]')
    if isinstance(ids, list) and all(type(id_) in (str, int) for id_ in ids):
        return pl.Series("id", list(map(str, ids)), dtype=pl.String)
    raise DataError("found no list of ids", where=where, expected='["a", "b", …]')


def read_candidates(given: str) -> pl.Series | pl.DataFrame:
    """Read ids, or a frame of query_id and item_id where the table has both."""
    columns: dict[str, str] = {}
    with guard_reading(given, "a list of candidates"):
        if plain_suffix(given) in TABLE_SUFFIXES:
            table = read_table(Source.open(given))
            with suppress(DataError):
                columns = match_columns([*table.columns, RANK], "run", given)
        candidates: pl.Series | pl.DataFrame
        if columns:
            pairs = pl.DataFrame({name: names_of(table[columns[name]], given) for name in (QUERY, ITEM)})
            candidates = pairs.unique(maintain_order=True)
        else:
            candidates = names_of(read_ids(given), given).unique().sort()
    if not len(candidates):
        raise DataError("found no candidates", where=given, expected="at least one")
    return candidates
