"""Drift: a report compared with an earlier one. Are similarities and lengths still what they were, is a change real?

There are two answers. The rule: no value may move by more than a share, ±5 % by default. The statistics: over the
queries that both reports asked, is the mean difference more than noise? They may disagree: many queries show a change
that the rule lets pass, and few leave open what the rule forbids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import copysign, fsum, inf, isfinite, isnan
from sys import float_info
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import polars as pl

from rankjury.core.text import join_names, plural
from rankjury.core.validation import Record, check_arguments, to_json
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.paired import ScorePair, compare_scores, pair_scores
from rankjury.evaluation.provenance import Circumstances, circumstances_between
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.sections import Section, Stability
from rankjury.evaluation.targets import Decision, Outcome
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import FEW_QUERIES
from rankjury.stats.formatting import format_difference, format_percent
from rankjury.stats.resampling import Resampling

DRIFT_SCHEMA = "rankjury.drift/1"
ALLOWED = 0.05
_ROUNDING_OF_SCORES = 1e-6  # differences below it are those of 32-bit numbers that were scaled and rounded again
_NEXT_TO_NOTHING = 1e-3  # a spread below this share of its mean is rounding, as of normalised vectors of 16 bits
_PERSISTENCE = 0.9  # of RBO: the weight of the next depth relative to this one
_LISTED = 5
Standing = Literal["same", "noise", "real", "unsure"]


def _is_past(share: float, allowed: float) -> bool:
    """Whether a share, of either sign, is more than is allowed; a last digit does not count."""
    return abs(share) > allowed + 1e-12


@dataclass(frozen=True)
class MovedValue(Record):
    """One figure before and after."""

    computed = ("change", "within")

    figure: str
    old: float
    new: float
    relative_to: Literal["itself", "mean"]
    """What the change is a share of: what the figure was, or the mean that it is the spread around."""
    scale: float
    allowed: float

    @property
    def change(self) -> float:
        """Infinite where there was nothing that it could be a share of; NaN where a side has no such figure."""
        apart = self.new - self.old
        if not apart:
            return 0.0
        return apart / abs(self.scale) if self.scale else copysign(inf, apart) if not isnan(apart) else apart

    @property
    def within(self) -> bool | None:
        """None where there is nothing to judge."""
        return None if isnan(self.change) else not _is_past(self.change, self.allowed)


@dataclass(frozen=True)
class DriftTest(Record):
    """A mean over the queries in common, before and after, and how sure the difference is."""

    comparison: Comparison
    level: float = 0.95

    @property
    def standing(self) -> Standing:
        """``real``: the interval excludes 0, and chance would seldom do that, all tests made together considered."""
        comparison, n, ci = self.comparison, self.comparison.n, self.comparison.ci
        if n and (comparison.equal == n or (ci is not None and max(map(abs, ci)) < _ROUNDING_OF_SCORES)):
            return "same"
        if n < 2 or ci is None:
            return "unsure"
        if ci[0] <= 0 <= ci[1]:
            return "noise"
        return "real" if comparison.is_significant(self.level) else "unsure"

    def may_be_past(self, allowed: float) -> bool:
        """Whether its interval, as a share, reaches past what is allowed, or there are too few queries for one."""
        ends = self.comparison.relative_ci
        return self.comparison.n < 2 or (ends is not None and any(_is_past(end, allowed) for end in ends))

    def to_json(self) -> dict[str, Any]:
        """Return a row of a comparison, with what it shows."""
        return self.comparison.to_json() | {"level": to_json(self.level), "standing": self.standing}

    @classmethod
    def prepare(cls, value: Any) -> Any:
        return {**value, "comparison": value} if isinstance(value, dict) else value


@dataclass(frozen=True)
class QueryChurn(Record):
    """One query's first items before and after."""

    json_keys = MappingProxyType({"query": "query_id"})

    query: str
    overlap: float
    rbo: float
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Churn(Record):
    """Over all queries."""

    k: int
    n: int
    overlap: float
    """Mean share of the first k that both have."""
    rbo: float
    changed: float
    """Share of the queries whose first k differ, be it in their order alone."""
    most: tuple[QueryChurn, ...]
    """The queries that changed most."""


