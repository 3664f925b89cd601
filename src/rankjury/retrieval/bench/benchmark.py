"""Index benchmark: a corpus, its queries and an engine; built, searched, timed and compared with exact search."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from time import perf_counter
from typing import Any, Self

import numpy as np
import polars as pl

from rankjury.core.params import Params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix, Vectors
from rankjury.errors import EngineLost, RankjuryError, UsageError
from rankjury.retrieval.bench.latency import QueryTimes
from rankjury.retrieval.bench.loops import Ask, closed_loop, open_loop
from rankjury.retrieval.bench.result import AnnRecall, estimate_recall, recall_by_query
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter, filter_mask
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.stats.resampling import Resampling

Embed = Callable[[list[str]], Matrix]


class _EngineLostSignal(BaseException):
    """The engine is lost: ends the loop, unlike a failed query, which is counted."""


ROUNDS = 5


@dataclass(eq=False)
class IndexBenchmark:
    """Corpus, queries and engine of a benchmark: the ``k`` nearest items of each query are searched and timed."""

    corpus: Vectors
    queries: Vectors
    _: KW_ONLY
    engine: str
    metric: str = "cosine"
    settings: Params | None = None
    k: int = 10
    attributes: pl.DataFrame | None = None
    texts: Sequence[str] | None = None
    filters: Sequence[Filter | None] | None = None
    """One filter per query."""
    own: Ints | None = None
    """The row of the corpus that is the query itself and is excluded."""
    resampling: Resampling | None = None

    def __post_init__(self) -> None:
        self.own = self.own if self.own is not None and (self.own != MISSING).any() else None
        self._truths: dict[int, Neighbours] = {}

    @property
    def kind(self) -> type[Engine]:
        return ENGINES.get(self.engine)

    @cached_property
    def groups(self) -> list[tuple[Filter | None, Ints]]:
        """The rows of the queries by filter."""
        rows: dict[Filter | None, list[int]] = {}
        for row, condition in enumerate(self.filters or [None] * len(self.queries)):
            rows.setdefault(condition, []).append(row)
        return [(condition, np.array(numbers)) for condition, numbers in rows.items()]

    def truth(self, k: int | None = None) -> Neighbours:
        """Return the exact neighbours among the items that pass each query's filter."""
        k = self.k if k is None else k
        if k in self._truths:
            return self._truths[k]
        places = self.corpus.places
        items = np.full((len(self.queries), min(k, len(self.corpus))), MISSING, dtype=np.int64)
        scores = np.full(items.shape, -np.inf)
        for condition, rows in self.groups if self.corpus.dimensions else ():
            passing = self.passing(condition)
            if not passing.size:
                continue
            own = None
            if self.own is not None:  # the row, among the filtered items, of the query itself
                place = np.full(len(self.corpus) + 1, MISSING, dtype=np.int64)
                place[passing] = np.arange(passing.size)
                own = place[self.own[rows]]
            found = nearest(
                self.queries.values[rows], self.corpus.values if condition is None else self.corpus.values[passing],
                k, metric=self.metric, places=places[passing], own=own,
            )  # fmt: skip
            width = found.items.shape[1]
            items[rows, :width] = np.where(found.items == MISSING, MISSING, passing[found.items])
            scores[rows, :width] = found.scores
        self._truths[k] = Neighbours(items, scores)
        return self._truths[k]

    def passing(self, condition: Filter | None) -> Ints:
        """Return the rows of the corpus that pass a filter."""
        if condition is None:
            return np.arange(len(self.corpus))
        return np.flatnonzero(filter_mask(self.attributes, condition))

    def build(self, params: Params | None = None, progress: Progress = NO_PROGRESS) -> "BuiltIndex":
        """Build an index of the corpus."""
        engine = self.kind(self.metric, self.settings)
        try:
            started = perf_counter()
            engine.build(self.corpus.values, self.corpus.items, params, attributes=self.attributes, progress=progress)
            return BuiltIndex(self, engine, perf_counter() - started)
        except BaseException:
            engine.close()
            raise


