"""Result of an index: parameters, ANN recall, latency, filters, and the loss by embedding and by index.

An item counts as found if it is as near as the k-th exact neighbour, whichever of several equally near items that is. A
duplicate counts once. The number found is divided by k, or by the number of items if there are fewer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankjury.core.text import plural
from rankjury.core.types import Floats, Matrix
from rankjury.core.validation import Record
from rankjury.evaluation.scores import RecordedValue
from rankjury.evaluation.sections import Section
from rankjury.retrieval.bench.latency import Latency
from rankjury.retrieval.knn.search import Neighbours, score_neighbours
from rankjury.retrieval.knn.select import MISSING, repeated
from rankjury.stats.estimates import estimate_all
from rankjury.stats.formatting import format_interval, format_value, interval_decimals
from rankjury.stats.resampling import Bounds, Resampling, query_keys

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report


@dataclass(frozen=True, eq=False)
class AnnRecall(Record):
    """Recall at k against exact search, over all queries and query by query."""

    unwritten = ("values",)

    k: int
    mean: float
    ci: Bounds | None
    p5: float
    """The 5th percentile over queries: the mean hides a few that find nothing."""
    n: int
    """Queries with at least one item to find."""
    values: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    """By query; NaN if there was nothing to find, 0 if the search failed."""


def estimate_recall(values: Floats, k: int, queries: pl.Series, resampling: Resampling | None) -> AnnRecall:
    """Return the mean recall over queries with a bootstrap interval."""
    keys = query_keys(queries, resampling.seed) if resampling else None
    (estimate,) = estimate_all(values[:, None], ["mean"], keys, resampling)
    known = values[~np.isnan(values)]
    low = float(np.percentile(known, 5.0)) if known.size else float("nan")
    return AnnRecall(k, estimate.mean, estimate.ci, low, known.size, values)


def recall_by_query(
    found: Neighbours, truth: Neighbours, k: int, queries: Matrix, items: Matrix, *, metric: str = "cosine"
) -> Floats:
    """Return for each query the share of its exact k nearest that was found; ``truth`` has k columns or all items."""
    available = np.minimum(k, truth.found)
    returned = np.array(found.items[:, :k])
    returned[repeated(returned)] = MISSING
    scores = score_neighbours(queries, items, returned, metric=metric)
    last = truth.scores[np.arange(len(returned)), np.maximum(available - 1, 0)]
    hits = ((returned != MISSING) & (scores >= last[:, None])).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(available > 0, np.minimum(hits, available) / available, np.nan), dtype=np.float64)


CLOCKS = ("latency", "end_to_end", "open_loop")
"""Prefixes of the names of latency values."""


def index_value_names(k: int) -> list[str]:
    """Return the names of index values that targets may use."""
    times = (f"{clock}_{time}" for clock in CLOCKS for time in ("p50_ms", "p95_ms", "p99_ms", "max_ms", "qps"))
    others = ("build_seconds", "index_mb", "failed_queries")
    return [f"ann_recall@{k}", f"ann_recall_p5@{k}", *times, *others, *drift_value_names(k)]


def drift_value_names(k: int) -> list[str]:
    """Return the names of values that compare with an earlier report."""
    return ["drift", "drift_top1", f"drift_top{k}", "drift_norm", "churn", "churn_overlap", "churn_rbo"]


@dataclass(frozen=True)
class LossMean(Record):
    """A mean and its interval; NaN if no query is defined."""

    omitted = ("n",)

    mean: float
    ci: Bounds | None = None
    n: int | None = None
    """Over how many queries it is, where that is known."""


@dataclass(frozen=True)
class IndexLoss(Record):
    """Loss from the ideal ranking to the index's ranking, split by cause."""

    computed = ("ideal", "embedding_loss")
    ideal: ClassVar[float] = 1.0

    measure: str
    exact: LossMean
    """With exact search over the same vectors."""
    index: LossMean
    index_loss: LossMean
    """Exact less index."""

    @property
    def embedding_loss(self) -> float:
        """Ideal less exact."""
        return self.ideal - self.exact.mean


@dataclass(frozen=True)
class FilterResult(Record):
    """Queries with one filter: items that pass, recall and latency."""

    filter: str
    selectivity: float
    """The share of the items that pass."""
    items: int
    queries: int
    recall: float
    p95_ms: float


@dataclass(frozen=True)
class MetricEquivalence(Record):
    """Whether two similarities rank the neighbours of all queries alike, and the first counter-example."""

    computed = ("identical",)
    json_keys = MappingProxyType({"example": "first_counter_example"})

    metrics: tuple[str, str]
    normalised: bool
    k: int
    queries: int
    differing: int
    example: Mapping[str, Any] | None = None

    @property
    def identical(self) -> bool:
        """Whether no query is ordered differently."""
        return self.differing == 0


