"""Judge, measure, and say what to be wary of: gold × ranking → Scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

import numpy as np
import polars as pl

from karat.dialects import Asked, resolve
from karat.errors import DataError, UsageError
from karat.judged import Judged
from karat.judging import Bench, DuplicateRule, TieRule
from karat.lists import Background, Lists, checked_background
from karat.measure import Measure, Value
from karat.metrics.common import relevant_count, within
from karat.results import Scores
from karat.types import Bools, Floats, Gold, Ranking
from karat.wording import count

__all__ = ["DEFAULT_MEASURES", "Evaluation", "cut_gold", "evaluate", "measure_values", "resolve_all"]

DEFAULT_MEASURES = ("ndcg@10", "ap", "rr", "recall@100", "precision@10", "judged@10")
_LISTED_IN_A_WARNING = 3


def resolve_all(
    measures: Iterable[str | Measure],
    dialect: str | None = None,
    overrides: Mapping[str, Value] | None = None,
) -> list[Asked]:
    """The measures asked for, each once, in the order asked."""
    asked = [resolve(measure, dialect, overrides) for measure in measures]
    return list({one.label: one for one in asked}.values())


def evaluate(
    gold: Gold,
    ranking: Ranking,
    asked: Sequence[Asked],
    *,
    duplicates: DuplicateRule = "error",
    background: Background | None = None,
) -> Scores:
    """Score one ranking; measures beyond accuracy look at the ``background`` as well."""
    return Evaluation(gold, ranking, duplicates=duplicates, background=background).scores(asked)


class Evaluation:
    """A gold and a ranking ready to be measured; measures that order alike share one judging."""

    def __init__(
        self,
        gold: Gold,
        ranking: Ranking,
        *,
        duplicates: DuplicateRule = "error",
        may_be_apart: bool = False,
        background: Background | None = None,
    ) -> None:
        bench = Bench(gold, ranking, duplicates=duplicates, may_be_apart=may_be_apart)
        self._begin(bench, ranking.source, background, ranking.notes)

    @classmethod
    def of(cls, bench: Bench, source: str, background: Background | None = None) -> "Evaluation":
        """Of a bench that was made in another way."""
        found = cls.__new__(cls)
        found._begin(bench, source, background)
        return found

    def _begin(self, bench: Bench, source: str, background: Background | None, notes: tuple[str, ...] = ()) -> None:
        self.bench = bench
        self.source = source
        self.background = checked_background(background, source)
        self._notes = notes
        self._lists: dict[tuple[TieRule, str, str, int], Lists] = {}
        self._judgings: dict[tuple[TieRule, str, str, bool], Judged] = {}
        self._cut: tuple[object, int, Judged] | None = None
        """What the last cut of a gold was made from and where, and the cut."""

    def judged(self, measure: Measure) -> Judged:
        """The judging that the measure's conventions ask for."""
        rule = _tie_rule(measure)
        places = measure.metric.needs_places or measure["gold"] == "k"
        key = (rule, str(measure["scores"]), str(measure["self"]), places)
        if key not in self._judgings:
            self._judgings[key] = self.bench.judge(ties=rule, scores=key[1], self_matches=key[2], places=places)
        return self._judgings[key]

    def within(self, kept: Bools) -> "Evaluation":
        """Against some rows of the bench's gold only; queries that have none of them are left out."""
        return _Within(self, kept)

    @property
    def queries(self) -> pl.Series:
        return self.bench.queries

    def values(self, measure: Measure) -> Floats:
        """One measure for every query."""
        judged = self._cut_judged(measure)
        if measure.metric.of_lists:
            judged = replace(judged, lists=self._shown(measure))
        return measure_values(judged, measure, self.source)

    def _shown(self, measure: Measure) -> Lists:
        """The lists that a measure looks at."""
        if self.background is None:
            raise UsageError(
                f"{measure.name} looks at what was known before: the catalogue, and what users took in training",
                where=self.source,
                expected="a gold of the kind interactions, or background=task.background",
            )
        rule = _tie_rule(measure)
        k = int(self.bench.deepest) if measure.k is None else measure.k
        key = (rule, str(measure["scores"]), str(measure["self"]), k)
        if key not in self._lists:
            self._lists[key] = self.bench.lists(self.background, k, rule, scores=key[1], self_matches=key[2])
        return self._lists[key]

    def _cut_judged(self, measure: Measure) -> Judged:
        """With the gold cut as the measure asks; a cut is made from the last one where that is no smaller."""
        judged = self.judged(measure)
        if measure["gold"] not in ("k", "tied") or measure.k is None:
            return judged
        of, k, cut = self._cut or (None, 0, judged)
        key = (id(judged), measure["gold"])
        if of != key or k < measure.k:
            cut = cut_gold(judged, measure)
        elif k > measure.k:
            cut = cut_gold(cut, measure)
        self._cut = key, measure.k, cut
        return cut

    def scores(self, asked: Sequence[Asked]) -> Scores:
        """All measures for every query."""
        by_cut = sorted(asked, key=lambda one: (str(one.measure["gold"]), -(one.measure.k or 0)))
        found = {one.label: self.values(one.measure) for one in by_cut}
        columns = [found[one.label] for one in asked]
        return Scores(
            queries=self.queries,
            labels=tuple(one.label for one in asked),
            conventions=tuple(str(one.measure) for one in asked),
            aggregates=tuple(one.measure.metric.aggregate for one in asked),
            values=np.column_stack(columns) if columns else np.empty((len(self.queries), 0)),
            warnings=tuple(self.warnings([one.measure for one in asked])),
            source=self.source,
            lower_is_better=frozenset(one.label for one in asked if one.measure.metric.lower_is_better),
            whole={one.label: one.measure.metric.highest for one in asked if one.measure.metric.whole},
        )

    def warnings(self, measures: Sequence[Measure]) -> Iterable[str]:
        """What a careful reader would want to be told, with counts."""
        yield from self._notes
        if measures:
            yield from _warnings(self.bench, self.judged(measures[0]), measures)