@dataclass
class BuiltIndex:
    """A built index, to be searched and timed."""

    bench: IndexBenchmark
    engine: Engine
    seconds: float
    failures: list[tuple[int, str]] = field(default_factory=list)
    """Rows of the queries that failed in ``search``, with the reason."""
    answered: int = 0

    def search(self, params: Params | None = None, *, k: int | None = None, exact: bool = False) -> Neighbours:
        """Return the neighbours of every query; a query that fails has none and is recorded in ``failures``."""
        bench, wanted = self.bench, self.bench.k if k is None else k
        queries = self._query_inputs()
        deep = wanted + (bench.own is not None)
        if len(bench.groups) == 1 and bench.own is None and not self.engine.one_request_per_query:
            return self.engine.search(queries, deep, params, filter=bench.groups[0][0], exact=exact)
        items = np.full((len(bench.queries), deep), MISSING, dtype=np.int64)
        scores = np.full(items.shape, -np.inf)
        self.failures, self.answered = [], 0
        for condition, rows in bench.groups:
            for part in [rows[at : at + 1] for at in range(rows.size)] if self.engine.one_request_per_query else [rows]:
                found = self._try(queries, part, deep, params, condition, exact)
                if found is not None:
                    items[part, : found.items.shape[1]] = found.items
                    scores[part, : found.items.shape[1]] = found.scores
        if bench.own is not None:  # moved behind the other neighbours, and omitted
            itself = (items == bench.own[:, None]) & (bench.own != MISSING)[:, None]
            order = np.argsort(itself, axis=1, kind="stable")
            items = np.take_along_axis(np.where(itself, MISSING, items), order, axis=1)
            scores = np.take_along_axis(np.where(itself, -np.inf, scores), order, axis=1)
        return Neighbours(items[:, :wanted].copy(), scores[:, :wanted].copy())

    def _query_inputs(self) -> Any:
        name = self.bench.engine
        if not self.engine.takes_texts:
            if not self.bench.corpus.dimensions:
                expected = "path = the items' vectors"
                raise UsageError(f"{name} searches by vectors, and there are none", expected=expected)
            return self.bench.queries.values
        if self.bench.texts is None:
            expected = "a file of texts: texts = queries.jsonl:text"
            raise UsageError(f"{name} searches by texts, and the queries have none", expected=expected)
        return list(self.bench.texts)

    def _try(
        self, queries: Any, rows: Ints, k: int, params: Params | None, condition: Filter | None, exact: bool
    ) -> Neighbours | None:
        chosen = [queries[row] for row in rows] if self.engine.takes_texts else queries[rows]
        try:
            found = self.engine.search(chosen, k, params, filter=condition, exact=exact)
            self.answered += 1
            return found
        except RankjuryError as error:
            if not self.engine.one_request_per_query:
                raise
            self.failures.append((int(rows[0]), str(error)))
            # Ten failures before any answer are a fault of the request, not of single queries.
            if self.answered == 0 and len(self.failures) >= min(10, len(self.bench.queries)):
                raise error from None
            return None

    def recall(
        self, params: Params | None = None, *, exact: bool = False, found: Neighbours | None = None
    ) -> AnnRecall:
        """Return recall against exact search; ``exact``: of the engine's exact mode; ``found``: of this result."""
        bench = self.bench
        if not bench.corpus.dimensions:  # only ids are known: there is no exact search
            return estimate_recall(np.full(len(bench.queries), np.nan), bench.k, bench.queries.ids, bench.resampling)
        found = self.search(params, exact=exact) if found is None else found
        values = recall_by_query(
            self._passing(found), bench.truth(), bench.k, bench.queries.values, bench.corpus.values, metric=bench.metric
        )
        return estimate_recall(values, bench.k, bench.queries.ids, bench.resampling)

    def _passing(self, found: Neighbours) -> Neighbours:
        """Return the neighbours without items that fail the query's filter."""
        bench, items = self.bench, np.array(found.items)
        for condition, rows in bench.groups:
            if condition is not None:
                # MISSING is the last, and does not pass.
                passes = np.append(filter_mask(bench.attributes, condition), False)
                items[rows] = np.where(passes[items[rows]], items[rows], MISSING)
        return Neighbours(items, np.array(found.scores))

    def timed(
        self,
        params: Params | None = None,
        *,
        rounds: int = ROUNDS,
        concurrency: int = 1,
        embed: Embed | None = None,
        to_ids: bool = False,
        **options: Any,
    ) -> QueryTimes:
        """Time queries in the closed loop: each of ``concurrency`` workers asks the next when the last was answered.

        ``embed`` includes the embedding of the query's text, ``to_ids`` the lookup of item ids; else only the search is
        timed. The other options are those of ``closed_loop``.
        """
        with self._asks(params, concurrency, embed, to_ids) as asks:
            return closed_loop(asks, len(self.bench.queries), rounds=rounds, **options)

    def timed_at(
        self, rate: float, params: Params | None = None, *, rounds: int = ROUNDS, workers: int = 4, **options: Any
    ) -> QueryTimes:
        """Time queries in the open loop: they arrive at ``rate`` per second; ``options`` are those of ``open_loop``."""
        n = len(self.bench.queries)
        with self._asks(params, workers) as asks:
            return open_loop(asks, n, rate=rate, total=rounds * n, arrivals="random", **options)

    @contextmanager
    def _asks(
        self, params: Params | None, threads: int, embed: Embed | None = None, to_ids: bool = False
    ) -> Iterator[list[Ask]]:
        """Yield one query function per thread; engines of other threads are closed. A lost engine ends the loop."""
        bench, texts, k = self.bench, self.bench.texts, self.bench.k
        filters = bench.filters or [None] * len(bench.queries)
        inputs = self._query_inputs()
        inputs = inputs if to_ids else self.engine.prepare_queries(inputs)
        singles = [inputs[row : row + 1] for row in range(len(bench.queries))]
        ids = bench.corpus.ids.to_list() if to_ids else None
        if embed is not None and texts:  # refused at once, before every query fails
            made, stored = embed([texts[0]]).shape[1], bench.corpus.dimensions
            if made != stored:
                found = f"the model makes vectors of {made:,} dimensions, and the index holds {stored:,}"
                raise UsageError(found, expected="lab.model = the model that made the vectors")

        def ask(search: Callable[..., Neighbours], row: int) -> object:
            query = singles[row] if embed is None or texts is None else embed([texts[row]])
            try:
                found = search(query, k, params, filter=filters[row])
            except EngineLost as error:
                raise _EngineLostSignal from error
            return found if ids is None else [ids[item] for item in found.items[0].tolist() if item != MISSING]

        with ExitStack() as stack:
            engines = [self.engine]
            for _ in range(threads - 1):
                other = self.engine.for_thread()
                if other is not self.engine:
                    stack.enter_context(other)
                engines.append(other)
            try:
                yield [partial(ask, engine.search) for engine in engines]
            except _EngineLostSignal as signal:
                assert isinstance(signal.__cause__, EngineLost)
                raise signal.__cause__ from None

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
