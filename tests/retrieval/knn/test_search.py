"""Exact neighbours against plain loops: order, ties, self-matches, near-ties, and independence of how it is cut up."""

import math
import os
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rankjury.core.progress import Progress
from rankjury.errors import DataError, UnknownName
from rankjury.retrieval.knn import search as neighbours, similarity
from rankjury.retrieval.knn.search import LeftOut, Neighbours, nearest, score_listed
from rankjury.retrieval.knn.select import MISSING
from tests.stats.support import thorough

METRICS = ["cosine", "ip", "l2"]
DTYPES = [np.float16, np.float32, np.float64]
seeds = st.integers(0, 2**32 - 1)
metrics, dtypes = st.sampled_from(METRICS), st.sampled_from(DTYPES)


def grid_score(query: list[int], item: list[int], metric: str) -> float:
    """Of whole numbers, whose sums are exact: what float64 must give to the last bit."""
    if metric == "l2":
        return -math.sqrt(sum((q - x) ** 2 for q, x in zip(query, item, strict=True)))
    dot = sum(q * x for q, x in zip(query, item, strict=True))
    if metric == "ip":
        return float(dot)
    lengths = math.sqrt(sum(q * q for q in query)) * math.sqrt(sum(x * x for x in item))
    return max(-1.0, min(1.0, dot / lengths))


def in_order(scores: list[float], k: int, places: Any, own: int) -> tuple[list[int], list[float]]:
    """The ranking by Python's own sort, filled up."""
    others = [item for item in range(len(scores)) if item != own]
    ranked = sorted(others, key=lambda item: (-scores[item], places[item]))[:k]
    missing = min(k, len(scores)) - len(ranked)
    return ranked + [MISSING] * missing, [scores[item] for item in ranked] + [-math.inf] * missing


def check_order(found: Neighbours, table: Any, k: int, places: Any, own: Any) -> None:
    for row, scores in enumerate(table):
        items, values = in_order(scores, k, places, int(own[row]))
        assert found.items[row].tolist() == items
        assert found.scores[row].tolist() == values


def every_score(queries: Any, items: Any, metric: str) -> Any:
    rows, columns = np.divmod(np.arange(len(queries) * len(items)), len(items))
    return score_listed(queries, items, rows, columns, metric=metric).reshape(len(queries), -1)


def on_a_grid(rng: np.random.Generator, rows: int, dimensions: int) -> Any:
    """Small whole numbers, none of the vectors zero, many of them equal or parallel."""
    vectors = rng.integers(-2, 3, (rows, dimensions))
    vectors[~vectors.any(axis=1), 0] = 1
    return vectors


def some_own(rng: np.random.Generator, queries: int, items: int, same: bool) -> Any:
    """Of most queries an item, of some nobody; ``same``: it is the query itself."""
    own = np.arange(queries) if same else rng.integers(0, items, queries)
    return np.where(rng.random(queries) < 0.2, MISSING, own)


def assert_same(one: Neighbours, other: Neighbours) -> None:
    np.testing.assert_array_equal(one.items, other.items)
    np.testing.assert_array_equal(one.scores, other.scores)


@given(data=st.data(), seed=seeds, metric=metrics, dtype=dtypes, same=st.booleans(), k=st.integers(1, 12))
@thorough(120)
def test_like_a_plain_sort(data: Any, seed: int, metric: str, dtype: Any, same: bool, k: int) -> None:
    """To the last bit: with few and with many items, with ties by place, with and without self-matches."""
    rng = np.random.default_rng(seed)
    n_items, dimensions = data.draw(st.integers(1, 120)), data.draw(st.integers(1, 6))
    items = on_a_grid(rng, n_items, dimensions)
    queries = items if same else on_a_grid(rng, data.draw(st.integers(1, 9)), dimensions)
    places = rng.permutation(n_items)
    own = np.full(len(queries), MISSING)
    if data.draw(st.booleans()):
        own = some_own(rng, len(queries), n_items, same and data.draw(st.booleans()))
    given_items = items.astype(dtype)
    given_queries = given_items if same else queries.astype(dtype)
    found = nearest(given_queries, given_items, k, metric=metric, places=places, own=own, tile_bytes=1 << 12)
    table = [[grid_score(q, x, metric) for x in items.tolist()] for q in queries.tolist()]
    check_order(found, table, k, places, own)
    assert found.found.tolist() == [min(k, n_items - int(one != MISSING)) for one in own]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("same", [True, False])
