"""Mergeable statistics: the same results, bit for bit, from blocks of queries that are added in any order.

Two rounds over the scores are enough. The first finds sums and extents (``Outline``), which determine to what scale
scores are rounded and what their means are; the second draws resamples and sums squares (``Tally``). Ranks of
differences need their order, and are a round of their own (``RankTotals``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import nan

import numpy as np

from rankjury.core.types import Bools, Floats, Ints
from rankjury.measures.measure import Aggregate
from rankjury.stats.comparison import ComparisonSpec, Differences
from rankjury.stats.estimates import Estimate, ResampledSums, add_interval, from_mean_scale, to_mean_scale
from rankjury.stats.resampling import Keys, Resampling, draw_sums, flip_sums
from rankjury.stats.significance import ENUMERATED, EXACT_RANKS, RankSums, SignedRanks, enumerated_test, sampled_test
from rankjury.stats.sums import (
    ExactSum,
    Extent,
    PowerSums,
    Summable,
    add_pairwise,
    exact_products,
    exact_sum,
    step_size,
    to_steps,
)


@dataclass(frozen=True)
class ScoreColumn:
    """The system and the measure of a column of scores."""

    system: str
    measure: str
    aggregate: Aggregate
    lower_is_better: bool
    descriptive: bool = False
    """The measure describes the run rather than how good it is: differences are not tested."""


@dataclass(frozen=True)
class ColumnPair:
    """Two columns: the system's and the baseline's."""

    versus: ComparisonSpec
    ours: int
    theirs: int

    def differences(self, scores: Floats) -> Floats:
        """Return the differences, on the scale on which means are taken."""
        ours, theirs = self.sides(scores)
        return ours - theirs

    def sides(self, scores: Floats) -> tuple[Floats, Floats]:
        aggregate = self.versus.aggregate
        return to_mean_scale(scores[:, self.ours], aggregate), to_mean_scale(scores[:, self.theirs], aggregate)


@dataclass(frozen=True)
class TableLayout:
    """The columns of a table of scores, queries × columns."""

    columns: tuple[ScoreColumn, ...]
    pairs: tuple[ColumnPair, ...] = ()

    @classmethod
    def of(cls, columns: tuple[ScoreColumn, ...], baseline: str | None) -> "TableLayout":
        """Return a layout in which every other system is compared with the baseline under every measure."""
        place = {(one.system, one.measure): number for number, one in enumerate(columns)}
        pairs = [
            ColumnPair(
                ComparisonSpec(
                    *(one.system, baseline, one.measure, one.aggregate, one.lower_is_better),
                    descriptive=one.descriptive,
                ),
                number,
                place[baseline, one.measure],
            )
            for number, one in enumerate(columns)
            if baseline is not None and one.system != baseline
        ]
        return cls(columns, tuple(pairs))

    def masks(self, scores: Floats) -> Bools:
        """Return where each column, then each pair, is defined; as columns × queries."""
        defined = ~np.isnan(scores.T)
        pairs = [defined[pair.ours] & defined[pair.theirs] for pair in self.pairs]
        return np.array([*defined, *pairs], dtype=bool).reshape(len(self.columns) + len(pairs), len(scores))


@dataclass(frozen=True)
class ColumnOutline(Summable):
    """Extent and exact sum of one column, where it is defined."""

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
        scaled = to_mean_scale(values, aggregate)
        return cls(extent, total, Extent.of(scaled), ExactSum.of(scaled))

    @property
    def unit(self) -> float:
        return step_size(self.scaled.largest)


@dataclass(frozen=True)
class PairOutline(Summable):
    """Extents and exact sums of two columns, where both are defined; on the scale on which means are taken."""

    sides: tuple[Extent, Extent]
    totals: tuple[ExactSum, ExactSum]
    difference: Extent
    difference_total: ExactSum

    @classmethod
    def of(cls, scores: Floats, pair: ColumnPair) -> "PairOutline":
        ours, theirs = pair.sides(scores)
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
        """Of the differences: that of the scores, or larger where these have different signs."""
        return step_size(max(self.difference.largest, *(side.largest for side in self.sides)))


@dataclass(frozen=True, eq=False)
class Outline:
    """Of a table of scores."""

    size: int
    columns: tuple[ColumnOutline, ...]
    pairs: tuple[PairOutline, ...]
    alike: Bools
    """Which columns, and then pairs, are defined on the same queries; as a square."""

    @classmethod
    def of(cls, scores: Floats, layout: TableLayout) -> "Outline":
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
            add_pairwise(self.columns, other.columns),
            add_pairwise(self.pairs, other.pairs),
            self.alike & other.alike,
        )

    @cached_property
    def patterns(self) -> list[int]:
        """For each column, and then pair, the first that is defined on the same queries."""
        return [int(np.argmax(row)) for row in self.alike]


_SIZES = 38
"""Bits that a size of difference has at most."""


@dataclass(frozen=True, eq=False)
class RankTotals:
    """Sums for Wilcoxon's test of a pair, over one range of sizes or all; few differences are kept themselves."""

    sums: RankSums
    few: Floats

    @classmethod
    def of(cls, counts: SignedRanks) -> "RankTotals":
        """Return the totals of one range of sizes."""
        sums = counts.part()
        return cls(sums, counts.differences if sums.n <= EXACT_RANKS else np.empty(0))

    @classmethod
    def joined(cls, ranges: "Sequence[RankTotals]") -> "RankTotals":
        """Return the totals of all ranges, which ascend."""
        sums = sum((totals.sums for totals in ranges), start=RankSums())
        return cls(sums, np.concatenate([np.empty(0), *(totals.few for totals in ranges if sums.n <= EXACT_RANKS)]))

    @property
    def p(self) -> float:
        return self.sums.p if self.sums.n > EXACT_RANKS else SignedRanks.of(self.few).p


