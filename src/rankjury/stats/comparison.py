"""Comparison of systems on the same queries: differences, intervals, paired tests, corrections."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import exp, isfinite, isnan, nan
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from rankjury.core.text import render_snippet
from rankjury.core.types import Floats
from rankjury.core.validation import Record
from rankjury.errors import DataError
from rankjury.measures.measure import Aggregate
from rankjury.stats.estimates import ResampledSums, resample_columns, summarise, to_mean_scale
from rankjury.stats.resampling import Bounds, Influence, Keys, Resampling, interval
from rankjury.stats.significance import (
    RandomizationTest,
    at_floor,
    benjamini_hochberg,
    detectable_difference,
    holm,
    is_significant,
    queries_needed,
    sign_flip_tests,
    t_test,
    wilcoxon_test,
)
from rankjury.stats.sums import Extent, FixedPoint, central_products, exact_products, mean_and_std, to_fixed

FEW_DIFFERENCES = 10
"""With fewer queries that differ, the spread of the differences is hardly known."""


@dataclass(frozen=True)
class Comparison(Record):
    """Comparison of a system with a baseline under one measure, over the queries where both are defined.

    Unknown values, such as a p-value without queries, are None. ``p`` is from the sign-flip test; for a measure of all
    queries together from the jackknife, as its values are contributions, and no query is better or worse.
    """

    computed = ("difference", "p_method")
    json_keys = MappingProxyType({"effect": "effect_size", "needed": "queries_needed", "resamples": "p_resamples"})
    omitted = ("lower_is_better", "relative", "relative_ci")
    unwritten = ("exact", "whole")

    system: str
    baseline: str
    measure: str
    n: int
    left_out: int
    """Queries where the measure is undefined for either system."""
    mean: float
    baseline_mean: float
    ci: Bounds | None
    p: float | None
    p_t: float | None
    p_wilcoxon: float | None
    effect: float | None
    """Cohen's d_z: the mean difference in standard deviations of the differences."""
    better: int
    equal: int
    worse: int
    std: float | None
    """Sample standard deviation of the per-query differences."""
    detectable: float | None
    """Smallest true difference that this number of queries detects with a power of 80 %."""
    needed: int | None
    """Number of queries that detects the observed difference with a power of 80 %."""
    lower_is_better: bool = False
    p_holm: float | None = None
    p_bh: float | None = None
    """``p`` corrected for all comparisons of the same report."""
    relative: float | None = None
    """Difference as a share of the baseline's mean, if requested."""
    relative_ci: Bounds | None = None
    whole: bool = False
    """The measure is a value of all queries together."""
    exact: bool = False
    """``p`` is over all sign assignments, not a sample."""
    resamples: int | None = None
    """Number of sampled sign assignments, if sampled."""

    @property
    def tested(self) -> bool:
        """Whether this counts as a test in the correction of p-values: not if no query differs.

        Source: Tarone, A modified Bonferroni method for discrete data, Biometrics 1990.
        """
        return self.p is not None and (self.p < 1 or self.better > 0 or self.worse > 0)

    @property
    def at_floor(self) -> bool:
        """Whether ``p`` is the smallest possible p-value for this number of resamples."""
        return at_floor(self.p, self.resamples)

    @property
    def difference(self) -> float:
        return self.mean - self.baseline_mean

    @property
    def gain(self) -> float:
        """The difference with its sign set so that positive is better."""
        return -self.difference if self.lower_is_better else self.difference

    def is_significant(self, level: float) -> bool:
        """Return whether the corrected p-value is significant at this level."""
        return is_significant(self.p_holm, level)

    def needed_for(self, difference: float, level: float) -> int | None:
        """Return how many queries detect such a difference with a power of 80 %."""
        return None if self.std is None else queries_needed(self.std, difference, level=level)

    def to_json(self) -> dict[str, Any]:
        """Return one row of the report; a value of all queries together has no better or worse queries."""
        row: dict[str, Any] = super().to_json()
        return row | dict.fromkeys(("better", "equal", "worse")) if self.whole else row

    @classmethod
    def prepare(cls, value: Any) -> Any:
        """Return a row with the values derived from its counts and the name of its test."""
        if not isinstance(value, dict):
            return value
        absent = [key for key in ("better", "equal", "worse") if value.get(key) is None]
        if absent and len(absent) < 3:
            raise DataError("expected better, equal and worse together")
        exact = value.get("p_method") == "exact"
        return {**value, **dict.fromkeys(absent, 0), "whole": bool(absent), "exact": exact}

    def _repr_html_(self) -> str:
        return render_snippet("comparison", self)

    @property
    def p_method(self) -> str | None:
        if self.p is None:
            return None
        return "jackknife" if self.whole else "exact" if self.exact else "monte carlo"