class _Within(Evaluation):
    """Judged once for the whole gold, and looked at for some of its items."""

    def __init__(self, whole: Evaluation, kept: Bools) -> None:
        self._begin(whole.bench, whole.source, None)
        self._whole, self._kept = whole, kept
        self._parts: dict[int, Judged] = {}

    @property
    def queries(self) -> pl.Series:
        for judged in self._parts.values():
            return judged.queries
        gold = self.bench.gold
        held = np.diff(np.concatenate(([0], np.cumsum(self._kept)))[gold.starts]) > 0
        return gold.queries.filter(held).sort()

    def judged(self, measure: Measure) -> Judged:
        judged = self._whole.judged(measure)
        if id(judged) not in self._parts:
            self._parts[id(judged)] = self.bench.within(judged, self._kept)
        return self._parts[id(judged)]

    def warnings(self, measures: Sequence[Measure]) -> Iterable[str]:
        return ()


def _tie_rule(measure: Measure) -> TieRule:
    ties = measure["ties"]
    return cast(TieRule, ties if ties in get_args(TieRule) else "id")


def cut_gold(judged: Judged, measure: Measure) -> Judged:
    """With the gold cut as the measure asks."""
    if measure["gold"] not in ("k", "tied") or measure.k is None:
        return judged
    return judged.cut_gold(measure.k, tied=measure["gold"] == "tied")


def measure_values(judged: Judged, measure: Measure, source: str = "ranking") -> Floats:
    """One measure for every query, its policies on empty and missing queries applied; the gold is already cut."""
    options = measure.own_options()
    values = np.concatenate([measure.metric.function(part, measure.k, **options) for part in judged.parts()])
    if measure.metric.needs_relevant:
        rel = cast(float | None, measure["rel"])
        empty = relevant_count(judged, rel) == 0
        values = _by_policy(values, empty, measure, "empty", "has nothing relevant", judged, source)
    return _by_policy(values, ~judged.present, measure, "missing", "is missing from the ranking", judged, source)


