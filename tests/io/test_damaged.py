"""Damage that every reader of tables must name: blank last lines, odd ids, lists in lists, cut files."""

from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.evaluation.slices.groups import Attribute, group_by, suitable_attributes
from rankjury.io.attributes import read_attributes, read_column
from rankjury.io.formats import read
from rankjury.recsys.data.attributes import read_items
from rankjury.recsys.data.read import read_log
from rankjury.scale.parquet import open_table

CSV = "query_id,item_id,score\nq1,a,1\nq1,b,0.5\n"


@pytest.mark.parametrize("last", [" ", "\t", '""', " \n", "\t\n", '""\n', '"",,\n', " , , \n"])
def test_a_last_line_without_a_cell_is_no_row(tmp_path: Path, last: str) -> None:
    path = tmp_path / "run.csv"
    path.write_text(CSV + last)
    try:
        assert read(path, "run").height == 2
    except DataError as error:
        assert "run.csv" in str(error)


@pytest.mark.parametrize(
    "content", [":::9:", ":::9:\n1::2::3::4\n", "1::2::3::4\n:::9:", "::::", ":::", "::", "a:b::1"]
)
def test_odd_colons_in_a_log(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ratings.dat"
    path.write_text(content)
    try:
        read_log(path)
    except DataError as error:
        assert "ratings.dat" in str(error) and "zip()" not in str(error)


def test_ids_with_a_colon_in_the_first_line_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("u:1::a::3::4\nu:2::b::4::5\n")
    assert read_log(tmp_path / "ratings.dat").users.to_list() == ["u:1", "u:2"]


def test_lists_in_lists_are_no_attribute(tmp_path: Path) -> None:
    table = pl.DataFrame({"query_id": ["q1", "q2"], "tags": [[["a"]], [["b"]]], "kind": ["x", "y"]})
    assert [one.name for (one,) in suitable_attributes(table.drop("query_id"))] == ["kind"]
    with pytest.raises(DataError, match=r"tags.* is of type List"):
        group_by(table, [[Attribute("tags")]], "queries.parquet")
    table.write_parquet(tmp_path / "queries.parquet")
    with pytest.raises(DataError, match=r"queries\.parquet"):
        read_column(f"{tmp_path}/queries.parquet:tags", "query", "names")


def test_ids_that_are_lists(tmp_path: Path) -> None:
    pl.DataFrame({"item_id": [["a"], ["b"]], "x": [1, 2]}).write_parquet(tmp_path / "items.parquet")
    with pytest.raises(DataError, match=r"item_id.* is of type List"):
        read_attributes(str(tmp_path / "items.parquet"), "item")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_cut_tables(tmp_path: Path, share: float) -> None:
    path = tmp_path / "items.parquet"
    pl.DataFrame({"item_id": ["a", "b"], "query_id": ["p", "q"], "user": [1, 2], "item": [1, 2]}).write_parquet(path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    readers = (
        read_items,
        read_log,
        lambda path: open_table(path, "run"),
        lambda path: read_attributes(str(path), "item"),
    )
    for reader in readers:
        with pytest.raises(DataError, match=r"items\.parquet"):
            reader(path)


def test_long_lines_are_cut_in_messages(tmp_path: Path) -> None:
    for name, content in {
        "a.csv": CSV + "q" * 10**6 + "\n",
        "a.trec": "q" * 10**6,
        "a.jsonl": '{"query_id": "' + "q" * 10**6,
    }.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError) as caught:
            read(tmp_path / name, "run")
        assert len(str(caught.value)) < 1500
