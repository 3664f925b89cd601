"""Random numbers by query: the published generator, the distributions, and that a number belongs to its query alone."""

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from rankjury.core.types import Floats
from rankjury.stats.resampling import Keys, Signs, Weights, bootstrap_weights, query_keys
from tests.stats.support import keys, numbered, sign_bits, thorough


def splitmix64(state: int, count: int) -> list[int]:
    """The generator as published, one word after the other."""
    mask = (1 << 64) - 1
    words = []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & mask
        word = state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
        words.append(word ^ (word >> 31))
    return words


def test_the_reference_here_is_the_published_generator() -> None:
    """The values that Vigna's splitmix64.c gives for the seed 1234567."""
    assert splitmix64(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


# How many of the 256 values of a byte stand for no draw, one, two …
CHANCES = [94, 95, 46, 16, 4, 1]


@pytest.mark.parametrize("key", [0, 1, 1234567, 2**64 - 1])
def test_weights_are_quantiles_of_the_bytes_of_the_stream(key: int) -> None:
    """Each word of 64 bits gives eight weights, lowest bits first."""
    octets = [(word >> shift) & 0xFF for word in splitmix64(key, 25) for shift in range(0, 64, 8)]
    expected = np.repeat(np.arange(6.0), CHANCES)[octets]
    found = bootstrap_weights(np.array([key], dtype=np.uint64), 0, 200)
    np.testing.assert_array_equal(found, expected[None, :])


def test_weights_have_the_moments_of_a_bootstrap() -> None:
    """Mean and variance are one to the last digit, the third moment is nearly Poisson's, and so is every chance."""
    draws = np.arange(6)
    chances = np.array(CHANCES) / 256
    assert chances.sum() == 1.0
    assert (draws * chances).sum() == 1.0
    assert ((draws - 1) ** 2 * chances).sum() == 1.0
    assert (draws**3 * chances).sum() == pytest.approx(5.0, abs=0.02)
    np.testing.assert_allclose(chances, stats.poisson.pmf(draws, 1.0), atol=0.0045)


def test_keys_are_pinned() -> None:
    """Figures that were published must come out again from a later version."""
    assert [hex(key) for key in query_keys(pl.Series(["q1", "é", ""]), 7).tolist()] == [
        "0xfe02bbcb9019c5cb",
        "0x9034fade27a93f89",
        "0xfd37b17fbc44c50d",
    ]


def test_a_key_is_by_the_id_as_a_string() -> None:
    numbers = [1, 2, 30, -4, 2**62]
    expected = query_keys(pl.Series([str(number) for number in numbers]), 3)
    np.testing.assert_array_equal(query_keys(pl.Series(numbers, dtype=pl.Int64), 3), expected)


def test_no_query_no_key() -> None:
    assert query_keys(pl.Series([], dtype=pl.String), 0).size == 0
    assert query_keys(pl.Series([], dtype=pl.Int64), 0).size == 0
    assert bootstrap_weights(keys(0), 0, 100).shape == (0, 100)
    assert sign_bits(keys(0), 0, 100).shape == (0, 100)


def test_ids_and_seeds_that_are_nearly_the_same_have_different_keys() -> None:
    ids = pl.Series(["q1", "q10", "Q1", "q1 ", " q1", "q 1", "é", "e", ""])
    seeds = [0, 1, -1, 2**31, 2**62, 2**63 - 1, -(2**63)]
    found = np.concatenate([query_keys(ids, seed) for seed in seeds])
    assert np.unique(found).size == len(ids) * len(seeds)


@given(renamed=st.integers(0, 19), seed=st.integers(-(2**63), 2**63 - 1))
@thorough(50)
def test_renaming_a_query_changes_only_its_own_numbers(renamed: int, seed: int) -> None:
    names = numbered(20)
    before = query_keys(pl.Series(names), seed)
    names[renamed] = "another"
    after = query_keys(pl.Series(names), seed)
    others = np.arange(20) != renamed
    for draw in (bootstrap_weights, sign_bits):
        one, other = draw(before, 0, 256), draw(after, 0, 256)
        np.testing.assert_array_equal(one[others], other[others])
        assert (one[renamed] != other[renamed]).any()


@given(order=st.permutations(range(12)), first=st.integers(0, 5), length=st.integers(1, 200))
@thorough(50)
def test_any_part_of_any_stream_can_be_made_by_itself(order: list[int], first: int, length: int) -> None:
    start, end = 64 * first, 64 * first + length
    for draw in (bootstrap_weights, sign_bits):
        whole = draw(keys(12), 0, 600)
        np.testing.assert_array_equal(draw(keys(12)[order], start, end), whole[order, start:end])
        np.testing.assert_array_equal(draw(keys(12)[order[0] :][:1], start, end), whole[order[0], start:end][None, :])


def test_weights_may_start_at_any_multiple_of_eight() -> None:
    np.testing.assert_array_equal(bootstrap_weights(keys(3), 16, 33), bootstrap_weights(keys(3), 0, 40)[:, 16:33])


def test_weights_come_as_often_as_they_should() -> None:
    weights = bootstrap_weights(keys(400, seed=1), 0, 2000)
    found = np.bincount(weights.astype(int).ravel())
    assert stats.chisquare(found, np.array(CHANCES) / 256 * weights.size).pvalue > 0.001


def test_signs_are_fair() -> None:
    bits = sign_bits(keys(400, seed=1), 0, 2000)
    assert set(np.unique(bits)) == {0.0, 1.0}
    assert abs(bits.mean() - 0.5) < 4 * 0.5 / np.sqrt(bits.size)


@pytest.mark.parametrize("draw", [bootstrap_weights, sign_bits])
def test_numbers_of_different_queries_and_resamples_are_unrelated(draw: Callable[[Keys, int, int], Floats]) -> None:
    """No correlation is greater than chance makes it among so many."""
    drawn = draw(keys(60, seed=2), 0, 2048)
    for table in (drawn, drawn.T[:128]):
        found = np.corrcoef(table)
        np.fill_diagonal(found, 0.0)
        many = found.size / 2
        assert np.abs(found).max() < stats.norm.isf(0.0005 / many) / np.sqrt(table.shape[1]) * 1.1


def test_signs_and_weights_are_unrelated() -> None:
    """A weight is made of 8 bits of a word, chiefly of the highest: were the words shared, that bit would give it."""
    weights = bootstrap_weights(keys(100), 0, 4096)
    highest = sign_bits(keys(100), 0, 8 * 4096)[:, 7::8]
    first = sign_bits(keys(100), 0, 4096)
    for bits in (highest, first):
        assert abs(np.corrcoef(weights.ravel(), bits.ravel())[0, 1]) < 4 / np.sqrt(bits.size)


def test_another_seed_gives_other_numbers() -> None:
    for draw in (bootstrap_weights, sign_bits):
        assert (draw(keys(10, seed=0), 0, 256) != draw(keys(10, seed=1), 0, 256)).any(axis=1).all()


def test_what_is_drawn_block_by_block_is_what_is_drawn_at_once() -> None:
    for kind, draw in ((Weights, bootstrap_weights), (Signs, sign_bits)):
        drawer = kind(64, 200, 5)
        blocks = [drawer.draw(keys(12)[start : start + 5]).copy() for start in range(0, 12, 5)]
        np.testing.assert_array_equal(np.concatenate(blocks), draw(keys(12), 64, 200))
