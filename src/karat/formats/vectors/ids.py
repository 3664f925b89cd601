"""Lists of ids for vectors that come without: a text, a JSON list, an array of strings, or a column of a table."""

import json
from pathlib import Path

import polars as pl

from karat.columns import find_id_column
from karat.errors import DataError, UnknownName
from karat.formats.source import Source, plain_suffix
from karat.formats.vectors.arrays import load

__all__ = ["beside", "read_ids"]

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")


def beside(path: Path) -> str | None:
    """The file of ids that goes with these vectors by its name; None where there is none."""
    stem = path.with_suffix("")
    names = [f"{stem.name}{joint}ids{suffix}" for joint in (".", "_", "-") for suffix in (".txt", ".json", ".npy")]
    names += ["ids.txt", "ids.json", "ids.npy"]
    return next((str(path.parent / name) for name in names if (path.parent / name).is_file()), None)


def read_ids(given: str) -> pl.Series:
    """In the order of the rows."""
    path, column = given, None
    if not Path(given).exists() and ":" in given:
        path, _, column = given.rpartition(":")
    source = Source.open(path)
    suffix = plain_suffix(path)
    if suffix in _TABLES:
        return _of_table(source, suffix, column)
    if suffix == ".npy":
        held = load(source)
        if held.ndim != 1 or held.dtype.kind not in "UiuS":
            raise DataError(f"found an array of type {held.dtype}", where=path, expected="strings or whole numbers")
        return pl.Series("id", held.astype(str) if held.dtype.kind in "US" else held)
    if suffix == ".json":
        listed = json.loads(source.text())
        if not isinstance(listed, list) or not all(isinstance(one, str | int) for one in listed):
            raise DataError("found no list of ids", where=path, expected='["a", "b", …]')
        return pl.Series("id", [str(one) for one in listed], dtype=pl.String)
    return source.lines().rename("id")


def _of_table(source: Source, suffix: str, column: str | None) -> pl.Series:
    try:
        if suffix in (".parquet", ".pq"):
            frame = pl.read_parquet(source.polars, glob=False)
        elif suffix in (".jsonl", ".ndjson"):
            frame = pl.read_ndjson(source.text().encode(), infer_schema_length=None)
        else:
            frame = pl.read_csv(source.text().encode(), separator="\t" if suffix == ".tsv" else ",", infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"cannot be read: {str(error).partition(chr(10))[0]}", where=source.name) from error
    if column is None:
        column = find_id_column(frame.columns, "item", source.name)
    if column not in frame.columns:
        raise UnknownName("column", column, frame.columns, where=source.name)
    return frame[column].rename("id")
