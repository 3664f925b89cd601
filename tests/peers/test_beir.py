"""The beir dialect against what BEIR does: self-matches out, then pytrec_eval, and four loops of its own in Python."""

import pytrec_eval
from hypothesis import given

import rankjury
from tests.peers.agreement import assert_close, assert_same, mean_of, per_query
from tests.peers.strategies import ITEM_IDS, QUERY_IDS, Case, Run, cases, thorough

CUTS = (1, 3, 5, 10, 100)
BY_PYTREC_EVAL = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}
ITEMS = (*ITEM_IDS, *(query for query in QUERY_IDS if query not in ITEM_IDS))


def without_self_matches(run: Run) -> Run:
    return {query: {item: s for item, s in found.items() if item != query} for query, found in run.items()}


def leaves_something(case: Case) -> bool:
    """pytrec_eval dies of an empty result, which dropping the only item would leave."""
    return all(without_self_matches(case.run).values())


def something_relevant(case: Case) -> bool:
    return all(any(grade > 0 for grade in grades.values()) for grades in case.qrels.values())


def top_hits(case: Case, query: str, k: int) -> list[str]:
    """As BEIR takes them: by score descending, equal scores as given."""
    found = without_self_matches(case.run)[query]
    return [item for item, _ in sorted(found.items(), key=lambda pair: pair[1], reverse=True)][:k]


def reciprocal_rank(hits: list[str], relevant: set[str], k: int) -> float:
    return next((1.0 / rank for rank, item in enumerate(hits, start=1) if item in relevant), 0.0)


def capped_recall(hits: list[str], relevant: set[str], k: int) -> float:
    return len(relevant.intersection(hits)) / min(len(relevant), k)


def accuracy(hits: list[str], relevant: set[str], k: int) -> float:
    return float(not relevant.isdisjoint(hits))


BY_BEIR = {"MRR": reciprocal_rank, "R_cap": capped_recall, "Accuracy": accuracy}


@thorough(120)
@given(cases(items=ITEMS).filter(leaves_something))
def test_measures_of_pytrec_eval(case: Case) -> None:
    names = {f"{name}@{k}": f"{theirs}_{k}" for name, theirs in BY_PYTREC_EVAL.items() for k in CUTS}
    cuts = ",".join(map(str, CUTS))
    evaluator = pytrec_eval.RelevanceEvaluator(case.qrels, {f"{name}.{cuts}" for name in BY_PYTREC_EVAL.values()})
    found = evaluator.evaluate(without_self_matches(case.run))
    scores = rankjury.evaluate(case.qrels, case.run, list(names), dialect="beir")
    for name, theirs in names.items():
        expected = {query: values[theirs] for query, values in found.items()}
        assert_same(per_query(scores, name), expected, name)
        assert_close(scores.summary(name).mean, mean_of(expected), f"{name} of all")


@thorough(120)
@given(cases(items=ITEMS, judged=(1, 15), grades=(-1, 0, 1, 1, 2)).filter(something_relevant))
def test_measures_of_its_own(case: Case) -> None:
    """Summed over the queries of the results, divided by the number of judged queries."""
    names = [f"{name}@{k}" for name in BY_BEIR for k in CUTS]
    scores = rankjury.evaluate(case.qrels, case.run, names, dialect="beir")
    relevant = {query: {item for item, g in grades.items() if g > 0} for query, grades in case.qrels.items()}
    for name, function in BY_BEIR.items():
        for k in CUTS:
            expected = dict.fromkeys(case.qrels, 0.0)
            for query in case.qrels.keys() & case.run.keys():
                expected[query] = function(top_hits(case, query, k), relevant[query], k)
            assert_same(per_query(scores, f"{name}@{k}"), expected, f"{name}@{k}")
            assert_close(scores.summary(f"{name}@{k}").mean, sum(expected.values()) / len(case.qrels), f"{name}@{k}")


def test_a_query_is_not_its_own_answer() -> None:
    gold, run = {"q": {"q": 1, "a": 1}}, {"q": {"q": 2.0, "b": 1.0, "a": 0.5}}
    assert rankjury.evaluate(gold, run, ["MRR@10", "P@1"], dialect="beir").mean() == {"MRR@10": 0.5, "P@1": 0.0}


def test_a_missing_query_counts_in_the_measures_of_its_own() -> None:
    gold, run = {"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 1.0}}
    means = rankjury.evaluate(gold, run, ["MRR@10", "R_cap@10", "Accuracy@10", "Recall@10"], dialect="beir").mean()
    assert means == {"MRR@10": 0.5, "R_cap@10": 0.5, "Accuracy@10": 0.5, "Recall@10": 1.0}
