"""Rankings scored, compared and sliced: gold × rankings → Report."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import polars as pl

from karat.breakdown import break_down, correct_slices, pairs_of, slice_of_items
from karat.changes import Change, Trace, changes_between
from karat.dialects import Asked
from karat.errors import UnknownName, UsageError
from karat.evaluation import Evaluation
from karat.judging import DuplicateRule
from karat.report import Report
from karat.results import Scores
from karat.slices import Cuts, Group
from karat.statistics.comparison import Comparison, compare_pairs, correct
from karat.statistics.estimates import FEW_QUERIES
from karat.statistics.intervals import Resampling
from karat.statistics.streams import keys_of
from karat.types import Bools, Gold, Ranking
from karat.wording import count

__all__ = ["Rankings", "assess"]

Rankings = Mapping[str, Callable[[], Ranking]]
"""Systems by name, each loaded when its turn comes."""

_CHANGES_KEPT = 10


@dataclass(frozen=True, eq=False)
class _System:
    """What is kept of a ranking once it was scored."""

    scores: Scores
    traces: dict[str, Trace]
    """By measure."""
    present: Bools
    of_items: list[Scores]
    """With the gold restricted to each group of items."""


def assess(
    gold: Gold,
    rankings: Rankings,
    asked: Sequence[Asked],
    *,
    how: Resampling | None = None,
    baseline: str | None = None,
    slices: Iterable[Cuts] = (),
    item_slices: Iterable[Cuts] = (),
    duplicates: DuplicateRule = "error",
) -> Report:
    """Score every ranking; with ``how``, say how far to trust it; with ``baseline``, compare with that system."""
    if baseline is not None and baseline not in rankings:
        raise UnknownName("system", baseline, rankings)
    if baseline is not None and how is None:
        raise UsageError("a comparison needs resampling", hint="Leave --no-ci away.")
    slices, item_slices = list(slices), list(item_slices)
    if how is None and (slices or item_slices):
        raise UsageError("slices need resampling to be told apart", hint="Leave --no-ci or --slices away.")
    notes: list[str] = []
    groups = [group for cuts in slices for group in cuts.groups(gold.queries.sort(), notes)]
    item_groups = list(_restricted(gold, item_slices, notes))
    systems = {
        name: _score(gold, load(), asked, [part for _, part in item_groups], duplicates, traced=baseline is not None)
        for name, load in rankings.items()
    }
    scores = {name: system.scores for name, system in systems.items()}
    report = Report(scores, {name: one.estimates(how) for name, one in scores.items()}, how, baseline)
    warnings = [f"{name}: {warning}" for name, one in scores.items() for warning in one.warnings] + notes
    if how is None:
        return replace(report, warnings=tuple(warnings))
    found = [*break_down(scores, groups, how, baseline)] if groups else []
    for number, (group, _) in enumerate(item_groups):
        found.append(slice_of_items(group, {n: s.of_items[number] for n, s in systems.items()}, how, baseline))
    return replace(
        report,
        comparisons=tuple(_compare(scores, baseline, how)) if baseline else (),
        changes=tuple(_changes(systems, baseline, asked)) if baseline else (),
        slices=tuple(correct_slices(found)),
        warnings=(*warnings, *_cautions(systems, report)),
    )


def _restricted(gold: Gold, item_slices: Iterable[Cuts], notes: list[str]) -> Iterator[tuple[Group, Gold]]:
    """The gold with the items of each group only; a group none of whose items is judged is left out."""
    for cuts in item_slices:
        items = gold.items.cast(pl.String)
        ids = items.unique().sort()
        for group in cuts.groups(ids, notes):
            kept = items.is_in(ids.filter(group.members).implode()).to_numpy()
            lengths = np.add.reduceat(np.append(kept, False), gold.starts[:-1]) * (np.diff(gold.starts) > 0)
            held = lengths > 0
            starts = np.concatenate(([0], np.cumsum(lengths[held])))
            part = replace(
                gold, queries=gold.queries.filter(held), starts=starts, items=gold.items.filter(kept),
                grades=gold.grades[kept],
            )  # fmt: skip
            yield replace(group, name=f"item.{group.name}"), part


def _score(
    gold: Gold,
    ranking: Ranking,
    asked: Sequence[Asked],
    restricted: Sequence[Gold],
    duplicates: DuplicateRule,
    *,
    traced: bool,
) -> _System:
    evaluation = Evaluation(gold, ranking, duplicates=duplicates)
    traces = {}
    if traced:
        traces = {one.label: Trace(evaluation.judged(one.measure), evaluation.bench.gold) for one in asked}
    return _System(
        evaluation.scores(asked),
        traces,
        evaluation.bench.present,
        [Evaluation(part, ranking, duplicates=duplicates, may_be_apart=True).scores(asked) for part in restricted],
    )


def _compare(scores: Mapping[str, Scores], baseline: str, how: Resampling) -> list[Comparison]:
    keys = keys_of(scores[baseline].queries, how.seed)
    return correct(compare_pairs(pairs_of(scores, baseline), keys, how))


def _changes(systems: Mapping[str, _System], baseline: str, asked: Sequence[Asked]) -> Iterator[Change]:
    ours = systems[baseline]
    for name, system in systems.items():
        for one in asked if name != baseline else ():
            yield from changes_between(
                (ours.scores[one.label], ours.traces[one.label]),
                (system.scores[one.label], system.traces[one.label]),
                system=name,
                measure=one.label,
                rel=cast(float | None, one.measure["rel"]),
                lower_is_better=one.measure.metric.lower_is_better,
                most=_CHANGES_KEPT,
            )


def _cautions(systems: Mapping[str, _System], report: Report) -> Iterator[str]:
    """What to keep in mind when reading intervals and differences."""
    sizes = {estimate.n for measures in report.estimates.values() for estimate in measures.values() if estimate.n}
    if sizes and min(sizes) < FEW_QUERIES:
        few = min(sizes)
        yield (
            "one query: no interval can be given"
            if few == 1
            else f"{few} queries: intervals from fewer than {FEW_QUERIES} are rough, and often too narrow"
        )
    if report.baseline is None:
        return
    ours = systems[report.baseline].present
    for name, system in systems.items():
        apart = int((ours != system.present).sum())
        if apart:
            yield (
                f"{report.baseline} and {name} answer different queries "
                f"({count(apart, 'is', 'are')} answered by one of them only): compared on the gold's {len(ours):,}"
            )
