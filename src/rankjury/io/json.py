"""JSON and JSONL: runs and judgments as written by pytrec_eval, ranx and BEIR; records; and a strict parser."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from mmap import mmap
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.columns import GRADE, ITEM, QUERY, RANK, SCORE, looks_like_header, match_columns
from rankjury.core.convert import check_grades, joined_hits
from rankjury.core.types import are_whole, cut_rows, listed
from rankjury.errors import DataError
from rankjury.io.source import Source


class _Pairs(list[tuple[str, Any]]):
    """Members of an object as parsed, including repeated keys."""


def read(source: Source, kind: str) -> pl.DataFrame:
    """Return query_id, item_id and grade or score of all entries."""
    tree = parse_json(source.text(), source.name, expected="{query: {item: number}}", members=_Pairs)
    if _may_hold_hits(tree):
        hits = _read_hits(parse_json(source.text(), source.name, members=unique_members(source.name)), source, kind)
        if hits is not None:
            return hits
    if isinstance(tree, _Pairs):
        return _from_objects(tree, source, kind)
    if not isinstance(tree, list):
        raise DataError(f"found {type(tree).__name__}", where=source.name, expected="{query: {item: number}}")
    rows = [dict(record) for record in tree if isinstance(record, _Pairs)]
    if not rows or len(rows) != len(tree):
        raise DataError("found a list", where=source.name, expected="{query: {item: number}} or a list of objects")
    for number, (row, record) in enumerate(zip(rows, tree, strict=True), start=1):
        if len(row) < len(record):
            raise duplicate_error((name for name, _ in record), f"{source.name}, object {number}")
    frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    return table_of(frame, source, kind, lambda row: f"{source.name}, object {row + 1}")


def _may_hold_hits(tree: Any) -> bool:
    """Return whether the first entry is not an object of numbers; large runs are not copied to find out."""
    values = [value for _, value in tree] if isinstance(tree, _Pairs) else tree if isinstance(tree, list) else []
    first: Any = next((value for value in values if value), None)
    if not isinstance(first, _Pairs):
        return isinstance(tree, _Pairs) and not (isinstance(first, list) and type(first[0]) in (str, int))
    return any(isinstance(value, list) for _, value in first)


def _read_hits(tree: Any, source: Source, kind: str) -> pl.DataFrame | None:
    """Return the hits of search responses by query as a table; None where there are none."""
    try:
        hits, nothing_found = joined_hits(tree)
    except DataError as error:
        error.where = source.name
        raise
    if hits is tree:
        return None
    frame = pl.DataFrame(hits, infer_schema_length=None, strict=False)
    if kind == "run" and {SCORE, RANK}.isdisjoint(match_columns(frame.columns, kind, source.name, has_order=True)):
        frame = frame.with_columns(pl.int_range(1, pl.len() + 1).alias(RANK))
    frame = table_of(frame, source, kind, lambda row: f"{source.name}, hit {row + 1}")
    bare = pl.DataFrame({QUERY: nothing_found}, schema={QUERY: frame.schema[QUERY]}, strict=False)
    return pl.concat([frame, bare], how="diagonal") if kind == "run" else frame


def _from_objects(tree: _Pairs, source: Source, kind: str) -> pl.DataFrame:
    query, times = Counter(query for query, _ in tree).most_common(1)[0] if tree else ("", 0)
    if times > 1:
        found = f"duplicate query {query!r}, listed {times} times"
        raise DataError(found, where=source.name, expected="each query once")
    members = [(query, _members(query, value, source, kind)) for query, value in tree]
    flat = [(query, item, number) for query, pairs in members for item, number in pairs]
    nothing_found = [query for query, pairs in members if not pairs and kind == "run"]
    if not flat:
        raise DataError("found no items", where=source.name, expected="{query: {item: number}}")
    for query, item, number in flat:
        if type(number) not in (int, float):
            found = f"the value of item {item!r} is {json.dumps(number, default=str)}"
            raise DataError(found, where=f"{source.name}, query {query!r}", expected="a number")
    queries, items, numbers = zip(*flat, strict=True)
    value = GRADE if kind == "gold" else SCORE
    schema = {QUERY: pl.String, ITEM: pl.String, value: pl.Float64}
    frame = pl.DataFrame({QUERY: queries, ITEM: items, value: list(map(float, numbers))}, schema=schema)
    if kind == "gold":
        check_grades(None, frame[GRADE], source.name)
    # A query with no results differs from a query that was not run: it gets a row without an item.
    return pl.concat([frame, pl.DataFrame({QUERY: nothing_found}, schema={QUERY: pl.String})], how="diagonal")


def _members(query: str, value: Any, source: Source, kind: str) -> list[tuple[str, Any]]:
    if isinstance(value, _Pairs):
        return value
    if isinstance(value, list) and all(type(item) in (str, int) for item in value):
        grades = [1.0] * len(value) if kind == "gold" else [-1.0 - place for place in range(len(value))]
        return [(str(item), grade) for item, grade in zip(value, grades, strict=True)]
    expected = "an object {item: number} or a list of item ids"
    raise DataError(f"found {json.dumps(value)[:60]}", where=f"{source.name}, query {query!r}", expected=expected)


def to_text(frame: pl.DataFrame) -> str:
    """Return {query: {item: number}}, one query per line; duplicate pairs are kept.

    A row without an item is a query with no results, which only this format can express.
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
    """Return the records of {id: {field: value}}, each with its key as the field ``id``; None for any other content.

    ``tree`` is the content if already parsed. Duplicate keys, and an ``id`` that differs from the key, are errors.
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
            found = f"the record under the key {name!r} has the id {fields['id']!r}"
            expected = "the same id in both places, or a list of objects"
            raise DataError(found, where=source.name, expected=expected)
    return [{**fields, "id": name} for name, fields in tree.items()]


_MAX_DEPTH = 64
"""Polars gets slower with each level, and does not finish at 1,000."""
_NO_MARKS = bytes(octet for octet in range(256) if octet not in b'[]{}"\n')
_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HIGH = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LONE = re.compile(f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}".encode())
"""An escaped lone surrogate, or what looks like one: after an escaped backslash it is not an escape."""

Pairs = list[tuple[str, Any]]
Octets = bytes | mmap


def parse_json(
    text: str | bytes,
    where: str,
    *,
    line: int | None = None,
    expected: str | None = None,
    members: Callable[[Pairs], Any] | None = None,
) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The JSON text.
        where: The file as the user named it.
        line: The line number, if the text is one line of the file.
        expected: The expected content, for the error.
        members: Converts the pairs of an object; None: a dict with the last of equal keys.

    Raises:
        DataError: The text is not JSON, is nested too deeply, or has a number or a character that cannot be stored.
    """
    place = where if line is None else f"{where}:{line}"
    try:
        value = json.loads(text, object_pairs_hook=members)
        refuse_surrogates(text, value)
        return value
    except UnicodeError as error:
        raise DataError("found a lone surrogate (half of a character)", where=place, expected="Unicode text") from error
    except RecursionError as error:
        raise DataError("this JSON is nested too deeply", where=place, expected=expected) from error
    except ValueError as error:
        number = getattr(error, "lineno", None)
        place = f"{where}:{number}" if line is None and number else place
        raise DataError(f"not JSON: {getattr(error, 'msg', error)}", where=place, expected=expected) from error


