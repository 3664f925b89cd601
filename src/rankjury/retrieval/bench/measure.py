"""Index measurement: recall, the engine's exact mode, latency, filters and the ranking that the index returned.

``try_index`` is the entry point for scripts. Vectors of an existing index are read from it and compared with an export.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from rankjury.core.params import Params, resolve_params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.secrets import mask_settings
from rankjury.core.text import join_names
from rankjury.core.types import Floats, Gold, Ranking, Vectors, cut_rows
from rankjury.core.validation import check_arguments
from rankjury.errors import UsageError
from rankjury.evaluation.evaluate import evaluate
from rankjury.evaluation.scores import Scores
from rankjury.measures.dialects import NamedMeasure
from rankjury.retrieval.bench.benchmark import ROUNDS, BuiltIndex, Embed, IndexBenchmark
from rankjury.retrieval.bench.latency import QueryTimes, summarise
from rankjury.retrieval.bench.loops import WARM_UP
from rankjury.retrieval.bench.result import (
    AnnRecall,
    FilterResult,
    IndexLatency,
    IndexLoss,
    IndexResult,
    LossMean,
    MetricEquivalence,
)
from rankjury.retrieval.engines.base import ENGINES
from rankjury.retrieval.knn.search import nearest, score_neighbours
from rankjury.retrieval.knn.similarity import norms_of
from rankjury.retrieval.rank import (
    as_vectors,
    check_comparable,
    ranking_from_neighbours,
    resolve_exclude_self,
    rows_of_queries,
)
from rankjury.stats.comparison import PairedValues, compare_pairs
from rankjury.stats.resampling import Resampling, query_keys


def read_stored_vectors(
    engine: str, metric: str, settings: Params | None, given: Vectors | None = None
) -> tuple[Vectors, list[str]]:
    """Read the vectors of an existing index, which are what its searches see.

    The index must hold the ids and dimensions of ``given``, which are exported vectors; a ``DataError`` is raised where
    it does not, and a note is returned with the vectors where single ones differ.
    """
    with ENGINES.get(engine)(metric, settings) as opened:
        if given is not None:
            opened.build(given.values, given.ids)
        stored = opened.stored_vectors()
    if given is None:
        return stored, []
    rows = stored.rows_of(given.ids.cast(stored.ids.dtype))
    # What rounding and an export as text may change, as a share of the largest number, by bytes of a stored number.
    share = {2: 2e-3, 4: 1e-5}.get(stored.values.dtype.itemsize, 0.0)
    differing = []
    for first, last in cut_rows(len(given), 4096):
        block = np.asarray(given.values[first:last], dtype=np.float64)
        distance = np.abs(stored.values[rows[first:last]] - block).max(axis=1, initial=0.0)
        differing.append(distance > share * np.abs(block).max(axis=1, initial=0.0))
    which = np.flatnonzero(np.concatenate(differing))
    if not which.size:
        return stored, []
    lengths = [float(norms_of(vectors.values).mean()) for vectors in (stored, given)]
    return stored, [
        f"{which.size:,} of {len(given):,} stored vectors differ from {given.source}: "
        f"{join_names(given.ids.gather(which).cast(stored.ids.dtype))}; their mean length is {lengths[0]:.4g} in "
        f"{stored.source} and {lengths[1]:.4g} in the file. All values are of the stored vectors"
    ]


@dataclass(frozen=True)
class Clock:
    """Timing settings; 0 rounds means no timing."""

    rounds: int = ROUNDS
    warm_up: int = WARM_UP
    concurrency: Sequence[int] = (1, 2, 4)
    rate: float | None = None
    """Queries per second of the open loop; None: no open loop."""
    embed: Embed | None = None
    """Embeds query texts as part of the end-to-end time."""


@dataclass(frozen=True, eq=False)
class IndexMeasurement:
    """Result of an index, with the rankings."""

    indexed: IndexResult
    ranking: Ranking
    exact: Ranking
    """Ranking of an exact search over the same vectors."""
    scores: Floats
    """Exact similarities of the results, queries × k; −inf if there is no result, NaN if unknown."""


def measure_index(
    bench: IndexBenchmark,
    *,
    build: Params | None = None,
    search: Params | None = None,
    clock: Clock | None = None,
    depth: int | None = None,
    progress: Progress = NO_PROGRESS,
    source: str = "index",
) -> IndexMeasurement:
    """Build an index, search ``depth`` results for the ranking, and measure recall and latency at the benchmark's k."""
    kind = bench.kind
    build_params = resolve_params(kind.build_params, build, "build parameter")
    search_params = resolve_params(kind.search_params, search, "search parameter")
    deep = max(bench.k, depth or 0)
    progress.update("Building", 0, 1)
    with bench.build(build_params, progress) as built:
        progress.update("Searching", 0, 1)
        neighbours = built.search(search, k=deep)
        failed = len(built.failures)
        # A graph that is asked for more looks further: recall at k is that of a search for k.
        recall = built.recall(search, found=neighbours if deep == bench.k else None)
        own = built.recall(search, exact=True) if built.engine.exact_mode else None
        timings, timed = _timings(built, search, clock, progress) if clock and clock.rounds else (None, None)
        engine = built.engine
        facts = {"approximate": engine.approximate, "native_filter": engine.native_filter} | engine.metadata()
        if built.failures:
            facts["failures"] = [{"query": bench.queries.ids[row], "why": why} for row, why in built.failures[:5]]
        indexed = IndexResult(
            bench.engine, bench.metric, build_params, search_params,
            mask_settings({name: value for name, value in engine.settings.items() if value}), len(bench.corpus),
            bench.corpus.dimensions, built.seconds, built.engine.size(), recall, own, failed,
            {**(build or {}), **(search or {})}, timings, filters=tuple(_by_filter(built, recall, timed)),
            facts=facts,
        )  # fmt: skip
    ids = bench.corpus.items
    # Exact similarities: a quantised index returns rough scores, an endpoint perhaps ranks.
    if bench.corpus.dimensions:
        scores = score_neighbours(bench.queries.values, bench.corpus.values, neighbours.items, metric=bench.metric)
    else:
        scores = neighbours.scores if engine.has_scores else np.full(neighbours.scores.shape, np.nan)
    return IndexMeasurement(
        indexed, ranking_from_neighbours(bench.queries.ids, ids, neighbours, source, ranks_only=not engine.has_scores),
        ranking_from_neighbours(bench.queries.ids, ids, bench.truth(deep), "exact"),
        scores,
    )  # fmt: skip