@dataclass(frozen=True)
class ComparisonSpec:
    """The systems and the measure of a comparison."""

    system: str
    baseline: str
    measure: str
    aggregate: Aggregate = "mean"
    lower_is_better: bool = False
    whole: bool = False
    """The measure is a value of all queries together."""
    descriptive: bool = False
    """The measure describes the run rather than its quality, and is not tested."""


@dataclass(frozen=True, eq=False)
class Differences:
    """Statistics of the differences of a comparison, over the queries where both sides are defined."""

    left_out: int
    mean: float
    baseline_mean: float
    moments: tuple[float, float]
    """Mean and standard deviation of the differences, on the scale on which means are computed."""
    steps: Extent
    """Sums of the differences in fixed point."""
    rose: int
    fell: int
    test: RandomizationTest | None
    p_wilcoxon: float
    pooled: tuple[ResampledSums, ...]
    """Resampled columns: the differences; for a geometric mean, both sides separately."""
    crossed: tuple[int, int, int] | None = None
    """For both sides, the sums of products of their fixed-point values (see ``exact_products``)."""

    @property
    def n(self) -> int:
        return self.steps.n

    def compared(self, versus: ComparisonSpec, resampling: Resampling) -> Comparison:
        """Return the comparison, without correction."""
        n, rose, fell = self.n, self.rose, self.fell
        varied = n >= 2 and self.steps.high - self.steps.low > 1
        # Spread, effect and power are defined for plain differences, so not for a geometric mean.
        known = varied and versus.aggregate != "geometric"
        difference, std = self.mean - self.baseline_mean, self.moments[1]
        p_t = t_test((*self.moments, n)) if varied else None
        p = self.test.p if self.test and n else None
        if versus.whole:
            p, rose, fell = (1.0 if n >= 2 and not self.steps.largest else p_t), 0, 0
        p_wilcoxon = None if versus.whole or isnan(self.p_wilcoxon) else self.p_wilcoxon
        if versus.descriptive:
            p = p_t = p_wilcoxon = None
        resampled = p is not None and self.test is not None and not versus.whole
        ci = None if n < 2 else (difference,) * 2
        return Comparison(
            versus.system,
            versus.baseline,
            versus.measure,
            n=n,
            left_out=self.left_out,
            mean=self.mean,
            baseline_mean=self.baseline_mean,
            ci=self._interval(resampling) if varied else ci,
            p=p,
            exact=resampled and n > 0 and self.test is not None and self.test.exact,
            p_t=p_t,
            p_wilcoxon=p_wilcoxon,
            std=std if known else None,
            effect=difference / std if known else None,
            better=fell if versus.lower_is_better else rose,
            equal=0 if versus.whole else n - rose - fell,
            worse=rose if versus.lower_is_better else fell,
            detectable=detectable_difference(std, n, level=resampling.level) if known else None,
            needed=queries_needed(std, difference, level=resampling.level) if known else None,
            lower_is_better=versus.lower_is_better,
            whole=versus.whole,
            resamples=self.test.resamples if resampled and self.test is not None else None,
        )

    def _interval(self, resampling: Resampling) -> Bounds:
        """Return the interval of resampled differences; for both sides, of the differences of their geometric means."""
        if self.crossed is None:
            (sums,) = self.pooled
            return interval(sums.means(), sums.mean, sums.influence, resampling.level, resampling.of_differences)
        ours, theirs = self.pooled
        mean, baseline_mean = exp(ours.mean), exp(theirs.mean)
        resampled = np.exp(ours.means()) - np.exp(theirs.means())
        # Influence of a query on a weighted difference of two columns.
        ab, aab, abb = central_products(ours.powers, theirs.powers, self.crossed)
        p, q = Fraction(mean), Fraction(baseline_mean)
        influence = Influence(-2 * p * q * ab, 3 * p * q * q * abb - 3 * p * p * q * aab)
        for side, weight in ((ours, p), (theirs, -q)):
            influence += Influence(Fraction(side.powers.squares), Fraction(side.powers.cubes)).scaled(weight)
        return interval(resampled, mean - baseline_mean, influence, resampling.level, resampling.of_differences)


