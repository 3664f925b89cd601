"""Fusion against ranx 0.3.20 where the two mean the same.

Where they do not:

- Equal scores: ranx leaves their order to an unstable sort, rankjury goes by id. So scores within a list differ here,
  and fused lists are compared as item to score.
- Queries: ranx asks for the same ones in every run. It has no depth: it is given lists that were cut before.
- Weights: rrf and isr of ranx have none; its wsum is rankjury's weighted combsum, its w_bordafuse the weighted borda.
  Its wmnz is another formula (sum of scores × sum of weights, where rankjury's is the number of lists × the weighted
  sum).
- Normalisation: ranx divides by no less than 1e-9, so scores that lie closer together are not stretched to 0 … 1;
  rankjury divides by what there is. Of equal scores both make 0.
- combmax: to ranx an item that a run lacks has -1e9 there; rankjury looks at the lists that hold it only.
- borda: a query for which a run found nothing is to ranx a vote for all alike, to rankjury no vote. The order is the
  same.
- condorcet: ranx sorts by majority, with a draw won by whichever the sort looks at first, a vote for the second
  of two items that a run lacks, and the places as scores. rankjury counts the items that are beaten. The two agree
  where all lists hold the same items and the majorities make one order.
"""

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings, strategies as st
from ranx import Run as RanxRun, fuse as ranx_fuse

import rankjury
from rankjury.retrieval.fusion.align import fuse
from rankjury.retrieval.fusion.fusion import Fusion
from tests.retrieval.fusion.naive_fusion import Run, spread_out

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaTypeSafetyWarning"),
]

QUERIES = ("q1", "q2", "q3")
# ranx compiles itself anew for every length of the longest id, so all have one length.
ITEMS = tuple(f"item{n:02}" for n in range(30))
METHODS = {"rrf": "rrf", "isr": "isr", "combsum": "sum", "combmnz": "mnz", "combmax": "max", "borda": "bordafuse"}
NORMS = {"none": None, "min-max": "min-max", "z-score": "zmuv", "sum": "sum", "rank": "rank"}
some = settings(max_examples=25, deadline=None, derandomize=True, database=None)


@st.composite
def lists_of_runs(draw: st.DrawFn, size: int = 3) -> list[Run]:
    """The same queries in all runs, no two items of a list with the same score."""
    runs = []
    for _ in range(size):
        run = {}
        for query in QUERIES:
            items = draw(st.lists(st.sampled_from(ITEMS), unique=True, min_size=1, max_size=20))
            places = draw(st.permutations(range(-3, len(items) - 3)))
            run[query] = {item: place * 1.3 for item, place in zip(items, places, strict=True)}
        runs.append(run)
    return runs


def by_ranx(runs: list[Run], method: str, norm: str | None = None, **params: object) -> dict[str, dict[str, float]]:
    fused = ranx_fuse([RanxRun(run) for run in runs], norm=norm, method=method, params=params)
    return {query: dict(found) for query, found in fused.to_dict().items()}


def assert_agrees(runs: list[Run], fusion: Fusion, expected: dict[str, dict[str, float]]) -> None:
    found = spread_out(fuse([rankjury.as_ranking(run) for run in runs], fusion))
    assert found.keys() == expected.keys()
    for query, pairs in found.items():
        assert dict(pairs) == pytest.approx(expected[query], rel=1e-12, abs=1e-12), (str(fusion), query)


def cut(runs: list[Run], depth: int) -> list[Run]:
    return [
        {query: dict(sorted(found.items(), key=lambda pair: -pair[1])[:depth]) for query, found in run.items()}
        for run in runs
    ]


@some
@given(lists_of_runs(), st.sampled_from((60, 1, 10)), st.integers(1, 20))
def test_rrf_whole_and_cut(runs: list[Run], c: int, depth: int) -> None:
    assert_agrees(runs, Fusion(c=c), by_ranx(runs, "rrf", k=c))
    assert_agrees(runs, Fusion(c=c, depth=depth), by_ranx(cut(runs, depth), "rrf", k=c))


@pytest.mark.parametrize("method", ["isr", "borda"])
@some
@given(runs=lists_of_runs(), depth=st.integers(1, 20))
def test_by_rank(method: str, runs: list[Run], depth: int) -> None:
    assert_agrees(runs, Fusion(method), by_ranx(runs, METHODS[method]))
    assert_agrees(runs, Fusion(method, depth=depth), by_ranx(cut(runs, depth), METHODS[method]))


@pytest.mark.parametrize("method", ["combsum", "combmnz", "combmax"])
@some
@given(runs=lists_of_runs(), depth=st.integers(1, 20))
def test_by_score(method: str, runs: list[Run], depth: int) -> None:
    for ours, theirs in NORMS.items():
        assert_agrees(runs, Fusion(method, normalise=ours), by_ranx(runs, METHODS[method], theirs))
    assert_agrees(runs, Fusion(method, depth=depth), by_ranx(cut(runs, depth), METHODS[method], "min-max"))


@some
@given(lists_of_runs(), st.tuples(*[st.sampled_from((0.1, 0.5, 1.0, 3.0))] * 3))
def test_with_weights(runs: list[Run], weights: tuple[float, ...]) -> None:
    assert_agrees(runs, Fusion("combsum", weights), by_ranx(runs, "wsum", "min-max", weights=list(weights)))
    assert_agrees(runs, Fusion("borda", weights), by_ranx(runs, "w_bordafuse", weights=list(weights)))


@some
@given(st.integers(2, 12), st.data())
def test_condorcet_where_majorities_make_an_order(items: int, data: st.DataObject) -> None:
    orders = [data.draw(st.permutations(ITEMS[:items])) for _ in range(3)]
    runs = [{"q1": {item: -float(place) for place, item in enumerate(order)}} for order in orders]
    found = spread_out(fuse([rankjury.as_ranking(run) for run in runs], Fusion("condorcet")))["q1"]
    assume(all(high == low + 1 for (_, high), (_, low) in pairwise(found)))
    assert by_ranx(runs, "condorcet")["q1"] == {item: beaten + 1 for item, beaten in found}
