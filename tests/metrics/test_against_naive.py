"""Every metric under every combination of its options, against its definition written out."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.measure import METRICS, Measure, Metric, Option

from . import naive

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
        return [option.usual]
    return list(option.choices) or NUMBERS[option.name]


def combinations(metric: Metric) -> Iterator[dict[str, Any]]:
    names = [option.name for option in metric.options]
    for chosen in itertools.product(*(values_of(option) for option in metric.options)):
        yield {name: value for name, value in zip(names, chosen, strict=True) if value is not None}


def cases() -> Iterator[tuple[Metric, dict[str, Any]]]:
    for metric in METRICS:
        for options in combinations(metric):
            yield metric, options


def cut_offs(metric: Metric) -> list[int | None]:
    return [None] if metric.cut == "none" else [None, 1, 3, 5, 20]


grades = st.sampled_from([-1, 0, 0, 1, 1, 2, 3])
golds = st.dictionaries(st.sampled_from(ITEMS), grades, min_size=1)
rankings = st.lists(st.sampled_from(ITEMS), unique=True)


def distinct_grades(gold: dict[str, int]) -> dict[str, float]:
    """An ordered gold, for metrics that need one."""
    return {item: float(place) for place, item in enumerate(gold, 1)}


@pytest.mark.parametrize(
    ("metric", "options"), list(cases()), ids=lambda v: v.name if isinstance(v, Metric) else str(v)
)
@given(data=st.lists(st.tuples(golds, rankings), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_like_the_definition(metric: Metric, options: dict[str, Any], data: list[tuple[Any, list[str]]]) -> None:
    gold = {f"q{n}": distinct_grades(g) if metric.needs_places else g for n, (g, _) in enumerate(data)}
    ranking = {f"q{n}": ranked for n, (_, ranked) in enumerate(data)}
    function = getattr(naive, metric.name)
    rest = {name: value for name, value in options.items() if name != "ties"}
    for k in cut_offs(metric):
        measure = Measure(metric.name, k, tuple(options.items())).having({"empty": "zero"})
        found = karat.evaluate(gold, ranking, [measure])[str(measure)]
        expected = [
            function(gold[query], ranking[query], k, **rest) if has_relevant(metric, gold[query], rest) else 0.0
            for query in gold
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def has_relevant(metric: Metric, gold: dict[str, float], options: dict[str, Any]) -> bool:
    return not metric.needs_relevant or bool(naive.relevant(gold, options.get("rel")))


@given(gold=golds, ranked=rankings, k=st.integers(1, 12))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_cutting_the_gold_at_k_keeps_the_best_k(gold: dict[str, int], ranked: list[str], k: int) -> None:
    """gold=k is the same as handing in only the k best, equal grades by id."""
    best = dict(sorted(gold.items(), key=lambda pair: (-pair[1], pair[0]))[:k])
    for spelling in (f"recall@{k}", f"ndcg(gain=exp)@{k}", f"ap(over=found)@{k}"):
        measure = Measure.parse(spelling).having({"empty": "zero"})
        cut = measure.having({"gold": "k"})
        found = karat.evaluate({"q": gold}, {"q": ranked}, [cut])[str(cut)]
        expected = karat.evaluate({"q": best}, {"q": ranked}, [measure])[str(measure)]
        np.testing.assert_array_equal(found, expected)
