"""A block's scores and what is told of it: parts can be joined, in any order, and sent to where they are joined."""

from functools import reduce
from operator import add
from pickle import dumps, loads

import polars as pl
import pytest

from rankjury.errors import DataError
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.scale.block_scores import BlockFindings, score_block
from rankjury.scale.request import EvaluationRequest, SliceFile
from tests.scale.made import QUICK, gold_of, run_of

QUERIES = 12
MEASURES = ("ndcg@5", "ap")
REQUEST = EvaluationRequest(
    "gold",
    {"a": "a.parquet", "b": "b.parquet"},
    tuple(resolve_measures(MEASURES)),
    QUICK,
    "a",
    attributes=(SliceFile("queries", None),),
)
TABLES = (
    gold_of(QUERIES),
    run_of(QUERIES, 1),
    run_of(QUERIES, 2),
    pl.DataFrame({"query_id": range(QUERIES), "type": ["x", "y", None] * 4}),
)


def block(*queries: int) -> tuple[pl.DataFrame, ...]:
    return tuple(table.filter(pl.col("query_id").is_in(queries)) for table in TABLES)


def test_found_in_parts_and_as_a_whole() -> None:
    parts = [score_block(REQUEST, block(*range(first, first + 3)))[1] for first in range(0, QUERIES + 5, 3)]
    whole = score_block(REQUEST, TABLES)[1]
    sent = [loads(dumps(part)) for part in parts]
    for order in (sent, sent[::-1]):
        found = reduce(add, order)
        assert (found.queries, found.apart) == (whole.queries, whole.apart)
        assert found.warnings(REQUEST) == whole.warnings(REQUEST)
        assert found.shared == whole.shared


def test_a_block_without_gold_is_only_counted() -> None:
    scored, found = score_block(REQUEST, block(QUERIES, QUERIES + 1))
    assert scored is None and (found.queries, found.extra) == (0, (2, 2))
    with pytest.raises(DataError, match="gold: found no rows; expected at least one query with an item"):
        found.check(REQUEST)


def test_a_system_with_none_of_the_queries() -> None:
    gold, ours, theirs, types = TABLES
    _, found = score_block(REQUEST, (gold, ours, theirs.clear(), types))
    elsewhere: BlockFindings = score_block(REQUEST, block(QUERIES + 2))[1]
    with pytest.raises(DataError, match=rf"gold × b\.parquet: no query in common: the gold has '0' .*'{QUERIES + 2}'"):
        (found + elsewhere).check(REQUEST)


def test_scores_as_people_read_them() -> None:
    scored, _ = score_block(REQUEST, block(6, 7))
    assert scored is not None
    frame = scored.per_query(REQUEST)
    assert frame.columns == ["system", "query_id", *MEASURES]
    assert frame["system"].to_list() == ["a", "a", "b", "b"] and frame["query_id"].to_list() == ["6", "7"] * 2
    nothing_relevant = frame.filter(pl.col("query_id") == "7")
    assert nothing_relevant["ap"].to_list() == [None, None]
