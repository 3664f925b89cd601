"""Rankings scored, compared and sliced: gold × rankings → Report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import plural
from rankjury.core.types import Background, Bools, Gold, Ranking, RowNumbers
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.checks import warn_of_names
from rankjury.evaluation.evaluate import Evaluation, evaluate_item_group, make_scores, warn_of_short_slices
from rankjury.evaluation.judge import DuplicateRule
from rankjury.evaluation.paired import Change, Trace, changes_between, compare_scores, pair_with_baseline
from rankjury.evaluation.query_lists import GOLD_SHOWN, Answers, ItemLists, list_gold, list_ranking
from rankjury.evaluation.random_baseline import RandomRanking, expected_scores, has_expectation
from rankjury.evaluation.report import Report
from rankjury.evaluation.row_numbers import ROW_NUMBERS, by_row_number, row_number_warnings
from rankjury.evaluation.scores import QueryData, Scores, SystemResult, estimate_systems
from rankjury.evaluation.sections import QUERIES, ReportWarning, with_unit
from rankjury.evaluation.slices import NO_ITEM_GROUPS, ItemGroups, SliceTable
from rankjury.evaluation.slices.stats import Crossings, Slice, SliceGroups
from rankjury.measures.dialects import NamedMeasure
from rankjury.stats.comparison import FEW_DIFFERENCES
from rankjury.stats.estimates import FEW_QUERIES
from rankjury.stats.resampling import Resampling

Rankings = Mapping[str, Ranking | RandomRanking] | Iterable[tuple[str, Ranking | RandomRanking]]
"""Systems by name; or one after the other, so that only one ranking needs to be in memory."""

_CHANGES_KEPT = 10


@dataclass(frozen=True, eq=False)
class _System:
    """What is kept of a ranking once it was scored."""

    scores: Scores
    traces: dict[str, Trace]  # by measure
    present: Bools
    of_items: dict[str, Scores]
    """With the gold restricted to each group of items, by the group's name; those that its gold has."""
    first: ItemLists | None = None  # of every query the first items, where they are to be kept
    by_chance: bool = False


