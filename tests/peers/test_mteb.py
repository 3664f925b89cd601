"""The mteb dialect against what MTEB does: pytrec_eval, and a loop of its own for MRR with ties by id descending."""

import pytrec_eval
from hypothesis import given

import rankjury
from tests.peers.agreement import assert_close, assert_same, mean_of, per_query
from tests.peers.strategies import Case, cases, thorough

CUTS = (1, 3, 5, 10, 100)
BY_PYTREC_EVAL = {"ndcg": "ndcg_cut", "map": "map_cut", "recall": "recall", "precision": "P", "hit_rate": "success"}


def reciprocal_rank(case: Case, query: str, k: int) -> float:
    hits = sorted(case.run[query].items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:k]
    relevant = {item for item, grade in case.qrels[query].items() if grade > 0}
    return next((1.0 / rank for rank, (item, _) in enumerate(hits, start=1) if item in relevant), 0.0)


@thorough(120)
@given(cases())
def test_measures_of_pytrec_eval(case: Case) -> None:
    names = {f"{name}_at_{k}": f"{theirs}_{k}" for name, theirs in BY_PYTREC_EVAL.items() for k in CUTS}
    cuts = ",".join(map(str, CUTS))
    evaluator = pytrec_eval.RelevanceEvaluator(case.qrels, {f"{name}.{cuts}" for name in BY_PYTREC_EVAL.values()})
    found = evaluator.evaluate(case.run)
    scores = rankjury.evaluate(case.qrels, case.run, list(names), dialect="mteb")
    for name, theirs in names.items():
        expected = {query: values[theirs] for query, values in found.items()}
        assert_same(per_query(scores, name), expected, name)
        assert_close(scores.summary(name).mean, mean_of(expected), f"{name} of all")


@thorough(120)
@given(cases())
def test_mrr(case: Case) -> None:
    """Averaged over the judged queries of the results."""
    names = [f"mrr_at_{k}" for k in CUTS]
    scores = rankjury.evaluate(case.qrels, case.run, names, dialect="mteb")
    for k in CUTS:
        judged = [query for query, grades in case.qrels.items() if grades and query in case.run]
        expected = {query: reciprocal_rank(case, query, k) for query in judged}
        assert_same(per_query(scores, f"mrr_at_{k}"), expected, f"mrr_at_{k}")
        assert_close(scores.summary(f"mrr_at_{k}").mean, mean_of(expected), f"mrr_at_{k} of all")


def test_equal_scores_and_a_query_that_is_missing() -> None:
    gold, run = {"q": {"a": 1}, "gone": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    scores = rankjury.evaluate(gold, run, ["mrr_at_10", "ndcg_at_10"], dialect="MTEB")
    assert scores.summary("mrr_at_10").mean == 0.5
    assert scores.summary("ndcg_at_10").mean == 1 / 1.584962500721156
