"""Small corpora, engines that are skipped where their library is absent, and exact neighbours by plain NumPy."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pytest

from rankjury.core.params import Params
from rankjury.errors import MissingExtra, UsageError
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING

# Engines that need something besides a library are tested on their own.
ELSEWHERE = {"pgvector", "endpoint"}
SETTINGS: Mapping[str, Params] = {"qdrant": {"url": ":memory:"}}
WHEELS = {
    "usearch": "usearch",
    "hnswlib": "hnswlib",
    "lancedb": "lancedb",
    "sqlite-vec": "sqlite-vec",
    "qdrant": "qdrant-client",
}
# With these an engine looks at (nearly) everything it holds.
THOROUGH: Mapping[str, tuple[Params, Params]] = {
    "exact": ({}, {}),
    "faiss-flat": ({}, {}),
    "faiss-ivf": ({}, {"nprobe": 500}),
    "faiss-hnsw": ({}, {"ef_search": 500}),
    "faiss-ivfpq": ({"m": 16, "bits": 6}, {"nprobe": 500}),
    "usearch": ({}, {"expansion_search": 500}),
    "hnswlib": ({}, {"ef_search": 500}),
    "lancedb": ({}, {"ef": 500, "refine_factor": 4}),
    "sqlite-vec": ({}, {}),
    "qdrant": ({}, {"hnsw_ef": 500}),
}
NAMES = list(THOROUGH)


def engine_of(name: str, metric: str = "cosine", settings: Params | None = None) -> Engine:
    """A new engine; the test is skipped where its library is absent."""
    try:
        return ENGINES.get(name)(metric, SETTINGS.get(name) if settings is None else settings)
    except MissingExtra:
        pytest.skip(f"the wheel {WHEELS[name]} is not installed")
    except UsageError as error:
        if "loads no extensions" in str(error):
            pytest.skip("sqlite3 loads no extensions here, and the wheel pysqlite3 is not installed")
        raise


def vectors_of(count: int, dimensions: int = 16, seed: int = 0) -> Any:
    """Numbers that 16 bits hold as they are, of different lengths."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, dimensions)).astype(np.float16).astype(np.float32)


def ids_of(count: int) -> pl.Series:
    return pl.Series("id", [f"item {number}" for number in range(count)])


def built(name: str, vectors: Any, metric: str = "cosine", params: Params | None = None, **more: Any) -> Engine:
    engine = engine_of(name, metric)
    engine.build(vectors, ids_of(len(vectors)), THOROUGH[name][0] if params is None else params, **more)
    return engine


def scores_by_numpy(queries: Any, items: Any, metric: str) -> Any:
    left, right = np.asarray(queries, np.float64), np.asarray(items, np.float64)
    if metric == "l2":
        return -np.sqrt(((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2))
    if metric.startswith("cosine"):
        left = left / np.sqrt((left**2).sum(axis=1))[:, None]
        right = right / np.sqrt((right**2).sum(axis=1))[:, None]
    return left @ right.T


def recall_by_numpy(found: Neighbours, scores: Any, k: int) -> float:
    """The share of the k highest scores that was found; an equal one counts."""
    shares = []
    for row, wanted in zip(found.items, scores, strict=True):
        possible = min(k, int(np.isfinite(wanted).sum()))
        lowest = np.sort(wanted)[::-1][possible - 1]
        shares.append(sum(wanted[item] >= lowest - 1e-6 for item in row[row != MISSING]) / possible)
    return float(np.mean(shares))


def same(one: Neighbours, other: Neighbours) -> bool:
    """The same rows; scores may differ in their last digits, as sums may go in another order."""
    width = min(one.items.shape[1], other.items.shape[1])
    beyond = (one.items[:, width:] == MISSING).all() and (other.items[:, width:] == MISSING).all()
    rows = np.array_equal(one.items[:, :width], other.items[:, :width])
    return bool(beyond and rows and np.allclose(one.scores[:, :width], other.scores[:, :width], atol=1e-5))


_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def adopting() -> Iterator[None]:
    """Become the parent of processes whose parent is killed, so that waiting for them also removes them.

    The first process of a container may need seconds to do so, and until then they count as running.
    """

    def adopt(orphans: int) -> None:
        if sys.platform == "linux":
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, orphans, 0, 0, 0)

    adopt(1)
    try:
        yield
    finally:
        adopt(0)


KINDS = pl.DataFrame(
    {
        "it's a kind": ["shoe", "it's", None, "shoe", "bag"] * 60,
        "size": [1, 2, 3] * 100,
    }
)
SHOES = Filter("it's a kind", "shoe")
