"""Usual names: given where they are true of every query, and nowhere else."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.errors import UsageError
from rankjury.measures.dialects import find_dialect, metric_facts, resolve
from rankjury.measures.measure import METRICS, Measure, common_name, common_names, with_common_name
from tests.peers.strategies import Case, cases
from tests.stats.support import thorough

MISNAMED = ("recall(over=k)@5", "precision(over=relevant)@5", "recall(over=k)", "precision(over=relevant)")


@pytest.mark.parametrize(
    ("spelling", "usual"),
    [
        ("recall(over=k)@5", "precision@5"),
        ("recall(over=k)", "precision"),
        ("precision(over=relevant)@5", "recall@5"),
        ("precision(over=relevant)", "recall"),
        ("recall(over=k,rel=1,self=drop,empty=zero)@3", "precision@3"),
        ("precision(over=relevant,rel=1,self=drop)@3", "recall@3"),
        ("recall(over=k,gold=all)@5", "precision@5"),
        ("recall@5", None),
        ("precision@5", None),
        ("recall(over=min)@5", None),
        ("precision(over=retrieved)@5", None),
        ("ap(over=found)@5", None),
        ("ap(over=min)@5", None),
        ("recall(over=k,gold=k)@5", None),
        ("recall(over=k,gold=tied)@5", None),
        ("precision(over=relevant,gold=k)@5", None),
        ("ndcg(gain=binary)@5", None),
    ],
)
def test_the_usual_name(spelling: str, usual: str | None) -> None:
    assert common_name(Measure.parse(spelling)) == usual
    assert common_name(spelling) == usual


def test_a_name_that_is_not_registered_has_none() -> None:
    assert common_name("somebody's@5") is None


def test_no_other_metric_has_one() -> None:
    found = {spelling: usual for metric in METRICS for spelling, usual in metric_facts(metric)["common_names"].items()}
    assert found == {"recall(over=k)": "precision", "precision(over=relevant)": "recall"}


def test_both_names_beside_each_other() -> None:
    conventions = {"Recall@5": "recall(over=k,rel=1)@5", "MAP": "ap(rel=1)"}
    assert common_names(conventions) == {"Recall@5": "precision@5"}
    assert with_common_name("Recall@5", "precision@5") == "Recall@5 = precision@5"
    assert with_common_name("Recall@5", "recall@5") == "Recall@5"


def test_hits_is_shown_as_the_recall_that_it_is() -> None:
    """Elsewhere it is a hit rate, or a count; a dialect that counts says so by its own name."""
    conventions = {"hits@5": "recall@5", "hits": "recall(rel=2)", "hits@3": "hit_count@3"}
    assert common_names(conventions) == {"hits@5": "recall@5", "hits": "recall"}
    assert with_common_name("MAP", None) == "MAP"


@thorough(60)
@given(
    cases(),
    st.sampled_from(MISNAMED),
    st.fixed_dictionaries(
        {
            "rel": st.sampled_from((None, 1.0, 2.0)),
            "ties": st.sampled_from(("id", "id-desc", "order")),
            "self": st.sampled_from(("keep", "drop")),
            "empty": st.sampled_from(("skip", "zero")),
            "missing": st.sampled_from(("skip", "zero")),
        }
    ),
)
def test_it_is_the_same_for_every_query(case: Case, spelling: str, options: dict[str, str | float | None]) -> None:
    """Under any conventions that hold for both names."""
    misnamed = Measure.parse(spelling).with_options(options)
    usual = common_name(misnamed)
    assert usual is not None
    scores = rankjury.evaluate(case.qrels, case.run, [misnamed, Measure.parse(usual).with_options(options)])
    np.testing.assert_array_equal(scores.values[:, 0], scores.values[:, 1])


@pytest.mark.parametrize(
    ("spelling", "value", "not_these"),
    [
        ("recall(over=min)@5", 1.0, ["precision@5", "r_precision"]),
        ("recall(over=min)@1", 0.0, ["recall@2"]),
        ("precision(over=retrieved)@5", 2 / 3, ["precision@5", "recall@5"]),
        ("ap(over=found)@2", 1 / 2, ["ap@2", "precision@5", "rr@1"]),
    ],
)
def test_what_has_no_usual_name_is_something_else(spelling: str, value: float, not_these: list[str]) -> None:
    """Two relevant, at ranks 2 and 3 of three results."""
    means = rankjury.evaluate({"q": {"a": 1, "b": 1}}, {"q": ["x", "a", "b"]}, [spelling, *not_these]).mean()
    assert means[spelling] == value
    assert value not in [means[name] for name in not_these]


def test_scores_show_both() -> None:
    scores = rankjury.evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, ["Recall@2", "MAP"], dialect="alfa")
    assert scores.common_names == {"Recall@2": "precision@2"}
    assert "\nRecall@2 = precision@2  0.5000  1          0\n" in repr(scores)
    assert ">Recall@2 = precision@2</" in scores._repr_html_()
    assert list(scores.mean()) == ["Recall@2", "MAP"]


@pytest.mark.parametrize(
    ("typed", "own"),
    [
        ("ndcg_at_10", "ndcg@10"),
        ("recall_at_100", "recall@100"),
        ("precision-at-5", "precision@5"),
        ("ndcg @ 10", "ndcg@10"),
        ("ndcg(gain=exp) @ 10", "ndcg(gain=exp)@10"),
        ("p@5", "precision@5"),
        ("r@10", "recall@10"),
        ("HR@10", "hit_rate@10"),
        ("hitrate@10", "hit_rate@10"),
        ("RECALL@10", "recall@10"),
        ("F1@5", "f1@5"),
        ("Ndcg(rel=2)@10", "ndcg(rel=2)@10"),
        ("rprec", "r_precision"),
    ],
)
def test_spellings_of_no_tool_are_rankjurys_own(typed: str, own: str) -> None:
    assert resolve(typed).measure == resolve(own).measure == Measure.parse(own)
    assert resolve(typed).label == resolve(own).label


@pytest.mark.parametrize("tool", ["nDCG @ 10", "NDCG_at_10"])
def test_a_tools_name_keeps_its_conventions(tool: str) -> None:
    assert resolve(tool).measure == resolve("nDCG@10").measure != resolve("ndcg@10").measure


def test_names_of_mteb_are_mtebs_under_its_dialect_alone() -> None:
    assert resolve("mrr_at_10", "mteb").measure == resolve("rr(scores=double)@10", "trec_eval").measure
    assert resolve("mrr_at_10").measure == resolve("rr@10").measure
    assert resolve("accuracy", "mteb").measure == resolve("recall_at_1", "mteb").measure
    assert resolve("accuracy").measure.name == "hit_rate"


@pytest.mark.parametrize(
    ("name", "tool", "own"),
    [
        ("Accuracy", "ir_measures", "hit_rate"),
        ("Accuracy@5", "rectools", "hit_rate"),
        ("Novelty(unseen=one)@5", "replay", "novelty"),
    ],
)
def test_a_name_that_is_another_measure_there_is_refused(name: str, tool: str, own: str) -> None:
    """ir_measures calls the share of correctly ordered pairs Accuracy, BEIR and rankjury the hit rate."""
    with pytest.raises(UsageError, match=f"of {tool} is the share of .*, which rankjury does not compute"):
        resolve(name, tool)
    assert resolve(name).measure.name == own


@pytest.mark.parametrize(
    ("typed", "near"),
    [("ndcg10", "ndcg@10"), ("ndcg-10", "ndcg@10"), ("recall_5x", "recall"), ("Hits@10", "hit_rate@10")],
)
def test_what_is_not_known_is_suggested_rightly(typed: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"unknown measure.*Did you mean.*{near}"):
        resolve(typed)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("pytrec_eval", "trec_eval"),
        ("pytrec-eval", "trec_eval"),
        ("trec-eval", "trec_eval"),
        ("trec_eval 10", "trec_eval-10"),
        ("ir-measures", "ir_measures"),
        ("MTEB", "mteb"),
        ("sentence_transformers", "sentence-transformers"),
        ("scikit-learn", "sklearn"),
    ],
)
def test_other_names_of_dialects(typed: str, name: str) -> None:
    assert find_dialect(typed).name == name
    assert resolve("ndcg@10", typed).measure == resolve("ndcg@10", name).measure


def test_an_unknown_dialect() -> None:
    with pytest.raises(UsageError, match=r"unknown dialect 'trec_evl'\. Did you mean trec_eval"):
        find_dialect("trec_evl")
