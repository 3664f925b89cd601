"""Resampled sums: as the definition has them, whatever the blocks, threads, rows and other columns."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import rankjury.core.types
from rankjury.core.types import Floats, Ints
from rankjury.stats import resampling as resampling_module
from rankjury.stats.resampling import Keys, bootstrap_weights, draw_sums, flip_sums
from rankjury.stats.sums import LARGEST_BLOCK, to_fixed
from tests.stats.support import keys, sign_bits, thorough

Sums = Callable[[Keys, Floats, int], Ints]
SUMS: list[Sums] = [draw_sums, flip_sums]


def whole_numbers(queries: int, columns: int, seed: int = 0) -> Floats:
    """Of 36 bits, either sign."""
    drawn = np.random.default_rng(seed).integers(-(2**36), 2**36, (queries, columns))
    return drawn.astype(np.float64)


def draw_by_definition(columns: Floats, resamples: int) -> Ints:
    weights = bootstrap_weights(keys(len(columns)), 0, resamples).astype(np.int64)
    return columns.astype(np.int64).T @ weights


def flip_by_definition(columns: Floats, resamples: int) -> Ints:
    signs = 2 * sign_bits(keys(len(columns)), 0, resamples).astype(np.int64) - 1
    return columns.astype(np.int64).T @ signs


@given(columns=arrays(np.float64, st.tuples(st.integers(0, 70), st.integers(1, 4)), elements=st.integers(-9, 9)))
@thorough(40)
def test_like_the_definition(columns: Floats) -> None:
    np.testing.assert_array_equal(draw_sums(keys(len(columns)), columns, 150), draw_by_definition(columns, 150))
    np.testing.assert_array_equal(flip_sums(keys(len(columns)), columns, 150), flip_by_definition(columns, 150))


def test_sums_are_exact_where_floats_would_round() -> None:
    columns = np.abs(whole_numbers(140_000, 1)) // 8 + 7 * 2**33
    found = draw_sums(keys(140_000), columns, 16)
    assert found.max() > 2**53
    np.testing.assert_array_equal(found, draw_by_definition(columns, 16))
    np.testing.assert_array_equal(flip_sums(keys(140_000), columns, 16), flip_by_definition(columns, 16))


@pytest.mark.parametrize("sums", SUMS)
@pytest.mark.parametrize("queries_per_block", [1, 7, 1000, 10 * LARGEST_BLOCK])
def test_the_block_of_queries_is_of_no_account(
    sums: Sums, queries_per_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = whole_numbers(300, 3)
    expected = sums(keys(300), columns, 200)
    monkeypatch.setattr(resampling_module, "_QUERIES_PER_BLOCK", queries_per_block)
    np.testing.assert_array_equal(sums(keys(300), columns, 200), expected)


def test_a_block_is_never_larger_than_sums_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one block these would pass 2^53 and be rounded: all are odd, and there are twenty blocks of them."""
    columns = np.full((20 * LARGEST_BLOCK, 1), 2.0**36 - 1)
    monkeypatch.setattr(resampling_module, "_QUERIES_PER_BLOCK", 100 * LARGEST_BLOCK)
    found = draw_sums(keys(len(columns)), columns, 16)
    assert found.min() > 2**53
    assert (found % (2**36 - 1) == 0).all()


@pytest.mark.parametrize("sums", SUMS)
@pytest.mark.parametrize("resamples_per_part", [64, 128, 1 << 20])
def test_the_range_of_resamples_is_of_no_account(
    sums: Sums, resamples_per_part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = whole_numbers(100, 2)
    expected = sums(keys(100), columns, 5000)
    monkeypatch.setattr(resampling_module, "_RESAMPLES_PER_PART", resamples_per_part)
    np.testing.assert_array_equal(sums(keys(100), columns, 5000), expected)


@pytest.mark.parametrize("sums", SUMS)
def test_the_number_of_threads_is_of_no_account(sums: Sums, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = whole_numbers(200, 2)
    monkeypatch.setattr(resampling_module, "_RESAMPLES_PER_PART", 256)
    found = []
    for processors in (1, 2, 9):
        monkeypatch.setattr(rankjury.core.types.os, "cpu_count", lambda processors=processors: processors)
        found.append(sums(keys(200), columns, 5000))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("sums", SUMS)
def test_more_resamples_go_on_where_fewer_ended(sums: Sums) -> None:
    columns = whole_numbers(50, 2)
    longest = sums(keys(50), columns, 9000)
    for resamples in (100, 4096, 4097, 8999):
        np.testing.assert_array_equal(sums(keys(50), columns, resamples), longest[:, :resamples])


@given(order=st.permutations(range(40)))
@thorough(20)
def test_the_order_of_rows_is_of_no_account(order: list[int]) -> None:
    columns = whole_numbers(40, 2)
    for sums in SUMS:
        np.testing.assert_array_equal(
            sums(keys(40)[order], columns[order], 130), sums(keys(40), columns, 130), strict=True
        )


@pytest.mark.parametrize("sums", SUMS)
@pytest.mark.parametrize("others", [1, 2, 15, 100])
def test_other_columns_are_of_no_account(sums: Sums, others: int) -> None:
    columns = whole_numbers(90, 1 + others)
    np.testing.assert_array_equal(sums(keys(90), columns, 200)[:1], sums(keys(90), columns[:, :1], 200))


def test_a_zero_is_like_no_query() -> None:
    columns = whole_numbers(60, 2)
    dropped = np.arange(60) % 3 == 0
    kept = np.where(dropped[:, None], 0.0, columns)
    for sums in SUMS:
        np.testing.assert_array_equal(
            sums(keys(60), kept, 200), sums(keys(60)[~dropped], columns[~dropped], 200), strict=True
        )


@pytest.mark.parametrize("sums", SUMS)
def test_no_query_sums_to_nothing(sums: Sums) -> None:
    np.testing.assert_array_equal(sums(keys(0), np.zeros((0, 2)), 100), np.zeros((2, 100), dtype=np.int64))


def test_the_mean_of_the_resampled_sums_is_the_sum() -> None:
    (fixed,) = to_fixed(np.random.default_rng(3).beta(0.6, 1.8, 200))
    values = fixed.whole * fixed.unit
    found = draw_sums(keys(200), fixed.whole[:, None], 20_000)[0] * fixed.unit
    std = np.sqrt((values**2).sum())
    assert abs(found.mean() - values.sum()) < 4 * std / np.sqrt(20_000)
    assert found.std() == pytest.approx(std, rel=0.03)
