"""Dicts, frames, tables and arrays give the same Scores as files, to the last bit."""

import json
import pkgutil
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankjury
from rankjury.core import types
from rankjury.core.types import stable_order
from rankjury.errors import DataError, UsageError

MEASURES = ["ndcg@10", "ndcg(gain=exp)@5", "ap", "rr", "recall@20", "rbp", "err@10", "bpref", "nDCG@10", "judged@10"]
Nested = dict[str, dict[str, float]]


def _example(seed: int = 0, queries: int = 40) -> tuple[Nested, Nested]:
    """Whole-number ids in text form, ties, a missing and an extra query."""
    chance = random.Random(seed)
    gold = {str(q): {str(i): float(chance.randrange(4)) for i in chance.sample(range(60), 12)} for q in range(queries)}
    run = {
        str(q): {str(i): chance.randrange(20) / 7 for i in chance.sample(range(60), 30)} for q in range(1, queries + 1)
    }
    return gold, run


GOLD, RUN = _example()


def _columns(nested: Nested, value: str, whole: bool = False) -> dict[str, list[Any]]:
    rows = [(q, i, v) for q, items in nested.items() for i, v in items.items()]
    kind = int if whole else str
    return {
        "query_id": [kind(q) for q, _, _ in rows],
        "item_id": [kind(i) for _, i, _ in rows],
        value: [v for *_, v in rows],
    }


