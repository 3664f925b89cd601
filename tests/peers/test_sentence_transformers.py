"""The sentence-transformers dialect against its InformationRetrievalEvaluator, written out here.

The library needs torch, so its definitions are repeated here: relevance is membership in a set, queries without
relevant documents are dropped, and hits are sorted by score, equal scores by id. Until version 5.7 equal scores were in
the order of a heap; version 6 sorts them by id.
"""

import math
from collections.abc import Callable

from hypothesis import given

import rankjury
from tests.peers.agreement import assert_close, assert_same, mean_of, per_query
from tests.peers.strategies import Case, cases, thorough

CUTS = (1, 3, 5, 10, 100)


def accuracy(hits: list[bool], relevant: int, k: int) -> float:
    return float(any(hits))


def precision(hits: list[bool], relevant: int, k: int) -> float:
    return sum(hits) / k


def recall(hits: list[bool], relevant: int, k: int) -> float:
    return sum(hits) / relevant


def mrr(hits: list[bool], relevant: int, k: int) -> float:
    return 1 / (hits.index(True) + 1) if True in hits else 0.0


def dcg(gains: list[bool]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ndcg(hits: list[bool], relevant: int, k: int) -> float:
    return dcg(hits) / dcg([True] * min(k, relevant))


def average_precision(hits: list[bool], relevant: int, k: int) -> float:
    precisions = [sum(hits[:rank]) / rank for rank, hit in enumerate(hits, start=1) if hit]
    return math.fsum(precisions) / min(k, relevant)


REFERENCE: dict[str, Callable[[list[bool], int, int], float]] = {
    "accuracy": accuracy, "precision": precision, "recall": recall, "mrr": mrr, "ndcg": ndcg, "map": average_precision,
}  # fmt: skip


def top_hits(found: dict[str, float]) -> list[str]:
    return [item for item, _ in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))]


def expected_values(case: Case, name: str, k: int) -> dict[str, float]:
    """By query; every judged query is searched for, so one that the run lacks found nothing."""
    values = {}
    for query, grades in case.qrels.items():
        relevant = {item for item, grade in grades.items() if grade > 0}
        if relevant:
            hits = [item in relevant for item in top_hits(case.run.get(query, {}))[:k]]
            values[query] = REFERENCE[name](hits, len(relevant), k)
    return values


@thorough(120)
@given(cases(grades=(0, 1, 2)))
def test_every_measure(case: Case) -> None:
    names = [f"{name}@{k}" for name in REFERENCE for k in CUTS]
    scores = rankjury.evaluate(case.qrels, case.run, names, dialect="sentence-transformers")
    for name in REFERENCE:
        for k in CUTS:
            label, expected = f"{name}@{k}", expected_values(case, name, k)
            assert_same(per_query(scores, label), expected, label, exact=False)
            if expected:
                assert_close(scores.summary(label).mean, mean_of(expected), f"{label} of all")
            assert scores.summary(label).n == len(expected)


def test_values_of_the_library() -> None:
    """What InformationRetrievalEvaluator.compute_metrics of sentence-transformers 6.2.0 returned for these hits."""
    gold = {"q1": {"a": 1, "c": 1}, "q2": {"b": 2, "d": 0}, "q3": {"a": 0}}
    run = {"q1": {"b": 1.0, "c": 1.0, "a": 1.0, "d": 0.5}, "q2": {"d": 2.0, "c": 1.0, "b": 1.0, "a": 1.0}}
    expected = {
        "accuracy@1": 0.5,
        "precision@3": 0.5,
        "recall@1": 0.25,
        "ndcg@3": 0.7098603945740938,
        "mrr@3": 0.6666666666666666,
        "map@3": 0.5833333333333333,
    }
    assert rankjury.evaluate(gold, run, list(expected), dialect="sentence-transformers").mean() == expected


def test_gold_as_sets_of_relevant_documents() -> None:
    """The form in which the evaluator takes its relevant_docs."""
    gold, run = {"q": {"a", "b"}, "p": set[str]()}, {"q": {"a": 2.0, "c": 1.0, "b": 0.5}, "p": {"a": 1.0}}
    scores = rankjury.evaluate(gold, run, ["map@2", "recall@2"], dialect="sentence-transformers")
    assert scores.mean() == {"map@2": 0.5, "recall@2": 0.5}