def may_hold_surrogates(content: bytes) -> bool:
    """Return whether a JSON text has an escape that may be a lone surrogate."""
    # Searching for one byte takes a tenth of the time of searching for two.
    return b"\\" in content and b"\\u" in content and _LONE.search(content) is not None


def refuse_surrogates(text: str | bytes, value: Any) -> None:
    """Raise a UnicodeError if a value parsed from a text has a string that cannot be written as UTF-8."""
    if isinstance(text, str):
        text = text.encode(errors="surrogatepass") if "\\u" in text else b""
    todo = [value] if may_hold_surrogates(text) else []
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            node.encode()
        elif isinstance(node, dict):
            todo += [*node, *node.values()]
        elif isinstance(node, list | tuple):
            todo += node


def unique_members(where: str, what: str = "key") -> Callable[[Pairs], dict[str, Any]]:
    """Return a function that makes a dict from an object's pairs and refuses duplicate keys."""

    def members(pairs: Pairs) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise duplicate_error((name for name, _ in pairs), where, what)
        return found

    return members


def duplicate_error(names: Iterable[str], where: str, what: str = "key") -> DataError:
    """Return the error for an object in which some of these names occur twice."""
    duplicates = [name for name, times in Counter(names).items() if times > 1]
    return DataError(f"duplicate {what}s: {listed(duplicates)}", where=where, expected=f"each {what} once")


