"""Parquet: ids as strings or whole numbers, whatever width; broken files."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.io.formats import read, read_gold, read_run
from tests.io.support import exact, read_rows


def _put(folder: Path, columns: dict[str, Any], name: str = "table.parquet") -> Path:
    pl.DataFrame(columns).write_parquet(folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["run.parquet", "run.pq", "run.bin", "run.csv"])
def test_content_tells_parquet_whatever_the_suffix(tmp_path: Path, name: str) -> None:
    path = _put(tmp_path, {"query_id": ["q"], "item_id": ["d"], "score": [0.1]}, name)
    assert read_rows(path, "run") == exact([("q", "d", 0.1)])


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.Int32, pl.Int64, pl.UInt64, pl.Categorical, pl.String])
def test_ids_of_any_whole_type(tmp_path: Path, dtype: Any) -> None:
    ids = (
        pl.Series(["7", "42"]).cast(dtype) if dtype in (pl.Categorical, pl.String) else pl.Series([7, 42], dtype=dtype)
    )
    path = _put(tmp_path, {"qid": ids, "docid": ids, "rel": [1, 2]})
    gold = read_gold(path)
    assert gold.queries.to_list() == ["7", "42"]
    assert gold.items.cast(pl.String).to_list() == ["7", "42"]


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64, pl.Int32, pl.UInt8])
def test_numbers_of_any_width(tmp_path: Path, dtype: Any) -> None:
    path = _put(tmp_path, {"query_id": ["q"], "item_id": ["d"], "score": pl.Series([3], dtype=dtype)})
    assert read_rows(path, "run") == exact([("q", "d", 3.0)])


def test_a_rank_alone_makes_a_run(tmp_path: Path) -> None:
    run = read_run(_put(tmp_path, {"query_id": ["q", "q"], "item_id": ["a", "b"], "rank": [2, 1]}))
    assert run.scores is not None
    assert run.scores.tolist() == [-2.0, -1.0]


_no_text, _no_numbers = pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.Float64)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"query_id": ["q", None], "item_id": ["a", "b"], "score": [1.0, 2.0]}, "row 2 has no query_id"),
        ({"query_id": ["q", "q"], "item_id": ["a", "b"], "score": [None, 2.0]}, "row 1 has no score"),
        ({"query_id": ["q"], "item_id": ["a"], "score": ["1"]}, "score is of type String"),
        ({"query_id": ["q"], "item_id": ["a"], "score": [float("nan")]}, "the score of item 'a' for query 'q' is nan"),
        ({"query_id": ["q"], "item_id": ["a"], "score": [float("-inf")]}, "is -inf"),
        ({"query_id": [1.5], "item_id": ["a"], "score": [1.0]}, "floating-point"),
        ({"a": [1], "b": [2]}, "found the columns a, b"),
        ({"query_id": ["q"], "item_id": ["a"], "grade": [1]}, "no column for score or rank"),
        (dict(zip(["query_id", "item_id", "score"], [_no_text, _no_text, _no_numbers], strict=True)), "no rows"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, columns: dict[str, Any], found: str) -> None:
    with pytest.raises(DataError) as caught:
        read_run(_put(tmp_path, columns))
    assert found in str(caught.value)


@pytest.mark.parametrize("ids", [[["q"]], [b"\xff"], [{"a": 1}]])
def test_ids_that_are_neither_text_nor_whole_are_refused(tmp_path: Path, ids: list[Any]) -> None:
    with pytest.raises(DataError):
        read_run(_put(tmp_path, {"query_id": ids, "item_id": ["a"], "score": [1.0]}))


def test_a_run_with_ranks_is_no_gold(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="are those of a run"):
        read(_put(tmp_path, {"query_id": ["q"], "item_id": ["a"], "score": [1.5], "rank": [1]}), "gold")


def test_fractional_scores_are_no_grades(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read(_put(tmp_path, {"query_id": ["q"], "item_id": ["a"], "score": [1.5]}), "gold")


def _whole_file() -> bytes:
    buffer = io.BytesIO()
    ids = [f"d{number}" for number in range(500)]
    pl.DataFrame({"query_id": ids, "item_id": ids, "score": [0.5] * 500}).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:-200],
        lambda data: data[:4],
        lambda data: data[:12],
        lambda data: data[:40] + b"\xff" * 60 + data[100:],
        lambda data: b"JUNK" + data[4:],
    ],
)
def test_a_damaged_file_is_an_error_of_the_data(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "run.parquet"
    path.write_bytes(damage(_whole_file()))
    with pytest.raises(DataError) as caught:
        read(path, "run")
    assert str(path) in str(caught.value.where)
    assert "Parquet" in caught.value.found