def assess(
    gold: Gold,
    rankings: Rankings,
    asked: Sequence[NamedMeasure],
    *,
    golds: Mapping[str, Gold] | None = None,
    resampling: Resampling | None = None,
    baseline: str | None = None,
    slices: Iterable[SliceTable] = (),
    item_slices: Iterable[SliceTable] = (),
    crossings: Crossings = (),
    tested: Sequence[str] | None = None,
    duplicates: DuplicateRule = "error",
    keep_top: int = 0,
    relative: bool = False,
    background: Background | None = None,
    unit: tuple[str, str] = QUERIES,
    progress: Progress = NO_PROGRESS,
) -> Report:
    """Score every ranking, compare it with the baseline, break it down by slices, and return the report.

    Args:
        gold: The gold of systems that have none of their own.
        rankings: Systems by name, or pairs of name and ranking, which are loaded one at a time.
        asked: The measures.
        golds: By system, the gold that it is evaluated against, over the same queries; needed where ``rankings`` are
            pairs.
        resampling: How intervals and tests are made; None: means only.
        baseline: The system that the others are compared with, as far as they have the same gold.
        slices: Attributes of queries to group by.
        item_slices: Attributes of items to group by.
        crossings: Attributes of queries and of items whose groups are crossed.
        tested: The measures that are compared with the baseline; None: all.
        duplicates: How to handle duplicate (query, item) pairs.
        keep_top: How many items of every query the report keeps.
        relative: Whether differences are also given as shares of the baseline's mean.
        background: What measures beyond accuracy look at. A measure over all queries has no slices.
        unit: The words for a query and for queries in warnings.
        progress: Reports the steps that follow the scoring.
    """
    if isinstance(rankings, Mapping):
        golds, rankings = {name: (golds or {}).get(name, gold) for name in rankings}, rankings.items()
    elif golds is None:
        raise UsageError("the names of the systems are not known", expected="golds, by system")
    _check_request(golds, resampling, baseline)
    slices, item_slices = list(slices), list(item_slices)
    slicing = SliceGroups.of(gold, golds.values(), slices, item_slices) if slices or item_slices else None
    shown_golds = list(golds.values()) if keep_top else []
    judged = {id(truth): list_gold(truth, gold.sorted_queries, max(keep_top, GOLD_SHOWN)) for truth in shown_golds}
    systems = {}
    numbered: list[RowNumbers] = []
    for name, ranking in rankings:
        if isinstance(ranking, Ranking) and not by_row_number(golds[name], ranking):
            numbered += ranking.row_numbers
        within = NO_ITEM_GROUPS if slicing is None else slicing.item_groups[id(golds[name])]
        systems[name] = _score(
            golds[name], ranking, asked, within, duplicates, baseline is not None, background, (keep_top, judged)
        )
    progress.update("Resampling", 0, 1)
    scores = {name: system.scores for name, system in systems.items()}
    estimates = estimate_systems(scores, resampling)
    for name, system in systems.items():
        if system.by_chance:  # exact: nothing was drawn that an interval could be about
            estimates[name] = {label: replace(estimate, ci=None) for label, estimate in estimates[name].items()}
    by_chance = frozenset(name for name, system in systems.items() if system.by_chance)
    answers = _answers(systems, golds, gold.sorted_queries, judged, keep_top) if keep_top else None
    results = {
        name: SystemResult.of(table, estimates[name], random=name in by_chance) for name, table in scores.items()
    }
    for name, listed in answers.systems.items() if answers is not None else ():
        histogram = listed.histogram()
        if histogram is not None:
            results[name] = replace(results[name], sections={histogram.name: histogram})
    same = all(other is gold for other in golds.values())
    truth = replace(gold) if same else None  # a copy, without what was cached for scoring
    report = Report(results, resampling, baseline, queries=QueryData(scores, answers), gold=truth)
    warnings = list(warn_of_names(asked))
    of_systems = [warning.about(name) for name, found in scores.items() for warning in found.warnings]
    warnings += row_number_warnings(numbered, gold.source)  # one for all systems
    warnings += dict.fromkeys(warning for warning in of_systems if warning.code != ROW_NUMBERS)
    comparable = [
        name for name in systems if baseline and golds[name] is golds[baseline] and not systems[name].by_chance
    ]
    compared = {name: scores[name].only(tested) for name in comparable}
    if baseline is not None and resampling is not None:
        kept = [  # no single query can be shown for measures of lists and of the whole
            named
            for named in asked
            if (tested is None or named.label in tested)
            and not (named.measure.metric.of_lists or named.measure.metric.whole)
        ]
        changes = _changes({name: systems[name] for name in comparable}, baseline, kept)
        by_system = compare_scores(pair_with_baseline(compared, baseline), resampling, relative=relative)
        comparisons = tuple(comparison for some in by_system for comparison in some)
        report = replace(report, comparisons=comparisons, changes=tuple(changes))
    if slicing is not None:
        warnings += slicing.warnings
        of_items = {name: system.of_items for name, system in systems.items()}
        sliced = slicing.slices(scores, of_items, crossings, resampling, baseline, compared, by_chance, progress)
        report = replace(report, slices=tuple(sliced))
    if resampling is not None:
        present = {name: system.present for name, system in systems.items() if baseline and not system.by_chance}
        unshared = {name: int((systems[baseline].present != mask).sum()) for name, mask in present.items() if baseline}
        warnings += interval_warnings(report, report.slices, unshared, len(gold.sorted_queries))
    return replace(report, warnings=with_unit(warnings, unit))


def report_on(scores: Scores) -> Report:
    """Return the report on one system that was scored alone, with its default intervals."""
    name, resampling = scores.source, Resampling()
    results = {name: SystemResult.of(scores, scores.estimates(resampling))}
    report = Report(results, resampling, queries=QueryData({name: scores}), gold=scores.gold)
    warnings = [warning.about(name) for warning in scores.warnings]
    warnings += interval_warnings(report, (), {}, len(scores.queries))
    return replace(report, warnings=with_unit(warnings))


