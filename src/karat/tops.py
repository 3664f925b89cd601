"""The first few of each query, in order: for people and for reports, not for scoring."""

import numpy as np
import polars as pl

from karat.types import Ints, Ranking

__all__ = ["first_items"]


def first_items(ranking: Ranking, queries: pl.Series, k: int) -> tuple[tuple[str, ...], ...]:
    """Of each of these queries the first k items, by score, then by id; none where the ranking lacks the query."""
    rows: Ints = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    frame = pl.DataFrame(
        {
            "query": ranking.queries.cast(pl.String).gather(rows),
            "item": ranking.items.cast(pl.String),
            "score": -np.arange(len(rows), dtype=np.float64) if ranking.scores is None else ranking.scores,
        }
    )
    frame = frame.filter(pl.col("query").is_in(queries.cast(pl.String).implode()))
    ordered = frame.sort("query", "score", "item", descending=[False, True, False])
    first = ordered.unique(["query", "item"], keep="first", maintain_order=True).group_by("query", maintain_order=True)
    found = {query: tuple(items) for query, items in first.agg(pl.col("item").head(k)).iter_rows()}
    return tuple(found.get(str(query), ()) for query in queries)
