"""Ids of vectors: files of ids, ids within files, and lists of candidates."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.numpy import save

from rankjury.errors import DataError, MissingExtra, RankjuryError, UnknownName, UsageError
from rankjury.io.vectors import VECTOR_SUFFIXES, read_candidates, read_ids, read_vectors, split_off_key
from tests.io.support import put
from tests.io.test_vectors import ARRAY, IDS, ROWS, npy, npz, parquet, refused


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Three vectors without ids."""
    return put(tmp_path, "v.npy", npy(ARRAY))


TABLE = {"item_id": IDS, "number": [7, 8, 9]}
LISTS: list[tuple[str, str | bytes]] = [
    ("ids.lst", "x\ny\nz\n"),
    ("i.txt", "x\ny\nz"),
    ("marked.txt", "\ufeffx\ny\nz\n"),
    ("i.txt.gz", "x\ny\nz\n"),
    ("i.json", '["x", "y", "z"]'),
    ("i.npy", npy(np.array(IDS))),
    ("big.npy", npy(np.array(IDS, dtype=">U3"))),
    ("bytes.npy", npy(np.array([b"x", b"y", b"z"]))),
    ("i.csv", "title,item_id\n1,x\n2,y\n3,z\n"),
    ("semi.csv", "title;item_id\n1;x\n2;y\n3;z\n"),
    ("i.tsv", "id\ttitle\nx\t1\ny\t2\nz\t3\n"),
    ("i.jsonl", '{"_id": "x"}\n{"_id": "y"}\n{"_id": "z"}\n'),
    ("i.parquet", parquet(TABLE)),
    ("i.pq", parquet({"id": pl.Series(IDS, dtype=pl.Categorical)})),
]


@pytest.mark.parametrize(("name", "content"), LISTS, ids=[name for name, _ in LISTS])
def test_a_file_of_ids(tmp_path: Path, vectors: Path, name: str, content: str | bytes) -> None:
    read = read_vectors(vectors, ids=str(put(tmp_path, name, content)))
    assert read.ids.to_list() == IDS
    np.testing.assert_array_equal(read.values, ARRAY)


@pytest.mark.parametrize(
    ("name", "content", "column", "ids"),
    [
        ("i.csv", "a,b\nx,07\ny,8\nz,9\n", "b", ["07", "8", "9"]),
        ("i.parquet", parquet(TABLE), "number", ["7", "8", "9"]),
        ("i.jsonl", '{"id": 1, "n": "p"}\n{"id": 2, "n": "q"}\n{"id": 3, "n": "r"}', "n", ["p", "q", "r"]),
    ],
)
def test_a_column_may_be_named(
    tmp_path: Path, vectors: Path, name: str, content: str | bytes, column: str, ids: list[str]
) -> None:
    path = put(tmp_path, name, content)
    assert read_vectors(vectors, ids=f"{path}:{column}").ids.to_list() == ids
    error = refused(vectors, ids=f"{path}:{column}s")
    assert isinstance(error, UnknownName) and column in str(error.hint)


@pytest.mark.parametrize("name", ["i.txt", "i.json", "i.npy"])
def test_a_list_has_no_columns_to_name(tmp_path: Path, vectors: Path, name: str) -> None:
    path = put(tmp_path, name, dict(LISTS)[name])
    assert isinstance(refused(vectors, ids=f"{path}:id"), UsageError)


@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "i8", "u8"])
def test_whole_numbers_are_ids_by_their_decimal_form(tmp_path: Path, vectors: Path, dtype: str) -> None:
    numbers = np.array([7, 10, 100], dtype=dtype)
    assert read_vectors(vectors, ids=str(put(tmp_path, "n.npy", npy(numbers)))).ids.to_list() == ["7", "10", "100"]
    assert read_vectors(put(tmp_path, "v.npz", npz(a=ARRAY, ids=numbers))).ids.to_list() == ["7", "10", "100"]


def test_numbers_in_json_are_ids_as_well(tmp_path: Path, vectors: Path) -> None:
    assert read_vectors(vectors, ids=str(put(tmp_path, "i.json", "[7, 8, 9]"))).ids.to_list() == ["7", "8", "9"]


# In the order in which they are looked for.
BESIDE = [f"v{joint}ids{suffix}" for joint in "._-" for suffix in (".txt", ".json", ".npy")]
BESIDE += ["ids.txt", "ids.json", "ids.npy"]


