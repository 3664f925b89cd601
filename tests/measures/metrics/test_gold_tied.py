"""gold=tied: measures against all items whose grade is the k-th's or better."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.core.convert import as_gold, as_ranking
from rankjury.core.types import Gold
from rankjury.errors import UsageError
from rankjury.evaluation.judge import judge
from rankjury.measures.judged import Judged
from rankjury.measures.measure import METRICS, Measure, Metric
from tests.stats.support import thorough

ITEMS = [f"d{number:02}" for number in range(12)]
golds = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([-1, 0, 1, 2, 3]), min_size=1)
rankings = st.lists(st.sampled_from(ITEMS), unique=True, min_size=1)
queries = st.lists(st.tuples(golds, rankings), min_size=1, max_size=4)
CUT = [
    metric
    for metric in METRICS
    if metric.needs_relevant and metric.cut != "none" and not (metric.needs_places or metric.of_lists)
]


def cut(gold: dict[str, float], k: int) -> dict[str, float]:
    """What counts at k, in plain words."""
    least = sorted(gold.values(), reverse=True)[:k][-1]
    return {item: grade for item, grade in gold.items() if grade >= least}


@pytest.mark.parametrize("metric", CUT, ids=lambda metric: metric.name)
@given(data=queries, k=st.integers(1, 13))
@thorough(8)
def test_every_metric_as_with_a_gold_that_was_cut_beforehand(metric: Metric, data: Any, k: int) -> None:
    gold = {f"q{number}": graded for number, (graded, _) in enumerate(data)}
    ranking = {f"q{number}": ranked for number, (_, ranked) in enumerate(data)}
    tied = rankjury.evaluate(gold, ranking, [Measure(metric.name, k, (("gold", "tied"),))])
    before = {query: cut(graded, k) for query, graded in gold.items()}
    plain = rankjury.evaluate(before, ranking, [Measure(metric.name, k)])
    np.testing.assert_allclose(tied.values, plain.values, rtol=0, atol=1e-15)


@given(data=queries, k=st.integers(1, 13))
@thorough(40)
def test_what_is_left_of_the_judged(data: Any, k: int) -> None:
    gold = {f"q{number}": graded for number, (graded, _) in enumerate(data)}
    ranking = {f"q{number}": ranked for number, (_, ranked) in enumerate(data)}
    found = judge(as_gold(gold), as_ranking(ranking)).cut_gold(k, tied=True)
    for row, query in enumerate(found.queries):
        wanted = cut(gold[query], k)
        held = [(rank, wanted[item]) for rank, item in enumerate(ranking[query], 1) if item in wanted]
        here = found.row == row
        assert list(zip(found.rank[here].tolist(), found.grade[here].tolist(), strict=True)) == held
        first, last = found.gold_starts[row : row + 2]
        assert found.gold_grades[first:last].tolist() == sorted(wanted.values(), reverse=True)


def judged(gold: Any, ranking: Any, *, places: bool = False) -> Judged:
    return judge(gold if isinstance(gold, Gold) else as_gold(gold), as_ranking(ranking), places=places)


def test_without_ties_it_is_the_k_best() -> None:
    gold = {"q": {item: number for number, item in enumerate(ITEMS)}}
    one = judged(gold, {"q": ITEMS}, places=True)
    for k in (1, 5, 12, 40):
        by_place, by_grade = one.cut_gold(k), one.cut_gold(k, tied=True)
        assert by_place.rank.tolist() == by_grade.rank.tolist()
        assert by_place.gold_grades.tolist() == by_grade.gold_grades.tolist()
        assert len(by_grade.rank) == min(k, 12)


def test_places_stay_with_their_items() -> None:
    found = judged({"q": {"a": 3, "b": 1, "c": 1, "d": 0}}, {"q": ["d", "c", "a", "b"]}, places=True)
    kept = found.cut_gold(2, tied=True)
    assert kept.place is not None and kept.place.tolist() == [3, 1, 2]
    assert kept.rank.tolist() == [2, 3, 4] and kept.depth.tolist() == [4]


def test_without_places_only_grades_can_cut() -> None:
    found = judged({"q": {"a": 1}}, {"q": ["a"]})
    assert found.place is None and found.cut_gold(1, tied=True).rank.tolist() == [1]
    with pytest.raises(ValueError, match="places=True"):
        found.cut_gold(1)


def test_queries_without_gold() -> None:
    """First, between and last: none takes a grade from its neighbour."""
    names, starts = pl.Series("query_id", ["a", "b", "c", "d"]), np.array([0, 0, 2, 2, 3])
    gold = Gold(names, starts, pl.Series("item_id", ["x", "y", "x"]), np.array([1.0, 2.0, 5.0]))
    found = judged(gold, {name: ["x", "y"] for name in "abcd"}).cut_gold(1, tied=True)
    assert found.gold_starts.tolist() == [0, 0, 1, 1, 2]
    assert found.gold_grades.tolist() == [2.0, 5.0] and found.row.tolist() == [1, 3]


class TestSpelling:
    def test_it_prints_as_it_is_read(self) -> None:
        for text in ("recall(over=k,gold=tied)@5", "ndcg(gain=binary,gold=tied)@10", "rr(gold=tied)@1"):
            assert str(Measure.parse(text)) == text
        assert Measure.parse("rr(gold=tied)@5") != Measure.parse("rr(gold=k)@5")

    def test_it_needs_a_cut_off(self) -> None:
        for text in ("rr(gold=tied)", "ap(gold=k)"):
            with pytest.raises(UsageError, match="needs a cut-off"):
                Measure.parse(text)

    def test_other_values_are_unknown(self) -> None:
        with pytest.raises(UsageError, match="tied"):
            Measure.parse("rr(gold=tie)@5")


def test_by_hand() -> None:
    """Grades 3, 2, 2, 1: at 2, three items count; of the two retrieved first, one does."""
    gold, ranking = {"q": {"a": 3, "b": 2, "c": 2, "d": 1}}, {"q": ["d", "c", "b"]}
    measures = ["recall(over=k,gold=tied)@2", "recall(gold=tied)@2", "recall(over=min,gold=tied)@2", "rr(gold=tied)@2"]
    assert rankjury.evaluate(gold, ranking, measures).values[0].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 2])
    assert rankjury.evaluate(gold, ranking, ["recall(over=k,gold=k)@2"]).values[0, 0] == 0
