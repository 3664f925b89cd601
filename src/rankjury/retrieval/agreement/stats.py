"""Agreement statistics of two models' similarities over query-item pairs: correlations and errors with intervals.

Queries are resampled, each with all its pairs. Errors and Pearson's r come from sums by query; Spearman's ρ is ranked
anew in every resample; Kendall's τ uses the first-order change that each query makes to it
(docs/explanation/agreement.md).

A statistic takes the values of the reference and of the candidate and returns one number; NaN if it is undefined, such
as a correlation with a constant side.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from rankjury.core.types import Floats, Ints, cut_rows, in_threads
from rankjury.core.validation import Record
from rankjury.evaluation.sections import Section
from rankjury.stats.formatting import format_estimate, format_interval, format_value, interval_decimals
from rankjury.stats.resampling import Bounds, Keys, Resampling, bootstrap_weights, draw_sums
from rankjury.stats.sums import to_fixed

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report


def pearson(reference: Floats, candidate: Floats) -> float:
    """Return Pearson's r, the linear correlation.

    Formula: Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² · Σ (y − ȳ)²).
    """
    if reference.size < 2 or any(side.min() == side.max() for side in (reference, candidate)):
        return nan
    x, y = standardize(reference), standardize(candidate)
    # Not by BLAS, whose sums depend on the number of threads.
    xy, xx, yy = (float((left * right).sum()) for left, right in ((x, y), (x, x), (y, y)))
    return float(np.clip(xy / sqrt(xx * yy), -1.0, 1.0))


def standardize(values: Floats) -> Floats:
    """Return the values centred and scaled to at most 1, so that squares neither overflow nor vanish."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    return np.asarray(centred - centred.mean())


def spearman(reference: Floats, candidate: Floats) -> float:
    """Return Spearman's ρ, the rank correlation.

    Formula: Pearson's r of the ranks; equal numbers share the mean of their ranks.
    """
    return pearson(midranks(reference), midranks(candidate))


def midranks(values: Floats) -> Floats:
    """Return ranks from 1 on; equal values share their mean rank."""
    order = np.sort(values)
    below, up_to = np.searchsorted(order, values, "left"), np.searchsorted(order, values, "right")
    return np.asarray((below + up_to + 1) / 2.0)


def kendall(reference: Floats, candidate: Floats) -> float:
    """Return Kendall's τ-b: the probability of concordant minus discordant order, corrected for ties.

    Formula: (concordant − discordant) / √(pairs that differ in x · pairs that differ in y).
    """
    agreeing, differing_x, differing_y = concordance(reference, candidate)
    total_x, total_y = int(differing_x.sum()), int(differing_y.sum())
    return int(agreeing.sum()) / sqrt(total_x * total_y) if total_x and total_y else nan


def concordance(reference: Floats, candidate: Floats) -> tuple[Ints, Ints, Ints]:
    """Return for each value its concordant minus discordant others, and the number of others that differ.

    The latter by the reference and by the candidate. It takes n · log² n steps, not n².
    """
    x, y = (np.unique(side, return_inverse=True)[1].astype(np.int64).reshape(-1) for side in (reference, candidate))
    n = x.size
    lower_x, up_to_x = _counts(x)
    lower_y, up_to_y = _counts(y)
    within = _Prefixes(y[np.argsort(x, kind="stable")])
    both_lower = within.below(lower_x, y)
    lower_then_equal, equal_then_lower, both_up_to = both_lower, both_lower, both_lower + 1
    if min(x.max(initial=0), y.max(initial=0)) + 1 < n:  # some are equal
        lower_then_equal = within.below(lower_x, y + 1)
        equal_then_lower, both_up_to = within.below(up_to_x, y), within.below(up_to_x, y + 1)
    alike = both_lower + (n - up_to_x - up_to_y + both_up_to)
    unlike = (lower_x - lower_then_equal) + (lower_y - equal_then_lower)
    return alike - unlike, n - (up_to_x - lower_x), n - (up_to_y - lower_y)