@pytest.mark.parametrize("place", range(len(BESIDE)))
def test_ids_found_beside_by_name(tmp_path: Path, vectors: Path, place: int) -> None:
    """The one named most closely counts: those behind it hold other ids. Without any, rows are numbered."""
    assert read_vectors(vectors).ids.to_list() == ["0", "1", "2"]
    for later, name in enumerate(BESIDE[place:]):
        ids = IDS if later == 0 else ["no", "not", "nor"]
        written = {".txt": "\n".join(ids), ".json": json.dumps(ids), ".npy": npy(np.array(ids))}
        put(tmp_path, name, written[Path(name).suffix])
    assert read_vectors(vectors).ids.to_list() == IDS


def test_beside_goes_for_every_file_without_ids(tmp_path: Path) -> None:
    put(tmp_path, "v_ids.txt", "x\ny\nz")
    put(tmp_path, "w.ids.txt", "not\nfor\nthis")
    assert read_vectors(put(tmp_path, "v.npz", npz(a=ARRAY))).ids.to_list() == IDS
    assert read_vectors(f"{put(tmp_path, 'v.npz', npz(a=ARRAY, b=ARRAY))}:b").ids.to_list() == IDS
    assert read_vectors(put(tmp_path, "v.safetensors", save({"a": ARRAY}))).ids.to_list() == IDS


def test_ids_given_or_of_its_own_come_before_those_beside(tmp_path: Path) -> None:
    other = put(tmp_path, "v.ids.txt", "a\nb\nc")
    given_ids = put(tmp_path, "given.txt", "x\ny\nz")
    assert read_vectors(put(tmp_path, "v.npy", npy(ARRAY)), ids=str(given_ids)).ids.to_list() == IDS
    for name, content in [
        ("v.npz", npz(a=ARRAY, item_ids=np.array(IDS))),
        ("v.safetensors", save({"a": ARRAY}, {"ids": '["x", "y", "z"]'})),
        ("v.json", '{"x": [1], "y": [2], "z": [3]}'),
    ]:
        path = put(tmp_path, name, content)
        assert read_vectors(path).ids.to_list() == IDS
        error = refused(path, ids=str(other))
        assert isinstance(error, UsageError) and "already contains ids" in error.found and str(other) in str(error.hint)


def test_the_array_called_ids_is_the_ids_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, "v.npz", npz(ids=ARRAY, names=np.array(IDS)))
    assert read_vectors(f"{path}:ids").ids.to_list() == IDS


@pytest.mark.parametrize("ids", [["x", "y"], [*IDS, "w"], []])
def test_as_many_ids_as_vectors(tmp_path: Path, vectors: Path, ids: list[str]) -> None:
    listed = put(tmp_path, "i.json", json.dumps(ids))
    for error in (
        refused(vectors, ids=str(listed)),
        refused(put(tmp_path, "a.npz", npz(a=ARRAY, ids=np.array(ids, dtype=str)))),
        refused(put(tmp_path, "a.safetensors", save({"a": ARRAY}, {"ids": json.dumps(ids)}))),
    ):
        assert error.exit_code == 3 and f"3 vectors and {len(ids)} ids" in error.found


def test_ids_that_stand_twice_are_named(tmp_path: Path) -> None:
    names = ["a", "b", "a", "c", "b", "b"]
    rows = np.ones((6, 2))
    objects = [{"id": name, "v": [1, 2]} for name in names]
    put(tmp_path, "v.ids.txt", "\n".join(names))
    for path in (
        put(tmp_path, "v.npy", npy(rows)),
        put(tmp_path, "w.npz", npz(a=rows, ids=np.array(names))),
        put(tmp_path, "w.parquet", parquet({"id": names, "v": rows.tolist()})),
        put(tmp_path, "l.json", json.dumps(objects)),
        put(tmp_path, "w.jsonl", "\n".join(map(json.dumps, objects))),
        put(tmp_path, "d.json", "{" + ", ".join(f'"{name}": [1, 2]' for name in names) + "}"),
        put(tmp_path, "mixed.json", json.dumps([{"id": one, "v": [1]} for one in ("a", 1, "a", "b", "1", "b")])),
    ):
        found = refused(path).found
        assert found == f"duplicate ids: {'a, 1, b' if path.stem == 'mixed' else 'a, b'}", path


def test_a_key_that_stands_twice_among_many(tmp_path: Path) -> None:
    members = ", ".join(f'"id{number}": [1]' for number in [*range(30_000), 0])
    path = put(tmp_path, "v.json", "{" + members + "}")
    assert refused(path).found.endswith(": id0")


