"""What holds for every metric: bounds, renaming, order of queries and rows, the best ranking scores best."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.measures.measure import METRICS, Measure, Metric
from tests.stats.support import thorough

ITEMS = [f"d{n:02}" for n in range(15)]
golds = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([0, 1, 2, 3]), min_size=1)
rankings = st.lists(st.sampled_from(ITEMS), unique=True, min_size=1)
queries = st.lists(st.tuples(golds, rankings), min_size=1, max_size=5)
UNBOUNDED = {"dcg", "utility"} | {metric.name for metric in METRICS if metric.aggregate == "sum"} | {"hit_count"}
# What one query has in a figure over all of them is no share of anything.
UNBOUNDED |= {metric.name for metric in METRICS if metric.whole}
# These also count what is retrieved, of which the gold itself is not the most or the fewest.
CAN_BEAT_THE_GOLD = {"num_ret", "num_nonrel_ret", "utility", "precision", "set_ap", "f1"}
CAN_BEAT_THE_GOLD |= {metric.name for metric in METRICS if metric.whole}


def measure_of(metric: Metric) -> Measure:
    return Measure(metric.name, None if metric.cut == "none" else 10)


# Metrics over places need a gold without ties; all others are asked for together.
GROUPS = {
    places: {measure_of(metric): metric for metric in METRICS if metric.needs_places is places and not metric.of_lists}
    for places in (False, True)
}
grades_or_places = pytest.mark.parametrize("places", GROUPS, ids=lambda places: "places" if places else "grades")


def make(data: Any, places: bool) -> tuple[dict[str, dict[str, float]], dict[str, list[str]]]:
    gold = {f"q{n}": dict(g) for n, (g, _) in enumerate(data)}
    if places:
        gold = {query: {item: float(n) for n, item in enumerate(g, 1)} for query, g in gold.items()}
    return gold, {f"q{n}": ranked for n, (_, ranked) in enumerate(data)}


def check_same(first: rankjury.Scores, second: rankjury.Scores) -> None:
    """To the last bit, measure by measure."""
    assert first.labels == second.labels
    for label in first.labels:
        assert first[label].tobytes() == second[label].tobytes(), label


of_gold = [metric for metric in METRICS if not metric.of_lists]
every_metric = pytest.mark.parametrize("metric", of_gold, ids=lambda metric: metric.name)


@grades_or_places
@given(data=queries)
@thorough(60)
def test_bounds(places: bool, data: Any) -> None:
    found = rankjury.evaluate(*make(data, places), list(GROUPS[places]))
    for measure, metric in GROUPS[places].items():
        values = found[str(measure)]
        defined = values[~np.isnan(values)]
        if metric.name != "utility" and not metric.whole:
            assert (defined >= 0).all(), measure
        if metric.name not in UNBOUNDED:
            assert (defined <= 1 + 1e-12).all(), measure


@grades_or_places
@given(data=queries, seed=st.randoms(use_true_random=False))
@thorough(40)
def test_order_of_queries_and_rows_is_of_no_account(places: bool, data: Any, seed: Any) -> None:
    gold, ranking = make(data, places)
    scored = {q: {item: float(-n) for n, item in enumerate(items)} for q, items in ranking.items()}
    before = rankjury.evaluate(gold, scored, list(GROUPS[places]))

    def shuffled(mapping: dict[str, Any]) -> dict[str, Any]:
        names = list(mapping)
        seed.shuffle(names)
        return {name: mapping[name] for name in names}

    after = rankjury.evaluate(
        shuffled({q: shuffled(g) for q, g in gold.items()}),
        shuffled({q: shuffled(r) for q, r in scored.items()}),
        list(GROUPS[places]),
    )
    check_same(before, after)
    assert list(before.mean().values()) == pytest.approx(list(after.mean().values()), abs=0, nan_ok=True)


@grades_or_places
@given(data=queries)
@thorough(40)
def test_names_are_of_no_account(places: bool, data: Any) -> None:
    """Renamed in a way that keeps their order, so that ties break alike."""
    gold, ranking = make(data, places)
    renamed_gold = {q: {f"item-{item}": g for item, g in grades.items()} for q, grades in gold.items()}
    renamed = {q: [f"item-{item}" for item in items] for q, items in ranking.items()}
    check_same(
        rankjury.evaluate(gold, ranking, list(GROUPS[places])),
        rankjury.evaluate(renamed_gold, renamed, list(GROUPS[places])),
    )


@grades_or_places
@given(data=queries)
@thorough(60)
def test_nothing_beats_the_gold_itself(places: bool, data: Any) -> None:
    gold, ranking = make(data, places)
    perfect = {q: sorted(g, key=lambda item: (-g[item], item)) for q, g in gold.items()}
    best, found = (rankjury.evaluate(gold, ranked, list(GROUPS[places])) for ranked in (perfect, ranking))
    for measure, metric in GROUPS[places].items():
        if metric.lower_is_better or metric.name in CAN_BEAT_THE_GOLD:
            continue
        held = ~np.isnan(best[str(measure)])
        assert (found[str(measure)][held] <= best[str(measure)][held] + 1e-12).all(), measure


@pytest.mark.parametrize(
    "name", ["ndcg", "ap", "rr", "recall", "hit_rate", "r_precision", "bpref", "iprec", "rbo", "judged"]
)
def test_the_gold_itself_scores_one(name: str) -> None:
    gold = rankjury.ordered_gold({"q": ["a", "b", "c"]})
    assert rankjury.evaluate(gold, {"q": ["a", "b", "c"]}, [name]).mean()[name] == pytest.approx(1.0, rel=1e-12)


DEFINED_WITHOUT_RELEVANT = {"precision", "hit_rate", "hit_count", "rr", "dcg", "err", "rbp"}
"""Metrics whose formula gives 0 where nothing is relevant: they do not divide by the number of relevant items."""


@every_metric
def test_a_query_with_nothing_relevant(metric: Metric) -> None:
    gold = {"q": {"a": 0.0}, "r": {"a": 1.0}}
    measure = measure_of(metric)
    ranking = {"q": ["a"], "r": ["a"]}
    found = rankjury.evaluate(gold, ranking, [measure])
    if metric.needs_relevant:
        skip = measure.with_options({"empty": "skip"})
        skipped = rankjury.evaluate(gold, ranking, [skip])
        assert math.isnan(skipped.values[0, 0])
        assert skipped.summary(str(skip)).undefined == 1
        default = measure.with_options({"empty": "zero" if metric.name in DEFINED_WITHOUT_RELEVANT else "skip"})
        assert default == measure
        zero = measure.with_options({"empty": "zero"})
        assert rankjury.evaluate(gold, ranking, [zero]).values[0, 0] == 0
        with pytest.raises(rankjury.DataError, match="nothing relevant"):
            rankjury.evaluate(gold, ranking, [measure.with_options({"empty": "error"})])
    else:
        assert not np.isnan(found.values).any()


@every_metric
def test_a_query_that_the_ranking_lacks(metric: Metric) -> None:
    gold, ranking = {"q": {"a": 1.0}, "r": {"a": 1.0}}, {"r": ["a"]}
    measure = measure_of(metric)
    assert rankjury.evaluate(gold, ranking, [measure]).summary(str(measure)).n == 2
    skip = measure.with_options({"missing": "skip"})
    assert rankjury.evaluate(gold, ranking, [skip]).summary(str(skip)).n == 1
    with pytest.raises(rankjury.DataError, match="missing from the ranking"):
        rankjury.evaluate(gold, ranking, [measure.with_options({"missing": "error"})])


HUGE = {"ordinary": 3.0, "2^g overflows": 1024.0, "far past that": 5e5, "sums overflow": 1.7e308}


@grades_or_places
@pytest.mark.parametrize("grade", HUGE.values(), ids=HUGE)
def test_huge_grades_give_a_finite_value_or_an_error(places: bool, grade: float) -> None:
    """dcg(gain=exp) was infinite; sums of grades near the largest float made DCG infinite and nDCG undefined."""
    gold = {"q": {"a": grade, "b": grade / 2, "c": grade / 4, "d": 0.0}, "r": {"a": grade, "b": 0.9 * grade}}
    ranking = {"q": ["d", "a", "c", "b"], "r": ["b", "a"]}
    asked = [*GROUPS[places], *map(Measure.parse, ("dcg(gain=exp)@10", "ndcg(gain=exp)@10", "rbp(gain=linear)"))]
    for measure in asked:
        try:
            values = rankjury.evaluate(gold, ranking, [measure]).values
        except rankjury.DataError as error:
            assert grade > 1000, measure
            assert "query 'q' has an item of grade" in error.found
        else:
            assert np.isfinite(values).all(), measure
