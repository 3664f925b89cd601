"""Evaluation of one ranking: gold × ranking → Scores, with warnings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os.path import isfile
from typing import cast, get_args

import numpy as np
import polars as pl

from rankjury.core.text import join_names, plural, split_spellings
from rankjury.core.types import Background, Bools, Floats, Gold, Lists, Ranking, checked_background
from rankjury.errors import DataError, UsageError
from rankjury.evaluation.checks import Findings
from rankjury.evaluation.judge import CatalogPositions, DuplicateRule, MatchedRanking, OrderRules
from rankjury.evaluation.row_numbers import by_row_number, check_matching, row_number_warnings
from rankjury.evaluation.scores import Scores
from rankjury.evaluation.sections import GOLD_AS_RANKING, ReportWarning, as_warnings
from rankjury.evaluation.slices import ItemGroups
from rankjury.measures.dialects import NamedMeasure, resolve
from rankjury.measures.judged import Judged, TieRule, count_relevant
from rankjury.measures.measure import Measure, Value

DEFAULT_MEASURES = ("ndcg@10", "ap", "rr", "recall@100", "precision@10", "judged@10")


def resolve_measures(
    measures: str | Measure | Iterable[str | Measure],
    dialect: str | None = None,
    overrides: Mapping[str, Value] | None = None,
) -> list[NamedMeasure]:
    """Return the measures asked for, each once, in the order asked; an override that is None is not one."""
    if isinstance(measures, str):  # several are split as those of a command are
        measures = split_spellings(measures) or [measures]
    if isinstance(measures, Measure):
        measures = [measures]
    if not isinstance(measures, Iterable) or isinstance(measures, Mapping):
        raise UsageError(f"found measures of type {type(measures).__name__}", expected="a list such as ['ndcg@10']")
    chosen = {name: value for name, value in (overrides or {}).items() if value is not None}
    resolved = [resolve(measure, dialect, chosen) for measure in measures]
    return list({measure.label: measure for measure in resolved}.values())


def at_cutoffs(measure: str, cutoffs: Sequence[int]) -> list[str]:
    """Return the spellings of a measure at each cut-off; the measure alone where it has or knows no cut-off."""
    if not cutoffs or "@" in measure:
        return [measure]
    try:
        return [resolve(f"{measure}@{k}").label for k in cutoffs]
    except UsageError:
        return [measure]


def evaluate(
    gold: Gold,
    ranking: Ranking,
    asked: Sequence[NamedMeasure],
    *,
    duplicates: DuplicateRule = "error",
    background: Background | None = None,
) -> Scores:
    """Score one ranking; measures beyond accuracy look at the ``background`` as well."""
    return Evaluation.match(gold, ranking, duplicates=duplicates, background=background).scores(asked)


class Evaluation:
    """A gold and a ranking ready to be measured; measures that order alike share one judging."""

    def __init__(
        self,
        matched: MatchedRanking,
        source: str,
        background: Background | None = None,
        notes: tuple[ReportWarning, ...] = (),
    ) -> None:
        self.matched = matched
        self.source = source
        self.background = None if background is None else checked_background(background, source)
        self._notes = notes
        self._lists: dict[tuple[OrderRules, int], Lists] = {}
        self._judgings: dict[tuple[OrderRules, bool], Judged] = {}
        self._places: dict[OrderRules, tuple[pl.Series, CatalogPositions]] = {}
        self._cut: tuple[object, int, Judged] | None = None
        """What the last cut of a gold was made from and where, and the cut."""

    @classmethod
    def match(
        cls,
        gold: Gold,
        ranking: Ranking,
        *,
        duplicates: DuplicateRule = "error",
        allow_disjoint_queries: bool = False,
        background: Background | None = None,
    ) -> "Evaluation":
        """Return the evaluation of a ranking that is to be matched with its gold."""
        if not allow_disjoint_queries:
            check_matching(gold, ranking)
        matched = MatchedRanking(gold, ranking, duplicates=duplicates, allow_disjoint_queries=allow_disjoint_queries)
        numbered = () if by_row_number(gold, ranking) else ranking.row_numbers
        notes = (*as_warnings(ranking.notes, "ranking"), *row_number_warnings(numbered, gold.source))
        if ranking.source == gold.source and isfile(ranking.source):
            text = f"the gold itself, {gold.source}, is evaluated as a run, so its scores say nothing"
            notes = (ReportWarning(f"{text}; name the file of the run", code=GOLD_AS_RANKING), *notes)
        return cls(matched, ranking.source, background, notes)

    def judged(self, measure: Measure) -> Judged:
        """Return the judging that the measure's conventions ask for."""
        places = measure.metric.needs_places or measure["gold"] == "k"
        key = (_order_rules(measure), places)
        if key not in self._judgings:
            self._judgings[key] = self.matched.judge(*key)
        return self._judgings[key]

    def within(self, kept: Bools, groups: ItemGroups | None = None, number: int = 0) -> "Evaluation":
        """Return the evaluation against some rows of the gold; queries that have none of them are left out.

        With ``groups``, whose ``number``-th has these rows' items, measures that depend on positions count these among
        the group's items: all other results are skipped.
        """
        return _Within(self, kept, groups, number)

    def places(self, measure: Measure, catalogue: pl.Series) -> CatalogPositions:
        """Return the rankings as places in the catalogue, ordered as the measure asks."""
        rules = _order_rules(measure)
        cached = self._places.get(rules)
        if cached is None or cached[0] is not catalogue:
            cached = self._places[rules] = catalogue, self.matched.places(catalogue, rules)
        return cached[1]

    @property
    def queries(self) -> pl.Series:
        return self.matched.queries

    def values(self, measure: Measure) -> Floats:
        """Return one measure for every query."""
        depth = self.matched.depth
        if depth is not None and measure.k is not None and depth < measure.k and self.matched.deepest >= depth:
            raise UsageError(
                f"{measure} looks at {measure.k:,} items, and only the first {depth:,} of each list were ranked",
                where=self.source,
                expected=f"cut-offs up to {depth:,}",
                hint=f"Rank {measure.k:,} or more, as with rankjury.recommend(task, model, k={measure.k}).",
            )
        judged = self._cut_judged(measure)
        if measure.metric.of_lists:
            judged = replace(judged, lists=self._shown(measure))
        return measure_values(judged, measure, self.source)

    def _shown(self, measure: Measure) -> Lists:
        if self.background is None:
            raise UsageError(
                f"{measure.name} looks at what was known before: the catalogue, and what users took in training",
                where=self.source,
                expected="a gold of the kind interactions, or background=task.background",
            )
        rules, k = _order_rules(measure), self.matched.deepest if measure.k is None else measure.k
        if (rules, k) not in self._lists:
            self._lists[rules, k] = self.matched.lists(self.background, k, rules)
        return self._lists[rules, k]

    def _cut_judged(self, measure: Measure) -> Judged:
        """Cut the gold as the measure asks; a cut is made from the last one where that is no smaller."""
        judged = self.judged(measure)
        if measure["gold"] not in ("k", "tied") or measure.k is None:
            return judged
        key = (id(judged), measure["gold"])
        last_key, k, last = self._cut or (None, 0, judged)
        if (last_key, k) != (key, measure.k):
            last = cut_gold(last if last_key == key and k > measure.k else judged, measure)
            self._cut = key, measure.k, last
        return last

    def table(self, asked: Sequence[NamedMeasure]) -> Floats:
        """Return all measures for every query, as queries × measures."""
        by_cut = sorted((named.measure for named in asked), key=lambda by: (str(by["gold"]), -(by.k or 0)))
        values = {measure: self.values(measure) for measure in by_cut}
        columns = [values[named.measure] for named in asked]
        return np.column_stack(columns) if columns else np.empty((len(self.queries), 0))

    def scores(self, asked: Sequence[NamedMeasure]) -> Scores:
        """Return all measures for every query, with their conventions and warnings."""
        values = self.table(asked)
        warnings = self.warnings([named.measure for named in asked])
        return make_scores(asked, self.queries, values, tuple(warnings), self.source)

    def warnings(self, measures: Sequence[Measure]) -> Iterable[ReportWarning]:
        """Return the warnings about the ranking and how it fits the gold, with counts."""
        yield from self._notes
        if measures:
            yield from self.findings(measures).warnings(measures)

    def findings(self, measures: Sequence[Measure]) -> Findings:
        """Return the counts behind the warnings."""
        return Findings.of(self.matched, self.judged(measures[0]), measures)


