"""Index benchmark: a corpus, its queries and an engine; built, searched, timed and compared with exact search."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from time import perf_counter
from typing import Any, Self

import numpy as np
import polars as pl

from rankjury.core.params import Params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix, Vectors
from rankjury.errors import EngineLost, RankjuryError, UsageError
from rankjury.retrieval.bench.latency import QueryTimes
from rankjury.retrieval.bench.loops import closed_loop, open_loop
from rankjury.retrieval.bench.result import AnnRecall, estimate_recall, recall_by_query
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter, filter_mask
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.stats.resampling import Resampling

Ask = Callable[[int], object]
"""Asks the query of this number, and waits for its answer."""
Embed = Callable[[list[str]], Matrix]


class _Over(BaseException):
    """The engine is lost. No failed query, which would be counted, but the end of the loop."""


ROUNDS, WARM_UP, WORKERS = 5, 20, 4
_ALL_FAILED = 10
"""So many failures before any answer are a mistake of the request, not of single queries."""


class IndexBenchmark:
    """What an index is tried with: it finds ``k`` of the corpus for each query, and these are timed and judged.

    ``own`` is the row of the corpus that is the query itself, to be left out; ``filters`` are of the queries, one each.
    """

    def __init__(
        self,
        corpus: Vectors,
        queries: Vectors,
        *,
        engine: str,
        metric: str = "cosine",
        settings: Params | None = None,
        k: int = 10,
        attributes: pl.DataFrame | None = None,
        texts: Sequence[str] | None = None,
        filters: Sequence[Filter | None] | None = None,
        own: Ints | None = None,
        resampling: Resampling | None = None,
    ) -> None:
        self.corpus, self.queries = corpus, queries
        self.engine, self.metric, self.settings, self.k = engine, metric, dict(settings or {}), k
        self.attributes, self.texts = attributes, texts
        self.filters: list[Filter | None] = list(filters) if filters is not None else [None] * len(queries)
        self.own = own if own is not None and (own != MISSING).any() else None
        self.resampling = resampling

    @property
    def kind(self) -> type[Engine]:
        return ENGINES.get(self.engine)

    @cached_property
    def groups(self) -> list[tuple[Filter | None, Ints]]:
        """The queries by their filter."""
        names = dict.fromkeys(self.filters)
        return [
            (filter_, np.array([row for row, given in enumerate(self.filters) if given == filter_]))
            for filter_ in names
        ]

    def truth(self, k: int | None = None) -> Neighbours:
        """The exact neighbours, among what passes each query's filter."""
        return self._truth if k is None or k == self.k else self._exactly(k)

    @cached_property
    def _truth(self) -> Neighbours:
        return self._exactly(self.k)

    def _exactly(self, k: int) -> Neighbours:
        places = self.corpus.places
        items = np.full((len(self.queries), min(k, len(self.corpus))), MISSING, dtype=np.int64)
        scores = np.full(items.shape, -np.inf)
        for only, rows in self.groups if self.corpus.dimensions else ():
            held = np.arange(len(self.corpus)) if only is None else np.flatnonzero(filter_mask(self.attributes, only))
            if not held.size:
                continue
            own = None
            if self.own is not None:  # the place among what is held of the item that is the query itself
                place = np.full(len(self.corpus) + 1, MISSING, dtype=np.int64)
                place[held] = np.arange(held.size)
                own = place[self.own[rows]]
            found = nearest(
                self.queries.values[rows], self.corpus.values if only is None else self.corpus.values[held],
                k, metric=self.metric, places=places[held], own=own,
            )  # fmt: skip
            width = found.items.shape[1]
            items[rows, :width] = np.where(found.items == MISSING, MISSING, held[found.items])
            scores[rows, :width] = found.scores
        return Neighbours(items, scores)

    def selectivity(self, only: Filter | None) -> float:
        """The share of the corpus that passes a filter."""
        return 1.0 if only is None else float(filter_mask(self.attributes, only).mean())

    def build(self, params: Params | None = None, progress: Progress = NO_PROGRESS) -> "BuiltIndex":
        """Make the engine, and let it hold the corpus."""
        engine = self.kind(self.metric, self.settings)
        try:
            started = perf_counter()
            engine.build(self.corpus.values, self.corpus.items, params, attributes=self.attributes, progress=progress)
            return BuiltIndex(self, engine, perf_counter() - started)
        except BaseException:
            engine.close()
            raise


