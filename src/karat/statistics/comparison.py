"""Pairs of systems compared over the same queries, all at once, and corrected for one another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Protocol, TypeVar

import numpy as np

from karat.measure import Aggregate
from karat.statistics.corrections import benjamini_hochberg, holm
from karat.statistics.differences import Comparison, Differences, Versus
from karat.statistics.estimates import Pooled, onto_scale, pool, summarise
from karat.statistics.intervals import Resampling
from karat.statistics.paired import Randomised, sign_flip_tests, wilcoxon_test
from karat.statistics.streams import Keys
from karat.statistics.sums import Extent, exact_products, mean_and_std, to_fixed
from karat.types import Floats

__all__ = ["Paired", "compare_pairs", "contributions_of_all", "correct"]


@dataclass(frozen=True, eq=False)
class Paired:
    """What is to be compared: per-query values of a measure for a system and for the baseline."""

    system: str
    baseline: str
    measure: str
    values: Floats
    baseline_values: Floats
    aggregate: Aggregate = "mean"
    lower_is_better: bool = False
    whole: bool = False
    """Values are contributions to a figure over all queries; two that are alike may differ by what others did."""
    descriptive: bool = False
    """The measure describes the run rather than how good it is: the difference is not tested."""

    def __post_init__(self) -> None:
        # Done here, and not by each caller: a caller that forgets it gets another figure without noticing.
        if self.whole:
            ours, theirs = contributions_of_all(self.values, self.baseline_values)
            object.__setattr__(self, "values", ours)
            object.__setattr__(self, "baseline_values", theirs)

    @property
    def versus(self) -> Versus:
        return Versus(
            *(self.system, self.baseline, self.measure, self.aggregate, self.lower_is_better, self.whole),
            self.descriptive,
        )


def compare_pairs(
    pairs: Sequence[Paired], keys: Keys, how: Resampling, *, signs: int | None = None
) -> list[Comparison]:
    """Compare every pair over the queries of ``keys``; all are resampled together. Not yet corrected.

    ``signs`` is how many assignments of signs are tried, where it is not as many as resamples.
    """
    columns = [_columns(pair) for pair in pairs]
    fixed = [to_fixed(*some, largest=_largest(pair)) for some, pair in zip(columns, pairs, strict=True)]
    flat = [column for some in columns for column in some]
    pooled = pool([one for some in fixed for one in some], flat, keys, how)
    # Rounded to steps of the scores' scale, differences that ought to be equal are: 0.3 − 0.2 and 0.2 − 0.1 tie.
    steps = [to_fixed(_difference(pair), largest=_largest(pair))[0].whole for pair in pairs]
    tests = sign_flip_tests(steps, keys, signs or how.resamples, rounded=True) if pairs else []
    return [
        _found(pair, [next(pooled) for _ in some], whole, test).compared(pair.versus, how)
        for pair, some, whole, test in zip(pairs, columns, steps, tests, strict=True)
    ]


def contributions_of_all(values: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Contributions to two figures, of everybody who contributes to either: the means stay what the figures are.

    Who takes no part in a figure does not move it; the others then count for as much more as there are more of them.
    Where the contributions to a figure are not known, both figures stand in one place, and nothing is known of the
    spread of their difference.
    """
    sides = [~np.isnan(values), ~np.isnan(others)]
    every = sides[0] | sides[1]
    if min(int(side.sum()) for side in sides) < 2:
        first = np.arange(values.size) == 0
        figures = (mean_and_std(given[side])[0] for side, given in zip(sides, (values, others), strict=True))
        ours, theirs = (np.where(first, figure, nan) for figure in figures)
        return ours, theirs
    if (sides[0] == sides[1]).all():
        return values, others
    found = []
    for side, given in zip(sides, (values, others), strict=True):
        figure, n = mean_and_std(given[side])[0], int(side.sum())
        spread = figure + np.where(side, given - figure, 0.0) * (int(every.sum()) / n)
        found.append(np.where(every, spread, nan))
    return found[0], found[1]


def _columns(pair: Paired) -> list[Floats]:
    """What is resampled: differences; of a geometric mean, both sides by themselves."""
    if pair.aggregate != "geometric":
        return [_difference(pair)]
    both = ~np.isnan(_difference(pair))
    return [np.where(both, onto_scale(values, pair.aggregate), nan) for values in (pair.values, pair.baseline_values)]


def _difference(pair: Paired) -> Floats:
    """Per query, on the scale on which means are taken."""
    return onto_scale(pair.values, pair.aggregate) - onto_scale(pair.baseline_values, pair.aggregate)


def _largest(pair: Paired) -> float:
    """The largest score that takes part."""
    both = ~np.isnan(pair.values - pair.baseline_values)
    sides = (onto_scale(values[both], pair.aggregate) for values in (pair.values, pair.baseline_values))
    return max(float(np.abs(side).max(initial=0.0)) for side in sides)


def _found(pair: Paired, pooled: Sequence[Pooled], whole: Floats, test: Randomised | None) -> Differences:
    apart = _difference(pair)
    both = ~np.isnan(apart)
    steps = whole[both]
    crossed = None
    if len(pooled) == 2:
        crossed = exact_products(*(one.whole[both] for one in to_fixed(*_columns(pair), largest=_largest(pair))))
    return Differences(
        left_out=int(both.size - steps.size),
        mean=summarise(pair.values[both], pair.aggregate).mean,
        baseline_mean=summarise(pair.baseline_values[both], pair.aggregate).mean,
        apart=mean_and_std(apart[both]),
        steps=Extent.of(steps),
        rose=int((steps > 0).sum()),
        fell=int((steps < 0).sum()),
        test=test,
        p_wilcoxon=wilcoxon_test(steps),
        pooled=tuple(pooled),
        crossed=crossed,
    )


class Tested(Protocol):
    """What has a p-value to be corrected."""

    @property
    def p(self) -> float | None: ...

    @property
    def tested(self) -> bool:
        """Whether it counts among the tests that p-values are corrected for."""
        ...


SomeTested = TypeVar("SomeTested", bound=Tested)


def correct(tested: Iterable[SomeTested]) -> list[SomeTested]:
    """Fill in ``p_holm`` and ``p_bh``, corrected for all of these together that are tests.

    Where no query differs p is 1 and stays so; it does not make the p-values of others larger.
    """
    made = list(tested)
    p_values = [one.p if one.tested else None for one in made]
    rows = zip(made, holm(p_values), benjamini_hochberg(p_values), strict=True)
    return [
        replace(one, p_holm=p_holm if one.tested else one.p, p_bh=p_bh if one.tested else one.p)  # type: ignore[type-var]
        for one, p_holm, p_bh in rows
    ]
