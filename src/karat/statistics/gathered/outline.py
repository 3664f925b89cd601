"""The first round: how many scores there are, between what they lie, and their sums."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.measure import Aggregate
from karat.statistics.estimates import onto_scale
from karat.statistics.exact import ExactSum
from karat.statistics.fixed import unit_for
from karat.statistics.gathered.adding import added
from karat.statistics.gathered.layout import Layout, Pair
from karat.statistics.moments import Extent
from karat.types import Bools, Floats

__all__ = ["ColumnOutline", "Outline", "PairOutline"]


@dataclass(frozen=True)
class ColumnOutline:
    """Of one column, where it is defined."""

    extent: Extent
    total: ExactSum
    scaled: Extent
    """On the scale on which the mean is taken."""
    scaled_total: ExactSum

    @classmethod
    def of(cls, values: Floats, aggregate: Aggregate) -> "ColumnOutline":
        extent, total = Extent.of(values), ExactSum.of(values)
        if aggregate != "geometric":
            return cls(extent, total, extent, total)
        scaled = onto_scale(values, aggregate)
        return cls(extent, total, Extent.of(scaled), ExactSum.of(scaled))

    def __add__(self, other: "ColumnOutline") -> "ColumnOutline":
        return ColumnOutline(
            self.extent + other.extent,
            self.total + other.total,
            self.scaled + other.scaled,
            self.scaled_total + other.scaled_total,
        )

    @property
    def unit(self) -> float:
        return unit_for(self.scaled.largest)


@dataclass(frozen=True)
class PairOutline:
    """Of two columns, where both are defined; on the scale on which means are taken."""

    sides: tuple[Extent, Extent]
    totals: tuple[ExactSum, ExactSum]
    apart: Extent
    apart_total: ExactSum

    @classmethod
    def of(cls, scores: Floats, pair: Pair) -> "PairOutline":
        ours, theirs = pair.sides(scores)
        apart = ours - theirs
        return cls(
            (Extent.of(ours), Extent.of(theirs)),
            (ExactSum.of(ours), ExactSum.of(theirs)),
            Extent.of(apart),
            ExactSum.of(apart),
        )

    def __add__(self, other: "PairOutline") -> "PairOutline":
        (ours, theirs), (our_total, their_total) = self.sides, self.totals
        return PairOutline(
            (ours + other.sides[0], theirs + other.sides[1]),
            (our_total + other.totals[0], their_total + other.totals[1]),
            self.apart + other.apart,
            self.apart_total + other.apart_total,
        )

    @property
    def unit_of_sides(self) -> float:
        return unit_for(max(side.largest for side in self.sides))

    @property
    def unit(self) -> float:
        """Of the differences: that of the scores, or larger where these have different signs."""
        return unit_for(max(self.apart.largest, *(side.largest for side in self.sides)))


@dataclass(frozen=True, eq=False)
class Outline:
    """Of a table of scores."""

    size: int
    columns: tuple[ColumnOutline, ...]
    pairs: tuple[PairOutline, ...]
    alike: Bools
    """Which columns, and then pairs, are defined on the same queries; as a square."""

    @classmethod
    def of(cls, scores: Floats, layout: Layout) -> "Outline":
        masks = layout.masks(scores)
        single, double = masks[: len(layout.columns)], masks[len(layout.columns) :]
        columns = [
            ColumnOutline.of(scores[mask, place], column.aggregate)
            for place, (column, mask) in enumerate(zip(layout.columns, single, strict=True))
        ]
        pairs = [PairOutline.of(scores[mask], pair) for pair, mask in zip(layout.pairs, double, strict=True)]
        return cls(len(scores), tuple(columns), tuple(pairs), (masks[:, None] == masks[None, :]).all(axis=2))

    def __add__(self, other: "Outline") -> "Outline":
        return Outline(
            self.size + other.size,
            added(self.columns, other.columns),
            added(self.pairs, other.pairs),
            self.alike & other.alike,
        )

    @cached_property
    def patterns(self) -> list[int]:
        """For each column, and then pair, the first that is defined on the same queries."""
        return [int(np.argmax(row)) for row in self.alike]
