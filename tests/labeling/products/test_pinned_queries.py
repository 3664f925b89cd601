"""Pinned query sets: one hash for one set, however it is written; changed queries under a pinned version are named."""

import gzip
import json
import random
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.errors import DataError
from rankjury.labeling.products.query_sets import (
    QuerySet,
    check_pins,
    pin_queries,
    pins_path,
    read_pinned_queries,
    read_queries,
    read_query_set,
)

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


FULL = [
    ROWS[0] | {"category": "Dresses", "brand": None},
    ROWS[1] | {"category": None, "brand": "Levi's"},
    ROWS[2] | {"category": None, "brand": None},
]


def changed(rows: list[dict[str, Any]] = ROWS, **texts: str) -> list[dict[str, Any]]:
    return [row | ({"text": texts[row["id"]]} if row["id"] in texts else {}) for row in rows]


def test_read(tmp_path: Path) -> None:
    found = read_query_set(put(ROWS, tmp_path / "queries.jsonl"))
    assert found.ids.to_list() == ["q1", "q2", "q10"]
    assert found.texts.to_list() == ["summer dress", "levi's «jeans»", "007"]
    assert found.types.to_list() == ["category", "brand", ""]
    assert found.to_json() == {"version": "2026-11", "sha256": found.sha256, "queries": 3}


def test_the_hash_by_hand(tmp_path: Path) -> None:
    """Ids, texts and types by id, each behind its length; category and brand of queries that have one of them."""
    for rows in (ROWS, FULL):
        expected = sha256()
        for row in sorted(rows, key=lambda row: str(row["id"])):
            more = [row.get("category") or "", row.get("brand") or ""]
            for cell in (row["id"], row["text"], row["type"] or "", *(more if any(more) else ())):
                expected.update(len(cell.encode()).to_bytes(8, "little") + cell.encode())
        assert read_query_set(put(rows, tmp_path / "queries.jsonl")).sha256 == expected.hexdigest()


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv", "q.tsv", "q.parquet", "q.jsonl.gz"])
def test_one_set_however_it_is_written(tmp_path: Path, name: str) -> None:
    rows = [
        {
            **{"version": row["version"], "brand": row["brand"], "query_type": row["type"], "x": 1},
            **{"text": f" {row['text']} ", "category": row["category"], "qid": row["id"]},
        }
        for row in reversed(FULL)
    ]
    one, other = read_query_set(put(FULL, tmp_path / "queries.jsonl")), read_query_set(put(rows, tmp_path / name))
    assert (one.sha256, one.version, one.each) == (other.sha256, other.version, other.each)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.text(), st.text(), st.text(), st.text()), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
    st.integers(0, 5),
)
def test_any_change_changes_the_hash_and_no_order_does(
    cells: list[tuple[str, str, str, str]], shuffling: random.Random, place: int
) -> None:
    rows = [(f"q{number}", *rest) for number, rest in enumerate(cells)]
    mixed = shuffling.sample(rows, len(rows))
    assert made(rows).sha256 == made(mixed).sha256
    at = place % len(rows)
    for column in range(1, 5):
        other = tuple(cell + "x" * (number == column) for number, cell in enumerate(rows[at]))
        altered = [*rows[:at], other, *rows[at + 1 :]]
        assert made(altered).sha256 != made(rows).sha256
        assert [id_ for id_, short in made(altered).each.items() if made(rows).each[id_] != short] == [rows[at][0]]


def made(rows: Sequence[tuple[str, ...]]) -> QuerySet:
    columns = (pl.Series(column, dtype=pl.String) for column in zip(*rows, strict=True))
    return QuerySet(*columns, version="1")


