"""Mergeable statistics: identical results, bit for bit, from blocks of queries that are added in any order.

Two rounds over the scores are enough. The first computes sums and extents (``Outline``), which determine the scale of
rounding and the means; the second draws resamples and sums squares (``Tally``). Ranks of differences need their order,
and have a separate round (``RankTotals``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan

import numpy as np

from rankjury.core.types import Floats, Ints
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import ComparisonSpec, Differences
from rankjury.stats.estimates import (
    Estimate,
    ResampledSums,
    add_interval,
    from_mean_scale,
    resample_columns,
    to_mean_scale,
)
from rankjury.stats.resampling import Keys, Resampling, flip_sums
from rankjury.stats.significance import ENUMERATED, EXACT_RANKS, RankSums, SignedRanks, enumerated_test, sampled_test
from rankjury.stats.sums import (
    ExactSum,
    Extent,
    FixedPoint,
    Summable,
    exact_products,
    exact_sum,
    step_size,
    to_steps,
)


@dataclass(frozen=True)
class ScoreColumn:
    """System and measure of a column of scores."""

    system: str
    measure: str
    aggregate: Aggregate
    lower_is_better: bool
    descriptive: bool = False
    """The measure describes the run rather than its quality: differences are not tested."""


@dataclass(frozen=True)
class ColumnPair:
    """Two columns: system and baseline."""

    versus: ComparisonSpec
    ours: int
    theirs: int

    def sides(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return both columns on the scale on which means are computed; NaN if either is undefined."""
        ours, theirs = (to_mean_scale(scores[:, place], self.versus.aggregate) for place in (self.ours, self.theirs))
        undefined = np.isnan(ours) | np.isnan(theirs)
        return np.where(undefined, nan, ours), np.where(undefined, nan, theirs)

    def differences(self, scores: Floats) -> Floats:
        """Return the differences, on the scale on which means are computed."""
        ours, theirs = self.sides(scores)
        return ours - theirs


@dataclass(frozen=True)
class TableLayout:
    """Columns of a table of scores, queries × columns."""

    columns: tuple[ScoreColumn, ...]
    pairs: tuple[ColumnPair, ...] = ()

    @classmethod
    def of(cls, columns: tuple[ScoreColumn, ...], baseline: str | None) -> "TableLayout":
        """Return a layout in which every other system is compared with the baseline under every measure."""
        places = {(column.system, column.measure): place for place, column in enumerate(columns)}
        pairs = [
            ColumnPair(
                ComparisonSpec(
                    *(column.system, baseline, column.measure, column.aggregate, column.lower_is_better),
                    descriptive=column.descriptive,
                ),
                place,
                places[baseline, column.measure],
            )
            for place, column in enumerate(columns)
            if baseline is not None and column.system != baseline
        ]
        return cls(columns, tuple(pairs))


@dataclass(frozen=True)
class ColumnOutline(Summable):
    """Extent and exact sum of one column, over its defined values."""

    extent: Extent
    total: ExactSum
    scaled: Extent
    """On the scale on which the mean is computed."""
    scaled_total: ExactSum

    @classmethod
    def of(cls, values: Floats, aggregate: Aggregate) -> "ColumnOutline":
        extent, total = Extent.of(values), ExactSum.of(values)
        if aggregate != "geometric":
            return cls(extent, total, extent, total)
        scaled = to_mean_scale(values, aggregate)
        return cls(extent, total, Extent.of(scaled), ExactSum.of(scaled))

    @property
    def unit(self) -> float:
        return step_size(self.scaled.largest)


@dataclass(frozen=True)
class PairOutline(Summable):
    """Extents and exact sums of two columns, over queries where both are defined, on the scale of the mean."""

    sides: tuple[Extent, Extent]
    totals: tuple[ExactSum, ExactSum]
    difference: Extent
    difference_total: ExactSum

    @classmethod
    def of(cls, scores: Floats, pair: ColumnPair) -> "PairOutline":
        ours, theirs = (side[~np.isnan(side)] for side in pair.sides(scores))
        difference = ours - theirs
        return cls(
            (Extent.of(ours), Extent.of(theirs)),
            (ExactSum.of(ours), ExactSum.of(theirs)),
            Extent.of(difference),
            ExactSum.of(difference),
        )

    @property
    def unit_of_sides(self) -> float:
        return step_size(max(side.largest for side in self.sides))

    @property
    def unit(self) -> float:
        """Step of the differences: that of the scores, or larger if these have different signs."""
        return step_size(max(self.difference.largest, *(side.largest for side in self.sides)))