def _by_policy(
    values: Floats, affected: Bools, measure: Measure, option: str, what: str, judged: Judged, source: str
) -> Floats:
    policy = measure[option]
    if not affected.any():
        return values
    if policy == "error":
        query = judged.queries[int(np.argmax(affected))]
        raise DataError(
            f"query {query!r} {what} ({count(int(affected.sum()), 'such query', 'such queries')})",
            where=f"{source}, {measure}",
            expected=f"none, under {option}=error",
            hint=f"Score them 0 with {option}=zero, or leave them out with {option}=skip.",
        )
    values = values.copy()
    if policy == "skip":
        values[affected] = np.nan
    elif option == "empty":
        values[affected] = 0.0
    return values


def _warnings(bench: Bench, judged: Judged, measures: Sequence[Measure]) -> Iterable[str]:
    missing = ~judged.present
    if missing.any():
        names = ", ".join(judged.queries.filter(missing).head(_LISTED_IN_A_WARNING))
        more = " …" if missing.sum() > _LISTED_IN_A_WARNING else ""
        scored = _missing_told([one for one in measures if not one.metric.of_lists or one.metric.needs_relevant])
        yield (
            f"{count(missing.sum(), 'judged query is', 'judged queries are')} missing from the ranking "
            f"({names}{more}) and {scored}"
        )
    if bench.extra_queries:
        yield f"{count(bench.extra_queries, 'retrieved query has', 'retrieved queries have')} no gold: not counted"
    yield from _warnings_of_empty(judged, [measure for measure in measures if measure.metric.needs_relevant])
    if bench.dropped:
        yield f"{count(bench.dropped, 'duplicate row was', 'duplicate rows were')} dropped"
    cuts = sorted({measure.k for measure in measures if measure.k is not None and not measure.metric.of_lists})
    yield from _warnings_at_cuts(judged, cuts or [10], closed=bench.gold.ordered or bench.gold.complete)


def _missing_told(measures: Sequence[Measure]) -> str:
    """What becomes of them under the first of the measures that look at the gold."""
    if not measures:
        return "without a list to look at"
    scored = {"zero": "scored 0", "skip": "left out"}.get(str(measures[0]["missing"]), "an error")
    other = "skip leaves them out" if scored == "scored 0" else "zero scores them 0"
    return f"{scored} (missing={other})"


def _warnings_of_empty(judged: Judged, measures: Sequence[Measure]) -> Iterable[str]:
    """Queries with nothing relevant; where measures treat them differently, by the metrics' names."""
    levels: dict[tuple[int, str], list[float | None]] = {}
    for rel, policy in dict.fromkeys((cast(float | None, one["rel"]), str(one["empty"])) for one in measures):
        empty = int((relevant_count(judged, rel) == 0).sum())
        if empty:
            levels.setdefault((empty, policy), []).append(rel)
    several = len({policy for _, policy in levels}) > 1
    for (empty, policy), rels in levels.items():
        level = "" if rels[0] is None else f" of grade {rels[0]:g} or better"
        scored = "left out (empty=zero scores 0)" if policy == "skip" else "scored 0 (empty=skip leaves out)"
        names = dict.fromkeys(one.name for one in measures if one["rel"] in rels and str(one["empty"]) == policy)
        whose = f", for {', '.join(names)}" if several else ""
        yield f"{count(empty, 'query has', 'queries have')} nothing relevant{level} in the gold: {scored}{whose}"


def _warnings_at_cuts(judged: Judged, cuts: Sequence[int], *, closed: bool) -> Iterable[str]:
    """``closed``: whatever the gold does not list is known not to be relevant."""
    shares = {}
    for k in cuts if not closed else ():
        retrieved = np.minimum(judged.depth, k).sum()
        share = 1 - within(judged, k).sum() / retrieved if retrieved else 0.0
        if share > 0:
            shares[k] = f"{share:.1%} of the top {k}"
    if shares:
        yield "unjudged items count as not relevant: " + ", ".join(shares.values())
    tied = {k: judged.ties.queries_tied_at(k) for k in cuts}
    if any(tied.values()):
        at = ", ".join(f"{count(n, 'query', 'queries')} at {k}" for k, n in tied.items() if n)
        yield f"the cut-off falls within equal scores, so the tie rule decides what counts: {at}"
