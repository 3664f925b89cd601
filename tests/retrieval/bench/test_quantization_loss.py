"""Whose fault a loss is: the embedding's and the index's shares add up, and are told from chance."""

import json
from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.core.types import Gold, Ranking
from rankjury.evaluation.evaluate import evaluate, resolve_measures
from rankjury.retrieval.bench.measure import IndexMeasurement, measure_index, select_loss_measure, split_loss
from rankjury.retrieval.bench.result import IndexLoss
from rankjury.stats.resampling import Resampling
from tests.retrieval.bench.test_benchmark import CORPUS, QUERIES, bench_of, by_numpy

HOW = Resampling(resamples=200)
(NDCG,) = resolve_measures(["ndcg(gain=exp)@5"])
GOLD = {"q1": {"a": 3, "b": 1}, "q2": {"c": 1}, "q3": {"a": 0}}


def lost(gold: Gold, exact: Ranking, index: Ranking, measures: tuple[str, ...] = ("ndcg(gain=exp)@5",)) -> IndexLoss:
    asked = resolve_measures(measures)
    return split_loss(gold, exact, evaluate(gold, index, asked), asked[0], HOW)


def runs(gold: Any, exact: dict[str, list[str]], index: dict[str, list[str]]) -> IndexLoss:
    ranked: list[Ranking] = []
    for lists in (exact, index):
        rows = [(query, item, -float(rank)) for query, items in lists.items() for rank, item in enumerate(items)]
        ranked.append(rankjury.as_ranking(pl.DataFrame(rows, schema=["query_id", "item_id", "score"], orient="row")))
    return lost(rankjury.as_gold(gold), *ranked)


class TestMeasure:
    @pytest.mark.parametrize(
        ("asked", "chosen"),
        [
            (["recall@10", "ndcg@5", "ndcg@10", "ndcg(gain=exp)@10"], "ndcg@10"),
            (["ndcg(gain=exp)@10", "ndcg@10"], "ndcg(gain=exp)@10"),
            (["rr", "ndcg@3", "ndcg@5"], "ndcg@3"),
            (["ndcg"], "ndcg"),
            (["rr", "ap", "recall@10"], None),
        ],
    )
    def test_ndcg_at_k_else_another_else_none(self, asked: list[str], chosen: str | None) -> None:
        found = select_loss_measure(resolve_measures(asked), 10)
        assert (None if found is None else found.label) == chosen


class TestByHand:
    def test_two_queries(self) -> None:
        """q1: exact search swaps a and b (1 + 7/log₂3 of 7 + 1/log₂3), the index lacks a; q2: both are right.

        q3 has nothing relevant, and counts nowhere.
        """
        ideal, second = 7 + 1 / np.log2(3), 1 + 7 / np.log2(3)
        found = runs(GOLD, {"q1": ["b", "a"], "q2": ["c"], "q3": ["a"]}, {"q1": ["b"], "q2": ["c"], "q3": ["b"]})
        form = found.to_json()
        exact, index = (second / ideal + 1) / 2, (1 / ideal + 1) / 2
        assert (form["measure"], form["ideal"]) == ("ndcg(gain=exp)@5", 1.0)
        assert form["exact"]["mean"] == pytest.approx(exact) and form["index"]["mean"] == pytest.approx(index)
        assert form["embedding_loss"] == pytest.approx(1 - exact)
        assert form["index_loss"]["mean"] == pytest.approx(exact - index) and found.index_loss.mean > 0
        assert found.exact.n == found.index.n == 2

    def test_an_index_that_finds_what_exact_search_finds_loses_nothing(self) -> None:
        both = {"q1": ["b", "a"], "q2": ["x", "c"], "q3": ["a"]}
        form = runs(GOLD, both, both).to_json()
        assert form["index_loss"] == {"mean": 0.0, "ci": [0.0, 0.0]} and form["embedding_loss"] > 0

    def test_an_index_may_win_by_missing_what_is_not_relevant(self) -> None:
        form = runs(GOLD, {"q1": ["x", "a", "b"], "q2": ["c"]}, {"q1": ["a", "b"], "q2": ["c"]}).to_json()
        assert form["index_loss"]["mean"] < 0 and form["index"]["mean"] == 1.0

    def test_nothing_is_relevant(self) -> None:
        found = runs({"q1": {"a": 0}}, {"q1": ["a"]}, {"q1": ["b"]})
        form = found.to_json()
        assert isnan(found.index_loss.mean)
        assert form["exact"] == form["index"] == {"mean": None, "ci": None, "n": 0}
        assert form["embedding_loss"] is None and form["index_loss"] == {"mean": None, "ci": None}
        json.dumps(form, allow_nan=False)

    def test_one_query_has_no_interval(self) -> None:
        form = runs({"q1": {"a": 1}}, {"q1": ["a"]}, {"q1": ["x", "a"]}).to_json()
        assert form["index_loss"]["ci"] is None and form["exact"]["ci"] is None
        assert form["index_loss"]["mean"] == pytest.approx(1 - 1 / np.log2(3))


