"""The trec_eval dialect against pytrec_eval, which is trec_eval 9 itself."""

import math

import pytest
import pytrec_eval
from hypothesis import given

import rankjury
from rankjury.errors import UnknownName
from tests.peers.agreement import assert_close, assert_same, per_query
from tests.peers.strategies import Case, cases, thorough

CUTS = (1, 2, 3, 5, 10, 15, 30, 100)
PLAIN = (
    "map", "Rprec", "bpref", "recip_rank", "infAP", "11pt_avg", "ndcg", "set_P", "set_relative_P", "set_recall",
    "set_map", "set_F", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "utility", "num_q",
)  # fmt: skip
WITH_CUT = ("P", "recall", "ndcg_cut", "map_cut", "success", "relative_P")
GEOMETRIC = ("gm_map", "gm_bpref")
LEVELS = (
    *(f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)),
    *(f"Rprec_mult_{times:.2f}" for times in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)),
)
NAMES = (*PLAIN, *GEOMETRIC, *LEVELS, *(f"{name}_{k}" for name in WITH_CUT for k in CUTS))

# Names that rankjury has of its own: without a dialect they mean rankjury's measure, not trec_eval's.
SHARED_NAMES = {
    "map", "gm_map", "ndcg", "bpref", "gm_bpref", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility",
}  # fmt: skip
# pytrec_eval reports these as 0 or not at all: they are texts, or no measure of the ranking.
NOT_NUMBERS = {"runid", "relstring"}
# Measures of pytrec_eval that rankjury has no name for; the test below fails when this list is out of date.
NOT_READ = {"G", "binG", "Rndcg", "ndcg_rel"}


def asked_of_pytrec_eval() -> set[str]:
    """pytrec_eval wants all cut-offs of a measure in one name."""
    cuts = ",".join(map(str, CUTS))
    return {*PLAIN, *GEOMETRIC, "iprec_at_recall", "Rprec_mult", *(f"{name}.{cuts}" for name in WITH_CUT)}


def by_pytrec_eval(case: Case, relevance_level: int = 1) -> dict[str, dict[str, float]]:
    """Measure to query to value."""
    evaluator = pytrec_eval.RelevanceEvaluator(case.qrels, asked_of_pytrec_eval(), relevance_level=relevance_level)
    found = evaluator.evaluate(case.run)
    return {name: {query: values[name] for query, values in found.items()} for name in NAMES}


def floored_log(value: float) -> float:
    """What trec_eval holds for a query where the mean is geometric."""
    return math.log(max(value, 0.00001))


def assert_agrees(scores: rankjury.Scores, expected: dict[str, dict[str, float]]) -> None:
    for name, values in expected.items():
        found = per_query(scores, name)
        if name in GEOMETRIC:
            found = {query: floored_log(value) for query, value in found.items()}
        assert_same(found, values, name)
        summary = scores.summary(name)
        aggregate = pytrec_eval.compute_aggregated_measure(name, list(values.values()))
        assert_close(summary.mean if summary.total is None else summary.total, aggregate, f"{name} of all")


