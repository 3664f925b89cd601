"""What was found of an index: how it was made, what it misses, how long it takes, and whose fault a loss is.

An item counts as found where it is as near as the k-th of the exact neighbours, whichever of several equally near ones
that is; one that comes back twice counts once. What was found is divided by k, or by how many there are where these are
fewer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
import polars as pl

from karat.neighbours import NOBODY, Neighbours, score_listed
from karat.results import Recorded
from karat.sections import Section
from karat.statistics.estimates import Estimate, estimate_all
from karat.statistics.intervals import Bounds, Resampling
from karat.statistics.streams import keys_of
from karat.timing.summary import Latency
from karat.types import Bools, Floats, Ints, Matrix

__all__ = [
    "CLOCKS",
    "LOW_PERCENTILE",
    "AnnRecall",
    "Equivalence",
    "Filtered",
    "Indexed",
    "Loss",
    "Timings",
    "drifting",
    "figure_names",
    "recall_of",
    "share_found",
]

LOW_PERCENTILE = 5.0


@dataclass(frozen=True, eq=False)
class AnnRecall:
    """Recall at k against exact search, query by query and over all."""

    k: int
    values: Floats
    """By query; NaN where there was nothing to find, 0 where the search failed to answer."""
    mean: float
    ci: Bounds | None
    low: float
    """The 5th percentile over queries: the mean hides a few that find nothing."""

    @property
    def n(self) -> int:
        return int((~np.isnan(self.values)).sum())

    def to_json(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "mean": None if isnan(self.mean) else self.mean,
            "ci": None if self.ci is None else list(self.ci),
            "p5": None if isnan(self.low) else self.low,
            "n": self.n,
        }


def recall_of(values: Floats, k: int, queries: pl.Series, how: Resampling | None) -> AnnRecall:
    """Over all queries, with an interval from resampling them."""
    keys = keys_of(queries, how.seed) if how else None
    (estimate,) = estimate_all(values[:, None], ["mean"], keys, how)
    known = values[~np.isnan(values)]
    low = float(np.percentile(known, LOW_PERCENTILE)) if known.size else float("nan")
    return AnnRecall(k, values, estimate.mean, estimate.ci, low)


def share_found(
    found: Neighbours, truth: Neighbours, k: int, queries: Matrix, items: Matrix, *, metric: str = "cosine"
) -> Floats:
    """Of each query, the share of its exact k nearest that was found; ``truth`` has k columns or all items."""
    available = np.minimum(k, truth.found)
    returned = np.array(found.items[:, :k])
    returned[_repeated(returned)] = NOBODY
    held = returned != NOBODY
    rows: Ints = np.broadcast_to(np.arange(len(returned))[:, None], returned.shape)
    scores = np.full(returned.shape, -np.inf)
    scores[held] = score_listed(queries, items, rows[held], returned[held], metric=metric)
    last = truth.scores[np.arange(len(returned)), np.maximum(available - 1, 0)]
    hits = (held & (scores >= last[:, None])).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(available > 0, np.minimum(hits, available) / available, np.nan), dtype=np.float64)


def _repeated(items: Ints) -> Bools:
    """Which of a row's items stood there before."""
    order = np.argsort(items, axis=1, kind="stable")
    ordered = np.take_along_axis(items, order, axis=1)
    again = np.zeros(items.shape, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    found = np.empty_like(again)
    np.put_along_axis(found, order, again, axis=1)
    return found


CLOCKS = ("latency", "end_to_end", "open_loop")
"""How the names of times begin."""
_TIMES = ("p50_ms", "p95_ms", "p99_ms", "max_ms", "qps")


def figure_names(k: int) -> list[str]:
    """What targets may be about, beside measures."""
    times = [f"{clock}_{time}" for clock in CLOCKS for time in _TIMES]
    return [
        f"ann_recall@{k}",
        f"ann_recall_p5@{k}",
        *times,
        "build_seconds",
        "index_mb",
        "failed_queries",
        *drifting(k),
    ]


def drifting(k: int) -> list[str]:
    """Those of them that are about an earlier report."""
    return ["drift", "drift_top1", f"drift_top{k}", "drift_norm", "churn", "churn_overlap", "churn_rbo"]


@dataclass(frozen=True)
class Loss:
    """What is lost on the way from the best order there is to what the index brings."""

    measure: str
    exact: Estimate
    """With exact search over the same vectors."""
    index: Estimate
    difference: float
    """Index less exact: what the index loses."""
    difference_ci: Bounds | None

    def to_json(self) -> dict[str, Any]:
        def brief(one: Estimate) -> dict[str, Any]:
            return {"mean": one.mean if one.n else None, "ci": None if one.ci is None else list(one.ci)}

        return {
            "measure": self.measure,
            "ideal": 1.0,
            "exact": brief(self.exact),
            "index": brief(self.index),
            "embedding_loss": 1.0 - self.exact.mean if self.exact.n else None,
            "index_loss": {
                "mean": 0.0 - self.difference if self.index.n else None,
                "ci": None if self.difference_ci is None else [0.0 - end for end in reversed(self.difference_ci)],
            },
        }


@dataclass(frozen=True)
class Filtered:
    """The queries that ask under one filter: how many items pass, what is found of them, and how fast."""

    filter: str
    selectivity: float
    """The share of the items that pass."""
    items: int
    queries: int
    recall: float
    p95_ms: float

    def to_json(self) -> dict[str, Any]:
        """What is not known is null."""
        known = {"recall": self.recall, "p95_ms": self.p95_ms}
        return vars(self) | {name: None if isnan(value) else value for name, value in known.items()}


@dataclass(frozen=True)
class Equivalence:
    """Whether two similarities order the neighbours of all queries alike, and the first query where they do not."""

    metrics: tuple[str, str]
    normalised: bool
    k: int
    queries: int
    differing: int
    example: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "metrics": list(self.metrics),
            "normalised": self.normalised,
            "k": self.k,
            "queries": self.queries,
            "differing": self.differing,
            "identical": self.differing == 0,
            "first_counter_example": None if self.example is None else dict(self.example),
        }


