"""Which pairs are compared: sampled ones, those of either's top k, and what both models know of them."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from rankjury.core.convert import as_ranking
from rankjury.core.types import Floats, Gold, Ints, Ranking, Vectors
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.query_lists import top_rows
from rankjury.retrieval.agreement import pairs as pairing
from rankjury.retrieval.agreement.pairs import (
    PairList,
    RunSimilarities,
    VectorSimilarities,
    sample_ids,
    sample_items,
    sample_pairs,
    score_pairs,
    top_pairs,
)
from rankjury.retrieval.agreement.reference import reference_gold
from rankjury.retrieval.knn import search as neighbours
from rankjury.retrieval.rank import drop_self
from tests.stats.support import thorough

names = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=25, unique=True)
# Queries are items as well; few scores, so that many tie.
runs = st.dictionaries(
    st.sampled_from("abcdef"),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3).map(float), min_size=1),
    min_size=1,
)


def series(ids: Any) -> pl.Series:
    return pl.Series("id", list(ids), dtype=pl.String)


def pairs_of(listed: PairList) -> list[tuple[str, str]]:
    return list(zip(listed.queries.to_list(), listed.items.to_list(), strict=True))


def ordered(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda item: (-scores[item], item))


def gold_of(run: dict[str, dict[str, float]], depth: int) -> Gold:
    """As a plan makes it of a run: without the queries themselves."""
    others = {query: {i: s for i, s in scores.items() if i != query} for query, scores in run.items()}

    def rank(queries: pl.Series, k: int) -> Ranking:
        return as_ranking({query: {i: others[query][i] for i in ordered(others[query])[:k]} for query in queries})

    return reference_gold(rank, series(run), depth, needed=0).gold


class TestSampled:
    @given(names, names, st.integers(1, 300), st.integers(0, 2**31), st.randoms(use_true_random=False))
    @thorough(50)
    def test_distinct_never_itself_and_of_every_query_as_many(
        self, queries: list[str], items: list[str], size: int, seed: int, random: Any
    ) -> None:
        listed = sample_pairs(series(queries), series(items), size, seed)
        found = pairs_of(listed)
        assert len(set(found)) == len(found) and all(query != item for query, item in found)
        ranked = series(queries).sort().to_list()
        assert [ranked[row] for row in listed.row] == listed.queries.to_list()
        assert listed.row.tolist() == sorted(listed.row)
        each = -(-size // len(queries))
        for query in queries:
            others = set(items) - {query}
            assert sum(one == query for one, _ in found) == min(each, len(others))
            assert {item for one, item in found if one == query} <= others
        random.shuffle(queries)
        random.shuffle(items)
        assert pairs_of(sample_pairs(series(queries), series(items), size, seed)) == found

    def test_all_pairs_where_more_are_asked_for(self) -> None:
        listed = sample_pairs(series("cab"), series("bcda"), 1_000, 1)
        assert pairs_of(listed) == [(query, item) for query in "abc" for item in "abcd" if query != item]
        assert listed.row.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]

    def test_one_query_one_item(self) -> None:
        assert pairs_of(sample_pairs(series("a"), series("b"), 5, 1)) == [("a", "b")]
        assert pairs_of(sample_pairs(series("a"), series("a"), 5, 1)) == []
        assert pairs_of(sample_pairs(series("a"), series("ab"), 1, 1)) == [("a", "b")]

    def test_ids_that_are_numbers(self) -> None:
        numbers = pl.Series([10, 9, 1, 100])
        listed = sample_pairs(numbers, numbers, 8, 3)
        assert pairs_of(listed) == pairs_of(sample_pairs(numbers.cast(pl.String), numbers.cast(pl.String), 8, 3))
        assert listed.queries.unique(maintain_order=True).to_list() == ["1", "10", "100", "9"]

    def test_blocks_and_seeds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ids = series(f"p{number}" for number in range(200))
        found = [pairs_of(sample_pairs(ids, ids, 2_000, seed)) for seed in (1, 2)]
        assert found[0] != found[1] and len(found[0]) == 2_000
        monkeypatch.setattr(pairing, "_CELLS_AT_ONCE", 300)
        assert pairs_of(sample_pairs(ids, ids, 2_000, 1)) == found[0]


class TestTop:
    @given(runs, runs, st.integers(1, 7), st.randoms(use_true_random=False))
    @thorough(50)
    def test_plainly(self, reference: Any, candidate: Any, k: int, random: Any) -> None:
        """The query itself takes no place in either list."""
        reference = {query: scores for query, scores in reference.items() if set(scores) - {query}}
        if not reference:
            return
        expected = set()
        for query in reference:
            for run in (reference, candidate):
                best = [item for item in ordered(run.get(query, {})) if item != query][:k]
                expected |= {(query, item) for item in best}
        gold = gold_of(reference, 7)
        listed = top_pairs(gold, drop_self(as_ranking(candidate)), k)
        assert pairs_of(listed) == sorted(expected)
        ranked = sorted(reference)
        assert [ranked[row] for row in listed.row] == listed.queries.to_list()
        rows = [(query, item, score) for query, scores in candidate.items() for item, score in scores.items()]
        random.shuffle(rows)
        shuffled = as_ranking(pl.DataFrame(rows, schema=["query_id", "item_id", "score"], orient="row"))
        assert pairs_of(top_pairs(gold, drop_self(shuffled), k)) == sorted(expected)

    def test_a_document_with_the_query_id_is_a_document(self) -> None:
        """It is only left out where the ranking leaves it out: the queries may be other things than items."""
        gold = gold_of({"a": {"x": 3.0, "y": 2.0, "z": 1.0}}, 2)
        ranking = as_ranking({"a": {"a": 1.0, "b": 0.9, "c": 0.8, "d": 0.7}})
        assert top_pairs(gold, ranking, 2).items.to_list() == ["a", "b", "x", "y"]
        found = top_pairs(gold, drop_self(ranking), 2)
        assert found.items.to_list() == ["b", "c", "x", "y"]
        assert "2" in found.about

    def test_a_query_that_the_candidate_lacks(self) -> None:
        gold = gold_of({"a": {"x": 1.0}, "b": {"x": 1.0}}, 1)
        found = top_pairs(gold, as_ranking({"b": {"y": 1.0}, "c": {"y": 1.0}}), 1)
        assert pairs_of(found) == [("a", "x"), ("b", "x"), ("b", "y")] and found.row.tolist() == [0, 1, 1]


class TestCompared:
    def test_what_both_know(self) -> None:
        vectors = Vectors(series("abc"), np.array([[1.0, 0], [0.6, 0.8], [0, 1]]))
        run = RunSimilarities(as_ranking({"a": {"b": 7.0}, "c": {"b": 5.0, "x": 4.0}}))
        listed = PairList(np.array([0, 0, 1, 1]), series("aacc"), series("bcbx"), "some")
        found = score_pairs(listed, VectorSimilarities(vectors), run)
        assert found.row.tolist() == [0, 1] and found.left_out == 2 and found.about == "some"
        assert found.reference.tolist() == pytest.approx([0.6, 0.8]) and found.candidate.tolist() == [7.0, 5.0]
        turned = score_pairs(listed, run, VectorSimilarities(vectors))
        assert turned.reference.tolist() == [7.0, 5.0] and turned.left_out == 2

    def test_nothing_known(self) -> None:
        listed = PairList(np.array([0]), series("a"), series("b"), "none")
        found = score_pairs(
            listed, RunSimilarities(as_ranking({"x": {"y": 1.0}})), RunSimilarities(as_ranking({"a": {"b": 1.0}}))
        )
        assert found.row.size == found.reference.size == found.candidate.size == 0 and found.left_out == 1


class TestFirstRows:
    @given(
        runs,
        st.sampled_from([None, 1, 2, 3, 9]),
        st.sets(st.sampled_from("abcdefz")),
        st.randoms(use_true_random=False),
    )
    @thorough(40)
    def test_by_score_then_by_id(self, run: Any, k: int | None, asked: set[str], random: Any) -> None:
        queries = list(asked)
        random.shuffle(queries)
        found = top_rows(as_ranking(run), series(queries), k)
        expected = [(q, i, run[q][i]) for q in sorted(asked) if q in run for i in ordered(run[q])[:k]]
        assert found.rows() == expected

    def test_the_given_order_where_there_are_no_scores(self) -> None:
        found = top_rows(as_ranking({"r": ["z", "a", "m"], "q": ["b", "a"]}), series("qr"), 2)
        assert [row[:2] for row in found.rows()] == [("q", "b"), ("q", "a"), ("r", "z"), ("r", "a")]

    def test_an_item_that_stands_twice_stands_at_its_best(self) -> None:
        run = Ranking(series("q"), np.array([0, 4]), series("abab"), np.array([0.1, 0.4, 0.9, 0.2]))
        assert top_rows(run, series("q"), None).rows() == [("q", "a", 0.9), ("q", "b", 0.4)]
        assert top_rows(run, series("q"), 2).height == 2

    def test_numbers_are_ordered_as_strings(self) -> None:
        run = as_ranking(pl.DataFrame({"query_id": [1, 1], "item_id": [9, 10], "score": [0.5, 0.5]}))
        assert top_rows(run, pl.Series([1]), 1).rows() == [("1", "10", 0.5)]


def id_series(*ids: Any) -> pl.Series:
    return pl.Series("id", [str(one) for one in ids], dtype=pl.String)


def corpus(n: int = 30, dimensions: int = 8, seed: int = 0, dtype: Any = np.float64) -> Vectors:
    values = np.random.default_rng(seed).normal(size=(n, dimensions)).astype(dtype)
    return Vectors(id_series(*range(n)), values, "corpus")


def plainly(metric: str, x: Floats, y: Floats) -> float:
    if metric == "ip":
        return float(x @ y)
    if metric == "cosine":
        return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    return -float(np.linalg.norm(x - y))


class TestVectors:
    @pytest.mark.parametrize("metric", ["cosine", "ip"])
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_like_numpy(self, metric: str, dtype: Any) -> None:
        vectors = corpus(dtype=dtype)
        random = np.random.default_rng(1)
        rows, columns = random.integers(0, 30, (2, 200))
        found = VectorSimilarities(vectors, metric=metric).of(id_series(*rows), id_series(*columns))
        wide = vectors.values.astype(np.float64)
        expected = [plainly(metric, wide[row], wide[column]) for row, column in zip(rows, columns, strict=True)]
        assert found.dtype == np.float64
        assert found.tolist() == pytest.approx(expected, abs=1e-12)

    def test_nearer_is_more_by_distance_too(self) -> None:
        line = Vectors(id_series("a", "b", "c"), np.array([[0.0], [1.0], [5.0]]))
        near, far, itself = (
            VectorSimilarities(line, metric="l2").of(id_series("a", "a", "a"), id_series("b", "c", "a")).tolist()
        )
        assert far < near < itself

    def test_queries_of_their_own(self) -> None:
        items, asked = corpus(), Vectors(id_series("q", "7"), np.eye(2, 8), "queries")
        found = VectorSimilarities(items, asked, "ip").of(id_series("q", "7", "7"), id_series(7, 7, 3))
        assert found.tolist() == pytest.approx([items.values[7, 0], items.values[7, 1], items.values[3, 1]])

    def test_unknown_ids(self) -> None:
        found = VectorSimilarities(corpus()).of(id_series("nobody", 1, 2, "日本"), id_series(1, "nobody", 3, "日本"))
        assert np.isnan(found).tolist() == [True, True, False, True]
        assert np.isnan(VectorSimilarities(corpus()).of(id_series("x"), id_series("y"))).all()

    def test_ids_in_any_script(self) -> None:
        vectors = Vectors(id_series("é", "日本", "a b"), np.array([[1.0, 0], [0, 1], [1, 0]]))
        assert VectorSimilarities(vectors).of(id_series("é", "é"), id_series("日本", "a b")).tolist() == [0.0, 1.0]

    def test_no_pairs(self) -> None:
        assert VectorSimilarities(corpus()).of(id_series(), id_series()).shape == (0,)

    def test_neither_blocks_nor_rows_nor_other_pairs_change_a_digit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        vectors = corpus(40, 300, dtype=np.float32)
        rows, columns = np.random.default_rng(2).integers(0, 40, (2, 500))
        found = VectorSimilarities(vectors).of(id_series(*rows), id_series(*columns))
        order = np.random.default_rng(3).permutation(40)
        shuffled = VectorSimilarities(vectors.take(order))
        assert shuffled.of(id_series(*rows), id_series(*columns)).tobytes() == found.tobytes()
        assert (
            VectorSimilarities(vectors).of(id_series(*rows[:9]), id_series(*columns[:9])).tobytes()
            == found[:9].tobytes()
        )
        monkeypatch.setattr(neighbours, "_PAIRS_AT_ONCE", 7)
        assert VectorSimilarities(vectors).of(id_series(*rows), id_series(*columns)).tobytes() == found.tobytes()

    def test_they_are_those_of_a_ranking(self) -> None:
        vectors = corpus(40, 300, dtype=np.float32)
        found = neighbours.nearest(vectors.values, vectors.values, 5)
        rows = np.repeat(np.arange(40), 5)
        scores = VectorSimilarities(vectors).of(id_series(*rows), id_series(*found.items.ravel()))
        assert scores.tobytes() == found.scores.ravel().tobytes()


class TestRuns:
    RUN = as_ranking({"q": {"a": 0.5, "b": 0.25}, "r": {"a": -1.0}})

    def test_what_was_retrieved_is_known(self) -> None:
        found = RunSimilarities(self.RUN).of(
            id_series("r", "q", "q", "r", "s", "q"), id_series("a", "b", "a", "b", "a", "b")
        )
        assert found.dtype == np.float64
        assert found.tolist() == pytest.approx([-1.0, 0.25, 0.5, np.nan, np.nan, 0.25], nan_ok=True)

    def test_no_pairs(self) -> None:
        assert RunSimilarities(self.RUN).of(id_series(), id_series()).shape == (0,)

    def test_without_scores_nothing_is(self) -> None:
        found = RunSimilarities(as_ranking({"q": ["a", "b"]})).of(id_series("q", "q"), id_series("a", "b"))
        assert np.isnan(found).all() and found.shape == (2,)

    def test_distances_that_are_whole_numbers_are_known(self) -> None:
        """Negative Hamming distances were taken for ranks here, and for scores by thresholds: one rule decides now."""
        ranking = as_ranking({"q": {"a": -2.0, "b": -5.0, "c": -5.0}, "r": {"a": 0.0}})
        assert ranking.has_scores
        assert RunSimilarities(ranking).of(id_series("q", "q"), id_series("a", "c")).tolist() == [-2.0, -5.0]

    @pytest.mark.parametrize("first", [0.0, -1.0])
    def test_ranks_are_not_similarities(self, first: float) -> None:
        ranking = as_ranking({"q": {"a": first, "b": first - 1}, "r": {"a": first}})
        assert not ranking.has_scores
        assert np.isnan(RunSimilarities(ranking).of(id_series("q", "r"), id_series("a", "a"))).all()

    def test_whole_numbers_as_ids(self) -> None:
        ranking = as_ranking(pl.DataFrame({"query_id": [1, 1, 10], "item_id": [2, 10, 2], "score": [0.1, 0.2, 0.3]}))
        assert RunSimilarities(ranking).of(id_series(10, 1, 1), id_series(2, 10, 2)).tolist() == [0.3, 0.2, 0.1]

    @pytest.mark.parametrize("scores", [[0.1, 0.9, 0.5, 0.3], [0.9, 0.3, 0.5, 0.1], [0.3, 0.1, 0.5, 0.9]])
    def test_of_an_item_that_stands_twice_the_higher_score_counts(self, scores: list[float]) -> None:
        """As in a reference's gold, whatever the order of the rows."""
        ranking = Ranking(id_series("q"), np.array([0, 4]), id_series("a", "a", "b", "a"), np.array(scores))
        assert RunSimilarities(ranking).of(id_series("q", "q"), id_series("a", "b")).tolist() == [0.9, 0.5]


def test_which_knows_all() -> None:
    assert VectorSimilarities(corpus()).everything and not RunSimilarities(TestRuns.RUN).everything


NAMES = [f"p{number:04}" for number in range(1_000)]
LEAST_P = 1e-4

many_names = st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=40, unique=True)
seeds = st.integers(0, 2**63 - 1)


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
    @given(many_names, seeds, st.randoms(use_true_random=False), st.data())
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

    @given(many_names, seeds, st.data())
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
    @given(many_names, st.integers(1, 60), st.integers(0, 70), seeds, st.data())
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