@dataclass(frozen=True, eq=False)
class Drift(Decision, Section):
    """A system of a report beside the same system of an earlier one."""

    name = "drift"
    json_keys = MappingProxyType(
        {"source": "report", "old_source": "old_report", "moved": "figures", "tested": "paired"}
    )

    system: str
    old_system: str
    source: str
    old_source: str
    k: int
    allowed: float
    moved: tuple[MovedValue, ...]
    tested: tuple[DriftTest, ...]
    """Of the similarities of the best item and of the k best."""
    quality: tuple[DriftTest, ...]
    """Of the measures that both reports hold query by query."""
    churn: Churn | None
    """None where the reports do not hold the queries' first items."""
    circumstances: Circumstances
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        raise UsageError(
            "the truth value of a Drift is ambiguous: that it drifted, or that it is within the limit",
            expected="drift.failed (it drifted too far), drift.passed or drift.unsure",
        )

    @property
    def worst(self) -> MovedValue | None:
        """The figure that moved most; None where none can be judged."""
        judged = [value for value in self.moved if value.within is not None]
        return max(judged, key=lambda value: abs(value.change), default=None)

    @property
    def sentence(self) -> str:
        """What moved beyond the limit or that nothing did, whether that is more than noise, and what quality did."""
        allowed, worst = f"±{format_percent(self.allowed)}", self.worst
        name = self.system if self.system == self.old_system else f"{self.system} (before: {self.old_system})"
        past = [value for value in self.moved if value.within is False]
        if past and worst is not None:
            others = [value.figure for value in past if value is not worst]
            also = f" (and {join_names(others)})" if others else ""
            how = f"moved {format_percent(worst.change, 1, signed=True)}" if isfinite(worst.change) else "moved from 0"
            parts = [
                f"{name} drifted from {self.old_source}: {worst.figure} {how}{also}, more than the allowed {allowed}"
            ]
        elif worst is None:
            parts = [f"{name} cannot be compared with {self.old_source}: no value is defined in both"]
        else:
            most = f"; most: {worst.figure} {format_percent(worst.change, 1, signed=True)}" if worst.change else ""
            parts = [f"Nothing of {name} moved beyond {allowed} since {self.old_source}{most}"]
        unsure = [test.comparison.measure for test in self.tested if test.may_be_past(self.allowed)]
        if not past and unsure:
            parts.append(
                f"but too few queries to be sure: the interval of {join_names(unsure)} reaches beyond {allowed}"
            )
        changed = [test.comparison for test in self.quality if test.standing == "real"]
        if changed:
            word = "better" if changed[0].gain > 0 else "worse"
            difference = format_difference(changed[0].difference, changed[0].ci)
            parts.append(f"{changed[0].measure} is {word}: {difference}")
        elif self.quality:
            parts.append("no measure is shown to have changed")
        return f"{'; '.join(parts)}."

    def summary(self, report: Report, system: str | None) -> Iterator[str]:
        """Yield what moved since the earlier report, and whether it matters."""
        yield self.sentence

    @property
    def outcome(self) -> Outcome:
        """By the rule; unsure where it holds, but an interval reaches past what it allows."""
        if any(value.within is False for value in self.moved):
            return "fail"
        return "unsure" if any(test.may_be_past(self.allowed) for test in self.tested) else "pass"

    def exit_code(self, *, strict: bool = False) -> int:
        """Of a command that decides: 4 where the rule failed, 5 where it is unsure and that is not good enough."""
        return self._exit_code(strict)

    def figures(self) -> dict[str, float]:
        """Return the values that targets may be about: ``drift <= 5 %``.

        A change from exactly 0 is an infinite share. JSON has no infinity, so it is the largest float: a target on it
        fails, as the rule does.
        """
        figures = {} if self.worst is None else {"drift": abs(self.worst.change)}
        for name in ("top1", f"top{self.k}", "norm"):
            values = [value for value in self.moved if value.figure.startswith(f"{name} ") and value.within is not None]
            if values:
                figures[f"drift_{name}"] = max(abs(value.change) for value in values)
        if self.churn is not None:
            figures |= {"churn": self.churn.changed, "churn_overlap": self.churn.overlap, "churn_rbo": self.churn.rbo}
        return {name: min(value, float_info.max) for name, value in figures.items()}

    def to_json(self) -> dict[str, Any]:
        """Return all of it as one JSON object, with the outcome and what changed between the reports."""
        form: dict[str, Any] = {"schema": DRIFT_SCHEMA, "verdict": self.outcome, "worst": to_json(self.worst)}
        form |= super().to_json()
        circumstances: dict[str, Any] = form.pop("circumstances")
        return form | circumstances

    @classmethod
    def prepare(cls, value: Any) -> Any:
        return {**value, "circumstances": value} if isinstance(value, dict) else value


