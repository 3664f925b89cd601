"""Quantiles: NumPy's where all scores are held; else within the stated error, whatever the parts and their order."""

from functools import reduce
from operator import add
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rankjury.stats.estimates import QUANTILE_ERROR, QuantileSketch, round_bits

SHARES = (0.0, 0.05, 0.5, 0.95, 1.0)
values = st.lists(
    st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, -0.0, 1.0, 0.5, float("nan")]), st.floats(0, 1)),
    min_size=1,
    max_size=80,
)


def known(scores: list[float]) -> np.ndarray:
    return np.array([score for score in scores if score == score])


@given(values)
def test_where_all_are_held(scores: list[float]) -> None:
    found, expected = QuantileSketch.of(np.array(scores), 100), known(scores)
    assert found.error == 0.0 and found.n == len(expected)
    if len(expected):
        assert found.at(SHARES) == np.quantile(np.sort(expected), SHARES).tolist()
    else:
        assert np.isnan(found.at(SHARES)).all()


@given(values)
def test_where_they_are_counted(scores: list[float]) -> None:
    """As near to NumPy's as the larger neighbour allows; subnormal numbers are as near as they are to zero."""
    found, expected = QuantileSketch.of(np.array(scores), 0), np.sort(known(scores))
    if not len(expected):
        return
    assert found.error == QUANTILE_ERROR and found.scores is None
    true = np.quantile(expected, SHARES)
    ranks = np.array(SHARES) * (len(expected) - 1)
    larger = np.maximum(np.abs(expected[np.floor(ranks).astype(int)]), np.abs(expected[np.ceil(ranks).astype(int)]))
    allowed = larger * QUANTILE_ERROR * (1 + 1e-9) + np.finfo(float).tiny
    assert (np.abs(np.array(found.at(SHARES)) - true) <= allowed).all()


def test_between_two_scores() -> None:
    halves = np.repeat([0.0, 1.0], 60)
    assert QuantileSketch.of(halves, 1000).at([0.5]) == [0.5]
    assert QuantileSketch.of(halves, 10).at([0.5]) == pytest.approx([0.5], rel=QUANTILE_ERROR)


@given(st.lists(st.floats(allow_nan=False), min_size=1), st.integers(1, 52), st.integers(0, 51))
def test_numbers_without_some_bits(given_numbers: list[float], dropped: int, more: int) -> None:
    numbers = np.array(given_numbers)
    found, later = round_bits(numbers, dropped), min(dropped + more, 52)
    same = np.isinf(numbers) | (numbers == 0)
    assert (found[same] == numbers[same]).all() and np.isfinite(found[np.isfinite(numbers)]).all()
    in_order = found[np.argsort(numbers)]
    assert (in_order[:-1] <= in_order[1:]).all()
    assert round_bits(found, later).tobytes() == round_bits(numbers, later).tobytes()


@given(values, st.integers(0, 100), st.lists(st.integers(0, 80), max_size=5), st.randoms())
def test_parts_in_any_order(scores: list[float], limit: int, edges: list[int], chance: Random) -> None:
    table = np.array(scores)
    parts = [QuantileSketch.of(part, limit) for part in np.split(table, sorted(edges))]
    chance.shuffle(parts)
    joined, whole = reduce(add, parts), QuantileSketch.of(table, limit)
    assert np.array(joined.at(SHARES)).tobytes() == np.array(whole.at(SHARES)).tobytes()
    assert (joined.n, joined.error) == (whole.n, whole.error)


def test_zero_is_zero_and_what_is_not_known_is_null() -> None:
    assert QuantileSketch.of(np.array([0.0, -0.0, 0.0]), 0).at([0.5]) == [0.0]
    for held in ([-0.0, 0.0], [0.0, -0.0]):
        assert not np.signbit(QuantileSketch.of(np.array(held), 9).at([0.0, 1.0])).any()
    assert QuantileSketch.of(np.array([np.nan]), 5).values([0.25]).to_json() == {
        "at": {"0.25": None},
        "relative_error": 0.0,
    }


@pytest.mark.parametrize("score", [1 / 3, 0.999999, 5e-324, 1e300, -0.7])
def test_one_score_many_times(score: float) -> None:
    (found,) = QuantileSketch.of(np.full(1000, score), 10).at([0.3])
    assert abs(found - score) <= abs(score) * QUANTILE_ERROR + np.finfo(float).tiny
