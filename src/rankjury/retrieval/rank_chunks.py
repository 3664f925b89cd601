"""Rankings of items split into chunks, from searches among the chunks.

An item has the score of its best chunk, or the mean of all its chunks. Both are exact: ties are ordered by the item's
id, and no item is missed because its chunks have low ranks.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankjury.core.columns import QUERY
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Bools, Floats, Ints, Matrix, Ranking, Vectors, cut_rows, places_in
from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import COSINES, norms_of, similarity_of
from rankjury.retrieval.rank import check_comparable, self_note

AGGREGATES = ("best", "mean")
_CELLS_AT_ONCE = 1 << 20
_LINEAR = (*COSINES, "ip")
"""The mean over chunks of these similarities is the similarity to a mean vector."""


def aggregate(found: Neighbours, owners: Ints, *, k: int, how: str = "best", places: Ints | None = None) -> Neighbours:
    """Return the k items of each query from the search results of their chunks, best first.

    ``owners`` is the item of each chunk, ``places`` each item's position in the order of ids. A mean is over all chunks
    of an item, so all must have been found; for the best, it is enough that missing chunks cannot be among the k.

    """
    items = _count_items(how, owners)
    present = found.items != MISSING
    if how == "mean" and (found.found < owners.size).any():
        raise UsageError("the mean needs all chunks, but some were not found", expected="all of them")
    rows = np.nonzero(present)[0]
    columns = owners[found.items[present]]
    scores = np.full((len(found.items), items), -np.inf)
    if how == "best":
        np.maximum.at(scores, (rows, columns), found.scores[present])
    else:
        sums = np.bincount(rows * items + columns, weights=found.scores[present], minlength=scores.size)
        scores = sums.reshape(scores.shape) / np.bincount(owners, minlength=items)
    by_id = np.arange(items) if places is None else np.argsort(places)
    order = by_id[np.argsort(-scores[:, by_id], axis=1, kind="stable")[:, :k]]
    best = np.take_along_axis(scores, order, axis=1)
    return Neighbours(np.where(np.isneginf(best), MISSING, order), best)


def _are_settled(found: Neighbours, owners: Ints, k: int) -> Bools:
    """Return for which queries the best k items are certain: others score at most as high as the last found chunk."""
    if found.items.shape[1] >= owners.size:
        return np.ones(len(found.items), dtype=np.bool_)
    above = found.scores > found.scores[:, -1:]
    items = np.where(above, owners[found.items], -1)
    items.sort(axis=1)
    distinct = (np.diff(items, axis=1, prepend=-1) != 0).sum(axis=1)
    return np.asarray(distinct >= k)


def nearest_items(
    queries: Matrix,
    chunks: Matrix,
    owners: Ints,
    k: int,
    *,
    how: str = "best",
    metric: str = "cosine",
    places: Ints | None = None,
    progress: Progress = NO_PROGRESS,
) -> Neighbours:
    """Return the k items most similar to each query, or all if there are fewer; every item has a chunk."""
    n = _count_items(how, owners)
    k = min(k, n)
    if how == "mean" and metric in _LINEAR:
        similarity_of(metric, queries, chunks)  # refuses vectors that have no similarity
        directions = metric in COSINES
        sums = np.zeros((n, chunks.shape[1]))
        for first, last in cut_rows(len(chunks), max(1, _CELLS_AT_ONCE // max(1, chunks.shape[1]))):
            np.add.at(sums, owners[first:last], _to_float64(chunks[first:last], directions))
        means = np.asarray(sums / np.bincount(owners)[:, None])
        return nearest(_to_float64(queries, directions), means, k, metric="ip", places=places, progress=progress)
    deep = len(chunks) if how == "mean" or 2 * k >= n else min(len(chunks), 2 * k + 1)
    items = np.full((len(queries), k), MISSING, dtype=np.int64)
    scores = np.full((len(queries), k), -np.inf)
    for first, last in cut_rows(len(queries), max(1, _CELLS_AT_ONCE // max(1, n, deep))):
        rows, depth = np.arange(first, last), deep
        while rows.size:  # search deeper until the items of all queries are settled
            found = nearest(queries[rows], chunks, depth, metric=metric)
            done = _are_settled(found, owners, k)
            settled = Neighbours(found.items[done], found.scores[done])
            best = aggregate(settled, owners, k=k, how=how, places=places)
            items[rows[done]], scores[rows[done]] = best.items, best.scores
            rows = rows[~done]
            depth = min(len(chunks), 4 * depth)
        progress.update("Searching", last, len(queries))
    return Neighbours(items, scores)


@dataclass(frozen=True, eq=False)
class Chunked:
    """Vectors of chunks, and the items that they belong to."""

    chunks: Vectors
    owners: Ints
    """Row of the item of each chunk."""
    items: pl.Series


def rank_chunks(
    corpus: Chunked,
    queries: Vectors,
    *,
    k: int | None = None,
    how: str = "best",
    metric: str = "cosine",
    exclude_self: bool = False,
    progress: Progress = NO_PROGRESS,
) -> Ranking:
    """Rank the items for each query; ``k`` is how many to find; None: all.

    Queries are separate texts: ``exclude_self`` excludes the item with the query's id, if the user says so.
    """
    check_comparable(queries, corpus.chunks, metric)
    same = places_in(corpus.items, queries.ids)
    own = same if exclude_self else np.full(len(queries), MISSING, dtype=np.int64)
    n = int((same != MISSING).sum())
    wanted = len(corpus.items) if k is None else k
    deep = wanted + int((own != MISSING).any())
    found = nearest_items(
        queries.values, corpus.chunks.values, corpus.owners, deep, how=how, metric=metric,
        places=corpus.items.rank("ordinal").cast(pl.Int64).to_numpy() - 1, progress=progress,
    )  # fmt: skip
    chosen = (found.items != MISSING) & (found.items != own[:, None])
    chosen &= np.cumsum(chosen, axis=1) <= wanted
    starts: Ints = np.concatenate(([0], np.cumsum(chosen.sum(axis=1)))).astype(np.int64)
    return Ranking(
        queries.ids.rename(QUERY), starts, corpus.items.gather(found.items[chosen]), found.scores[chosen],
        corpus.chunks.source, notes=(self_note(n, len(queries), exclude=exclude_self),) if n else (),
    )  # fmt: skip


def _count_items(how: str, owners: Ints) -> int:
    if how not in AGGREGATES:
        raise UnknownName("way to aggregate", how, AGGREGATES)
    counts = np.bincount(owners)
    if not counts.all():
        raise UsageError(f"item {int(np.argmin(counts))} has no chunk", expected="a chunk of each")
    return counts.size


def _to_float64(vectors: Matrix, directions: bool) -> Floats:
    """Return a copy; ``directions``: of length one, except zero vectors, which only ``cosine-zero`` accepts."""
    copied = vectors.astype(np.float64)
    if directions:
        norms = norms_of(vectors)
        copied /= np.where(norms == 0, 1.0, norms)[:, None]
    return copied
