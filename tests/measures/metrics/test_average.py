"""Expected reciprocal rank: within [0, 1] whatever the gold, like its definition, on one scale, in linear time."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import resolve_measures
from rankjury.evaluation.judge import MatchedRanking, OrderRules
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.measures.metrics.average import err
from tests.measures.metrics import naive

ITEMS = [f"d{n:03}" for n in range(200)]
GRADES = st.one_of(
    st.sampled_from([-1.0, 0.0, 1.0, 2.0, 4.0, 5.0]),
    st.floats(-2, 12),
    st.sampled_from([60.0, 1023.0, 1024.0, 5000.0, 1e300, 1.7e308]),
)
LISTS = st.lists(st.sampled_from(ITEMS), unique=True, min_size=1, max_size=60)


@st.composite
def cases(draw: st.DrawFn, grades: st.SearchStrategy[float]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Some queries, with judged items and a list of them and of others; one item at least is in both."""
    queries = [f"q{n}" for n in range(draw(st.integers(1, 40)))]
    gold = {query: {item: draw(grades) for item in draw(LISTS)} for query in queries}
    lists = {query: draw(LISTS) for query in queries}
    shared = next(iter(gold["q0"]))
    return gold, {**lists, "q0": [*(item for item in lists["q0"] if item != shared), shared]}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(cases(GRADES), st.sampled_from([None, 1, 10]))
def test_err_is_within_zero_and_one_whatever_the_grades(case: Any, k: int | None) -> None:
    values = rankjury.evaluate(*case, ["err" if k is None else f"err@{k}"]).values
    defined = values[~np.isnan(values)]
    assert (defined >= 0).all()
    assert (defined <= 1).all()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(cases(st.integers(-1, 7).map(float)), st.sampled_from([None, 1, 10]))
def test_err_is_its_definition_to_the_last_digit(case: Any, k: int | None) -> None:
    """Segments of unequal length, more and fewer of them than are multiplied at once."""
    gold, ranking = case
    found = rankjury.evaluate(gold, ranking, [f"err(max=7,empty=zero){'' if k is None else f'@{k}'}"])
    expected = [naive.err(gold[query], ranking[query], k, max=7) for query in found.queries]
    assert found.values[:, 0].tolist() == expected


@pytest.mark.parametrize("spelling", ["ERR@10", "err(max=4)@10"])
def test_a_grade_above_the_maximum_is_refused(spelling: str) -> None:
    """Grades above max gave values above 1, below 0 and infinite ones."""
    gold = {"q1": {"a": 4}, "q2": {"a": 5, "b": 5}}
    with pytest.raises(rankjury.DataError, match="query 'q2' has an item of grade 5"):
        rankjury.evaluate(gold, {"q1": ["a"], "q2": ["b"]}, [spelling])
    assert rankjury.evaluate({"q1": {"a": 4}}, {"q1": ["a"]}, [spelling]).values[0, 0] == 0.9375


def test_a_grade_above_the_maximum_is_refused_though_it_was_not_retrieved() -> None:
    """Whether a gold fits the scale does not depend on the run."""
    with pytest.raises(rankjury.DataError, match="grade 9"):
        rankjury.evaluate({"q": {"a": 1, "b": 9}}, {"q": ["a"]}, ["err(max=4)"])


def test_a_slice_of_items_has_the_scale_of_the_whole_gold() -> None:
    """Without max, a slice of items took the highest grade of its own items for that of the scale."""
    gold = rankjury.as_gold({"q": {"a": 1, "b": 3}, "r": {"a": 1}})
    table = pl.DataFrame({"item_id": ["a", "b"], "kind": ["x", "y"]})
    cuts = SliceTable(table, "item_id", "items", [(Attribute("kind"),)], "table")
    ranking = rankjury.as_ranking({"q": ["a"], "r": ["a"]})
    found = assess(gold, {"run": ranking}, resolve_measures(["err"]), resampling=None, item_slices=[cuts])
    means = {one.name: one.estimates["run"]["err"].mean for one in found.slices}
    assert means["item.kind=x"] == 1 / 8


def test_blocks_of_queries_refuse_err_without_a_maximum(tmp_path: Path) -> None:
    """Each block took its own highest grade: the value of a query depended on the size of the blocks."""
    pl.DataFrame({"query_id": ["q", "r"], "item_id": ["a", "a"], "grade": [1, 3]}).write_parquet(tmp_path / "g.parquet")
    pl.DataFrame({"query_id": ["q", "r"], "item_id": ["a", "a"], "score": [1.0, 1.0]}).write_parquet(
        tmp_path / "r.parquet"
    )
    paths = tmp_path / "g.parquet", tmp_path / "r.parquet"
    with pytest.raises(rankjury.UsageError, match=r"err\(max=4\)@10"):
        rankjury.scale.evaluate(*paths, "err@10", resampling=None)
    found = rankjury.scale.evaluate(*paths, "err(max=4)@10", resampling=None).estimates
    assert (
        found["r"]["err(max=4)@10"].mean
        == rankjury.evaluate(*map(str, paths), ["err(max=4)@10"]).mean()["err(max=4)@10"]
    )
    with pytest.raises(rankjury.DataError, match="grade 3"):
        rankjury.scale.evaluate(*paths, "err(max=2)@10", resampling=None)


def test_time_is_linear_in_the_judged_items_of_a_query() -> None:
    """A quadratic search took 217 s for 500,000 judged items; this takes about 0.05 s of processor time."""
    number = 500_000
    grades = np.random.default_rng(0).integers(0, 3, number).astype(float)
    gold = rankjury.as_gold(pl.DataFrame({"query_id": ["q"] * number, "item_id": np.arange(number), "grade": grades}))
    ranking = rankjury.as_ranking(
        pl.DataFrame({"query_id": ["q"] * number, "item_id": np.arange(number), "score": -np.arange(float(number))})
    )
    judged = MatchedRanking(gold, ranking).judge(OrderRules())
    started = time.process_time()
    found = err(judged, None, max=20.0)
    assert time.process_time() - started < 5
    assert 0 < found[0] < 1
