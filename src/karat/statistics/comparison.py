"""Two systems on the same queries: how far apart, how surely, and what could have been shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, Protocol, TypeVar

import numpy as np

from karat.measure import Aggregate
from karat.statistics.corrections import benjamini_hochberg, holm
from karat.statistics.estimates import Pooled, off_scale, onto_scale, pool, spread, summarise
from karat.statistics.fixed import to_fixed
from karat.statistics.intervals import Bounds, Resampling, interval
from karat.statistics.paired import Randomised, sign_flip_tests, t_test, wilcoxon_test
from karat.statistics.power import detectable_difference, queries_needed
from karat.statistics.streams import Keys
from karat.types import Floats

__all__ = ["Comparison", "Paired", "compare_pairs", "correct"]

_ROUNDING = 1.0
"""Steps of fixed point by which two equal differences may come out apart."""


@dataclass(frozen=True)
class Comparison:
    """A system against a baseline under one measure, over the queries where both are defined.

    What cannot be known, such as a p-value of no query, is None. ``p`` is the sign-flip test's.
    """

    system: str
    baseline: str
    measure: str
    n: int
    left_out: int
    """Queries where the measure is undefined for one or both."""
    mean: float
    baseline_mean: float
    ci: Bounds | None
    p: float | None
    exact: bool
    """``p`` is over all assignments of signs, not a sample of them."""
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
    """The difference that so many queries would show with a power of 80 %."""
    needed: int | None
    """Queries with which the difference found would be shown with a power of 80 %."""
    lower_is_better: bool = False
    p_holm: float | None = None
    p_bh: float | None = None
    """``p`` corrected for all comparisons made together."""

    @property
    def difference(self) -> float:
        return self.mean - self.baseline_mean

    @property
    def gain(self) -> float:
        """The difference, counted so that more is better."""
        return -self.difference if self.lower_is_better else self.difference

    def is_shown(self, level: float) -> bool:
        """Whether chance alone would seldom make such a difference, all comparisons considered."""
        return self.p_holm is not None and self.p_holm <= 1.0 - level

    def needed_for(self, difference: float, level: float) -> int | None:
        """Queries with which such a difference would be shown with a power of 80 %."""
        return None if self.std is None else queries_needed(self.std, difference, level=level)

    def as_json(self) -> dict[str, Any]:
        """One row of the report."""
        return {
            "system": self.system,
            "baseline": self.baseline,
            "measure": self.measure,
            "n": self.n,
            "left_out": self.left_out,
            "mean": _or_none(self.mean),
            "baseline_mean": _or_none(self.baseline_mean),
            "difference": _or_none(self.difference),
            "ci": None if self.ci is None else list(self.ci),
            "p": self.p,
            "p_method": "exact" if self.exact else "monte carlo",
            "p_holm": self.p_holm,
            "p_bh": self.p_bh,
            "p_t": self.p_t,
            "p_wilcoxon": self.p_wilcoxon,
            "std": self.std,
            "effect_size": self.effect,
            "better": self.better,
            "equal": self.equal,
            "worse": self.worse,
            "detectable": self.detectable,
            "queries_needed": self.needed,
        }


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


def compare_pairs(pairs: Sequence[Paired], keys: Keys, how: Resampling) -> list[Comparison]:
    """Compare every pair over the queries of ``keys``; all are resampled together. Not yet corrected."""
    if not pairs:
        return []
    columns: list[Floats] = []
    for pair in pairs:
        both = ~(np.isnan(pair.values) | np.isnan(pair.baseline_values))
        columns += [
            onto_scale(np.where(both, values, nan), pair.aggregate) for values in (pair.values, pair.baseline_values)
        ]
    fixed = [one for at in range(0, len(columns), 2) for one in to_fixed(columns[at], columns[at + 1])]
    pooled = list(pool(fixed, columns, keys, how))
    tests = sign_flip_tests(
        [_steps(one, other) for one, other in zip(pooled[::2], pooled[1::2], strict=True)], keys, how.resamples
    )
    rows = zip(pairs, pooled[::2], pooled[1::2], tests, strict=True)
    return [_compared(pair, one, other, test, how) for pair, one, other, test in rows]


def _compared(pair: Paired, one: Pooled, other: Pooled, test: Randomised | None, how: Resampling) -> Comparison:
    both = one.defined
    n = int(both.sum())
    values, baseline_values = pair.values[both], pair.baseline_values[both]
    steps = _steps(one, other)[both]
    varied = n >= 2 and float(np.ptp(steps)) > 2 * _ROUNDING
    better, worse = int((steps > 0).sum()), int((steps < 0).sum())
    differences = onto_scale(values, pair.aggregate) - onto_scale(baseline_values, pair.aggregate)
    mean = summarise(values, pair.aggregate).mean
    baseline_mean = summarise(baseline_values, pair.aggregate).mean
    # Spread, effect and power are about plain differences; a geometric mean has none of that kind.
    known = varied and pair.aggregate != "geometric"
    std = spread(differences) if known else nan
    test = test if n else None
    return Comparison(
        pair.system,
        pair.baseline,
        pair.measure,
        n=n,
        left_out=both.size - n,
        mean=mean,
        baseline_mean=baseline_mean,
        ci=_interval(one, other, pair.aggregate, how) if varied else (mean - baseline_mean,) * 2 if n >= 2 else None,
        p=test.p if test else None,
        exact=test is not None and test.exact,
        p_t=t_test(differences) if varied else None,
        p_wilcoxon=_or_none(wilcoxon_test(steps)),
        effect=(mean - baseline_mean) / std if known else None,
        better=worse if pair.lower_is_better else better,
        equal=n - better - worse,
        worse=better if pair.lower_is_better else worse,
        std=std if known else None,
        detectable=detectable_difference(std, n, level=how.level) if known else None,
        needed=queries_needed(std, mean - baseline_mean, level=how.level) if known else None,
        lower_is_better=pair.lower_is_better,
    )


def _steps(one: Pooled, other: Pooled) -> Floats:
    """Differences in fixed-point steps; those within rounding are none."""
    steps = one.fixed.whole - other.fixed.whole
    steps[np.abs(steps) <= _ROUNDING] = 0.0
    return steps


def _interval(one: Pooled, other: Pooled, aggregate: Aggregate, how: Resampling) -> Bounds:
    if aggregate == "geometric":
        ours, theirs = np.exp(one.means()), np.exp(other.means())
        mean, baseline_mean = off_scale(one.mean, aggregate), off_scale(other.mean, aggregate)
        influence = mean * one.influence - baseline_mean * other.influence
        return interval(ours - theirs, mean - baseline_mean, influence, how)
    # Whole sums are subtracted before anything is rounded: equal differences give an interval of no width.
    apart = replace(
        one, fixed=replace(one.fixed, whole=one.fixed.whole - other.fixed.whole), sums=one.sums - other.sums
    )
    return interval(apart.means(), apart.mean, apart.influence, how)


class Tested(Protocol):
    """What has a p-value to be corrected."""

    @property
    def p(self) -> float | None: ...


SomeTested = TypeVar("SomeTested", bound=Tested)


def correct(tested: Iterable[SomeTested]) -> list[SomeTested]:
    """Fill in ``p_holm`` and ``p_bh``, corrected for all of these together."""
    made = list(tested)
    p_values = [one.p for one in made]
    rows = zip(made, holm(p_values), benjamini_hochberg(p_values), strict=True)
    return [replace(one, p_holm=p_holm, p_bh=p_bh) for one, p_holm, p_bh in rows]  # type: ignore[type-var]


def _or_none(value: float) -> float | None:
    return None if isnan(value) else value