def _counts(codes: Ints) -> tuple[Ints, Ints]:
    """Return for each code how many are lower, and how many are not higher."""
    ends = np.cumsum(np.bincount(codes, minlength=1))
    starts = np.concatenate(([0], ends[:-1]))
    return starts[codes], ends[codes]


class _Prefixes:
    """Prefix counts of codes: how many of the first m are below a limit, for many m and limits at once.

    The first m are cut into pieces of lengths that are powers of two, one for each bit of m; each piece is sorted.
    """

    def __init__(self, codes: Ints) -> None:
        self.codes = codes
        self.stride = int(codes.max(initial=0)) + 2

    def below(self, lengths: Ints, limits: Ints) -> Ints:
        counts = np.zeros(lengths.size, dtype=np.int64)
        places = np.arange(self.codes.size)
        for bit in range(int(lengths.max(initial=0)).bit_length()):
            rows = np.flatnonzero(lengths >> bit & 1)
            if rows.size:
                pieces = np.sort((places >> bit) * self.stride + self.codes)
                piece = (lengths[rows] >> bit) - 1
                counts[rows] += np.searchsorted(pieces, piece * self.stride + limits[rows]) - (piece << bit)
        return counts


def mae(reference: Floats, candidate: Floats) -> float:
    """Return the mean absolute error.

    Formula: Σ |x − y| / n.
    """
    return float(np.abs(reference - candidate).mean()) if reference.size else nan


def rmse(reference: Floats, candidate: Floats) -> float:
    """Return the root mean square error.

    Formula: √(Σ (x − y)² / n).
    """
    apart = np.abs(reference - candidate)
    largest = float(apart.max(initial=0.0))
    if not largest:
        return 0.0 if reference.size else nan
    return largest * sqrt(float(np.square(apart / largest).mean()))


AGREEMENTS: dict[str, Callable[[Floats, Floats], float]] = {
    "spearman": spearman,
    "kendall": kendall,
    "pearson": pearson,
    "mae": mae,
    "rmse": rmse,
}


MOST_RESAMPLES = 1_000
"""Maximum number of resamples; each of them ranks all pairs."""
LOWER_IS_BETTER = frozenset(("mae", "rmse"))
_RESAMPLES_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class SimilarityPairs:
    """Similarities of query-item pairs by two models, in order of query."""

    row: Ints
    """The query of each, ascending."""
    reference: Floats
    candidate: Floats
    about: str
    """Which pairs they are."""
    left_out: int = 0
    """Pairs that one of the models does not know."""


@dataclass(frozen=True)
class AgreementValue(Record):
    """A statistic with its interval and its difference from the baseline."""

    omitted = ("difference", "difference_ci")

    value: float
    ci: Bounds | None = None
    difference: float | None = None
    difference_ci: Bounds | None = None