WRONG: list[tuple[str, str | bytes, str]] = [
    ("null.json", '[{"id": null, "v": [1]}]', "null"),
    ("true.json", '[{"id": true, "v": [1]}]', "true"),
    ("float.json", '[{"id": 1.5, "v": [1]}]', "1.5"),
    ("none.json", '[{"id": "a", "v": [1]}, {"v": [1]}]', "object 2 has no id"),
    ("empty.json", '{"a": [1], "": [2]}', "row 2 has no id"),
    ("surrogate.json", '{"\\ud800": [1]}', "surrogate"),
    ("null.jsonl", '{"id": "a", "v": [1]}\n{"id": null, "v": [1]}', "row 2 has no id"),
    ("null.parquet", parquet({"id": ["a", None], "v": [[1.0], [2.0]]}), "row 2 has no id"),
    ("float.parquet", parquet({"id": [1.5], "v": [[1.0]]}), "of type Float64"),
    ("bytes.parquet", parquet({"id": [b"\xff"], "v": [[1.0]]}), "of type Binary"),
    ("absent.parquet", parquet({"name": ["a"], "v": [[1.0]]}), "none holds ids"),
    ("same.parquet", parquet({"id": [[1.0]]}), "id"),
    ("float.npz", npz(a=ARRAY, ids=np.array([1.0, 2.0, 3.0])), "float64"),
    ("flat.npz", npz(a=ARRAY, ids=np.array([IDS])), "(1, 3)"),
    ("empty.npz", npz(a=ARRAY, ids=np.array(["a", "", "b"])), "row 2 has no id"),
    ("latin.npz", npz(a=ARRAY, ids=np.array([b"a", b"\xe9", b"b"])), "not UTF-8"),
    ("lone.npz", npz(a=ARRAY, ids=np.array(["a", "\ud800", "b"])), "not UTF-8"),
    ("text.safetensors", save({"a": ARRAY}, {"ids": "x, y, z"}), "list of ids"),
    ("true.safetensors", save({"a": ARRAY}, {"ids": "[true, 2, 3]"}), "list of ids"),
    ("deep.safetensors", save({"a": ARRAY}, {"ids": "[" * 100_000}), "list of ids"),
]


@pytest.mark.parametrize(("name", "content", "found"), WRONG, ids=[name for name, _, _ in WRONG])
def test_wrong_ids_in_a_file(tmp_path: Path, name: str, content: str | bytes, found: str) -> None:
    error = refused(put(tmp_path, name, content))
    assert isinstance(error, DataError) and found in str(error)


WRONG_LISTS: list[tuple[str, str | bytes, str]] = [
    ("blank.txt", "x\n\nz", "row 2 has no id"),
    ("utf16.txt", "x\ny\nz".encode("utf-16"), "UTF-16"),
    ("null.json", '[null, "x", "y"]', "no list of ids"),
    ("true.json", '[true, "x", "y"]', "no list of ids"),
    ("cut.json", '["x", "y"', "list of ids"),
    ("deep.json", "[" * 100_000, "list of ids"),
    ("surrogate.json", '["\\ud800", "x", "y"]', "surrogate"),
    ("none.npy", npy(np.array("x")), "()"),
    ("latin.npy", npy(np.array([b"x", b"\xe9", b"z"])), "not UTF-8"),
    ("object.npy", npy(np.array(["x", None, "z"], dtype=object)), "pickled"),
    ("archive.npy", npz(a=np.array(IDS)), "NumPy"),
    ("gap.csv", "id,t\nx,1\n,2\nz,3\n", "row 2 has no id"),
    ("null.jsonl", '{"id": "x"}\n{"id": null}\n{"id": "z"}', "row 2 has no id"),
    ("list.jsonl", '{"id": ["x"]}\n{"id": ["y"]}\n{"id": ["z"]}', "List(String)"),
    ("not.jsonl", "x\ny\nz\n", "not.jsonl:1: not JSON"),
    ("cut.parquet", parquet(TABLE)[:-3], "cannot be read"),
]


@pytest.mark.parametrize(("name", "content", "found"), WRONG_LISTS, ids=[name for name, _, _ in WRONG_LISTS])
def test_wrong_ids_in_a_list(tmp_path: Path, vectors: Path, name: str, content: str | bytes, found: str) -> None:
    error = refused(vectors, ids=str(put(tmp_path, name, content)))
    assert isinstance(error, DataError) and found in str(error)


