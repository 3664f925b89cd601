"""What was gathered → Report, without the scores of single queries, of which there may be too many."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rankjury.errors import DataError
from rankjury.evaluation.compare import interval_warnings
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import SystemResult
from rankjury.evaluation.sections import Quantiles, with_unit
from rankjury.evaluation.slices.stats import Gap, Slice, correct_slices, gap_between
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds.found import BlockFindings
from rankjury.scale.rounds.gather import Survey, Tallies
from rankjury.scale.rounds.panels import Panel
from rankjury.stats.comparison import Comparison, correct_p_values
from rankjury.stats.estimates import Estimate, from_mean_scale
from rankjury.stats.mergeable import RankTotals, TableLayout, estimate_columns
from rankjury.stats.significance import apart_test_of

Value = TypeVar("Value")

_MOST_QUERIES = 1 << 27
"""Sums of fixed-point scores of so many queries fit into 64 bits."""


@dataclass(frozen=True, eq=False)
class RoundResults:
    """All that the rounds brought."""

    found: BlockFindings
    panels: tuple[Panel, ...]
    survey: Survey
    tallies: Tallies
    ranks: Sequence[Sequence[RankTotals]]
    """By panel and pair, where there are pairs."""


def check_number_of_queries(found: BlockFindings, request: EvaluationRequest) -> None:
    if found.queries > _MOST_QUERIES:
        raise DataError(f"found {found.queries:,} queries", where=request.gold, expected=f"at most {_MOST_QUERIES:,}")


def make_report(request: EvaluationRequest, gathered: RoundResults) -> Report:
    """The same figures as from everything at once, to the last digit."""
    layout = request.layout
    found, survey = gathered.found, gathered.survey
    estimates = [_by_system(layout, _estimates(request, gathered, place)) for place in range(len(gathered.panels))]
    conventions = {one.label: str(one.measure) for one in request.asked}
    systems = {name: SystemResult(estimates[0][name], conventions) for name in request.systems}
    report = Report(systems, request.resampling, request.baseline, warnings=with_unit(found.warnings(request)))
    slices = [
        Slice(panel.name, panel.note, panel.of, survey.outlines[place].size, estimates[place], beside=tuple(beside))
        for place, panel in enumerate(gathered.panels)
        if panel.is_slice
        for beside in [_beside(request, gathered, place)]
    ]
    if request.quantiles:
        values = [one.values(request.quantiles) for one in gathered.tallies.quantiles]
        for name, of_system in _by_system(layout, values).items():
            report = report.with_sections(Quantiles(of_system), system=name)
    if request.resampling is None:
        return replace(report, slices=tuple(slices))
    if request.baseline is not None:
        report = replace(report, comparisons=tuple(correct_p_values(_comparisons(request, gathered, 0))))
    apart = dict(zip(request.systems, found.apart, strict=True)) if request.baseline is not None else {}
    warnings = [*report.warnings, *interval_warnings(report, slices, apart, found.queries)]
    return replace(report, slices=tuple(correct_slices(slices)), warnings=with_unit(warnings))


def _by_system(layout: TableLayout, values: Sequence[Value]) -> dict[str, dict[str, Value]]:
    """By system and measure, the values of the columns."""
    found: dict[str, dict[str, Value]] = {}
    for column, value in zip(layout.columns, values, strict=True):
        found.setdefault(column.system, {})[column.measure] = value
    return found


def _estimates(request: EvaluationRequest, gathered: RoundResults, place: int) -> list[Estimate]:
    layout, outline = request.layout, gathered.survey.outlines[place]
    if request.resampling is None:
        return estimate_columns(layout, outline, gathered.tallies.spreads[place])
    return gathered.tallies.tallies[place].estimates(layout, outline, request.resampling)


def _beside(request: EvaluationRequest, gathered: RoundResults, place: int) -> Sequence[Comparison | Gap]:
    if request.resampling is None:
        return ()
    if request.baseline is not None:
        return _comparisons(request, gathered, place)
    return list(_gaps(request, gathered, place)) if gathered.panels[place].of == "queries" else ()


def _comparisons(request: EvaluationRequest, gathered: RoundResults, place: int) -> list[Comparison]:
    """Not yet corrected."""
    layout, how = request.layout, request.resampling
    if how is None:
        return []
    outline, tally = gathered.survey.outlines[place], gathered.tallies.tallies[place]
    found = tally.differences(layout, outline, gathered.ranks[place])
    return [one.compared(pair.versus, how) for one, pair in zip(found, layout.pairs, strict=True)]


def _gaps(request: EvaluationRequest, gathered: RoundResults, place: int) -> Iterator[Gap]:
    """A slice beside the queries outside of it, for each system and measure."""
    tallies, survey, how = gathered.tallies, gathered.survey, request.resampling
    whole, part = tallies.tallies[0], tallies.tallies[place]
    outline, others = survey.outlines[place], survey.others[place]
    for number, column in enumerate(request.layout.columns):
        inside = part.beside[number]
        rest = whole.pooled[number].without(inside)
        if inside.n and rest.n and how is not None:
            sides = part.spread.moments(outline, number), tallies.others[place].moments(others, number)
            mean, beyond = (from_mean_scale(side[0], column.aggregate) for side in sides)
            yield gap_between(column, (inside, rest), mean - beyond, apart_test_of(*sides), how)