def _same(left: rankjury.Scores, right: rankjury.Scores) -> None:
    assert left.labels == right.labels
    assert left.queries.to_list() == right.queries.to_list()
    assert left.values.tobytes() == right.values.tobytes()
    assert left.warnings == right.warnings


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> rankjury.Scores:
    """From TREC files."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "g.qrels").write_text("".join(f"{q} 0 {i} {v}\n" for q, m in GOLD.items() for i, v in m.items()))
    (folder / "r.trec").write_text("".join(f"{q} Q0 {i} 1 {v!r} t\n" for q, m in RUN.items() for i, v in m.items()))
    scores = rankjury.evaluate(folder / "g.qrels", str(folder / "r.trec"), MEASURES)
    assert len(scores.queries) == 40 and len(scores.warnings) >= 3 and 0.1 < scores.mean()["ndcg@10"] < 0.9
    return scores


FORMS: dict[str, Callable[[Nested, str], Any]] = {
    "dict of dicts": lambda nested, value: nested,
    "dict with whole keys": lambda nested, value: {
        int(q): {int(i): v for i, v in m.items()} for q, m in nested.items()
    },
    "dict of numpy numbers": lambda nested, value: {
        q: {i: np.float64(v) for i, v in m.items()} for q, m in nested.items()
    },
    "polars": lambda nested, value: pl.DataFrame(_columns(nested, value)),
    "polars, whole ids": lambda nested, value: pl.DataFrame(_columns(nested, value, whole=True)),
    "polars, lazy": lambda nested, value: pl.LazyFrame(_columns(nested, value)),
    "polars, categorical": lambda nested, value: pl.DataFrame(_columns(nested, value)).cast(
        {"item_id": pl.Categorical}
    ),
    "polars, other names": lambda nested, value: pl.DataFrame(_columns(nested, value)).rename(
        {"query_id": "qid", "item_id": "docno"}
    ),
    "pandas": lambda nested, value: pd.DataFrame(_columns(nested, value)),
    "pandas, whole ids": lambda nested, value: pd.DataFrame(_columns(nested, value, whole=True)),
    "pandas, object ids": lambda nested, value: pd.DataFrame(_columns(nested, value)).astype({"item_id": object}),
    "pandas, odd index": lambda nested, value: pd.DataFrame(_columns(nested, value)).iloc[::-1],
    "pyarrow": lambda nested, value: pa.table(_columns(nested, value)),
    "pyarrow, whole ids": lambda nested, value: pa.table(_columns(nested, value, whole=True)),
    "pyarrow, chunked": lambda nested, value: pa.concat_tables(
        [pa.table(_columns({q: m}, value)) for q, m in nested.items()]
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("side", ["gold", "run", "both"])
def test_any_form_gives_the_scores_of_files(expected: rankjury.Scores, form: str, side: str) -> None:
    gold = FORMS[form](GOLD, "grade") if side != "run" else GOLD
    run = FORMS[form](RUN, "score") if side != "gold" else RUN
    _same(rankjury.evaluate(gold, run, MEASURES), expected)


@pytest.mark.parametrize("suffix", ["json", "csv", "jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_scores(tmp_path: Path, expected: rankjury.Scores, suffix: str) -> None:
    gold, run = tmp_path / f"g.{suffix}", tmp_path / f"r.{suffix}"
    if suffix == "json":
        gold.write_text(json.dumps(GOLD))
        run.write_text(json.dumps(RUN))
    else:
        for path, nested, value in ((gold, GOLD, "grade"), (run, RUN, "score")):
            frame = pl.DataFrame(_columns(nested, value, whole=suffix == "parquet"))
            {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[suffix](path)
    _same(rankjury.evaluate(gold, run, MEASURES), expected)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_no_digit(expected: rankjury.Scores, seed: int) -> None:
    """Shuffled rows interleave the queries as well."""
    gold = pl.DataFrame(_columns(GOLD, "grade")).sample(fraction=1, shuffle=True, seed=seed)
    run = pl.DataFrame(_columns(RUN, "score")).sample(fraction=1, shuffle=True, seed=seed)
    assert run["query_id"].rle().len() > 500
    _same(rankjury.evaluate(gold, run, MEASURES), expected)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_the_size_of_blocks_changes_no_digit(
    expected: rankjury.Scores, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(types, "ROWS_PER_BLOCK", rows)
    assert len(types.cut_into_blocks(np.array([0, 30, 60, 90]))) == (3 if rows < 100 else 1)
    _same(rankjury.evaluate(GOLD, RUN, MEASURES), expected)
    shuffled = pl.DataFrame(_columns(RUN, "score")).sample(fraction=1, shuffle=True, seed=1)
    _same(rankjury.evaluate(GOLD, shuffled, MEASURES), expected)


# --- lists and arrays ---------------------------------------------------------------------------------------------


def test_lists_and_arrays_are_rankings_best_first() -> None:
    gold = {"0": {"5": 1, "7": 1}, "1": {"9": 1}}
    ordered = [["3", "5", "7"], ["9", "1", "2"]]
    wanted = rankjury.evaluate(
        gold, {"0": {"3": 3.0, "5": 2.0, "7": 1.0}, "1": {"9": 3.0, "1": 2.0, "2": 1.0}}, MEASURES
    )
    for run in (
        {"0": ordered[0], "1": ordered[1]},
        {0: [3, 5, 7], 1: (9, 1, 2)},
        np.array(ordered),
        np.array(ordered, dtype=np.int64),
        np.array(ordered, dtype=object),
        [[3, 5, 7], [9, 1, 2]],
    ):
        _same(rankjury.evaluate(gold, run, MEASURES), wanted)


def test_negative_numbers_in_arrays_are_padding() -> None:
    """As faiss fills up rows that have too few neighbours."""
    padded = rankjury.evaluate({"0": {"5": 1}, "1": {"9": 1}}, np.array([[5, -1, -1], [8, 9, -1]]), ["rr", "num_ret"])
    assert padded["rr"].tolist() == [1.0, 0.5]
    assert padded["num_ret"].tolist() == [1.0, 2.0]


def test_gold_without_grades() -> None:
    run = {"0": {"a": 3.0, "b": 2.0, "c": 1.0}}
    wanted = rankjury.evaluate({"0": {"b": 1, "c": 1}}, run, MEASURES)
    for gold in ({"0": ["b", "c"]}, {"0": {"b", "c"}}, {"0": ("c", "b")}, np.array([["b", "c"]])):
        _same(rankjury.evaluate(gold, run, MEASURES), wanted)


def test_ordered_gold_grades_by_position() -> None:
    gold = rankjury.ordered_gold({"q": ["a", "b", "c"]})
    assert gold.frame().rows() == [("q", "a", 3.0), ("q", "b", 2.0), ("q", "c", 1.0)]
    assert gold.ordered


def test_a_query_without_items_counts_as_retrieved() -> None:
    """An engine that found nothing is not an engine that was not asked."""
    gold = {"q1": {"a": 1}, "q2": {"a": 1}}
    scores = rankjury.evaluate(gold, {"q1": {"a": 1.0}, "q2": {}}, ["rr"], missing="skip")
    assert (scores.mean()["rr"], scores.summary("rr").n) == (0.5, 2)


def test_a_query_without_items_counts_as_retrieved_in_files_too(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"q1": {"a": 1.0}, "q2": {}}')
    scores = rankjury.evaluate({"q1": {"a": 1}, "q2": {"a": 1}}, path, ["rr"], missing="skip")
    assert (scores.mean()["rr"], scores.summary("rr").n) == (0.5, 2)


def _joined(rows: list[tuple[Any, Any, Any]], kind: str) -> Any:
    """A run as an outer join leaves it, in a frame of Polars or pandas, with scores or ranks."""
    frame = pl.DataFrame(rows, schema={"query_id": pl.String, "item_id": pl.String, "score": pl.Float64}, orient="row")
    if kind == "rank":
        frame = frame.select("query_id", "item_id", rank=-pl.col("score"))
    return frame.to_pandas() if kind == "pandas" else frame


@pytest.mark.parametrize("kind", ["score", "rank", "pandas"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_empty_row_beside_rows_of_the_query_changes_nothing(kind: str, at: int) -> None:
    """The query was taken twice: a reciprocal rank of −1, an nDCG of 1, and no warning."""
    gold = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    rows: list[tuple[Any, Any, Any]] = [("q1", "b", -1.0), ("q1", "a", -2.0), ("q2", "a", -1.0)]
    plain = rankjury.evaluate(gold, _joined([*rows, ("q3", None, None)], kind), MEASURES)
    rows.insert(at, ("q1", None, None))
    doubled = rankjury.evaluate(gold, _joined([*rows, ("q3", None, None), ("q3", None, None)], kind), MEASURES)
    _same(doubled, plain)
    assert doubled["rr"].tolist() == [0.5, 1.0, 0.0]
    assert rankjury.evaluate(gold, _joined(rows, kind), ["rr"], missing="skip").summary("rr").n == 2
    assert (
        rankjury.evaluate(gold, _joined([*rows, ("q3", None, None)], kind), ["rr"], missing="skip").summary("rr").n == 3
    )


def test_a_row_of_padding_is_a_query_that_found_nothing() -> None:
    scores = rankjury.evaluate({"0": {"1": 1}, "1": {"1": 1}}, np.array([[1, 2], [-1, -1]]), ["rr"], missing="skip")
    assert scores["rr"].tolist() == [1.0, 0.0]


def test_many_queries_group_as_few_do() -> None:
    """More than 16 bits of queries, in any order of rows: the radix sort takes two rounds."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 70_000, 200_000)
    order = stable_order(codes)
    np.testing.assert_array_equal(order, np.argsort(codes, kind="stable"))