@dataclass(frozen=True)
class Timings:
    """How long queries take."""

    index_only: Latency | None
    """The search alone; None where it cannot be told from the rest."""
    end_to_end: Latency
    includes: tuple[str, ...]
    """What end to end holds."""
    closed: tuple[Latency, ...] = ()
    """By number of callers that each wait for their answer."""
    open: Latency | None = None
    """With queries that come at their own times."""

    def to_json(self) -> dict[str, Any]:
        return {
            "index_only": None if self.index_only is None else self.index_only.to_json(),
            "end_to_end": self.end_to_end.to_json() | {"includes": list(self.includes)},
            "closed": [one.to_json() for one in self.closed],
            "open": None if self.open is None else self.open.to_json(),
        }


@dataclass(frozen=True, eq=False)
class Indexed(Section):
    """One index of a report."""

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
    """Queries that brought no answer."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that were chosen; all others are as usual."""
    latency: Timings | None = None
    loss: Loss | None = None
    filters: tuple[Filtered, ...] = ()
    equivalence: Equivalence | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    vectors: Mapping[str, Any] = field(default_factory=dict)
    """What was done to the vectors before: normalised, truncated, quantised; and whether queries are filtered."""

    def to_json(self) -> dict[str, Any]:
        own = None if self.own_exact is None else self.own_exact.to_json()
        return {
            "engine": self.engine,
            "metric": self.metric,
            "settings": dict(self.settings),
            "build": dict(self.build),
            "search": dict(self.search),
            "vectors": dict(self.vectors),
            "facts": dict(self.facts),
            "items": self.items,
            "dimensions": self.dimensions,
            "build_seconds": self.build_seconds,
            "size_bytes": self.size_bytes,
            "failed": self.failed,
            "recall": self.recall.to_json() | {"own_exact": own},
            "loss": None if self.loss is None else self.loss.to_json(),
            "latency": None if self.latency is None else self.latency.to_json(),
            "filters": [one.to_json() for one in self.filters],
            "equivalence": None if self.equivalence is None else self.equivalence.to_json(),
        }

    def figures(self) -> dict[str, Recorded]:
        """What targets may be about."""
        recall = self.recall
        found = {"build_seconds": Recorded(self.build_seconds), "failed_queries": Recorded(float(self.failed))}
        if recall.n:
            found[f"ann_recall@{recall.k}"] = Recorded(recall.mean, recall.ci, recall.n)
            found[f"ann_recall_p5@{recall.k}"] = Recorded(recall.low)
        if self.size_bytes is not None:
            found["index_mb"] = Recorded(self.size_bytes / 1e6)
        if self.latency is not None:
            # Of a service the search alone cannot be told from the rest.
            found |= _latencies("latency", self.latency.index_only or self.latency.end_to_end)
            found |= _latencies("end_to_end", self.latency.end_to_end)
            if self.latency.open is not None:
                found |= _latencies("open_loop", self.latency.open)
        return found


def _latencies(prefix: str, latency: Latency) -> dict[str, Recorded]:
    found = {
        f"{prefix}_{name}_ms": Recorded(one.seconds * 1e3, (one.low * 1e3, one.high * 1e3), latency.n)
        for name, one in latency.percentiles.items()
    }
    found |= {f"{prefix}_max_ms": Recorded(latency.longest * 1e3), f"{prefix}_qps": Recorded(latency.qps)}
    return {name: one for name, one in found.items() if not isnan(one.value)}