class BuiltIndex:
    """An index that was built, to be asked."""

    def __init__(self, bench: IndexBenchmark, engine: Engine, seconds: float) -> None:
        self.bench, self.engine, self.seconds = bench, engine, seconds
        self.failures: list[tuple[int, str]] = []
        """The queries that failed when they were searched for their results, and why."""
        self.answered = 0

    @property
    def size(self) -> int | None:
        return self.engine.size()

    def search(self, params: Params | None = None, *, k: int | None = None, exact: bool = False) -> Neighbours:
        """What it finds for every query; a query that fails finds nothing, and is noted."""
        bench, wanted = self.bench, self.bench.k if k is None else k
        asked = self._asked()
        deep = wanted + (bench.own is not None)
        if len(bench.groups) == 1 and bench.own is None and not self.engine.one_request_per_query:
            return self.engine.search(asked, deep, params, filter=bench.groups[0][0], exact=exact)
        items = np.full((len(bench.queries), deep), MISSING, dtype=np.int64)
        scores = np.full(items.shape, -np.inf)
        self.failures, self.answered = [], 0
        for only, rows in bench.groups:
            for part in [rows[at : at + 1] for at in range(rows.size)] if self.engine.one_request_per_query else [rows]:
                found = self._try(asked, part, deep, params, only, exact)
                if found is not None:
                    items[part, : found.items.shape[1]] = found.items
                    scores[part, : found.items.shape[1]] = found.scores
        return _without_own(Neighbours(items, scores), bench.own, wanted)

    def _asked(self) -> Any:
        if not self.engine.takes_texts:
            if not self.bench.corpus.dimensions:
                raise UsageError(
                    f"{self.bench.engine} is asked with vectors, and none are known",
                    expected="path = the items' vectors",
                )
            return self.bench.queries.values
        if self.bench.texts is None:
            raise UsageError(
                f"{self.bench.engine} is asked with texts, and the queries' texts are not known",
                expected="a file of texts: texts = queries.jsonl:text",
            )
        return list(self.bench.texts)

    def _try(
        self, asked: Any, rows: Ints, k: int, params: Params | None, only: Filter | None, exact: bool
    ) -> Neighbours | None:
        chosen = [asked[row] for row in rows] if self.engine.takes_texts else asked[rows]
        try:
            found = self.engine.search(chosen, k, params, filter=only, exact=exact)
            self.answered += 1
            return found
        except RankjuryError as error:
            if not self.engine.one_request_per_query:
                raise
            self.failures.append((int(rows[0]), str(error)))
            if self.answered == 0 and len(self.failures) >= min(_ALL_FAILED, len(self.bench.queries)):
                raise error from None  # no bad luck of a few queries
            return None

    def recall(
        self, params: Params | None = None, *, exact: bool = False, found: Neighbours | None = None
    ) -> AnnRecall:
        """Against the exact neighbours; ``exact``: of the engine's own exact mode; ``found``: of what it found."""
        bench = self.bench
        if not bench.corpus.dimensions:  # only ids are known, so that nothing can be said of what is nearest
            return estimate_recall(np.full(len(bench.queries), np.nan), bench.k, bench.queries.ids, bench.resampling)
        found = self.search(params, exact=exact) if found is None else found
        values = recall_by_query(
            self._passing(found), bench.truth(), bench.k, bench.queries.values, bench.corpus.values, metric=bench.metric
        )
        return estimate_recall(values, bench.k, bench.queries.ids, bench.resampling)

    def _passing(self, found: Neighbours) -> Neighbours:
        """Without what a query's filter does not let pass, however near it is."""
        bench, items = self.bench, np.array(found.items)
        for only, rows in bench.groups:
            if only is not None:
                passes = np.append(filter_mask(bench.attributes, only), False)  # MISSING, the last, does not
                items[rows] = np.where(passes[items[rows]], items[rows], MISSING)
        return Neighbours(items, np.array(found.scores))

    def timed(
        self,
        params: Params | None = None,
        *,
        rounds: int = ROUNDS,
        total: int | None = None,
        seed: int = 0,
        warm_up: int = WARM_UP,
        concurrency: int = 1,
        embed: Embed | None = None,
        to_ids: bool = False,
        progress: Progress = NO_PROGRESS,
    ) -> QueryTimes:
        """Each query alone, the next when the last was answered.

        With ``embed`` from the query's text on, with ``to_ids`` to the ids of what was found; else the search alone.
        Every query is asked ``rounds`` times, by ``concurrency`` threads; with ``total`` so many are asked instead.
        """
        with self._asks(params, concurrency, embed, to_ids) as asks:
            return closed_loop(
                asks, len(self.bench.queries), rounds=rounds, total=total, seed=seed, warm_up=warm_up,
                progress=progress,
            )  # fmt: skip

    def timed_at(
        self,
        rate: float,
        params: Params | None = None,
        *,
        rounds: int = ROUNDS,
        warm_up: int = WARM_UP,
        workers: int = WORKERS,
    ) -> QueryTimes:
        """Queries that come at their own times, so many a second, whether or not those before were answered."""
        n = len(self.bench.queries)
        with self._asks(params, workers) as asks:
            return open_loop(asks, n, rate=rate, total=rounds * n, arrivals="random", warm_up=warm_up)

    @contextmanager
    def _asks(
        self, params: Params | None, threads: int, embed: Embed | None = None, to_ids: bool = False
    ) -> Iterator[list[Ask]]:
        """One for each thread; what was opened for other threads is closed again. A lost engine ends the loop."""
        bench, texts = self.bench, self.bench.texts
        asked = self._asked() if to_ids else self.engine.prepare_queries(self._asked())
        singles = [asked[row : row + 1] for row in range(len(bench.queries))]
        ids = bench.corpus.ids.to_list() if to_ids else None
        if embed is not None and texts:  # refused at once, before every query fails of it
            made, held = embed([texts[0]]).shape[1], bench.corpus.dimensions
            if made != held:
                raise UsageError(
                    f"the model makes vectors of {made:,} dimensions, and the index holds {held:,}",
                    expected="lab.model = the model that made the vectors",
                )

        def ask_of(engine: Engine) -> Ask:
            search, k, filters = engine.search, bench.k, bench.filters

            def ask(row: int) -> object:
                query = singles[row] if embed is None or texts is None else embed([texts[row]])
                try:
                    found = search(query, k, params, filter=filters[row])
                except EngineLost as error:
                    raise _Over from error
                return found if ids is None else [ids[item] for item in found.items[0].tolist() if item != MISSING]

            return ask

        with ExitStack() as stack:
            engines = [self.engine]
            for _ in range(threads - 1):
                other = self.engine.for_thread()
                if other is not self.engine:
                    stack.enter_context(other)
                engines.append(other)
            try:
                yield [ask_of(engine) for engine in engines]
            except _Over as over:
                assert isinstance(over.__cause__, EngineLost)
                raise over.__cause__ from None

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _without_own(found: Neighbours, own: Ints | None, k: int) -> Neighbours:
    """Each row's own item left out, and no more than k kept."""
    if own is None:
        return Neighbours(found.items[:, :k].copy(), found.scores[:, :k].copy())
    itself = found.items == own[:, None]
    itself[own == MISSING] = False
    order = np.argsort(itself, axis=1, kind="stable")
    items = np.take_along_axis(np.where(itself, MISSING, found.items), order, axis=1)
    scores = np.take_along_axis(np.where(itself, -np.inf, found.scores), order, axis=1)
    return Neighbours(items[:, :k].copy(), scores[:, :k].copy())
