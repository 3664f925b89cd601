"""Whether a file holds vectors, or a run: where the suffix does not tell, its beginning does."""

from pathlib import Path
from typing import Any

import polars as pl

from rankjury.errors import DataError
from rankjury.io.jsonl import parse_json
from rankjury.io.parquet import read_schema
from rankjury.io.source import Source, plain_suffix

_ALWAYS = (".npy", ".npz", ".safetensors", ".pt", ".pth", ".pkl", ".pickle", ".joblib")
"""Of pickles too: they are refused as vectors, which they mostly are where either is possible."""
_FEWEST_NUMBERS = 2


def holds_vectors(path: str | Path) -> bool:
    """Whether this file, which is there, is one of vectors."""
    suffix = plain_suffix(str(path))
    if suffix in _ALWAYS:
        return True
    if suffix in (".parquet", ".pq"):
        return _has_lists(Path(path))
    if suffix in (".jsonl", ".ndjson"):
        return _is_list_in(_first_line(Source.open(path)))
    return suffix == ".json" and _is_json_of_lists(Source.open(path).text())


def _first_line(source: Source) -> str:
    """The whole of the first that holds anything: one of a long vector goes on past the head of the file."""
    lines = source.head_lines
    whole = lines if len(lines) > 1 else (line for line in source.lines() if line.strip())
    return next(iter(whole), "")


def _has_lists(path: Path) -> bool:
    try:
        types = read_schema(path, str(path)).values()
    except DataError:
        return False
    return any(isinstance(one, pl.List | pl.Array) and one.inner.is_numeric() for one in types)


def _is_list_in(line: str) -> bool:
    try:
        record = parse_json(line, "")
    except DataError:
        return False
    return isinstance(record, dict) and any(_is_vector(value) for value in record.values())


def _is_json_of_lists(text: str) -> bool:
    try:
        tree: Any = parse_json(text, "")
    except DataError:
        return False
    if isinstance(tree, list):
        return bool(tree) and isinstance(tree[0], dict) and any(_is_vector(value) for value in tree[0].values())
    first = next(iter(tree.values()), None) if isinstance(tree, dict) else None
    if isinstance(first, dict):  # spaces by name
        first = next(iter(first.values()), None)
    return _is_vector(first)


def _is_vector(value: Any) -> bool:
    """A list of numbers, one of them no whole number: a list of whole numbers is one of ids."""
    numbers = isinstance(value, list) and all(type(one) in (int, float) for one in value)
    return numbers and len(value) >= _FEWEST_NUMBERS and any(type(one) is float for one in value)
