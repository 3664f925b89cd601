"""A bench with real engines: filters, queries that are items, queries that fail, texts; and nothing is left open."""

import copy
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import pytest

from rankjury.core.params import Params
from rankjury.core.types import Vectors
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.bench.latency import summarise
from rankjury.retrieval.engines.base import ENGINES, Filter
from rankjury.retrieval.engines.exact import Exact
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING
from rankjury.stats.resampling import Resampling
from tests.retrieval.bench.support import vectors

N, K = 90, 5
CORPUS, QUERIES = vectors(N, "i", 5), vectors(10, "q", 6)
KINDS = pl.DataFrame(
    {"kind": [("boot", "hat", None)[row % 3] for row in range(N)], "odd": [row % 2 for row in range(N)]}
)
BOOTS, HATS, NONE = Filter("kind", "boot"), Filter("kind", "hat"), Filter("kind", "scarf")
TEXTS = [f"the text of {query}" for query in QUERIES.ids]
HERE = __name__
THOROUGH: dict[str, tuple[Params, Params]] = {
    "exact": ({}, {}),
    "faiss-hnsw": ({}, {"ef_search": 500}),
    "faiss-ivf": ({"nlist": 6}, {"nprobe": 6}),
    "endpoint": ({}, {}),
}
UNLUCKY = 3
"""The query for which some services fail."""


def by_numpy(query: Any, k: int, kept: Any = None, leave_out: int = MISSING) -> list[int]:
    """Rows of the corpus by their cosine."""
    held, one = CORPUS.values.astype(np.float64), np.asarray(query, dtype=np.float64)
    scores = held @ one / np.linalg.norm(held, axis=1)
    rows = [row for row in np.argsort(-scores, kind="stable").tolist() if row != leave_out]
    return [row for row in rows if kept is None or kept[row]][:k]


def service(query: Any, k: int) -> list[str]:
    return [CORPUS.ids[row] for row in by_numpy(query, k)]


def unlucky_service(query: Any, k: int) -> list[str]:
    if np.array_equal(query, QUERIES.values[UNLUCKY]):
        raise TimeoutError("no answer")
    return service(query, k)


def dead_service(query: Any, k: int) -> list[str]:
    raise ConnectionError("nobody there")


def lucky_service(query: Any, k: int) -> list[str]:
    """Answers one query of all."""
    if not np.array_equal(query, QUERIES.values[UNLUCKY]):
        raise ConnectionError("nobody there")
    return service(query, k)


def filtering_service(query: Any, k: int, filter: dict[str, str] | None) -> list[str]:
    kept = None if filter is None else [str(one) == filter["kind"] for one in KINDS["kind"]]
    return [CORPUS.ids[row] for row in by_numpy(query, k, kept)]


def deaf_service(query: Any, k: int, filter: dict[str, str] | None) -> list[str]:
    """Takes a filter, and does not care."""
    return service(query, k)


def text_service(query: str, k: int) -> list[str]:
    return service(QUERIES.values[TEXTS.index(query)], k)


def settings_of(engine: str, call: str = "service", **more: Any) -> dict[str, Any]:
    return {"call": f"{HERE}:{call}"} | more if engine == "endpoint" else {}


def bench_of(engine: str = "exact", *, call: str = "service", text: bool = False, **more: Any) -> IndexBenchmark:
    opened = settings_of(engine, call, text=text)
    given: dict[str, Any] = {"k": K, "attributes": KINDS, "resampling": Resampling(resamples=100)} | more
    sides = given.pop("corpus", CORPUS), given.pop("queries", QUERIES)
    return IndexBenchmark(*sides, engine=engine, settings=opened, **given)


def searched(bench: IndexBenchmark, **more: Any) -> list[list[int]]:
    """The rows that each query found."""
    build, search = THOROUGH[bench.engine]
    with bench.build(build) as built:
        return rows_of(built.search(search, **more))


def rows_of(found: Neighbours) -> list[list[int]]:
    """Without the places that stayed empty, which come last."""
    for row in found.items != MISSING:
        assert not (~row[:-1] & row[1:]).any(), "an empty place before a full one"
    assert np.isneginf(found.scores[found.items == MISSING]).all()
    return [[item for item in row if item != MISSING] for row in found.items.tolist()]