class TestVersions:
    def test_none(self, tmp_path: Path) -> None:
        path = put([{"id": "a", "text": "x"}], tmp_path / "q.csv")
        assert read_query_set(path).version is None and check_pins(read_query_set(path)) == "no version"
        with pytest.raises(DataError, match="the queries have no version; expected a column version"):
            pin_queries(read_query_set(path))

    def test_one(self, tmp_path: Path) -> None:
        assert read_query_set(put(ROWS, tmp_path / "q.jsonl")).version == "2026-11"

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
            r"l:2: duplicate query 'a', which is at .*l:1 already",
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
        assert pin_queries(read_query_set(tmp_path / "queries.jsonl")) == "new"
        return tmp_path / "queries.jsonl"

    def test_the_file(self, path: Path) -> None:
        found = read_query_set(path)
        assert json.loads((path.parent / "queries.pins.json").read_text()) == {
            "rankjury": "pins/1",
            "versions": {"2026-11": {"sha256": found.sha256, "queries": 3, "each": found.each}},
        }
        assert pins_path("data/queries.csv.gz") == Path("data/queries.pins.json")

    def test_the_same_queries_are_pinned(self, path: Path) -> None:
        before = pins_path(str(path)).read_bytes()
        put(list(reversed(ROWS)), path)
        assert check_pins(read_query_set(path)) == pin_queries(read_query_set(path)) == "pinned"
        assert pins_path(str(path)).read_bytes() == before

    def test_another_form_has_the_same_pins(self, path: Path) -> None:
        assert check_pins(read_query_set(put(ROWS, path.with_suffix(".csv")))) == "pinned"

    def test_changed_queries_are_named(self, path: Path) -> None:
        rows = [*changed(ROWS[:2], q2="jeans"), ROWS[0] | {"id": "q3"}, ROWS[0] | {"id": "q4"}]
        put(rows, path)
        before = pins_path(str(path)).read_bytes()
        for act in (check_pins, pin_queries):
            with pytest.raises(DataError) as error:
                act(read_query_set(path))
            assert error.value.exit_code == 3
            assert "differ from those pinned as version 2026-11: changed: q2; added: q3, q4; removed: q10" in str(
                error.value
            )
            assert "give the set a new version" in str(error.value)
        assert pins_path(str(path)).read_bytes() == before

    def test_a_type_that_changed_counts(self, path: Path) -> None:
        put([ROWS[0] | {"type": "brand"}, *ROWS[1:]], path)
        with pytest.raises(DataError, match="changed: q1"):
            check_pins(read_query_set(path))

    @pytest.mark.parametrize(
        ("number", "change"),
        [
            (0, {"category": "Gowns"}),
            (0, {"category": None}),
            (0, {"category": None, "brand": "Dresses"}),
            (1, {"brand": "Lee"}),
            (2, {"brand": "Lee"}),
        ],
    )
    @pytest.mark.parametrize("name", ["full.jsonl", "full.csv"])
    def test_a_category_or_brand_that_changed_counts(
        self, name: str, number: int, change: dict[str, Any], tmp_path: Path
    ) -> None:
        assert pin_queries(read_query_set(put(FULL, tmp_path / name))) == "new"
        rows = [row | (change if place == number else {}) for place, row in enumerate(FULL)]
        with pytest.raises(DataError, match=rf"changed: {FULL[number]['id']};"):
            check_pins(read_query_set(put(rows, tmp_path / name)))

    def test_columns_that_say_nothing_do_not_count(self, path: Path) -> None:
        put([row | {"category": None, "brand": "", "note": "x"} for row in ROWS], path)
        assert check_pins(read_query_set(path)) == "pinned"

    def test_queries_are_read_only_as_they_were_pinned(self, path: Path) -> None:
        assert read_pinned_queries(path).equals(read_queries(path))
        put(changed(q2="jeans"), path)
        with pytest.raises(DataError, match="changed: q2"):
            read_pinned_queries(path)
        pins_path(str(path)).unlink()
        assert read_pinned_queries(path)["text"].to_list() == ["summer dress", "jeans", "007"]

    def test_a_new_version_is_added_to_the_others(self, path: Path) -> None:
        put([row | {"version": "2026-12"} for row in changed(q2="jeans")], path)
        assert check_pins(read_query_set(path)) == "new"
        assert pin_queries(read_query_set(path)) == "new"
        assert list(json.loads(pins_path(str(path)).read_text())["versions"]) == ["2026-11", "2026-12"]
        put(ROWS, path)
        assert check_pins(read_query_set(path)) == "pinned"

    def test_pins_without_single_hashes(self, path: Path) -> None:
        form = json.loads(pins_path(str(path)).read_text())
        del form["versions"]["2026-11"]["each"]
        pins_path(str(path)).write_text(json.dumps(form))
        assert check_pins(read_query_set(path)) == "pinned"
        put(changed(q2="jeans"), path)
        with pytest.raises(DataError, match="the changed queries are unknown"):
            check_pins(read_query_set(path))

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("[", "not JSON"),
            ("[]", "found the schema None"),
            ('{"rankjury": "pins/2", "versions": {}}', "found the schema 'pins/2'"),
            ('{"rankjury": "pins/1"}', "a version without sha256"),
            ('{"rankjury": "pins/1", "versions": {"1": {"sha256": 1, "queries": 2}}}', "a version without sha256"),
        ],
    )
    def test_bad_pins(self, path: Path, content: str, told: str) -> None:
        pins_path(str(path)).write_text(content)
        with pytest.raises(DataError, match=told) as error:
            check_pins(read_query_set(path))
        assert "queries.pins.json" in str(error.value)