def check_depth(content: Octets, where: str, *, rows: int | None = None) -> None:
    """Refuse JSON that is too deeply nested for Polars.

    Only the text from which Polars infers types matters: the first ``rows`` lines of JSONL, or all (None).
    """
    if rows is not None:
        lines = re.match(rb"(?:\s*\S[^\n]*){0,%d}" % rows, content)
        content = b"" if lines is None else lines[0]
    if _depth(content if isinstance(content, bytes) else bytes(content)) > _MAX_DEPTH:
        raise DataError("this JSON is nested too deeply", where=where, expected=f"at most {_MAX_DEPTH} levels")


def _depth(content: bytes) -> int:
    """Return the nesting depth of brackets outside of strings."""
    if b"\\" in content:
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    # After adjacent quotes, which enclose nothing, are removed, few strings remain: those with brackets.
    marks = re.sub(rb'"[^"\n]*"', b"", content.translate(None, _NO_MARKS).replace(b'""', b""))
    brackets = np.frombuffer(marks.translate(None, b'"\n'), dtype=np.uint8)
    # The codes of [ and { end in B, those of ] and } in D.
    return int(np.cumsum(np.where(brackets & 15 == 0xB, 1, -1)).max(initial=0))


def count_octets(content: Octets, octets: bytes) -> list[int]:
    """Return how often each of these bytes occurs; ``bytes.count`` takes twice as long for frequent bytes."""
    counts = [0] * len(octets)
    values = np.frombuffer(content, dtype=np.uint8)
    for first, last in cut_rows(len(values), 1 << 19):  # rows that fit into the processor's cache
        for place, octet in enumerate(octets):
            counts[place] += int(np.count_nonzero(values[first:last] == octet))
    return counts


_RESPONSES = '{"query": "q1", "results": [{"id": "a", "score": 0.9}]} on each line, or query_id, item_id and a value'
_INFERRED = 100
"""Number of lines from which Polars infers column types."""


def read_jsonl(source: Source, kind: str) -> pl.DataFrame:
    """Return query_id, item_id and grade, or score and rank, of all lines."""

    def place(row: int) -> str:
        numbers = (number for number, line in enumerate(source.lines(), start=1) if line.strip())
        return f"{source.name}:{next(islice(numbers, row, None))}"

    content = source.mapped() if source.compression is None else source.text().encode()
    check_depth(content, source.name, rows=_INFERRED)
    try:
        text = content if isinstance(content, bytes) else source.polars
        frame = pl.read_ndjson(text, infer_schema_length=_INFERRED)
    except pl.exceptions.PolarsError:
        frame = _read_line_by_line(source, content)
    else:
        # Polars takes the last of equal keys, and accepts lone surrogates.
        colons, backslashes = count_octets(content, b":\\")
        if _may_repeat_keys(frame, content, colons) or (backslashes and may_hold_surrogates(bytes(content))):
            _read_line_by_line(source, content)
    if any(column.dtype.is_nested() for column in frame):
        hits = _read_hits(list(line_objects(source.lines(), source.name, "an object on each line")), source, kind)
        if hits is not None:
            return hits
        if kind == "run" and not looks_like_header(frame.columns) and {"text", "title"}.isdisjoint(frame.columns):
            found = f"found objects with {', '.join(map(repr, frame.columns))}, which are not responses of a search"
            raise DataError(found, where=source.name, expected=_RESPONSES)
    return table_of(frame, source, kind, place)


