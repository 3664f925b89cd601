"""Rounds over the scores of all blocks, whose results can be added in any order, and the report made from them.

The first round surveys (ranges and sizes), the second tallies (sums and resamples), the third ranks differences. Sums
are exact, so the report has the same values as one made from everything at once, to the last digit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

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
from rankjury.stats.sums import add_pairwise

Value = TypeVar("Value")
PanelDifferences = tuple[tuple[SignedRanks, ...], ...]
"""Differences by panel and pair, all of them or those within a range of sizes."""


@dataclass(frozen=True)
class Panel:
    """All queries, or a slice of them."""

    name: str
    note: str
    of: str
    """``queries`` or ``items`` for a slice; empty for all queries."""
    table: int = 0
    """Which scores: those against the whole gold (0), or against a group of items."""
    attributes: int = 0
    definition: GroupDefinition | None = None
    what: str = ""
    """The attribute, or the two, by which it is a slice."""

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
    """Return all queries, then the slices, some of which may be empty."""
    panels = [Panel("", "", "")]
    for number, (table, censuses) in enumerate(zip(request.attributes, found.censuses, strict=True)):
        wanted = table.asked or suitable_attributes_of(censuses)
        if not wanted:
            raise DataError("found no attribute that groups", where=table.path, expected="a category or a number")
        panels += [
            Panel(
                group.name, group.note, "queries", attributes=number, definition=group, what=crossing_name(attributes)
            )
            for attributes in wanted
            for group in define_groups(attributes, censuses, table.path)
        ]
    groups = request.item_groups
    if groups is not None:
        named = zip(groups.names, groups.notes, strict=True)
        panels += [Panel(name, note, "items", table=number) for number, (name, note) in enumerate(named, 1)]
    check_slice_names([panel.name for panel in panels])
    return tuple(panels)


def panel_scores(scored: BlockScores, panels: Sequence[Panel], *, others: bool = False) -> Iterator[PanelScores]:
    """Yield every panel's part of a block; ``others``: with the scores of the queries outside of a slice."""
    tables: dict[int, Floats] = {}
    rows: dict[int, AttributeRows] = {}
    keys = scored.keys
    for panel in panels:
        if panel.table not in tables:
            tables[panel.table] = scored.table(panel.table)
        scores = tables[panel.table]
        members = None
        if panel.definition is not None:
            if panel.attributes not in rows:
                rows[panel.attributes] = AttributeRows(scored.attributes(panel.attributes))
            members = panel.definition.members(rows[panel.attributes])
        elif panel.table:
            members = scored.participates(panel.table)
        nothing = np.empty((0, scores.shape[1]))
        if members is None:
            yield PanelScores(panel, scores, keys, nothing)
        else:
            rest = scores[~members] if others and panel.of == "queries" else nothing
            yield PanelScores(panel, scores[members], keys[members], rest)


@dataclass(frozen=True, eq=False)
class Survey:
    """Results of the first round by panel: of its queries, and of the others where it is compared with them."""

    outlines: tuple[Outline, ...]
    others: tuple[Outline, ...]

    def __add__(self, other: "Survey") -> "Survey":
        return Survey(add_pairwise(self.outlines, other.outlines), add_pairwise(self.others, other.others))

    def nonempty(self, panels: Sequence[Panel], request: EvaluationRequest) -> "tuple[tuple[Panel, ...], Survey]":
        """Return panels and survey without the slices that have no query."""
        kept = [place for place, outline in enumerate(self.outlines) if outline.size or not panels[place].is_slice]
        found = tuple(panels[place] for place in kept)
        for what, number in {(panel.what, panel.attributes) for panel in found if panel.of == "queries"}:
            same = [panel for panel in found if (panel.what, panel.attributes, panel.of) == (what, number, "queries")]
            check_group_count(len(same), what, request.attributes[number].path)
        return found, Survey(tuple(self.outlines[place] for place in kept), tuple(self.others[place] for place in kept))