@dataclass(frozen=True, eq=False)
class Agreement(Section):
    """Agreement of one candidate with the reference."""

    name = "agreement"
    unwritten = ("resampled",)

    about: str
    pairs: int
    queries: int
    left_out: int
    figures: dict[str, AgreementValue]
    resamples: int | None = None
    """Number of resamples; None without intervals."""
    resampled: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row per statistic; ``n`` counts pairs."""
        for name, figure in self.figures.items():
            low, high = figure.ci or (None, None)
            row = {"measure": name, "mean": figure.value, "ci_low": low, "ci_high": high, "n": self.pairs}
            ends = figure.difference_ci or (None, None)
            yield row | {"difference": figure.difference, "difference_low": ends[0], "difference_high": ends[1]}

    def with_differences(self, baseline: "Agreement", level: float) -> "Agreement":
        """Return the agreement with its differences to a baseline over the same pairs."""
        figures = {}
        for name, figure in self.figures.items():
            difference = figure.value - baseline.figures[name].value
            ci = None
            if name in self.resampled and name in baseline.resampled:
                ci = _percentiles(self.resampled[name] - baseline.resampled[name], level)
            figures[name] = figure if isnan(difference) else replace(figure, difference=difference, difference_ci=ci)
        return replace(self, figures=figures)


@dataclass(frozen=True, eq=False)
class ReferenceSource(Section):
    """Marks a report whose gold is the ranking of a reference model: systems are shown by cut-off."""

    name = "reference"
    leads = 2
    replaces_means = True

    source: str

    def summary(self, report: "Report", system: str | None) -> Iterator[str]:
        """Yield how much of the reference's first items the baseline, or the best candidate, keeps."""
        ranked = [name for name, result in report.systems.items() if not result.random]
        label = next((label for label in reversed(report.labels) if _is_recall(report, label)), None)
        label = next((label for label in report.headline if _is_recall(report, label)), label)
        if label is None or not ranked:
            return
        means = {name: report.systems[name].estimates[label] for name in ranked}
        ranked = [name for name in ranked if not isnan(means[name].mean)]
        shown = report.baseline if report.baseline in ranked else max(ranked, default=None, key=lambda n: means[n].mean)
        if shown is None:
            return
        measure = report.measure(label)
        kept = f"{shown} keeps {format_estimate(means[shown])} of the reference's top {measure.k if measure else ''}"
        agreement = report.section(Agreement, shown)
        value = None if agreement is None else agreement.figures.get("spearman")
        if value is None or isnan(value.value):
            yield f"{kept}."
        else:
            ci = f" {format_interval(value.ci)}" if value.ci is not None else ""
            spearman = format_value(value.value, interval_decimals(value.ci))
            yield f"{kept}; Spearman's ρ of the similarities {spearman}{ci}."


def _is_recall(report: "Report", label: str) -> bool:
    measure = report.measure(label)
    return measure is not None and measure.metric.name == "recall" and measure.k is not None


def estimate_agreement(
    pairs: SimilarityPairs, keys: Keys, resampling: Resampling | None, only: Iterable[str] = AGREEMENTS
) -> Agreement:
    """Return the statistics over these pairs; with ``resampling``, intervals over the queries of ``keys``."""
    values = {name: AGREEMENTS[name](pairs.reference, pairs.candidate) for name in only}
    queries = int(np.unique(pairs.row).size)
    resampled: dict[str, Floats] = {}
    if resampling is not None and queries >= 2:
        statistics = _Resampled(pairs, keys, min(resampling.resamples, MOST_RESAMPLES))
        resampled = {name: getattr(statistics, name)() for name, value in values.items() if not isnan(value)}
    level = (resampling or Resampling()).level
    cis = {name: _percentiles(draws, level) for name, draws in resampled.items()}
    figures = {name: AgreementValue(value, cis.get(name)) for name, value in values.items()}
    size = len(next(iter(resampled.values()))) if resampled else None
    return Agreement(pairs.about, pairs.row.size, queries, pairs.left_out, figures, size, resampled)


def _percentiles(resampled: Floats, level: float) -> Bounds | None:
    known = resampled[~np.isnan(resampled)]
    if not known.size:
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