def test_nothing_is_pinned_without_pins(tmp_path: Path) -> None:
    assert check_pins(read_query_set(put(ROWS, tmp_path / "queries.jsonl"))) == "new"
    assert not pins_path(str(tmp_path / "queries.jsonl")).exists()


# --- plain text -----------------------------------------------------------------------------------------------------

LINES = """# The queries of the fashion search.
# version: 2026-11

# type: category
summer dress
  ankle   boots

# type: brand
b1\tLevi's jeans
b2\t#1 dad shirt\tjoke
# type:
Öl für 007
"""


def lines(folder: Path, text: str, name: str = "queries.txt") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_query_on_each_line(tmp_path: Path) -> None:
    found = read_query_set(lines(tmp_path, LINES))
    assert found.texts.to_list() == ["summer dress", "ankle   boots", "Levi's jeans", "#1 dad shirt", "Öl für 007"]
    assert found.types.to_list() == ["category", "category", "brand", "joke", ""]
    assert found.ids.to_list()[2:4] == ["b1", "b2"] and found.version == "2026-11"
    assert pin_queries(found) == "new" and check_pins(read_query_set(tmp_path / "queries.txt")) == "pinned"


def test_ids_are_of_the_text_and_not_of_the_line(tmp_path: Path) -> None:
    """Ids were numbers of lines: a line put in before others gave the labels of each query to the next."""
    texts = ["summer dress", "ankle boots", "夏のドレス", "summer  dress!"]
    before = read_queries(lines(tmp_path, "\n".join(texts)))
    after = read_queries(lines(tmp_path, "\n".join(["# more", "hoodie", *reversed(texts), ""])))
    ids = dict(zip(before["text"], before["id"], strict=True))
    assert ids.items() <= dict(zip(after["text"], after["id"], strict=True)).items()
    assert len(set(ids.values())) == 4 and all(" " not in name for name in ids.values())
    assert ids["summer dress"].startswith("summer-dress-")
    spaced = read_queries(lines(tmp_path, "  summer   dress \n"))
    assert spaced["id"].to_list() == [ids["summer dress"]], "blanks are of no account"


def test_a_table_with_a_header_may_be_called_txt(tmp_path: Path) -> None:
    found = read_queries(lines(tmp_path, "query_id\ttext\nq1\tsummer dress\n"))
    assert found.select("id", "text").rows() == [("q1", "summer dress")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\tb\tc\td\n", "queries.txt:1: found 4 columns"),
        ("red\nq1\t\tbrand\n", "queries.txt:2: found an empty id or text"),
        ("# version: 1\nred\n# version: 2\nblue\n", "queries.txt:3: found version 2, after version 1"),
        ("red dress\nblue\nred  dress\n", "queries.txt:3: duplicate query 'red-dress-.*queries.txt:1"),
        ("q1\tred\nq1\tblue\n", "queries.txt:2: duplicate query 'q1'"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_query_set(lines(tmp_path, text))
