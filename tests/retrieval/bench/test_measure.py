"""An index measured whole: what is recorded, what is timed, and whether two similarities rank alike."""

import json
from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest

import rankjury
from rankjury.core.progress import Progress
from rankjury.core.secrets import mask_settings
from rankjury.core.types import Gold, Ranking, Vectors
from rankjury.errors import DataError, UnknownName
from rankjury.evaluation.evaluate import evaluate, resolve_measures
from rankjury.io.vectors.quantize import normalised
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.bench.measure import (
    Clock,
    IndexMeasurement,
    compare_metrics,
    measure_index,
    select_loss_measure,
    split_loss,
)
from rankjury.retrieval.bench.result import FilterResult, IndexLoss, IndexResult, index_value_names
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.rank import ranking_from_neighbours
from rankjury.stats.resampling import Resampling
from tests.retrieval.bench.support import vectors
from tests.retrieval.bench.test_benchmark import (
    BOOTS,
    CORPUS,
    HATS,
    NONE,
    QUERIES,
    TEXTS,
    UNLUCKY,
    Watched,
    bench_of,
    by_numpy,
    watched,
)
from tests.retrieval.engines.support import engine_of

__all__ = ["watched"]

K = 5
QUICK = Clock(rounds=1, warm_up=0, concurrency=(1,))
NAN = float("nan")


def lists_of(ranking: Ranking) -> dict[str, list[str]]:
    rows = zip(ranking.queries.to_list(), ranking.starts[:-1], ranking.starts[1:], strict=True)
    return {query: ranking.items[first:last].to_list() for query, first, last in rows}


def names(found: Neighbours) -> dict[str, list[str]]:
    pairs = zip(QUERIES.ids.to_list(), found.items.tolist(), strict=True)
    return {query: [CORPUS.ids[item] for item in row if item != MISSING] for query, row in pairs}


def check_form(found: IndexMeasurement) -> dict[str, Any]:
    """It can be written, whatever is not known."""
    return json.loads(json.dumps(found.indexed.to_json(), allow_nan=False))  # type: ignore[no-any-return]