def _timings(
    built: BuiltIndex, params: Params | None, clock: Clock, progress: Progress
) -> tuple[IndexLatency, QueryTimes]:
    """Return the latency, and the times of the search alone (of the whole request for an engine that takes texts)."""
    options: dict[str, Any] = {"rounds": clock.rounds, "warm_up": clock.warm_up}
    alone: QueryTimes | None = None
    if not built.engine.takes_texts:
        alone = built.timed(params, **options, progress=progress.step("Timing the index"))
    embed = clock.embed if built.bench.texts is not None and not built.engine.takes_texts else None
    whole = built.timed(params, **options, embed=embed, to_ids=True, progress=progress.step("Timing end to end"))
    closed = []
    for callers in clock.concurrency:
        progress.update(f"Timing {callers} callers at a time", 0, 1)
        once = alone if callers == 1 else None
        closed.append(summarise(once or built.timed(params, **options, concurrency=callers)))
    progress.update("Timing the open loop", 0, 1)
    at_rate = None if clock.rate is None else summarise(built.timed_at(clock.rate, params, **options))
    includes = (*(("text to vector",) if embed is not None else ()), "search", "rows to ids")
    if built.engine.takes_texts:
        includes = "request with the text", "search", "answer to ids"
    index_only = None if alone is None else summarise(alone)
    return IndexLatency(index_only, summarise(whole), includes, tuple(closed), at_rate), alone or whole


def _by_filter(built: BuiltIndex, recall: AnnRecall, timed: QueryTimes | None) -> Iterator[FilterResult]:
    """Yield recall and latency for every filter, by selectivity."""
    bench = built.bench
    if not any(bench.filters or ()):
        return
    passing = {condition: bench.passing(condition).size for condition, _ in bench.groups}
    for condition, rows in sorted(bench.groups, key=lambda group: (passing[group[0]], str(group[0]))):
        known = recall.values[rows]
        known = known[~np.isnan(known)]
        mean = float(known.mean()) if known.size else nan
        seconds = np.empty(0) if timed is None else timed.seconds[np.isin(timed.queries, rows)]
        seconds = seconds[~np.isnan(seconds)]
        p95_ms = float(np.percentile(seconds, 95) * 1e3) if seconds.size else nan
        share = passing[condition] / len(bench.corpus)
        yield FilterResult(str(condition or "none"), share, passing[condition], rows.size, mean, p95_ms)


def compare_metrics(
    corpus: Vectors, queries: Vectors, *, k: int = 10, metrics: tuple[str, str] = ("cosine", "ip")
) -> MetricEquivalence:
    """Return whether two similarities rank the same k items in the same order, by exact search; ties go by id."""
    first, second = (nearest(queries.values, corpus.values, k, metric=name, places=corpus.places) for name in metrics)
    differing = np.flatnonzero((first.items != second.items).any(axis=1))
    # 16-bit vectors exceed this tolerance.
    normalised = bool(np.abs(norms_of(corpus.values) - 1.0).max(initial=0.0) < 1e-5)
    example: Mapping[str, Any] | None = None
    if differing.size:
        row = int(differing[np.argmin(queries.ids.gather(differing).rank("ordinal").to_numpy())])
        place = int(np.argmax(first.items[row] != second.items[row]))
        example = {"query": queries.ids[row], "rank": place + 1} | {
            name: {"item": corpus.ids[int(side.items[row, place])], "score": float(side.scores[row, place])}
            for name, side in zip(metrics, (first, second), strict=True)
        }
    return MetricEquivalence(metrics, normalised, k, len(queries), int(differing.size), example)


