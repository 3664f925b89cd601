"""Parquet files and folders as tables: which files, which columns, which types, and what is wrong where."""

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.scale.parquet import ParquetTable, is_parquet, open_table

RUN = {"query_id": ["a", "a", "b"], "item_id": ["x", "y", "x"], "score": [3.0, 2.0, 1.0]}


def put(path: Path, columns: dict[str, Any] | pl.DataFrame = RUN, **types: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(columns).cast(types).write_parquet(path)
    return path


def rows(table: ParquetTable) -> list[tuple[Any, ...]]:
    return [row for frame in table.batches(1000) for row in frame.rows()]


def test_one_file(tmp_path: Path) -> None:
    path = put(tmp_path / "run.parquet")
    table = open_table(str(path), "run")
    assert (table.name, table.kind, table.files, table.rows) == (str(path), "run", (path,), 3)
    assert table.schema == {"query_id": pl.String, "item_id": pl.String, "score": pl.Float64}
    assert rows(table) == [("a", "x", 3.0), ("a", "y", 2.0), ("b", "x", 1.0)]


def test_columns_by_the_names_that_others_use(tmp_path: Path) -> None:
    path = put(
        tmp_path / "gold.parquet", {"userId": [1], "extra": ["?"], "movieId": [7], "rating": [4]}, userId=pl.Int32
    )
    table = open_table(path, "gold")
    assert table.columns == {"query_id": "userId", "item_id": "movieId", "grade": "rating"}
    assert table.schema == {"query_id": pl.Int64, "item_id": pl.Int64, "grade": pl.Float64}
    assert rows(table) == [(1, 7, 4.0)]


def test_the_score_decides_and_a_rank_alone_is_kept(tmp_path: Path) -> None:
    ranks = {"query_id": ["a"], "item_id": ["x"], "rank": [1]}
    both = put(tmp_path / "both.parquet", {**ranks, "score": [0.5]}, score=pl.Float32)
    assert open_table(both, "run").schema.names() == ["query_id", "item_id", "score"]
    assert rows(open_table(put(tmp_path / "ranks.parquet", ranks), "run")) == [("a", "x", 1.0)]


def test_attributes_keep_their_names_and_types(tmp_path: Path) -> None:
    path = put(tmp_path / "queries.parquet", {"id": [1, 2], "tier": ["new", None], "length": [3, 4]}, length=pl.Int16)
    table = open_table(path, "attributes")
    assert table.schema == {"query_id": pl.Int64, "tier": pl.String, "length": pl.Int16}
    assert rows(table) == [(1, "new", 3), (2, None, 4)]


def test_a_folder_in_the_natural_order_of_its_paths(tmp_path: Path) -> None:
    for name in ("part-10.parquet", "part-9.PARQUET", "deep/er/part-1.pq", "x.snappy", "x.parq"):
        put(tmp_path / name, {"query_id": [name], "item_id": ["x"], "score": [1]})
    put(tmp_path / "part-11").rename(tmp_path / "plain")
    for name in ("_SUCCESS", ".hidden.parquet", "_temporary/0/part-1.parquet", "part-9.PARQUET.crc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("no data")
    assert is_parquet(tmp_path)
    names = [str(path.relative_to(tmp_path)) for path in open_table(tmp_path, "run").files]
    assert names == ["deep/er/part-1.pq", "part-9.PARQUET", "part-10.parquet", "plain", "x.parq", "x.snappy"]


@pytest.mark.parametrize("name", ["README.md", "deep/run.csv", "0"])
def test_what_is_no_parquet_among_parquet(tmp_path: Path, name: str) -> None:
    put(tmp_path / "1.parquet")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("query_id,item_id,score\n1,2,3\n")
    assert is_parquet(tmp_path)
    with pytest.raises(DataError, match=f"{name}: not a Parquet file, in a folder of Parquet files"):
        open_table(tmp_path, "run")


def test_folders_name_columns(tmp_path: Path) -> None:
    scores = {"item_id": ["x", "y"], "score": [2.0, 1.0]}
    for user, day in ((2, "2024-01-02"), (10, "2024-01-01")):
        put(tmp_path / f"day=1/split=a%20b/user_id={user}/seen={day}/0.parquet", scores)
    run = open_table(tmp_path / "day=1", "run")
    assert rows(run) == [(2, "x", 2.0), (2, "y", 1.0), (10, "x", 2.0), (10, "y", 1.0)]
    alone = pl.concat(run.batches(1, queries_alone=True))
    assert alone["query_id"].to_list() == [2, 2, 10, 10]
    attributes = open_table(tmp_path / "day=1", "attributes")
    assert attributes.schema["split"] == pl.String and attributes.columns["query_id"] == "user_id"
    assert next(attributes.batches(10)).row(0, named=True)["split"] == "a b"


def test_numbers_in_folders_are_numbers_only_where_all_are_written_so(tmp_path: Path) -> None:
    for user in ("7", "007"):
        put(tmp_path / f"user_id={user}/0.parquet", {"item_id": ["x"], "score": [1.0]})
    assert sorted(row[0] for row in rows(open_table(tmp_path, "run"))) == ["007", "7"]


def test_folders_that_name_other_columns(tmp_path: Path) -> None:
    put(tmp_path / "fold=1/0.parquet")
    put(tmp_path / "part=1/0.parquet")
    with pytest.raises(DataError, match=r"part=1/0\.parquet: found part in the names of its folders; expected fold"):
        open_table(tmp_path, "run")


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_batches_have_about_as_many_rows_as_asked_for(tmp_path: Path, size: int) -> None:
    for number in range(7):
        put(
            tmp_path / f"{number}.parquet",
            {"query_id": [number] * number, "item_id": range(number), "score": [1.0] * number},
        )
    table = open_table(tmp_path, "run")
    frames = list(table.batches(size))
    assert max(frame.height for frame in frames) <= size and len(frames) <= 2 * 21 / size + 1
    assert [row[0] for frame in frames for row in frame.rows()] == [n for n in range(7) for _ in range(n)]
    assert table.rows == 21


@pytest.mark.parametrize(
    ("types", "read"),
    [
        ((pl.Int32, pl.Int64), pl.Int64),
        ((pl.UInt8, pl.Int16), pl.Int64),
        ((pl.Int64, pl.UInt64), pl.String),
        ((pl.String, pl.Categorical), pl.String),
    ],
)
def test_ids_of_several_widths(tmp_path: Path, types: tuple[Any, Any], read: Any) -> None:
    for number, type_ in enumerate(types):
        ids = pl.Series(["1", "2"]).cast(type_) if read == pl.String and type_ != pl.UInt64 else pl.Series([1, 2])
        put(tmp_path / f"{number}.parquet", {"query_id": ids, "item_id": ["x", "y"], "score": [1, 2]}, query_id=type_)
    table = open_table(tmp_path, "run")
    assert table.schema["query_id"] == read
    assert [str(row[0]) for row in rows(table)] == ["1", "2", "1", "2"]


def test_grades_may_be_whole_in_one_file_and_not_in_another(tmp_path: Path) -> None:
    put(tmp_path / "0.parquet", {"query_id": ["a"], "item_id": ["x"], "grade": [1]})
    put(tmp_path / "1.parquet", {"query_id": ["a"], "item_id": ["y"], "grade": [0.5]}, grade=pl.Float32)
    assert rows(open_table(tmp_path, "gold")) == [("a", "x", 1.0), ("a", "y", 0.5)]


@pytest.mark.parametrize(
    ("kind", "columns", "found"),
    [
        ("run", {"query_id": ["a"], "item_id": ["x"]}, r"found the columns query_id, item_id; no column score"),
        (
            "run",
            {**RUN, "query_id": [1, 2, 3]},
            r"column 'query_id' is of type Int64; expected String, as in .*0\.parquet",
        ),
        ("run", {**RUN, "item_id": [0.5, 1, 2]}, r"the ids in column 'item_id' are floating-point numbers"),
        ("run", {**RUN, "score": ["1", "2", "3"]}, r"column 'score' is of type String; expected Float64, as in"),
        ("attributes", {**RUN, "more": [1, 2, 3]}, r"the column more is not in all files"),
        ("attributes", {**RUN, "item_id": [1, 2, 3]}, r"column 'item_id' is of type Int64; expected String"),
    ],
)
def test_files_that_differ(tmp_path: Path, kind: str, columns: dict[str, Any], found: str) -> None:
    put(tmp_path / "0.parquet")
    put(tmp_path / "1.parquet", columns)
    with pytest.raises(DataError, match=rf"1\.parquet: .*{found}"):
        rows(open_table(tmp_path, kind))


@pytest.mark.parametrize(
    ("column", "value", "found"),
    [
        ("query_id", None, "row 5 has no query_id; expected no nulls"),
        ("item_id", None, "row 5 has no item_id; expected no nulls"),
        ("score", None, "row 5 has no score; expected no nulls"),
        ("score", float("nan"), r"the score of item 'x' for query 'a' is NaN \(row 5\)"),
        ("score", float("-inf"), r"is -inf \(row 5\)"),
    ],
)
def test_a_value_that_is_missing_or_not_finite(tmp_path: Path, column: str, value: Any, found: str) -> None:
    put(tmp_path / "0.parquet")
    columns: dict[str, list[Any]] = {"query_id": ["a"] * 6, "item_id": ["x"] * 6, "score": [1.0] * 6}
    columns[column][4] = value
    put(tmp_path / "1.parquet", columns)
    table = open_table(tmp_path, "run")
    with pytest.raises(DataError, match=rf"1\.parquet: .*{found}"):
        list(table.batches(2))


def test_scores_as_a_gold(tmp_path: Path) -> None:
    put(tmp_path / "0.parquet", {**RUN, "score": [0.5, 0.2, 0.1]})
    with pytest.raises(DataError, match=r"0\.parquet: the column score holds fractions"):
        rows(open_table(tmp_path, "gold"))


def truncated(data: bytes) -> bytes:
    return data[:-10]


def flipped(data: bytes) -> bytes:
    return data[:40] + bytes(byte ^ 0xFF for byte in data[40:200]) + data[200:]


@pytest.mark.parametrize("damage", [truncated, flipped, lambda _: b"", lambda _: b"query_id,item_id,score\n"])
def test_a_damaged_file_in_the_middle_is_named(tmp_path: Path, damage: Any) -> None:
    for number in range(3):
        ids = [f"a long name of an item, number {place}" for place in range(500)]
        put(tmp_path / f"{number}.parquet", {"query_id": ids, "item_id": ids, "score": range(500)})
    bad = tmp_path / "1.parquet"
    bad.write_bytes(damage(bad.read_bytes()))
    with pytest.raises(DataError, match=r"1\.parquet: (cannot be read as Parquet|the file is empty)"):
        rows(open_table(tmp_path, "run"))


def test_files_without_rows_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "0.parquet", pl.DataFrame(RUN).clear())
    with pytest.raises(DataError, match="found no rows"):
        open_table(tmp_path, "run")
    put(tmp_path / "1.parquet")
    put(tmp_path / "2.parquet", pl.DataFrame(RUN).clear())
    table = open_table(tmp_path, "run")
    assert len(rows(table)) == 3 and table.bytes_per_row > 0


def test_what_is_no_table(tmp_path: Path) -> None:
    text, folder, missing = tmp_path / "run.txt", tmp_path / "empty", tmp_path / "missing"
    text.write_text("q Q0 d 1 0.5 tag\n")
    folder.mkdir()
    assert not any(map(is_parquet, (text, folder, missing, "x" * 5000)))
    assert is_parquet(put(tmp_path / "run.parquet"))
    with pytest.raises(DataError, match="empty: found no Parquet file in this folder"):
        open_table(folder, "run")
    with pytest.raises(DataError, match="missing: no such file or folder"):
        open_table(missing, "run")
    with pytest.raises(DataError, match="found no column but query_id"):
        open_table(put(tmp_path / "ids.parquet", {"query_id": [1]}), "attributes")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(tmp_path: Path) -> None:
    folder = put(tmp_path / "in" / "0.parquet").parent
    folder.chmod(0)
    try:
        with pytest.raises(DataError, match="in: cannot be read: Permission denied"):
            open_table(tmp_path, "run")
    finally:
        folder.chmod(0o700)
