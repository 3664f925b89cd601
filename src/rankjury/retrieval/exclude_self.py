"""A query's own item: whether results leave it out, and the one line that says so.

A query is itself an item where the queries are the corpus. Where they are other vectors, a document that happens to
have the query's id (both numbered from 0, or both with whole-number ids) is a document like any other.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from rankjury.core.text import plural
from rankjury.core.types import Bools, Ints, Ranking, Vectors
from rankjury.io.vectors import same_file
from rankjury.retrieval.knn.select import MISSING


def excludes_self(said: bool | None, corpus: Vectors, queries: Vectors | None) -> bool:
    """Return whether each query's own item is left out of its results.

    Args:
        said: What the user or the gold says; None: decide by the files.
        corpus: The items.
        queries: The queries, where they are vectors of their own.

    Returns:
        ``said``, or whether the queries are the corpus: none are given, they are the same object, or both were read
        from the same array of the same file.
    """
    if said is not None:
        return said
    return queries is None or queries is corpus or same_file(queries.source, corpus.source)


def own_item(corpus: Vectors, asked: Vectors, *, exclude: bool) -> Ints:
    """Return the row of the corpus that is each query itself, to be left out; ``MISSING`` where there is none."""
    return corpus.rows_of(asked.ids) if exclude else np.full(len(asked), MISSING, dtype=np.int64)


def own_note(n: int, queries: int, *, exclude: bool) -> str:
    """Say of queries that are not the corpus that ``n`` of them have the id of an item, and what becomes of it."""
    has = f"{plural(n, 'query has', 'queries have')} the id of an item (of {queries:,})"
    done = "is left out of their results (--keep-self, exclude_self = false: keep it)"
    kept = "is kept in their results (--exclude-self, exclude_self = true: leave it out)"
    return f"{has}, which {done if exclude else kept}"


def own_rows(ranking: Ranking) -> Bools:
    """Return which rows of a ranking are the query itself, by its id."""
    of_row = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    return (ranking.queries.cast(pl.String).gather(of_row) == ranking.items.cast(pl.String)).to_numpy()


def without_own(ranking: Ranking) -> Ranking:
    """Every item but the one that asks; the others move up."""
    kept = ~own_rows(ranking)
    if kept.all():
        return ranking
    starts = np.concatenate(([0], np.cumsum(kept)))[ranking.starts]
    return replace(
        ranking,
        starts=starts,
        items=ranking.items.filter(pl.Series(kept)),
        scores=None if ranking.scores is None else ranking.scores[kept],
        ranks_only=not ranking.has_scores,  # before the ranks have gaps
    )