def make_scores(
    asked: Sequence[NamedMeasure],
    queries: pl.Series,
    values: Floats,
    warnings: tuple[ReportWarning, ...] = (),
    source: str = "ranking",
) -> Scores:
    """Return a table of scores with what its columns are."""
    metrics = {named.label: named.measure.metric for named in asked}
    return Scores(
        queries=queries,
        labels=tuple(metrics),
        conventions=tuple(str(named.measure) for named in asked),
        aggregates=tuple(metric.aggregate for metric in metrics.values()),
        values=values,
        warnings=warnings,
        source=source,
        lower_is_better=frozenset(label for label, metric in metrics.items() if metric.lower_is_better),
        whole={label: metric.highest for label, metric in metrics.items() if metric.whole},
    )


def evaluate_item_group(
    evaluation: Evaluation, gold: Gold, ranking: Ranking, groups: ItemGroups, number: int, duplicates: DuplicateRule
) -> Evaluation:
    """Return the evaluation within one of the groups of items.

    It is made from the judging of all items, unless duplicate rows of the gold were dropped there.
    """
    kept = groups.rows(number, gold.items)
    if len(evaluation.matched.gold.items) != kept.size:
        evaluation = Evaluation.match(gold.part(kept), ranking, duplicates=duplicates, allow_disjoint_queries=True)
        kept = np.ones(len(evaluation.matched.gold.items), dtype=bool)
    return evaluation.within(kept, groups, number)


