"""JSON as pytrec_eval, ranx and BEIR write it: {query: {item: number}}; also {query: [items]} and records."""

import json
from itertools import chain
from typing import Any

import polars as pl

from karat.columns import GRADE, ITEM, QUERY, RANK, SCORE, match_columns
from karat.errors import DataError
from karat.formats.delimited import numbers_of
from karat.formats.source import Source

__all__ = ["read", "to_text"]


class _Pairs(list[tuple[str, Any]]):
    """An object's members as they stand, so that a repeated key is not lost."""


def read(source: Source, kind: str) -> pl.DataFrame:
    """query_id, item_id and grade or score of every entry."""
    try:
        tree = json.loads(source.text(), object_pairs_hook=_Pairs)
    except ValueError as error:
        line = getattr(error, "lineno", None)
        where = f"{source.name}:{line}" if line else source.name
        raise DataError(f"not JSON: {getattr(error, 'msg', error)}", where=where, expected="one JSON value") from error
    except RecursionError as error:
        raise DataError("nested too deeply", where=source.name, expected="{query: {item: number}}") from error
    if isinstance(tree, list) and not isinstance(tree, _Pairs):
        return _from_records(tree, source, kind)
    if not isinstance(tree, _Pairs):
        raise DataError(f"found {type(tree).__name__}", where=source.name, expected="{query: {item: number}}")
    return _from_objects(tree, source, kind)


def _from_objects(tree: _Pairs, source: Source, kind: str) -> pl.DataFrame:
    queries = [query for query, _ in tree]
    members = [_members(query, value, source, kind) for query, value in tree]
    lengths = [len(pairs) for pairs in members]
    value = GRADE if kind == "gold" else SCORE
    flat = list(chain.from_iterable(members))
    numbers = [number for _, number in flat]
    if not all(type(number) in (int, float) for number in numbers):
        at = next(i for i, number in enumerate(numbers) if type(number) not in (int, float))
        query = list(chain.from_iterable([q] * n for q, n in zip(queries, lengths, strict=True)))[at]
        raise DataError(
            f"the value of item {flat[at][0]!r} is {json.dumps(numbers[at], default=str)}",
            where=f"{source.name}, query {query!r}",
            expected="a number",
        )
    repeated = pl.Series(QUERY, queries, dtype=pl.String).to_frame().select(
        pl.col(QUERY).repeat_by(pl.Series(lengths, dtype=pl.UInt32)).explode().drop_nulls()
    )  # fmt: skip
    if not flat:
        raise DataError("found no items", where=source.name, expected="{query: {item: number}}")
    frame = repeated.with_columns(
        pl.Series(ITEM, [item for item, _ in flat], dtype=pl.String),
        pl.Series(value, [float(number) for number in numbers], dtype=pl.Float64),
    )
    if kind == "gold":
        _check_not_a_run(frame, source)
    return frame


def _members(query: str, value: Any, source: Source, kind: str) -> list[tuple[str, Any]]:
    if isinstance(value, _Pairs):
        return value
    if isinstance(value, list):
        grades = [1.0] * len(value) if kind == "gold" else [-1.0 - place for place in range(len(value))]
        return [(str(item), grade) for item, grade in zip(value, grades, strict=True)]
    raise DataError(
        f"found {json.dumps(value)[:60]}",
        where=f"{source.name}, query {query!r}",
        expected="an object {item: number} or a list of items",
    )


def _check_not_a_run(frame: pl.DataFrame, source: Source) -> None:
    """Grades are few and mostly whole; hardly any two scores of a run are alike."""
    grades = frame[GRADE]
    fractional = (grades != grades.round()).sum()
    if fractional > frame.height / 2 and grades.n_unique() > max(20, frame.height / 2):
        raise DataError(
            f"the {frame.height:,} values look like scores, not grades ({grades[0]}, {grades[1]} …)",
            where=source.name,
            expected="a gold: {query: {item: grade}}",
            hint="The gold comes first: karat evaluate GOLD RUN. If these are grades, write them as CSV with a column "
            "named grade.",
        )


def _from_records(records: list[Any], source: Source, kind: str) -> pl.DataFrame:
    rows = [dict(record) for record in records if isinstance(record, _Pairs)]
    if not rows or len(rows) != len(records):
        raise DataError("found a list", where=source.name, expected="{query: {item: number}} or a list of objects")
    frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    found = match_columns(frame.columns, kind, where=source.name)
    frame = frame.select(pl.col(given).alias(name) for name, given in found.items())
    return numbers_of(frame, source, first_line=1)


def to_text(frame: pl.DataFrame) -> str:
    """{query: {item: number}}, one query per line."""
    value = GRADE if GRADE in frame.columns else SCORE
    whole = value == GRADE and frame.select((pl.col(value) == pl.col(value).round()).all()).item()
    grouped = frame.drop(RANK, strict=False).group_by(QUERY, maintain_order=True).agg(ITEM, value)
    lines = []
    for query, items, numbers in grouped.iter_rows():
        shown = [int(number) for number in numbers] if whole else numbers
        members = dict(zip(map(str, items), shown, strict=True))
        lines.append(f"{json.dumps(str(query), ensure_ascii=False)}: {json.dumps(members, ensure_ascii=False)}")
    return "{" + ",\n".join(lines) + "}\n"