@dataclass(frozen=True)
class IndexLatency(Record):
    """Latency of an index in each loop."""

    index_only: Latency | None
    """The search alone; None if it cannot be separated from the request."""
    end_to_end: Latency
    includes: tuple[str, ...]
    """Steps included in the end-to-end time."""
    closed: tuple[Latency, ...] = ()
    """Closed loops, by number of concurrent callers."""
    open: Latency | None = None
    """Open loop: queries arrive at a fixed rate."""


@dataclass(frozen=True, eq=False)
class IndexResult(Section):
    """Report section of one index."""

    name = "index"

    engine: str
    metric: str
    build: Mapping[str, Any]
    search: Mapping[str, Any]
    settings: Mapping[str, Any]
    items: int
    dimensions: int
    build_seconds: float
    size_bytes: int | None
    recall: AnnRecall
    own_exact: AnnRecall | None
    """Of the engine's own exact mode."""
    failed: int
    """Queries without an answer."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that were chosen; all others have their defaults."""
    latency: IndexLatency | None = None
    loss: IndexLoss | None = None
    filters: tuple[FilterResult, ...] = ()
    equivalence: MetricEquivalence | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    vectors: Mapping[str, Any] = field(default_factory=dict)
    """Preparation of the vectors: normalised, truncated, quantised; and whether queries are filtered."""

    def configuration(self) -> dict[str, Mapping[str, Any]]:
        """Return what the index is and how it was made; of its facts, those that identify the library."""
        identifying = ("library", "version", "postgresql", "pgvector")
        return {
            "index": {"engine": self.engine, "metric": self.metric},
            "settings": self.settings,
            "build": self.build,
            "search": self.search,
            "vectors": self.vectors,
            "facts": {name: self.facts[name] for name in identifying if name in self.facts},
        }

    def summary(self, report: "Report", system: str | None) -> Iterator[str]:
        """Yield what the index finds of the exact neighbours, how fast, and whether the ranking loses by it."""
        others = [name for name, index in report.sections_of(IndexResult).items() if index.engine != "exact"]
        if others and self.engine == "exact":  # exact search is what the indexes are compared with
            return
        recall, parts = self.recall, list[str]()
        if not recall.n:
            parts.append("has no exact neighbours to find")
        else:
            ci = f" {format_interval(recall.ci)}" if recall.ci is not None else ""
            mean = format_value(recall.mean, interval_decimals(recall.ci))
            parts.append(f"finds {mean}{ci} of the exact {recall.k} nearest neighbours")
        timed = None if self.latency is None else self.latency.index_only or self.latency.end_to_end
        if timed is not None and not isnan(timed.p95.ms):
            parts.append(f"p95 {timed.p95.ms:.3g} ms")
        if self.failed:
            parts.append(f"{plural(self.failed, 'query', 'queries')} failed")
        lost = None if self.loss is None else self.loss.index_loss
        if self.loss is not None and lost is not None and not isnan(lost.mean):
            if lost.ci is not None and lost.ci[0] > 0:
                parts.append(f"{self.loss.measure} loses {format_value(lost.mean, interval_decimals(lost.ci))} by it")
            elif lost.ci is not None:
                parts.append(f"no loss of {self.loss.measure} is shown")
        engine = f" ({self.engine})" if self.engine not in str(system) else ""
        yield f"{system}{engine} {', '.join(parts)}."

    def figures(self) -> dict[str, RecordedValue]:
        """Return the values that targets may use."""
        recall = self.recall
        values = {
            "build_seconds": RecordedValue(self.build_seconds),
            "failed_queries": RecordedValue(float(self.failed)),
        }
        if recall.n:
            values[f"ann_recall@{recall.k}"] = RecordedValue(recall.mean, recall.ci, recall.n)
            values[f"ann_recall_p5@{recall.k}"] = RecordedValue(recall.p5)
        if self.size_bytes is not None:
            values["index_mb"] = RecordedValue(self.size_bytes / 1e6)
        if self.latency is not None:
            # The search time of a service cannot be separated from the request.
            values |= _latencies("latency", self.latency.index_only or self.latency.end_to_end)
            values |= _latencies("end_to_end", self.latency.end_to_end)
            if self.latency.open is not None:
                values |= _latencies("open_loop", self.latency.open)
        return values


def _latencies(prefix: str, latency: Latency) -> dict[str, RecordedValue]:
    values = {
        f"{prefix}_{name}_ms": RecordedValue(percentile.ms, percentile.ci, latency.n)
        for name, percentile in latency.percentiles.items()
    }
    values |= {f"{prefix}_max_ms": RecordedValue(latency.max_ms), f"{prefix}_qps": RecordedValue(latency.qps)}
    return {name: recorded for name, recorded in values.items() if not isnan(recorded.value)}