class TestWhole:
    def test_what_is_recorded(self) -> None:
        bench = bench_of("faiss-ivf")
        found = measure_index(bench, build={"nlist": 6}, search={"nprobe": 2}, clock=QUICK)
        with bench.build({"nlist": 6}) as built:
            recall, size = built.recall({"nprobe": 2}), built.engine.size()
        form = check_form(found)
        assert (form["engine"], form["metric"], form["items"], form["dimensions"]) == ("faiss-ivf", "cosine", 90, 8)
        assert (form["build"], form["search"], form["settings"]) == ({"nlist": 6}, {"nprobe": 2}, {})
        assert form["recall"] == recall.to_json()
        assert form["own_exact"]["mean"] == 1.0 > form["recall"]["mean"]
        assert IndexResult.from_json(form) == found.indexed
        assert (form["size_bytes"], form["failed"]) == (size, 0) and form["build_seconds"] > 0
        assert form["facts"]["approximate"] is True and form["facts"]["library"] == "faiss"
        assert (form["loss"], form["equivalence"], form["filters"]) == (None, None, [])

    def test_usual_parameters_are_recorded_but_were_not_chosen(self) -> None:
        found = measure_index(bench_of("faiss-hnsw"), build={"m": 8}).indexed
        assert found.build["m"] == 8 and found.build["ef_construction"] > 0 and found.search["ef_search"] > 0
        assert found.given == {"m": 8}

    def test_rankings_are_what_the_index_and_what_exact_search_bring(self) -> None:
        bench = bench_of("faiss-ivf")
        found = measure_index(bench, build={"nlist": 6}, search={"nprobe": 1}, source="ivf over x")
        with bench.build({"nlist": 6}) as built:
            came = built.search({"nprobe": 1})
        assert lists_of(found.ranking) == names(came) and found.ranking.source == "ivf over x"
        assert lists_of(found.exact) == names(bench.truth()) and lists_of(found.exact) != lists_of(found.ranking)
        np.testing.assert_allclose(found.scores, came.scores, rtol=1e-6)  # in 64 bits, not as the engine has them
        assert found.ranking.scores is not None
        assert found.ranking.scores.tolist() == came.scores[came.items != MISSING].tolist()

    @pytest.mark.parametrize(("depth", "deep"), [(None, K), (3, K), (12, 12)])
    def test_as_deep_as_asked_and_no_less_than_k(self, depth: int | None, deep: int) -> None:
        found = measure_index(bench_of("exact"), depth=depth)
        assert np.diff(found.ranking.starts).tolist() == [deep] * len(QUERIES)
        assert np.diff(found.exact.starts).tolist() == [deep] * len(QUERIES)
        assert found.scores.shape == (len(QUERIES), deep) and found.indexed.recall.k == K

    def test_recall_is_that_of_a_search_for_k_however_deep_the_ranking(self) -> None:
        """A graph that is asked for a hundred looks further, and would find the first five as well."""
        engine_of("usearch")
        bench = IndexBenchmark(vectors(400, "i", 1, 16), vectors(30, "q", 2, 16), engine="usearch", k=K)
        build, search = {"connectivity": 8}, {"expansion_search": 5}
        with bench.build(build) as built:
            alone, deeper = built.recall(search), built.recall(found=built.search(search, k=100))
        assert alone.mean < deeper.mean
        found = measure_index(bench, build=build, search=search, depth=100)
        assert found.indexed.recall.mean == alone.mean
        assert np.diff(found.ranking.starts).tolist() == [100] * 30

    def test_steps_are_told(self) -> None:
        told: list[str] = []
        measure_index(bench_of("faiss-hnsw"), clock=QUICK, progress=Progress(lambda what, done, of: told.append(what)))
        assert list(dict.fromkeys(told))[:4] == ["Building", "Searching", "Timing the index", "Timing end to end"]

    @pytest.mark.parametrize("given", [{"build": {"nlits": 3}}, {"search": {"nprob": 3}}])
    def test_an_unknown_parameter_is_refused_before_the_build(self, given: dict[str, Any]) -> None:
        told: list[str] = []
        with pytest.raises(UnknownName, match="parameter"):
            measure_index(bench_of("faiss-ivf"), progress=Progress(lambda what, done, of: told.append(what)), **given)
        assert told == []

    def test_it_is_closed_when_it_was_measured(self, watched: type[Watched]) -> None:
        measure_index(bench_of("watched"), clock=Clock(1, 0, (1, 3), rate=2_000.0))
        assert watched.opened > 1 and watched.open_now == 0

    @pytest.mark.parametrize("fails_at", ["build", "search", "again"])
    def test_it_is_closed_when_something_fails(
        self, watched: type[Watched], monkeypatch: pytest.MonkeyPatch, fails_at: str
    ) -> None:
        monkeypatch.setattr(watched, "fails_at", fails_at)
        with pytest.raises(MemoryError if fails_at == "build" else DataError):
            measure_index(bench_of("watched"), clock=Clock(1, 0, (1, 4)))
        assert watched.opened > 0 and watched.open_now == 0

    def test_it_is_closed_when_nobody_waits_for_it_any_more(self, watched: type[Watched]) -> None:
        def interrupted(what: str, done: int, of: int) -> None:
            if what == "Timing end to end":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            measure_index(bench_of("watched"), clock=QUICK, progress=Progress(interrupted))
        assert watched.opened > 0 and watched.open_now == 0

    def test_secrets_are_masked_in_settings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A header's value is only in the environment; its name may be shown."""
        monkeypatch.setenv("RANKJURY_TEST_TOKEN", "s3cr3t")
        settings = {
            "url": "http://127.0.0.1:9/?key=s3cr3t",
            "headers": "X-Key=env:RANKJURY_TEST_TOKEN",
            "timeout": 0.05,
        }
        bench = IndexBenchmark(CORPUS, QUERIES.take(np.array([0])), engine="endpoint", settings=settings, k=K)
        with pytest.raises(DataError) as caught:
            measure_index(bench)
        with bench.build() as built:
            shown = mask_settings(built.engine.settings)
        assert shown["headers"] == "X-Key=env:RANKJURY_TEST_TOKEN" and "s3cr3t" not in json.dumps(shown) + str(
            caught.value
        )