@dataclass(frozen=True, eq=False)
class Outline(Summable):
    """Number of queries, extents and exact sums of a table of scores."""

    size: int
    columns: tuple[ColumnOutline, ...]
    pairs: tuple[PairOutline, ...]

    @classmethod
    def of(cls, scores: Floats, layout: TableLayout) -> "Outline":
        columns = (
            ColumnOutline.of(values[~np.isnan(values)], column.aggregate)
            for column, values in zip(layout.columns, scores.T, strict=True)
        )
        return cls(len(scores), tuple(columns), tuple(PairOutline.of(scores, pair) for pair in layout.pairs))


_SIZES = 38  # maximum bits of the size of a difference


@dataclass(frozen=True, eq=False)
class RankTotals:
    """Sums for Wilcoxon's test of a pair, over one range of sizes or all; a few differences are stored themselves."""

    sums: RankSums
    few: Floats

    @classmethod
    def of(cls, counts: SignedRanks) -> "RankTotals":
        """Return the totals of one range of sizes."""
        sums = counts.part()
        return cls(sums, counts.differences if sums.n <= EXACT_RANKS else np.empty(0))

    @classmethod
    def joined(cls, ranges: "Sequence[RankTotals]") -> "RankTotals":
        """Return the totals of all ranges, in ascending order."""
        sums = sum((totals.sums for totals in ranges), start=RankSums())
        return cls(sums, np.concatenate([np.empty(0), *(totals.few for totals in ranges if sums.n <= EXACT_RANKS)]))

    @property
    def p(self) -> float:
        return self.sums.p if self.sums.n > EXACT_RANKS else SignedRanks.of(self.few).p


def signed_ranks(scores: Floats, pair: ColumnPair, outline: PairOutline) -> SignedRanks:
    """Return the signed ranks of the differences, in fixed-point steps."""
    return SignedRanks.of(to_steps(pair.differences(scores), outline.unit))


