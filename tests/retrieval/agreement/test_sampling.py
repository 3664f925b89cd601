"""Samples of queries and of pairs: they hang on seed and ids alone, and every choice is as likely as another."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from rankjury.core.types import Ints
from rankjury.errors import DataError, UsageError
from rankjury.retrieval.agreement import pairs as pairing
from rankjury.retrieval.agreement.pairs import sample_ids, sample_items
from tests.stats.support import thorough

NAMES = [f"p{number:04}" for number in range(1_000)]
LEAST_P = 1e-4

names = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=40, unique=True)
seeds = st.integers(0, 2**63 - 1)


def series(ids: Any) -> pl.Series:
    return pl.Series("id", list(ids), dtype=pl.String)


def drawn(ids: list[str], size: int | None, seed: int = 42) -> list[str]:
    return sample_ids(series(ids), size, seed).to_list()


def others(ids: list[str], own: list[int], items: int, size: int, seed: int = 42) -> list[list[int]]:
    """The numbers of each query, without what fills rows up."""
    found = sample_items(series(ids), np.array(own, dtype=np.int64), items, size, seed)
    assert found.dtype == np.int64 and found.shape[0] == len(ids)
    assert (np.diff(found, axis=1) >= 0).all()
    return [row[row >= 0].tolist() for row in found]


def evenness(counts: Ints) -> float:
    """The p-value of a chi-square test; drawing without replacement only makes counts more alike."""
    return float(stats.chisquare(counts).pvalue)


class TestIds:
    @given(names, seeds, st.randoms(use_true_random=False), st.data())
    @thorough(40)
    def test_each_once_in_order_whatever_the_order_of_the_ids(
        self, ids: list[str], seed: int, random: Any, data: Any
    ) -> None:
        size = data.draw(st.integers(1, len(ids)))
        found = drawn(ids, size, seed)
        assert len(set(found)) == size and set(found) <= set(ids)
        assert found == series(found).sort().to_list()
        random.shuffle(ids)
        assert drawn(ids, size, seed) == found

    @given(names, seeds, st.data())
    @thorough(40)
    def test_a_larger_sample_holds_the_smaller(self, ids: list[str], seed: int, data: Any) -> None:
        larger = data.draw(st.integers(1, len(ids)))
        smaller = data.draw(st.integers(1, larger))
        assert set(drawn(ids, smaller, seed)) <= set(drawn(ids, larger, seed))

    def test_what_else_there_is_only_takes_places(self) -> None:
        """An id that is in the sample of all is in that of a part that holds it."""
        everyone, part = drawn(NAMES, 300), NAMES[:600]
        assert set(everyone) & set(part) <= set(drawn(part, 300))

    def test_all(self) -> None:
        assert drawn(["b", "c", "a"], None) == drawn(["b", "c", "a"], 3) == ["a", "b", "c"]
        assert drawn([], None) == []

    def test_whole_numbers_are_their_decimal_forms(self) -> None:
        numbers = pl.Series([10, 9, 100, 1, 20])
        assert sample_ids(numbers, None, 1).to_list() == ["1", "10", "100", "20", "9"]
        assert sample_ids(numbers, 3, 1).to_list() == sample_ids(numbers.cast(pl.String), 3, 1).to_list()

    def test_seeds_draw_apart(self) -> None:
        assert len({tuple(drawn(NAMES, 10, seed)) for seed in range(50)}) == 50

    def test_every_id_is_as_likely(self) -> None:
        counts = np.zeros(100, dtype=np.int64)
        for seed in range(1_000):
            counts[[int(name[1:]) for name in drawn(NAMES[:100], 10, seed)]] += 1
        assert evenness(counts) > LEAST_P

    @pytest.mark.parametrize("size", [0, -1])
    def test_none_cannot_be_asked_for(self, size: int) -> None:
        with pytest.raises(UsageError, match="1 or more"):
            drawn(NAMES, size)

    def test_more_than_there_are(self) -> None:
        with pytest.raises(DataError) as caught:
            sample_ids(series(NAMES), 1_001, 1, where="ada.npy")
        assert caught.value.exit_code == 3
        assert all(text in str(caught.value) for text in ("ada.npy", "1,001", "at most 1,000"))


class TestOthers:
    @given(names, st.integers(1, 60), st.integers(0, 70), seeds, st.data())
    @thorough(80)
    def test_so_many_each_once_and_never_its_own(
        self, ids: list[str], items: int, size: int, seed: int, data: Any
    ) -> None:
        own = data.draw(st.lists(st.integers(-1, items - 1), min_size=len(ids), max_size=len(ids)))
        for found, itself in zip(others(ids, own, items, size, seed), own, strict=True):
            assert len(set(found)) == len(found) == min(size, items - (itself >= 0))
            assert itself not in found and all(0 <= number < items for number in found)
            if len(found) < size:
                assert found == [number for number in range(items) if number != itself]

    @pytest.mark.parametrize(("items", "size"), [(500, 40), (500, 124), (500, 125), (500, 300), (500, 499), (7, 3)])
    def test_other_queries_and_blocks_are_of_no_account(
        self, items: int, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = [number % items for number in range(90)]
        found = dict(zip(NAMES[:90], others(NAMES[:90], own, items, size), strict=True))
        reverse = others(NAMES[:90][::-1], own[::-1], items, size)
        assert reverse == list(found.values())[::-1]
        assert others(NAMES[40:43], own[40:43], items, size) == [found[name] for name in NAMES[40:43]]
        for cells in (1, 5_000):
            monkeypatch.setattr(pairing, "_CELLS_AT_ONCE", cells)
            assert others(NAMES[:90], own, items, size) == list(found.values())

    @pytest.mark.parametrize("sizes", [(1, 5, 20, 60, 124), (125, 130, 250, 400, 499)])
    def test_a_larger_sample_holds_the_smaller(self, sizes: tuple[int, ...]) -> None:
        """While both are drawn, or both shuffled."""
        ids, own = NAMES[:30], list(range(30))
        found = [others(ids, own, 500, size) for size in sizes]
        for smaller, larger in pairwise(found):
            assert all(set(few) < set(many) for few, many in zip(smaller, larger, strict=True))

    @pytest.mark.parametrize(("items", "size"), [(60, 1), (60, 12), (60, 15), (60, 40), (8, 1), (8, 3)])
    @pytest.mark.parametrize("own", [-1, 0, 5])
    def test_every_item_is_as_likely(self, items: int, size: int, own: int) -> None:
        found = sample_items(series(NAMES), np.full(1_000, own), items, size, 7)
        counts = np.bincount(found.ravel(), minlength=items)
        if own >= 0:
            assert counts[own] == 0
            counts = np.delete(counts, own)
        assert counts.sum() == size * 1_000
        assert evenness(counts) > LEAST_P

    @pytest.mark.parametrize(("items", "size"), [(60, 1), (60, 4), (60, 30), (8, 3)])
    def test_it_is_also_for_queries_that_were_sampled_by_the_same_seed(self, items: int, size: int) -> None:
        """Queries and pairs must not be chosen by the same numbers: sampled queries are those with low ones."""
        counts = np.zeros(items, dtype=np.int64)
        for seed in range(20):
            queries = sample_ids(series(NAMES), 100, seed)
            counts += np.bincount(sample_items(queries, np.full(100, -1), items, size, seed).ravel(), minlength=items)
        assert evenness(counts) > LEAST_P

    def test_every_pair_of_items_is_as_likely(self) -> None:
        for items, size in ((9, 2), (5, 2), (5, 3)):
            found = sample_items(series(NAMES), np.full(1_000, -1), items, size, 3)
            together = np.zeros((items, items), dtype=np.int64)
            for first in range(size):
                for second in range(first + 1, size):
                    np.add.at(together, (found[:, first], found[:, second]), 1)
            assert evenness(together[np.triu_indices(items, 1)]) > LEAST_P

    def test_seeds_draw_apart(self) -> None:
        assert others(["q"], [-1], 10_000, 5, 1) != others(["q"], [-1], 10_000, 5, 2)

    def test_nothing_to_draw(self) -> None:
        assert others(["q"], [0], 1, 5) == [[]]
        assert others(["q", "r"], [0, -1], 1, 5) == [[], [0]]
        assert others(["q"], [3], 9, 0) == [[]]
        assert others([], [], 9, 4) == []