def select_loss_measure(asked: Sequence[NamedMeasure], k: int) -> NamedMeasure | None:
    """Return nDCG at k, else at another cut-off, else None: only its maximum is 1 for every query."""
    gains = [named for named in asked if named.measure.metric.name == "ndcg"]
    return next((named for named in gains if named.measure.k == k), gains[0] if gains else None)


def split_loss(gold: Gold, exact: Ranking, scores: Scores, asked: NamedMeasure, resampling: Resampling) -> IndexLoss:
    """Split the loss from the ideal ranking into that of exact search (``exact``) and of the index (``scores``)."""
    ours = scores.only([asked.label])
    theirs = evaluate(gold, exact, [asked])
    estimates = theirs.estimates(resampling)[asked.label], ours.estimates(resampling)[asked.label]
    pair = PairedValues(
        *("index", "exact", asked.label, asked.measure.metric.aggregate),
        values=ours[asked.label],
        baseline_values=theirs[asked.label],
    )
    (compared,) = compare_pairs([pair], query_keys(ours.queries, resampling.seed), resampling)
    exactly, found = (LossMean(estimate.mean if estimate.n else nan, estimate.ci, estimate.n) for estimate in estimates)
    ci = compared.ci and (0.0 - compared.ci[1], 0.0 - compared.ci[0])
    lost = LossMean(0.0 - compared.difference if compared.n else nan, ci)
    return IndexLoss(asked.label, exactly, found, lost)


@check_arguments
def try_index(
    corpus: Any,
    queries: Any = None,
    *,
    engine: str,
    metric: str = "cosine",
    build: Params | None = None,
    search: Params | None = None,
    settings: Params | None = None,
    k: int = 10,
    exclude_self: bool | None = None,
    clock: Clock | None = Clock(),
    resampling: Resampling | None = Resampling(),  # noqa: B008 - frozen
) -> IndexResult:
    """Build an index over vectors, and measure its recall against exact search, its latency and its size.

    Args:
        corpus: The items: a matrix, a dict of id to vector, a frame, a path, or ``rankjury.Vectors``. None where an
            existing table holds them (``settings={"dsn": …, "table": …}``); otherwise they are compared with the
            table's.
        queries: The queries, in the same forms; by default the items are, each without itself.
        engine: Name of the engine: ``rankjury list engines`` lists them.
        metric: ``cosine``, ``ip`` or ``l2``.
        build: Parameters of building, such as ``{"m": 16}``.
        search: Parameters of searching, such as ``{"ef_search": 64}``.
        settings: Parameters of the engine itself, such as an address.
        k: How many items to find for each query.
        exclude_self: Whether the item of the query's own id is left out; by default where the queries are the corpus.
        clock: How times are taken; None for no times.
        resampling: How intervals are made; None for no intervals.

    Returns:
        The result: ``recall``, ``latency``, ``build_seconds``, ``size_bytes``.

    Raises:
        DataError: Vectors cannot be read or compared.
        ImpossibleSetting: The engine cannot be built or searched so on this corpus.
        MissingExtra: The engine's library is not installed.
        UsageError: An engine or a parameter is not known.

    Example:
        >>> items = {"a": [1.0, 0.0], "b": [0.9, 0.1], "c": [0.0, 1.0]}
        >>> rankjury.try_index(items, engine="exact", k=1, clock=None, resampling=None).recall.mean
        1.0
    """
    if k < 1:
        raise UsageError(f"k is {k}", expected="1 or more")
    items, notes = None if corpus is None else as_vectors(corpus, None, "corpus"), list[str]()
    if ENGINES.get(engine).holds_corpus(settings or {}):
        items, notes = read_stored_vectors(engine, metric, settings, items)
    elif items is None:
        raise UsageError("no vectors of the corpus given", expected="a matrix, a path or Vectors")
    query_vectors = items if queries is None or queries is corpus else as_vectors(queries, None, "queries")
    check_comparable(query_vectors, items, metric)
    own = rows_of_queries(items, query_vectors, exclude=resolve_exclude_self(exclude_self, items, query_vectors))
    bench = IndexBenchmark(
        items, query_vectors, engine=engine, metric=metric, settings=settings, k=k, own=own, resampling=resampling
    )
    result = measure_index(bench, build=build, search=search, clock=clock).indexed
    notes += result.facts.get("notes", ()) if notes else ()
    return replace(result, facts={**result.facts, "notes": notes}) if notes else result