def recalled(bench: IndexBenchmark) -> list[float]:
    build, search = THOROUGH[bench.engine]
    with bench.build(build) as built:
        return built.recall(search).values.tolist()


def filter_mask(only: Filter | None) -> list[bool] | None:
    if only is None:
        return None
    return [one is not None and str(one) == only.value for one in KINDS[only.attribute].to_list()]


engines = pytest.mark.parametrize("engine", THOROUGH)


@engines
class TestSearching:
    def test_what_is_nearest(self, engine: str) -> None:
        bench = bench_of(engine)
        assert searched(bench) == [by_numpy(query, K) for query in QUERIES.values]
        assert rows_of(bench.truth()) == searched(bench) and recalled(bench) == [1.0] * len(QUERIES)

    def test_deeper_than_k_where_it_is_asked(self, engine: str) -> None:
        bench = bench_of(engine)
        assert searched(bench, k=12) == [by_numpy(query, 12) for query in QUERIES.values]
        assert bench.truth(12).items.shape == (10, 12) and bench.truth().items.shape == (10, K)
        assert rows_of(bench.truth(12)) == searched(bench, k=12)

    def test_each_query_under_its_own_filter(self, engine: str) -> None:
        filters = [(BOOTS, HATS, None, Filter("odd", "1"))[row % 4] for row in range(len(QUERIES))]
        bench = bench_of(engine, filters=filters)
        expected = [by_numpy(query, K, filter_mask(only)) for query, only in zip(QUERIES.values, filters, strict=True)]
        assert searched(bench) == expected
        assert rows_of(bench.truth()) == expected and recalled(bench) == [1.0] * len(QUERIES)
        assert sorted(row for _, rows in bench.groups for row in rows.tolist()) == list(range(len(QUERIES)))
        assert [only for only, _ in bench.groups] == [BOOTS, HATS, None, Filter("odd", "1")]

    def test_all_queries_under_one_filter(self, engine: str) -> None:
        bench = bench_of(engine, filters=[BOOTS] * len(QUERIES))
        assert searched(bench) == [by_numpy(query, K, filter_mask(BOOTS)) for query in QUERIES.values]
        assert recalled(bench) == [1.0] * len(QUERIES)

    def test_a_filter_that_nothing_passes(self, engine: str) -> None:
        """There is nothing to find, which is neither good nor bad."""
        bench = bench_of(engine, filters=[NONE, *[BOOTS] * (len(QUERIES) - 1)])
        assert searched(bench)[0] == [] and searched(bench)[1] == by_numpy(QUERIES.values[1], K, filter_mask(BOOTS))
        values = recalled(bench)
        assert np.isnan(values[0]) and values[1:] == [1.0] * 9

    def test_a_filter_that_nothing_passes_alone(self, engine: str) -> None:
        bench = bench_of(engine, filters=[NONE] * len(QUERIES))
        assert searched(bench) == [[]] * len(QUERIES)
        assert np.isnan(recalled(bench)).all()

    def test_fewer_pass_than_are_wanted(self, engine: str) -> None:
        """Thirty boots, of which forty are asked for."""
        bench = bench_of(engine, filters=[BOOTS] * len(QUERIES), k=40)
        assert [sorted(row) for row in searched(bench)] == [list(range(0, N, 3))] * len(QUERIES)
        assert recalled(bench) == [1.0] * len(QUERIES)

    def test_the_item_that_is_the_query_is_left_out(self, engine: str) -> None:
        asked = CORPUS.take(np.array([4, 8, 15]))
        bench = bench_of(engine, queries=asked, own=CORPUS.rows_of(asked.ids))
        expected = [by_numpy(CORPUS.values[row], K, leave_out=row) for row in (4, 8, 15)]
        assert searched(bench) == expected and rows_of(bench.truth()) == expected
        assert recalled(bench) == [1.0] * 3
        assert searched(bench, k=7) == [by_numpy(CORPUS.values[row], 7, leave_out=row) for row in (4, 8, 15)]

    def test_of_some_queries_that_are_items_only_these_miss_theirs(self, engine: str) -> None:
        names = pl.Series(["i4", "new"])
        asked = Vectors(names, np.stack([CORPUS.values[4], CORPUS.values[4]]))
        bench = bench_of(engine, queries=asked, own=CORPUS.rows_of(names))
        assert searched(bench) == [by_numpy(CORPUS.values[4], K, leave_out=4), by_numpy(CORPUS.values[4], K)]
        assert searched(bench)[1][0] == 4 and recalled(bench) == [1.0, 1.0]

    def test_items_that_ask_under_a_filter_whether_they_pass_it_or_not(self, engine: str) -> None:
        rows, filters = [3, 4, 6], [BOOTS, BOOTS, HATS]
        asked = CORPUS.take(np.array(rows))
        bench = bench_of(engine, queries=asked, own=CORPUS.rows_of(asked.ids), filters=filters)
        pairs = zip(rows, filters, strict=True)
        expected = [by_numpy(CORPUS.values[row], K, filter_mask(only), leave_out=row) for row, only in pairs]
        assert searched(bench) == expected and rows_of(bench.truth()) == expected
        assert recalled(bench) == [1.0] * 3

    def test_queries_that_are_no_items_need_no_care(self, engine: str) -> None:
        bench = bench_of(engine, own=CORPUS.rows_of(QUERIES.ids))
        assert bench.own is None and searched(bench) == [by_numpy(query, K) for query in QUERIES.values]

    def test_a_corpus_smaller_than_k(self, engine: str) -> None:
        few = CORPUS.take(np.arange(4))
        if engine == "endpoint":
            bench = IndexBenchmark(few, QUERIES, engine=engine, k=K, settings=settings_of(engine, "few_service"))
        else:
            bench = IndexBenchmark(few, QUERIES, engine=engine, k=K)
        with bench.build({"nlist": 2} if engine == "faiss-ivf" else {}) as built:
            found = built.search({"nprobe": 2} if engine == "faiss-ivf" else {})
            recall = built.recall(found=found)
        assert [sorted(row) for row in rows_of(found)] == [[0, 1, 2, 3]] * len(QUERIES)
        assert recall.values.tolist() == [1.0] * len(QUERIES)