@check_arguments
def drift_between(
    old: Report, new: Report, *, system: str | None = None, old_system: str | None = None, allowed: float = ALLOWED
) -> Drift:
    """Compare a system of a report with an earlier report.

    Args:
        old: The earlier report.
        new: The report to check, fresh or read back.
        system: The system; the only one whose stability is known unless it is named.
        old_system: The earlier system; the one of the same name, or the only one, unless it is named.
        allowed: How far a value may move, as a share.

    Returns:
        What moved and what changed.

    Raises:
        UsageError: Where there are several systems and none is named, or ``allowed`` is negative.
        DataError: Where a report holds no stability of the system, or the reports have no query in common.

    Example:
        >>> rankjury.drift_between(report, report, system="dense").worst.change
        0.0
    """
    if not allowed >= 0:
        raise UsageError(f"a change of {allowed} is allowed", expected="a share such as 0.05, for 5 %")
    name = _choose(new, system, None)
    old_name = _choose(old, old_system, name)
    ours, theirs = _stability(new, name), _stability(old, old_name)
    if ours.k != theirs.k:
        raise DataError(
            f"the stability is over the first {ours.k} items here and the first {theirs.k} in {old.source}",
            where=new.source,
            expected="the same k in both reports",
        )
    resampling = new.resampling or Resampling()
    similarities, notes = _pair_similarities((name, ours), (old_name, theirs), f"{new.source} × {old.source}")
    quality, more_notes = _pair_quality((name, new), (old_name, old))
    pairs = [similarities, *([] if quality is None else [quality])]
    compared = compare_scores(pairs, resampling, relative=True)
    tested = [tuple(DriftTest(comparison, resampling.level) for comparison in group) for group in compared]
    items, old_items = _first_items(new, name), _first_items(old, old_name)
    ids = sorted(set(items) & set(old_items))
    churn = churn_between([old_items[id_] for id_ in ids], [items[id_] for id_ in ids], ids, k=ours.k)
    if churn is None:
        more_notes.append("rank churn is not known: the reports do not hold the first items of the same queries")
    return Drift(
        *(name, old_name, new.source, old.source, ours.k, allowed),
        moved=tuple(_moves_between(ours, theirs, allowed)),
        tested=tested[0],
        quality=() if quality is None else tested[1],
        churn=churn,
        circumstances=circumstances_between(old, old_name, new, name),
        notes=(*notes, *more_notes),
    )


def systems_in_both(new: Report, old: Report) -> list[str]:
    """Return the systems whose stability both reports hold under one name."""
    return [name for name in new.sections_of(Stability) if name in old.sections_of(Stability)]


def _choose(report: Report, named: str | None, alike: str | None) -> str:
    """Return the system that is named, that is called alike, or the only one whose stability is known."""
    if named is not None:
        if named not in report.systems:
            raise UnknownName("system", named, report.systems, where=report.source)
        return named
    if alike is not None and alike in report.systems:
        return alike
    known = list(report.sections_of(Stability) or report.systems)
    if len(known) > 1:
        raise UsageError(
            f"there are several systems: {', '.join(known)}",
            where=report.source,
            expected=f"one, or one called {alike}" if alike else "one",
            hint="Name it with --system, in Python system= or old_system=.",
        )
    return known[0]


def _stability(report: Report, system: str) -> Stability:
    found = report.section(Stability, system)
    if found is None:
        raise DataError(
            f"the report holds no stability of {system}",
            where=report.source,
            expected="similarities of the first items and lengths of vectors",
            hint="rankjury run records them of systems that search vectors: make the report again with such a plan.",
        )
    return found


def _first_items(report: Report, system: str) -> dict[str, tuple[str, ...]]:
    """Return the first items by query; none where the report does not hold them."""
    lists = report.top_items.get(system) or ()
    ids = [str(query) for query in report.queries.ids] if lists and report.queries is not None else []
    if len(lists) != len(ids):
        raise DataError(f"there are not as many first items of {system} as queries", where=report.source)
    return dict(zip(ids, lists, strict=True))


def _moves_between(new: Stability, old: Stability, allowed: float) -> Iterator[MovedValue]:
    """Yield mean and spread of each distribution.

    Lengths of normalised vectors spread by rounding alone: as a share of itself, their spread may double and mean
    nothing. So a spread next to 0 is judged as a share of the mean, and so is one that was 0 before.
    """
    for name, before, after in (
        ("top1", old.top1, new.top1),
        *([(f"top{new.k}", old.topk, new.topk)] if new.k > 1 else []),
        ("norm", old.norm, new.norm),
    ):
        yield MovedValue(f"{name} mean", before.mean, after.mean, "itself", before.mean, allowed)
        small = before.std <= _NEXT_TO_NOTHING * abs(before.mean)
        scale: tuple[Literal["mean", "itself"], float] = ("mean", before.mean) if small else ("itself", before.std)
        yield MovedValue(f"{name} std", before.std, after.std, *scale, allowed)


