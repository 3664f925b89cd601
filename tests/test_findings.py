"""What is told of a ranking, counted over parts of the queries and joined, is what is told of all of them."""

from functools import reduce
from operator import add

import polars as pl
import pytest

from karat.evaluation import Evaluation
from karat.findings import Findings
from karat.intake import gold_from_frame, ranking_from_frame
from karat.measure import Measure
from tests.scale.made import gold_of, run_of

MEASURES = [Measure.parse(label) for label in ("ndcg@10", "ap(rel=2)", "precision(empty=zero)@3", "rr@5")]
GOLD, RUN = gold_of(40), run_of(40, 1)


def findings(gold: pl.DataFrame, run: pl.DataFrame) -> Findings:
    evaluation = Evaluation(gold_from_frame(gold), ranking_from_frame(run), may_be_apart=True)
    return evaluation.findings(MEASURES)


@pytest.mark.parametrize("parts", [2, 5])
def test_parts_are_joined(parts: int) -> None:
    part_of = pl.col("query_id") * 7 % parts
    whole = findings(GOLD, RUN)
    found = [findings(GOLD.filter(part_of == part), RUN.filter(part_of == part)) for part in range(parts)]
    assert reduce(add, found) == reduce(add, found[::-1]) == whole
    assert list(whole.told(MEASURES)) == list(reduce(add, found).told(MEASURES))


def test_what_is_told() -> None:
    told = "\n".join(findings(GOLD, RUN).told(MEASURES))
    assert "judged queries are missing from the ranking (" in told and "scored 0" in told
    assert "5 retrieved queries have no gold: not counted" in told
    assert "6 queries have nothing relevant in the gold: left out" in told
    assert "unjudged items count as not relevant: " in told and "of the top 3" in told
    assert "the cut-off falls within equal scores" in told


def test_nothing_is_told_where_nothing_is_wrong() -> None:
    one = pl.DataFrame({"query_id": ["q"], "item_id": ["a"]})
    found = findings(one.with_columns(grade=1.0), one.with_columns(score=1.0))
    assert list(found.told(MEASURES[:1])) == []
    assert [line.partition(" in the gold")[0] for line in found.told(MEASURES)] == [
        "1 query has nothing relevant of grade 2 or better"
    ]


def test_says_which_measures_leave_out_a_query_with_nothing_relevant_and_which_count_it_0() -> None:
    """Precision was left out for such queries like recall, although its formula needs no relevant item."""
    labels = ("ndcg@5", "recall@5", "recall(over=k)@5", "precision@5", "rr")
    measures = [Measure.parse(label) for label in labels]
    found = Evaluation(gold_from_frame(GOLD), ranking_from_frame(RUN)).findings(measures)
    (told,) = (line for line in found.told(measures) if "nothing relevant" in line)
    left_out, _, zero = told.partition(";")
    assert "6 queries" in left_out and "left out for ndcg, recall@5 (" in left_out
    assert "scored 0 for recall(over=k)@5, precision, rr (" in zero
