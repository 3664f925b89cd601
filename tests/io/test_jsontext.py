"""JSON that Python or Polars cannot hold is refused with its place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.errors import DataError
from rankjury.evaluation.report import read_report
from rankjury.io.attributes import read_attributes
from rankjury.io.formats import read
from rankjury.io.json import _depth, check_depth, count_octets, parse_json, unique_members
from rankjury.io.ordered_lists import read_ordered
from rankjury.io.source import Source
from rankjury.io.tables import read_records
from rankjury.labeling.products.query_sets import read_queries
from rankjury.retrieval.embedding.corpus import read_corpus

DEEP = "[" * 3000 + "]" * 3000
VALUES = {
    "deep": DEEP,
    "very deep": "[" * 200_000 + "]" * 200_000,
    "deep objects": '{"a":' * 3000 + "1" + "}" * 3000,
    "surrogate": '"\\ud800"',
    "400 digits": "9" * 400,
    "5000 digits": "9" * 5000,
}
READERS: dict[str, Callable[[Path], object]] = {
    "run": lambda path: read(path, "run"),
    "gold": lambda path: read(path, "gold"),
    "ordered": read_ordered,
    "report": lambda path: read_report(str(path)),
    "attributes": lambda path: read_attributes(str(path), "query"),
    "corpus": lambda path: read_corpus(str(path), ["score"]),
    "queries": read_queries,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", ["json", "jsonl", "list"])
def test_values_that_cannot_be_held(tmp_path: Path, reader: str, value: str, form: str) -> None:
    """Only our own error comes out; where the value is of no interest, none does."""
    record = f'{{"query_id": "q", "item_id": "d", "text": {VALUES[value]}, "score": {VALUES[value]}}}'
    path = tmp_path / f"a.{'jsonl' if form == 'jsonl' else 'json'}"
    path.write_text(f"[{record}]" if form == "list" else f"{record}\n")
    try:
        READERS[reader](path)
    except DataError as error:
        assert len(str(error)) < 1000


def test_the_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"query_id": "q", "item_id": "d", "score": 1}\n{"query_id": "q", "item_id": "\\ud800", "score": 1}\n'
    )
    with pytest.raises(DataError, match=r"run\.jsonl:2: .*surrogate"):
        read(path, "run")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_key_that_occurs_twice_in_a_record(tmp_path: Path, name: str) -> None:
    record = '{"query_id": "q", "item_id": "d", "score": 1, "score": 2}'
    path = tmp_path / name
    path.write_text(f"{record}\n" if name.endswith("l") else f"[{record}]")
    with pytest.raises(DataError, match="duplicate keys: score"):
        read(path, "run")
    with pytest.raises(DataError, match="duplicate keys: score"):
        read_records(Source.open(path))


def test_values_that_are_called_as_a_key_are_no_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query_id": "score", "item_id": "item_id", "score": 1}\n')
    assert read(path, "run").row(0) == ("score", "item_id", 1)


def test_mixed_types_in_records(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '[{"query_id": "q", "item_id": [1], "score": 1}, {"query_id": {"a": 1}, "item_id": "d", "score": 1}]'
    )
    with pytest.raises(DataError):
        read(path, "run")


def test_depth() -> None:
    check_depth(b'{"a": "' + b"[" * 999 + b'"}', "a")
    check_depth(b'{"a": [[1], [2]]}\n' * 99, "a")
    with pytest.raises(DataError, match="nested"):
        check_depth(DEEP.encode(), "a")


def test_whole_characters_of_two_halves_are_kept() -> None:
    assert parse_json('"\\ud83d\\ude00"', "a") == "\U0001f600"
    assert parse_json('{"a": 1}', "a", members=unique_members("a")) == {"a": 1}


def test_brackets_in_strings_hide_no_depth() -> None:
    hidden = b'{"a": "}", "b": ' * 99 + b"1" + b', "c": "{"}' * 99
    with pytest.raises(DataError, match="nested"):
        check_depth(hidden, "a")
    check_depth(b'{"a": "\\"[[[", "b\\\\": "]\\\\\\"{"}\n' * 999, "a")


def test_depth_is_checked_where_types_are_inferred() -> None:
    deep = b'{"a":' * 99 + b"1" + b"}" * 99
    check_depth(b"\n \r\n" * 9 + b"{}\n" * 100 + deep, "a", rows=100)
    with pytest.raises(DataError, match="nested"):
        check_depth(b"\n \r\n" * 999 + b"{}\r\n" * 99 + b"\n" + deep, "a", rows=100)


_TREES = st.recursive(
    st.none() | st.integers() | st.text('[]{}":,\\\né', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[{}":\\', max_size=3), inner, max_size=3),
    max_leaves=30,
)


def _levels(tree: Any) -> int:
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else None
    return 0 if inner is None else 1 + max(map(_levels, inner), default=0)


@settings(max_examples=100, deadline=None)
@given(st.lists(_TREES, min_size=1, max_size=4))
def test_depth_is_that_of_the_parsed_tree(trees: list[Any]) -> None:
    assert _depth("\n".join(map(json.dumps, trees)).encode()) == max(map(_levels, trees))


def test_bytes_are_counted() -> None:
    content = b"a:b" * 400_000
    assert count_octets(content, b":ax") == [400_000, 400_000, 0]
