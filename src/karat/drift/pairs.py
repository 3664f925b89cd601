"""The statistics: the same queries before and after."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from karat.comparisons import ScorePair, pair_scores
from karat.drift.moves import is_past
from karat.errors import DataError
from karat.measure import Aggregate
from karat.records import Record
from karat.report import Report
from karat.results import Scores
from karat.stability import Stability
from karat.statistics.differences import Comparison
from karat.statistics.estimates import FEW_QUERIES
from karat.wording import count

__all__ = ["Tested", "pair_quality", "pair_similarities"]

_ROUNDING = 1e-6
"""Differences below it are those of 32-bit numbers that were scaled and rounded again."""
Standing = Literal["same", "noise", "real", "unsure"]


@dataclass(frozen=True)
class Tested(Record):
    """A mean over the queries in common, before and after, and how sure the difference is."""

    comparison: Comparison
    level: float = 0.95

    @property
    def standing(self) -> Standing:
        """``real``: the interval excludes 0, and chance would seldom do that, all tests made together considered."""
        one = self.comparison
        if one.n and (one.equal == one.n or (one.ci is not None and max(map(abs, one.ci)) < _ROUNDING)):
            return "same"
        if one.n < 2 or one.ci is None:
            return "unsure"
        if one.ci[0] <= 0 <= one.ci[1]:
            return "noise"
        return "real" if one.is_shown(self.level) else "unsure"

    def may_be_past(self, allowed: float) -> bool:
        """Whether its interval, as a share, reaches past what is allowed, or there are too few queries for one."""
        ends = self.comparison.relative_ci
        return self.comparison.n < 2 or (ends is not None and any(is_past(end, allowed) for end in ends))

    def to_json(self) -> dict[str, Any]:
        """Return a row of a comparison, with what it shows."""
        return self.comparison.to_json() | {"level": self.level, "standing": self.standing}

    @classmethod
    def prepare(cls, value: Any) -> Any:
        return {**value, "comparison": value} if isinstance(value, dict) else value


def pair_similarities(
    new: tuple[str, Stability], old: tuple[str, Stability], where: str
) -> tuple[ScorePair, list[str]]:
    """Pair the similarity of the best item and the mean of the k best; with what to keep in mind."""
    ours, theirs = _scores(new[1]), _scores(old[1])
    pair = pair_scores(new[0], ours, old[0], theirs)
    n = len(pair.queries)
    if not n:
        raise DataError(
            f"no query in common: {count(len(ours.queries), 'query', 'queries')} and {len(theirs.queries):,}",
            where=where,
            expected="reports on the same query set",
        )
    notes = []
    if any(pair.only):
        notes.append(
            f"the reports ask different queries: paired over the {n:,} in common "
            f"({pair.only[0]:,} only in the new one, {pair.only[1]:,} only in the old one), while "
            "the figures of the rule are over all queries of each"
        )
    empty = int(np.isnan(pair.scores.values[:, 0] - pair.baseline_scores.values[:, 0]).sum())
    if empty:
        notes.append(f"{count(empty, 'query', 'queries')} found nothing before or after, and cannot be paired")
    if n - empty < FEW_QUERIES:
        notes.append(f"few queries ({n - empty}): intervals are rough under {FEW_QUERIES}")
    return pair, notes


def _scores(stability: Stability) -> Scores:
    """Return similarities as scores, so that they are compared as measures are."""
    names = ("top1", f"top{stability.k} mean")[: 2 if stability.k > 1 else 1]
    found = stability.queries
    values = np.column_stack([found.top1, found.topk_mean][: len(names)])
    queries = pl.Series(found.ids, dtype=pl.String)
    spellings = tuple(name.removesuffix(" mean") for name in names)
    aggregates: list[Aggregate] = ["mean"] * len(names)
    return Scores(queries, names, spellings, tuple(aggregates), values)


def pair_quality(new: tuple[str, Report], old: tuple[str, Report]) -> tuple[ScorePair | None, list[str]]:
    """Pair every measure that both reports hold query by query under the same conventions."""
    without = [report.source for _, report in (new, old) if report.queries is None]
    if without:
        return None, [f"quality is not compared: {' and '.join(without)} without the queries' scores"]
    pair = pair_scores(new[0], new[1].scores[new[0]], old[0], old[1].scores[old[0]])
    notes = []
    if pair.unmatched:
        notes.append(f"not compared, as the old report has no such measure: {', '.join(pair.unmatched)}")
    if not len(pair.queries) or not (pair.scores.labels or pair.incomplete):
        return None, [*notes, "quality is not compared: no query or no measure in common"]
    if pair.incomplete:
        labels = ", ".join(pair.incomplete)
        notes.append(f"not compared, as the value is over all queries and these differ: {labels}")
    return pair, notes
