"""Pinned query sets: one hash for one set, however it is written; changed queries under a pinned version are named."""

import gzip
import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.errors import DataError
from karat.text.queryset import QuerySet, check_pins, pin, pins_beside, read_query_set

ROWS = [
    {"id": "q1", "text": "summer dress", "type": "category", "version": "2026-11"},
    {"id": "q2", "text": "levi's «jeans»", "type": "brand", "version": "2026-11"},
    {"id": "q10", "text": "007", "type": None, "version": "2026-11"},
]


def put(rows: list[dict[str, Any]], path: Path) -> str:
    frame = pl.DataFrame(rows)
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def changed(rows: list[dict[str, Any]] = ROWS, **texts: str) -> list[dict[str, Any]]:
    return [row | ({"text": texts[row["id"]]} if row["id"] in texts else {}) for row in rows]


def test_read(tmp_path: Path) -> None:
    found = read_query_set(put(ROWS, tmp_path / "queries.jsonl"))
    assert found.ids.to_list() == ["q1", "q2", "q10"]
    assert found.texts.to_list() == ["summer dress", "levi's «jeans»", "007"]
    assert found.types.to_list() == ["category", "brand", ""]
    assert found.as_json() == {"version": "2026-11", "sha256": found.sha256, "queries": 3}


def test_the_hash_by_hand(tmp_path: Path) -> None:
    """Ids, texts and types by id, each behind its length."""
    expected = sha256()
    for row in sorted(ROWS, key=lambda row: str(row["id"])):
        for cell in (row["id"], row["text"], row["type"] or ""):
            expected.update(len(cell.encode()).to_bytes(8, "little") + cell.encode())
    assert read_query_set(put(ROWS, tmp_path / "queries.jsonl")).sha256 == expected.hexdigest()


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv", "q.tsv", "q.parquet", "q.jsonl.gz"])
def test_one_set_however_it_is_written(tmp_path: Path, name: str) -> None:
    rows = [
        {"version": row["version"], "query_type": row["type"], "x": 1, "text": f" {row['text']} ", "qid": row["id"]}
        for row in reversed(ROWS)
    ]
    one, other = read_query_set(put(ROWS, tmp_path / "queries.jsonl")), read_query_set(put(rows, tmp_path / name))
    assert (one.sha256, one.version, one.each) == (other.sha256, other.version, other.each)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
    st.integers(0, 5),
)
def test_any_change_changes_the_hash_and_no_order_does(
    cells: list[tuple[str, str]], shuffling: random.Random, place: int
) -> None:
    rows = [(f"q{number}", text, kind) for number, (text, kind) in enumerate(cells)]
    mixed = shuffling.sample(rows, len(rows))
    assert made(rows).sha256 == made(mixed).sha256
    at = place % len(rows)
    for other in ((rows[at][0], rows[at][1] + "x", rows[at][2]), (rows[at][0], rows[at][1], rows[at][2] + "x")):
        altered = [*rows[:at], other, *rows[at + 1 :]]
        assert made(altered).sha256 != made(rows).sha256
        assert [id_ for id_, short in made(altered).each.items() if made(rows).each[id_] != short] == [rows[at][0]]


def made(rows: list[tuple[str, str, str]]) -> QuerySet:
    columns = (pl.Series(column, dtype=pl.String) for column in zip(*rows, strict=True))
    return QuerySet(*columns, version="1")


