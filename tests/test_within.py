"""Judged once and looked at for some items: the same as judged for these alone."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.assessment import assess
from karat.errors import KaratError
from karat.evaluation import Evaluation, resolve_all
from karat.measure import METRICS
from karat.slices import Attribute, Cuts

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
        return evaluation().scores(resolve_all([measure]))
    except KaratError as error:
        return str(error)


@settings(max_examples=15, deadline=None)
@given(GOLD, RANKING, st.sets(ITEMS, min_size=1))
def test_some_items_as_if_the_gold_had_no_others(
    gold: dict[str, Any], ranking: dict[str, Any], items: set[str]
) -> None:
    given, ranked = karat.as_gold(gold), karat.as_ranking({**ranking, "none": {"a": 1.0}})
    kept = given.items.is_in(sorted(items)).to_numpy()
    if not kept.any():
        return
    whole = Evaluation(given, ranked, may_be_apart=True)
    for measure in spellings():
        ours = outcome(lambda: whole.within(kept), measure)
        theirs = outcome(lambda: Evaluation(given.part(kept), ranked, may_be_apart=True), measure)
        if isinstance(theirs, str):
            assert ours == theirs, measure
            continue
        assert ours.queries.to_list() == theirs.queries.to_list()
        np.testing.assert_array_equal(ours.values, theirs.values, err_msg=measure)


@settings(max_examples=20, deadline=None)
@given(GOLD, st.sets(ITEMS, min_size=1))
def test_slices_of_items_where_rows_of_the_gold_were_dropped(gold: dict[str, Any], items: set[str]) -> None:
    """Rows that stand twice are dropped when they are matched; then groups are judged apart."""
    import polars as pl

    rows = [(query, item, grade) for query, of in gold.items() for item, grade in of.items()]
    frame = pl.DataFrame(rows + rows[:1], schema=["query_id", "item_id", "grade"], orient="row")
    table = pl.DataFrame({"id": list("abcdefgh"), "kind": ["in" if one in items else "out" for one in "abcdefgh"]})
    cuts = Cuts(table, "id", "items", [(Attribute("kind"),)], "kinds")
    ranking = karat.as_ranking({query: list("abcd") for query in gold})
    asked = resolve_all(["ndcg@3", "recall@2"])
    twice, once = (
        assess(karat.as_gold(one), {"m": lambda: ranking}, asked, item_slices=[cuts], duplicates="first")
        for one in (frame, gold)
    )
    assert [(one.name, one.n, str(one.estimates)) for one in twice.slices] == [
        (one.name, one.n, str(one.estimates)) for one in once.slices
    ]
