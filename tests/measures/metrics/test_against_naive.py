"""Every metric under every combination of its options, against its definition written out."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.measures.measure import METRICS, Measure, Metric, Option
from tests.measures.metrics import naive
from tests.stats.support import thorough

ITEMS = [f"d{n}" for n in range(12)]
NUMBERS: dict[str, list[float | None]] = {
    "rel": [None, 1, 2],
    "p": [0.5, 0.9],
    "max": [4],
    "at": [0.0, 0.2, 0.5, 1.0],
    "times": [0.4, 1, 2],
}


def values_of(option: Option) -> list[Any]:
    """All choices; ties and missing queries are tested elsewhere."""
    if option.name in ("ties", "missing"):
        return [option.default_value]
    return list(option.choices) or NUMBERS[option.name]


def combinations(metric: Metric) -> Iterator[dict[str, Any]]:
    names = [option.name for option in metric.options]
    for chosen in itertools.product(*(values_of(option) for option in metric.options)):
        yield {name: value for name, value in zip(names, chosen, strict=True) if value is not None}


def measures(metric: Metric) -> dict[Measure, dict[str, Any]]:
    """Under every combination of options, at every cut-off; with the options as they were given."""
    return {
        Measure(metric.name, k, tuple(options.items())).with_options({"empty": "zero"}): options
        for options in combinations(metric)
        for k in cut_offs(metric)
    }


def cut_offs(metric: Metric) -> list[int | None]:
    return [None] if metric.cut == "none" else [None, 1, 3, 5, 20]


grades = st.sampled_from([-1, 0, 0, 1, 1, 2, 3])
golds = st.dictionaries(st.sampled_from(ITEMS), grades, min_size=1)
rankings = st.lists(st.sampled_from(ITEMS), unique=True)


def distinct_grades(gold: dict[str, int]) -> dict[str, float]:
    """An ordered gold, for metrics that need one."""
    return {item: float(place) for place, item in enumerate(gold, 1)}


every_metric = pytest.mark.parametrize(
    "metric", [one for one in METRICS if not one.of_lists], ids=lambda metric: metric.name
)
every_metric_of_one_query = pytest.mark.parametrize(
    "metric", [one for one in METRICS if not (one.whole or one.of_lists)], ids=lambda metric: metric.name
)


@every_metric_of_one_query
@given(data=st.lists(st.tuples(golds, rankings), min_size=1, max_size=4))
@thorough(25)
def test_like_the_definition(metric: Metric, data: list[tuple[Any, list[str]]]) -> None:
    gold = {f"q{n}": distinct_grades(g) if metric.needs_places else g for n, (g, _) in enumerate(data)}
    ranking = {f"q{n}": ranked for n, (_, ranked) in enumerate(data)}
    asked = measures(metric)
    found = rankjury.evaluate(gold, ranking, list(asked))
    for measure, options in asked.items():
        expected = [by_definition(measure, options, gold[query], ranking[query]) for query in gold]
        np.testing.assert_allclose(found[str(measure)], expected, rtol=1e-12, atol=1e-15, err_msg=str(measure))


def by_definition(measure: Measure, options: dict[str, Any], gold: dict[str, float], ranked: list[str]) -> float:
    rest = {name: value for name, value in options.items() if name != "ties"}
    if measure.metric.needs_relevant and not naive.relevant(gold, rest.get("rel")):
        return 0.0
    assert hasattr(naive, measure.name), f"write {measure.name} by its definition in tests/measures/metrics/naive.py"
    return float(getattr(naive, measure.name)(gold, ranked, measure.k, **rest))


@every_metric
def test_alone_as_together(metric: Metric) -> None:
    """Measures share what is worked out for them: which others are asked for changes no digit."""
    chance = random.Random(6)
    gold, ranking = {}, {}
    for query in ("q0", "q1", "q2", "q3"):
        judged = {item: chance.choice([-1, 0, 1, 2, 3]) for item in chance.sample(ITEMS, 8)}
        gold[query] = distinct_grades(judged) if metric.needs_places else judged
        ranking[query] = chance.sample(ITEMS, 9)
    held, found = rankjury.as_gold(gold), rankjury.as_ranking(ranking)
    cut = [Measure(metric.name, k, (("gold", kept),)) for k in cut_offs(metric) if k for kept in ("k", "tied")]
    asked = [*measures(metric), *cut]
    together = rankjury.evaluate(held, found, asked)
    for measure in asked:
        alone = rankjury.evaluate(held, found, [measure])
        assert alone[str(measure)].tobytes() == together[str(measure)].tobytes(), measure


@given(gold=golds, ranked=rankings, k=st.integers(1, 12))
@thorough(100)
def test_cutting_the_gold_at_k_keeps_the_best_k(gold: dict[str, int], ranked: list[str], k: int) -> None:
    """gold=k is the same as handing in only the k best, equal grades by id."""
    best = dict(sorted(gold.items(), key=lambda pair: (-pair[1], pair[0]))[:k])
    spellings = [f"recall@{k}", f"ndcg(gain=exp)@{k}", f"ap(over=found)@{k}"]
    plain = [Measure.parse(spelling).with_options({"empty": "zero"}) for spelling in spellings]
    cut = [measure.with_options({"gold": "k"}) for measure in plain]
    found = rankjury.evaluate({"q": gold}, {"q": ranked}, cut)
    expected = rankjury.evaluate({"q": best}, {"q": ranked}, plain)
    np.testing.assert_array_equal(found.values, expected.values)
