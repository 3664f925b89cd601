"""Ranks of differences of all panels and pairs, joined from blocks and from ranges of sizes."""

from collections.abc import Sequence

from rankjury.scale.rounds.gather import PanelDifferences
from rankjury.stats.mergeable import RankRange, RankTotals
from rankjury.stats.significance import SignedRanks


def join_blocks(parts: Sequence[PanelDifferences]) -> list[list[RankRange]]:
    """By panel and pair, of one range of sizes."""
    return [
        [RankRange.of(SignedRanks.joined(same)) for same in zip(*of_panel, strict=True)]
        for of_panel in zip(*parts, strict=True)
    ]


def join_ranges(ranges: Sequence[Sequence[Sequence[RankRange]]]) -> list[list[RankTotals]]:
    """By panel and pair, from all ranges, ascending."""
    return [
        [RankTotals.of(of_ranges) for of_ranges in zip(*of_panel, strict=True)]
        for of_panel in zip(*ranges, strict=True)
    ]