class TestVersions:
    def test_none(self, tmp_path: Path) -> None:
        path = put([{"id": "a", "text": "x"}], tmp_path / "q.csv")
        assert read_query_set(path).version is None and check_pins(read_query_set(path)) == "no version"
        with pytest.raises(DataError, match="the queries have no version; expected a column version"):
            pin(read_query_set(path))
        assert read_query_set(path, version="3").version == "3"

    def test_given_and_found(self, tmp_path: Path) -> None:
        path = put(ROWS, tmp_path / "q.jsonl")
        assert read_query_set(path, version="2026-11").version == "2026-11"
        with pytest.raises(DataError, match="the queries say version 2026-11; expected version 3"):
            read_query_set(path, version="3")

    def test_several(self, tmp_path: Path) -> None:
        path = put([*ROWS, ROWS[0] | {"id": "new", "version": "2026-12"}], tmp_path / "q.jsonl")
        with pytest.raises(DataError, match=r"found the versions 2026-11, 2026-12; expected one version"):
            read_query_set(path)

    def test_numbers(self, tmp_path: Path) -> None:
        paths = [put([{"id": 1, "text": 2, "version": 3}], tmp_path / name) for name in ("q.jsonl", "q.csv")]
        one, other = map(read_query_set, paths)
        assert (one.version, one.sha256) == ("3", other.sha256)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}],
            r"l:2: the query 'a' stands at .*l:1 already",
        ),
        ([{"id": "a", "text": "x"}, {"id": "b", "text": " "}], r"q.jsonl:2: the query 'b' has no text"),
        ([{"id": "a", "color": "red"}], "none holds texts; expected id and text"),
        ([{"text": "x", "type": "y"}], "none holds ids"),
        ([{"id": None, "text": "x"}, {"id": "b", "text": "y"}], "q.jsonl:1: no id; expected an id on every line"),
    ],
)
def test_bad_queries(tmp_path: Path, rows: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_query_set(put(rows, tmp_path / "q.jsonl"))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_query_set(tmp_path / "q.csv")
    (tmp_path / "q.txt").write_text("summer dress\n")
    assert read_query_set(tmp_path / "q.txt").texts.to_list() == ["summer dress"]
    (tmp_path / "q.csv").write_text("id,text\n")
    with pytest.raises(DataError, match="found no records"):
        read_query_set(tmp_path / "q.csv")
    (tmp_path / "q.jsonl").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        read_query_set(tmp_path / "q.jsonl")


class TestPins:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        put(ROWS, tmp_path / "queries.jsonl")
        assert pin(read_query_set(tmp_path / "queries.jsonl")) == "new"
        return tmp_path / "queries.jsonl"

    def test_the_file(self, path: Path) -> None:
        found = read_query_set(path)
        assert json.loads((path.parent / "queries.pins.json").read_text()) == {
            "karat": "pins/1",
            "versions": {"2026-11": {"sha256": found.sha256, "queries": 3, "each": found.each}},
        }
        assert pins_beside("data/queries.csv.gz") == Path("data/queries.pins.json")

    def test_the_same_queries_are_pinned(self, path: Path) -> None:
        before = pins_beside(str(path)).read_bytes()
        put(list(reversed(ROWS)), path)
        assert check_pins(read_query_set(path)) == pin(read_query_set(path)) == "pinned"
        assert pins_beside(str(path)).read_bytes() == before

    def test_another_form_has_the_same_pins(self, path: Path) -> None:
        assert check_pins(read_query_set(put(ROWS, path.with_suffix(".csv")))) == "pinned"

    def test_changed_queries_are_named(self, path: Path) -> None:
        rows = [*changed(ROWS[:2], q2="jeans"), ROWS[0] | {"id": "q3"}, ROWS[0] | {"id": "q4"}]
        put(rows, path)
        before = pins_beside(str(path)).read_bytes()
        for act in (check_pins, pin):
            with pytest.raises(DataError) as error:
                act(read_query_set(path))
            assert error.value.exit_code == 3
            assert "not those that were pinned as version 2026-11: changed: q2; added: q3, q4; removed: q10" in str(
                error.value
            )
            assert "give the set a new version" in str(error.value)
        assert pins_beside(str(path)).read_bytes() == before

    def test_a_type_that_changed_counts(self, path: Path) -> None:
        put([ROWS[0] | {"type": "brand"}, *ROWS[1:]], path)
        with pytest.raises(DataError, match="changed: q1"):
            check_pins(read_query_set(path))

    def test_a_new_version_is_added_to_the_others(self, path: Path) -> None:
        put([row | {"version": "2026-12"} for row in changed(q2="jeans")], path)
        assert check_pins(read_query_set(path)) == "new"
        assert pin(read_query_set(path)) == "new"
        assert list(json.loads(pins_beside(str(path)).read_text())["versions"]) == ["2026-11", "2026-12"]
        put(ROWS, path)
        assert check_pins(read_query_set(path)) == "pinned"

    def test_pins_without_single_hashes(self, path: Path) -> None:
        form = json.loads(pins_beside(str(path)).read_text())
        del form["versions"]["2026-11"]["each"]
        pins_beside(str(path)).write_text(json.dumps(form))
        assert check_pins(read_query_set(path)) == "pinned"
        put(changed(q2="jeans"), path)
        with pytest.raises(DataError, match="which of them is not known"):
            check_pins(read_query_set(path))

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("[", "not JSON"),
            ("[]", "found the schema None"),
            ('{"karat": "pins/2", "versions": {}}', "found the schema 'pins/2'"),
            ('{"karat": "pins/1"}', "a version without sha256"),
            ('{"karat": "pins/1", "versions": {"1": {"sha256": 1, "queries": 2}}}', "a version without sha256"),
        ],
    )
    def test_bad_pins(self, path: Path, content: str, told: str) -> None:
        pins_beside(str(path)).write_text(content)
        with pytest.raises(DataError, match=told) as error:
            check_pins(read_query_set(path))
        assert "queries.pins.json" in str(error.value)


def test_nothing_is_pinned_without_pins(tmp_path: Path) -> None:
    assert check_pins(read_query_set(put(ROWS, tmp_path / "queries.jsonl"))) == "new"
    assert not pins_beside(str(tmp_path / "queries.jsonl")).exists()