# What once differed, each in its smallest form: the measure, judgments and run of one query, and the relevance level.
TRAPS = {
    "the eleven points are added from the last to the first": (
        "11pt_avg", {"d10": 1, "D2": 1}, {"d1": 0.0, "d10": 0.0, "d2": 0.0, "d02": 0.0, "D2": 0.0}, 1,
    ),
    "set_map is one quotient, not a product of two": (
        "set_map", dict.fromkeys("abcde", 1), dict.fromkeys("avwxy", 1.0), 1,
    ),
    "ndcg takes no notice of the relevance level": ("ndcg", {"a": 1, "b": 0}, {"b": 2.0, "a": 1.0}, 2),
    "nor does ndcg_cut": ("ndcg_cut_10", {"a": 1, "b": 2}, {"a": 2.0, "b": 1.0}, 2),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_a_known_trap(trap: str) -> None:
    name, grades, found, level = TRAPS[trap]
    expected = by_pytrec_eval(Case({"q": grades}, {"q": found}), level)[name]["q"]
    assert rankjury.evaluate({"q": grades}, {"q": found}, [name], dialect="trec_eval", rel=level).mean() == {
        name: expected
    }


@thorough(200)
@given(cases())
def test_every_measure_to_the_last_digit(case: Case) -> None:
    assert_agrees(rankjury.evaluate(case.qrels, case.run, NAMES, dialect="trec_eval"), by_pytrec_eval(case))


@thorough(80)
@given(cases())
def test_a_higher_relevance_level(case: Case) -> None:
    scores = rankjury.evaluate(case.qrels, case.run, NAMES, dialect="trec_eval", rel=2)
    assert_agrees(scores, by_pytrec_eval(case, relevance_level=2))


@thorough(60)
@given(cases())
def test_names_that_are_only_trec_evals_need_no_dialect(case: Case) -> None:
    names = [name for name in NAMES if name not in SHARED_NAMES]
    expected = by_pytrec_eval(case)
    assert_agrees(rankjury.evaluate(case.qrels, case.run, names), {name: expected[name] for name in names})


@pytest.mark.parametrize("name", sorted(SHARED_NAMES))
def test_a_shared_name_without_a_dialect_is_rankjurys(name: str) -> None:
    run = {"q": {"a": 1.0}}
    (convention,) = rankjury.evaluate({"q": {"a": 1}}, run, [name]).conventions
    assert convention == str(rankjury.Measure.parse(name))


@thorough(60)
@given(cases())
def test_missing_zero_is_the_option_c(case: Case) -> None:
    """trec_eval -c averages over all judged queries, those that the run lacks counting 0."""
    averaged = [name for name in NAMES if not name.startswith(("num_", "gm_", "utility"))]
    scores = rankjury.evaluate(case.qrels, case.run, averaged, dialect="trec_eval", missing="zero")
    expected = by_pytrec_eval(case)
    judged = {query for query, grades in case.qrels.items() if grades}
    for name in averaged:
        filled = {query: expected[name].get(query, 0.0) for query in judged}
        assert_same(per_query(scores, name), filled, name)
        assert_close(scores.summary(name).mean, math.fsum(filled.values()) / len(judged), f"{name} of all")


def test_every_measure_of_pytrec_eval_is_compared_or_known_to_lack_a_name() -> None:
    compared = {*PLAIN, *GEOMETRIC, *WITH_CUT, "iprec_at_recall", "Rprec_mult"}
    assert set(pytrec_eval.supported_measures) == compared | NOT_NUMBERS | NOT_READ


@pytest.mark.parametrize("name", sorted(NOT_READ))
def test_a_measure_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(UnknownName):
        rankjury.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [name])


def test_scores_that_differ_beyond_single_precision_tie() -> None:
    """The published trap: 1 + 1e-9 is 1 in trec_eval 9, so the id decides, and a better-scored item comes second."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    assert pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["q"]["recip_rank"] == 0.5
    assert rankjury.evaluate(qrels, run, ["recip_rank"]).mean() == {"recip_rank": 0.5}
    assert rankjury.evaluate(qrels, run, ["recip_rank"], dialect="trec_eval-10").mean() == {"recip_rank": 1.0}


def test_what_pytrec_eval_dies_of() -> None:
    """An empty result and judgments that are all negative are a query like others: present, with nothing relevant."""
    gold = {"empty": {"a": 1}, "negative": {"a": -1}, "usual": {"a": 1}}
    run = {"empty": {}, "negative": {"a": 1.0}, "usual": {"a": 1.0}}
    scores = rankjury.evaluate(gold, run, ["map", "ndcg", "num_ret"], dialect="trec_eval")
    assert per_query(scores, "map") == per_query(scores, "ndcg") == {"empty": 0.0, "negative": 0.0, "usual": 1.0}
    assert per_query(scores, "num_ret") == {"empty": 0.0, "negative": 1.0, "usual": 1.0}


def test_scores_too_large_for_single_precision_tie() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 2e39, "b": 1e39}}
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)["q"]["recip_rank"]
    assert rankjury.evaluate(qrels, run, ["recip_rank"]).mean() == {"recip_rank": expected}
