"""Vectors in a column of lists: Parquet, JSON and JSONL."""

import json
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.columns import find_id_column
from rankjury.core.types import listed
from rankjury.errors import DataError
from rankjury.io.json import check_depth, line_objects, parse_json, unique_members
from rankjury.io.parquet import scan
from rankjury.io.source import Source
from rankjury.io.vectors.arrays import Raw, check_lengths, choose_name
from rankjury.io.vectors.scan import list_columns


def read_parquet(source: Source, key: str | None) -> Raw:
    """Read a column of lists or fixed-size arrays, and a column of ids."""
    return _from_table(scan(source.polars, source.name), key, source.name)


def read_jsonl(source: Source, key: str | None) -> Raw:
    """Read one object per line: {"id": …, "vector": [numbers]}."""
    text = source.text()
    if _maps_ids(text):
        return _from_lines(text, key, source.name)
    content = text.encode()
    check_depth(content, source.name)
    try:
        frame = pl.read_ndjson(content, infer_schema_length=None)
    except pl.exceptions.PolarsError:  # NaN as written by Python, or a fault whose line must be named
        return _from_lines(text, key, source.name)
    return _from_table(frame.lazy(), key, source.name)


def _maps_ids(text: str) -> bool:
    """Return whether the first line is {id: [numbers]}."""
    try:
        first = json.loads(text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and len(first) == 1 and isinstance(next(iter(first.values())), list)


def _from_lines(text: str, key: str | None, where: str) -> Raw:
    """Read objects with an id and a vector, or {id: [numbers]}, one per line."""
    records = list(line_objects(text.split("\n"), where, f"JSONL with {_OBJECTS}"))
    if not records:
        raise DataError("found only blank lines", where=where, expected=_OBJECTS)
    if not _maps_ids(text):
        return _from_objects(records, key, where)
    pairs = [pair for record in records for pair in record.items()]
    return _from_lists([id_ for id_, _ in pairs], [vector for _, vector in pairs], where)


_OBJECTS = '{"id": …, "vector": [numbers]} for each vector'


def read_json(source: Source, key: str | None) -> Raw:
    """Read {id: [numbers]}, or a list of objects with an id and a vector.

    With several spaces, {space: {id: [numbers]}} or {id: {space: [numbers]}}, the key selects one.
    """
    members = unique_members(source.name, "id")
    tree: Any = parse_json(source.text(), source.name, expected="{id: [numbers]}", members=members)
    if isinstance(tree, dict) and tree and all(isinstance(value, dict) for value in tree.values()):
        tree, key = _space(tree, key, source.name), None
    if isinstance(tree, dict) and key is None:
        return _from_lists(list(tree), list(tree.values()), source.name)
    if isinstance(tree, list) and tree and all(isinstance(record, dict) for record in tree):
        return _from_objects(tree, key, source.name)
    raise DataError(f"found {type(tree).__name__}", where=source.name, expected="{id: [numbers]}, or " + _OBJECTS)


def json_spaces(source: Source) -> list[str]:
    """Return the names of the spaces in a JSON file of vectors; none for {id: [numbers]} or a list."""
    tree: Any = parse_json(source.text(), source.name)
    if not (isinstance(tree, dict) and tree and all(isinstance(value, dict) for value in tree.values())):
        return []
    inner, are_inner = _inner_names(tree)
    return inner if are_inner else list(tree)


def _inner_names(tree: dict[str, dict[str, Any]]) -> tuple[list[str], bool]:
    """Return the inner names, and whether they are spaces: the same few names for every id."""
    inner = list(dict.fromkeys(name for value in tree.values() for name in value))
    return inner, all(len(value) == len(inner) for value in tree.values()) and len(inner) < len(tree)


def _space(tree: dict[str, dict[str, Any]], key: str | None, where: str) -> dict[str, Any]:
    """Return {id: [numbers]} of one space."""
    inner, are_inner = _inner_names(tree)
    if key in tree or not (key in inner or are_inner):
        return tree[choose_name(list(tree), key, "space", where)]
    chosen = choose_name(inner, key, "space", where)
    lacking = [id_ for id_, value in tree.items() if chosen not in value]
    if lacking:
        found = f"no vector of the space {chosen!r} for {listed(lacking)}"
        raise DataError(found, where=where, expected="one for each id")
    return {id_: value[chosen] for id_, value in tree.items()}


def _from_objects(tree: list[Any], key: str | None, where: str) -> Raw:
    id_column = find_id_column(list(tree[0]), "query", where)
    names = [name for name, value in tree[0].items() if isinstance(value, list)]
    chosen = choose_name(names, key, "field", where)
    for number, record in enumerate(tree, 1):
        if id_column not in record or chosen not in record:
            lacking = chosen if id_column in record else id_column
            raise DataError(f"object {number} has no {lacking}", where=where, expected=_OBJECTS)
    return _from_lists([record[id_column] for record in tree], [record[chosen] for record in tree], where)


def _from_table(rows: pl.LazyFrame, key: str | None, where: str) -> Raw:
    schema = rows.collect_schema()
    vectors = choose_name(list(list_columns(schema)), key, "column", where)
    id_column = find_id_column([name for name in schema if name != vectors], "query", where)
    ids, column = rows.select(id_column, vectors).collect().get_columns()
    if column.null_count():
        raise DataError(f"no vector for {listed(ids.filter(column.is_null()))}", where=where, expected="one per row")
    if isinstance(column.dtype, pl.Array):
        return Raw(column.to_numpy(), ids)
    length = check_lengths(column.list.len().to_numpy(), ids, where)
    return Raw(column.list.to_array(length).to_numpy(), ids)


def read_frame(frame: pl.DataFrame, where: str) -> Raw:
    """Read a frame with a column of lists and one of ids, or with a column for each dimension, with or without ids."""
    if list_columns(frame.schema):
        return _from_table(frame.lazy(), None, where)
    named = [
        name for name in frame.columns if name.strip().lower() in ("id", "_id") or not frame[name].dtype.is_numeric()
    ]
    id_column = find_id_column(named, "query", where) if named else None
    numbers = frame.drop(id_column) if id_column else frame
    return Raw(numbers.to_numpy(), frame[id_column] if id_column else None)


def _from_lists(ids: list[Any], vectors: list[Any], where: str) -> Raw:
    invalid = [id_ for id_ in ids if type(id_) not in (str, int)]
    if invalid:
        raise DataError(f"found the id {json.dumps(invalid[0])[:40]}", where=where, expected="strings or whole numbers")
    names = pl.Series([str(id_) for id_ in ids], dtype=pl.String)
    valid = [isinstance(row, list) and all(type(number) in (int, float) for number in row) for row in vectors]
    if not all(valid):
        bad = names.filter(~pl.Series(valid, dtype=pl.Boolean))
        raise DataError(f"no list of numbers for {listed(bad)}", where=where, expected="{id: [numbers]}")
    length = check_lengths(np.array([len(row) for row in vectors], dtype=np.int64), names, where)
    wide = [[float(number) for number in row] for row in vectors]  # a whole number may be larger than 64 bits
    return Raw(np.array(wide, dtype=np.float64).reshape(len(wide), length), names)
