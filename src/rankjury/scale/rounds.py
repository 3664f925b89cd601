"""Rounds over the scores of all blocks, whose results can be added in any order, and the report made from them.

The first round surveys (ranges and sizes), the second tallies (sums and resamples), the third ranks differences. Sums
are exact, so all values equal those of an evaluation without blocks, to the last digit.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

from rankjury.core.types import Floats
from rankjury.errors import DataError
from rankjury.evaluation.compare import interval_warnings
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import SystemResult
from rankjury.evaluation.sections import Quantiles, with_unit
from rankjury.evaluation.slices.groups import (
    AttributeRows,
    GroupDefinition,
    check_group_count,
    crossing_name,
    define_groups,
    suitable_attributes_of,
)
from rankjury.evaluation.slices.stats import Gap, Slice, check_slice_names, correct_slices, gap_between, signs_for
from rankjury.scale.block_scores import BlockFindings, BlockScores
from rankjury.scale.request import EvaluationRequest
from rankjury.stats.comparison import Comparison, correct_p_values
from rankjury.stats.estimates import QuantileSketch, from_mean_scale
from rankjury.stats.mergeable import (
    Outline,
    RankTotals,
    SquareSums,
    TableLayout,
    Tally,
    estimate_columns,
    signed_ranks,
)
from rankjury.stats.resampling import Keys
from rankjury.stats.significance import SignedRanks, two_sample_test
from rankjury.stats.sums import Summable

Value = TypeVar("Value")


@dataclass(frozen=True)
class Panel:
    """All queries, or one slice."""

    name: str
    note: str
    of: str
    """``queries`` or ``items`` for a slice; empty for all queries."""
    table: int = 0
    """Index of the scores: against the whole gold (0), or against a group of items."""
    attributes: int = 0
    definition: GroupDefinition | None = None
    what: str = ""
    """The attribute, or the two, that define the slice."""

    @property
    def is_slice(self) -> bool:
        return bool(self.of)


@dataclass(frozen=True, eq=False)
class PanelScores:
    """Scores of a panel's queries in a block, and of the other queries."""

    panel: Panel
    scores: Floats
    keys: Keys
    others: Floats


def make_panels(request: EvaluationRequest, found: BlockFindings) -> tuple[Panel, ...]:
    """Return the panel of all queries, then those of the slices, some of which may be empty."""
    panels = [Panel("", "", "")]
    for number, (table, censuses) in enumerate(zip(request.attributes, found.censuses, strict=True)):
        wanted = table.asked or suitable_attributes_of(censuses)
        if not wanted:
            raise DataError("found no attribute that groups", where=table.path, expected="a category or a number")
        for attributes in wanted:
            what = crossing_name(attributes)
            for group in define_groups(attributes, censuses, table.path):
                panels.append(Panel(group.name, group.note, "queries", 0, number, group, what))
    if request.item_groups is not None:
        named = zip(request.item_groups.names, request.item_groups.notes, strict=True)
        panels += [Panel(name, note, "items", number) for number, (name, note) in enumerate(named, 1)]
    check_slice_names([panel.name for panel in panels])
    return tuple(panels)


def panel_scores(request: EvaluationRequest, panels: Sequence[Panel], scored: BlockScores) -> Iterator[PanelScores]:
    """Yield the scores of every panel's queries in a block, and of the other queries if slices are compared to them."""
    table = cache(scored.table)
    attribute_rows = cache(lambda number: AttributeRows(scored.attributes(number)))
    for panel in panels:
        scores, keys = table(panel.table), scored.keys
        if panel.definition is not None:
            members = panel.definition.members(attribute_rows(panel.attributes))
        elif panel.table:
            members = scored.participates(panel.table)
        else:
            yield PanelScores(panel, scores, keys, scores[:0])
            continue
        others = scores[~members] if panel.of == "queries" and _compares_with_others(request) else scores[:0]
        yield PanelScores(panel, scores[members], keys[members], others)