class TestServices:
    def test_queries_that_fail_are_counted_and_told(self) -> None:
        found = measure_index(bench_of("endpoint", call="unlucky_service"), clock=Clock(2, 0, (1,)))
        form = check_form(found)
        assert (form["failed"], form["recall"]["n"], form["recall"]["mean"]) == (1, 10, pytest.approx(0.9))
        (failure,) = form["facts"]["failures"]
        assert failure["query"] == QUERIES.ids[UNLUCKY] and "no answer" in failure["why"]
        assert lists_of(found.ranking)[QUERIES.ids[UNLUCKY]] == [] and len(found.ranking) == len(QUERIES)
        latency = form["latency"]
        assert (latency["index_only"]["n"], latency["index_only"]["failed"]) == (18, 2)
        assert (latency["end_to_end"]["n"], latency["end_to_end"]["failed"]) == (18, 2)

    def test_failures_are_told_too_where_the_ranking_is_deeper_than_k(self) -> None:
        form = check_form(measure_index(bench_of("endpoint", call="unlucky_service"), depth=12))
        assert form["failed"] == 1 and [one["query"] for one in form["facts"]["failures"]] == [QUERIES.ids[UNLUCKY]]

    def test_no_more_than_five_failures_are_told(self) -> None:
        form = check_form(measure_index(bench_of("endpoint", call="lucky_service"), clock=QUICK))
        assert form["failed"] == 9 and len(form["facts"]["failures"]) == 5
        assert form["latency"]["end_to_end"]["failed"] == 9 and form["recall"]["mean"] == 0.1

    def test_a_service_that_takes_texts_has_no_time_of_its_own(self) -> None:
        """What it does before it searches cannot be told from the search."""
        bench = bench_of("endpoint", call="text_service", text=True, texts=TEXTS)
        latency = measure_index(bench, clock=QUICK).indexed.latency
        assert latency is not None and latency.index_only is None
        assert latency.includes == ("request with the text", "search", "answer to ids")
        assert latency.end_to_end.n == 10 and [one.n for one in latency.closed] == [10]

    def test_only_ids_are_known(self) -> None:
        corpus, asked = (Vectors(one.ids, np.empty((len(one), 0), np.float32)) for one in (CORPUS, QUERIES))
        bench = bench_of("endpoint", call="text_service", text=True, texts=TEXTS, corpus=corpus, queries=asked)
        found = measure_index(bench, clock=QUICK)
        form = check_form(found)
        assert (form["dimensions"], form["recall"]["n"], form["recall"]["mean"]) == (0, 0, None)
        assert set(map(len, lists_of(found.exact).values())) == {0}
        assert not [name for name in found.indexed.figures() if name.startswith("ann_recall")]


