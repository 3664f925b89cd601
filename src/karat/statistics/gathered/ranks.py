"""Ranks of differences: by ranges of their size, so that no more than one range is held at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from karat.statistics.fixed import steps_of
from karat.statistics.gathered.layout import Pair
from karat.statistics.gathered.outline import PairOutline
from karat.statistics.paired import EXACT_RANKS, RankSums, SignedRanks
from karat.types import Floats

__all__ = ["Ranks", "RanksWithin", "moved", "ranges_for"]

_SIZES = 38
"""Bits that a size of difference has at most."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """What Wilcoxon's test needs of a pair; few differences are held themselves."""

    sums: RankSums
    few: Floats

    @classmethod
    def of(cls, ranges: "Sequence[RanksWithin]") -> "Ranks":
        """From all ranges, ascending."""
        sums = RankSums()
        for one in ranges:
            sums = sums + one.sums
        few = np.concatenate([one.few for one in ranges]) if sums.n <= EXACT_RANKS and ranges else np.empty(0)
        return cls(sums, few)

    @property
    def p(self) -> float:
        return self.sums.p if self.sums.n > EXACT_RANKS else SignedRanks.of(self.few).p


@dataclass(frozen=True, eq=False)
class RanksWithin:
    """Of one range of sizes."""

    sums: RankSums
    few: Floats

    @classmethod
    def of(cls, counts: SignedRanks) -> "RanksWithin":
        sums = counts.part()
        return cls(sums, counts.differences if sums.n <= EXACT_RANKS else np.empty(0))


def moved(scores: Floats, pair: Pair, outline: PairOutline) -> SignedRanks:
    """The differences in steps."""
    return SignedRanks.of(steps_of(pair.apart(scores), outline.unit))


def ranges_for(queries: int, at_once: int) -> list[tuple[float, float]]:
    """Ranges of sizes, ascending, of which each may hold about so many differences."""
    parts = max(1, -(-queries // at_once))
    edges = [0.0, *(float(round(2**_SIZES * part / parts)) for part in range(1, parts)), np.inf]
    return list(pairwise(edges))