class _Resampled:
    """Statistics over resampled queries, by their names in ``AGREEMENTS``."""

    def __init__(self, pairs: SimilarityPairs, keys: Keys, resamples: int) -> None:
        self.x, self.y, self.row = pairs.reference, pairs.candidate, pairs.row
        self.keys, self.resamples = keys, resamples

    def _sums(self, *columns: Floats) -> list[Floats]:
        """Return the sums of each column over the pairs of the resampled queries."""
        by_query = (np.bincount(self.row, column, minlength=self.keys.size).astype(np.float64) for column in columns)
        fixed = [to_fixed(column)[0] for column in by_query]
        sums = draw_sums(self.keys, np.column_stack([column.whole for column in fixed]), self.resamples)
        return [row * column.unit for row, column in zip(sums, fixed, strict=True)]

    @cached_property
    def _drawn(self) -> Floats:
        """Number of pairs of each resample."""
        return self._sums(np.ones(self.row.size))[0]

    def mae(self) -> Floats:
        return _quotient(self._sums(np.abs(self.x - self.y))[0], self._drawn)

    def rmse(self) -> Floats:
        apart = np.abs(self.x - self.y)
        largest = float(apart.max()) or 1.0
        return largest * np.sqrt(_quotient(self._sums(np.square(apart / largest))[0], self._drawn))

    def pearson(self) -> Floats:
        x, y = standardize(self.x), standardize(self.y)
        sum_x, sum_y, xx, yy, xy = self._sums(x, y, x * x, y * y, x * y)
        n = self._drawn
        spread = _spread(xx, sum_x, n) * _spread(yy, sum_y, n)
        return np.clip(_quotient(xy - _quotient(sum_x * sum_y, n), np.sqrt(spread)), -1.0, 1.0)

    def kendall(self) -> Floats:
        first_order = []
        # Scaled to the number of pairs: else a resample of less than half of them would change the sign.
        weight = _quotient(np.full(self._drawn.shape, float(self.row.size)), self._drawn)
        for column in concordance(self.x, self.y):
            total = float(column.sum())
            first_order.append(2.0 * weight * self._sums(column.astype(np.float64))[0] - total)
        agreeing, differing_x, differing_y = first_order
        spread = np.maximum(differing_x, 0.0) * np.maximum(differing_y, 0.0)
        return np.clip(_quotient(agreeing, np.sqrt(spread)), -1.0, 1.0)

    def spearman(self) -> Floats:
        ranks = _Ranks(self.x, self.y, self.row)

        def part(first: int, last: int) -> Floats:
            return np.array([ranks.correlation(row) for row in bootstrap_weights(self.keys, first, last).T.copy()])

        return np.concatenate(list(in_threads(part, cut_rows(self.resamples, _RESAMPLES_AT_ONCE))))


def _spread(squares: Floats, sums: Floats, n: Floats) -> Floats:
    """Return the sum of squared deviations; 0 if it is within the error of fixed-point sums."""
    spread = squares - _quotient(sums * sums, n)
    return np.where(spread > 1e-9 * squares.max(), spread, 0.0)


def _quotient(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(above.shape, nan), where=below > 0))


class _Ranks:
    """Weighted rank correlation: both sides are sorted once, midranks are then running sums."""

    def __init__(self, x: Floats, y: Floats, row: Ints) -> None:
        by_x, by_y = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
        place = np.empty_like(by_y)
        place[by_y] = np.arange(by_y.size)
        self._rows_by_x, self._rows_by_y = row[by_x], row[by_y]
        self._place = place[by_x]
        self._groups_x, self._groups_y = _run_ends(x[by_x]), _run_ends(y[by_y])

    def correlation(self, weights: Floats) -> float:
        """Return Pearson's r of the midranks; each pair counts as often as its query was drawn."""
        of_pairs = weights.take(self._rows_by_x)
        x = _midranks(of_pairs, self._groups_x)
        y = _midranks(weights.take(self._rows_by_y), self._groups_y).take(self._place)
        total = float(of_pairs.sum())
        # The weighted mean of midranks is half of the total weight, whatever ties there are.
        x -= total / 2.0
        y -= total / 2.0
        # Not by BLAS, whose sums depend on its threads.
        spread = float(np.einsum("i,i,i", of_pairs, x, x)) * float(np.einsum("i,i,i", of_pairs, y, y))
        together = float(np.einsum("i,i,i", of_pairs, x, y))
        return min(1.0, max(-1.0, together / sqrt(spread))) if spread > 0 else nan


def _run_ends(ordered: Floats) -> Ints | None:
    """Return the end of each run of equal values; None if all differ."""
    ends = np.append(np.flatnonzero(np.diff(ordered)) + 1, ordered.size)
    return None if ends.size == ordered.size else ends


def _midranks(weights: Floats, ends: Ints | None) -> Floats:
    """Return for sorted pairs the weight below each plus half of the weight at it."""
    running = np.cumsum(weights)
    if ends is None:
        return np.asarray(running - weights / 2.0)
    upper = running[ends - 1]
    lower = np.concatenate(([0.0], upper[:-1]))
    return np.repeat((lower + upper) / 2.0, np.diff(ends, prepend=0))