@given(seed=seeds, k=st.integers(1, 30))
@thorough(4)
def test_real_numbers_like_a_sort_of_all_scores(metric: str, dtype: Any, same: bool, seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(300, 9)).astype(dtype)
    items[rng.integers(0, 300, 40)] = items[7]
    queries = items if same else rng.normal(size=(11, 9)).astype(dtype)
    places, own = rng.permutation(300), some_own(rng, len(queries), 300, same)
    found = nearest(queries, items, k, metric=metric, places=places, own=own, tile_bytes=1 << 16)
    check_order(found, every_score(queries, items, metric).tolist(), k, places, own)


@pytest.mark.parametrize("metric", METRICS)
@given(seed=seeds, step=st.sampled_from([1e-9, 1e-12, 1e-7]), copies=st.integers(1, 3))
@thorough(12)
def test_near_ties_are_told_apart_exactly(metric: str, seed: int, step: float, copies: int) -> None:
    """Items that differ by less than 32 bits can tell, some more than once: in the order of exact arithmetic."""
    rng = np.random.default_rng(seed)
    middle, way = rng.normal(size=5), rng.normal(size=5)
    items = np.repeat(middle + step * rng.permutation(60)[:, None] * way, copies, axis=0)
    query = rng.normal(size=(1, 5))
    places = rng.permutation(len(items))

    def exactly(item: Any) -> Fraction:
        q, x = ([Fraction(float(number)) for number in vector] for vector in (query[0], item))
        if metric == "l2":
            return -sum(((a - b) ** 2 for a, b in zip(q, x, strict=True)), Fraction())
        dot = sum((a * b for a, b in zip(q, x, strict=True)), Fraction())
        return dot if metric == "ip" else dot * abs(dot) / sum(b * b for b in x)

    ranked = sorted(range(len(items)), key=lambda item: (-exactly(items[item]), places[item]))
    found = nearest(query, items, 12, metric=metric, places=places)
    assert found.items[0].tolist() == ranked[:12]


def search(metric: str, same: bool, dtype: Any, k: int = 9, **options: Any) -> Neighbours:
    rng = np.random.default_rng(11)
    items = rng.normal(size=(500, 24)).astype(dtype)
    items[rng.integers(0, 500, 60)] = items[3]
    items[100:130] = items[3] + 1e-9 * rng.normal(size=(30, 24))
    own = some_own(rng, 500, 500, True)
    queries = items if same else items.copy()
    return nearest(queries, items, k, metric=metric, own=own, places=rng.permutation(500), **options)


@cache
def searched_at_once(metric: str, same: bool, dtype: Any, k: int = 9) -> Neighbours:
    """What every other way to cut it up is held against."""
    return search(metric, same, dtype, k)