def _check_request(golds: Mapping[str, Gold], resampling: Resampling | None, baseline: str | None) -> None:
    if baseline is not None and baseline not in golds:
        raise UnknownName("system", baseline, golds)
    if baseline is not None and resampling is None:
        raise UsageError("a comparison needs confidence intervals", hint="Drop --no-ci, or intervals=False.")
    first = next(iter(golds.values()))
    for other in golds.values():
        if other is not first and not other.sorted_queries.equals(first.sorted_queries):
            raise DataError(
                f"{other.source} has other queries than {first.source}",
                expected="golds over the same queries",
                hint="Evaluate them separately.",
            )


def _answers(
    systems: Mapping[str, _System],
    golds: Mapping[str, Gold],
    queries: pl.Series,
    judged: Mapping[int, ItemLists],
    keep_top: int,
) -> Answers:
    """Golds are called by their source where there are several."""
    several = list({id(truth): truth for truth in golds.values()}.values())
    sources = [truth.source for truth in several]
    if len(sources) == 1:
        sources = [""]
    elif len(set(sources)) < len(sources):
        sources = [f"{source} {number}" for number, source in enumerate(sources, 1)]
    names = dict(zip(map(id, several), sources, strict=True))
    return Answers(
        queries.cast(pl.String),
        {names[id(truth)]: judged[id(truth)] for truth in several},
        {name: system.first for name, system in systems.items() if system.first is not None},
        {name: names[id(golds[name])] for name in systems},
        keep_top,
    )


def _score(
    gold: Gold,
    ranking: Ranking | RandomRanking,
    asked: Sequence[NamedMeasure],
    groups: ItemGroups,
    duplicates: DuplicateRule,
    traced: bool,
    background: Background | None,
    kept: tuple[int, Mapping[int, ItemLists]],
) -> _System:
    """``kept``: how many items of every query are to be kept, and what is shown of the golds."""
    if isinstance(ranking, RandomRanking):
        of_gold = [named for named in asked if not named.measure.metric.of_lists]
        of_items = {
            name: _by_chance(gold.part(groups.rows(number, gold.items)), ranking, of_gold, duplicates, within=True)
            for number, name in enumerate(groups.names)
        }
        scores = _by_chance(gold, ranking, asked, duplicates)
        if of_items and (ranked := [named.label for named in of_gold if named.measure.metric.by_position]):
            unknown = f"{', '.join(ranked)}: undefined in slices of items, whose numbers of candidates are not known"
            warning = ReportWarning(unknown, code="no-expectation", count=len(ranked))
            scores = replace(scores, warnings=(*scores.warnings, warning))
        return _System(scores, {}, np.ones(len(scores.queries), dtype=bool), of_items, by_chance=True)
    evaluation = Evaluation.match(gold, ranking, duplicates=duplicates, background=background)
    of_gold = [named for named in asked if not named.measure.metric.of_lists]
    traces = {}
    if traced:
        traces = {named.label: Trace(evaluation.judged(named.measure), evaluation.matched.gold) for named in of_gold}
    scores = evaluation.scores(asked)
    keep_top, judged = kept
    first = None
    if keep_top:
        first = list_ranking(ranking, evaluation.matched.queries, keep_top, evaluation.matched.gold, judged[id(gold)])
    parts = {
        name: evaluate_item_group(evaluation, gold, ranking, groups, number, duplicates)
        for number, name in enumerate(groups.names)
    }
    of_items = {name: part.scores(of_gold) for name, part in parts.items()}
    scores = replace(scores, warnings=(*scores.warnings, *warn_of_short_slices(evaluation, parts, of_gold)))
    return _System(scores, traces, evaluation.matched.present, of_items, first)