def _pair_similarities(
    new: tuple[str, Stability], old: tuple[str, Stability], where: str
) -> tuple[ScorePair, list[str]]:
    """Pair the similarity of the best item and the mean of the k best; with what to keep in mind."""
    ours, theirs = _as_scores(new[1]), _as_scores(old[1])
    pair = pair_scores(new[0], ours, old[0], theirs)
    n = len(pair.queries)
    if not n:
        raise DataError(
            f"no query in common: {plural(len(ours.queries), 'query', 'queries')} and {len(theirs.queries):,}",
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
        notes.append(
            f"{plural(empty, 'query', 'queries')} without results in one of the reports, omitted from the paired test"
        )
    if n - empty < FEW_QUERIES:
        notes.append(f"few queries ({n - empty}): intervals are rough under {FEW_QUERIES}")
    return pair, notes


def _as_scores(stability: Stability) -> Scores:
    """Return similarities as scores, so that they are compared as measures are."""
    names, spellings = ("top1", f"top{stability.k} mean"), ("top1", f"top{stability.k}")
    aggregates: tuple[Aggregate, ...] = ("mean", "mean")
    data, n = stability.queries, 2 if stability.k > 1 else 1
    values = np.column_stack([data.top1, data.topk_mean][:n])
    return Scores(pl.Series(data.ids, dtype=pl.String), names[:n], spellings[:n], aggregates[:n], values)


def _pair_quality(new: tuple[str, Report], old: tuple[str, Report]) -> tuple[ScorePair | None, list[str]]:
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


def churn_between(
    before: Sequence[Sequence[str]], after: Sequence[Sequence[str]], ids: Sequence[str], *, k: int | None = None
) -> Churn | None:
    """Compare lists of items, best first, one per query of ``ids``; None where there is nothing to compare.

    They are cut at k, and no deeper than both sides go: what only one side kept cannot have changed.
    """
    depth = min(max(map(len, side), default=0) for side in (before, after))
    k = depth if k is None else min(k, depth)
    if not k:
        return None
    churns, changed = [], []
    for query, *lists in zip(ids, before, after, strict=True):
        old, new = (list(items[:k]) for items in lists)
        gone, come = tuple(item for item in old if item not in new), tuple(item for item in new if item not in old)
        churns.append(QueryChurn(query, overlap_share(old, new), rank_biased_overlap(old, new), gone, come))
        if old != new:
            changed.append(churns[-1])
    most = sorted(changed, key=lambda churn: (churn.rbo, churn.overlap, churn.query))[:_LISTED]
    n = len(churns)
    overlap, rbo = fsum(churn.overlap for churn in churns) / n, fsum(churn.rbo for churn in churns) / n
    return Churn(k, n, overlap, rbo, len(changed) / n, tuple(most))


def overlap_share(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of the longer list that both have; 1 of two empty ones."""
    longest = max(len(one), len(other))
    return len(set(one) & set(other)) / longest if longest else 1.0


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], p: float = _PERSISTENCE) -> float:
    """Return the rank-biased overlap, the agreement extrapolated past the ends; 1 of two empty lists.

    Lists have no duplicates.
    Source: Webber, Moffat & Zobel, A Similarity Measure for Indefinite Rankings (2010), equation 32.
    """
    if list(one) == list(other):
        return 1.0
    short, long = sorted((one, other), key=len)
    if not short:
        return 0.0
    place = {item: rank for rank, item in enumerate(short, 1)}
    meets = [0] * (len(long) + 1)
    for rank, item in enumerate(long, 1):
        if item in place:
            meets[max(rank, place[item])] += 1
    terms = []
    shared = at_short = 0
    for depth in range(1, len(long) + 1):
        shared += meets[depth]
        if depth == len(short):
            at_short = shared
        uneven = at_short * (depth - len(short)) / len(short) if depth > len(short) else 0.0
        terms.append((shared + uneven) / depth * p**depth)
    last = ((shared - at_short) / len(long) + at_short / len(short)) * p ** len(long)
    return (1 - p) / p * fsum(terms) + last