class TestClock:
    def test_without_a_clock_or_without_rounds_nothing_is_timed(self) -> None:
        for clock in (None, Clock(rounds=0)):
            found = measure_index(bench_of("exact"), clock=clock).indexed
            assert (
                found.latency is None and check_form(measure_index(bench_of("exact"), clock=clock))["latency"] is None
            )
            assert set(found.figures()) == {f"ann_recall@{K}", f"ann_recall_p5@{K}", "build_seconds", "failed_queries",
                                            "index_mb"}  # fmt: skip

    def test_every_number_of_callers_and_the_open_loop(self) -> None:
        found = measure_index(bench_of("faiss-hnsw"), clock=Clock(2, 1, (1, 2, 3), rate=2_000.0)).indexed
        assert found.latency is not None and found.latency.index_only is not None and found.latency.open is not None
        assert [(one.kind, one.concurrency, one.n) for one in found.latency.closed] == [
            ("closed", 1, 20),
            ("closed", 2, 20),
            ("closed", 3, 20),
        ]
        assert found.latency.closed[0] == found.latency.index_only, "one caller is not timed twice"
        assert (found.latency.open.kind, found.latency.open.rate, found.latency.open.n) == ("open", 2_000.0, 20)
        known = {name for name in index_value_names(K) if not name.startswith(("drift", "churn"))}
        assert set(found.figures()) == known, "all but those that need an earlier report"

    def test_figures_are_those_of_the_latency_with_their_intervals(self) -> None:
        found = measure_index(bench_of("faiss-hnsw"), clock=Clock(3, 0, ())).indexed
        assert found.latency is not None and found.latency.index_only is not None and found.latency.closed == ()
        figures, p95 = found.figures(), found.latency.index_only.p95
        one = figures["latency_p95_ms"]
        assert one.value == p95.ms and one.ci == p95.ci and one.n == 30
        assert figures["end_to_end_p95_ms"].value == found.latency.end_to_end.p95.ms
        assert figures["latency_qps"].value == found.latency.index_only.qps
        assert figures[f"ann_recall@{K}"].ci == found.recall.ci and figures[f"ann_recall@{K}"].n == 10
        assert figures["index_mb"].value == (found.size_bytes or 0) / 1e6
        assert not [name for name in figures if name.startswith("open_loop")]

    def test_end_to_end_holds_the_embedding_where_texts_are_known(self) -> None:
        seen: list[str] = []

        def embed(texts: list[str]) -> Any:
            seen.extend(texts)
            return QUERIES.values[[TEXTS.index(text) for text in texts]]

        clock = Clock(1, 0, (1,), embed=embed)
        with_texts = measure_index(bench_of("exact", texts=TEXTS), clock=clock).indexed.latency
        assert with_texts is not None and with_texts.includes == ("text to vector", "search", "rows to ids")
        assert sorted(seen) == sorted([TEXTS[0], *TEXTS])  # the first also to see whether it fits the index
        without = measure_index(bench_of("exact"), clock=clock).indexed.latency
        assert without is not None and without.includes == ("search", "rows to ids")


class TestFilters:
    FILTERS = (BOOTS, HATS, None, NONE, BOOTS, BOOTS, HATS, None, None, None)

    def filtered(self, engine: str = "faiss-hnsw", **more: Any) -> tuple[FilterResult, ...]:
        bench = bench_of(engine, filters=self.FILTERS, **more)
        search = {"ef_search": 500} if engine == "faiss-hnsw" else {}
        found = measure_index(bench, search=search, clock=Clock(2, 0, (1,)))
        check_form(found)
        return found.indexed.filters

    def test_a_row_a_filter_the_most_selective_first(self) -> None:
        found = self.filtered()
        assert [(one.filter, one.items, one.queries) for one in found] == [
            ("kind=scarf", 0, 1),
            ("kind=boot", 30, 3),
            ("kind=hat", 30, 2),
            ("none", 90, 4),
        ]
        assert [one.selectivity for one in found] == [0.0, 1 / 3, 1 / 3, 1.0]
        assert [one.recall for one in found[1:]] == [1.0] * 3 and np.isnan(found[0].recall)
        assert all(one.p95_ms > 0 for one in found) and found[0].to_json()["recall"] is None

    def test_without_filters_there_are_no_rows(self) -> None:
        assert measure_index(bench_of("exact"), clock=QUICK).indexed.filters == ()

    def test_recall_under_filters_is_known_without_a_clock(self) -> None:
        found = measure_index(bench_of("exact", filters=self.FILTERS)).indexed.filters
        assert [(one.filter, one.queries) for one in found][1:] == [("kind=boot", 3), ("kind=hat", 2), ("none", 4)]
        assert [one.recall for one in found[1:]] == [1.0] * 3 and all(np.isnan(one.p95_ms) for one in found)
        assert found[1].to_json()["p95_ms"] is None

    def test_a_filter_under_which_every_query_failed(self) -> None:
        """Its time is not known: it is null, and the report can be written."""
        filters: list[Any] = [None] * len(QUERIES)
        filters[UNLUCKY] = HATS
        found = measure_index(bench_of("endpoint", call="unlucky_service", filters=filters), clock=QUICK)
        assert [one["p95_ms"] is None for one in found.indexed.to_json()["filters"]] == [True, False]
        check_form(found)


