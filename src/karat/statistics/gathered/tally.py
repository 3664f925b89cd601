"""The second round: resampled sums, squares and steps, to the scale and about the means that the first one found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from karat.measure import Aggregate
from karat.statistics.differences import Differences
from karat.statistics.estimates import Estimate, Pooled, off_scale, onto_scale, with_interval
from karat.statistics.exact import ExactSum, Powers, exact_products
from karat.statistics.fixed import steps_of
from karat.statistics.gathered.adding import added
from karat.statistics.gathered.layout import Layout, Pair
from karat.statistics.gathered.outline import ColumnOutline, Outline, PairOutline
from karat.statistics.gathered.ranks import Ranks
from karat.statistics.intervals import Resampling
from karat.statistics.moments import Extent
from karat.statistics.paired import ENUMERATED, enumerated, randomised
from karat.statistics.resampling import draw_sums, flip_sums
from karat.statistics.streams import Keys
from karat.types import Bools, Floats, Ints

__all__ = ["Spread", "Tally", "plainly_estimated"]


@dataclass(frozen=True)
class Spread:
    """The squared distances of a table's columns from their means: of the values, and on the scale of the mean."""

    squares: tuple[ExactSum, ...]
    scaled: tuple[ExactSum, ...]

    @classmethod
    def of(cls, scores: Floats, layout: Layout, outline: Outline) -> "Spread":
        squares, scaled = [], []
        for column, one, values in zip(layout.columns, outline.columns, scores.T, strict=True):
            values = values[~np.isnan(values)]
            found = ExactSum.of(one.extent.squares(values, one.total.value)) if values.size else ExactSum()
            squares.append(found)
            if column.aggregate == "geometric" and values.size:
                logs = onto_scale(values, column.aggregate)
                found = ExactSum.of(one.scaled.squares(logs, one.scaled_total.value))
            scaled.append(found)
        return cls(tuple(squares), tuple(scaled))

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(added(self.squares, other.squares), added(self.scaled, other.scaled))

    def moments(self, outline: Outline, place: int) -> tuple[float, float, int]:
        """Mean, standard deviation and number of values on the scale of the mean."""
        one = outline.columns[place]
        n = one.scaled.n
        return (
            one.scaled_total.value / n if n else nan,
            one.scaled.std(self.scaled[place].value) if n else nan,
            n,
        )


@dataclass(frozen=True, eq=False)
class _PairTally:
    """Of two columns, where both are defined."""

    steps: Extent
    total: int
    rose: int
    fell: int
    squares: ExactSum
    pooled: tuple[Pooled, ...]
    crossed: tuple[int, ...] | None
    flipped: Ints

    def __add__(self, other: "_PairTally") -> "_PairTally":
        crossed = None
        if self.crossed is not None and other.crossed is not None:
            crossed = tuple(map(int.__add__, self.crossed, other.crossed))
        return _PairTally(
            self.steps + other.steps,
            self.total + other.total,
            self.rose + other.rose,
            self.fell + other.fell,
            self.squares + other.squares,
            added(self.pooled, other.pooled),
            crossed,
            self.flipped + other.flipped,
        )


@dataclass(frozen=True, eq=False)
class Tally:
    """Of a table of scores; parts of one table are joined by adding them."""

    pooled: tuple[Pooled, ...]
    beside: tuple[Pooled, ...]
    """The same to the scale of all queries, where the table is a part of them that is held against the rest."""
    spread: Spread
    pairs: tuple[_PairTally, ...]

    @classmethod
    def of(
        cls,
        scores: Floats,
        keys: Keys,
        layout: Layout,
        outline: Outline,
        how: Resampling,
        *,
        signs: int | None = None,
        whole: Outline | None = None,
    ) -> "Tally":
        """``whole`` is the outline of all queries, where the table is to be held against the rest of them."""
        masks = layout.masks(scores)
        scaled = [onto_scale(scores[:, place], one.aggregate) for place, one in enumerate(layout.columns)]
        columns: list[tuple[Floats, float, int]] = []
        for of in (outline, *([] if whole is None else [whole])):
            columns += [(scaled[place], one.unit, place) for place, one in enumerate(of.columns)]
        for place, (pair, one) in enumerate(zip(layout.pairs, outline.pairs, strict=True), len(layout.columns)):
            columns += [(values, unit, place) for values, unit in _resampled(pair, one, scores, masks[place])]
        found = iter(_pool(columns, masks, outline.patterns, keys, how))
        pooled = tuple(next(found) for _ in layout.columns)
        beside = tuple(next(found) for _ in layout.columns) if whole is not None else ()
        return cls(
            pooled,
            beside,
            Spread.of(scores, layout, outline),
            tuple(_pair_tallies(scores, keys, layout, outline, masks, found, signs or how.resamples)),
        )

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            added(self.pooled, other.pooled),
            added(self.beside, other.beside),
            self.spread + other.spread,
            added(self.pairs, other.pairs),
        )

    def estimates(self, layout: Layout, outline: Outline, how: Resampling) -> list[Estimate]:
        """Each column summarised, with its interval."""
        plain = plainly_estimated(layout, outline, self.spread)
        return [
            with_interval(one, column.aggregate, pooled, how)
            for one, column, pooled in zip(plain, layout.columns, self.pooled, strict=True)
        ]

    def differences(self, layout: Layout, outline: Outline, ranks: Sequence[Ranks]) -> list[Differences]:
        """Each pair's."""
        rows = zip(layout.pairs, outline.pairs, self.pairs, ranks, strict=True)
        return [_differences(outline.size, *row) for row in rows]