def few_service(query: Any, k: int) -> list[str]:
    return [CORPUS.ids[row] for row in range(4)]


class TestRecall:
    def test_of_an_engine_that_misses(self) -> None:
        """One list of six: against NumPy, query by query; its exact mode finds all."""
        bench = bench_of("faiss-ivf")
        with bench.build({"nlist": 6}) as built:
            rows = rows_of(built.search({"nprobe": 1}))
            recall, exact = built.recall({"nprobe": 1}), built.recall({"nprobe": 1}, exact=True)
        expected = [
            len(set(by_numpy(query, K)) & set(row)) / K for query, row in zip(QUERIES.values, rows, strict=True)
        ]
        assert recall.values.tolist() == expected and 0 < recall.mean < 1
        assert recall.mean == pytest.approx(np.mean(expected)) and recall.p5 == np.percentile(expected, 5)
        assert recall.ci is not None and recall.ci[0] < recall.mean < recall.ci[1]
        assert exact.values.tolist() == [1.0] * len(QUERIES) and (exact.k, recall.k) == (K, K)

    def test_without_resampling_without_interval(self) -> None:
        with bench_of(resampling=None).build() as built:
            assert built.recall().ci is None

    @pytest.mark.parametrize("call", ["deaf_service", "filtering_service"])
    def test_what_does_not_pass_the_filter_is_not_found(self, call: str) -> None:
        """However near it is: a service that does not heed its filter finds what happens to pass."""
        bench = bench_of("endpoint", call=call, filters=[BOOTS] * len(QUERIES))
        heard = recalled(bench)
        if call == "filtering_service":
            assert heard == [1.0] * len(QUERIES)
            return
        boots = [len(set(by_numpy(query, K)) & set(by_numpy(query, K, filter_mask(BOOTS)))) for query in QUERIES.values]
        assert heard == [found / K for found in boots] and max(heard) < 1

    def test_by_the_metric_of_the_bench(self) -> None:
        values = np.array([[1.0, 0.0], [5.0, 5.0], [0.9, 0.1]], dtype=np.float32)
        corpus, asked = Vectors(pl.Series(list("abc")), values), Vectors(pl.Series(["q"]), values[:1])
        firsts = {}
        for metric in ("cosine", "ip", "l2"):
            with IndexBenchmark(corpus, asked, engine="faiss-flat", metric=metric, k=1).build() as built:
                firsts[metric] = rows_of(built.search())[0]
                assert built.recall().mean == 1.0
        assert firsts == {"cosine": [0], "ip": [1], "l2": [0]}

    def test_how_many_items_pass_a_filter(self) -> None:
        bench = bench_of()
        assert [bench.passing(only).size for only in (None, BOOTS, NONE)] == [N, 30, 0]

    def test_an_attribute_that_is_not_there(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown attribute of items 'knid'\. Did you mean kind"):
            bench_of(filters=[Filter("knid", "boot")] * len(QUERIES)).truth()


class TestFailures:
    def test_a_query_that_fails_is_counted_and_found_nothing(self) -> None:
        bench = bench_of("endpoint", call="unlucky_service")
        with bench.build() as built:
            found = built.search()
            recall = built.recall()
            ((row, why),) = built.failures
        assert row == UNLUCKY and "TimeoutError: no answer" in why
        others = [number for number in range(len(QUERIES)) if number != UNLUCKY]
        rows = rows_of(found)
        assert rows[UNLUCKY] == [] and [rows[one] for one in others] == [
            by_numpy(QUERIES.values[one], K) for one in others
        ]
        assert recall.values[UNLUCKY] == 0.0 and recall.n == len(QUERIES), "not dropped"
        assert recall.mean == pytest.approx(0.9)

    def test_under_filters_and_with_own_items_too(self) -> None:
        asked = Vectors(pl.Series(["i1", "q"]), np.stack([CORPUS.values[1], QUERIES.values[UNLUCKY]]))
        bench = bench_of(
            "endpoint", call="unlucky_service", queries=asked, own=CORPUS.rows_of(asked.ids), filters=[HATS, BOOTS]
        )
        with bench.build() as built:
            assert rows_of(built.search()) == [by_numpy(CORPUS.values[1], K, filter_mask(HATS), leave_out=1), []]
            assert [row for row, _ in built.failures] == [1]

    def test_all_fail(self) -> None:
        """No bad luck of single queries, but a mistake: it is told as one, and not timed."""
        with bench_of("endpoint", call="dead_service").build() as built:
            with pytest.raises(DataError, match="nobody there"):
                built.recall()
            latency = summarise(built.timed(rounds=2, warm_up=1))
        assert (latency.n, latency.failed) == (0, 20) and np.isnan(latency.p95.ms)

    def test_all_but_one_fail(self) -> None:
        with bench_of("endpoint", call="lucky_service").build() as built:
            recall = built.recall()
            assert len(built.failures) == len(QUERIES) - 1
        assert (recall.mean, recall.n) == (1 / len(QUERIES), len(QUERIES))

    def test_failures_are_of_the_last_search(self) -> None:
        with bench_of("endpoint", call="unlucky_service").build() as built:
            built.search()
            built.search()
            assert len(built.failures) == 1

    def test_while_timed_they_are_counted_as_often_as_they_are_asked(self) -> None:
        with bench_of("endpoint", call="unlucky_service").build() as built:
            latency = summarise(built.timed(rounds=3, warm_up=0))
        assert (latency.n, latency.failed) == (27, 3)
        (found,) = latency.messages
        assert "no answer" in found.message and found.count == 3

    def test_an_engine_that_is_no_service_fails_as_a_whole(self) -> None:
        with bench_of("faiss-hnsw").build() as built, pytest.raises(UnknownName, match="ef_serach"):
            built.search({"ef_serach": 5})


class TestTexts:
    IDS_ALONE = Vectors(CORPUS.ids, np.empty((N, 0), np.float32))
    QUERIES_ALONE = Vectors(QUERIES.ids, np.empty((len(QUERIES), 0), np.float32))

    def alone(self, **more: Any) -> IndexBenchmark:
        given = {"call": "text_service", "text": True, "texts": TEXTS} | more
        return bench_of("endpoint", corpus=self.IDS_ALONE, queries=self.QUERIES_ALONE, **given)

    def test_a_service_that_is_asked_with_texts(self) -> None:
        bench = bench_of("endpoint", call="text_service", text=True, texts=TEXTS)
        assert searched(bench) == [by_numpy(query, K) for query in QUERIES.values]
        assert recalled(bench) == [1.0] * len(QUERIES)

    def test_a_corpus_of_which_only_ids_are_known(self) -> None:
        """What is nearest cannot be known, so recall is undefined and not 0 or 1."""
        bench = self.alone()
        with bench.build() as built:
            assert rows_of(built.search()) == [by_numpy(query, K) for query in QUERIES.values]
            recall = built.recall()
            latency = summarise(built.timed(rounds=1, warm_up=0, to_ids=True))
        assert recall.n == 0 and np.isnan(recall.mean) and recall.ci is None
        assert rows_of(bench.truth()) == [[]] * len(QUERIES)
        assert (latency.n, latency.failed) == (len(QUERIES), 0)

    def test_texts_that_are_not_known(self) -> None:
        with self.alone(texts=None).build() as built:
            with pytest.raises(UsageError, match="searches by texts, and the queries have none"):
                built.search()
            with pytest.raises(UsageError, match="the queries have none"):
                summarise(built.timed(rounds=1, warm_up=0))

    def test_a_service_that_wants_vectors_where_there_are_none(self) -> None:
        """It would be asked with vectors of no length, and answer something."""
        with self.alone(call="few_service", text=False).build() as built, pytest.raises(UsageError, match="vectors"):
            built.search()


class Watched(Exact):
    """Exact search that counts what is open, and fails where it is told to."""

    open_now: ClassVar[int] = 0
    opened: ClassVar[int] = 0
    fails_at: ClassVar[str] = ""
    asked: ClassVar[list[tuple[int, int, Filter | None]]] = []
    """Queries, k and filter of every search."""

    def build(self, *given: Any, **more: Any) -> None:
        self._count(1)
        if self.fails_at == "build":
            raise MemoryError("too large")
        super().build(*given, **more)

    def search(self, queries: Any, k: int, *given: Any, **more: Any) -> Neighbours:
        Watched.asked.append((len(queries), k, more.get("filter")))
        if self.fails_at == "search":
            raise DataError("lost")
        return super().search(queries, k, *given, **more)

    def for_thread(self) -> Self:
        if self.fails_at == "again" and Watched.open_now == 2:
            raise DataError("no more connections")
        other = copy.copy(self)
        other._count(1)
        return other

    def _count(self, change: int) -> None:
        Watched.open_now += change
        Watched.opened += change
        self._is_open = True

    def close(self) -> None:
        if getattr(self, "_is_open", False):
            Watched.open_now -= 1
            self._is_open = False


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Watched]]:
    monkeypatch.setattr(
        ENGINES, "_entries", {name: ENGINES.get(name) for name in ENGINES.names()} | {"watched": Watched}
    )
    for name, value in (("open_now", 0), ("opened", 0), ("fails_at", ""), ("asked", [])):
        monkeypatch.setattr(Watched, name, value)
    yield Watched
    assert Watched.open_now == 0, "something was left open"


