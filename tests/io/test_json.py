"""JSON as pytrec_eval, ranx and BEIR write it, lists of items, and lists of records."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.io.formats import read, read_run
from tests.io.support import exact, put, read_rows

RUN = {"q1": {"d1": 2.5, "d2": 1}, "q2": {"d1": -0.5}}
RUN_ROWS = exact([("q1", "d1", 2.5), ("q1", "d2", 1.0), ("q2", "d1", -0.5)])


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RUN),
        json.dumps(RUN, indent=2),
        json.dumps(RUN, indent=2).replace("\n", "\r\n"),
        "\ufeff" + json.dumps(RUN),
        "\n\n  " + json.dumps(RUN) + "\n\n",
        json.dumps([{"query_id": q, "item_id": i, "score": s} for q, m in RUN.items() for i, s in m.items()]),
        json.dumps([{"qid": q, "docid": i, "score": s} for q, m in RUN.items() for i, s in m.items()], indent=1),
    ],
)
@pytest.mark.parametrize("name", ["run.json", "run", "run.trec", "run.json.gz", "run.json.zst"])
def test_any_layout_gives_the_same_rows(tmp_path: Path, name: str, text: str) -> None:
    assert read_rows(put(tmp_path, name, text), "run") == RUN_ROWS


def test_gold_with_grades(tmp_path: Path) -> None:
    text = json.dumps({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}})
    assert read_rows(put(tmp_path, "gold.json", text), "gold") == exact(
        [("q1", "d1", 1.0), ("q1", "d2", 0.0), ("q2", "d3", 2.0)]
    )


def test_lists_of_items_are_a_gold_of_ones(tmp_path: Path) -> None:
    path = put(tmp_path, "gold.json", '{"q1": ["d1", 7], "q2": ["d3"]}')
    assert read_rows(path, "gold") == exact([("q1", "d1", 1.0), ("q1", "7", 1.0), ("q2", "d3", 1.0)])


def test_lists_of_items_are_a_run_in_order(tmp_path: Path) -> None:
    frame = read(put(tmp_path, "run.json", '{"q1": ["b", "a", "c"], "q2": ["a"]}'), "run")
    ordered = frame.sort("score", descending=True, maintain_order=True).filter(pl.col("query_id") == "q1")
    assert ordered["item_id"].to_list() == ["b", "a", "c"]
    assert frame["score"].head(3).n_unique() == 3


def test_repeated_keys_are_not_lost(tmp_path: Path) -> None:
    """json.loads would keep the last and hide that the file is off."""
    path = put(tmp_path, "run.json", '{"q": {"a": 1, "a": 2, "b": 3}}')
    assert read_rows(path, "run") == exact([("q", "a", 1.0), ("q", "a", 2.0), ("q", "b", 3.0)])


@pytest.mark.parametrize("kind", ["run", "gold"])
@pytest.mark.parametrize("text", ['{"q1": ["d2", "d1"], "q2": ["d1"], "q1": []}', '{"q1": {"a": 1}, "q1": {"b": 2}}'])
def test_a_query_that_is_there_twice_is_refused(tmp_path: Path, kind: str, text: str) -> None:
    """It was taken for two queries, or its items for those of one list."""
    with pytest.raises(DataError, match="query 'q1' is there 2 times"):
        read(put(tmp_path, "run.json", text), kind)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"q1": {"d1": 1.5,\n "d2": }}', 2),
        ('{"q1": {"d1": 1.5,\n "d2": 2', 2),
        ('{"q1":\n\n{"d1" 1}}', 3),
        ('{"q1": {"d1": 1}} trailing', 1),
        ("{'q1': {'d1': 1}}", 1),
        ('[{"query_id": "q",\n', 2),
    ],
)
def test_broken_json_is_named_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(DataError, match="not JSON") as caught:
        read(put(tmp_path, "run.json", text), "run")
    assert caught.value.where == f"{tmp_path / 'run.json'}:{line}"


@pytest.mark.parametrize(
    ("value", "shown"), [('"x"', '"x"'), ("null", "null"), ("true", "true"), ("[1]", "[1]"), ('"1.5"', '"1.5"')]
)
def test_a_value_that_is_no_number_is_named(tmp_path: Path, value: str, shown: str) -> None:
    with pytest.raises(DataError) as caught:
        read(put(tmp_path, "run.json", f'{{"q1": {{"d0": 1}}, "q2": {{"d1": {value}}}}}'), "run")
    assert caught.value.found == f"the value of item 'd1' is {shown}"
    assert "query 'q2'" in str(caught.value.where)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(DataError, match="item 'd1' for query 'q2'"):
        read_run(put(tmp_path, "run.json", f'{{"q1": {{"d0": 1}}, "q2": {{"d1": {value}}}}}'))


@pytest.mark.parametrize(
    "text", ["{}", '{"q1": {}}', '{"q1": []}', "[]", "[1, 2]", "3", '"x"', '{"q": 3}', '{"q": "d"}']
)
def test_what_is_neither_gold_nor_run_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError):
        read(put(tmp_path, "run.json", text), "run", "json")


def test_a_list_of_objects_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    text = '[1, {"query_id": "q1", "doc_id": "d1", "score": 1.0}]'
    with pytest.raises(DataError, match="found a list"):
        read(put(tmp_path, "run.json", text), "run", "json")


def test_deep_nesting_is_an_error_of_the_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nested too deeply"):
        read(put(tmp_path, "run.json", "[" * 100_000), "run")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"q": {"d": 1' + "0" * 400 + "}}", "float(int) overflows"),
        ('{"\\ud800": {"d": 1}}', "a lone surrogate cannot be encoded"),
        ('{"q": {"\\ud800": 1}}', "a lone surrogate cannot be encoded"),
    ],
)
def test_values_that_python_reads_but_cannot_hold(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(DataError):
        read_run(put(tmp_path, "run.json", text))


@pytest.mark.parametrize(
    "items", [[["d1", 0.5], ["d2", 0.25]], [{"docid": "d1", "score": 0.5}], [None, "d1"], [True], [1.5]]
)
def test_only_strings_and_whole_numbers_are_items_of_a_list(tmp_path: Path, items: list[Any]) -> None:
    with pytest.raises(DataError):
        read_run(put(tmp_path, "run.json", json.dumps({"q": items})))


# --- gold and run mixed up ----------------------------------------------------------------------------------------


def _floats(queries: int, items: int) -> dict[str, dict[str, float]]:
    return {f"q{q}": {f"d{i}": 1 / (2 + q * items + i) for i in range(items)} for q in range(queries)}


@pytest.mark.parametrize(
    ("queries", "items"),
    [(3, 10), (1, 100), (50, 3), (2, 10)],
)
def test_scores_are_no_grades(tmp_path: Path, queries: int, items: int) -> None:
    with pytest.raises(DataError, match="look like scores, not grades") as caught:
        read(put(tmp_path, "run.json", json.dumps(_floats(queries, items))), "gold")
    assert "The gold comes first" in str(caught.value.hint)


def test_records_with_fractional_scores_are_no_gold(tmp_path: Path) -> None:
    records = [{"query_id": "q", "item_id": f"d{i}", "score": i + 0.5} for i in range(50)]
    with pytest.raises(DataError):
        read(put(tmp_path, "run.json", json.dumps(records)), "gold")


def test_few_distinct_half_grades_are_grades(tmp_path: Path) -> None:
    """MovieLens rates in halves: fractions alone must not make a run of it."""
    ratings = {f"u{u}": {f"i{i}": 0.5 + (u + i) % 10 / 2 for i in range(10)} for u in range(10)}
    assert len(read_rows(put(tmp_path, "gold.json", json.dumps(ratings)), "gold")) == 100