class TestHowItIsCutUp:
    """Nothing changes, not a bit, with tiles, threads, blocks or the order of the rows."""

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_tiles_and_whether_queries_are_the_items(self, metric: str, dtype: Any) -> None:
        whole = searched_at_once(metric, True, dtype)
        for tile_bytes in (1 << 12, 1 << 16, 1 << 26):
            for same in (True, False):
                assert_same(whole, search(metric, same, dtype, tile_bytes=tile_bytes))

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("same", [True, False])
    @pytest.mark.parametrize("processors", [1, 5, None])
    def test_threads(self, metric: str, same: bool, processors: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = searched_at_once(metric, same, np.float32)
        monkeypatch.setattr(os, "cpu_count", lambda: processors)
        for _ in range(2):
            assert_same(whole, search(metric, same, np.float32, tile_bytes=1 << 16))

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("k", [9, 400])
    @pytest.mark.parametrize("size", [1, 7, 100])
    def test_blocks(self, metric: str, k: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = searched_at_once(metric, False, np.float64, k)
        for name, value in (("_ITEMS_IN_A_TILE", 40 * size), ("_PAIRS_AT_ONCE", 50 * size), ("_QUERIES_AT_ONCE", size)):
            monkeypatch.setattr(neighbours, name, value)
        monkeypatch.setattr(neighbours, "_FEWEST_QUERIES_IN_A_TILE", 10 * size)
        monkeypatch.setattr(similarity, "_ELEMENTS_AT_ONCE", 24 * size)
        assert_same(whole, search(metric, False, np.float64, k, tile_bytes=1 << 12))

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("same", [True, False])
    def test_order_of_the_rows(self, metric: str, same: bool) -> None:
        rng = np.random.default_rng(5)
        items = rng.normal(size=(400, 24)).astype(np.float32)
        items[rng.integers(0, 400, 80)] = items[3]
        places, order, own = rng.permutation(400), rng.permutation(400), np.arange(400)
        moved = items[order]
        whole = nearest(items, items, 9, metric=metric, places=places, own=own)
        other = nearest(moved if same else items[order], moved, 9, metric=metric, places=places[order], own=own)
        np.testing.assert_array_equal(order[other.items], whole.items[order])
        np.testing.assert_array_equal(other.scores, whole.scores[order])


class TestManyAlike:
    """The products leave every query open: all who may be among the k are scored."""

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("kinds", [1, 3])
    def test_thousands_of_copies_come_by_place(self, metric: str, dtype: Any, kinds: int) -> None:
        rng = np.random.default_rng(2)
        drawn = rng.normal(size=(kinds, 8)).astype(dtype)
        of_kind = rng.integers(0, kinds, 3000)
        queries, places, own = rng.normal(size=(20, 8)).astype(dtype), rng.permutation(3000), rng.integers(0, 3000, 20)
        table = every_score(queries, drawn, metric)[:, of_kind]
        found = nearest(queries, drawn[of_kind], 10, metric=metric, places=places, own=own)
        check_order(found, table.tolist(), 10, places, own)

    def test_a_set_of_copies_with_itself(self) -> None:
        vectors, places = np.ones((900, 3), dtype=np.float32), np.random.default_rng(4).permutation(900)
        found = nearest(vectors, vectors, 4, places=places, own=np.arange(900))
        for row, items in enumerate(found.items.tolist()):
            assert items == [item for item in np.argsort(places)[:5].tolist() if item != row][:4]

    def test_far_queries_cannot_tell_items_apart(self) -> None:
        """From 1e12 away all distances are nearly equal, and many are equal."""
        rng = np.random.default_rng(6)
        items = np.tile(rng.normal(size=(500, 4)), (2, 1))
        queries, places = 1e12 * rng.normal(size=(10, 4)), rng.permutation(1000)
        found = nearest(queries, items, 5, metric="l2", places=places)
        check_order(found, every_score(queries, items, "l2").tolist(), 5, places, [MISSING] * 10)

    @pytest.mark.parametrize("outlier", [1e4, 1e12])
    def test_an_item_much_longer_than_all_others(self, outlier: float) -> None:
        items = np.random.default_rng(8).normal(size=(200, 4))
        items[17] *= outlier
        for metric in ("ip", "l2"):
            found = nearest(items, items, 6, metric=metric)
            check_order(found, every_score(items, items, metric).tolist(), 6, np.arange(200), [MISSING] * 200)


class TestSizes:
    @pytest.mark.parametrize("metric", ["ip", "cosine"])
    @pytest.mark.parametrize(("dtype", "power"), [(np.float64, 332), (np.float64, -332), (np.float32, 120)])
    def test_lengths_are_of_no_account(self, metric: str, dtype: Any, power: int) -> None:
        """A power of two changes no digit: 1e100, 1e-100, and near the largest of 32 bits."""
        vectors = np.random.default_rng(9).normal(size=(200, 7)).astype(dtype)
        long = vectors * dtype(2.0**power)
        whole, scaled = (nearest(one, one, 5, metric=metric) for one in (vectors, long))
        np.testing.assert_array_equal(scaled.items, whole.items)
        np.testing.assert_array_equal(scaled.scores, whole.scores * (4.0**power if metric == "ip" else 1.0))

    @pytest.mark.parametrize("metric", METRICS)
    def test_the_shortest_of_float32(self, metric: str) -> None:
        vectors = (np.random.default_rng(0).normal(size=(200, 6)) * 1e-40).astype(np.float32)
        wide = vectors.astype(np.float64)
        assert_same(nearest(vectors, vectors, 3, metric=metric), nearest(wide, wide, 3, metric=metric))

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("dimensions", [1, 10_007])
    def test_one_dimension_and_ten_thousand(self, metric: str, dimensions: int) -> None:
        vectors = np.random.default_rng(1).integers(1, 4, (60, dimensions))
        queries = vectors[:6] if dimensions > 1 else vectors
        found = nearest(queries.astype(np.float32), vectors.astype(np.float32), 5, metric=metric)
        table = [[grid_score(query, item, metric) for item in vectors.tolist()] for query in queries.tolist()]
        check_order(found, table, 5, np.arange(60), [MISSING] * len(queries))

    @pytest.mark.parametrize("metric", METRICS)
    def test_nobody_at_all(self, metric: str) -> None:
        vectors = np.ones((3, 2))
        assert nearest(vectors, vectors[:0], 5, metric=metric).items.shape == (3, 0)
        assert nearest(vectors[:0], vectors, 5, metric=metric).items.shape == (0, 3)
        assert nearest(vectors, vectors, 0, metric=metric).found.tolist() == [0, 0, 0]


def test_listed_pairs_are_scored_as_neighbours_are() -> None:
    rng = np.random.default_rng(12)
    queries, items = rng.normal(size=(40, 33)).astype(np.float32), rng.normal(size=(300, 33)).astype(np.float32)
    for metric in METRICS:
        found = nearest(queries, items, 7, metric=metric)
        rows = np.repeat(np.arange(40), 7)
        listed = score_listed(queries, items, rows, found.items.reshape(-1), metric=metric)
        np.testing.assert_array_equal(listed, found.scores.reshape(-1))
        assert score_listed(queries, items, rows[:0], rows[:0], metric=metric).shape == (0,)


def test_progress_counts_steps() -> None:
    calls: list[tuple[int, int]] = []
    vectors = np.random.default_rng(0).normal(size=(300, 4))
    nearest(vectors, vectors, 3, tile_bytes=1 << 12, progress=Progress(lambda what, done, of: calls.append((done, of))))
    assert [done for done, _ in calls] == list(range(len(calls)))
    assert {of for _, of in calls} == {len(calls)}


def test_refusals_and_read_only_results() -> None:
    vectors = np.ones((3, 2))
    with pytest.raises(DataError, match="vector 2 is zero"):
        nearest(vectors, vectors * [[1], [1], [0]], 1)
    with pytest.raises(UnknownName, match=r"Did you mean cosine"):
        nearest(vectors, vectors, 1, metric="cosinus")
    with pytest.raises(ValueError, match="read-only"):
        nearest(vectors, vectors, 1).items[0, 0] = 2


class TestOrderAlone:
    """Without scores: the same items in the same order, and ties where scores tie."""

    @staticmethod
    def check(queries: Any, items: Any, k: int, **options: Any) -> None:
        scored = nearest(queries, items, k, **options)
        placed = nearest(queries, items, k, scored=False, **options)
        assert np.array_equal(scored.items, placed.items)
        assert np.array_equal(np.diff(scored.scores) == 0, np.diff(placed.scores) == 0)
        there = placed.items[:, 0] != MISSING
        assert (placed.scores[there, 0] == 0).all() and set(np.unique(np.diff(placed.scores))) <= {0.0, -1.0}

    @pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    @pytest.mark.parametrize("k", [1, 5, 40])
    def test_random_vectors(self, metric: str, dtype: Any, k: int) -> None:
        random = np.random.default_rng(k)
        items = random.normal(size=(500, 24)).astype(dtype)
        places = random.permutation(500)
        self.check(items, items, k, metric=metric, own=np.arange(500), places=places)
        self.check(items[::7].copy(), items, k, metric=metric, places=places)

    @pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
    def test_copies_and_near_copies(self, metric: str) -> None:
        """Runs of ties that end within the k, at it, beyond what is kept, and differences below what 32 bits tell."""
        random = np.random.default_rng(3)
        base = random.normal(size=(35, 16))
        copies = np.repeat(base, random.integers(1, 40, 35), axis=0)
        near = (
            copies
            + random.normal(size=copies.shape) * np.repeat([0.0, 1e-9], [len(copies) // 2, 10_000])[: len(copies), None]
        )
        items = random.permutation(near)
        for k in (1, 10, 33):
            self.check(items, items, k, metric=metric, own=np.arange(len(items)))

    def test_all_alike(self) -> None:
        items = np.ones((300, 4), dtype=np.float32)
        found = nearest(items, items, 5, own=np.arange(300), scored=False)
        assert found.items[10].tolist() == [0, 1, 2, 3, 4] and not found.scores.any()

    @given(st.integers(1, 60), st.integers(0, 2**31))
    @thorough(25)
    def test_small_whole_numbers(self, k: int, seed: int) -> None:
        """Few distinct scores, so that most places are tied."""
        random = np.random.default_rng(seed)
        items = random.integers(-2, 3, (150, 4)).astype(np.float64)
        self.check(items, items, k, metric="l2", own=np.arange(150))
        self.check(items[:20], items, k, metric="ip")


N_ITEMS = 9


def left_out(lists: list[list[int]]) -> LeftOut:
    starts = np.concatenate(([0], np.cumsum([len(one) for one in lists])))
    return LeftOut(starts, np.array([item for one in lists for item in sorted(one)], dtype=np.int64), N_ITEMS)


LISTS = st.lists(st.lists(st.integers(0, N_ITEMS - 1), unique=True), min_size=1, max_size=7)


@given(LISTS)
def test_pairs_that_are_left_out_are_told_from_the_others(lists: list[list[int]]) -> None:
    queries, items = np.divmod(np.arange(len(lists) * N_ITEMS), N_ITEMS)
    expected = [item in lists[query] for query, item in zip(queries, items, strict=True)]
    assert left_out(lists).holds(queries, items).tolist() == expected
    assert left_out(lists).counts.tolist() == [len(one) for one in lists]


@thorough(200)
@given(LISTS, st.data())
def test_a_tile_has_the_pairs_within_it(lists: list[list[int]], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(lists) - 1))
    last = data.draw(st.integers(first, len(lists)))
    low = data.draw(st.integers(0, N_ITEMS - 1))
    high = data.draw(st.integers(low, N_ITEMS))
    row, column = left_out(lists).between(first, last, low, high)
    assert sorted(zip(row.tolist(), column.tolist(), strict=True)) == [
        (query - first, item - low)
        for query in range(first, last)
        for item in sorted(lists[query])
        if low <= item < high
    ]


@given(LISTS, st.data())
def test_any_queries_in_any_order(lists: list[list[int]], data: st.DataObject) -> None:
    queries = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=8))
    row, item = left_out(lists).of(np.array(queries, dtype=np.int64))
    assert list(zip(row.tolist(), item.tolist(), strict=True)) == [
        (place, one) for place, query in enumerate(queries) for one in sorted(lists[query])
    ]


def test_each_query_leaves_out_itself() -> None:
    own = LeftOut.own(np.array([2, -1, 0]), N_ITEMS)
    assert own.starts.tolist() == [0, 1, 1, 2]
    assert own.items.tolist() == [2, 0]
    assert own.holds(np.array([0, 1, 2, 2]), np.array([2, 2, 0, 2])).tolist() == [True, False, True, False]


def test_nothing_is_left_out() -> None:
    nothing = left_out([[], []])
    assert not nothing.holds(np.array([0, 1]), np.array([0, 8])).any()
    assert nothing.between(0, 2, 0, N_ITEMS)[0].size == 0
