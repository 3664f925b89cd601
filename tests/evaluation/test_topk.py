"""The first few of each query: their scores, in the order in which they come."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.core.types import Ranking, Vectors
from rankjury.evaluation.query_lists import top_rows, top_scores
from rankjury.retrieval.rank import rank_vectors

INF = float("inf")


def ranking(*scores: list[float]) -> Ranking:
    """Items of their own for every query; scores as given, best first."""
    starts = np.cumsum([0, *map(len, scores)]).astype(np.int64)
    items = pl.Series([f"d{place}" for row in scores for place in range(len(row))], dtype=pl.String)
    queries = pl.Series([f"q{number}" for number in range(len(scores))])
    return Ranking(queries, starts, items, np.array([one for row in scores for one in row], dtype=np.float64))


def test_by_hand() -> None:
    found = top_scores(ranking([0.9, 0.8, 0.1], [0.5, 0.4], [0.3]), 2)
    assert found.tolist() == [[0.9, 0.8], [0.5, 0.4], [0.3, -INF]]


@pytest.mark.parametrize("rows", [[[], [0.5]], [[0.5], []], [[]], [[], [], []]])
def test_a_query_that_found_nothing_has_a_row_all_the_same(rows: list[list[float]]) -> None:
    found = top_scores(ranking(*rows), 2)
    assert found.tolist() == [[*row, *[-INF] * (2 - len(row))] for row in rows]


def test_fewer_than_k_everywhere() -> None:
    assert top_scores(ranking([0.5], [0.25]), 3).tolist() == [[0.5, -INF, -INF], [0.25, -INF, -INF]]


def test_a_ranking_without_scores_has_none() -> None:
    plain = Ranking(pl.Series(["q"]), np.array([0, 2]), pl.Series(["a", "b"]), None)
    assert top_scores(plain, 2).tolist() == [[-INF, -INF]]


@given(st.lists(st.lists(st.floats(-1, 1), max_size=6), min_size=1, max_size=6), st.integers(1, 8))
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_row_by_row(rows: list[list[float]], k: int) -> None:
    ordered = [sorted(row, reverse=True) for row in rows]
    found = top_scores(ranking(*ordered), k)
    assert found.tolist() == [(row + [-INF] * k)[:k] for row in ordered]


def test_they_are_the_scores_of_the_first_items() -> None:
    """Of a space, scored again by NumPy."""
    rng = np.random.default_rng(0)
    items, asked = rng.normal(size=(30, 4)), rng.normal(size=(5, 4))
    corpus = Vectors(pl.Series([f"d{number}" for number in range(30)]), items)
    queries = Vectors(pl.Series([f"q{number}" for number in range(5)]), asked)
    made = rank_vectors(corpus, queries, k=8, metric="ip").ranking
    rows = top_rows(made, queries.ids, 3).rows()
    expected = [
        [items[int(name[1:])] @ asked[row] for query, name, _ in rows if query == f"q{row}"] for row in range(5)
    ]
    np.testing.assert_allclose(top_scores(made, 3), expected, rtol=1e-12)


def test_first_items_go_by_score_then_by_id_and_stand_once() -> None:
    given_ = rankjury.as_ranking({"q1": {"b": 1.0, "a": 1.0, "c": 2.0}, "q2": {"z": 0.5}})
    found = top_rows(given_, pl.Series(["q2", "q1", "q3"]), 2)
    assert [row[:2] for row in found.rows()] == [("q1", "c"), ("q1", "a"), ("q2", "z")]
