"""JSON as pytrec_eval, ranx and BEIR write it: {query: {item: number}}, {query: [items]} or records; {id: record}."""

import json
from collections import Counter
from typing import Any

import polars as pl

from rankjury.core.convert import GRADE, ITEM, QUERY, SCORE, are_whole, check_grades
from rankjury.errors import DataError
from rankjury.io.jsonl import duplicate_error, parse_json, table_of
from rankjury.io.source import Source


class _Pairs(list[tuple[str, Any]]):
    """An object's members as they stand, so that a repeated key is not lost."""


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade or score of every entry."""
    tree = parse_json(source.text(), source.name, expected="{query: {item: number}}", members=_Pairs)
    if isinstance(tree, list) and not isinstance(tree, _Pairs):
        return _from_records(tree, source, kind)
    if not isinstance(tree, _Pairs):
        raise DataError(f"found {type(tree).__name__}", where=source.name, expected="{query: {item: number}}")
    return _from_objects(tree, source, kind)


def _from_objects(tree: _Pairs, source: Source, kind: str) -> pl.DataFrame:
    times = Counter(query for query, _ in tree)
    if len(times) < len(tree):
        query, repeated = times.most_common(1)[0]
        raise DataError(f"query {query!r} is there {repeated} times", where=source.name, expected="each query once")
    members = [_members(query, value, source, kind) for query, value in tree]
    flat = [(query, item, number) for (query, _), pairs in zip(tree, members, strict=True) for item, number in pairs]
    nothing_found = [query for (query, _), pairs in zip(tree, members, strict=True) if not pairs and kind == "run"]
    if not flat:
        raise DataError("found no items", where=source.name, expected="{query: {item: number}}")
    for query, item, number in flat:
        if type(number) not in (int, float):
            raise DataError(
                f"the value of item {item!r} is {json.dumps(number, default=str)}",
                where=f"{source.name}, query {query!r}",
                expected="a number",
            )
    queries, items, numbers = zip(*flat, strict=True)
    value = GRADE if kind == "gold" else SCORE
    frame = pl.DataFrame(
        {
            QUERY: pl.Series(queries, dtype=pl.String),
            ITEM: pl.Series(items, dtype=pl.String),
            value: pl.Series([float(number) for number in numbers], dtype=pl.Float64),
        }
    )
    if kind == "gold":
        check_grades(None, frame[GRADE], source.name)
    # A query that found nothing is not one that was not asked: a row without an item says so.
    return pl.concat([frame, pl.DataFrame({QUERY: nothing_found}, schema={QUERY: pl.String})], how="diagonal")


def _members(query: str, value: Any, source: Source, kind: str) -> list[tuple[str, Any]]:
    if isinstance(value, _Pairs):
        return value
    if isinstance(value, list) and all(type(item) in (str, int) for item in value):
        grades = [1.0] * len(value) if kind == "gold" else [-1.0 - place for place in range(len(value))]
        return [(str(item), grade) for item, grade in zip(value, grades, strict=True)]
    raise DataError(
        f"found {json.dumps(value)[:60]}",
        where=f"{source.name}, query {query!r}",
        expected="an object {item: number} or a list of item ids",
    )


def _from_records(records: list[Any], source: Source, kind: str) -> pl.DataFrame:
    rows = [dict(record) for record in records if isinstance(record, _Pairs)]
    for number, (row, record) in enumerate(zip(rows, records, strict=False), start=1):
        if len(row) < len(record):
            raise duplicate_error((name for name, _ in record), f"{source.name}, object {number}")
    if not rows or len(rows) != len(records):
        raise DataError("found a list", where=source.name, expected="{query: {item: number}} or a list of objects")
    frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    return table_of(frame, source, kind, lambda row: f"{source.name}, object {row + 1}")


def to_text(frame: pl.DataFrame) -> str:
    """Return {query: {item: number}}, one query per line; pairs that occur twice are kept.

    A row without an item is a query that found nothing, which only this format can express.
    """
    value = GRADE if GRADE in frame.columns else SCORE
    whole = value == GRADE and are_whole(frame[value])
    grouped = frame.group_by(QUERY, maintain_order=True).agg(ITEM, value)
    lines = []
    for query, items, numbers in grouped.iter_rows():
        shown = map(int, numbers) if whole else numbers
        pairs = [(item, number) for item, number in zip(items, shown, strict=True) if item is not None]
        members = ", ".join(f"{_quoted(item)}: {json.dumps(number)}" for item, number in pairs)
        lines.append(f"{_quoted(query)}: {{{members}}}")
    return "{" + ",\n".join(lines) + "}\n"


def _quoted(name: Any) -> str:
    return json.dumps(str(name), ensure_ascii=False)


def records_by_id(source: Source, tree: Any = None) -> list[dict[str, Any]] | None:
    """Return the records of {id: {field: value}}, each with its key as the field ``id``; None of anything else.

    Args:
        source: A JSON file.
        tree: Its content, where it was parsed before.

    Raises:
        DataError: A key occurs twice, or a record has another ``id`` than its key.
    """
    if tree is None:
        try:
            tree = parse_json(source.text(), source.name)
        except DataError:
            return None
    if not isinstance(tree, dict) or not tree or not all(isinstance(fields, dict) for fields in tree.values()):
        return None
    keys = [name for name, _ in parse_json(source.text(), source.name, members=_Pairs)]
    if len(keys) > len(tree):
        raise duplicate_error(keys, source.name, "id")
    for name, fields in tree.items():
        if str(fields.get("id", name)) != name:
            raise DataError(
                f"the record under the key {name!r} has the id {fields['id']!r}",
                where=source.name,
                expected="the same id in both places, or a list of objects",
            )
    return [{**fields, "id": name} for name, fields in tree.items()]