def warn_of_short_slices(
    whole: Evaluation, parts: Mapping[str, Evaluation], asked: Sequence[NamedMeasure]
) -> Iterator[ReportWarning]:
    """Warn where lists that were ranked to a depth hold fewer items of a slice than measures by position look at.

    Only of rankings whose depth is known: that of a file is the user's, and a report says how slices are ranked.
    """
    depth = whole.matched.depth
    if depth is None or whole.matched.deepest < depth:
        return
    by_position = {named.measure.k: named.measure for named in reversed(asked) if named.measure.metric.by_position}
    for k in sorted(k for k in by_position if k is not None):
        measure = by_position[k]
        judgings = {name: part.judged(measure) for name, part in parts.items()}
        short = [name for name, judged in judgings.items() if (judged.depth[judged.present] < k).any()]
        if short:
            yield ReportWarning(
                f"slices of items: of the {depth:,} items that are listed for a {{query}}, fewer than {k:,} are of the "
                f"slice in {join_names(short, 3)}: {measure} counts what is not listed as not retrieved there; "
                "a larger depth lists more",
                code="short-slices",
            )
            return


class _Within(Evaluation):
    """Judged once for the whole gold, and looked at for some of its items."""

    def __init__(self, whole: Evaluation, kept: Bools, groups: ItemGroups | None, number: int) -> None:
        super().__init__(whole.matched, whole.source)
        self._whole, self._kept = whole, kept
        self._groups, self._number = groups, number
        self._parts: dict[tuple[int, bool], Judged] = {}

    @property
    def queries(self) -> pl.Series:
        for judged in self._parts.values():
            return judged.queries
        gold = self.matched.gold
        nonempty = np.diff(np.concatenate(([0], np.cumsum(self._kept)))[gold.starts]) > 0
        return gold.queries.filter(nonempty).sort()

    def judged(self, measure: Measure) -> Judged:
        judged, groups = self._whole.judged(measure), self._groups
        skipping = measure.metric.by_position and groups is not None
        key = (id(judged), skipping)
        if key not in self._parts:
            if skipping and groups is not None:
                places = self._whole.places(measure, groups.items)
                judged = places.skipping(judged, groups.members[self._number])
            self._parts[key] = self.matched.within(judged, self._kept)
        return self._parts[key]

    def warnings(self, measures: Sequence[Measure]) -> Iterable[ReportWarning]:
        return ()


def _order_rules(measure: Measure) -> OrderRules:
    ties = measure["ties"] if measure["ties"] in get_args(TieRule) else "id"
    return OrderRules(cast(TieRule, ties), str(measure["scores"]), str(measure["self"]))


def cut_gold(judged: Judged, measure: Measure) -> Judged:
    """Cut the gold as the measure asks."""
    if measure["gold"] not in ("k", "tied") or measure.k is None:
        return judged
    return judged.cut_gold(measure.k, tied=measure["gold"] == "tied")


def measure_values(judged: Judged, measure: Measure, source: str = "ranking") -> Floats:
    """Return one measure for every query, its policies on empty queries applied; the gold is already cut."""
    options = measure.metric_options()
    values = np.concatenate([measure.metric.function(part, measure.k, **options) for part in judged.parts()])
    policies = [("missing", ~judged.present, "is missing from the ranking")]
    if measure.metric.needs_relevant:
        empty = count_relevant(judged, measure.relevant_from) == 0
        policies.insert(0, ("empty", empty, "has nothing relevant"))
    for option, affected, problem in policies:
        if measure[option] == "error" and affected.any():
            query = judged.queries[int(np.argmax(affected))]
            raise DataError(
                f"query {query!r} {problem}",
                where=f"{source}, {measure}",
                expected=f"none, under {option}=error",
                hint=f"Score them 0 with {option}=zero, or leave them out with {option}=skip.",
                count_note=plural(int(affected.sum()), "such query", "such queries"),
            )
        if measure[option] == "skip":
            values[affected] = np.nan
        elif option == "empty":
            values[affected] = 0.0
    return values
