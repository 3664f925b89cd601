"""The elasticsearch dialect against its ranking evaluation API, written out here, and against values it publishes."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given

import rankjury
from tests.peers.agreement import assert_close, assert_same, mean_of, per_query
from tests.peers.strategies import Case, cases, thorough

CUTS = (1, 3, 5, 10, 100)


def gains(grades: list[int]) -> float:
    return math.fsum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def dcg(hits: list[int], ratings: list[int]) -> float:
    return gains(hits)


def ndcg(hits: list[int], ratings: list[int]) -> float:
    """The ideal list holds no more ratings than there were hits, so a single good hit scores 1."""
    ideal = gains(sorted(ratings, reverse=True)[: len(hits)])
    return gains(hits) / ideal if ideal else 0.0


def precision(hits: list[int], ratings: list[int]) -> float:
    return sum(grade >= 1 for grade in hits) / len(hits) if hits else 0.0


def recall(hits: list[int], ratings: list[int]) -> float:
    relevant = sum(grade >= 1 for grade in ratings)
    return sum(grade >= 1 for grade in hits) / relevant if relevant else 0.0


def reciprocal_rank(hits: list[int], ratings: list[int]) -> float:
    return next((1 / rank for rank, grade in enumerate(hits, start=1) if grade >= 1), 0.0)


REFERENCE: dict[str, Callable[[list[int], list[int]], float]] = {
    "dcg": dcg, "ndcg": ndcg, "precision": precision, "recall": recall, "rr": reciprocal_rank,
}  # fmt: skip


def expected_values(case: Case, name: str, k: int) -> dict[str, float]:
    values = {}
    for query, grades in case.qrels.items():
        found = sorted(case.run.get(query, {}).items(), key=lambda pair: pair[1], reverse=True)
        if grades:
            values[query] = REFERENCE[name]([grades.get(item, 0) for item, _ in found[:k]], list(grades.values()))
    return values


@thorough(120)
@given(cases(grades=(0, 1, 2, 3)))
def test_every_measure(case: Case) -> None:
    names = [f"{name}@{k}" for name in REFERENCE for k in CUTS]
    scores = rankjury.evaluate(case.qrels, case.run, names, dialect="elasticsearch")
    for name in REFERENCE:
        for k in CUTS:
            label, expected = f"{name}@{k}", expected_values(case, name, k)
            assert_same(per_query(scores, label), expected, label, exact=False)
            assert_close(scores.summary(label).mean, mean_of(expected), f"{label} of all")


# Elasticsearch's own unit tests: grades in the order of the hits (None is unrated), hits returned, DCG, ideal DCG.
PUBLISHED = (
    ((3, 2, 3, 0, 1, 2), 6, 13.84826362927298, 14.595390756454922),
    ((3, 2, 3, None, 1), 6, 12.779642067948913, 13.347184833073591),
    ((3, 2, 3, None, 1, None), 4, 12.392789260714371, 13.347184833073591),
)


@pytest.mark.parametrize(("grades", "returned", "dcg_value", "ideal"), PUBLISHED)
def test_published_values(grades: tuple[int | None, ...], returned: int, dcg_value: float, ideal: float) -> None:
    gold = {"q": {f"d{n}": grade for n, grade in enumerate(grades) if grade is not None}}
    run = {"q": [f"d{n}" for n in range(returned)]}
    means = rankjury.evaluate(gold, run, ["dcg(gain=exp)@6", "dcg@6", "ndcg@6"], dialect="elasticsearch").mean()
    assert_close(means["dcg(gain=exp)@6"], dcg_value, "DCG")
    assert_close(means["dcg@6"], dcg_value, "DCG")
    assert_close(means["ndcg@6"], dcg_value / ideal, "nDCG")


def test_opensearch_cuts_the_ideal_list_at_k() -> None:
    """One good hit of three judged: a whole score in Elasticsearch, whose ideal list is as long as the returned one."""
    gold, run = {"q": {"a": 2, "b": 1, "c": 1}}, {"q": ["a", "x"]}
    names = ["ndcg@10", "precision@10"]
    elastic = rankjury.evaluate(gold, {"q": ["a"]}, names, dialect="elasticsearch").mean()
    assert elastic == {"ndcg@10": 1.0, "precision@10": 1.0}
    found = rankjury.evaluate(gold, run, names, dialect="opensearch").mean()
    assert found["ndcg@10"] == pytest.approx(3 / (3 + 1 / math.log2(3) + 1 / math.log2(4)), rel=1e-12)
    assert found["precision@10"] == 0.5
