"""Which pairs are compared: sampled ones, those of either's top k, and what both models know of them."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from rankjury.core.convert import as_ranking
from rankjury.core.types import Gold, Ranking, Vectors
from rankjury.evaluation.query_lists import top_rows
from rankjury.retrieval.agreement import pairs as pairing
from rankjury.retrieval.agreement.pairs import (
    PairList,
    RunSimilarities,
    VectorSimilarities,
    sample_pairs,
    score_pairs,
    top_pairs,
)
from rankjury.retrieval.agreement.reference import reference_gold
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