class TestRankings:
    def test_places_that_stayed_empty_are_left_out(self) -> None:
        found = Neighbours(np.array([[2, 0, MISSING], [MISSING] * 3, [1, MISSING, MISSING]]),
                           np.array([[0.9, 0.5, -np.inf], [-np.inf] * 3, [0.7, -np.inf, -np.inf]]))  # fmt: skip
        made = ranking_from_neighbours(pl.Series(["x", "y", "z"]), pl.Series(["a", "b", "c"]), found, "s")
        assert lists_of(made) == {"x": ["c", "a"], "y": [], "z": ["b"]}
        assert made.scores is not None and made.scores.tolist() == [0.9, 0.5, 0.7]
        assert made.queries.name == "query_id"


class TestEquivalence:
    def units(self, count: int, prefix: str, seed: int) -> Vectors:
        found = vectors(count, prefix, seed)
        return Vectors(found.ids, normalised(found.values))

    @pytest.mark.parametrize("seed", range(3))
    def test_normalised_vectors_rank_alike(self, seed: int) -> None:
        found = compare_metrics(self.units(80, "i", seed), self.units(12, "q", seed + 9), k=10)
        assert (found.differing, found.example, found.normalised, found.queries, found.k) == (0, None, True, 12, 10)
        form = found.to_json()
        assert form["identical"] is True and form["first_counter_example"] is None
        assert form["metrics"] == ["cosine", "ip"]

    def test_of_raw_vectors_a_counter_example_is_named(self) -> None:
        """b is long and aslant: the first by inner product, the last by cosine."""
        corpus = Vectors(pl.Series(["a", "b", "c"]), np.array([[1.0, 0.0], [3.0, 4.0], [1.5, 0.5]]))
        asked = Vectors(pl.Series(["y", "x"]), np.array([[1.0, 0.0], [2.0, 0.0]]))
        form = compare_metrics(corpus, asked, k=2).to_json()
        assert (form["normalised"], form["differing"], form["identical"]) == (False, 2, False)
        assert form["first_counter_example"] == {
            "query": "x",
            "rank": 1,
            "cosine": {"item": "a", "score": pytest.approx(1.0)},
            "ip": {"item": "b", "score": pytest.approx(6.0)},
        }

    def test_the_rank_is_the_first_at_which_they_part(self) -> None:
        """a is first by both; then b, which is long, and c, which is short and less aslant, change places."""
        corpus = Vectors(pl.Series(["a", "b", "c"]), np.array([[9.0, 0.0], [3.0, 4.0], [0.8, 0.6]]))
        found = compare_metrics(corpus, Vectors(pl.Series(["q1"]), np.array([[1.0, 0.0]])), k=3)
        assert found.example is not None and (found.example["query"], found.example["rank"]) == ("q1", 2)
        assert (found.example["cosine"]["item"], found.example["ip"]["item"]) == ("c", "b")

    def test_only_the_first_k_are_looked_at(self) -> None:
        corpus = Vectors(pl.Series(["a", "b", "c"]), np.array([[9.0, 0.0], [3.0, 4.0], [0.8, 0.6]]))
        asked = Vectors(pl.Series(["q"]), np.array([[1.0, 0.0]]))
        assert compare_metrics(corpus, asked, k=1).differing == 0

    def test_equal_scores_go_by_id_under_both(self) -> None:
        corpus = self.units(6, "i", 3)
        twice = Vectors(
            pl.Series([f"{one}{name}" for name in corpus.ids for one in "zab"]), np.repeat(corpus.values, 3, 0)
        )
        assert compare_metrics(twice, self.units(8, "q", 4), k=10).differing == 0

    def test_fewer_items_than_k(self) -> None:
        assert compare_metrics(self.units(3, "i", 0), self.units(4, "q", 1), k=10).differing == 0

    def test_other_metrics(self) -> None:
        found = compare_metrics(self.units(50, "i", 5), self.units(8, "q", 6), k=5, metrics=("cosine", "l2"))
        assert found.to_json()["metrics"] == ["cosine", "l2"] and found.differing == 0