def test_rank_decides_only_where_there_is_no_score() -> None:
    gold = {"q": {"b": 1}}
    ranked = pl.DataFrame({"query_id": ["q", "q"], "item_id": ["a", "b"], "rank": [2, 1]})
    assert rankjury.evaluate(gold, ranked, "rr").mean() == {"rr": 1.0}
    both = ranked.with_columns(score=pl.Series([9.0, 1.0]))
    assert rankjury.evaluate(gold, both, "rr").mean() == {"rr": 0.5}


def test_ids_are_compared_as_text() -> None:
    gold = pl.DataFrame({"query_id": [1], "item_id": [7], "grade": [1]})
    assert rankjury.evaluate(gold, {"1": {"7": 1.0}}, "rr").mean() == {"rr": 1.0}
    assert rankjury.evaluate(gold, {"1": {"07": 2.0, "7": 1.0}}, "rr").mean() == {"rr": 0.5}


def test_what_was_made_once_may_be_used_again() -> None:
    gold, run = rankjury.as_gold(GOLD), rankjury.as_ranking(RUN)
    assert rankjury.as_gold(gold) is gold and rankjury.as_ranking(run) is run
    _same(rankjury.evaluate(gold, run, MEASURES), rankjury.evaluate(GOLD, RUN, MEASURES))


