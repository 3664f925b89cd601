"""The ir_measures dialect against ir_measures with its default pipeline of providers."""

import shutil

import ir_measures as irm
import pytest
from hypothesis import given

import rankjury
from tests.peers.agreement import assert_close, assert_same, per_query
from tests.peers.strategies import Case, cases, thorough

CUTS = (1, 3, 5, 10, 20, 100)
LEVELS = (0.0, 0.1, 0.25, 0.5, 0.9, 1.0)
AT_CUTS = (
    irm.nDCG, irm.AP, irm.AP(rel=2), irm.P, irm.P(rel=2), irm.R, irm.R(rel=2), irm.RR, irm.RR(rel=2), irm.Success,
    irm.Success(rel=2), irm.Judged,
)  # fmt: skip
MEASURES = (
    irm.nDCG, irm.AP, irm.AP(rel=2), irm.RR, irm.RR(rel=2), irm.Rprec, irm.Rprec(rel=2), irm.Bpref, irm.Bpref(rel=2),
    irm.Judged, irm.SetP, irm.SetP(rel=2), irm.SetRelP, irm.SetR, irm.SetR(rel=2), irm.SetF, irm.SetF(rel=2),
    irm.SetAP, irm.SetAP(rel=2), irm.infAP, irm.infAP(rel=2), irm.NumRet, irm.NumRet(rel=2), irm.NumRel,
    irm.NumRelRet, irm.NumQ, *(irm.IPrec @ level for level in LEVELS), irm.IPrec(rel=2) @ 0.5,
    *(measure @ k for measure in AT_CUTS for k in CUTS),
)  # fmt: skip
# trec_eval calls these by the same name; without a dialect they are trec_eval's, which leaves missing queries out.
SHARED_NAMES = {"infAP", "Rprec"}

# gdeval, a Perl script, prints five decimals and wants numbers for query ids; its files part columns by blanks.
GDEVAL = (*(irm.nDCG(dcg="exp-log2") @ k for k in (1, 5, 20)), *(irm.ERR @ k for k in (1, 5, 20)))
GDEVAL_PRINTS = 0.5e-5
PLAIN_IDS = tuple(f"{letter}{n}" for letter in "dDe" for n in (1, 2, 10, 9, 100, 30, 4, 55))


def by_ir_measures(
    case: Case, measures: tuple[irm.Measure, ...]
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Measure to query to value, and measure to aggregate."""
    results = irm.calc(measures, case.qrels, case.run)
    queries: dict[str, dict[str, float]] = {str(measure): {} for measure in measures}
    for metric in results.per_query:
        if metric.query_id in case.qrels:
            queries[str(metric.measure)][metric.query_id] = metric.value
    return queries, {str(measure): value for measure, value in results.aggregated.items()}


def assert_agrees(scores: rankjury.Scores, case: Case, measures: tuple[irm.Measure, ...]) -> None:
    queries, aggregates = by_ir_measures(case, measures)
    for name, values in queries.items():
        assert_same(per_query(scores, name), values, name)
        summary = scores.summary(name)
        assert_close(summary.mean if summary.total is None else summary.total, aggregates[name], f"{name} of all")


# ir_measures lists a query that was judged for nothing ({}) when it is given a dict, and not when it is given rows;
# rankjury never does. So every query here is judged for something.
judged_cases = cases(judged=(1, 15))


@thorough(150)
@given(judged_cases)
def test_every_measure_to_the_last_digit(case: Case) -> None:
    names = [str(measure) for measure in MEASURES]
    assert_agrees(rankjury.evaluate(case.qrels, case.run, names, dialect="ir_measures"), case, MEASURES)


@thorough(60)
@given(judged_cases)
def test_names_that_are_only_ir_measures_need_no_dialect(case: Case) -> None:
    measures = tuple(measure for measure in MEASURES if str(measure) not in SHARED_NAMES)
    assert_agrees(rankjury.evaluate(case.qrels, case.run, [str(m) for m in measures]), case, measures)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("NDCG@10", "nDCG@10"), ("MAP", "AP"), ("MRR", "RR"), ("Precision@5", "P@5"), ("Recall@5", "R@5"),
        ("RPrec", "Rprec"), ("BPref", "Bpref"), ("NumRelRet", "NumRet(rel=1)"), ("SetRelP", "SetP(relative=True)"),
    ],
)  # fmt: skip
def test_second_names_mean_the_same(alias: str, name: str) -> None:
    gold, run = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    both = rankjury.evaluate(gold, run, [alias, name], dialect="ir_measures").conventions
    assert both[0] == both[1]


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script, and there is no perl here")
@thorough(40)
@given(
    cases(
        judged=(1, 15), queries=("1", "2", "10", "21"), items=PLAIN_IDS, grades=(-2, -1, 0, 1, 2, 3, 4), depths=(1, 24)
    )
)
def test_gdeval_to_the_decimals_that_it_prints(case: Case) -> None:
    scores = rankjury.evaluate(case.qrels, case.run, [str(measure) for measure in GDEVAL], dialect="ir_measures")
    queries, aggregates = by_ir_measures(case, GDEVAL)
    for name, values in queries.items():
        found = per_query(scores, name)
        assert found.keys() == values.keys()
        for query, value in values.items():
            assert found[query] == pytest.approx(value, rel=0, abs=GDEVAL_PRINTS + 1e-12), f"{name} of {query!r}"
        assert scores.summary(name).mean == pytest.approx(aggregates[name], rel=0, abs=GDEVAL_PRINTS + 1e-12), name


@pytest.mark.skipif(not irm.cwl_eval.is_available(), reason="RBP needs the provider cwl_eval, which is not installed")
@thorough(40)
@given(judged_cases)
def test_rbp(case: Case) -> None:
    measures = (irm.RBP(rel=1), irm.RBP(rel=2, p=0.5))
    queries, aggregates = by_ir_measures(case, measures)
    scores = rankjury.evaluate(case.qrels, case.run, list(queries), dialect="ir_measures")
    for name, values in queries.items():
        assert_same(per_query(scores, name), values, name, exact=False)
        assert_close(scores.summary(name).mean, aggregates[name], f"{name} of all")


@pytest.mark.parametrize(
    "name",
    ["P(judged_only=True)@5", "SetF(beta=2.0)", "nDCG(gains={1: 2})@5", "alpha_nDCG@10", "Compat(p=0.8)", "INST"],
)
def test_what_is_not_understood_is_refused_and_not_guessed(name: str) -> None:
    with pytest.raises(rankjury.UsageError):
        rankjury.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [name], dialect="ir_measures")


@pytest.mark.parametrize("measure", [irm.NumQ, irm.NumRel])
def test_a_missing_query_is_not_counted(measure: irm.Measure) -> None:
    """Where a provider says nothing, ir_measures puts 0: even for what needs no run, the number of queries."""
    case = Case({"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 1.0}})
    assert_agrees(rankjury.evaluate(case.qrels, case.run, [str(measure)], dialect="ir_measures"), case, (measure,))


def test_ties_depend_on_the_cut_off() -> None:
    """RR is pytrec_eval's and breaks ties by id descending; RR@10 is the MS MARCO script's, which goes ascending."""
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert irm.calc_aggregate([irm.RR, irm.RR @ 10], qrels, run) == {irm.RR: 0.5, irm.RR @ 10: 1.0}
    assert rankjury.evaluate(qrels, run, ["RR", "RR@10"]).mean() == {"RR": 0.5, "RR@10": 1.0}