def test_names_of_figures() -> None:
    """What targets may be about, whatever was measured."""
    known = index_value_names(7)
    assert {"ann_recall@7", "ann_recall_p5@7", "latency_p95_ms", "end_to_end_p99_ms", "open_loop_p50_ms"} <= set(known)
    assert {"build_seconds", "index_mb", "failed_queries", "drift", "latency_qps", "latency_max_ms"} <= set(known)
    assert len(known) == len(set(known))


def test_an_index_of_unknown_size() -> None:
    found: IndexResult = measure_index(bench_of("endpoint")).indexed
    assert found.size_bytes is None and "index_mb" not in found.figures()


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


RANDOM = np.random.default_rng(5)
ITEMS = RANDOM.normal(size=(300, 12)).astype(np.float32)


def exact_rows(queries: np.ndarray, k: int, *, own: bool) -> list[set[int]]:
    units = ITEMS / np.linalg.norm(ITEMS, axis=1, keepdims=True)
    scores = queries @ units.T
    if own:
        np.fill_diagonal(scores, -np.inf)
    return [set(row) for row in np.argsort(-scores, axis=1)[:, :k].tolist()]


def test_recall_of_a_few_cells_is_numpys() -> None:
    queries = ITEMS[:40] + 0.3 * RANDOM.normal(size=(40, 12)).astype(np.float32)
    engine = ENGINES.get("faiss-ivf")("cosine")
    found = rankjury.try_index(
        ITEMS, queries, engine="faiss-ivf", build={"nlist": 16}, search={"nprobe": 2}, k=5, clock=None
    )
    engine.build(ITEMS, rankjury.Vectors(_names(300), ITEMS).ids, {"nlist": 16})
    rows = engine.search(queries, 5, {"nprobe": 2}).items
    expected = [
        len(set(row.tolist()) & best) / 5 for row, best in zip(rows, exact_rows(queries, 5, own=False), strict=True)
    ]
    assert sorted(found.recall.values.tolist()) == pytest.approx(sorted(expected))
    assert found.latency is None and 0.2 < found.recall.mean < 1


def _names(n: int):  # type: ignore[no-untyped-def]
    import polars as pl

    return pl.Series("id", [str(row) for row in range(n)])


def test_items_that_ask_for_themselves_do_not_find_themselves() -> None:
    found = rankjury.try_index(ITEMS, engine="faiss-flat", k=3, clock=Clock(rounds=1, warm_up=0, concurrency=(1,)))
    assert found.recall.mean == 1.0 and found.recall.n == 300
    assert found.latency is not None and found.latency.end_to_end.n == 300


def test_numbered_queries_are_not_the_items_of_their_numbers() -> None:
    """A matrix has no ids: its first row is not the first item."""
    found = rankjury.try_index(ITEMS, ITEMS[:20], engine="exact", k=1, clock=None)
    assert found.recall.mean == 1.0
    nearest = ENGINES.get("exact")("cosine")
    nearest.build(ITEMS, _names(300))
    assert nearest.search(ITEMS[:20], 1).items[:, 0].tolist() == list(range(20))


def test_what_makes_no_sense() -> None:
    with pytest.raises(rankjury.UsageError, match="k is 0"):
        rankjury.try_index(ITEMS, engine="exact", k=0)
    with pytest.raises(UnknownName, match="faiss-hnws"):
        rankjury.try_index(ITEMS, engine="faiss-hnws")
    with pytest.raises(rankjury.DataError, match="12"):
        rankjury.try_index(ITEMS, ITEMS[:, :4], engine="exact")
