"""Answers: of every query what should have come back and what each system gave, for people to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import nan
from typing import NamedTuple

import numpy as np
import polars as pl

from rankjury.core.columns import GRADE, ITEM, QUERY, RANK, SCORE
from rankjury.core.types import Bools, Floats, Gold, Ints, Ranking, freeze, places_in, segments_within, sort_key
from rankjury.errors import UsageError
from rankjury.evaluation.sections import ScoreHistogram
from rankjury.measures.judged import TieRule

_KEY = "key"


def top_rows(ranking: Ranking, queries: pl.Series, k: int | None, ties: TieRule = "id") -> pl.DataFrame:
    """Return the first k of each of these queries as rows of query_id, item_id and score, by query; ids as strings.

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


def top_scores(ranking: Ranking, k: int) -> Floats:
    """Return the scores of each query's first k, queries × k; −inf where there are fewer. They come best first."""
    scores = np.full((len(ranking), k), -np.inf)
    if ranking.scores is not None:
        place = segments_within(ranking.starts)
        row: Ints = np.repeat(np.arange(len(ranking)), np.diff(ranking.starts))
        top = place < k
        scores[row[top], place[top]] = ranking.scores[top]
    return scores


def require_scores(ranking: Ranking) -> Floats:
    """Return the scores, to compare a threshold with; refuse a ranking that has only an order."""
    if ranking.scores is None or not ranking.has_scores:
        raise UsageError(
            "a threshold, but the ranking has no scores", where=ranking.source, expected="scores to compare it with"
        )
    return ranking.scores


GOLD_SHOWN = 20
"""How many judged items of a query are kept, where more are not asked for."""
_BINS = 30
SYSTEM, IN_ALL, WHICH = "system", "of", "gold"


class ListedItem(NamedTuple):
    """An item in a list; NaN where it has no score or no grade."""

    rank: int
    item: str
    score: float
    grade: float


@dataclass(frozen=True, eq=False)
class ItemLists:
    """Some items of every query, in order (CSR: those of the i-th query are ``starts[i]:starts[i + 1]``).

    Of a ranking the first few, and, with their ranks, judged ones that stand further down.
    """

    starts: Ints
    items: pl.Series
    grades: Floats
    """NaN where an item is not judged."""
    scores: Floats | None
    """None where only an order is known, and of a gold."""
    total: Ints
    """By query, how many there are in all."""
    ranks: Ints
    """From 1."""
    fallback: Bools | None = None
    """Which queries were answered by a fallback, whose scores are on a scale of their own."""

    def __post_init__(self) -> None:
        freeze(self)

    def of(self, row: int) -> list[ListedItem]:
        """Return the items of one query."""
        first, last = int(self.starts[row]), int(self.starts[row + 1])
        scores = [nan] * (last - first) if self.scores is None else self.scores[first:last].tolist()
        ranks, grades = self.ranks[first:last].tolist(), self.grades[first:last].tolist()
        return list(map(ListedItem, ranks, self.items[first:last], scores, grades))

    @cached_property
    def first(self) -> Bools:
        """Which are the first of their query, without a gap above them."""
        return np.asarray(self.ranks == segments_within(self.starts) + 1)

    def histogram(self, bins: int = _BINS) -> ScoreHistogram | None:
        """Count the system's own scores by bins, without those of a fallback; None where none is known."""
        if self.scores is None:
            return None
        counted = self.first & np.isfinite(self.scores)
        if self.fallback is not None:
            counted &= ~np.repeat(self.fallback, np.diff(self.starts))
        known = self.scores[counted]
        if not len(known):
            return None
        low, high = float(known.min()), float(known.max())
        apart = (high - low) / bins > np.spacing(max(abs(low), abs(high)))  # else bins would have no width
        counts, edges = np.histogram(known, bins=bins if apart else 1, range=(low, high))
        left_out = None if self.fallback is None else int(self.fallback.sum())
        return ScoreHistogram(tuple(edges.tolist()), tuple(counts.tolist()), left_out)

    def tuples(self, depth: int | None = None) -> tuple[tuple[str, ...], ...]:
        """Return the first items alone, query by query; at most ``depth`` of them."""
        top = self.first if depth is None else self.first & (self.ranks <= depth)
        items = self.items.filter(top).to_list()
        starts = np.concatenate(([0], np.cumsum(top)))[self.starts].tolist()
        return tuple(tuple(items[first:last]) for first, last in pairwise(starts))


