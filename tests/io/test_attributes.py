"""Tables of attributes from files: ids as they are written, columns of their kind, and what cannot be read."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from rankjury.errors import DataError, RankjuryError, UnknownName
from rankjury.io.attributes import is_query_lines, read_attributes, read_column
from rankjury.io.source import Source
from tests.io.support import COMPRESS, put

ROWS = [
    {"query_id": "007", "type": "fact", "length": 3},
    {"query_id": "7", "type": "how-to", "length": 12},
    {"query_id": "q 3", "type": None, "length": None},
]
CSV = "query_id,type,length\n007,fact,3\n7,how-to,12\nq 3,,\n"


def read_rows(path: Path, kind: str = "query") -> list[dict[str, object]]:
    return read_attributes(str(path), kind)[0].to_dicts()


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", CSV),
        ("q.tsv", CSV.replace(",", "\t")),
        ("q.csv", CSV.replace(",", ";")),
        ("q.txt", CSV.replace(",", "|")),
        ("q.csv", CSV.replace("\n", "\r\n")),
        ("q.csv", '"query_id","type","length"\n"007","fact",3\n"7","how-to",12\n"q 3",,\n'),
        ("q.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS)),
        ("q.json", json.dumps(ROWS)),
        ("q.json", json.dumps(ROWS, indent=1)),
    ],
)
def test_every_form_gives_the_same_rows(tmp_path: Path, name: str, content: str, suffix: str) -> None:
    table, id_column = read_attributes(str(put(tmp_path, name + suffix, content)), "query")
    assert (table.to_dicts(), id_column) == (ROWS, "query_id")
    assert table["length"].dtype.is_integer()


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"qid": [2, 1], "tags": [["a"], ["a", "b"]], "seen": [True, None]})
    frame.write_parquet(tmp_path / "q.parquet")
    table, id_column = read_attributes(str(tmp_path / "q.parquet"), "query")
    assert id_column == "qid" and table.equals(frame)


def test_jsonl_keeps_lists_and_booleans(tmp_path: Path) -> None:
    rows = [{"id": "a", "tags": ["x", "y"], "new": True}, {"id": "b", "tags": [], "new": False}]
    assert read_rows(put(tmp_path, "i.jsonl", "".join(json.dumps(row) + "\n" for row in rows)), "item") == rows


def test_a_key_that_comes_late(tmp_path: Path) -> None:
    """A type that only the last of many rows shows."""
    rows = [{"id": str(n), "x": None} for n in range(500)] + [{"id": "z", "x": "late"}]
    assert read_rows(put(tmp_path, "q.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))[-1]["x"] == "late"
    text = "id,x\n" + "".join(f"{n},1\n" for n in range(500)) + "z,late\n"
    assert read_rows(put(tmp_path, "q.csv", text))[-1] == {"id": "z", "x": "late"}


@pytest.mark.parametrize(
    ("header", "kind", "expected"),
    [
        ("type,query_id", "query", "query_id"),
        ("id,type", "query", "id"),
        ("id,query_id", "query", "query_id"),
        ("Query ID,type", "query", "Query ID"),
        ("user_id,type", "query", "user_id"),
        ("_id,type", "item", "_id"),
        ("query_id,docno", "item", "docno"),
        ("movieId,genre", "item", "movieId"),
    ],
)
def test_the_column_of_ids(tmp_path: Path, header: str, kind: str, expected: str) -> None:
    table, id_column = read_attributes(str(put(tmp_path, "t.csv", f"{header}\n01,02\n")), kind)
    assert id_column == expected and table.columns == header.split(",")
    assert table[expected].to_list() in (["01"], ["02"]), "ids stay as they are written"


def test_a_byte_order_mark_is_none_of_the_name(tmp_path: Path) -> None:
    """Spreadsheets write one."""
    table, id_column = read_attributes(str(put(tmp_path, "q.csv", b"\xef\xbb\xbf" + CSV.encode())), "query")
    assert id_column == "query_id" and table.to_dicts() == ROWS


def test_spaces_about_the_names_are_none_of_them(tmp_path: Path) -> None:
    table, id_column = read_attributes(str(put(tmp_path, "q.csv", "query_id , type\n007,fact\n")), "query")
    assert table[id_column].to_list() == ["007"]


def test_numbers_as_ids_in_jsonl(tmp_path: Path) -> None:
    table, id_column = read_attributes(str(put(tmp_path, "q.jsonl", '{"id": 7, "x": 1}\n')), "query")
    assert table[id_column].cast(pl.String).to_list() == ["7"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("type,lang\nfact,fr\n", "found the columns type, lang; none holds ids; expected query_id or id"),
        ("query_id,type\n", "found a header but no rows"),
        ("query_id\nq1\n", "found no column but query_id; expected at least one attribute"),
        ("query_id,type\nq1,a\n,b\n", "row 2 has no query_id; expected an id in every row"),
        (
            "query_id,type\nq1,a\nq2,b,c,d\n",
            "found 4 columns in the line 'q2,b,c,d'; expected 2 columns: query_id, type",
        ),
        ("query_id,type,type\nq1,a,b\n", "duplicate column 'type'"),
        ('{"query_id": "q1", "x": 1}\n{"query_id": \n', ":2: not JSON"),
        ('[{"query_id": "q1"', ":1: not JSON"),
        ("", "the file is empty"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, content: str, message: str) -> None:
    path = put(tmp_path, "t.csv", content)
    with pytest.raises(DataError, match=message) as caught:
        read_attributes(str(path), "query")
    assert str(caught.value).startswith(f"{caught.value.where}: ") and "t.csv" in str(caught.value.where)


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "q.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode() * 50)[:-20])
    with pytest.raises(DataError, match=r"q\.csv\.gz"):
        read_attributes(str(path), "query")


def test_a_damaged_parquet_file(tmp_path: Path) -> None:
    pl.DataFrame({"id": ["a"], "x": [1]}).write_parquet(tmp_path / "q.parquet")
    data = (tmp_path / "q.parquet").read_bytes()
    (tmp_path / "q.parquet").write_bytes(data[: len(data) // 2] + b"PAR1")
    with pytest.raises(DataError, match=r"q\.parquet"):
        read_attributes(str(tmp_path / "q.parquet"), "query")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(RankjuryError, match=r"nowhere\.csv"):
        read_attributes(str(tmp_path / "nowhere.csv"), "query")


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    with pytest.raises(DataError, match=r"picture\.csv: found bytes that are not text; expected CSV, TSV or JSONL"):
        read_attributes(str(tmp_path / "picture.csv"), "item")


def test_queries_a_line_each(tmp_path: Path) -> None:
    """A .txt that other commands read as queries has their types and texts for slices and tables, too."""
    path = tmp_path / "queries.txt"
    path.write_text("# type: brand\nq1\tLevi's jeans\nq2\thoodie, red\tcategory\n", encoding="utf-8")
    table, id_column = read_attributes(str(path), "query")
    assert id_column == "id" and table.rows() == [("q1", "Levi's jeans", "brand"), ("q2", "hoodie, red", "category")]
    assert read_column(f"{path}:text", "query", "texts") == {"q1": "Levi's jeans", "q2": "hoodie, red"}


def test_a_header_is_never_taken_for_a_query(tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("query\ttext\nq1\tred shoes\nq2\tblue shoes\n")
    assert not is_query_lines(Source.open(str(path)))
    table, id_column = read_attributes(str(path), "query")
    assert (id_column, table[id_column].to_list()) == ("query", ["q1", "q2"])


def test_a_table_called_txt_stays_a_table(tmp_path: Path) -> None:
    path = tmp_path / "types.txt"
    path.write_text("query,type\nq1,brand\n", encoding="utf-8")
    assert read_rows(path) == [{"query": "q1", "type": "brand"}]


def test_records_by_id(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text('{"a": {"title": "Dress", "price": 3},\n "b": {"title": "Boots", "id": "b"}}', encoding="utf-8")
    table, id_column = read_attributes(str(path), "item")
    assert id_column == "id" and table.select("id", "title", "price").rows() == [
        ("a", "Dress", 3),
        ("b", "Boots", None),
    ]


@pytest.mark.parametrize("ids", [[["a"], ["b"]], [[["a"]], [["b"]]], [{"a": "b"}, {"a": "c"}], [b"a", b"\xff"]])
def test_ids_and_names_of_nested_types_are_refused(ids: list[object], tmp_path: Path) -> None:
    pl.DataFrame({"query_id": ids, "type": ["x", "y"]}).write_parquet(tmp_path / "ids.parquet")
    pl.DataFrame({"query_id": ["a", "b"], "type": ids}).write_parquet(tmp_path / "names.parquet")
    with pytest.raises(DataError, match=r"is of type|cannot be read as text"):
        read_attributes(str(tmp_path / "ids.parquet"), "query")
    with pytest.raises(RankjuryError, match=r"is of type|cannot be read as text|Known: a, query_id"):
        read_column(f"{tmp_path / 'names.parquet'}:type", "query", "names")


def test_fields_of_objects_are_columns(tmp_path: Path) -> None:
    """The metadata of a BEIR data set."""
    lines = (
        {"_id": name, "text": name, "metadata": {"lang": lang, "text": "x"}}
        for name, lang in (("a", "de"), ("b", "fr"))
    )
    frame, column = read_attributes(str(put(tmp_path, "queries.jsonl", "\n".join(map(json.dumps, lines)))), "query")
    assert column == "_id"
    assert frame["lang"].to_list() == ["de", "fr"]
    assert frame["text"].to_list() == ["a", "b"]


def test_a_field_that_is_named_with_its_object_is_suggested_alone(tmp_path: Path) -> None:
    """``metadata`` is the name that is most like it, and no column of values."""
    text = '{"_id": "a", "text": "t", "metadata": {"lang": "de", "kind": 1}}\n'
    path = put(tmp_path, "queries.jsonl", text)
    with pytest.raises(UnknownName) as caught:
        read_column(f"{path}:metadata.lang", "query", "texts")
    assert caught.value.suggestions == ["lang"]
    assert read_column(f"{path}:lang", "query", "texts") == {"a": "de"}
    with pytest.raises(UnknownName, match="lang") as caught:
        read_column(f"{path}:metadata", "query", "texts")
    assert "metadata" not in caught.value.suggestions


def test_a_missing_column_is_answered_by_those_of_the_file(tmp_path: Path) -> None:
    path = put(tmp_path, "items.csv", "item_id,title\na,A\n")
    with pytest.raises(RankjuryError, match="title") as caught:
        read_column(str(path), "item", "--names")
    assert str(path) in str(caught.value)
