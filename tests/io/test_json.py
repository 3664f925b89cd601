"""JSON and JSONL: objects, lists and records of golds and runs; text that Python or Polars cannot hold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.convert import as_ranking, ranking_from_frame
from rankjury.errors import DataError
from rankjury.evaluation.report import read_report
from rankjury.io.attributes import read_attributes
from rankjury.io.formats import read, read_run
from rankjury.io.json import _depth, check_depth, count_octets, parse_json, unique_members
from rankjury.io.ordered_lists import read_ordered
from rankjury.io.source import Source
from rankjury.io.tables import read_records
from rankjury.labeling.products.query_sets import read_queries
from rankjury.retrieval.embedding.corpus import read_corpus
from tests.io.support import exact, put, read_rows, rows_of

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
    with pytest.raises(DataError, match="duplicate query 'q1'"):
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


@pytest.mark.parametrize("items", [[["d1", 0.5], ["d2", 0.25]], [{"docid": "d1"}, "d2"], [None, "d1"], [True], [1.5]])
def test_only_strings_and_whole_numbers_are_items_of_a_list(tmp_path: Path, items: list[Any]) -> None:
    with pytest.raises(DataError):
        read_run(put(tmp_path, "run.json", json.dumps({"q": items})))


# --- hits of a search ---------------------------------------------------------------------------------------------

_HITS = {q: [{"_id": d, "_score": score, "_source": {"t": d}} for d, score in run.items()] for q, run in RUN.items()}
_ELASTIC = {q: {"took": 1, "_shards": {"total": 1}, "hits": {"hits": hits}} for q, hits in _HITS.items()}


@pytest.mark.parametrize(
    "answers",
    [
        _HITS,
        _ELASTIC,
        {q: {"results": hits} for q, hits in _HITS.items()},
        [{"query": q, "hits": hits} for q, hits in _HITS.items()],
        [{"id": q, "response": answer} for q, answer in _ELASTIC.items()],
    ],
)
def test_hits_by_query(tmp_path: Path, answers: Any) -> None:
    """Files and Python take the same answers of a search."""
    assert rows_of(as_ranking(answers).frame().select("query_id", "item_id", "score")) == RUN_ROWS
    assert read_rows(put(tmp_path, "run.json", json.dumps(answers)), "run") == RUN_ROWS
    if isinstance(answers, list):
        lines = "\n".join(map(json.dumps, answers))
        assert read_rows(put(tmp_path, "run.jsonl", lines), "run") == RUN_ROWS
        assert read_rows(put(tmp_path, "lines.json", lines), "run") == RUN_ROWS


def test_hits_without_scores_are_ranked_by_their_order(tmp_path: Path) -> None:
    run = read_run(put(tmp_path, "run.json", json.dumps({"q": [{"id": "b"}, {"id": "a"}], "empty": []})))
    assert run.queries.to_list() == ["q", "empty"]
    assert run.items.to_list() == ["b", "a"]
    assert run.scores is not None
    assert run.scores[0] > run.scores[1]


@pytest.mark.parametrize("answer", [_ELASTIC["q1"], {"took": 2, "responses": list(_ELASTIC.values())}])
def test_a_response_that_names_no_query(tmp_path: Path, answer: Any) -> None:
    with pytest.raises(DataError, match=r"run\.json: .*query"):
        read_run(put(tmp_path, "run.json", json.dumps(answer)))


_NESTED = [{"q": q, "took": 3, "data": {"facets": [{"n": 1}], "items": hits}} for q, hits in _HITS.items()]


@pytest.mark.parametrize(
    ("answers", "path"),
    [
        (_NESTED, "data.items"),
        ([{"id": "q0", "data": {"items": []}}, *({**answer, "id": 1} for answer in _NESTED)], "data.items"),
        ([{"q": q, "found": hits} for q, hits in _HITS.items()], "found"),
    ],
)
def test_the_path_of_nested_results_is_named(tmp_path: Path, answers: list[dict[str, Any]], path: str) -> None:
    lines = "\n".join(map(json.dumps, answers))
    for name, text in (("run.json", json.dumps(answers)), ("run.jsonl", lines), ("lines.json", lines)):
        with pytest.raises(DataError, match=f"{path!r}") as caught:
            read_run(put(tmp_path, name, text))
        assert caught.value.where == str(tmp_path / name)
    with pytest.raises(DataError, match=f"{path!r}"):
        as_ranking(answers)


@pytest.mark.parametrize("names", [("query_id", "item_id"), ("query", "id")])
def test_a_flat_record_may_hold_nested_objects(tmp_path: Path, names: tuple[str, str]) -> None:
    """Only an object that names no item is taken for the response of a search."""
    records = [
        {**dict(zip(names, (q, d), strict=True)), "score": score, "meta": {"tags": [{"id": 1}]}}
        for q, run in RUN.items()
        for d, score in run.items()
    ]
    assert read_rows(put(tmp_path, "run.json", json.dumps(records)), "run") == RUN_ROWS
    assert rows_of(as_ranking(records).frame().select("query_id", "item_id", "score")) == RUN_ROWS


def test_queries_and_items_may_be_called_like_the_keys_of_a_response(tmp_path: Path) -> None:
    run = {"hits": {"results": 1.0, "hits": 2.0}, "responses": {"documents": 0.5}}
    assert len(read_run(put(tmp_path, "run.json", json.dumps(run))).items) == 3
    assert len(as_ranking(run).items) == 3


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
def test_jsonl_any_layout_gives_the_same_rows(tmp_path: Path, name: str, text: str) -> None:
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
    used = [[name for name, _ in pairs if name != "note"] for pairs in odd]  # other keys decide nothing
    try:
        read(path, "run")
    except DataError:
        return
    assert not any(len(set(names)) < len(names) for names in used)


def test_a_deep_object_behind_others_ends(tmp_path: Path) -> None:
    for levels in (70, 600, 5000):
        late = TWO * 60 + TWO.replace("2.5", "[" * levels + "]" * levels)
        with pytest.raises(DataError, match="nested too deeply"):
            read(put(tmp_path, "late.jsonl", late), "run")


DEEP = "[" * 3000 + "]" * 3000
VALUES = {
    "deep": DEEP,
    "very deep": "[" * 200_000 + "]" * 200_000,
    "deep objects": '{"a":' * 3000 + "1" + "}" * 3000,
    "surrogate": '"\\ud800"',
    "400 digits": "9" * 400,
    "5000 digits": "9" * 5000,
}
READERS: dict[str, Callable[[Path], object]] = {
    "run": lambda path: read(path, "run"),
    "gold": lambda path: read(path, "gold"),
    "ordered": read_ordered,
    "report": lambda path: read_report(str(path)),
    "attributes": lambda path: read_attributes(str(path), "query"),
    "corpus": lambda path: read_corpus(str(path), ["score"]),
    "queries": read_queries,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", ["json", "jsonl", "list"])
def test_values_that_cannot_be_held(tmp_path: Path, reader: str, value: str, form: str) -> None:
    """Only our own error comes out; where the value is of no interest, none does."""
    record = f'{{"query_id": "q", "item_id": "d", "text": {VALUES[value]}, "score": {VALUES[value]}}}'
    path = tmp_path / f"a.{'jsonl' if form == 'jsonl' else 'json'}"
    path.write_text(f"[{record}]" if form == "list" else f"{record}\n")
    try:
        READERS[reader](path)
    except DataError as error:
        assert len(str(error)) < 1000


def test_the_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"query_id": "q", "item_id": "d", "score": 1}\n{"query_id": "q", "item_id": "\\ud800", "score": 1}\n'
    )
    with pytest.raises(DataError, match=r"run\.jsonl:2: .*surrogate"):
        read(path, "run")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_key_that_occurs_twice_in_a_record(tmp_path: Path, name: str) -> None:
    record = '{"query_id": "q", "item_id": "d", "score": 1, "score": 2}'
    path = tmp_path / name
    path.write_text(f"{record}\n" if name.endswith("l") else f"[{record}]")
    with pytest.raises(DataError, match="duplicate keys: score"):
        read(path, "run")
    with pytest.raises(DataError, match="duplicate keys: score"):
        read_records(Source.open(path))


def test_values_that_are_called_as_a_key_are_no_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query_id": "score", "item_id": "item_id", "score": 1}\n')
    assert read(path, "run").row(0) == ("score", "item_id", 1)


def test_mixed_types_in_records(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '[{"query_id": "q", "item_id": [1], "score": 1}, {"query_id": {"a": 1}, "item_id": "d", "score": 1}]'
    )
    with pytest.raises(DataError):
        read(path, "run")


def test_depth() -> None:
    check_depth(b'{"a": "' + b"[" * 999 + b'"}', "a")
    check_depth(b'{"a": [[1], [2]]}\n' * 99, "a")
    with pytest.raises(DataError, match="nested"):
        check_depth(DEEP.encode(), "a")


def test_whole_characters_of_two_halves_are_kept() -> None:
    assert parse_json('"\\ud83d\\ude00"', "a") == "\U0001f600"
    assert parse_json('{"a": 1}', "a", members=unique_members("a")) == {"a": 1}


def test_brackets_in_strings_hide_no_depth() -> None:
    hidden = b'{"a": "}", "b": ' * 99 + b"1" + b', "c": "{"}' * 99
    with pytest.raises(DataError, match="nested"):
        check_depth(hidden, "a")
    check_depth(b'{"a": "\\"[[[", "b\\\\": "]\\\\\\"{"}\n' * 999, "a")


def test_depth_is_checked_where_types_are_inferred() -> None:
    deep = b'{"a":' * 99 + b"1" + b"}" * 99
    check_depth(b"\n \r\n" * 9 + b"{}\n" * 100 + deep, "a", rows=100)
    with pytest.raises(DataError, match="nested"):
        check_depth(b"\n \r\n" * 999 + b"{}\r\n" * 99 + b"\n" + deep, "a", rows=100)


_TREES = st.recursive(
    st.none() | st.integers() | st.text('[]{}":,\\\né', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[{}":\\', max_size=3), inner, max_size=3),
    max_leaves=30,
)


def _levels(tree: Any) -> int:
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else None
    return 0 if inner is None else 1 + max(map(_levels, inner), default=0)


@settings(max_examples=100, deadline=None)
@given(st.lists(_TREES, min_size=1, max_size=4))
def test_depth_is_that_of_the_parsed_tree(trees: list[Any]) -> None:
    assert _depth("\n".join(map(json.dumps, trees)).encode()) == max(map(_levels, trees))


def test_bytes_are_counted() -> None:
    content = b"a:b" * 400_000
    assert count_octets(content, b":ax") == [400_000, 400_000, 0]