@dataclass(frozen=True, eq=False)
class PairedValues(ComparisonSpec):
    """Comparison with the per-query values of the system and of the baseline.

    For a value of all queries together, these are contributions: two equal contributions may differ by those of
    other queries.
    """

    values: Floats = field(kw_only=True)
    baseline_values: Floats = field(kw_only=True)

    def __post_init__(self) -> None:
        # Done here and not by each caller, as omitting it would silently change the result.
        if self.whole:
            ours, theirs = align_contributions(self.values, self.baseline_values)
            object.__setattr__(self, "values", ours)
            object.__setattr__(self, "baseline_values", theirs)

    @cached_property
    def sides(self) -> list[Floats]:
        """Both columns on the scale on which means are computed; NaN if either is undefined."""
        undefined = np.isnan(self.values - self.baseline_values)
        columns = (self.values, self.baseline_values)
        return [np.where(undefined, nan, to_mean_scale(column, self.aggregate)) for column in columns]

    @property
    def resampled(self) -> list[Floats]:
        """The columns to resample: the differences; for a geometric mean, both sides separately."""
        return self.sides if self.aggregate == "geometric" else [self.sides[0] - self.sides[1]]

    @property
    def largest(self) -> float:
        """Largest absolute score of the compared queries."""
        return max(float(np.abs(side[~np.isnan(side)]).max(initial=0.0)) for side in self.sides)


def compare_pairs(
    pairs: Sequence[PairedValues], keys: Keys, resampling: Resampling, *, signs: int | None = None
) -> list[Comparison]:
    """Compare every pair over the queries of ``keys``, with common resamples and without correction.

    ``signs`` is the number of sign assignments, if it differs from the number of resamples.
    """
    columns = [pair.resampled for pair in pairs]
    fixed = [to_fixed(*of_pair, largest=pair.largest) for of_pair, pair in zip(columns, pairs, strict=True)]
    pooled = resample_columns(list(chain(*fixed)), list(chain(*columns)), keys, resampling)
    # After rounding to steps of the scores' scale, differences that should be equal are equal: 0.3 − 0.2 and 0.2 − 0.1.
    steps = [to_fixed(pair.sides[0] - pair.sides[1], largest=pair.largest)[0].whole for pair in pairs]
    tests = sign_flip_tests(steps, keys, signs or resampling.resamples, rounded=True) if pairs else []
    return [
        _summarize_pair(pair, [next(pooled) for _ in sides], sides, whole, test).compared(pair, resampling)
        for pair, sides, whole, test in zip(pairs, fixed, steps, tests, strict=True)
    ]


