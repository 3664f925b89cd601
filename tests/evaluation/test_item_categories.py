"""Judged once and looked at for some items: the same as judged for these alone."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings, strategies as st

import rankjury
from rankjury.errors import RankjuryError
from rankjury.evaluation.compare import assess
from rankjury.evaluation.evaluate import Evaluation, resolve_measures
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.measures.measure import METRICS

GRADES = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 2.0, 3.5])
ITEMS = st.sampled_from("abcdefgh")
GOLD = st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(ITEMS, GRADES, min_size=1), min_size=1)
RANKING = st.dictionaries(st.sampled_from("pqrst"), st.dictionaries(ITEMS, st.integers(0, 3).map(float), min_size=1))


def spellings() -> list[str]:
    METRICS.load_own()
    plain = [name for name in METRICS.names() if not METRICS.get(name).of_lists]
    cut = [f"{name}@3" for name in plain if METRICS.get(name).cut != "none"]
    whole = [name for name in plain if METRICS.get(name).cut != "required"]
    return [*whole, *cut, "recall(gold=k)@2", "ap(gold=tied)@2", "ndcg(ties=average)@3", "ap(ties=group)"]


def outcome(evaluation: Any, measure: str) -> Any:
    try:
        return evaluation().scores(resolve_measures([measure]))
    except RankjuryError as error:
        return str(error)


@settings(max_examples=15, deadline=None)
@given(GOLD, RANKING, st.sets(ITEMS, min_size=1))
def test_some_items_as_if_the_gold_had_no_others(
    gold: dict[str, Any], ranking: dict[str, Any], items: set[str]
) -> None:
    given, ranked = rankjury.as_gold(gold), rankjury.as_ranking({**ranking, "none": {"a": 1.0}})
    kept = given.items.is_in(sorted(items)).to_numpy()
    if not kept.any():
        return
    whole = Evaluation.match(given, ranked, allow_disjoint_queries=True)
    for measure in spellings():
        ours = outcome(lambda: whole.within(kept), measure)
        theirs = outcome(lambda: Evaluation.match(given.part(kept), ranked, allow_disjoint_queries=True), measure)
        if isinstance(theirs, str):
            assert ours == theirs, measure
            continue
        assert ours.queries.to_list() == theirs.queries.to_list()
        np.testing.assert_array_equal(ours.values, theirs.values, err_msg=measure)


@settings(max_examples=20, deadline=None)
@given(GOLD, st.sets(ITEMS, min_size=1))
def test_slices_of_items_where_rows_of_the_gold_were_dropped(gold: dict[str, Any], items: set[str]) -> None:
    """Rows that stand twice are dropped when they are matched; then groups are judged apart."""
    rows = [(query, item, grade) for query, of in gold.items() for item, grade in of.items()]
    frame = pl.DataFrame(rows + rows[:1], schema=["query_id", "item_id", "grade"], orient="row")
    table = pl.DataFrame({"id": list("abcdefgh"), "kind": ["in" if one in items else "out" for one in "abcdefgh"]})
    cuts = SliceTable(table, "id", "items", [(Attribute("kind"),)], "kinds")
    ranking = rankjury.as_ranking({query: list("abcd") for query in gold})
    asked = resolve_measures(["ndcg@3", "recall@2"])
    twice, once = (
        assess(rankjury.as_gold(one), {"m": ranking}, asked, item_slices=[cuts], duplicates="first")
        for one in (frame, gold)
    )
    assert [(one.name, one.n, str(one.estimates)) for one in twice.slices] == [
        (one.name, one.n, str(one.estimates)) for one in once.slices
    ]


KINDS = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "z", "f": None, "g": "x"}  # h is in no table
CUTS = SliceTable(
    pl.DataFrame({"id": list(KINDS), "kind": list(KINDS.values())}), "id", "items", [(Attribute("kind"),)], "kinds"
)
BY_POSITION = ("ndcg@2", "ndcg(gain=exp)", "ap", "ap@3", "rr", "r_precision", "ndcg(ties=average)@3", "bpref")
BY_SET = ("recall@2", "precision@2", "hit_rate@2", "f1@3", "set_ap", "judged@2")


def kind_of(item: str) -> str:
    return f"item.kind={KINDS.get(item) or '(none)'}"


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(ITEMS, st.integers(1, 3), min_size=1), min_size=1))
def test_a_perfect_ranking_scores_1_in_every_category(gold: dict[str, dict[str, int]]) -> None:
    """nDCG took the ideal of the category but ranks of the whole list, so that a perfect ranking scored far below 1."""
    assume(any(item in KINDS for of in gold.values() for item in of))  # else the table has none of the gold's items
    best = {query: sorted("abcdefgh", key=lambda item: (-of.get(item, 0), item)) for query, of in gold.items()}
    measures = [one for one in BY_POSITION if "ties" not in one]
    report = assess(
        rankjury.as_gold(gold), {"m": rankjury.as_ranking(best)}, resolve_measures(measures), item_slices=[CUTS]
    )
    for part in report.slices:
        for label, estimate in part.estimates["m"].items():
            assert estimate.mean == pytest.approx(1.0, abs=1e-12), (part.name, label)


@settings(max_examples=25, deadline=None)
@given(GOLD, RANKING)
def test_a_category_ranks_as_if_only_its_items_had_been_retrieved(
    gold: dict[str, Any], ranking: dict[str, Any]
) -> None:
    """Unjudged results of other categories are skipped too; measures of sets look at the top k of the whole list."""
    assume(set(gold) & set(ranking) and any(item in KINDS for of in gold.values() for item in of))
    whole = {**ranking, "none": {"a": 1.0}}
    asked = resolve_measures([*BY_POSITION, *BY_SET])
    report = assess(rankjury.as_gold(gold), {"m": rankjury.as_ranking(whole)}, asked, item_slices=[CUTS])
    for part in report.slices:
        kept = {query: {item: grade for item, grade in of.items() if kind_of(item) == part.name}
                for query, of in gold.items()}  # fmt: skip
        kept = {query: of for query, of in kept.items() if of}
        inside = {query: {item: score for item, score in of.items() if kind_of(item) == part.name}
                  for query, of in whole.items()}  # fmt: skip
        for measures, ranked in ((BY_POSITION, inside), (BY_SET, whole)):
            evaluation = Evaluation.match(
                rankjury.as_gold(kept), rankjury.as_ranking(ranked), allow_disjoint_queries=True
            )
            expected = evaluation.scores(resolve_measures(measures)).mean()
            for label in measures:
                found = part.estimates["m"][label].mean
                np.testing.assert_equal(found, expected[label], err_msg=f"{part.name}, {label}")


def test_ties_of_row_numbers_are_by_number_within_a_category_too() -> None:
    """Vectors without ids are called by their number; as strings, 10 would come before 2."""
    rows = [str(row) for row in range(12)]
    ranking = rankjury.rank_vectors(rankjury.Vectors(rows, np.ones((12, 2)), numbered=True)).ranking
    table = pl.DataFrame({"item_id": rows, "kind": ["x" if row in ("2", "3") else "y" for row in rows]})
    cuts = SliceTable(table, "item_id", "items", [(Attribute("kind"),)], "items.csv")
    gold = rankjury.as_gold({"0": {"3": 1.0}})
    report = assess(gold, {"run": ranking}, resolve_measures(["rr"]), item_slices=[cuts])
    (within,) = (part.estimates["run"]["rr"].mean for part in report.slices)
    assert (within, report.estimates["run"]["rr"].mean) == (1 / 2, 1 / 3)
