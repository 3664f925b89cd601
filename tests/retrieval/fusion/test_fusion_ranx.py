"""Fusion against lists that ranx 0.3.20 fused (``tests/peers/make_ranx_oracles.py``), where the two mean the same.

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

import json

import pytest

import rankjury
from rankjury.retrieval.fusion.align import fuse
from rankjury.retrieval.fusion.fusion import Fusion
from tests.paths import ROOT
from tests.retrieval.fusion.naive_fusion import spread_out

ORACLES = json.loads((ROOT / "tests" / "peers" / "data" / "ranx.json").read_text())
METHODS = {"rrf", "isr", "borda", "combsum", "combmnz", "combmax"}


def fused(runs: list[dict[str, dict[str, float]]], fusion: Fusion) -> dict[str, dict[str, float]]:
    lists = spread_out(fuse([rankjury.as_ranking(run) for run in runs], fusion))
    return {query: dict(pairs) for query, pairs in lists.items()}


@pytest.mark.parametrize("case", ORACLES["fusion"], ids=lambda _: "")
def test_every_method(case: dict) -> None:
    assert {options["method"] for options, _ in case["fused"]} == METHODS
    for options, expected in case["fused"]:
        weights = tuple(options.pop("weights", ())) or None
        found = fused(case["runs"], Fusion(**options, **({"weights": weights} if weights else {})))
        assert found.keys() == expected.keys()
        for query, items in found.items():
            assert items == pytest.approx(expected[query], rel=1e-12, abs=1e-12), (options, weights, query)


def test_condorcet_where_majorities_make_an_order() -> None:
    assert ORACLES["condorcet"]
    for case in ORACLES["condorcet"]:
        beaten = fused(case["runs"], Fusion("condorcet"))["q1"]
        assert case["fused"] == {item: count + 1 for item, count in beaten.items()}