def align_contributions(values: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return the contributions to two values over all queries, aligned on the queries that contribute to either.

    The means do not change. A query that does not contribute to a value does not change it; the contributions of the
    others are scaled accordingly. If the contributions to a value are unknown, both values are assigned to one query,
    so that the spread of their difference is unknown.
    """
    sides = [~np.isnan(values), ~np.isnan(others)]
    every = sides[0] | sides[1]
    if min(int(side.sum()) for side in sides) < 2:
        first = np.arange(values.size) == 0
        figures = (mean_and_std(column[side])[0] for side, column in zip(sides, (values, others), strict=True))
        ours, theirs = (np.where(first, figure, nan) for figure in figures)
        return ours, theirs
    if (sides[0] == sides[1]).all():
        return values, others
    aligned = []
    for side, column in zip(sides, (values, others), strict=True):
        figure, n = mean_and_std(column[side])[0], int(side.sum())
        spread = figure + np.where(side, column - figure, 0.0) * (int(every.sum()) / n)
        aligned.append(np.where(every, spread, nan))
    return aligned[0], aligned[1]


def _summarize_pair(
    pair: PairedValues,
    pooled: Sequence[ResampledSums],
    sides: Sequence[FixedPoint],
    whole: Floats,
    test: RandomizationTest | None,
) -> Differences:
    differences = pair.sides[0] - pair.sides[1]
    both = ~np.isnan(differences)
    steps = whole[both]
    return Differences(
        left_out=int(both.size - steps.size),
        mean=summarise(pair.values[both], pair.aggregate).mean,
        baseline_mean=summarise(pair.baseline_values[both], pair.aggregate).mean,
        moments=mean_and_std(differences[both]),
        steps=Extent.of(steps),
        rose=int((steps > 0).sum()),
        fell=int((steps < 0).sum()),
        test=test,
        p_wilcoxon=wilcoxon_test(steps),
        pooled=tuple(pooled),
        crossed=exact_products(*(side.whole[both] for side in sides)) if len(sides) == 2 else None,
    )


Tested = TypeVar("Tested", bound=Any)
"""A result with ``p``, ``tested``, ``p_holm`` and ``p_bh``: a comparison or a gap between slices."""


def correct_p_values(tested: Iterable[Tested]) -> list[Tested]:
    """Fill in ``p_holm`` and ``p_bh``, corrected for all of these tests together.

    If no query differs, p stays 1, and does not increase the p-values of others.
    """
    results = list(tested)
    p_values = [result.p if result.tested else None for result in results]
    return [
        replace(result, p_holm=p_holm, p_bh=p_bh) if result.tested else replace(result, p_holm=result.p, p_bh=result.p)
        for result, p_holm, p_bh in zip(results, holm(p_values), benjamini_hochberg(p_values), strict=True)
    ]


def add_relative_differences(
    comparisons: Sequence[Comparison], pairs: Sequence[PairedValues], keys: Keys, resampling: Resampling
) -> list[Comparison]:
    """Return the comparisons with their relative differences: the ratio of resampled means, minus 1.

    It is undefined for geometric means, and if the baseline's mean is 0.
    """
    columns = [side for pair in pairs for side in pair.sides]
    sums = list(resample_columns([to_fixed(column)[0] for column in columns], columns, keys, resampling))
    completed = []
    for comparison, pair, ours, theirs in zip(comparisons, pairs, sums[::2], sums[1::2], strict=True):
        if pair.aggregate != "geometric" and comparison.n >= 2 and comparison.baseline_mean != 0:
            share = comparison.difference / abs(comparison.baseline_mean)
            if isfinite(share):
                ci = _relative_interval(ours, theirs, resampling.level)
                comparison = replace(comparison, relative=share, relative_ci=ci)
        completed.append(comparison)
    return completed


def _relative_interval(ours: ResampledSums, theirs: ResampledSums, level: float) -> Bounds | None:
    """Return the percentile interval of the relative difference; None if a resampled baseline is 0."""
    drawn = theirs.drawn > 0
    sums, baseline_sums = ours.sums[drawn], theirs.sums[drawn]
    if not baseline_sums.all():  # no ratio exists for a baseline that may be 0
        return None
    scale = ours.unit / theirs.unit
    with np.errstate(over="ignore", invalid="ignore"):
        resampled = (sums * scale - baseline_sums) / np.abs(baseline_sums)
    if not np.isfinite(resampled).all():
        return None
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high
