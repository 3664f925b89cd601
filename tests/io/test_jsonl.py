"""JSONL: one object a line; ids and numbers in whatever type they come."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.convert import ranking_from_frame
from rankjury.errors import DataError
from rankjury.io.formats import read
from tests.io.support import exact, put, read_rows


def _lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _run(query: Any, item: Any, score: Any) -> dict[str, Any]:
    return {"query_id": query, "item_id": item, "score": score}


TWO = _lines(_run("q1", "d1", 2.5), _run("q1", "d2", 1))
TWO_ROWS = exact([("q1", "d1", 2.5), ("q1", "d2", 1.0)])


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        TWO.rstrip("\n"),
        TWO.replace("\n", "\r\n"),
        "\ufeff" + TWO,
        "\n" + TWO.replace("\n", "\n\n"),
        _lines(
            {"qid": "q1", "docid": "d1", "sim": 2.5, "text": "x"}, {"qid": "q1", "docid": "d2", "sim": 1, "text": ""}
        ),
        _lines({"score": "2.5", "item_id": "d1", "query_id": "q1"}, {"score": "1", "query_id": "q1", "item_id": "d2"}),
    ],
)
@pytest.mark.parametrize("name", ["run.jsonl", "run.ndjson", "run.json", "run", "run.jsonl.gz", "run.jsonl.zst"])
def test_any_layout_gives_the_same_rows(tmp_path: Path, name: str, text: str) -> None:
    assert read_rows(put(tmp_path, name, text), "run") == TWO_ROWS


def test_gold(tmp_path: Path) -> None:
    text = _lines({"user_id": 1, "item_id": 7, "rating": 4.5}, {"user_id": 1, "item_id": 8, "rating": 3})
    assert read_rows(put(tmp_path, "gold.jsonl", text), "gold") == exact([("1", "7", 4.5), ("1", "8", 3.0)])


@pytest.mark.parametrize("late", [_run("q", "x", 0.5), _run("q", 3, "0.5"), _run(4, "x", 0.5)])
def test_types_may_change_late_in_the_file(tmp_path: Path, late: dict[str, Any]) -> None:
    """A reader that infers types from the first lines would lose or refuse these."""
    text = _lines(*(_run("q", number, 1) for number in range(2000)), late)
    found = read_rows(put(tmp_path, "run.jsonl", text), "run")
    assert len(found) == 2001
    assert found[-1] == (str(late["query_id"]), str(late["item_id"]), (0.5).hex())
    assert found[1234] == ("q", "1234", (1.0).hex())


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 10**22])
def test_huge_whole_ids_keep_all_digits(tmp_path: Path, number: int) -> None:
    frame = read(put(tmp_path, "run.jsonl", _lines(_run(number, number, 1))), "run")
    ranking = ranking_from_frame(frame)
    assert ranking.queries.to_list() == [str(number)]
    assert ranking.items.cast(pl.String).to_list() == [str(number)]


@pytest.mark.parametrize("item", ("d\u20281", "d\u20291", "d\x851"))
def test_line_ends_of_unicode_end_no_line(tmp_path: Path, item: str) -> None:
    text = _lines(_run("q1", item, 1), _run("q1", "d2", 2))
    assert read_rows(put(tmp_path, "run.jsonl", text), "run") == exact([("q1", item, 1.0), ("q1", "d2", 2.0)])


BAD = [
    (TWO + '{"query_id": "q1", "item_id":\n', 3, "not JSON"),
    (TWO + "nonsense\n", 3, "not JSON"),
    (TWO + "[1, 2]\n", 3, "found '[1, 2]'"),
    (TWO * 1500 + '{"query_id": \n', 3001, "not JSON"),
    (TWO + _lines(_run("q1", "d3", "high")), 3, "the score of query 'q1' is 'high'"),
    (TWO + _lines(_run("q1", "d3", float("nan"))), 3, "nan"),
    (TWO + _lines(_run("q1", "d3", float("inf"))), 3, "inf"),
    (TWO + _lines(_run("q1", "d3", None)), 3, "no score"),
    (TWO + _lines(_run(None, "d3", 1)), 3, "no query_id"),
    (TWO + _lines({"query_id": "q1", "score": 1}), 3, "no item_id"),
    ("\n" + TWO + "\n" + _lines(_run("q1", "d3", "high")), 5, "'high'"),
]


@pytest.mark.parametrize(("text", "line", "found"), BAD)
def test_a_bad_line_is_named(tmp_path: Path, text: str, line: int, found: str) -> None:
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, "run.jsonl", text), "run")
    assert caught.value.where == f"{tmp_path / 'run.jsonl'}:{line}"
    assert found in caught.value.found


def test_fractional_scores_are_no_grades(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the column score holds fractions"):
        read(put(tmp_path, "run.jsonl", TWO), "gold")


def test_an_id_that_holds_the_word_score_does_not_make_a_run(tmp_path: Path) -> None:
    text = _lines({"user_id": "u", "item_id": "scoreboard", "rating": 0.5})
    assert read_rows(put(tmp_path, "gold.jsonl", text), "gold") == exact([("u", "scoreboard", 0.5)])


def test_grades_are_no_run(tmp_path: Path) -> None:
    text = _lines({"query_id": "q", "item_id": "d", "grade": 1})
    with pytest.raises(DataError, match="no column for score or rank") as caught:
        read(put(tmp_path, "gold.jsonl", text), "run")
    assert "Is this the gold?" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (1.5, "floating-point"),
        (["d"], "item_id"),
    ],
)
def test_ids_of_a_wrong_type_are_refused(tmp_path: Path, item: Any, found: str) -> None:
    with pytest.raises(DataError, match=found):
        ranking_from_frame(read(put(tmp_path, "run.jsonl", _lines(_run("q", item, 1))), "run"))


_NAMES = ("query_id", "item_id", "score", "note")
_VALUES = st.sampled_from(['"a"', '"b:c"', '"\\"query_id\\":"', '"{"', "null", "1"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from(_NAMES), _VALUES), max_size=5), max_size=4))
def test_no_key_occurs_twice_unnoticed(tmp_path_factory: pytest.TempPathFactory, odd: list[Any]) -> None:
    regular = [[("query_id", '"q"'), ("item_id", f'"{n}"'), ("score", "1")] for n in range(3)]
    lines = ["{" + ", ".join(f'"{name}" : {value}' for name, value in pairs) + "}" for pairs in [*regular, *odd]]
    path = tmp_path_factory.getbasetemp() / "twice.jsonl"
    path.write_text("\n".join(lines))
    repeated = any(len({name for name, _ in pairs}) < len(pairs) for pairs in odd)
    try:
        read(path, "run")
    except DataError:
        return
    assert not repeated


def test_a_deep_object_behind_others_ends(tmp_path: Path) -> None:
    for levels in (70, 600, 5000):
        late = TWO * 60 + TWO.replace("2.5", "[" * levels + "]" * levels)
        with pytest.raises(DataError, match="nested too deeply"):
            read(put(tmp_path, "late.jsonl", late), "run")
