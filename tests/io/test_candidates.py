"""Candidates: ids for all queries, or pairs of each query's own; ids stay as written, and bad ones are told."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from rankjury.errors import DataError, RankjuryError, UnknownName
from rankjury.io.vectors.ids import read_candidates
from tests.io.support import put


def parquet(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def npy(ids: list[str]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(ids))
    return buffer.getvalue()


def refused(given: str | Path) -> RankjuryError:
    with pytest.raises(RankjuryError) as caught:
        read_candidates(str(given))
    assert caught.value.exit_code in (2, 3)
    return caught.value


LISTS: list[tuple[str, str | bytes]] = [
    ("c.txt", "b\n10\n9\nb\n"),
    ("c.txt.gz", "b\n10\n9\nb\n"),
    ("c.json", '["b", 10, 9, "b"]'),
    ("c.npy", npy(["b", "10", "9", "b"])),
    ("c.csv", "item_id\nb\n10\n9\nb\n"),
    ("two.csv", "id,title\nb,1\n10,2\n9,3\nb,4\n"),
    ("c.tsv", "title\tmovie_id\n1\tb\n2\t10\n3\t9\n3\tb\n"),
    ("c.jsonl", '{"id": "b"}\n{"id": "10"}\n{"id": "9"}\n{"id": "b"}'),
    ("c.parquet", parquet({"id": ["b", "10", "9", "b"], "x": [1, 2, 3, 4]})),
]


@pytest.mark.parametrize(("name", "content"), LISTS, ids=[name for name, _ in LISTS])
def test_a_list_holds_for_all_queries(tmp_path: Path, name: str, content: str | bytes) -> None:
    """Each once, in the order of strings."""
    found = read_candidates(str(put(tmp_path, name, content)))
    assert isinstance(found, pl.Series) and found.dtype == pl.String
    assert found.to_list() == ["10", "9", "b"]


PAIRS: list[tuple[str, str | bytes]] = [
    ("c.csv", "query_id,item_id\nq,b\nq,007\nr,b\nq,b\n"),
    ("scored.csv", "item_id,query_id,score,rank\nb,q,1,1\n007,q,2,1\nb,r,3,1\nb,q,4,2\n"),
    ("users.csv", "user_id,movie_id,rating\nq,b,1\nq,007,2\nr,b,3\n"),
    ("c.tsv", "qid\tdocid\nq\tb\nq\t007\nr\tb\n"),
    ("semi.csv", "query_id;item_id\nq;b\nq;007\nr;b\n"),
    ("c.csv.zst", "query_id,item_id\nq,b\nq,007\nr,b\n"),
    ("c.jsonl", '{"query": "q", "item": "b"}\n{"query": "q", "item": "007"}\n{"query": "r", "item": "b"}'),
    ("c.parquet", parquet({"query_id": ["q", "q", "r", "q"], "item_id": ["b", "007", "b", "b"]})),
    ("c[1].parquet", parquet({"query_id": ["q", "q", "r"], "item_id": ["b", "007", "b"]})),
]


@pytest.mark.parametrize(("name", "content"), PAIRS, ids=[name for name, _ in PAIRS])
def test_a_table_of_both_holds_for_each_query(tmp_path: Path, name: str, content: str | bytes) -> None:
    """Each pair once, in the order of the table."""
    found = read_candidates(str(put(tmp_path, name, content)))
    assert isinstance(found, pl.DataFrame)
    assert found.schema == {"query_id": pl.String, "item_id": pl.String}
    assert found.rows() == [("q", "b"), ("q", "007"), ("r", "b")]


def test_the_ids_of_queries_stay_as_they_are_written(tmp_path: Path) -> None:
    found = read_candidates(str(put(tmp_path, "c.csv", "query_id,item_id\n007,1\n7,01\n1.0,1e3\n")))
    assert isinstance(found, pl.DataFrame)
    assert found.rows() == [("007", "1"), ("7", "01"), ("1.0", "1e3")]


def test_whole_numbers_stand_for_their_decimal_form(tmp_path: Path) -> None:
    columns = {"query_id": pl.Series([7, 7], dtype=pl.Int8), "item_id": pl.Series([8, 10], dtype=pl.UInt64)}
    found = read_candidates(str(put(tmp_path, "c.parquet", parquet(columns))))
    assert isinstance(found, pl.DataFrame)
    assert found.rows() == [("7", "8"), ("7", "10")]


def test_a_column_that_is_named_holds_for_all(tmp_path: Path) -> None:
    path = put(tmp_path, "c.csv", "query_id,item_id\nq,b\nr,a\n")
    found = read_candidates(f"{path}:item_id")
    assert isinstance(found, pl.Series)
    assert found.to_list() == ["a", "b"]
    assert isinstance(refused(f"{path}:item"), UnknownName)


WRONG: list[tuple[str, str | bytes, str]] = [
    ("gap.csv", "query_id,item_id\nq,a\nq,\n", "row 2 has no id"),
    ("gap_query.csv", "query_id,item_id\nq,a\n,b\n", "row 2 has no id"),
    ("gap.jsonl", '{"query_id": "q", "item_id": "a"}\n{"query_id": "q"}', "row 2 has no id"),
    ("gap.parquet", parquet({"query_id": ["q", None], "item_id": ["a", "b"]}), "row 2 has no id"),
    ("list_gap.csv", "item_id,x\na,1\n,2\n", "row 2 has no id"),
    ("blank.txt", "a\n\nb\n", "row 2 has no id"),
    ("empty_text.npy", npy(["a", ""]), "row 2 has no id"),
    ("float.parquet", parquet({"query_id": [1.5], "item_id": ["a"]}), "of type Float64"),
    ("lists.parquet", parquet({"query_id": [["q"]], "item_id": ["a"]}), "of type List"),
    ("list_float.parquet", parquet({"item_id": [1.5], "x": [1]}), "of type Float64"),
    ("list_lists.parquet", parquet({"item_id": [["a"]], "x": [1]}), "of type List"),
    ("bytes.parquet", parquet({"item_id": [b"\xff"], "x": [1]}), "of type Binary"),
    ("object.jsonl", '{"query_id": "q", "item_id": {"a": 1}}', "of type Struct"),
    ("bare.csv", "query_id,item_id\n", "no candidates"),
    ("bare_list.csv", "item_id\n", "no candidates"),
    ("none.json", "[]", "no candidates"),
    ("ragged.csv", "query_id,item_id\nq,a,b,c\n", "ragged.csv:2: found 4 columns"),
    ("unknown.csv", "q,a\nr,b\n", "none holds ids"),
    ("not.jsonl", "nope", "not.jsonl:1: not JSON"),
    ("cut.parquet", parquet({"query_id": ["q"], "item_id": ["a"]})[:-3], "cannot be read"),
    ("empty.csv", "", "empty"),
    ("utf16.csv", "query_id,item_id\nq,a\n".encode("utf-16"), "UTF-16"),
]


@pytest.mark.parametrize(("name", "content", "found"), WRONG, ids=[name for name, _, _ in WRONG])
def test_what_is_wrong_is_said(tmp_path: Path, name: str, content: str | bytes, found: str) -> None:
    error = refused(put(tmp_path, name, content))
    assert isinstance(error, DataError) and found in str(error)
    assert str(tmp_path / name) in str(error.where)


@pytest.mark.parametrize("name", ["none.csv", "none.txt", "none.parquet"])
def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    assert "no such file" in refused(tmp_path / name).found


STARTS = [
    b"",
    b"query_id,item_id\n",
    b"item_id\n",
    b'{"query_id": "q", "item_id": ',
    b"PAR1",
    b"\x93NUMPY\x01\x00",
    b'["',
]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".txt", ".json", ".npy"])
@given(start=st.sampled_from(STARTS), rest=st.binary(min_size=1, max_size=60))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(tmp_path: Path, suffix: str, start: bytes, rest: bytes) -> None:
    path = tmp_path / f"c{suffix}"
    path.write_bytes(start + rest)
    try:
        found = read_candidates(str(path))
    except RankjuryError as error:
        assert error.exit_code in (2, 3)
    else:
        frame = found.to_frame() if isinstance(found, pl.Series) else found
        assert frame.height > 0 and set(frame.dtypes) == {pl.String}
        assert not any((column.is_null() | (column == "")).any() for column in frame)
        assert not frame.is_duplicated().any()