def _by_chance(
    gold: Gold, chance: RandomRanking, asked: Sequence[NamedMeasure], duplicates: DuplicateRule, *, within: bool = False
) -> Scores:
    """Return the expectations; undefined where a measure's is not known.

    ``within`` a group of items those of measures by position are not: they depend on how many candidates it has.
    """
    known = [by for by in asked if has_expectation(by.measure) and not (within and by.measure.metric.by_position)]
    scores = expected_scores(gold, chance, known, duplicates=duplicates)
    values = np.full((len(scores.queries), len(asked)), np.nan)
    for place, named in enumerate(asked):
        if named in known:
            values[:, place] = scores[named.label]
    without = [named.label for named in asked if named not in known]
    text = f"no closed-form random baseline for {', '.join(without)}; shown as undefined"
    warnings = (ReportWarning(text, code="no-expectation", count=len(without)),) if without else ()
    return replace(make_scores(asked, scores.queries, values, warnings, scores.source), whole={})


def _changes(systems: Mapping[str, _System], baseline: str, asked: Sequence[NamedMeasure]) -> Iterator[Change]:
    ours = systems[baseline]
    for name, system in systems.items():
        for named in asked if name != baseline else ():
            label, measure = named.label, named.measure
            yield from changes_between(
                (ours.scores[label], ours.traces[label]),
                (system.scores[label], system.traces[label]),
                system=name,
                measure=label,
                rel=measure.relevant_from,
                lower_is_better=measure.metric.lower_is_better,
                most=_CHANGES_KEPT,
            )


def interval_warnings(
    report: Report, slices: Sequence[Slice], apart: Mapping[str, int], queries: int
) -> Iterator[ReportWarning]:
    """Return warnings about intervals and differences.

    ``apart`` says of how many of all the queries only one of a system and the baseline has an answer.
    """
    estimates = (entry for measures in report.estimates.values() for entry in measures.items())
    few = min((estimate.n for label, estimate in estimates if estimate.n and not report.is_whole(label)), default=0)
    compared = min((row.n for row in report.comparisons if row.n and not row.whole), default=few)
    if few == 1:
        yield ReportWarning("one {query}: no interval can be given", code="few-queries", count=1)
    elif 0 < (least := min(few, compared)) < FEW_QUERIES:
        text = f"{least} {{queries}}: intervals from fewer than {FEW_QUERIES} are rough, and often too narrow; add more"
        yield ReportWarning(text, code="few-queries", count=least)
    small = sum(part.n < FEW_QUERIES for part in slices)
    if small and few >= FEW_QUERIES:
        slices_have = plural(small, "slice has", "slices have")
        text = f"{slices_have} fewer than {FEW_QUERIES} {{queries}}: rough intervals there; merge or enlarge them"
        yield ReportWarning(text, code="small-slices", count=small)
    over_queries = [row for row in report.comparisons if row.n >= FEW_QUERIES and not row.whole]
    thin = [row for row in over_queries if 0 < row.better + row.worse < FEW_DIFFERENCES]
    if thin:
        names = ", ".join(f"{row.measure} of {row.system}" for row in thin[:2]) + (" …" if len(thin) > 2 else "")
        text = f"fewer than {FEW_DIFFERENCES} {{queries}} differ in {names}: the interval of the difference is rough; "
        text += "look at these queries, or add more"
        yield ReportWarning(text, code="few-differences", count=len(thin))
    tests = sum(row.tested for row in report.comparisons)
    if report.resampling and tests > (1 - report.level) * report.resampling.resamples:
        resamples = f"{report.resampling.resamples:,} resamples"
        text = f"{resamples} are too few for {tests:,} corrected comparisons; increase the number of resamples"
        yield ReportWarning(text, code="few-resamples", count=tests)
    for name, number in apart.items():
        if number:
            yield ReportWarning(
                f"{report.baseline} and {name} answer different {{queries}} "
                f"({plural(number, 'is', 'are')} answered by one of them only): aligned on the gold's {queries:,}",
                code="different-queries",
                count=number,
            )