class TestTiming:
    @engines
    def test_every_query_as_often_as_there_are_rounds(self, engine: str) -> None:
        build, search = THOROUGH[engine]
        with bench_of(engine, filters=[BOOTS, None] * 5).build(build) as built:
            timed = built.timed(search, rounds=3, warm_up=2)
            two = summarise(built.timed(search, rounds=1, warm_up=1, concurrency=2))
            came = built.timed_at(2_000, search, rounds=2, warm_up=1, workers=2)
        assert np.bincount(timed.queries).tolist() == [3] * len(QUERIES) and not timed.failures
        assert (timed.kind, timed.concurrency, timed.rate) == ("closed", 1, None)
        assert (two.n, two.failed, two.concurrency) == (10, 0, 2)
        assert (came.kind, came.rate, came.concurrency, came.seconds.size) == ("open", 2_000, 2, 20)
        assert np.bincount(came.queries).tolist() == [2] * len(QUERIES) and not came.failures

    def test_each_query_alone_with_its_filter_for_k(self, watched: type[Watched]) -> None:
        filters = [BOOTS, HATS, None] + [None] * 7
        with bench_of("watched", filters=filters).build() as built:
            timed = built.timed(rounds=1, warm_up=0)
        assert watched.asked == [(1, K, filters[query]) for query in timed.queries.tolist()]

    def test_end_to_end_starts_with_the_text_and_ends_with_ids(self, watched: type[Watched]) -> None:
        """What is embedded is searched: only ids of the corpus come of it."""
        seen: list[list[str]] = []

        def embed(texts: list[str]) -> Any:
            seen.append(texts)
            return QUERIES.values[[TEXTS.index(text) for text in texts]]

        with bench_of("watched", texts=TEXTS).build() as built:
            with built._asks(None, 1, embed, True) as (ask,):
                assert ask(2) == [f"i{row}" for row in by_numpy(QUERIES.values[2], K)]
            with built._asks(None, 1, None, False) as (ask,):
                assert isinstance(ask(2), Neighbours)
            summarise(built.timed(rounds=1, warm_up=0, embed=embed, to_ids=True))
        checks = [[TEXTS[0]]]  # one text is embedded first, to see whether the index can be searched with it
        assert seen[:2] == [*checks, [TEXTS[2]]] and sorted(one for (one,) in seen[3:]) == sorted(TEXTS)
        assert len(watched.asked) == 2 + len(QUERIES)

    def test_every_thread_has_a_connection_that_is_closed_again(self, watched: type[Watched]) -> None:
        with bench_of("watched").build() as built:
            summarise(built.timed(rounds=1, warm_up=0, concurrency=4))
            assert (watched.opened, watched.open_now) == (4, 1)
            built.timed_at(2_000, rounds=1, warm_up=0, workers=3)
            assert (watched.opened, watched.open_now) == (6, 1)

    def test_engines_that_threads_share_are_not_closed_by_them(self) -> None:
        with bench_of("faiss-hnsw").build() as built:
            summarise(built.timed(rounds=1, warm_up=0, concurrency=4))
            assert rows_of(built.search({"ef_search": 500})) == [by_numpy(query, K) for query in QUERIES.values]


