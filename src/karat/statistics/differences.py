"""Two systems on the same queries: how far apart, how surely, and what could have been shown."""

from dataclasses import dataclass
from fractions import Fraction
from math import exp, isnan
from types import MappingProxyType
from typing import Any

import numpy as np

from karat.errors import DataError
from karat.markup import snippet_of
from karat.measure import Aggregate
from karat.records import Record
from karat.statistics.corrections import at_floor, is_shown
from karat.statistics.estimates import Pooled
from karat.statistics.intervals import Bounds, Influence, Resampling, interval
from karat.statistics.paired import Randomised, t_test_of
from karat.statistics.power import detectable_difference, queries_needed
from karat.statistics.sums import Extent, central_products

__all__ = ["Comparison", "Differences", "Versus"]


@dataclass(frozen=True)
class Comparison(Record):
    """A system against a baseline under one measure, over the queries where both are defined.

    What cannot be known, such as a p-value of no query, is None. ``p`` is the sign-flip test's; of a figure over all
    queries it is that of the jackknife, as the values are contributions, and no query is better or worse.
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
    """Queries where the measure is undefined for one or both."""
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
    """The difference that so many queries would show with a power of 80 %."""
    needed: int | None
    """Queries with which the difference found would be shown with a power of 80 %."""
    lower_is_better: bool = False
    p_holm: float | None = None
    p_bh: float | None = None
    """``p`` corrected for all comparisons made together."""
    relative: float | None = None
    """The difference as a share of the baseline's mean, where it was asked for."""
    relative_ci: Bounds | None = None
    whole: bool = False
    """Of a figure over all queries."""
    exact: bool = False
    """``p`` is over all assignments of signs, not a sample of them."""
    resamples: int | None = None
    """How many assignments of signs ``p`` rests on, where these were drawn."""

    @property
    def tested(self) -> bool:
        """Whether it counts among the tests that p-values are corrected for: none is made where no query differs.

        Source: Tarone, A modified Bonferroni method for discrete data, Biometrics 1990.
        """
        return self.p is not None and (self.p < 1 or self.better > 0 or self.worse > 0)

    @property
    def at_floor(self) -> bool:
        """Whether ``p`` is the smallest that so many resamples can give."""
        return at_floor(self.p, self.resamples)

    @property
    def difference(self) -> float:
        return self.mean - self.baseline_mean

    @property
    def gain(self) -> float:
        """The difference, counted so that more is better."""
        return -self.difference if self.lower_is_better else self.difference

    def is_shown(self, level: float) -> bool:
        """Whether chance alone would seldom make such a difference, all comparisons considered."""
        return is_shown(self.p_holm, level)

    def needed_for(self, difference: float, level: float) -> int | None:
        """Queries with which such a difference would be shown with a power of 80 %."""
        return None if self.std is None else queries_needed(self.std, difference, level=level)

    def to_json(self) -> dict[str, Any]:
        """One row of the report: of a figure over all queries none is better or worse."""
        found: dict[str, Any] = super().to_json()
        if self.whole:
            found |= dict.fromkeys(("better", "equal", "worse"))
        return found

    @classmethod
    def prepare(cls, value: Any) -> Any:
        """Return a row with what follows from its tallies and the name of its test."""
        if not isinstance(value, dict):
            return value
        absent = [key for key in ("better", "equal", "worse") if value.get(key) is None]
        if absent and len(absent) < 3:
            raise DataError("expected better, equal and worse together")
        exact = value.get("p_method") == "exact"
        return {**value, **dict.fromkeys(absent, 0), "whole": bool(absent), "exact": exact}

    def _repr_html_(self) -> str:
        return snippet_of("comparison", self)

    @property
    def p_method(self) -> str | None:
        if self.p is None:
            return None
        return "jackknife" if self.whole else "exact" if self.exact else "monte carlo"


