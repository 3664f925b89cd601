"""Fusion against plain loops with exact fractions, and what must hold whatever the lists."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

import rankjury
import rankjury.core.types
from rankjury.retrieval.fusion import methods as precise
from rankjury.retrieval.fusion.align import Aligned, fuse
from rankjury.retrieval.fusion.fusion import METHODS, NORMALIZATIONS, Fusion
from tests.retrieval.fusion.naive_fusion import Run, fused, spread_out
from tests.stats.support import thorough

QUERIES = ("q1", "q10", "q2", "é", "Q")
ITEMS = ("a", "b", "B", "aa", "1", "10", "2", "ü", "ﬀ", "𝔸", "zz", "z z")
BY_RANK = ("rrf", "isr", "borda", "condorcet")
BY_SCORE = ("combsum", "combmnz", "combmax")
few_scores = st.sampled_from((0.0, -0.0, 0.1, 0.2, 0.3, 1.0, -2.5))
scores = st.one_of(few_scores, st.floats(-10, 10, allow_subnormal=False).map(lambda number: round(number, 6)))
runs = st.dictionaries(st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(ITEMS), scores), max_size=4)
weight = st.sampled_from((0.0, 0.1, 0.2, 0.3, 1 / 3, 1.0, 2.0, 7.0))
many, some = thorough(60), thorough(30)


@st.composite
def cases(draw: st.DrawFn, methods: Sequence[str]) -> tuple[list[Run], Fusion]:
    """Lists of which some lack a query or an item, and a way to fuse them."""
    given_runs = draw(st.lists(runs, min_size=1, max_size=5))
    weights = draw(st.none() | st.tuples(*[weight] * len(given_runs)).filter(any))
    fusion = Fusion(
        draw(st.sampled_from(methods)),
        weights,
        c=draw(st.sampled_from((60.0, 0.0, -0.5, 0.1, 1.0))),
        depth=draw(st.none() | st.integers(1, 6)),
        normalise=draw(st.none() | st.sampled_from(tuple(NORMALIZATIONS))),
    )
    return given_runs, fusion


def as_rankings(given_runs: Sequence[Run]) -> list[rankjury.Ranking]:
    """Also of runs without a query, which nothing that reads files would let through."""
    none = rankjury.Ranking(pl.Series([], dtype=pl.String), np.array([0]), pl.Series([], dtype=pl.String), np.empty(0))
    return [rankjury.as_ranking(run) if run else none for run in given_runs]


def same(left: rankjury.Ranking, right: rankjury.Ranking) -> bool:
    """To the last bit."""
    return (
        left.queries.equals(right.queries)
        and np.array_equal(left.starts, right.starts)
        and left.items.equals(right.items)
        and np.asarray(left.scores).tobytes() == np.asarray(right.scores).tobytes()
    )


@many
@given(cases(BY_RANK))
def test_ranks_give_the_exact_score_correctly_rounded(case: tuple[list[Run], Fusion]) -> None:
    given_runs, fusion = case
    assert spread_out(fuse(as_rankings(given_runs), fusion)) == fused(given_runs, fusion)


@many
@given(cases(BY_SCORE))
def test_scores_are_combined_as_by_plain_loops(case: tuple[list[Run], Fusion]) -> None:
    given_runs, fusion = case
    found, expected = spread_out(fuse(as_rankings(given_runs), fusion)), fused(given_runs, fusion)
    assert list(found) == list(expected)
    for query, pairs in expected.items():
        assert dict(found[query]) == pytest.approx(dict(pairs), rel=1e-9, abs=1e-9)
        assert found[query] == sorted(found[query], key=lambda pair: (-pair[1], pair[0]))


@many
@given(cases((*BY_RANK, *BY_SCORE)), st.randoms(use_true_random=False))
def test_no_digit_hangs_on_the_order_of_lists_queries_or_rows(case: tuple[list[Run], Fusion], chance: Any) -> None:
    given_runs, fusion = case
    order = chance.sample(range(len(given_runs)), len(given_runs))
    shuffled = [
        {
            query: dict(chance.sample(list(found.items()), len(found)))
            for query, found in chance.sample(list(given_runs[n].items()), len(given_runs[n]))
        }
        for n in order
    ]
    weights = None if fusion.weights is None else tuple(fusion.weights[n] for n in order)
    other = fuse(as_rankings(shuffled), replace(fusion, weights=weights))
    assert same(fuse(as_rankings(given_runs), fusion), other)


@some
@given(cases((*BY_RANK, *BY_SCORE)))
def test_names_that_order_alike_change_nothing_else(case: tuple[list[Run], Fusion]) -> None:
    given_runs, fusion = case
    renamed = [
        {f"x{query}": {f"y{item}": score for item, score in found.items()} for query, found in run.items()}
        for run in given_runs
    ]
    found = spread_out(fuse(as_rankings(given_runs), fusion))
    expected = {f"x{query}": [(f"y{item}", score) for item, score in pairs] for query, pairs in found.items()}
    assert spread_out(fuse(as_rankings(renamed), fusion)) == expected


@some
@given(cases(("rrf", "combsum")), runs)
def test_a_list_of_no_weight_changes_no_score(case: tuple[list[Run], Fusion], idle: Run) -> None:
    given_runs, fusion = case
    before = spread_out(fuse(as_rankings(given_runs), fusion))
    weights = (*fusion.weights_of(len(given_runs)), 0.0)
    after = spread_out(fuse(as_rankings([*given_runs, idle]), replace(fusion, weights=weights)))
    for query, pairs in after.items():
        known = dict(before.get(query, []))
        assert {item: score for item, score in pairs if item in known} == known
        assert all(score == 0 for item, score in pairs if item not in known)


@some
@given(cases(BY_RANK), cases(BY_SCORE))
def test_aligned_once_fuses_as_if_for_the_first_time(left: tuple[list[Run], Fusion], right: Any) -> None:
    given_runs, fusion = left
    rankings = as_rankings(given_runs)
    aligned = Aligned.of(rankings)
    others = [replace(right[1], weights=None), replace(right[1], weights=None, depth=2, normalise="sum"), fusion]
    first = [fuse(rankings, each) for each in others]
    for each, expected in (*zip(others, first, strict=True), *zip(others[::-1], first[::-1], strict=True)):
        assert same(aligned.fuse(each), expected)


@some
@given(runs.filter(bool))
def test_rrf_of_one_list_is_that_list(run: Run) -> None:
    found = spread_out(fuse(as_rankings([run]), Fusion()))
    for query, pairs in found.items():
        assert [item for item, _ in pairs] == sorted(run[query], key=lambda item: (-run[query][item], item))


@pytest.mark.parametrize("method", METHODS.names())
def test_no_digit_hangs_on_blocks_and_threads(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    names = pl.Series([f"d{n}" for n in range(80)])
    rankings = [
        rankjury.Ranking(
            pl.Series([f"q{n}" for n in range(30)]),
            np.arange(31) * 40,
            pl.concat([names.gather(rng.permutation(80)[:40]) for _ in range(30)]),
            rng.integers(0, 30, 30 * 40) / 7,
        )
        for _ in range(4)
    ]
    fusion = Fusion(method, weights=(0.1, 0.2, 0.3, 1 / 3))
    whole = fuse(rankings, fusion)
    monkeypatch.setattr(rankjury.core.types, "ROWS_PER_BLOCK", 100)
    monkeypatch.setattr(precise, "_ROWS_PER_BLOCK", 77)
    monkeypatch.setattr("rankjury.retrieval.fusion.methods._CELLS", 500)
    assert same(fuse(rankings, fusion), whole)
