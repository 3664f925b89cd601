"""An index measured whole: recall, its own exact mode, latency, filters → ``Indexed``, and the ranking it made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.convert import QUERY
from rankjury.core.params import Params, settled
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.secrets import mask_settings
from rankjury.core.types import Floats, Ints, Ranking, Vectors
from rankjury.retrieval.bench.build import ROUNDS, WARM_UP, Bench, Built, Embed
from rankjury.retrieval.bench.result import AnnRecall, Equivalence, Filtered, Indexed, Timings
from rankjury.retrieval.bench.timing.latency import Timed, summarise
from rankjury.retrieval.engines.base import Engine, filter_mask
from rankjury.retrieval.knn.search import Neighbours, nearest, score_listed
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import norms_of

_OFF_ONE = 1e-5
"""How far from one the lengths of normalised vectors may be; those of 16-bit numbers are further."""


@dataclass(frozen=True)
class Clock:
    """How queries are timed; without rounds they are not."""

    rounds: int = ROUNDS
    warm_up: int = WARM_UP
    concurrency: Sequence[int] = (1, 2, 4)
    rate: float | None = None
    """Queries a second of the open loop; None: no open loop."""
    embed: Embed | None = None
    """From text to vector, as part of end to end."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What came of an index."""

    indexed: Indexed
    ranking: Ranking
    exact: Ranking
    """What exact search over the same vectors brings."""
    scores: Floats
    """How alike what was found truly is, queries × k; −inf where there is nothing, NaN where that is not known."""


def measure(
    bench: Bench,
    *,
    build: Params | None = None,
    search: Params | None = None,
    clock: Clock | None = None,
    depth: int | None = None,
    progress: Progress = NO_PROGRESS,
    source: str = "index",
) -> Measured:
    """Build, search ``depth`` deep for the ranking, and measure at the bench's k."""
    kind = bench.kind
    chosen = (
        settled(kind.build_params, build, "build parameter"),
        settled(kind.search_params, search, "search parameter"),
    )
    deep = max(bench.k, depth or 0)
    progress.update("Building", 0, 1)
    with bench.build(chosen[0], progress) as built:
        progress.update("Searching", 0, 1)
        found = built.search(search, k=deep)
        failed = len(built.failures)
        # A graph that is asked for more looks further: recall at k is that of a search for k.
        recall = built.recall(search, found=found if deep == bench.k else None)
        own = built.recall(search, exact=True) if built.engine.exact_mode else None
        timings, timed = (
            _timings(built, search, clock, progress) if clock is not None and clock.rounds else (None, None)
        )
        engine = built.engine
        facts = {"approximate": engine.approximate, "native_filter": engine.native_filter} | engine.metadata()
        if built.failures:
            facts["failures"] = [{"query": bench.queries.ids[row], "why": why} for row, why in built.failures[:5]]
        indexed = Indexed(
            bench.engine, bench.metric, chosen[0], chosen[1], _shown(engine), len(bench.corpus),
            bench.corpus.dimensions, built.seconds, built.size, recall, own, failed,
            {**(build or {}), **(search or {})}, timings, filters=tuple(_by_filter(built, recall, timed)),
            facts=facts,
        )  # fmt: skip
    truth = bench.truth(deep)
    ids = bench.corpus.items
    return Measured(
        indexed, ranking_of(bench.queries.ids, ids, found, source, ranks_only=not engine.has_scores),
        ranking_of(bench.queries.ids, ids, truth, "exact"),
        _similarities(bench, engine, found),
    )  # fmt: skip


def _similarities(bench: Bench, engine: Engine, found: Neighbours) -> Floats:
    """An engine that quantises scores roughly, and an endpoint perhaps by places: so they are worked out anew."""
    if not bench.corpus.dimensions:
        return found.scores if engine.has_scores else np.full(found.scores.shape, np.nan)
    held = found.items != MISSING
    rows = np.broadcast_to(np.arange(len(held))[:, None], held.shape)
    scores = np.full(held.shape, -np.inf)
    scores[held] = score_listed(
        bench.queries.values, bench.corpus.values, rows[held], found.items[held], metric=bench.metric
    )
    return scores