class TestClosed:
    def test_after_use_and_twice(self, watched: type[Watched]) -> None:
        built = bench_of("watched").build()
        assert watched.open_now == 1 and built.seconds >= 0 and built.engine.size() == CORPUS.values.nbytes
        built.close()
        built.close()
        assert watched.open_now == 0

    def test_when_it_cannot_be_built(self, watched: type[Watched], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watched, "fails_at", "build")
        with pytest.raises(MemoryError):
            bench_of("watched").build()
        assert (watched.opened, watched.open_now) == (1, 0)

    def test_when_it_is_given_a_wrong_parameter(self, watched: type[Watched]) -> None:
        with pytest.raises(UsageError, match="unknown build parameter 'm'"):
            bench_of("watched").build({"m": 3})
        assert (watched.opened, watched.open_now) == (1, 0)

    def test_when_a_search_fails(self, watched: type[Watched], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watched, "fails_at", "search")
        with pytest.raises(DataError, match="lost"), bench_of("watched").build() as built:
            built.recall()
        assert watched.open_now == 0

    def test_when_a_further_connection_fails(self, watched: type[Watched], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watched, "fails_at", "again")
        with bench_of("watched").build() as built:
            with pytest.raises(DataError, match="no more connections"):
                summarise(built.timed(rounds=1, warm_up=0, concurrency=4))
            assert (watched.opened, watched.open_now) == (2, 1), "the second of four was opened, and closed"

    def test_an_engine_that_is_not_known(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown engine 'exat'\. Did you mean exact"):
            bench_of("exat").build()
