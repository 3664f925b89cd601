"""Readers of vector files and id lists. A file may contain several spaces: ``movies.npz:anchor`` is one."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from os import fspath
from os.path import exists, isfile
from pathlib import Path

import polars as pl

from rankjury.core.columns import ITEM, QUERY, RANK, find_id_column, match_columns
from rankjury.core.importing import import_optional
from rankjury.core.types import Vectors, as_floats, names_of
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError, guard_reading
from rankjury.io.json import parse_json
from rankjury.io.source import Source, plain_suffix
from rankjury.io.tables import TABLE_SUFFIXES, read_table
from rankjury.io.vectors import arrays, tables
from rankjury.io.vectors.arrays import Raw, check_vectors, choose_name, ids_of, load


def _read_safetensors(source: Source, key: str | None) -> Raw:
    """Return the tensor named by the key, or the only one."""
    library = import_optional("safetensors", "reading .safetensors")
    with guard_reading(source.name, "safetensors"), library.safe_open(source.path, framework="numpy") as file:
        chosen = choose_name(list(file.keys()), key, "tensor", source.name)
        values = file.get_tensor(chosen)
        listed = (file.metadata() or {}).get("ids")
    return Raw(values, None if listed is None else ids_of_json(listed, f"{source.name}, the metadata's ids"))


_READERS: dict[str, Callable[[Source, str | None], Raw]] = {
    ".npy": arrays.read_npy,
    ".npz": arrays.read_npz,
    ".safetensors": _read_safetensors,
    ".parquet": tables.read_parquet,
    ".pq": tables.read_parquet,
    ".json": tables.read_json,
    ".jsonl": tables.read_jsonl,
    ".ndjson": tables.read_jsonl,
}
VECTOR_SUFFIXES = tuple(_READERS)


@check_arguments
def read_vectors(path: str | Path, *, ids: str | None = None, taken: str | None = None) -> Vectors:
    """Read vectors from a file: .npy, .npz, Parquet, JSON, JSONL or safetensors.

    Args:
        path: ``FILE`` or ``FILE:KEY``; the key names an array or a column if there are several.
        ids: A file of ids for vectors without ids: one per line, a JSON list, an array of strings, or a column of a
            table (``papers.parquet:paper_id``). By default a file of ids next to the vectors, such as
            ``vectors_ids.txt``; without one, the rows are numbered from 0.
        taken: A file of ids that belongs to other vectors.

    Returns:
        The vectors.

    Raises:
        DataError: The file cannot be read, or there are more or fewer ids than rows.
        UsageError: The suffix is not known, or ``ids`` is given for vectors that have ids.

    Example:
        >>> rankjury.read_vectors("vectors.npz:anchor")
    """
    file, key = split_off_key(fspath(path))
    source = Source.open(file)
    with guard_reading(source.name):
        source.refuse_pickle("vectors")
    reader = _READERS.get(plain_suffix(file))
    if reader is None:
        found = f"unknown vector format of {Path(file).name!r}"
        raise UsageError(found, expected=f"one of the suffixes {', '.join(VECTOR_SUFFIXES)}")
    name = f"{file}:{key}" if key else file
    with guard_reading(source.name, plain_suffix(file)):
        raw = reader(source, key)
        values = as_floats(raw.values, name)
    if ids is not None and raw.ids is not None:
        raise UsageError(f"{name} already contains ids", hint=f"Omit {ids}.")
    if raw.ids is not None:
        return check_vectors(raw.ids, values, name)
    ids_file = ids or find_ids_file(Path(file), taken)
    if ids_file is None:
        numbers = pl.int_range(len(values), eager=True).cast(pl.String)
        return replace(check_vectors(numbers, values, name), numbered=True)
    listed = read_ids(ids_file)
    if len(listed) != len(values):
        counts = f"found {len(values):,} vectors and {len(listed):,} ids in {ids_file}"
        raise DataError(counts, where=name, expected="one id per row")
    return check_vectors(listed, values, name)


def ids_file_of(given: str) -> str | None:
    """Return the file of ids that is used by default for these vectors."""
    return find_ids_file(Path(split_off_key(given)[0]))


def same_file(one: str, other: str) -> bool:
    """Return whether two names, ``FILE`` or ``FILE:KEY``, are the same array of the same existing file."""
    (path, key), (other_path, other_key) = split_off_key(one), split_off_key(other)
    if plain_suffix(path) not in VECTOR_SUFFIXES or not isfile(path):
        return False
    # Without a key there is only one array, which any key would name.
    return Path(path).resolve() == Path(other_path).resolve() and (key == other_key or None in (key, other_key))


def split_off_key(text: str) -> tuple[str, str | None]:
    """Split ``movies.npz:anchor`` into file and key; a colon within the file name is not a separator."""
    path, colon, key = text.rpartition(":")
    if colon and path and key and "/" not in key and plain_suffix(path) in VECTOR_SUFFIXES and not exists(text):
        return path, key
    return text, None


def find_ids_file(path: Path, taken: str | None = None) -> str | None:
    """Return the file of ids that belongs to these vectors by its name; None if there is none except ``taken``."""
    stem = path.with_suffix("")
    names = [f"{stem.name}{joint}ids{suffix}" for joint in (".", "_", "-") for suffix in (".txt", ".json", ".npy")]
    names += ["ids.txt", "ids.json", "ids.npy"]
    files = (path.parent / name for name in names)
    other = Path(taken).resolve() if taken else None
    return next((str(file) for file in files if isfile(file) and file.resolve() != other), None)


def read_ids(given: str) -> pl.Series:
    """Read ids in row order."""
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
    """Read ids, or a frame of query_id and item_id if the table has both."""
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
