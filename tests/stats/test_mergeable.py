"""What is gathered from blocks of queries is, bit for bit, what all of them give at once."""

from collections.abc import Sequence
from dataclasses import astuple
from functools import reduce
from operator import add
from pickle import dumps, loads

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.core.types import Floats
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import Comparison, PairedValues, compare_pairs
from rankjury.stats.estimates import Estimate, estimate_all
from rankjury.stats.mergeable import (
    Outline,
    RankTotals,
    ScoreColumn,
    TableLayout,
    Tally,
    signed_ranks,
    size_ranges,
)
from rankjury.stats.resampling import IntervalMethod, Resampling, query_keys
from rankjury.stats.significance import SignedRanks
from rankjury.stats.sums import ExactSum, PowerSums, exact_products

AGGREGATES: tuple[Aggregate, ...] = ("mean", "sum", "geometric")
COLUMNS = tuple(ScoreColumn(system, name, name, name == "sum") for system in ("old", "new") for name in AGGREGATES)
LAYOUT = TableLayout.of(COLUMNS, "old")


def scores(queries: int, seed: int, kind: str) -> Floats:
    """Two systems under three measures, some undefined, each on its own queries or on the same."""
    chance = np.random.default_rng(seed)
    found = chance.beta(0.5, 1.0, (queries, 6)) * {"small": 1e-3, "large": 1e6}.get(kind, 1.0)
    if kind == "coarse":
        found = np.round(found * 4) / 4
    if kind == "alike":
        found[:, 3:] = found[:, :3]
        found[: queries // 10, 3] += 0.25
    if kind == "signed":
        found[:, [0, 3]] -= 0.5
    if kind == "holes":
        found[chance.random((queries, 6)) < 0.3] = np.nan
        found[:, 1] = np.where(np.isnan(found[:, 0]), np.nan, found[:, 1])
    if kind == "empty":
        found[:, 0] = np.nan
    return found


def gathered(
    table: Floats, keys: np.ndarray, edges: Sequence[int], resampling: Resampling, ranges: int
) -> tuple[list[Estimate], list[Comparison]]:
    """In blocks, joined in another order than they come, each sent through a pipe."""
    blocks = [(table[low:high], keys[low:high]) for low, high in zip([0, *edges], [*edges, len(table)], strict=True)]
    blocks = blocks[::-1]
    outline = reduce(add, (loads(dumps(Outline.of(block, LAYOUT))) for block, _ in blocks))
    tally = reduce(add, (loads(dumps(Tally.of(block, own, LAYOUT, outline, resampling))) for block, own in blocks))
    ranks = []
    for pair, one in zip(LAYOUT.pairs, outline.pairs, strict=True):
        within = [
            SignedRanks.joined([signed_ranks(block, pair, one).within(low, high) for block, _ in blocks])
            for low, high in size_ranges(ranges, 1)
        ]
        ranks.append(RankTotals.joined([RankTotals.of(counts) for counts in within]))
    differences = tally.differences(LAYOUT, outline, ranks)
    compared = [one.compared(pair.versus, resampling) for one, pair in zip(differences, LAYOUT.pairs, strict=True)]
    return tally.estimates(LAYOUT, outline, resampling), compared


def at_once(table: Floats, keys: np.ndarray, resampling: Resampling) -> tuple[list[Estimate], list[Comparison]]:
    pairs = [
        PairedValues(
            *("new", "old", name, name, name == "sum"), values=table[:, 3 + place], baseline_values=table[:, place]
        )
        for place, name in enumerate(AGGREGATES)
    ]
    return estimate_all(table, [one.aggregate for one in COLUMNS], keys, resampling), compare_pairs(
        pairs, keys, resampling
    )


def as_bytes(found: Sequence[Estimate | Comparison]) -> bytes:
    """NaN and negative zero included."""
    return repr([[repr(field) for field in astuple(one)] for one in found]).encode()


@pytest.mark.parametrize("interval", ["auto", "bca"])
@pytest.mark.parametrize("kind", ["plain", "small", "large", "coarse", "alike", "signed", "holes", "empty"])
@pytest.mark.parametrize("queries", [1, 2, 12, 60, 700])
def test_blocks_give_the_same_bytes(queries: int, kind: str, interval: IntervalMethod) -> None:
    table = scores(queries, seed=queries, kind=kind)
    keys = query_keys(pl.Series([f"q{number}" for number in range(queries)]), 0)
    resampling = Resampling(200, interval=interval)
    edges = sorted({queries // 7, queries // 2, queries - 1} - {0, queries}) if queries > 1 else []
    for ours, theirs in zip(gathered(table, keys, edges, resampling, 3), at_once(table, keys, resampling), strict=True):
        assert as_bytes(ours) == as_bytes(theirs)


@given(st.data())
def test_any_blocks_will_do(data: st.DataObject) -> None:
    queries = data.draw(st.integers(2, 90))
    kind = data.draw(st.sampled_from(["plain", "coarse", "signed", "holes"]))
    edges = sorted(data.draw(st.sets(st.integers(1, queries - 1), max_size=6)))
    table = scores(queries, seed=queries, kind=kind)
    keys = query_keys(pl.Series([f"q{number}" for number in range(queries)]), 3)
    resampling = Resampling(100, seed=3)
    ranges = data.draw(st.integers(1, 5))
    for ours, theirs in zip(
        gathered(table, keys, edges, resampling, ranges), at_once(table, keys, resampling), strict=True
    ):
        assert as_bytes(ours) == as_bytes(theirs)


@given(st.lists(st.floats(-1e300, 1e300, allow_nan=False), max_size=60), st.integers(0, 60))
def test_sums_are_exact_wherever_they_are_parted(values: list[float], at: int) -> None:
    from fractions import Fraction

    table = np.array(values)
    joined = ExactSum.of(table[:at]) + ExactSum.of(table[at:])
    assert joined.value == float(sum(map(Fraction, values), Fraction(0)))


@given(st.lists(st.integers(-(2**37), 2**37), min_size=1, max_size=40), st.integers(1, 300))
def test_powers_are_exact(values: list[int], times: int) -> None:
    whole = np.tile(np.array(values, dtype=np.float64), times)
    expected = [times * sum(value**power for value in values) for power in (1, 2, 3)]
    found = PowerSums.of(whole)
    assert [found.first, found.second, found.third] == expected
    other = whole[::-1].copy()
    pairs = list(zip(map(int, whole), map(int, other), strict=True))
    assert exact_products(whole, other) == (
        sum(a * b for a, b in pairs),
        sum(a * a * b for a, b in pairs),
        sum(a * b * b for a, b in pairs),
    )
