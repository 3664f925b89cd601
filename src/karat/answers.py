"""Answers: of every query what should have come back and what each system gave, for people to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan

import numpy as np
import polars as pl

from karat.columns import GRADE, ITEM, QUERY, SCORE
from karat.tops import first_rows
from karat.types import Floats, Gold, Ints, Ranking, freeze, places_in, segments_within

__all__ = ["GOLD_SHOWN", "Answers", "Listed", "listed_gold", "listed_ranking"]

GOLD_SHOWN = 20
"""How many judged items of a query are kept, where more are not asked for."""
_BINS = 30
SYSTEM, RANK, IN_ALL, WHICH = "system", "rank", "of", "gold"


@dataclass(frozen=True, eq=False)
class Listed:
    """Some items of every query, in order (CSR: those of the i-th query are ``starts[i]:starts[i + 1]``)."""

    starts: Ints
    items: pl.Series
    grades: Floats
    """NaN where an item is not judged."""
    scores: Floats | None
    """None where only an order is known, and of a gold."""
    total: Ints
    """By query, how many there are in all: these are the first of them."""

    def __post_init__(self) -> None:
        freeze(self)

    def of(self, row: int) -> list[tuple[str, float, float]]:
        """Of one query: item, score and grade, NaN where there is none."""
        first, last = int(self.starts[row]), int(self.starts[row + 1])
        scores = [nan] * (last - first) if self.scores is None else self.scores[first:last].tolist()
        return list(zip(self.items[first:last], scores, self.grades[first:last].tolist(), strict=True))

    def histogram(self, bins: int = _BINS) -> dict[str, list[float]] | None:
        """How many of the scores fall where; None where none is known."""
        known = np.empty(0) if self.scores is None else self.scores[np.isfinite(self.scores)]
        if not len(known):
            return None
        low, high = float(known.min()), float(known.max())
        apart = (high - low) / bins > np.spacing(max(abs(low), abs(high)))  # else bins would have no width
        counts, edges = np.histogram(known, bins=bins if apart else 1, range=(low, high))
        return {"edges": edges.tolist(), "counts": counts.tolist()}

    def tuples(self) -> tuple[tuple[str, ...], ...]:
        """The items alone, query by query."""
        items, starts = self.items.to_list(), self.starts.tolist()
        return tuple(tuple(items[first:last]) for first, last in pairwise(starts))


@dataclass(frozen=True, eq=False)
class Answers:
    """Golds and systems side by side."""

    queries: pl.Series
    """As strings, in the order of scores."""
    golds: Mapping[str, Listed]
    """By name, best first; the name is empty where there is one gold."""
    systems: Mapping[str, Listed]
    """By system; a random order has none."""
    gold_of: Mapping[str, str]
    """By system, the gold that it is held against."""

    def only(self, system: str) -> "Answers":
        """Of one system."""
        return replace(self, systems={name: one for name, one in self.systems.items() if name == system})

    def called(self, gold_of: Mapping[str, str]) -> "Answers":
        """With other names of the golds, by system."""
        named = {self.gold_of[system]: name for system, name in gold_of.items()}
        golds = {named.get(name, name): one for name, one in self.golds.items()}
        return replace(
            self, golds=golds, gold_of={system: named.get(name, name) for system, name in self.gold_of.items()}
        )

    def rankings_frame(self) -> pl.DataFrame:
        """A row an item: query_id, system, rank, item_id, score, grade, of; by query, system and rank."""
        return self._frame(self.systems, SYSTEM).rename({"place": RANK})

    def golds_frame(self) -> pl.DataFrame:
        """A row a judged item: query_id, gold, item_id, grade, of; by query, gold and place."""
        return self._frame(self.golds, WHICH).drop("place", SCORE)

    def _frame(self, listed: Mapping[str, Listed], kind: str) -> pl.DataFrame:
        frames = [_rows(one, name, kind, number) for number, (name, one) in enumerate(listed.items())]
        whole = pl.concat(frames) if frames else _rows(_NOTHING, "", kind, 0)
        ordered = whole.sort("row", "number", maintain_order=True)
        return ordered.select(
            self.queries.gather(ordered["row"]).alias(QUERY), kind, "place", ITEM, SCORE, GRADE, IN_ALL
        )

    @classmethod
    def from_frames(
        cls,
        queries: pl.Series,
        systems: Sequence[str],
        golds: Sequence[str],
        gold_of: Mapping[str, str],
        rankings: pl.DataFrame,
        judged: pl.DataFrame,
    ) -> "Answers":
        """What the two frames hold, in the order of ``queries``, for these systems and golds."""
        judged = judged.with_columns(pl.lit(None, dtype=pl.Float64).alias(SCORE))
        return cls(
            queries,
            {name: _listed(judged.filter(pl.col(WHICH) == name), queries) for name in golds},
            {name: _listed(rankings.filter(pl.col(SYSTEM) == name), queries) for name in systems},
            dict(gold_of),
        )


_NOTHING = Listed(np.zeros(1, dtype=np.int64), pl.Series([], dtype=pl.String), np.empty(0), None, np.empty(0, np.int64))


def listed_ranking(ranking: Ranking, queries: pl.Series, k: int, gold: Gold) -> Listed:
    """The first k of each query, by score, then by id, with the grades that the gold gives them."""
    rows = first_rows(ranking, queries, k)
    graded = gold.against(ranking).frame().select(pl.col(QUERY, ITEM).cast(pl.String), GRADE)
    graded = graded.unique([QUERY, ITEM], keep="first", maintain_order=True)
    rows = rows.join(graded, on=[QUERY, ITEM], how="left", maintain_order="left")
    if ranking.scores is None:
        rows = rows.with_columns(pl.lit(None, dtype=pl.Float64).alias(SCORE))
    lengths = dict(zip(ranking.queries.cast(pl.String), np.diff(ranking.starts).tolist(), strict=True))
    names = queries.cast(pl.String)
    total = pl.DataFrame({QUERY: names, IN_ALL: [lengths.get(name, 0) for name in names]})
    return _listed(rows.join(total, on=QUERY, how="left", maintain_order="left"), names, total[IN_ALL].to_numpy())


def listed_gold(gold: Gold, queries: pl.Series, k: int) -> Listed:
    """The k best of each query; equal grades go by id. Of a gold too large to list there are none."""
    frame = gold.frame().with_columns(pl.col(QUERY, ITEM).cast(pl.String))
    frame = frame.sort(QUERY, GRADE, ITEM, descending=[False, True, False])
    frame = frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(SCORE))
    names = queries.cast(pl.String)
    counts = frame.group_by(QUERY).len(IN_ALL)
    total = names.to_frame(QUERY).join(counts, on=QUERY, how="left", maintain_order="left")[IN_ALL].fill_null(0)
    return _listed(frame.group_by(QUERY, maintain_order=True).head(k), names, total.cast(pl.Int64).to_numpy())


def _listed(rows: pl.DataFrame, queries: pl.Series, total: Ints | None = None) -> Listed:
    """Rows in the order of queries; those of one query stand together and in order."""
    place = places_in(queries, rows[QUERY])
    order = np.argsort(place, kind="stable")
    lengths = np.bincount(place, minlength=len(queries)).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    rows = rows[order]
    if total is None:
        total = np.zeros(len(queries), dtype=np.int64)
        total[place[order]] = rows[IN_ALL].to_numpy()
    scores = None if rows[SCORE].null_count() == len(rows) else rows[SCORE].fill_null(np.nan).to_numpy()
    return Listed(starts, rows[ITEM], rows[GRADE].fill_null(np.nan).to_numpy(), scores, total)


def _rows(one: Listed, name: str, kind: str, number: int) -> pl.DataFrame:
    row = np.repeat(np.arange(len(one.total)), np.diff(one.starts))
    scores = np.full(len(one.items), np.nan) if one.scores is None else one.scores
    return pl.DataFrame(
        {
            "row": row,
            "number": np.full(len(row), number),
            kind: pl.repeat(name, len(row), dtype=pl.String, eager=True),
            "place": (segments_within(one.starts) + 1).astype(np.int32),
            ITEM: one.items,
            SCORE: pl.Series(scores).fill_nan(None),
            GRADE: pl.Series(one.grades).fill_nan(None),
            IN_ALL: one.total[row].astype(np.int32),
        }
    )