@dataclass(frozen=True, eq=False)
class Tallies:
    """Results of the second round by panel; for means without intervals only their spread."""

    tallies: tuple[Tally, ...]
    spreads: tuple[SquareSums, ...]
    others: tuple[SquareSums, ...]
    quantiles: tuple[QuantileSketch, ...]
    """Of all queries, by column, where they are requested."""

    def __add__(self, other: "Tallies") -> "Tallies":
        return Tallies(
            add_pairwise(self.tallies, other.tallies),
            add_pairwise(self.spreads, other.spreads),
            add_pairwise(self.others, other.others),
            add_pairwise(self.quantiles, other.quantiles),
        )


def survey(request: EvaluationRequest, panels: Sequence[Panel], scored: BlockScores) -> Survey:
    """Run the first round on a block."""
    layout = request.layout
    outlines, others = [], []
    for part in panel_scores(scored, panels, others=_compares_with_others(request)):
        outlines.append(Outline.of(part.scores, layout))
        others.append(Outline.of(part.others, layout))
    return Survey(tuple(outlines), tuple(others))


def tally(
    request: EvaluationRequest, panels: Sequence[Panel], found: Survey, scored: BlockScores, held: int
) -> Tallies:
    """Run the second round on a block; ``held``: scores per column that are kept for quantiles."""
    layout, resampling = request.layout, request.resampling
    signs = signs_for((len(panels) - 1) * (len(request.systems) - 1), resampling) if resampling else 0
    tallies, spreads, others = [], [], []
    against = _compares_with_others(request)
    quantiles: tuple[QuantileSketch, ...] = ()
    parts = zip(panel_scores(scored, panels, others=against), found.outlines, found.others, strict=True)
    for part, outline, rest in parts:
        if not part.panel.is_slice and request.quantiles:
            quantiles = tuple(QuantileSketch.of(column, held) for column in part.scores.T)
        if resampling is None:
            spreads.append(SquareSums.of(part.scores, layout, outline))
            continue
        tallies.append(
            Tally.of(
                part.scores,
                part.keys,
                layout,
                outline,
                resampling,
                signs=signs if part.panel.is_slice else None,
                whole=found.outlines[0] if against and part.panel.of == "queries" else None,
            )
        )
        others.append(SquareSums.of(part.others, layout, rest))
    return Tallies(tuple(tallies), tuple(spreads), tuple(others), quantiles)


def signed_differences(
    request: EvaluationRequest, panels: Sequence[Panel], found: Survey, scored: BlockScores
) -> PanelDifferences:
    """Run the third round on a block, which only comparisons need."""
    pairs = request.layout.pairs
    return tuple(
        tuple(signed_ranks(part.scores, pair, of_pair) for pair, of_pair in zip(pairs, outline.pairs, strict=True))
        for part, outline in zip(panel_scores(scored, panels), found.outlines, strict=True)
    )


def differences_within(differences: PanelDifferences, low: float, high: float) -> PanelDifferences:
    """Return the differences within a range of sizes."""
    return tuple(tuple(of_pair.within(low, high) for of_pair in of_panel) for of_panel in differences)


def join_blocks(blocks: Sequence[PanelDifferences]) -> list[list[RankTotals]]:
    """Return the ranks within one range of sizes from all blocks, by panel and pair."""
    return [
        [RankTotals.of(SignedRanks.joined(same)) for same in zip(*of_panel, strict=True)]
        for of_panel in zip(*blocks, strict=True)
    ]


def join_ranges(ranges: Sequence[Sequence[Sequence[RankTotals]]]) -> list[list[RankTotals]]:
    """Return the ranks from all ranges, which ascend, by panel and pair."""
    return [
        [RankTotals.joined(of_ranges) for of_ranges in zip(*of_panel, strict=True)]
        for of_panel in zip(*ranges, strict=True)
    ]