def _shown(engine: Engine) -> dict[str, Any]:
    """Return where the engine is, without secrets."""
    return mask_settings({name: value for name, value in engine.settings.items() if value})


def _timings(built: Built, params: Params | None, clock: Clock, progress: Progress) -> tuple[Timings, Timed]:
    """And the times of the search alone, or of all where that cannot be told."""
    beside: dict[str, Any] = {"rounds": clock.rounds, "warm_up": clock.warm_up}
    alone: Timed | None = None
    if not built.engine.takes_texts:
        alone = built.timed(params, **beside, progress=progress.step("Timing the index"))
    embed = clock.embed if built.bench.texts is not None and not built.engine.takes_texts else None
    whole = built.timed(params, **beside, embed=embed, to_ids=True, progress=progress.step("Timing end to end"))
    closed = []
    for callers in clock.concurrency:
        progress.update(f"Timing {callers} callers at a time", 0, 1)
        once = alone if callers == 1 else None
        closed.append(summarise(once or built.timed(params, **beside, concurrency=callers)))
    progress.update("Timing the open loop", 0, 1)
    at_rate = None if clock.rate is None else summarise(built.timed_at(clock.rate, params, **beside))
    includes = (*(("text to vector",) if embed is not None else ()), "search", "rows to ids")
    if built.engine.takes_texts:
        includes = "request with the text", "search", "answer to ids"
    timings = Timings(None if alone is None else summarise(alone), summarise(whole), includes, tuple(closed), at_rate)
    return timings, whole if alone is None else alone


def _by_filter(built: Built, recall: AnnRecall, timed: Timed | None) -> Iterator[Filtered]:
    """Recall and latency under every filter, by how much of the corpus passes."""
    bench = built.bench
    if not any(bench.filters):
        return
    groups = sorted(bench.groups, key=lambda group: (bench.selectivity(group[0]), str(group[0])))
    for only, rows in groups:
        known = recall.values[rows]
        known = known[~np.isnan(known)]
        seconds = np.empty(0) if timed is None else timed.seconds[np.isin(timed.queries, rows)]
        seconds = seconds[~np.isnan(seconds)]
        yield Filtered(
            str(only or "none"),
            bench.selectivity(only),
            len(bench.corpus) if only is None else int(filter_mask(bench.attributes, only).sum()),
            rows.size,
            float(known.mean()) if known.size else float("nan"),
            float(np.percentile(seconds, 95) * 1e3) if seconds.size else float("nan"),
        )


def ranking_of(
    queries: pl.Series, items: pl.Series, found: Neighbours, source: str, *, ranks_only: bool = False
) -> Ranking:
    """What a search found, by id, best first; whoever judges it orders equal scores."""
    present = found.items != MISSING
    starts: Ints = np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int64)
    shown = items.gather(found.items[present])
    return Ranking(queries.rename(QUERY), starts, shown, found.scores[present], source, ranks_only=ranks_only)


def equivalence_of(
    corpus: Vectors, queries: Vectors, *, k: int = 10, metrics: tuple[str, str] = ("cosine", "ip")
) -> Equivalence:
    """Whether two similarities bring the same k in the same order, by exact search; ties go by id under both."""
    one, other = (nearest(queries.values, corpus.values, k, metric=name, places=corpus.places) for name in metrics)
    apart = np.flatnonzero((one.items != other.items).any(axis=1))
    normalised = bool(np.abs(norms_of(corpus.values) - 1.0).max(initial=0.0) < _OFF_ONE)
    example: Mapping[str, Any] | None = None
    if apart.size:
        row = int(apart[np.argmin(queries.ids.gather(apart).rank("ordinal").to_numpy())])
        place = int(np.argmax(one.items[row] != other.items[row]))
        sides = zip(metrics, (one, other), strict=True)
        example = {"query": queries.ids[row], "rank": place + 1} | {
            name: {"item": corpus.ids[int(side.items[row, place])], "score": float(side.scores[row, place])}
            for name, side in sides
        }
    return Equivalence(metrics, normalised, k, len(queries), int(apart.size), example)
