"""What holds for every metric: bounds, renaming, order of queries and rows, the best ranking scores best."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.measure import METRICS, Measure, Metric

ITEMS = [f"d{n:02}" for n in range(15)]
golds = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([0, 1, 2, 3]), min_size=1)
rankings = st.lists(st.sampled_from(ITEMS), unique=True, min_size=1)
queries = st.lists(st.tuples(golds, rankings), min_size=1, max_size=5)
UNBOUNDED = {"dcg", "utility"} | {metric.name for metric in METRICS if metric.aggregate == "sum"} | {"hit_count"}
# A gold that is longer than the list cannot be reached, nor one whose items are unlike in grade.
BEST_IS_NOT_ONE = {"err", "rbp", "rbo", "utility", "unjudged", "dcg", "num_nonrel_ret", "hit_count"}


def measure_of(metric: Metric) -> Measure:
    return Measure(metric.name, None if metric.cut == "none" else 10)


def make(data: Any, metric: Metric) -> tuple[dict[str, dict[str, float]], dict[str, list[str]]]:
    gold = {f"q{n}": dict(g) for n, (g, _) in enumerate(data)}
    if metric.needs_places:
        gold = {query: {item: float(n) for n, item in enumerate(g, 1)} for query, g in gold.items()}
    return gold, {f"q{n}": ranked for n, (_, ranked) in enumerate(data)}


every_metric = pytest.mark.parametrize("metric", list(METRICS), ids=lambda metric: metric.name)


@every_metric
@given(data=queries)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_bounds(metric: Metric, data: Any) -> None:
    values = karat.evaluate(*make(data, metric), [measure_of(metric)]).values
    defined = values[~np.isnan(values)]
    if metric.name != "utility":
        assert (defined >= 0).all()
    if metric.name not in UNBOUNDED:
        assert (defined <= 1 + 1e-12).all()


@every_metric
@given(data=queries, seed=st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_order_of_queries_and_rows_is_of_no_account(metric: Metric, data: Any, seed: Any) -> None:
    gold, ranking = make(data, metric)
    scored = {q: {item: float(-n) for n, item in enumerate(items)} for q, items in ranking.items()}
    before = karat.evaluate(gold, scored, [measure_of(metric)])

    def shuffled(mapping: dict[str, Any]) -> dict[str, Any]:
        names = list(mapping)
        seed.shuffle(names)
        return {name: mapping[name] for name in names}

    after = karat.evaluate(
        shuffled({q: shuffled(g) for q, g in gold.items()}),
        shuffled({q: shuffled(r) for q, r in scored.items()}),
        [measure_of(metric)],
    )
    assert before.values.tobytes() == after.values.tobytes()
    assert list(before.mean().values()) == pytest.approx(list(after.mean().values()), abs=0, nan_ok=True)


@every_metric
@given(data=queries)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_names_are_of_no_account(metric: Metric, data: Any) -> None:
    """Renamed in a way that keeps their order, so that ties break alike."""
    gold, ranking = make(data, metric)
    renamed_gold = {q: {f"item-{item}": g for item, g in grades.items()} for q, grades in gold.items()}
    renamed = {q: [f"item-{item}" for item in items] for q, items in ranking.items()}
    first = karat.evaluate(gold, ranking, [measure_of(metric)])
    second = karat.evaluate(renamed_gold, renamed, [measure_of(metric)])
    assert first.values.tobytes() == second.values.tobytes()


@every_metric
@given(data=queries)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_nothing_beats_the_gold_itself(metric: Metric, data: Any) -> None:
    gold, ranking = make(data, metric)
    perfect = {q: sorted(g, key=lambda item: (-g[item], item)) for q, g in gold.items()}
    measure = measure_of(metric)
    if metric.lower_is_better or metric.name in {"num_ret", "num_nonrel_ret", "utility"}:
        return
    best = karat.evaluate(gold, perfect, [measure]).values
    found = karat.evaluate(gold, ranking, [measure]).values
    held = ~np.isnan(best)
    if metric.name != "precision" and metric.name != "set_ap" and metric.name != "f1":
        assert (found[held] <= best[held] + 1e-12).all()


@pytest.mark.parametrize(
    "name", ["ndcg", "ap", "rr", "recall", "hit_rate", "r_precision", "bpref", "iprec", "rbo", "judged"]
)
def test_the_gold_itself_scores_one(name: str) -> None:
    gold = karat.ordered_gold({"q": ["a", "b", "c"]})
    assert karat.evaluate(gold, {"q": ["a", "b", "c"]}, [name]).mean()[name] == pytest.approx(1.0, rel=1e-12)


@every_metric
def test_a_query_with_nothing_relevant(metric: Metric) -> None:
    gold = {"q": {"a": 0.0}, "r": {"a": 1.0}}
    measure = measure_of(metric)
    ranking = {"q": ["a"], "r": ["a"]}
    skipped = karat.evaluate(gold, ranking, [measure])
    if metric.needs_relevant:
        assert math.isnan(skipped.values[0, 0])
        assert skipped.summary(str(measure)).undefined == 1
        zero = measure.having({"empty": "zero"})
        assert karat.evaluate(gold, ranking, [zero]).values[0, 0] == 0
        with pytest.raises(karat.DataError, match="nothing relevant"):
            karat.evaluate(gold, ranking, [measure.having({"empty": "error"})])
    else:
        assert not np.isnan(skipped.values).any()


@every_metric
def test_a_query_that_the_ranking_lacks(metric: Metric) -> None:
    gold, ranking = {"q": {"a": 1.0}, "r": {"a": 1.0}}, {"r": ["a"]}
    measure = measure_of(metric)
    assert karat.evaluate(gold, ranking, [measure]).summary(str(measure)).n == 2
    skip = measure.having({"missing": "skip"})
    assert karat.evaluate(gold, ranking, [skip]).summary(str(skip)).n == 1
    with pytest.raises(karat.DataError, match="missing from the ranking"):
        karat.evaluate(gold, ranking, [measure.having({"missing": "error"})])