def signed_ranks(scores: Floats, pair: ColumnPair, outline: PairOutline) -> SignedRanks:
    """Return the differences in steps."""
    return SignedRanks.of(to_steps(pair.differences(scores), outline.unit))


def size_ranges(queries: int, at_once: int) -> list[tuple[float, float]]:
    """Return ascending ranges of sizes, each with about so many differences."""
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
        for column, one, values in zip(layout.columns, outline.columns, scores.T, strict=True):
            values = values[~np.isnan(values)]
            found = ExactSum.of(one.extent.squares(values, one.total.value)) if values.size else ExactSum()
            squares.append(found)
            if column.aggregate == "geometric" and values.size:
                logs = to_mean_scale(values, column.aggregate)
                found = ExactSum.of(one.scaled.squares(logs, one.scaled_total.value))
            scaled.append(found)
        return cls(tuple(squares), tuple(scaled))

    def moments(self, outline: Outline, place: int) -> tuple[float, float, int]:
        """Return mean, standard deviation and number of values on the scale of the mean."""
        one = outline.columns[place]
        n = one.scaled.n
        return (
            one.scaled_total.value / n if n else nan,
            one.scaled.std(self.scaled[place].value) if n else nan,
            n,
        )


@dataclass(frozen=True, eq=False)
class _PairTally(Summable):
    """Resampled sums and counts of two columns, where both are defined."""

    steps: Extent
    total: int
    rose: int
    fell: int
    squares: ExactSum
    pooled: tuple[ResampledSums, ...]
    crossed: tuple[int, ...]
    """Of a geometric mean, the sums of products of both sides (see ``exact_products``); else empty."""
    flipped: Ints


@dataclass(frozen=True, eq=False)
class Tally(Summable):
    """Resampled sums of a table of scores; those of parts of one table are added."""

    pooled: tuple[ResampledSums, ...]
    beside: tuple[ResampledSums, ...]
    """The same to the scale of all queries, where the table is a part of them that is compared with the rest."""
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
        masks = layout.masks(scores)
        scaled = [to_mean_scale(scores[:, place], one.aggregate) for place, one in enumerate(layout.columns)]
        columns: list[tuple[Floats, float, int]] = []
        for of in (outline, *([] if whole is None else [whole])):
            columns += [(scaled[place], one.unit, place) for place, one in enumerate(of.columns)]
        for place, (pair, one) in enumerate(zip(layout.pairs, outline.pairs, strict=True), len(layout.columns)):
            columns += [(values, unit, place) for values, unit in _resampled(pair, one, scores, masks[place])]
        found = iter(_pool(columns, masks, outline.patterns, keys, resampling))
        pooled = tuple(next(found) for _ in layout.columns)
        beside = tuple(next(found) for _ in layout.columns) if whole is not None else ()
        return cls(
            pooled,
            beside,
            SquareSums.of(scores, layout, outline),
            tuple(_pair_tallies(scores, keys, layout, outline, masks, found, signs or resampling.resamples)),
        )

    def estimates(self, layout: TableLayout, outline: Outline, resampling: Resampling) -> list[Estimate]:
        """Summarise each column, with its interval."""
        plain = estimate_columns(layout, outline, self.spread)
        return [
            add_interval(one, column.aggregate, pooled, resampling)
            for one, column, pooled in zip(plain, layout.columns, self.pooled, strict=True)
        ]

    def differences(self, layout: TableLayout, outline: Outline, ranks: Sequence[RankTotals]) -> list[Differences]:
        """Return the differences of each pair."""
        rows = zip(layout.pairs, outline.pairs, self.pairs, ranks, strict=True)
        return [_differences(outline.size, *row) for row in rows]