def size_ranges(queries: int, at_once: int) -> list[tuple[float, float]]:
    """Return ascending ranges of sizes, each with about ``at_once`` differences."""
    parts = max(1, -(-queries // at_once))
    edges = [0.0, *(float(round(2**_SIZES * part / parts)) for part in range(1, parts)), np.inf]
    return list(pairwise(edges))


@dataclass(frozen=True)
class SquareSums(Summable):
    """Sums of squared distances of a table's columns from their means: of the values, and on the scale of the mean."""

    squares: tuple[ExactSum, ...]
    scaled: tuple[ExactSum, ...]

    @classmethod
    def of(cls, scores: Floats, layout: TableLayout, outline: Outline) -> "SquareSums":
        squares, scaled = [], []
        for column, of_column, values in zip(layout.columns, outline.columns, scores.T, strict=True):
            values = values[~np.isnan(values)]
            total = ExactSum.of(of_column.extent.squares(values, of_column.total.value)) if values.size else ExactSum()
            squares.append(total)
            if column.aggregate == "geometric" and values.size:
                logs = to_mean_scale(values, column.aggregate)
                total = ExactSum.of(of_column.scaled.squares(logs, of_column.scaled_total.value))
            scaled.append(total)
        return cls(tuple(squares), tuple(scaled))

    def moments(self, outline: Outline, place: int) -> tuple[float, float, int]:
        """Return mean, standard deviation and number of values on the scale of the mean."""
        column = outline.columns[place]
        n = column.scaled.n
        if not n:
            return nan, nan, 0
        return column.scaled_total.value / n, column.scaled.std(self.scaled[place].value), n


@dataclass(frozen=True, eq=False)
class _PairTally(Summable):
    """Resampled sums and counts of two columns, over queries where both are defined."""

    steps: Extent
    total: int
    rose: int
    fell: int
    squares: ExactSum
    pooled: tuple[ResampledSums, ...]
    crossed: tuple[int, ...]
    """For a geometric mean, the sums of products of both sides (see ``exact_products``); else empty."""
    flipped: Ints

    @classmethod
    def of(
        cls, scores: Floats, pair: ColumnPair, outline: PairOutline, pooled: Iterator[ResampledSums], flipped: Ints
    ) -> "_PairTally":
        ours, theirs = pair.sides(scores)
        both = ~np.isnan(ours)
        ours, theirs = ours[both], theirs[both]
        steps, mean = to_steps(ours - theirs, outline.unit), outline.difference_total.value
        geometric = pair.versus.aggregate == "geometric"
        sides = (to_steps(side, outline.unit_of_sides) for side in (ours, theirs))
        return cls(
            Extent.of(steps),
            exact_sum(steps),
            int((steps > 0).sum()),
            int((steps < 0).sum()),
            ExactSum.of(outline.difference.squares(ours - theirs, mean)) if steps.size else ExactSum(),
            tuple(next(pooled) for _ in range(1 + geometric)),
            exact_products(*sides) if geometric else (),
            flipped,
        )

    def differences(self, size: int, pair: ColumnPair, outline: PairOutline, ranks: RankTotals) -> Differences:
        """Return the differences of a pair; ``size`` queries include those where a side is undefined."""
        n, moving = outline.difference.n, self.rose + self.fell
        test = None
        if n:
            few = enumerated_test(ranks.few, rounded=True) if moving <= ENUMERATED else None
            test = few or sampled_test(self.flipped, self.total, moving)
        mean, baseline_mean = (
            from_mean_scale(total.value / n, pair.versus.aggregate) if n else nan for total in outline.totals
        )
        std = outline.difference.std(self.squares.value)
        return Differences(
            left_out=size - n,
            mean=mean,
            baseline_mean=baseline_mean,
            moments=(outline.difference_total.value / n, std) if n else (nan, nan),
            steps=replace(self.steps, n=n),
            rose=self.rose,
            fell=self.fell,
            test=test,
            p_wilcoxon=ranks.p if n else nan,
            pooled=self.pooled,
            crossed=(self.crossed[0], self.crossed[1], self.crossed[2]) if self.crossed else None,
        )


@dataclass(frozen=True, eq=False)
class Tally(Summable):
    """Resampled sums of a table of scores; the sums of partitions of one table can be added."""

    pooled: tuple[ResampledSums, ...]
    beside: tuple[ResampledSums, ...]
    """The same on the scale of all queries, if the table is a part of them that is compared with the rest."""
    spread: SquareSums
    pairs: tuple[_PairTally, ...]

    @classmethod
    def of(
        cls,
        scores: Floats,
        keys: Keys,
        layout: TableLayout,
        outline: Outline,
        resampling: Resampling,
        *,
        signs: int | None = None,
        whole: Outline | None = None,
    ) -> "Tally":
        """Tally a table; ``whole`` is the outline of all queries, if the table is compared with the rest of them."""
        scaled = [
            to_mean_scale(values, column.aggregate) for values, column in zip(scores.T, layout.columns, strict=True)
        ]
        outlines = (outline,) if whole is None else (outline, whole)
        wanted = [
            (values, column.unit)
            for of_table in outlines
            for values, column in zip(scaled, of_table.columns, strict=True)
        ]
        pairs = list(zip(layout.pairs, outline.pairs, strict=True))
        for pair, of_pair in pairs:
            ours, theirs = pair.sides(scores)
            if pair.versus.aggregate == "geometric":
                wanted += [(ours, of_pair.unit_of_sides), (theirs, of_pair.unit_of_sides)]
            else:
                wanted.append((ours - theirs, of_pair.unit))
        fixed = [FixedPoint(to_steps(values, unit), unit) for values, unit in wanted]
        pooled = resample_columns(fixed, [values for values, _ in wanted], keys, resampling)
        of_columns = tuple(next(pooled) for _ in scaled)
        beside = () if whole is None else tuple(next(pooled) for _ in scaled)
        steps = [to_steps(pair.differences(scores), of_pair.unit) for pair, of_pair in pairs]
        flipped = flip_sums(keys, np.column_stack(steps), signs or resampling.resamples) if steps else ()
        tallies = [
            _PairTally.of(scores, pair, of_pair, pooled, sums)
            for (pair, of_pair), sums in zip(pairs, flipped, strict=True)
        ]
        return cls(of_columns, beside, SquareSums.of(scores, layout, outline), tuple(tallies))

    def estimates(self, layout: TableLayout, outline: Outline, resampling: Resampling) -> list[Estimate]:
        """Summarise each column, with its interval."""
        estimates = estimate_columns(layout, outline, self.spread)
        return [
            add_interval(estimate, column.aggregate, pooled, resampling)
            for estimate, column, pooled in zip(estimates, layout.columns, self.pooled, strict=True)
        ]

    def differences(self, layout: TableLayout, outline: Outline, ranks: Sequence[RankTotals]) -> list[Differences]:
        """Return the differences of each pair."""
        rows = zip(self.pairs, layout.pairs, outline.pairs, ranks, strict=True)
        return [tally.differences(outline.size, pair, of_pair, totals) for tally, pair, of_pair, totals in rows]


def estimate_columns(layout: TableLayout, outline: Outline, spread: SquareSums) -> list[Estimate]:
    """Summarise each column, without an interval."""
    estimates = []
    for column, of_column, squares in zip(layout.columns, outline.columns, spread.squares, strict=True):
        n, total = of_column.extent.n, of_column.scaled_total.value
        mean = from_mean_scale(total / n, column.aggregate) if n else nan
        std = of_column.extent.std(squares.value) if n else nan
        estimates.append(Estimate(mean, n, outline.size - n, total if column.aggregate == "sum" else None, std))
    return estimates
