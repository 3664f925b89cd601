"""Items found by their chunks, against the plain way: all scores of all chunks in lists."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.core.types import Floats, Ints, Vectors
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.rank import rank_vectors
from rankjury.retrieval.rank_chunks import Chunked, aggregate, nearest_items, rank_chunks
from tests.stats.support import thorough

ROUNDING = 1e-12


def score(left: Sequence[float], right: Sequence[float], metric: str) -> float:
    if metric == "l2":
        return -math.dist(left, right)
    dot = math.fsum(one * other for one, other in zip(left, right, strict=True))
    return dot if metric == "ip" else dot / (math.hypot(*left) * math.hypot(*right))


def slowly(queries: Floats, chunks: Floats, owners: Ints, how: str, metric: str) -> list[list[float]]:
    """For each query the score of each item."""
    found = []
    for query in queries.tolist():
        by_item: dict[int, list[float]] = {}
        for chunk, owner in zip(chunks.tolist(), owners.tolist(), strict=True):
            by_item.setdefault(owner, []).append(score(query, chunk, metric))
        best = {
            item: max(all_of) if how == "best" else math.fsum(all_of) / len(all_of) for item, all_of in by_item.items()
        }
        found.append([best[item] for item in sorted(best)])
    return found  # fmt: skip


def check(found: Neighbours, scores: list[list[float]], k: int, places: Ints | None = None) -> None:
    """The right items in the right order; where scores are apart by rounding alone, either order is right."""
    for items, values, wanted in zip(found.items.tolist(), found.scores.tolist(), scores, strict=True):
        assert len(items) == len(set(items)) == min(k, len(wanted))
        assert values == sorted(values, reverse=True)
        assert values == pytest.approx([wanted[item] for item in items], abs=ROUNDING)
        assert values == pytest.approx(sorted(wanted, reverse=True)[: len(items)], abs=ROUNDING)
        if places is not None:
            for (item, value), (other, lower) in zip(
                zip(items, values, strict=True), zip(items[1:], values[1:], strict=True), strict=False
            ):
                assert value > lower or places[item] < places[other]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[Floats, Floats, Ints, Ints, int]:
    """Whole numbers, so that many scores are equal; owners in any order, each with at least one chunk."""
    items = draw(st.integers(1, 8))
    owners = np.array(draw(st.permutations([*range(items), *draw(st.lists(st.integers(0, items - 1), max_size=25))])))
    numbers = st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any)
    queries, chunks = (
        np.array(draw(st.lists(numbers, min_size=n, max_size=n)), dtype=np.float64) for n in (2, owners.size)
    )
    return (
        queries,
        chunks,
        owners.astype(np.int64),
        np.array(draw(st.permutations(range(items)))),
        draw(st.integers(1, 9)),
    )


@pytest.mark.parametrize("how", ["best", "mean"])
@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
class TestAgainstThePlainWay:
    @thorough(40)
    @given(case=cases())
    def test_small_sets_with_ties(self, how: str, metric: str, case: tuple[Floats, Floats, Ints, Ints, int]) -> None:
        queries, chunks, owners, places, k = case
        found = nearest_items(queries, chunks, owners, k, how=how, metric=metric, places=places)
        check(found, slowly(queries, chunks, owners, how, metric), k, places)

    def test_larger_sets(self, how: str, metric: str) -> None:
        """One item has most of the best chunks of the first query, so that the search has to go deeper."""
        chance = np.random.default_rng(3)
        owners = np.sort(np.concatenate((np.arange(120), chance.integers(0, 120, 300), np.full(150, 7))))
        queries = chance.normal(size=(6, 8))
        chunks = chance.normal(size=(owners.size, 8))
        chunks[owners == 7] = queries[0] + 0.01 * chance.normal(size=(int((owners == 7).sum()), 8))
        found = nearest_items(queries, chunks, owners, 5, how=how, metric=metric)
        check(found, slowly(queries, chunks, owners, how, metric), 5)
        assert how == "mean" or metric == "ip" or found.items[0, 0] == 7

    def test_from_what_was_found_of_all_chunks(self, how: str, metric: str) -> None:
        chance = np.random.default_rng(4)
        owners = np.repeat(np.arange(10), 3)
        queries, chunks = chance.normal(size=(4, 5)), chance.normal(size=(30, 5))
        found = aggregate(nearest(queries, chunks, 30, metric=metric), owners, k=10, how=how)
        check(found, slowly(queries, chunks, owners, how, metric), 10)

    def test_vectors_of_32_bits(self, how: str, metric: str) -> None:
        chance = np.random.default_rng(5)
        owners = np.repeat(np.arange(40), 2)
        queries, chunks = (chance.normal(size=(n, 5)).astype(np.float32) for n in (3, 80))
        found = nearest_items(queries, chunks, owners, 4, how=how, metric=metric)
        wide = slowly(queries.astype(np.float64), chunks.astype(np.float64), owners, how, metric)
        check(found, wide, 4)


def test_all_chunks_the_same_is_settled_by_id() -> None:
    """Nothing tells them apart however deep the search goes."""
    owners = np.repeat(np.arange(50), 4)
    places = np.arange(50)[::-1].copy()
    found = nearest_items(np.ones((1, 3)), np.ones((200, 3)), owners, 3, places=places)
    assert found.items.tolist() == [[49, 48, 47]]
    assert found.scores == pytest.approx(1.0)


def test_ties_at_the_depth_that_was_looked_at_first() -> None:
    """Items 1 … 9 tie for the second place; the one that comes first by id has its chunks last."""
    chunks = np.array([[1.0, 0.0], *[[1.0, 1.0]] * 30])
    owners = np.array([0, *[9] * 20, *range(2, 9), 1, 1, 1])
    found = nearest_items(np.array([[1.0, 0.0]]), chunks, owners, 2)
    assert found.items.tolist() == [[0, 1]]


class TestAggregate:
    FOUND = Neighbours(np.array([[3, 0, 1, 2], [2, 1, 0, 3]]), np.array([[0.9, 0.8, 0.3, 0.1], [0.7, 0.6, 0.5, 0.4]]))
    OWNERS = np.array([0, 0, 1, 2])

    def test_by_hand(self) -> None:
        best = aggregate(self.FOUND, self.OWNERS, k=2)
        assert (best.items.tolist(), best.scores.tolist()) == ([[2, 0], [1, 0]], [[0.9, 0.8], [0.7, 0.6]])
        mean = aggregate(self.FOUND, self.OWNERS, k=3, how="mean")
        assert mean.items.tolist() == [[2, 0, 1], [1, 0, 2]]
        assert mean.scores == pytest.approx(np.array([[0.9, 0.55, 0.1], [0.7, 0.55, 0.4]]))

    def test_those_that_were_not_found(self) -> None:
        part = Neighbours(np.array([[3, 0, MISSING]]), np.array([[0.9, 0.8, -np.inf]]))
        assert aggregate(part, self.OWNERS, k=3).items.tolist() == [[2, 0, MISSING]]
        with pytest.raises(UsageError, match="some were not found"):
            aggregate(part, self.OWNERS, k=3, how="mean")

    def test_what_is_refused(self) -> None:
        with pytest.raises(UnknownName, match="way to aggregate 'median'"):
            aggregate(self.FOUND, self.OWNERS, k=2, how="median")
        with pytest.raises(UsageError, match="item 1 has no chunk"):
            nearest_items(np.ones((1, 2)), np.ones((2, 2)), np.array([0, 2]), 1)
        for how in ("best", "mean"):
            with pytest.raises(DataError, match="vector 1 is zero"):
                nearest_items(np.ones((1, 2)), np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([0, 1]), 1, how=how)


class TestRankings:
    ITEMS = pl.Series("id", ["b", "a", "c"])
    QUERIES = Vectors(pl.Series("id", ["q", "a"]), np.array([[1.0, 0.0], [0.0, 1.0]]))

    def test_by_hand(self) -> None:
        """Of b the second chunk is best for both; a is the second query itself; a and c tie for the first."""
        values = np.array([[-1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
        corpus = Chunked(
            Vectors(pl.Series("id", ["b#0", "b#1", "a#0", "c#0"]), values), np.array([0, 0, 1, 2]), self.ITEMS
        )
        found = rank_chunks(corpus, self.QUERIES, exclude_self=True)
        assert found.frame().rows() == [
            ("q", "b", pytest.approx(math.sqrt(0.5))),
            ("q", "a", 0.0),
            ("q", "c", 0.0),
            ("a", "b", pytest.approx(math.sqrt(0.5))),
            ("a", "c", -1.0),
        ]
        kept = rank_chunks(corpus, self.QUERIES)
        assert kept.frame().rows()[3:] == [("a", "a", 1.0), ("a", "b", pytest.approx(math.sqrt(0.5))), ("a", "c", -1.0)]
        assert "kept" in kept.notes[0]
        first = rank_chunks(corpus, self.QUERIES, k=1, how="mean", exclude_self=True)
        assert first.frame().rows() == [("q", "a", 0.0), ("a", "b", pytest.approx(math.sqrt(0.5) / 2))]

    @pytest.mark.parametrize("how", ["best", "mean"])
    @pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
    def test_one_chunk_an_item_is_what_vectors_rank(self, how: str, metric: str) -> None:
        chance = np.random.default_rng(6)
        values, asked = chance.normal(size=(25, 4)), chance.normal(size=(3, 4))
        ids = pl.Series("id", [f"i{n}" for n in range(25)])
        queries = Vectors(pl.Series("id", ["i3", "x", "i9"]), asked)
        corpus = Chunked(Vectors(ids + "#0", values), np.arange(25), ids)
        found = rank_chunks(corpus, queries, k=7, how=how, metric=metric)
        wanted = rank_vectors(Vectors(ids, values), queries, k=7, metric=metric).ranking
        assert found.items.to_list() == wanted.items.to_list()
        assert found.starts.tolist() == wanted.starts.tolist()
        assert found.scores == pytest.approx(wanted.scores, abs=ROUNDING)

    def test_a_chunk_without_direction_is_named(self) -> None:
        corpus = Chunked(Vectors(pl.Series("id", ["b#0", "b#1"]), np.array([[1.0, 0.0], [0.0, 0.0]])),
                         np.array([0, 0]), pl.Series("id", ["b"]))  # fmt: skip
        with pytest.raises(DataError, match="the vector of b#1 is zero"):
            rank_chunks(corpus, self.QUERIES)
