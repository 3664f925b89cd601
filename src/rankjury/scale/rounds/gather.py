"""The rounds over the scores: what is gathered of each block, joined in any order, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rankjury.evaluation.slices.groups import check_group_count
from rankjury.evaluation.slices.stats import signs_for
from rankjury.scale.request import EvaluationRequest
from rankjury.scale.rounds.panels import Panel, panel_scores
from rankjury.scale.rounds.scored import BlockScores
from rankjury.stats.estimates import QuantileSketch
from rankjury.stats.mergeable import Outline, SquareSums, Tally, add_pairwise, signed_ranks
from rankjury.stats.significance import SignedRanks

PanelDifferences = tuple[tuple[SignedRanks, ...], ...]
"""By panel and pair, the differences, or those of a range of sizes."""


@dataclass(frozen=True, eq=False)
class Survey:
    """The first round, by panel: of its queries, and of the others where it is compared with them."""

    outlines: tuple[Outline, ...]
    others: tuple[Outline, ...]

    def __add__(self, other: "Survey") -> "Survey":
        return Survey(
            add_pairwise(self.outlines, other.outlines),
            add_pairwise(self.others, other.others),
        )

    def nonempty(self, panels: Sequence[Panel], request: EvaluationRequest) -> "tuple[tuple[Panel, ...], Survey]":
        """Without the slices in which there is nobody."""
        kept = [place for place, one in enumerate(self.outlines) if one.size or not panels[place].is_slice]
        found = tuple(panels[place] for place in kept)
        for what, number in {(one.what, one.attributes) for one in found if one.of == "queries"}:
            same = [one for one in found if (one.what, one.attributes, one.of) == (what, number, "queries")]
            check_group_count(len(same), what, request.attributes[number].where)
        return found, Survey(tuple(self.outlines[place] for place in kept), tuple(self.others[place] for place in kept))


@dataclass(frozen=True, eq=False)
class Tallies:
    """The second round, by panel; of means without intervals there is only their spread."""

    tallies: tuple[Tally, ...]
    spreads: tuple[SquareSums, ...]
    others: tuple[SquareSums, ...]
    quantiles: tuple[QuantileSketch, ...]
    """Of all queries, by column, where they are asked for."""

    def __add__(self, other: "Tallies") -> "Tallies":
        return Tallies(
            add_pairwise(self.tallies, other.tallies),
            add_pairwise(self.spreads, other.spreads),
            add_pairwise(self.others, other.others),
            add_pairwise(self.quantiles, other.quantiles),
        )


def survey(request: EvaluationRequest, panels: Sequence[Panel], scored: BlockScores) -> Survey:
    layout = request.layout
    outlines, others = [], []
    for one in panel_scores(scored, panels, others=_held_against_others(request)):
        outlines.append(Outline.of(one.scores, layout))
        others.append(Outline.of(one.others, layout))
    return Survey(tuple(outlines), tuple(others))


def tally(
    request: EvaluationRequest, panels: Sequence[Panel], found: Survey, scored: BlockScores, held: int
) -> Tallies:
    """``held``: so many scores of a column are kept for its quantiles."""
    layout, how = request.layout, request.resampling
    signs = signs_for((len(panels) - 1) * (len(request.systems) - 1), how) if how else 0
    tallies, spreads, others = [], [], []
    against = _held_against_others(request)
    quantiles: tuple[QuantileSketch, ...] = ()
    rows = zip(panel_scores(scored, panels, others=against), found.outlines, found.others, strict=True)
    for one, outline, rest in rows:
        if not one.panel.is_slice and request.quantiles:
            quantiles = tuple(QuantileSketch.of(column, held) for column in one.scores.T)
        if how is None:
            spreads.append(SquareSums.of(one.scores, layout, outline))
            continue
        of_queries = one.panel.of == "queries"
        tallies.append(
            Tally.of(
                one.scores,
                one.keys,
                layout,
                outline,
                how,
                signs=signs if one.panel.is_slice else None,
                whole=found.outlines[0] if against and of_queries else None,
            )
        )
        others.append(SquareSums.of(one.others, layout, rest))
    return Tallies(tuple(tallies), tuple(spreads), tuple(others), quantiles)


def signed_differences(
    request: EvaluationRequest, panels: Sequence[Panel], found: Survey, scored: BlockScores
) -> PanelDifferences:
    """The third round: only comparisons need it."""
    pairs = request.layout.pairs
    return tuple(
        tuple(signed_ranks(one.scores, pair, of_pair) for pair, of_pair in zip(pairs, outline.pairs, strict=True))
        for one, outline in zip(panel_scores(scored, panels), found.outlines, strict=True)
    )


def differences_within(differences: PanelDifferences, low: float, high: float) -> PanelDifferences:
    """Those of one range of sizes."""
    return tuple(tuple(one.within(low, high) for one in of_panel) for of_panel in differences)


def _held_against_others(request: EvaluationRequest) -> bool:
    """Slices are compared with the other queries where there is no baseline."""
    return request.baseline is None and request.resampling is not None
