"""Exact nearest neighbours on Spark: queries are partitioned, the corpus is broadcast tile by tile.

The score of a pair depends on its two vectors only, and ties are ordered by id. So merging the k best of every tile
gives the k best of all, to the last digit, independent of tiles and executors.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, Ints, Matrix, cut_rows
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.scale.spark.jobs import watch_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TILE_BYTES = 1 << 28
"""Bytes of the corpus at once: every task's process has a copy."""
_BYTES_AT_ONCE = 1 << 28
"""Bytes of queries, and of their results, in one job."""
_PART_BYTES = 1 << 24
"""Bytes of queries in one task."""
_PAIR_BYTES = 16
_MIN_QUERIES, _MAX_QUERIES = 64, 4096
_PARTS_A_CORE = 4
"""Several per core, so that one slow task does not delay the others."""

TileResult = tuple[Ints, Floats]


@dataclass(frozen=True, eq=False)
class _CorpusTile:
    """Items from ``first`` on, and their positions in the order of ids."""

    first: int
    items: Matrix
    places: Ints


def nearest_on_spark(
    spark: "SparkSession",
    queries: Matrix,
    items: Matrix,
    k: int,
    *,
    metric: str = "cosine",
    places: Ints | None = None,
    own: Ints | None = None,
    tile_bytes: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> Neighbours:
    """Return the result of ``rankjury.retrieval.knn.search.nearest``, computed by Spark's executors."""
    k = min(k, len(items))
    if not len(queries) or not k:
        return nearest(queries, items, k, metric=metric)
    places = np.arange(len(items)) if places is None else places
    own = np.full(len(queries), MISSING, dtype=np.int64) if own is None else own
    tiles = cut_rows(len(items), max(1, (tile_bytes or TILE_BYTES) // _row_bytes(items)))
    jobs = [
        [(np.ascontiguousarray(queries[first:last]), own[first:last]) for first, last in ranges]
        for ranges in _plan_jobs(queries, k, spark.sparkContext.defaultParallelism)
    ]
    tasks = sum(map(len, jobs))  # of each tile
    best: TileResult = np.empty((len(queries), 0), dtype=np.int64), np.empty((len(queries), 0))
    for number, (low, high) in enumerate(tiles):
        tile = _CorpusTile(low, np.ascontiguousarray(items[low:high]), places[low:high])
        with watch_jobs(spark, "Searching", progress.part(number * tasks, len(tiles) * tasks)) as watch:
            search = partial(_search_part, watch.broadcast(tile), k=k, metric=metric)
            results = [result for parts in jobs for result in watch.map_values(parts, search)]
        items_of_tile, scores_of_tile = (np.concatenate(side) for side in zip(*results, strict=True))
        best = _merge_best(best, (items_of_tile, scores_of_tile), k, places)
    return Neighbours(*best)


def _search_part(tile: Any, part: tuple[Matrix, Ints], k: int, metric: str) -> TileResult:
    """Return the nearest items of some queries within a broadcast tile; each query has its excluded item."""
    queries, own = part
    first, items = tile.value.first, tile.value.items
    within = (own >= first) & (own < first + len(items))
    found = nearest(
        queries, items, k, metric=metric, places=tile.value.places, own=np.where(within, own - first, MISSING)
    )
    return np.where(found.items == MISSING, MISSING, found.items + first), found.scores


def _plan_jobs(queries: Matrix, k: int, cores: int) -> list[list[tuple[int, int]]]:
    """Return the ranges of queries of each job, one per task, so that no job needs too much memory."""
    fitting = min(_MAX_QUERIES, _PART_BYTES // _row_bytes(queries))
    size = max(1, min(fitting, max(_MIN_QUERIES, -(-len(queries) // (_PARTS_A_CORE * cores)))))
    ranges = cut_rows(len(queries), size)
    of_a_job = max(cores, _BYTES_AT_ONCE // (size * max(_row_bytes(queries), _PAIR_BYTES * k)))
    return [ranges[first:last] for first, last in cut_rows(len(ranges), of_a_job)]


def _row_bytes(vectors: Matrix) -> int:
    return int(max(1, vectors.shape[1] * vectors.dtype.itemsize))


def _merge_best(first: TileResult, second: TileResult, k: int, places: Ints) -> TileResult:
    """Return the k best of the results from two tiles: by score, then by id."""
    items, scores = (np.concatenate(both, axis=1) for both in zip(first, second, strict=True))
    by_id = np.argsort(places[items], axis=1)
    items, scores = (np.take_along_axis(both, by_id, axis=1) for both in (items, scores))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(items, order, axis=1), np.take_along_axis(scores, order, axis=1)