def estimate_columns(layout: TableLayout, outline: Outline, spread: SquareSums) -> list[Estimate]:
    """Summarise each column, without an interval."""
    estimates = []
    for column, one, squares in zip(layout.columns, outline.columns, spread.squares, strict=True):
        n, total = one.extent.n, one.scaled_total.value
        mean = from_mean_scale(total / n, column.aggregate) if n else nan
        std = one.extent.std(squares.value) if n else nan
        estimates.append(Estimate(mean, n, outline.size - n, total if column.aggregate == "sum" else None, std))
    return estimates


def _resampled(pair: ColumnPair, one: PairOutline, scores: Floats, both: Bools) -> list[tuple[Floats, float]]:
    """Return the differences (both sides of a geometric mean), each with the unit of its steps."""
    ours, theirs = (np.where(both, side, nan) for side in pair.sides(scores))
    if pair.versus.aggregate != "geometric":
        return [(ours - theirs, one.unit)]
    return [(ours, one.unit_of_sides), (theirs, one.unit_of_sides)]


def _pool(
    columns: Sequence[tuple[Floats, float, int]],
    masks: Bools,
    patterns: Sequence[int],
    keys: Keys,
    resampling: Resampling,
) -> list[ResampledSums]:
    """Resample columns: each has values, the unit of their steps, and the place of its mask."""
    used = list(dict.fromkeys(patterns[place] for _, _, place in columns))
    whole = [to_steps(values, unit) for values, unit, _ in columns]
    sums = draw_sums(keys, np.column_stack([*whole, *masks[used]]), resampling.resamples)
    drawn = dict(zip(used, sums[len(columns) :], strict=True))
    return [
        ResampledSums(unit, PowerSums.of(steps[masks[place]]), row, drawn[patterns[place]])
        for steps, (_, unit, place), row in zip(whole, columns, sums, strict=False)
    ]


def _pair_tallies(
    scores: Floats,
    keys: Keys,
    layout: TableLayout,
    outline: Outline,
    masks: Bools,
    pooled: Iterator[ResampledSums],
    signs: int,
) -> list[_PairTally]:
    if not layout.pairs:
        return []
    differences = [pair.differences(scores) for pair in layout.pairs]
    steps = [to_steps(values, one.unit) for values, one in zip(differences, outline.pairs, strict=True)]
    flipped = flip_sums(keys, np.column_stack(steps), signs)
    found = []
    for place, (pair, one) in enumerate(zip(layout.pairs, outline.pairs, strict=True)):
        both = masks[len(layout.columns) + place]
        geometric = pair.versus.aggregate == "geometric"
        sides = tuple(next(pooled) for _ in range(1 + geometric))
        crossed: tuple[int, ...] = ()
        if geometric:
            ours, theirs = (to_steps(side[both], one.unit_of_sides) for side in pair.sides(scores))
            crossed = exact_products(ours, theirs)
        known, moved = differences[place][both], steps[place][both]
        found.append(
            _PairTally(
                Extent.of(moved),
                exact_sum(moved),
                int((moved > 0).sum()),
                int((moved < 0).sum()),
                ExactSum.of(one.difference.squares(known, one.difference_total.value)) if known.size else ExactSum(),
                sides,
                crossed,
                flipped[place],
            )
        )
    return found


def _differences(size: int, pair: ColumnPair, one: PairOutline, tally: _PairTally, ranks: RankTotals) -> Differences:
    n, moving = one.difference.n, tally.rose + tally.fell
    test = None
    if n:
        few = enumerated_test(ranks.few, rounded=True) if moving <= ENUMERATED else None
        test = few or sampled_test(tally.flipped, tally.total, moving)
    mean, baseline_mean = (
        from_mean_scale(total.value / n, pair.versus.aggregate) if n else nan for total in one.totals
    )
    return Differences(
        left_out=size - n,
        mean=mean,
        baseline_mean=baseline_mean,
        moments=(one.difference_total.value / n, one.difference.std(tally.squares.value)) if n else (nan, nan),
        steps=replace(tally.steps, n=n),
        rose=tally.rose,
        fell=tally.fell,
        test=test,
        p_wilcoxon=ranks.p if n else nan,
        pooled=tally.pooled,
        crossed=(tally.crossed[0], tally.crossed[1], tally.crossed[2]) if tally.crossed else None,
    )