SPACES = {"one": dict(zip(IDS, ROWS, strict=True)), "two": {name: [7.0, 7.0] for name in IDS}}
SEVERAL: dict[str, str | bytes] = {
    "v.npz": npz(one=ARRAY, two=ARRAY + 1, ids=np.array(IDS)),
    "v.safetensors": save({"one": ARRAY, "two": ARRAY + 1}, {"ids": json.dumps(IDS)}),
    "v.parquet": parquet({"id": IDS, "one": ROWS, "two": [[1.0, 2.0]] * 3, "tags": [["a"]] * 3}),
    "v.json": json.dumps(SPACES),
    "list.json": json.dumps([{"id": name, "one": row, "two": [1, 2]} for name, row in SPACES["one"].items()]),
    "v.jsonl": "\n".join(json.dumps({"id": name, "one": row, "two": [1]}) for name, row in SPACES["one"].items()),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_key_names_one_of_several(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, name, SEVERAL[name])
    vectors = read_vectors(f"{path}:one")
    assert (vectors.ids.to_list(), vectors.values.tolist(), vectors.source) == (IDS, ROWS, f"{path}:one")
    assert "one, two; expected one. Choose one: " in str(refused(path))
    unknown = refused(f"{path}:three")
    assert "'three'" in unknown.found and str(unknown.expected) == "one of one, two"


def test_no_key_goes_with_one_array(tmp_path: Path) -> None:
    assert "one unnamed array" in str(refused(f"{put(tmp_path, 'v.npy', npy(ARRAY))}:k"))
    assert refused(f"{put(tmp_path, 'v.json', json.dumps(SPACES['one']))}:k").exit_code == 3


@pytest.mark.parametrize("text", ["C:/x/a.npz", "a:b", "a.npz:", ":k", "a.npz:b/c", "x:y.npz", "a.csv:k", "a.npz"])
def test_colons_that_part_no_key(text: str) -> None:
    assert split_off_key(text) == (text, None)


def test_a_file_whose_name_has_a_colon_comes_first(tmp_path: Path) -> None:
    text = f"{tmp_path}/a.npz:k"
    assert split_off_key(text) == (f"{tmp_path}/a.npz", "k")
    Path(text).write_bytes(b"x")
    assert split_off_key(text) == (text, None)


def test_safetensors_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "v.safetensors", save({"a": ARRAY}))
    monkeypatch.setitem(sys.modules, "safetensors", None)
    error = refused(path)
    assert isinstance(error, MissingExtra) and "pip install 'rankjury[vectors]'" in str(error.hint)


STARTS = [
    b"",
    b"\x93NUMPY\x01\x00",
    b"PK\x03\x04",
    b"PAR1",
    b"\x80\x04",
    b'{"a": [',
    b'[{"id": ',
    npy(ARRAY)[:-9],
    npz(a=ARRAY)[:60],
]


LISTED = [".ids.txt", ".ids.json", ".ids.npy", ".ids.csv", ".ids.tsv", ".ids.jsonl", ".ids.parquet"]


@pytest.mark.parametrize("suffix", [*VECTOR_SUFFIXES, *LISTED])
@given(start=st.sampled_from(STARTS), rest=st.binary(min_size=1, max_size=80))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(tmp_path: Path, suffix: str, start: bytes, rest: bytes) -> None:
    path = tmp_path / f"v{suffix}"
    path.write_bytes(start + rest)
    try:
        if suffix.startswith(".ids"):
            assert isinstance(read_ids(str(path)), pl.Series)
        else:
            assert np.isfinite(read_vectors(path).values).all()
    except RankjuryError as error:
        assert error.exit_code in (2, 3)


def parquet(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


def npy(ids: list[str]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(ids))
    return buffer.getvalue()


def refused_candidates(given: str | Path) -> RankjuryError:
    with pytest.raises(RankjuryError) as caught:
        read_candidates(str(given))
    assert caught.value.exit_code in (2, 3)
    return caught.value


CANDIDATES_LISTS: list[tuple[str, str | bytes]] = [
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


@pytest.mark.parametrize(("name", "content"), CANDIDATES_LISTS, ids=[name for name, _ in CANDIDATES_LISTS])
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
    assert isinstance(refused_candidates(f"{path}:item"), UnknownName)


CANDIDATES_WRONG: list[tuple[str, str | bytes, str]] = [
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


@pytest.mark.parametrize(("name", "content", "found"), CANDIDATES_WRONG, ids=[name for name, _, _ in CANDIDATES_WRONG])
def test_what_is_wrong_is_said(tmp_path: Path, name: str, content: str | bytes, found: str) -> None:
    error = refused_candidates(put(tmp_path, name, content))
    assert isinstance(error, DataError) and found in str(error)
    assert str(tmp_path / name) in str(error.where)


@pytest.mark.parametrize("name", ["none.csv", "none.txt", "none.parquet"])
def test_what_is_not_there(tmp_path: Path, name: str) -> None:
    assert "no such file" in refused_candidates(tmp_path / name).found


CANDIDATES_STARTS = [
    b"",
    b"query_id,item_id\n",
    b"item_id\n",
    b'{"query_id": "q", "item_id": ',
    b"PAR1",
    b"\x93NUMPY\x01\x00",
    b'["',
]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".txt", ".json", ".npy"])
@given(start=st.sampled_from(CANDIDATES_STARTS), rest=st.binary(min_size=1, max_size=60))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_candidates_any_bytes_are_read_or_refused(tmp_path: Path, suffix: str, start: bytes, rest: bytes) -> None:
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
