"""Spellings: they parse, print canonically, parse back; aliases mean what their tools mean."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

import rankjury
from rankjury.measures.dialects import DIALECTS, resolve
from rankjury.measures.judged import Judged
from rankjury.measures.measure import METRICS, Measure, Metric, Option, metric
from tests.stats.support import thorough


def drawn(option: Option) -> st.SearchStrategy[Any]:
    if option.choices:
        return st.sampled_from(option.choices)
    low, high = max(option.low, 0.0), min(option.high, 10.0)
    return st.one_of(st.just(float(int(high))), st.floats(low, high).map(lambda x: round(x, 6)))


@st.composite
def measures(draw: Any) -> Measure:
    entry: Metric = draw(st.sampled_from(list(METRICS)))
    k = None if entry.cut == "none" else draw(st.one_of(st.none(), st.integers(1, 10**6)))
    chosen = draw(st.lists(st.sampled_from(entry.all_options), unique=True))
    options = {option.name: draw(drawn(option)) for option in chosen}
    if k is None:
        options.pop("gold", None)
    return Measure(entry.name, k, tuple(options.items()))


@given(measures())
@thorough(400)
def test_every_measure_parses_back(measure: Measure) -> None:
    assert Measure.parse(str(measure)) == measure
    assert str(Measure.parse(str(measure))) == str(measure)
    assert Measure.parse(measure.spelled_out()) == measure
    assert hash(Measure.parse(str(measure))) == hash(measure)


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("ndcg@10", "ndcg@10"),
        ("ndcg( gain = exp )@5", "ndcg(gain=exp)@5"),
        ("ndcg(gain=linear)@5", "ndcg@5"),
        ("precision(rel=4.0)@10", "precision(rel=4)@10"),
        ("recall(rel=2,over=k)@5", "recall(over=k,rel=2)@5"),
        ("map", "ap"),
        ("mrr@10", "rr@10"),
        ("success@5", "hit_rate@5"),
        ("hits@5", "recall@5"),
        ("rbo(p=0.95)", "rbo(p=0.95)"),
    ],
)
def test_canonical_spelling(given: str, canonical: str) -> None:
    assert str(Measure.parse(given)) == canonical


TREC = "rel=1,ties=id-desc,scores=single,empty=zero,missing=skip"
IR = "rel=1,ties=id-desc,scores=single,empty=zero"
RANX = "rel=1,ties=order,empty=zero"
# The default of precision, rr and the like is empty=zero, so that it is not part of the spelling.
TREC_DEFINED, IR_DEFINED, RANX_DEFINED = (one.replace(",empty=zero", "") for one in (TREC, IR, RANX))


@pytest.mark.parametrize(
    ("alias", "means"),
    [
        ("ndcg_cut_10", f"ndcg({TREC})@10"),
        ("map_cut_100", f"ap({TREC})@100"),
        ("recip_rank", f"rr({TREC_DEFINED})"),
        ("P_10", f"precision({TREC_DEFINED})@10"),
        ("success_5", f"hit_rate({TREC_DEFINED})@5"),
        ("recall_100", f"recall({TREC})@100"),
        ("Rprec", f"r_precision({TREC})"),
        ("set_P", f"precision(over=retrieved,{TREC_DEFINED})"),
        ("relative_P_10", f"recall(over=min,{TREC})@10"),
        ("iprec_at_recall_0.10", f"iprec(at=0.1,{TREC})"),
        ("nDCG@10", f"ndcg({IR})@10"),
        ("nDCG(dcg='exp-log2')@10", "ndcg(gain=exp,rel=1,ties=id-desc,empty=zero)@10"),
        ("AP@100", f"ap({IR})@100"),
        ("AP(rel=2)@100", f"ap({IR.replace('rel=1', 'rel=2')})@100"),
        ("RR", f"rr({IR_DEFINED})"),
        ("RR@10", "rr(rel=1)@10"),
        ("R@100", f"recall({IR})@100"),
        ("ndcg_burges@10", f"ndcg(gain=exp,{RANX})@10"),
        ("rbp.95", f"rbp(p=0.95,gain=linear,{RANX_DEFINED})"),
        ("map@100-l2", f"ap({RANX.replace('rel=1', 'rel=2')})@100"),
    ],
)
def test_names_of_other_tools_keep_their_conventions(alias: str, means: str) -> None:
    asked = resolve(alias)
    assert (asked.label, str(asked.measure)) == (alias, means)


@pytest.mark.parametrize(
    ("measure", "mean", "skipped"),
    [
        ("precision@2", 0.25, 0.5),
        ("precision(over=retrieved)@2", 0.25, 0.5),
        ("precision(over=relevant)@2", 1.0, 1.0),
        ("recall@2", 1.0, 1.0),
        ("recall(over=k)@2", 0.25, 0.5),
        ("recall(over=min)@2", 1.0, 1.0),
        ("rr", 0.5, 1.0),
        ("ndcg", 1.0, 1.0),
    ],
)
def test_only_measures_over_the_relevant_leave_out_a_query_with_nothing_relevant(
    measure: str, mean: float, skipped: float
) -> None:
    """Precision of such a query is 0; it was left out, so that the mean over users was too high."""
    gold, run = {"q": {"a": 1.0}, "r": {"a": 0.0}}, {"q": ["a", "b"], "r": ["a", "b"]}
    assert list(rankjury.evaluate(gold, run, measure).mean().values()) == [mean]
    assert list(rankjury.evaluate(gold, run, measure, empty="skip").mean().values()) == [skipped]
    by_spelling = Measure.parse(measure).with_options({"empty": "skip"})
    assert Measure.parse(str(by_spelling)) == by_spelling
    assert list(rankjury.evaluate(gold, run, [str(by_spelling)]).mean().values()) == [skipped]


def test_an_option_of_the_call_holds_whatever_the_divisor() -> None:
    """The default of ``empty`` depends on ``over``; a value that equals one default is not lost under the other."""
    assert str(resolve("precision(over=relevant)@5", None, {"empty": "zero"}).measure) == (
        "precision(over=relevant,empty=zero)@5"
    )
    assert str(resolve("recall(over=k)@5", None, {"empty": "skip"}).measure) == "recall(over=k,empty=skip)@5"


def test_hits_is_recall_save_under_ranx() -> None:
    gold, run = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}, {"q": ["a", "x", "b"]}
    assert rankjury.evaluate(gold, run, "hits@5").mean() == {"hits@5": 0.5}
    assert rankjury.evaluate(gold, run, "hits@5", dialect="ranx").mean() == {"hits@5": 2.0}


def test_a_dialect_yields_to_what_the_spelling_sets() -> None:
    assert resolve("ndcg(gain=linear)@10", "elasticsearch").measure["gain"] == "linear"
    assert resolve("ndcg@10", "elasticsearch").measure["gain"] == "exp"
    assert resolve("ndcg@10", "trec_eval", {"missing": "zero"}).measure["missing"] == "zero"
    assert resolve("ndcg(missing=skip)@10", None, {"missing": "zero"}).measure["missing"] == "skip"


def test_every_dialect_takes_every_metric() -> None:
    for dialect in DIALECTS:
        for entry in METRICS:
            k = None if entry.cut == "none" else 10
            measure = resolve(str(Measure(entry.name, k)), dialect.name).measure
            assert Measure.parse(str(measure)) == measure


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        ("ndgc@10", "Did you mean ndcg@10"),
        ("NDGC@10", "Did you mean"),
        ("recal", "Did you mean recall"),
        ("ndcg(gian=exp)@10", "Did you mean gain"),
        ("ndcg(gain=expo)@10", "Did you mean exp"),
        ("nDCG(dcg='exp')@10", "Did you mean exp-log2"),
        ("ndcg@ten", "a whole number from 1"),
        ("ndcg@0", "a whole number from 1"),
        ("ndcg(@10", "cannot read the measure"),
        ("ndcg(gain)@10", "key=value"),
        ("bpref@5", "takes no cut-off"),
        ("ndcg(gold=k)", "needs a cut-off"),
        ("rbp(p=1.5)", "a number from 0 to 1"),
        ("precision(rel=high)@5", "expected a number"),
        ("", "cannot read the measure"),
    ],
)
def test_what_is_wrong_is_said(spelling: str, message: str) -> None:
    with pytest.raises(rankjury.UsageError, match=message):
        resolve(spelling)


def test_every_metric_is_documented() -> None:
    for entry in METRICS:
        assert entry.title, entry.name
        assert entry.formula, entry.name
        assert entry.source, entry.name


def test_a_metric_of_ones_own() -> None:
    """The door for third parties: one function, one decorator."""
    import numpy as np

    @metric("test_depth", needs_relevant=False)
    def depth(judged: Judged, k: int | None) -> Any:
        """How many were retrieved.

        Formula: retrieved.

        Source: this test.
        """
        return judged.depth.astype(np.float64)

    assert rankjury.evaluate({"q": {"a": 1}}, {"q": ["a", "b"]}, "test_depth").mean() == {"test_depth": 2.0}
    with pytest.raises(rankjury.UsageError, match="registered twice"):
        metric("test_depth")(depth)
    METRICS._entries.pop("test_depth")


@pytest.mark.parametrize("spelling", ["judged(empty=skip)@5", "num_rel(empty=zero)", "num_ret(empty=error)@5"])
def test_an_option_without_effect_is_refused(spelling: str) -> None:
    with pytest.raises(rankjury.UsageError, match="no effect"):
        resolve(spelling)


def test_a_name_copied_from_markdown_is_read() -> None:
    assert Measure.parse("precision(rel=4)@\u200b5") == Measure.parse("precision(rel=4)@5")