@dataclass(frozen=True, eq=False)
class Answers:
    """Golds and systems side by side."""

    queries: pl.Series
    """As strings, in the order of scores."""
    golds: Mapping[str, ItemLists]
    """By name, best first; the name is empty where there is one gold."""
    systems: Mapping[str, ItemLists]
    """By system; a random order has none."""
    gold_of: Mapping[str, str]
    """By system, the gold that it is evaluated against."""
    depth: int | None = None
    """How many of the first items are kept; what stands further down is there because it is judged."""

    def only(self, system: str) -> "Answers":
        """Return the answers of one system."""
        return replace(self, systems={name: lists for name, lists in self.systems.items() if name == system})

    def called(self, gold_of: Mapping[str, str]) -> "Answers":
        """Return the answers with other names of the golds, by system."""
        names = {self.gold_of[system]: name for system, name in gold_of.items()}
        golds = {names.get(name, name): lists for name, lists in self.golds.items()}
        return replace(self, golds=golds, gold_of={key: names.get(name, name) for key, name in self.gold_of.items()})

    def rankings_frame(self) -> pl.DataFrame:
        """Return one row per item: query_id, system, rank, item_id, score, grade, of; by query, system and rank."""
        return self._frame(self.systems, SYSTEM)

    def golds_frame(self) -> pl.DataFrame:
        """Return one row per judged item: query_id, gold, item_id, grade, of; by query, gold and place."""
        return self._frame(self.golds, WHICH).drop(RANK, SCORE)

    def _frame(self, listed: Mapping[str, ItemLists], kind: str) -> pl.DataFrame:
        frames = [_rows(lists, name, kind, number) for number, (name, lists) in enumerate(listed.items())]
        whole = pl.concat(frames) if frames else _rows(_NOTHING, "", kind, 0)
        ordered = whole.sort("row", "number", maintain_order=True)
        return ordered.select(self.queries.gather(ordered["row"]).alias(QUERY), kind, RANK, ITEM, SCORE, GRADE, IN_ALL)

    @classmethod
    def from_frames(
        cls,
        queries: pl.Series,
        systems: Sequence[str],
        golds: Sequence[str],
        gold_of: Mapping[str, str],
        rankings: pl.DataFrame,
        judged: pl.DataFrame,
        depth: int | None = None,
    ) -> "Answers":
        """Read the answers of these systems and golds from two frames, in the order of ``queries``."""
        judged = judged.with_columns(pl.lit(None, dtype=pl.Float64).alias(SCORE))
        return cls(
            queries,
            {name: _listed(judged.filter(pl.col(WHICH) == name), queries) for name in golds},
            {name: _listed(rankings.filter(pl.col(SYSTEM) == name), queries) for name in systems},
            dict(gold_of),
            depth,
        )


_NO_ROWS = np.empty(0, np.int64)
_NOTHING = ItemLists(np.zeros(1, np.int64), pl.Series([], dtype=pl.String), np.empty(0), None, _NO_ROWS, _NO_ROWS)


