"""Tables of texts: every form gives the same corpus, and what is missing, empty or twice is named."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.retrieval.embedding.corpus import Corpus, read_corpus

ROWS: list[dict[str, Any]] = [
    {"id": "007", "title": "One", "abstract": "First, of all.", "year": 2001},
    {"id": "008", "title": "Two", "abstract": None, "year": 2002},
    {"id": "a b", "title": " Three\u00a0 ", "abstract": "Étude\nin two lines", "year": 2003},
]
JOINED = ["One\nFirst, of all.", "Two", "Three\nÉtude\nin two lines"]


def put(folder: Path, name: str, rows: list[dict[str, Any]]) -> str:
    path = folder / name
    frame = pl.DataFrame(rows)
    if name.endswith((".csv", ".csv.gz")):
        content = frame.write_csv().encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    elif name.endswith(".tsv"):
        frame.write_csv(path, separator="\t")
    elif name.endswith((".parquet", ".pq")):
        frame.write_parquet(path)
    elif name.endswith(".json"):
        path.write_text(json.dumps(rows, indent=1))
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


@pytest.mark.parametrize("name", ["c.csv", "c.csv.gz", "c.tsv", "c.parquet", "c.pq", "c.json", "c.jsonl", "c.NDJSON"])
def test_all_forms_give_the_same(tmp_path: Path, name: str) -> None:
    found = read_corpus(put(tmp_path, name, ROWS), ["title", "abstract"])
    assert found.ids.to_list() == ["007", "008", "a b"]
    assert found.texts.to_list() == JOINED
    assert found.columns == ("title", "abstract") and len(found) == 3


def test_columns_come_in_the_order_asked_for_with_the_joint(tmp_path: Path) -> None:
    path = put(tmp_path, "c.csv", ROWS)
    assert read_corpus(path, ["abstract", "title"], joint=" | ").texts[0] == "First, of all. | One"
    assert read_corpus(path, ["year", "title"]).texts.to_list()[1] == "2002\nTwo"


def test_lists_are_told_with_commas(tmp_path: Path) -> None:
    rows = [{"id": "a", "tags": ["x", "y"]}, {"id": "b", "tags": ["z"]}]
    assert read_corpus(put(tmp_path, "c.jsonl", rows), ["tags"]).texts.to_list() == ["x, y", "z"]


def test_whole_numbers_are_ids(tmp_path: Path) -> None:
    rows = [{"paper_id": 7, "t": "x"}, {"paper_id": 8, "t": "y"}]
    assert read_corpus(put(tmp_path, "c.jsonl", rows), ["t"]).ids.to_list() == ["7", "8"]


def test_the_column_of_ids_may_be_named(tmp_path: Path) -> None:
    path = put(tmp_path, "c.csv", [{"acl": "p1", "t": "x"}, {"acl": "p2", "t": "y"}])
    assert read_corpus(path, ["t"], id_column="acl").ids.to_list() == ["p1", "p2"]
    with pytest.raises(DataError, match="none holds ids"):
        read_corpus(path, ["t"])


def test_the_hash_is_of_ids_and_texts_in_their_order(tmp_path: Path) -> None:
    def hashed(
        rows: list[dict[str, Any]], columns: tuple[str, ...] = ("title", "abstract"), name: str = "c.csv"
    ) -> str:
        return read_corpus(put(tmp_path, name, rows), columns, empty="skip").sha256

    other_year = [{**row, "year": 1} for row in ROWS]
    assert hashed(ROWS) == hashed(other_year, name="d.jsonl")
    others = [
        hashed(ROWS[::-1]),
        hashed(ROWS[:2]),
        hashed(ROWS, ("title",)),
        hashed([{**ROWS[0], "id": "9"}, *ROWS[1:]]),
    ]
    assert len({hashed(ROWS), *others}) == 5


def test_empty_texts_are_named_or_left_out(tmp_path: Path) -> None:
    path = put(tmp_path, "c.jsonl", [*ROWS, {"id": "blank", "title": "x", "abstract": "  ", "year": 1}])
    with pytest.raises(DataError, match=r"no text in abstract for 008, blank.*--empty skip"):
        read_corpus(path, ["abstract"])
    found = read_corpus(path, ["abstract"], empty="skip")
    assert found.ids.to_list() == ["007", "a b"] and found.skipped == ["008", "blank"]
    assert read_corpus(path, ["title", "abstract"]).skipped == []
    with pytest.raises(DataError, match="no text in abstract"):
        read_corpus(put(tmp_path, "d.csv", [{"id": "a", "abstract": ""}, {"id": "b", "abstract": " "}]), ["abstract"],
                    empty="skip")  # fmt: skip


def read(tmp_path: Path, rows: list[dict[str, Any]], name: str = "c.jsonl", **options: Any) -> Corpus:
    return read_corpus(put(tmp_path, name, rows), options.pop("columns", ["t"]), **options)


@pytest.mark.parametrize(
    ("rows", "options", "found"),
    [
        ([{"id": "a", "t": "x"}, {"id": "b", "t": "y"}, {"id": "a", "t": "z"}], {}, "duplicate ids: a;"),
        ([{"id": "a", "t": "x"}, {"id": None, "t": "y"}], {}, "row 2 has no id"),
        ([{"id": 1.5, "t": "x"}], {}, "the ids are of type Float64"),
        ([{"id": "a", "t": {"x": 1}}], {}, "the column t is of type Struct"),
        ([{"id": "a", "text": "x"}], {"columns": ["texts"]}, "unknown column 'texts'. Did you mean text"),
        ([{"id": "a", "t": "x"}], {"id_column": "key"}, "unknown column 'key'"),
        ([{"id": "a", "t": "x"}], {"columns": []}, "no text column"),
        ([{"id": "a", "t": "x"}], {"empty": "drop"}, "unknown policy"),
    ],
)
def test_what_is_off_is_named(tmp_path: Path, rows: list[dict[str, Any]], options: dict[str, Any], found: str) -> None:
    with pytest.raises(RankjuryError) as caught:
        read(tmp_path, rows, **options)
    assert found in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("c.txt", "text", UsageError),
        ("c.json", '{"a": ', DataError),
        ("c.jsonl", "[1", DataError),
        ("c.parquet", "PAR1", DataError),
        ("c.csv", "id,t\n", DataError),
        ("c.csv", "", DataError),
    ],
)
def test_what_is_no_table(tmp_path: Path, name: str, content: str, error: type[RankjuryError]) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(error, match=r"c\.\w+"):
        read_corpus(str(tmp_path / name), ["t"])


def test_an_unknown_column_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        read(tmp_path, [{"id": "a", "t": "x"}], columns=["nothing"])