@dataclass(frozen=True, eq=False)
class Survey(Summable):
    """Results of the first round by panel: of its queries, and of the other queries if compared with them."""

    outlines: tuple[Outline, ...]
    others: tuple[Outline, ...]

    def nonempty(self, panels: Sequence[Panel], request: EvaluationRequest) -> "tuple[tuple[Panel, ...], Survey]":
        """Return panels and survey without empty slices."""
        places = [place for place, outline in enumerate(self.outlines) if outline.size or not panels[place].is_slice]
        rest = tuple(panels[place] for place in places)
        groups = Counter((panel.what, panel.attributes) for panel in rest if panel.of == "queries")
        for (what, number), count in groups.items():
            check_group_count(count, what, request.attributes[number].path)
        return rest, Survey(
            tuple(self.outlines[place] for place in places), tuple(self.others[place] for place in places)
        )


@dataclass(frozen=True, eq=False)
class Tallies(Summable):
    """Results of the second round by panel; for means without intervals only the spread."""

    tallies: tuple[Tally, ...]
    spreads: tuple[SquareSums, ...]
    others: tuple[SquareSums, ...]
    quantiles: tuple[QuantileSketch, ...]
    """Of all queries, by column, if requested."""


def survey(request: EvaluationRequest, panels: Sequence[Panel], scored: BlockScores) -> Survey:
    """Run the first round on a block."""
    layout = request.layout
    outlines = [
        (Outline.of(part.scores, layout), Outline.of(part.others, layout))
        for part in panel_scores(request, panels, scored)
    ]
    return Survey(tuple(outline for outline, _ in outlines), tuple(others for _, others in outlines))


def tally(
    request: EvaluationRequest, panels: Sequence[Panel], found: Survey, scored: BlockScores, scores_per_column: int
) -> Tallies:
    """Run the second round on a block; ``scores_per_column``: the number kept for quantiles."""
    layout, resampling = request.layout, request.resampling
    signs = signs_for((len(panels) - 1) * (len(request.systems) - 1), resampling) if resampling else 0
    tallies, spreads, others = [], [], []
    quantiles: tuple[QuantileSketch, ...] = ()
    parts = zip(panel_scores(request, panels, scored), found.outlines, found.others, strict=True)
    for part, outline, rest in parts:
        if not part.panel.is_slice and request.quantiles:
            quantiles = tuple(QuantileSketch.of(column, scores_per_column) for column in part.scores.T)
        if resampling is None:
            spreads.append(SquareSums.of(part.scores, layout, outline))
            continue
        signs_of_panel = signs if part.panel.is_slice else None
        whole = found.outlines[0] if part.panel.of == "queries" and _compares_with_others(request) else None
        tallies.append(Tally.of(part.scores, part.keys, layout, outline, resampling, signs=signs_of_panel, whole=whole))
        others.append(SquareSums.of(part.others, layout, rest))
    return Tallies(tuple(tallies), tuple(spreads), tuple(others), quantiles)


def signed_differences(
    request: EvaluationRequest, panels: Sequence[Panel], found: Survey, scored: BlockScores
) -> list[SignedRanks]:
    """Run the third round on a block: return the differences of the pairs of every panel, panel by panel."""
    return [
        signed_ranks(part.scores, pair, of_pair)
        for part, outline in zip(panel_scores(request, panels, scored), found.outlines, strict=True)
        for pair, of_pair in zip(request.layout.pairs, outline.pairs, strict=True)
    ]


def rank_differences(blocks: Iterable[Sequence[SignedRanks]]) -> list[RankTotals]:
    """Return the ranks of the differences of all blocks, in the order of ``signed_differences``."""
    return [RankTotals.of(SignedRanks.joined(differences)) for differences in zip(*blocks, strict=True)]


def _compares_with_others(request: EvaluationRequest) -> bool:
    """Return whether slices are compared with the other queries: only without a baseline."""
    return request.baseline is None and request.resampling is not None


@dataclass(frozen=True, eq=False)
class RoundResults:
    """Results of all rounds."""

    found: BlockFindings
    panels: tuple[Panel, ...]
    survey: Survey
    tallies: Tallies
    ranks: Sequence[RankTotals]
    """Of the pairs of every panel, panel by panel."""


