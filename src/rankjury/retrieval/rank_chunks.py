"""Items that were cut into chunks: what is found of the chunks, as a ranking of the items.

An item scores as its best chunk does, or the mean of all its chunks. Both are exact: equal scores go by the item's id,
and no item is missed because its chunks stand far down.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from rankjury.core.convert import QUERY
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
    """The k items of each query from what was found of their chunks, best first.

    ``owners`` is the item of each chunk, ``places`` each item's place in the order of ids. A mean is of all chunks of
    an item, so that all must have been found; for the best of each it is enough that whoever was not found cannot come
    among the k.
    """
    items = _checked(how, owners)
    held = found.items != MISSING
    if how == "mean" and (found.found < owners.size).any():
        raise UsageError("the mean over chunks of which some were not found", expected="all of them")
    rows = np.nonzero(held)[0]
    of = owners[found.items[held]]
    scores = np.full((len(found.items), items), -np.inf)
    if how == "best":
        np.maximum.at(scores, (rows, of), found.scores[held])
    else:
        sums = np.bincount(rows * items + of, weights=found.scores[held], minlength=scores.size)
        scores = sums.reshape(scores.shape) / np.bincount(owners, minlength=items)
    return _best_of(scores, k, places)


def _are_settled(found: Neighbours, owners: Ints, k: int) -> Bools:
    """Of which queries the best k items are known: whoever was not found scores no more than the last that was."""
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
    """The k items most alike to each query, or all of them where there are fewer; every item has a chunk."""
    n = _checked(how, owners)
    k = min(k, n)
    if how == "mean" and metric in _LINEAR:
        similarity_of(metric, queries, chunks)  # refuses vectors that have no similarity
        middles = _middles(chunks, owners, metric)
        asked = queries.astype(np.float64)
        if metric in COSINES:
            asked /= _divisors(queries)[:, None]
        return nearest(asked, middles, k, metric="ip", places=places, progress=progress)
    deep = len(chunks) if how == "mean" or 2 * k >= n else min(len(chunks), 2 * k + 1)
    items = np.full((len(queries), k), MISSING, dtype=np.int64)
    scores = np.full((len(queries), k), -np.inf)
    for first, last in cut_rows(len(queries), max(1, _CELLS_AT_ONCE // max(1, n, deep))):
        rows, depth = np.arange(first, last), deep
        while rows.size:  # goes deeper until the items of all are settled
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
    """Vectors of chunks, and the items they are of."""

    chunks: Vectors
    owners: Ints
    """The row among the items of each chunk."""
    items: pl.Series
    """Ids."""


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

    Queries are texts of their own: ``exclude_self`` leaves the item of the query's id out, if the user says so.
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
    kept = (found.items != MISSING) & (found.items != own[:, None])
    kept &= np.cumsum(kept, axis=1) <= wanted
    starts: Ints = np.concatenate(([0], np.cumsum(kept.sum(axis=1)))).astype(np.int64)
    return Ranking(
        queries.ids.rename(QUERY), starts, corpus.items.gather(found.items[kept]), found.scores[kept],
        corpus.chunks.source, notes=(self_note(n, len(queries), exclude=exclude_self),) if n else (),
    )  # fmt: skip


def _checked(how: str, owners: Ints) -> int:
    """How many items there are, each with a chunk."""
    if how not in AGGREGATES:
        raise UnknownName("way to aggregate", how, AGGREGATES)
    counts = np.bincount(owners)
    if not counts.all():
        raise UsageError(f"item {int(np.argmin(counts))} has no chunk", expected="a chunk of each")
    return counts.size


def _middles(chunks: Matrix, owners: Ints, metric: str) -> Floats:
    """The mean of each item's chunks, or of their directions, in float64."""
    counts = np.bincount(owners)
    sums = np.zeros((counts.size, chunks.shape[1]))
    for first, last in cut_rows(len(chunks), max(1, _CELLS_AT_ONCE // max(1, chunks.shape[1]))):
        block = chunks[first:last].astype(np.float64)
        if metric in COSINES:
            block /= _divisors(chunks[first:last])[:, None]
        np.add.at(sums, owners[first:last], block)
    return np.asarray(sums / counts[:, None])


def _divisors(vectors: Matrix) -> Floats:
    """Lengths, and 1 of a zero vector, which only ``cosine-zero`` lets in."""
    norms = norms_of(vectors)
    return np.where(norms == 0, 1.0, norms)


def _best_of(scores: Floats, k: int, places: Ints | None) -> Neighbours:
    """Of each row the k highest, equal ones by place."""
    by_id = np.arange(scores.shape[1]) if places is None else np.argsort(places)
    order = by_id[np.argsort(-scores[:, by_id], axis=1, kind="stable")[:, :k]]
    best = np.take_along_axis(scores, order, axis=1)
    return Neighbours(np.where(np.isneginf(best), MISSING, order), best)