def _compares_with_others(request: EvaluationRequest) -> bool:
    """Return whether slices are compared with the other queries, which they are where there is no baseline."""
    return request.baseline is None and request.resampling is not None


@dataclass(frozen=True, eq=False)
class RoundResults:
    """Results of all rounds."""

    found: BlockFindings
    panels: tuple[Panel, ...]
    survey: Survey
    tallies: Tallies
    ranks: Sequence[Sequence[RankTotals]]
    """By panel and pair, where there are pairs."""


def run_rounds(
    request: EvaluationRequest,
    found: BlockFindings,
    run: Callable[[str, Callable[[BlockScores], Any]], Any],
    rank: Callable[[Sequence[Panel], Survey], Sequence[Sequence[RankTotals]]],
    scores_per_column: int,
) -> RoundResults:
    """Run all rounds.

    Args:
        request: The systems and measures.
        found: The findings of all blocks.
        run: Applies a function to all blocks and returns the sum of its results; its first argument names the round.
        rank: Ranks the differences of all blocks, by panel and pair.
        scores_per_column: Scores per column that are kept for exact quantiles.
    """
    every = make_panels(request, found)
    panels, outlined = run("Adding up", partial(survey, request, every)).nonempty(every, request)
    tallied = run("Resampling", partial(tally, request, panels, outlined, held=scores_per_column))
    ranks = [[] for _ in panels] if request.baseline is None else rank(panels, outlined)
    return RoundResults(found, panels, outlined, tallied, ranks)


def make_report(request: EvaluationRequest, results: RoundResults) -> Report:
    """Return the report, without scores of single queries, of which there may be too many."""
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
    conventions = {asked.label: str(asked.measure) for asked in request.asked}
    systems = {name: SystemResult(estimates[0][name], conventions) for name in request.systems}
    report = Report(systems, request.resampling, request.baseline, warnings=with_unit(found.warnings(request)))
    slices = [
        Slice(
            panel.name,
            panel.note,
            panel.of,
            outlines[place].size,
            estimates[place],
            beside=tuple(_slice_comparisons(request, results, place)),
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
    found: dict[str, dict[str, Value]] = {}
    for column, value in zip(layout.columns, values, strict=True):
        found.setdefault(column.system, {})[column.measure] = value
    return found


def _slice_comparisons(
    request: EvaluationRequest, results: RoundResults, place: int
) -> Sequence[Comparison] | Iterator[Gap]:
    """Return the comparisons of a slice's systems with the baseline, or its gaps to the other queries."""
    if request.resampling is None:
        return ()
    if request.baseline is not None:
        return _comparisons(request, results, place)
    return _gaps(request, results, place) if results.panels[place].of == "queries" else ()


def _comparisons(request: EvaluationRequest, results: RoundResults, place: int) -> list[Comparison]:
    """Return comparisons that are not yet corrected."""
    layout, resampling = request.layout, request.resampling
    if resampling is None:
        return []
    outline, part = results.survey.outlines[place], results.tallies.tallies[place]
    found = part.differences(layout, outline, results.ranks[place])
    return [difference.compared(pair.versus, resampling) for difference, pair in zip(found, layout.pairs, strict=True)]


def _gaps(request: EvaluationRequest, results: RoundResults, place: int) -> Iterator[Gap]:
    """Yield the gap between a slice and the queries outside of it, for each system and measure."""
    tallies, resampling = results.tallies, request.resampling
    whole, part = tallies.tallies[0], tallies.tallies[place]
    outline, others = results.survey.outlines[place], results.survey.others[place]
    for number, column in enumerate(request.layout.columns):
        inside = part.beside[number]
        rest = whole.pooled[number].without(inside)
        if inside.n and rest.n and resampling is not None:
            sides = part.spread.moments(outline, number), tallies.others[place].moments(others, number)
            mean, beyond = (from_mean_scale(side[0], column.aggregate) for side in sides)
            yield gap_between(column, inside, rest, mean - beyond, two_sample_test(*sides), resampling)
