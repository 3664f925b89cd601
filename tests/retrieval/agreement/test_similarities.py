"""Similarities of pairs: from vectors as NumPy has them, from runs as they stand."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.core.convert import as_ranking
from rankjury.core.types import Floats, Ranking, Vectors
from rankjury.retrieval.agreement.pairs import RunSimilarities, VectorSimilarities
from rankjury.retrieval.knn import search as neighbours


def names(*ids: Any) -> pl.Series:
    return pl.Series("id", [str(one) for one in ids], dtype=pl.String)


def corpus(n: int = 30, dimensions: int = 8, seed: int = 0, dtype: Any = np.float64) -> Vectors:
    values = np.random.default_rng(seed).normal(size=(n, dimensions)).astype(dtype)
    return Vectors(names(*range(n)), values, "corpus")


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
        found = VectorSimilarities(vectors, metric=metric).of(names(*rows), names(*columns))
        wide = vectors.values.astype(np.float64)
        expected = [plainly(metric, wide[row], wide[column]) for row, column in zip(rows, columns, strict=True)]
        assert found.dtype == np.float64
        assert found.tolist() == pytest.approx(expected, abs=1e-12)

    def test_nearer_is_more_by_distance_too(self) -> None:
        line = Vectors(names("a", "b", "c"), np.array([[0.0], [1.0], [5.0]]))
        near, far, itself = (
            VectorSimilarities(line, metric="l2").of(names("a", "a", "a"), names("b", "c", "a")).tolist()
        )
        assert far < near < itself

    def test_queries_of_their_own(self) -> None:
        items, asked = corpus(), Vectors(names("q", "7"), np.eye(2, 8), "queries")
        found = VectorSimilarities(items, asked, "ip").of(names("q", "7", "7"), names(7, 7, 3))
        assert found.tolist() == pytest.approx([items.values[7, 0], items.values[7, 1], items.values[3, 1]])

    def test_unknown_ids(self) -> None:
        found = VectorSimilarities(corpus()).of(names("nobody", 1, 2, "日本"), names(1, "nobody", 3, "日本"))
        assert np.isnan(found).tolist() == [True, True, False, True]
        assert np.isnan(VectorSimilarities(corpus()).of(names("x"), names("y"))).all()

    def test_ids_in_any_script(self) -> None:
        vectors = Vectors(names("é", "日本", "a b"), np.array([[1.0, 0], [0, 1], [1, 0]]))
        assert VectorSimilarities(vectors).of(names("é", "é"), names("日本", "a b")).tolist() == [0.0, 1.0]

    def test_no_pairs(self) -> None:
        assert VectorSimilarities(corpus()).of(names(), names()).shape == (0,)

    def test_neither_blocks_nor_rows_nor_other_pairs_change_a_digit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        vectors = corpus(40, 300, dtype=np.float32)
        rows, columns = np.random.default_rng(2).integers(0, 40, (2, 500))
        found = VectorSimilarities(vectors).of(names(*rows), names(*columns))
        order = np.random.default_rng(3).permutation(40)
        shuffled = VectorSimilarities(vectors.take(order))
        assert shuffled.of(names(*rows), names(*columns)).tobytes() == found.tobytes()
        assert VectorSimilarities(vectors).of(names(*rows[:9]), names(*columns[:9])).tobytes() == found[:9].tobytes()
        monkeypatch.setattr(neighbours, "_PAIRS_AT_ONCE", 7)
        assert VectorSimilarities(vectors).of(names(*rows), names(*columns)).tobytes() == found.tobytes()

    def test_they_are_those_of_a_ranking(self) -> None:
        vectors = corpus(40, 300, dtype=np.float32)
        found = neighbours.nearest(vectors.values, vectors.values, 5)
        rows = np.repeat(np.arange(40), 5)
        scores = VectorSimilarities(vectors).of(names(*rows), names(*found.items.ravel()))
        assert scores.tobytes() == found.scores.ravel().tobytes()


class TestRuns:
    RUN = as_ranking({"q": {"a": 0.5, "b": 0.25}, "r": {"a": -1.0}})

    def test_what_was_retrieved_is_known(self) -> None:
        found = RunSimilarities(self.RUN).of(names("r", "q", "q", "r", "s", "q"), names("a", "b", "a", "b", "a", "b"))
        assert found.dtype == np.float64
        assert found.tolist() == pytest.approx([-1.0, 0.25, 0.5, np.nan, np.nan, 0.25], nan_ok=True)

    def test_no_pairs(self) -> None:
        assert RunSimilarities(self.RUN).of(names(), names()).shape == (0,)

    def test_without_scores_nothing_is(self) -> None:
        found = RunSimilarities(as_ranking({"q": ["a", "b"]})).of(names("q", "q"), names("a", "b"))
        assert np.isnan(found).all() and found.shape == (2,)

    def test_distances_that_are_whole_numbers_are_known(self) -> None:
        """Negative Hamming distances were taken for ranks here, and for scores by thresholds: one rule decides now."""
        ranking = as_ranking({"q": {"a": -2.0, "b": -5.0, "c": -5.0}, "r": {"a": 0.0}})
        assert ranking.has_scores
        assert RunSimilarities(ranking).of(names("q", "q"), names("a", "c")).tolist() == [-2.0, -5.0]

    @pytest.mark.parametrize("first", [0.0, -1.0])
    def test_ranks_are_not_similarities(self, first: float) -> None:
        ranking = as_ranking({"q": {"a": first, "b": first - 1}, "r": {"a": first}})
        assert not ranking.has_scores
        assert np.isnan(RunSimilarities(ranking).of(names("q", "r"), names("a", "a"))).all()

    def test_whole_numbers_as_ids(self) -> None:
        ranking = as_ranking(pl.DataFrame({"query_id": [1, 1, 10], "item_id": [2, 10, 2], "score": [0.1, 0.2, 0.3]}))
        assert RunSimilarities(ranking).of(names(10, 1, 1), names(2, 10, 2)).tolist() == [0.3, 0.2, 0.1]

    @pytest.mark.parametrize("scores", [[0.1, 0.9, 0.5, 0.3], [0.9, 0.3, 0.5, 0.1], [0.3, 0.1, 0.5, 0.9]])
    def test_of_an_item_that_stands_twice_the_higher_score_counts(self, scores: list[float]) -> None:
        """As in a reference's gold, whatever the order of the rows."""
        ranking = Ranking(names("q"), np.array([0, 4]), names("a", "a", "b", "a"), np.array(scores))
        assert RunSimilarities(ranking).of(names("q", "q"), names("a", "b")).tolist() == [0.9, 0.5]


def test_which_knows_all() -> None:
    assert VectorSimilarities(corpus()).everything and not RunSimilarities(TestRuns.RUN).everything
