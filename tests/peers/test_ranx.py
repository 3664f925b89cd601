"""The ranx dialect against ranx with make_comparable=True.

ranx sorts with numba's quicksort, which is not stable; up to 15 items it is an insertion sort, which is. So equal
scores stand "as given" up to 15 items, and beyond that there is nothing to agree with: longer lists have no ties here.
"""

from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st
from ranx import Qrels, Run, evaluate

import rankjury
from tests.peers.agreement import assert_close, assert_same, per_query
from tests.peers.strategies import Case, cases, thorough

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaTypeSafetyWarning"),
]

STABLE_UP_TO = 15
CUTS = (1, 3, 10, 20, 100)
WITH_CUT = ("hits", "hit_rate", "precision", "recall", "f1", "mrr", "map", "dcg", "dcg_burges", "ndcg", "ndcg_burges")
PLAIN = (*WITH_CUT, "r-precision", "rbp.95", "rbp.5")
NAMES = (*PLAIN, *(f"{name}-l2" for name in PLAIN), *(f"{name}@{k}" for name in WITH_CUT for k in CUTS), "ndcg@10-l2")
# Names that rankjury has too, where they mean rankjury's own; the others are ranx's wherever they are read.
ONLY_RANX = tuple(name for name in NAMES if "-" in name or "_burges" in name or name.startswith("rbp."))
# ranx compiles itself anew for every length of the longest id, so all have one length.
ITEMS = tuple(f"item{n:02}" for n in range(40))
short_cases = cases(judged=(1, 15), depths=(1, STABLE_UP_TO), items=ITEMS)


def by_ranx(case: Case, names: Iterable[str]) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Measure to query to value, and measure to mean."""
    run = Run(case.run)
    evaluate(Qrels(case.qrels), run, list(names), make_comparable=True)
    queries = {name: dict(run.scores[name]) for name in names}
    return queries, {name: float(run.mean_scores[name]) for name in names}


def assert_agrees(case: Case, names: tuple[str, ...], dialect: str | None = "ranx") -> None:
    queries, means = by_ranx(case, names)
    scores = rankjury.evaluate(case.qrels, case.run, names, dialect=dialect)
    for name in names:
        # numba raises p to whole powers by multiplying, so rbp's last digit is its own.
        assert_same(per_query(scores, name), queries[name], name, exact=not name.startswith("rbp"))
        assert_close(scores.summary(name).mean, means[name], f"{name} of all")


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """ranx compiles each metric when it is first called, for up to a minute in all: once, and not in an example."""
    by_ranx(Case({"q": {ITEMS[0]: 1, ITEMS[1]: 0}}, {"q": {ITEMS[0]: 1.0}}), (*NAMES, "bpref"))


def distinct(case: Case) -> bool:
    return all(len(set(found.values())) == len(found) for found in case.run.values())


@thorough(80)
@given(short_cases)
def test_every_measure_with_ties_in_short_lists(case: Case) -> None:
    assert_agrees(case, NAMES)


@thorough(40)
@given(cases(judged=(1, 15), depths=(10, 30), scores=st.floats(0, 1), items=ITEMS).filter(distinct))
def test_every_measure_without_ties_in_long_lists(case: Case) -> None:
    assert_agrees(case, NAMES)


@thorough(30)
@given(short_cases)
def test_names_that_are_only_ranx_need_no_dialect(case: Case) -> None:
    assert_agrees(case, ONLY_RANX, dialect=None)


def judged_both_ways(case: Case) -> Case:
    """The same with a relevant and a non-relevant judgment in every query.

    Without a non-relevant one ranx divides 0 by 0 and its bpref is NaN; rankjury's is 1. Without a relevant one its
    division raises inside the parallel loop, which leaves that query and all behind it at 0, whatever they found.
    """
    both = {ITEMS[0]: 0, ITEMS[1]: 2}
    return Case({query: {**grades, **both} for query, grades in case.qrels.items()}, case.run)


@thorough(60)
@given(cases(judged=(1, 15), depths=(1, STABLE_UP_TO), grades=(0, 1, 2, 3), items=ITEMS).map(judged_both_ways))
def test_bpref(case: Case) -> None:
    assert_agrees(case, ("bpref", "bpref-l2"))


def test_bpref_takes_a_negative_grade_for_a_judgment() -> None:
    """To trec_eval an item with a negative grade is unjudged; ranx counts it among the non-relevant."""
    assert_agrees(
        Case({"q": {ITEMS[0]: 1, ITEMS[1]: -1, ITEMS[2]: 0}}, {"q": {ITEMS[1]: 2.0, ITEMS[0]: 1.0}}), ("bpref",)
    )


def test_equal_scores_stand_as_given() -> None:
    qrels = {"q": {ITEMS[1]: 1}}
    for order, expected in ((ITEMS[:STABLE_UP_TO], 0.5), (ITEMS[STABLE_UP_TO - 1 :: -1], 1 / 14)):
        case = Case(qrels, {"q": dict.fromkeys(order, 1.0)})
        assert by_ranx(case, ("mrr",))[1]["mrr"] == expected
        assert rankjury.evaluate(case.qrels, case.run, ["mrr"], dialect="ranx").mean() == {"mrr": expected}