@pytest.fixture(scope="module")
def gold() -> Gold:
    """Labels that the vectors only roughly agree with, so that both lose."""
    rng = np.random.default_rng(4)
    grades: dict[str, dict[str, float]] = {}
    for name, query in zip(QUERIES.ids, QUERIES.values, strict=True):
        near = by_numpy(query + rng.normal(scale=0.4, size=query.shape), 6)
        grades[name] = {CORPUS.ids[row]: float(grade) for row, grade in zip(near, (3, 3, 2, 2, 1, 1), strict=True)}
    return rankjury.as_gold(grades)


class TestOfAnIndex:
    def tried(self, engine: str, **more: Any) -> IndexMeasurement:
        return measure_index(bench_of(engine), **more)

    @pytest.mark.parametrize(
        ("engine", "build", "search"),
        [
            ("exact", {}, {}),
            ("faiss-ivf", {"nlist": 6}, {"nprobe": 1}),
            ("faiss-hnsw", {"m": 2, "ef_construction": 4}, {"ef_search": 2}),
            ("endpoint", {}, {}),
        ],
    )
    def test_the_losses_add_up(self, gold: Gold, engine: str, build: Any, search: Any) -> None:
        """Embedding loss + index loss = 1 − what the index reaches."""
        found = self.tried(engine, build=build, search=search)
        form = lost(gold, found.exact, found.ranking).to_json()
        assert form["embedding_loss"] + form["index_loss"]["mean"] == pytest.approx(
            1 - form["index"]["mean"], abs=1e-12
        )
        assert form["embedding_loss"] == pytest.approx(1 - form["exact"]["mean"]) and form["embedding_loss"] > 0.05
        exact = engine in ("exact", "endpoint")
        assert (form["index_loss"]["mean"] == 0.0) is exact and (found.indexed.recall.mean == 1.0) is exact

    def test_means_are_those_of_an_evaluation(self, gold: Gold) -> None:
        found = self.tried("faiss-ivf", build={"nlist": 6}, search={"nprobe": 1})
        form = lost(gold, found.exact, found.ranking, ("ndcg(gain=exp)@5", "recall@5")).to_json()
        for side, ranking in (("exact", found.exact), ("index", found.ranking)):
            estimate = evaluate(gold, ranking, [NDCG]).estimates(HOW)[NDCG.label]
            assert form[side] == {"mean": estimate.mean, "ci": list(estimate.ci or ()), "n": estimate.n}

    def test_the_interval_is_paired_and_the_right_way_round(self, gold: Gold) -> None:
        found = self.tried("faiss-ivf", build={"nlist": 6}, search={"nprobe": 1})
        loss = lost(gold, found.exact, found.ranking)
        low, high = loss.to_json()["index_loss"]["ci"]
        assert low < loss.index_loss.mean < high and low >= 0
        assert loss.index_loss.mean == pytest.approx(loss.exact.mean - loss.index.mean)
        assert IndexLoss.from_json(json.loads(json.dumps(loss.to_json()))) == loss

    def test_a_query_that_fails_is_the_index_s_loss(self, gold: Gold) -> None:
        found = measure_index(bench_of("endpoint", call="unlucky_service"))
        loss = lost(gold, found.exact, found.ranking)
        assert loss.index.n == loss.exact.n == len(QUERIES) and loss.index_loss.mean > 0
        form = loss.to_json()
        assert form["embedding_loss"] + form["index_loss"]["mean"] == pytest.approx(
            1 - form["index"]["mean"], abs=1e-12
        )