def plainly_estimated(layout: Layout, outline: Outline, spread: Spread) -> list[Estimate]:
    """Each column summarised, without an interval."""
    rows = zip(layout.columns, outline.columns, spread.squares, strict=True)
    return [_estimated(one, outline.size, squares, column.aggregate) for column, one, squares in rows]


def _estimated(one: ColumnOutline, size: int, squares: ExactSum, aggregate: Aggregate) -> Estimate:
    n = one.extent.n
    total = one.scaled_total.value
    return Estimate(
        off_scale(total / n, aggregate) if n else nan,
        n,
        size - n,
        total if aggregate == "sum" else None,
        one.extent.std(squares.value) if n else nan,
    )


def _resampled(pair: Pair, one: PairOutline, scores: Floats, both: Bools) -> list[tuple[Floats, float]]:
    """Differences; of a geometric mean, both sides by themselves; with what a step is worth."""
    ours, theirs = (np.where(both, side, nan) for side in pair.sides(scores))
    if pair.versus.aggregate != "geometric":
        return [(ours - theirs, one.unit)]
    return [(ours, one.unit_of_sides), (theirs, one.unit_of_sides)]


def _pool(
    columns: Sequence[tuple[Floats, float, int]], masks: Bools, patterns: Sequence[int], keys: Keys, how: Resampling
) -> list[Pooled]:
    """Values, what a step of them is worth, and whose mask they have."""
    used = list(dict.fromkeys(patterns[place] for _, _, place in columns))
    whole = [steps_of(values, unit) for values, unit, _ in columns]
    sums = draw_sums(keys, np.column_stack([*whole, *masks[used]]), how.resamples)
    drawn = dict(zip(used, sums[len(columns) :], strict=True))
    return [
        Pooled(unit, Powers.of(steps[masks[place]]), row, drawn[patterns[place]])
        for steps, (_, unit, place), row in zip(whole, columns, sums, strict=False)
    ]


def _pair_tallies(
    scores: Floats, keys: Keys, layout: Layout, outline: Outline, masks: Bools, pooled: Iterator[Pooled], signs: int
) -> list[_PairTally]:
    if not layout.pairs:
        return []
    apart = [pair.apart(scores) for pair in layout.pairs]
    steps = [steps_of(values, one.unit) for values, one in zip(apart, outline.pairs, strict=True)]
    flipped = flip_sums(keys, np.column_stack(steps), signs)
    found = []
    for place, (pair, one) in enumerate(zip(layout.pairs, outline.pairs, strict=True)):
        both = masks[len(layout.columns) + place]
        geometric = pair.versus.aggregate == "geometric"
        sides = tuple(next(pooled) for _ in range(1 + geometric))
        crossed = None
        if geometric:
            ours, theirs = (steps_of(side[both], one.unit_of_sides) for side in pair.sides(scores))
            crossed = exact_products(ours, theirs)
        known, moved = apart[place][both], steps[place][both]
        found.append(
            _PairTally(
                Extent.of(moved),
                int(moved.astype(np.int64).sum()),
                int((moved > 0).sum()),
                int((moved < 0).sum()),
                ExactSum.of(one.apart.squares(known, one.apart_total.value)) if known.size else ExactSum(),
                sides,
                crossed,
                flipped[place],
            )
        )
    return found


def _differences(size: int, pair: Pair, one: PairOutline, tally: _PairTally, ranks: Ranks) -> Differences:
    n, moving = one.apart.n, tally.rose + tally.fell
    test = None
    if n:
        few = enumerated(ranks.few, rounded=True) if moving <= ENUMERATED else None
        test = few or randomised(tally.flipped, tally.total, moving)
    mean, baseline_mean = (off_scale(total.value / n, pair.versus.aggregate) if n else nan for total in one.totals)
    return Differences(
        left_out=size - n,
        mean=mean,
        baseline_mean=baseline_mean,
        apart=(one.apart_total.value / n, one.apart.std(tally.squares.value)) if n else (nan, nan),
        steps=replace(tally.steps, n=n),
        rose=tally.rose,
        fell=tally.fell,
        test=test,
        p_wilcoxon=ranks.p if n else nan,
        pooled=tally.pooled,
        crossed=None if tally.crossed is None else (tally.crossed[0], tally.crossed[1], tally.crossed[2]),
    )
