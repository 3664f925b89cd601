"""The statistics: the same queries before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from karat.drift.moves import is_past
from karat.errors import DataError
from karat.measure import Measure
from karat.records import Record
from karat.saved import Column, Saved
from karat.stability import Stability
from karat.statistics.comparison import Paired, compare_pairs
from karat.statistics.differences import Comparison
from karat.statistics.estimates import FEW_QUERIES
from karat.statistics.intervals import Resampling
from karat.statistics.relative import with_relative
from karat.statistics.streams import keys_of
from karat.types import Floats
from karat.wording import count

__all__ = ["Compared", "Tested", "compare_quality", "compare_stability"]

_ROUNDING = 1e-6
"""Differences below it are those of 32-bit numbers that were scaled and rounded again."""
Standing = Literal["same", "noise", "real", "unsure"]
Compared = tuple[list[Comparison], list[str]]
"""What was compared, and what to keep in mind."""


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


def compare_stability(sides: tuple[str, str], new: Stability, old: Stability, how: Resampling, where: str) -> Compared:
    """The similarity of the best item and the mean of the k best; ``sides`` are the systems, the new one first."""
    ours, theirs = _frame(new), _frame(old)
    both = ours.join(theirs, on="id", how="inner", suffix="_old").sort("id")
    if both.is_empty():
        raise DataError(
            f"no query in common: {count(len(ours), 'query', 'queries')} and {len(theirs):,}",
            where=where,
            expected="reports on the same query set",
        )
    labels = {"top1": "top1", "topk_mean": f"top{new.k} mean"} if new.k > 1 else {"top1": "top1"}
    pairs = [
        Paired(*sides, label, both[name].to_numpy(), both[f"{name}_old"].to_numpy()) for name, label in labels.items()
    ]
    return _compare(both["id"], pairs, how), _notes(both, ours, theirs, pairs)


def _frame(stability: Stability) -> pl.DataFrame:
    queries = stability.queries
    columns: dict[str, Floats] = {"top1": queries.top1, "topk_mean": queries.topk_mean}
    return pl.DataFrame({"id": pl.Series(queries.ids, dtype=pl.String), **columns})


def _notes(both: pl.DataFrame, ours: pl.DataFrame, theirs: pl.DataFrame, pairs: Sequence[Paired]) -> list[str]:
    notes = []
    if not len(both) == len(ours) == len(theirs):
        notes.append(
            f"the reports ask different queries: paired over the {len(both):,} in common "
            f"({len(ours) - len(both):,} only in the new one, {len(theirs) - len(both):,} only in the old one), while "
            "the figures of the rule are over all queries of each"
        )
    silent = int(pl.Series(pairs[0].values - pairs[0].baseline_values).is_nan().sum())
    if silent:
        notes.append(f"{count(silent, 'query', 'queries')} found nothing before or after, and cannot be paired")
    if len(both) - silent < FEW_QUERIES:
        notes.append(f"few queries ({len(both) - silent}): intervals are rough under {FEW_QUERIES}")
    return notes


def compare_quality(new: Saved, system: str, old: Saved, old_system: str, how: Resampling) -> Compared:
    """Every measure that both reports hold query by query under the same conventions."""
    without = [saved.source for saved in (new, old) if not saved.form.get("queries")]
    if without:
        return [], [f"quality is not compared: {' and '.join(without)} without the queries' scores"]
    theirs = {one.convention: one for one in _columns(old, old_system)}
    alike = [(one, theirs[one.convention]) for one in _columns(new, system) if one.convention in theirs]
    unlike = [one.label for one in _columns(new, system) if one.convention not in theirs]
    notes = [f"not compared, as the old report has no such measure: {', '.join(unlike)}"] if unlike else []
    joined = [(one, _joined(one, other)) for one, other in alike]
    if not joined or joined[0][1].is_empty():
        return [], [*notes, "quality is not compared: no query or no measure in common"]
    ids = joined[0][1]["id"]
    same_queries = len(ids) == len(new.form["queries"]["ids"]) == len(old.form["queries"]["ids"])
    pairs, skipped = [], []
    for one, frame in joined:
        metric = Measure.parse(one.convention).metric
        if metric.whole and not same_queries:
            skipped.append(one.label)
            continue
        values, old_values = frame["value"].to_numpy(), frame["value_old"].to_numpy()
        about = metric.aggregate, metric.lower_is_better, metric.whole, metric.descriptive
        pairs.append(Paired(system, old_system, one.label, values, old_values, *about))
    if skipped:
        notes.append(f"not compared, as the value is over all queries and these differ: {', '.join(skipped)}")
    return _compare(ids, pairs, how) if pairs else [], notes


def _columns(saved: Saved, system: str) -> list[Column]:
    return [Column(saved, system, label, None) for label in saved.systems[system]["measures"]]


def _joined(one: Column, other: Column) -> pl.DataFrame:
    ours, theirs = one.per_query(), other.per_query()
    assert ours is not None and theirs is not None
    return ours.join(theirs, on="id", how="inner", suffix="_old").sort("id")


def _compare(ids: pl.Series, pairs: Sequence[Paired], how: Resampling) -> list[Comparison]:
    keys = keys_of(ids, how.seed)
    return with_relative(compare_pairs(pairs, keys, how), pairs, keys, how)