def read_json_table(source: Source, *, lines: bool = False) -> pl.DataFrame:
    """Read a JSON list of objects, or one object per line (``lines``), as a table of any columns."""
    content = source.text().encode()
    check_depth(content, source.name)
    try:
        return (pl.read_ndjson if lines else pl.read_json)(content, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        if lines:
            return _read_line_by_line(source, content)
        parse_json(content, source.name, expected="a list of objects")  # names the line that is not JSON
        raise


def table_of(frame: pl.DataFrame, source: Source, kind: str, place: Callable[[int], str]) -> pl.DataFrame:
    """Return the wanted columns of a table of records, checked; ``place`` returns the location of a row."""
    columns = match_columns(frame.columns, kind, where=source.name)
    frame = frame.select(pl.col(column).alias(name) for name, column in columns.items())
    for name in frame.columns:
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise DataError(f"no {columns[name]}", where=place(row), expected="a value on every line")
    return check_numbers(frame, columns, source, place)


def check_numbers(
    frame: pl.DataFrame, columns: dict[str, str], source: Source, place: Callable[[int], str]
) -> pl.DataFrame:
    """Return the columns other than ids as numbers, and refuse other types; ``place`` returns the location of a row."""
    values = [name for name in frame.columns if name not in (QUERY, ITEM)]
    texts = [name for name in values if frame[name].dtype == pl.String]
    numbers = frame.with_columns(pl.col(name).str.strip_chars().cast(pl.Float64, strict=False) for name in texts)
    for name in values:
        is_numeric = numbers[name].dtype.is_numeric()
        bad = ~numbers[name].cast(pl.Float64).is_finite().fill_null(False) if is_numeric else pl.Series([True])
        if bad.any():
            row = int(bad.arg_max() or 0)
            value = frame[name][row]
            found = f"the {name} of query {frame[QUERY][row]!r} is {value!r}"
            hint = "Write numbers with a decimal point." if isinstance(value, str) and "," in value else None
            raise DataError(found, where=place(row), expected="a finite number", hint=hint)
    if GRADE in columns:
        check_grades(columns[GRADE], numbers[GRADE], source.name)
    return numbers


def _may_repeat_keys(frame: pl.DataFrame, content: Octets, colons: int) -> bool:
    """Return whether an object of the text may have a duplicate key.

    If no value is null, each object has each column's key at least once, followed by a colon. So if the text has no
    more colons than that, no key is duplicated. Otherwise, as with colons in ids, the keys themselves are counted.
    """
    whole = not any(column.null_count() for column in frame)
    if whole and colons == frame.width * frame.height:
        return False
    octets = bytes(content)
    return any(octets.count(json.dumps(name).encode()) > frame.height for name in frame.columns)


def _read_line_by_line(source: Source, content: Octets) -> pl.DataFrame:
    """Read line by line, slowly: name an invalid line, and accept ids that are partly strings, partly numbers."""
    check_depth(content, source.name)
    records = list(line_objects(source.lines(), source.name, "an object on each line"))
    return pl.DataFrame(records, infer_schema_length=None, strict=False)


def line_objects(lines: Iterable[str], where: str, expected: str) -> Iterator[dict[str, Any]]:
    """Yield the object on each line; blank lines are skipped, and duplicate keys are refused."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            place = f"{where}:{number}"
            record = parse_json(line, where, line=number, expected=expected, members=unique_members(place))
            if not isinstance(record, dict):
                raise DataError(f"found {line[:60]!r}", where=place, expected=expected)
            yield record