@dataclass(frozen=True)
class Versus:
    """Which system is held against which, under what measure."""

    system: str
    baseline: str
    measure: str
    aggregate: Aggregate = "mean"
    lower_is_better: bool = False
    whole: bool = False
    """Of a figure over all queries."""
    descriptive: bool = False
    """Of a measure that describes the run rather than how good it is, and which is not tested."""


@dataclass(frozen=True, eq=False)
class Differences:
    """What a comparison is made of, over the queries where both sides are defined."""

    left_out: int
    mean: float
    baseline_mean: float
    apart: tuple[float, float]
    """Mean and standard deviation of the differences, on the scale on which means are taken."""
    steps: Extent
    """Of the differences in fixed point."""
    rose: int
    fell: int
    test: Randomised | None
    p_wilcoxon: float
    pooled: tuple[Pooled, ...]
    """What is resampled: differences; of a geometric mean, both sides by themselves."""
    crossed: tuple[int, int, int] | None = None
    """Of both sides, the sums of products of their fixed-point values (see ``exact_products``)."""

    @property
    def n(self) -> int:
        return self.steps.n

    def compared(self, versus: Versus, how: Resampling) -> Comparison:
        """Not yet corrected."""
        n, rose, fell = self.n, self.rose, self.fell
        varied = n >= 2 and self.steps.high - self.steps.low > 1
        # Spread, effect and power are about plain differences; a geometric mean has none of that kind.
        known = varied and versus.aggregate != "geometric"
        difference, std = self.mean - self.baseline_mean, self.apart[1]
        p_t = t_test_of(*self.apart, n) if varied else None
        p = self.test.p if self.test and n else None
        if versus.whole:
            p, rose, fell = (1.0 if n >= 2 and not self.steps.largest else p_t), 0, 0
        p_wilcoxon = None if versus.whole else _or_none(self.p_wilcoxon)
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
            ci=self._interval(how) if varied else ci,
            p=p,
            exact=resampled and n > 0 and self.test is not None and self.test.exact,
            p_t=p_t,
            p_wilcoxon=p_wilcoxon,
            std=std if known else None,
            effect=difference / std if known else None,
            better=fell if versus.lower_is_better else rose,
            equal=0 if versus.whole else n - rose - fell,
            worse=rose if versus.lower_is_better else fell,
            detectable=detectable_difference(std, n, level=how.level) if known else None,
            needed=queries_needed(std, difference, level=how.level) if known else None,
            lower_is_better=versus.lower_is_better,
            whole=versus.whole,
            resamples=self.test.resamples if resampled and self.test is not None else None,
        )

    def _interval(self, how: Resampling) -> Bounds:
        """Of resampled differences; of both sides, their geometric means are subtracted."""
        if self.crossed is None:
            (apart,) = self.pooled
            return interval(apart.means(), apart.mean, apart.influence, how.level, how.of_differences)
        one, other = self.pooled
        mean, baseline_mean = exp(one.mean), exp(other.mean)
        resampled = np.exp(one.means()) - np.exp(other.means())
        influence = _influence_of_both(one, other, self.crossed, (mean, baseline_mean))
        return interval(resampled, mean - baseline_mean, influence, how.level, how.of_differences)


def _influence_of_both(
    one: Pooled, other: Pooled, crossed: tuple[int, int, int], weights: tuple[float, float]
) -> Influence:
    """Of a weighted difference of two columns over the same queries."""
    ab, aab, abb = central_products(one.powers, other.powers, crossed)
    p, q = map(Fraction, weights)
    between = Influence(-2 * p * q * ab, 3 * p * q * q * abb - 3 * p * p * q * aab)
    exact = (Influence(Fraction(side.powers.squares), Fraction(side.powers.cubes)) for side in (one, other))
    ours, theirs = exact
    return (
        between
        + Influence(ours.squares * p**2, ours.cubes * p**3)
        + Influence(theirs.squares * q**2, -theirs.cubes * q**3)
    )


def _or_none(value: float) -> float | None:
    return None if isnan(value) else value