def run_rounds(
    request: EvaluationRequest,
    found: BlockFindings,
    run: Callable[[str, Callable[[BlockScores], Any]], Any],
    rank: Callable[[Sequence[Panel], Survey], Iterable[Sequence[RankTotals]]],
    scores_per_column: int,
) -> Report:
    """Run all rounds, and return the report, without per-query scores, which may be too many.

    Args:
        request: The systems and measures.
        found: The findings of all blocks.
        run: Applies a function to all blocks and returns the sum of its results; its first argument names the round.
        rank: Ranks the differences of all blocks within ranges of sizes, which ascend.
        scores_per_column: Scores per column that are kept for exact quantiles.
    """
    every = make_panels(request, found)
    panels, outlined = run("Adding up", partial(survey, request, every)).nonempty(every, request)
    tallied = run("Resampling", partial(tally, request, panels, outlined, scores_per_column=scores_per_column))
    by_range = () if request.baseline is None else rank(panels, outlined)
    ranks = [RankTotals.joined(of_pair) for of_pair in zip(*by_range, strict=True)]
    return _make_report(request, RoundResults(found, panels, outlined, tallied, ranks))


def _make_report(request: EvaluationRequest, results: RoundResults) -> Report:
    layout = request.layout
    found, outlines = results.found, results.survey.outlines
    if request.resampling is None:
        columns = [
            estimate_columns(layout, outline, spread)
            for outline, spread in zip(outlines, results.tallies.spreads, strict=True)
        ]
    else:
        columns = [
            tallied.estimates(layout, outline, request.resampling)
            for outline, tallied in zip(outlines, results.tallies.tallies, strict=True)
        ]
    estimates = [_by_system(layout, values) for values in columns]
    conventions = {named.label: str(named.measure) for named in request.asked}
    systems = {name: SystemResult(estimates[0][name], conventions) for name in request.systems}
    report = Report(systems, request.resampling, request.baseline, warnings=with_unit(found.warnings(request)))
    slices = [
        Slice(
            panel.name,
            panel.note,
            panel.of,
            outlines[place].size,
            estimates[place],
            beside=() if request.resampling is None else tuple(_slice_comparisons(request, results, place)),
        )
        for place, panel in enumerate(results.panels)
        if panel.is_slice
    ]
    if request.quantiles:
        values = [sketch.values(request.quantiles) for sketch in results.tallies.quantiles]
        for name, of_system in _by_system(layout, values).items():
            report = report.with_sections(Quantiles(of_system), system=name)
    if request.resampling is None:
        return replace(report, slices=tuple(slices))
    if request.baseline is not None:
        report = replace(report, comparisons=tuple(correct_p_values(_comparisons(request, results, 0))))
    apart = dict(zip(request.systems, found.apart, strict=True)) if request.baseline is not None else {}
    warnings = [*report.warnings, *interval_warnings(report, slices, apart, found.queries)]
    return replace(report, slices=tuple(correct_slices(slices)), warnings=with_unit(warnings))


def _by_system(layout: TableLayout, values: Sequence[Value]) -> dict[str, dict[str, Value]]:
    """Return the values of the columns by system and measure."""
    by_system: dict[str, dict[str, Value]] = {}
    for column, value in zip(layout.columns, values, strict=True):
        by_system.setdefault(column.system, {})[column.measure] = value
    return by_system


def _comparisons(request: EvaluationRequest, results: RoundResults, place: int) -> Iterator[Comparison]:
    """Yield the comparisons of a panel, not yet corrected."""
    layout, resampling = request.layout, request.resampling
    assert resampling is not None
    outline, part = results.survey.outlines[place], results.tallies.tallies[place]
    ranks = results.ranks[place * len(layout.pairs) : (place + 1) * len(layout.pairs)]
    for difference, pair in zip(part.differences(layout, outline, ranks), layout.pairs, strict=True):
        yield difference.compared(pair.versus, resampling)


def _slice_comparisons(
    request: EvaluationRequest, results: RoundResults, place: int
) -> Iterator[Comparison] | Iterator[Gap]:
    """Yield the comparisons of a slice's systems with the baseline, or its gaps to the other queries."""
    if request.baseline is not None:
        yield from _comparisons(request, results, place)
        return
    if results.panels[place].of != "queries":
        return
    tallies, resampling = results.tallies, request.resampling
    assert resampling is not None
    whole, part = tallies.tallies[0], tallies.tallies[place]
    outline, others = results.survey.outlines[place], results.survey.others[place]
    for number, column in enumerate(request.layout.columns):
        inside = part.beside[number]
        rest = whole.pooled[number].without(inside)
        if inside.n and rest.n:
            sides = part.spread.moments(outline, number), tallies.others[place].moments(others, number)
            mean, beyond = (from_mean_scale(side[0], column.aggregate) for side in sides)
            yield gap_between(column, inside, rest, mean - beyond, two_sample_test(*sides), resampling)
