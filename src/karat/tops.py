"""The first few of each query, in order: for people, for reports and for references, not for scoring."""

import numpy as np
import polars as pl

from karat.columns import ITEM, QUERY, SCORE
from karat.errors import UsageError
from karat.ordering import TieRule
from karat.types import Floats, Ints, Ranking, segments_within, sort_key

__all__ = ["first_rows", "first_scores", "known_scores"]

_KEY = "key"


def first_rows(ranking: Ranking, queries: pl.Series, k: int | None, ties: TieRule = "id") -> pl.DataFrame:
    """The first k of each of these queries as rows of query_id, item_id and score, by query; ids as strings.

    They go by score, equal scores by ``ties``. None: all.
    """
    rows: Ints = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    frame = pl.DataFrame(
        {
            QUERY: ranking.queries.cast(pl.String).gather(rows),
            ITEM: ranking.items.cast(pl.String),
            SCORE: -np.arange(len(rows), dtype=np.float64) if ranking.scores is None else ranking.scores,
        }
    )
    frame = frame.with_columns(sort_key(ranking.items).alias(_KEY))
    frame = frame.filter(pl.col(QUERY).is_in(queries.cast(pl.String).implode()))
    last = [] if ties == "order" else [_KEY]
    ordered = frame.sort(
        QUERY, SCORE, *last, descending=[False, True, ties == "id-desc"][: 2 + len(last)], maintain_order=True
    ).drop(_KEY)
    first = ordered.unique([QUERY, ITEM], keep="first", maintain_order=True)
    return first if k is None else first.group_by(QUERY, maintain_order=True).head(k)


def first_scores(ranking: Ranking, k: int) -> Floats:
    """The scores of each query's first k, queries × k; −inf where there are fewer. They come best first."""
    place = segments_within(ranking.starts)
    row: Ints = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
    kept = place < k
    found = np.full((len(ranking), k), -np.inf)
    if ranking.scores is not None:
        found[row[kept], place[kept]] = ranking.scores[kept]
    return found


def known_scores(ranking: Ranking) -> Floats:
    """Return the scores, to compare a threshold with; refuse a ranking that has only an order."""
    if ranking.scores is None or not ranking.has_scores:
        raise UsageError(
            "a threshold, but the ranking has no scores", where=ranking.source, expected="scores to hold it against"
        )
    return ranking.scores