def test_inputs_are_not_changed() -> None:
    frame = pd.DataFrame(_columns(RUN, "score"))
    before = frame.copy(deep=True)
    rankjury.evaluate(GOLD, frame, MEASURES)
    pd.testing.assert_frame_equal(frame, before)


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """Importing ``rankjury.x`` sets the attribute ``x`` of the package, which once hid ``rankjury.evaluate``."""
    modules = {module.name for module in pkgutil.iter_modules(rankjury.__path__)}
    assert modules & set(rankjury.__all__) == {"scale"}, "which is public as a module"


def test_pandas_strings_need_no_pyarrow() -> None:
    """pandas 3 has strings of its own, and says that it can be read as Arrow, for which it needs pyarrow."""
    code = """
import sys
from importlib.machinery import PathFinder
class WithoutArrow(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "pyarrow" else super().find_spec(name, path, target)
sys.meta_path[:] = [WithoutArrow if finder is PathFinder else finder for finder in sys.meta_path]
import rankjury, pandas as pd
gold = pd.DataFrame({"query_id": ["q", "q", "r"], "item_id": ["a", "b", "a"], "grade": [1, 0, 1]})
run = pd.DataFrame({"query_id": ["q", "q", "r"], "item_id": ["b", "a", None], "score": [2.0, 1.0, None]})
for text in (str, object, pd.StringDtype("python"), "category"):
    given = run.astype({"query_id": text, "item_id": text})
    print(rankjury.evaluate(gold, given, "rr", missing="skip")["rr"].tolist())
whole = pd.DataFrame({"query_id": pd.array([1, 1], "Int64"), "item_id": [7, 8], "score": pd.array([1, 2], "Float64")})
print(rankjury.evaluate({"1": {"7": 1}}, whole, "rr")["rr"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split("\n")[:-1] == ["[0.5, 0.0]"] * 4 + ["[0.5]"], done.stderr


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "found"),
    [
        ({"q": {"a": float("nan")}}, "the score of item 'a' for query 'q' is NaN"),
        ({"q": {"a": float("inf")}}, "is inf"),
        ({"q": {"a": None}}, "found the value None for item 'a' of query 'q'"),
        ({"q": {"a": "high"}}, "found the value 'high'"),
        ({"q": ["a", "b", "a"]}, "duplicate item 'a' in the list of query 'q'"),
        ({}, "found no rows"),
        (pl.DataFrame({"query_id": ["q"], "item_id": ["a"]}), "no column for score or rank"),
        (pl.DataFrame({"query_id": ["q"], "item_id": ["a"], "grade": [1]}), "Is this the gold?"),
        (pl.DataFrame({"query_id": ["q", None], "item_id": ["a", "b"], "score": [1.0, 2.0]}), "row 2 has no query_id"),
        (
            pl.DataFrame({"query_id": ["q", "q"], "item_id": ["a", "b"], "score": [1.0, None]}),
            "is missing or NaN (row 2)",
        ),
        (pl.DataFrame({"query_id": ["q"], "item_id": ["a"], "score": ["1"]}), "column 'score' is of type String"),
        (pl.DataFrame({"query_id": ["q"], "item_id": [1.0], "score": [1.0]}), "floating-point"),
        (pd.DataFrame({"query_id": ["q", "q"], "item_id": [1.0, np.nan], "score": [1.0, 2.0]}), "item_id"),
        (pl.DataFrame({"query_id": ["q", "q"], "item_id": ["a", None], "score": [1.0, 2.0]}), "row 2 has no item_id"),
        (
            pl.DataFrame({"query_id": ["q", "r", "q"], "item_id": ["a", None, None], "score": [1.0, None, 2.0]}),
            "row 3 has no item_id",
        ),
        (pl.DataFrame({"query_id": [None], "item_id": [None], "score": [None]}), "row 1 has no query_id"),
        ({1: ["a"], "1": []}, "the query '1' is there as a string and as a number"),
        ({1: {"a": 1.0}, "1": {"b": 1.0}}, "the query '1' is there as a string and as a number"),
        ([["a", None]], "row 0 holds the item None"),
        (np.array([1, 2, 3]), "found an array of shape (3,)"),
        (np.array([[0.5, 0.25]]), "found an array of shape (1, 2) and type float64"),
        (object(), "found an object of type object"),
        (3, "found an object of type int"),
        ([[1, 2], [3]], "array"),
        ({"other": {"a": 1.0}}, "no query in common: the gold has 'q', the ranking has 'other'"),
        ({"q": [("a", 0.9), ("b", 0.8)]}, "item of query 'q' ('a', 0.9)"),
        ({"q": [["a", 0.9]]}, "item of query 'q' ['a', 0.9]"),
        ({"q": [1.0, 2.0]}, "item of query 'q' 1.0"),
        ({"q": ["a", None]}, "item of query 'q' None"),
        ({"q": {b"a": 1.0}}, "item of query 'q' b'a'"),
        ({1.0: ["a"]}, "the query 1.0"),
        ({"q": {"a", "b"}}, "query 'q' has set {"),
        ({"q": "abc"}, "query 'q' has str 'abc' instead of items"),
        ({"q": None}, "query 'q' has NoneType None instead of items"),
        ({"q": 3}, "query 'q' has int 3 instead of items"),
    ],
)
def test_a_ranking_that_is_off_is_refused(run: Any, found: str) -> None:
    """Among them: pairs, floats and None became ids by ``str``, a string a list of letters, and a set a ranking."""
    with pytest.raises(DataError) as caught:
        rankjury.evaluate({"q": {"a": 1}}, run, "rr")
    assert found in str(caught.value)


@pytest.mark.parametrize(
    ("gold", "found"),
    [
        ({"q": {"a": float("nan")}}, "the grade of item 'a' for query 'q' is NaN"),
        ({}, "found no rows"),
        ({"q": "abc"}, "query 'q' has str 'abc' instead of items"),
        ({"q": [("a", 1)]}, "item of query 'q' ('a', 1)"),
        ({1: {"a": 1}, "1": {"b": 1}}, "the query '1' is there as a string and as a number"),
        (pl.DataFrame({"query_id": ["q"], "item_id": ["a"], "score": [2], "rank": [1]}), "are those of a run"),
        (pl.DataFrame({"query_id": ["q", "q"], "item_id": ["a", "a"], "grade": [1, 2]}), "duplicate item"),
    ],
)
def test_a_gold_that_is_off_is_refused(gold: Any, found: str) -> None:
    with pytest.raises(DataError) as caught:
        rankjury.evaluate(gold, {"q": {"a": 1.0}}, "rr")
    assert found in str(caught.value)


@pytest.mark.parametrize("form", ["dict", "polars", "pandas", "arrow"])
def test_gold_and_run_that_were_swapped_are_refused(form: str) -> None:
    """Only the command line noticed; in Python the run's scores were taken for grades, and a number came out."""
    gold = {f"q{q}": {f"d{q + i}": float(i % 3) for i in range(4)} for q in range(10)}
    run = {f"q{q}": {f"d{q + i}": 1 / (3.0 + 8 * q + i) for i in range(8)} for q in range(10)}

    def given(side: dict[str, dict[str, float]]) -> Any:
        if form == "dict":
            return side
        rows = [(query, item, number) for query, items in side.items() for item, number in items.items()]
        frame = pl.DataFrame(rows, schema=["query_id", "item_id", "score"], orient="row")
        return {"polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[form]

    assert rankjury.evaluate(given(gold), given(run), "ndcg@5").mean()["ndcg@5"] > 0
    with pytest.raises(DataError, match="The gold comes first"):
        rankjury.evaluate(given(run), given(gold), "ndcg@5")
    with pytest.raises(DataError, match="The gold comes first"):
        rankjury.compare(given(run), {"a": given(gold), "b": given(gold)}, "ndcg@5")


def test_grades_that_look_like_scores_may_be_named_so() -> None:
    numbers = [1 / (3 + n) for n in range(30)]
    frame = pl.DataFrame({"query_id": ["q"] * 30, "item_id": range(30), "grade": numbers})
    assert len(rankjury.as_gold(frame).items) == 30


@pytest.mark.parametrize(("rule", "rr"), [("first", 0.5), ("last", 1 / 3), ("max", 1.0)])
def test_duplicates_by_rule(rule: Any, rr: float) -> None:
    run = pl.DataFrame(
        {"query_id": ["q"] * 5, "item_id": ["a", "b", "a", "c", "a"], "score": [3.0, 5.0, 9.0, 2.0, 1.0]}
    )
    with pytest.raises(DataError, match="duplicate item"):
        rankjury.evaluate({"q": {"a": 1}}, run, "rr")
    scores = rankjury.evaluate({"q": {"a": 1}}, run, "rr", duplicates=rule)
    assert scores.mean() == {"rr": rr}
    assert [one.count for one in scores.warnings if one.code == "duplicates"] == [2]


@pytest.mark.parametrize(
    "call",
    [
        lambda: rankjury.evaluate(GOLD_OF_ONE, {"q": ["a"]}, 5),  # type: ignore[arg-type]
        lambda: rankjury.evaluate(GOLD_OF_ONE, {"q": ["a"]}, None),  # type: ignore[arg-type]
        lambda: rankjury.evaluate(GOLD_OF_ONE, {"q": ["a"]}, "rr", dialect=5),  # type: ignore[arg-type]
        lambda: rankjury.evaluate(GOLD_OF_ONE, {"q": ["a"]}, "rr", duplicates="frist"),  # type: ignore[arg-type]
        lambda: rankjury.compare(GOLD_OF_ONE, {"a": {"q": ["a"]}, "b": {"q": ["a"]}}, resampling=5),  # type: ignore[arg-type]
        lambda: rankjury.compare(GOLD_OF_ONE, {"a": {"q": ["a"]}, "b": {"q": ["a"]}}, recorded=5),  # type: ignore[arg-type]
        lambda: rankjury.recommend(5, "popularity"),  # type: ignore[arg-type]
        lambda: rankjury.drift_between(5, 5),  # type: ignore[arg-type]
        lambda: rankjury.rank_vectors(rankjury.Vectors({"a": [1.0, 2.0]}), k=2.5),  # type: ignore[arg-type]
        lambda: rankjury.rank_vectors(rankjury.Vectors({"a": [1.0, 2.0]}), metric=5),  # type: ignore[arg-type]
    ],
)
def test_an_argument_of_the_wrong_type_is_a_usage_error(call: Callable[[], Any]) -> None:
    """These ended in a TypeError or AttributeError from inside; a misspelt rule for duplicates was taken silently."""
    with pytest.raises(UsageError):
        call()


GOLD_OF_ONE = {"q": {"a": 1}}


def test_vectors_are_no_ranking() -> None:
    with pytest.raises(DataError, match="rank_vectors"):
        rankjury.evaluate({"0": {"1": 1}}, np.eye(3), "rr")