def list_ranking(ranking: Ranking, queries: pl.Series, k: int, gold: Gold, shown: ItemLists | None = None) -> ItemLists:
    """Return the first k of each query, by score, then by id, with the grades that the gold gives them.

    With them those further down that are ``shown`` of the gold.
    """
    names = queries.cast(pl.String)
    ranked = top_rows(ranking, queries, None)
    ranked = ranked.with_columns(pl.int_range(1, pl.len() + 1).over(QUERY).alias(RANK))
    rows = ranked.filter(pl.col(RANK) <= k)
    if shown is not None:
        wanted = np.repeat(np.arange(len(shown.total)), np.diff(shown.starts))
        pairs = pl.DataFrame({QUERY: names.gather(wanted), ITEM: shown.items})
        further = ranked.filter(pl.col(RANK) > k).join(pairs, on=[QUERY, ITEM], how="semi")
        rows = pl.concat([rows, further]).sort(QUERY, RANK)
    graded = gold.against(ranking).frame().select(pl.col(QUERY, ITEM).cast(pl.String), GRADE)
    graded = graded.unique([QUERY, ITEM], keep="first", maintain_order=True)
    rows = rows.join(graded, on=[QUERY, ITEM], how="left", maintain_order="left")
    if not ranking.has_scores:
        rows = rows.with_columns(pl.lit(None, dtype=pl.Float64).alias(SCORE))
    lengths = dict(zip(ranking.queries.cast(pl.String), np.diff(ranking.starts).tolist(), strict=True))
    lists = _listed(rows, names, np.array([lengths.get(name, 0) for name in names], dtype=np.int64))
    if ranking.fallback is None:
        return lists
    served = names.is_in(ranking.queries.cast(pl.String).filter(pl.Series(ranking.fallback)).implode())
    return replace(lists, fallback=served.to_numpy())


def list_gold(gold: Gold, queries: pl.Series, k: int) -> ItemLists:
    """Return the k best of each query; equal grades go by id. Of a gold too large to list there are none."""
    frame = gold.frame().with_columns(pl.col(QUERY, ITEM).cast(pl.String), sort_key(gold.items).alias("key"))
    frame = frame.sort(QUERY, GRADE, "key", descending=[False, True, False]).drop("key")
    frame = frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(SCORE))
    names = queries.cast(pl.String)
    counts = frame.group_by(QUERY).len(IN_ALL)
    total = names.to_frame(QUERY).join(counts, on=QUERY, how="left", maintain_order="left")[IN_ALL].fill_null(0)
    return _listed(frame.group_by(QUERY, maintain_order=True).head(k), names, total.cast(pl.Int64).to_numpy())


def _listed(rows: pl.DataFrame, queries: pl.Series, total: Ints | None = None) -> ItemLists:
    """Return rows in the order of queries; those of one query stand together and in order."""
    place = places_in(queries, rows[QUERY])
    order = np.argsort(place, kind="stable")
    lengths = np.bincount(place, minlength=len(queries)).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    rows = rows[order]
    if total is None:
        total = np.zeros(len(queries), dtype=np.int64)
        total[place[order]] = rows[IN_ALL].to_numpy()
    scores = None if rows[SCORE].null_count() == len(rows) else rows[SCORE].fill_null(np.nan).to_numpy()
    ranks = rows[RANK].cast(pl.Int64).to_numpy() if RANK in rows.columns else segments_within(starts) + 1
    return ItemLists(starts, rows[ITEM], rows[GRADE].fill_null(np.nan).to_numpy(), scores, total, ranks)


def _rows(lists: ItemLists, name: str, kind: str, number: int) -> pl.DataFrame:
    row = np.repeat(np.arange(len(lists.total)), np.diff(lists.starts))
    scores = np.full(len(lists.items), np.nan) if lists.scores is None else lists.scores
    return pl.DataFrame(
        {
            "row": row,
            "number": np.full(len(row), number),
            kind: pl.repeat(name, len(row), dtype=pl.String, eager=True),
            RANK: lists.ranks.astype(np.int32),
            ITEM: lists.items,
            SCORE: pl.Series(scores).fill_nan(None),
            GRADE: pl.Series(lists.grades).fill_nan(None),
            IN_ALL: lists.total[row].astype(np.int32),
        }
    )
