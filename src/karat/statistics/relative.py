"""A difference as a share of the baseline's mean: the improvement that people speak of, with its interval."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, nan

import numpy as np

from karat.statistics.comparison import Paired
from karat.statistics.differences import Comparison
from karat.statistics.estimates import Pooled, pool
from karat.statistics.intervals import Bounds, Resampling
from karat.statistics.streams import Keys
from karat.statistics.sums import to_fixed
from karat.types import Floats

__all__ = ["with_relative"]


def with_relative(
    comparisons: Sequence[Comparison], pairs: Sequence[Paired], keys: Keys, how: Resampling
) -> list[Comparison]:
    """The comparisons of these pairs, each with its relative difference: resampled means over each other, less 1.

    There is none of a geometric mean, nor where the baseline's mean is 0.
    """
    columns = [column for pair in pairs for column in _columns(pair)]
    pooled = list(pool([to_fixed(column)[0] for column in columns], columns, keys, how))
    sides = zip(comparisons, pairs, pooled[::2], pooled[1::2], strict=True)
    return [_with_share(*side, how.level) for side in sides]


def _with_share(one: Comparison, pair: Paired, ours: Pooled, theirs: Pooled, level: float) -> Comparison:
    if pair.aggregate == "geometric" or one.n < 2 or one.baseline_mean == 0:
        return one
    share = one.difference / abs(one.baseline_mean)
    return replace(one, relative=share, relative_ci=_interval(ours, theirs, level)) if isfinite(share) else one


def _columns(pair: Paired) -> tuple[Floats, Floats]:
    """Both sides, where both are defined."""
    both = ~np.isnan(pair.values - pair.baseline_values)
    return np.where(both, pair.values, nan), np.where(both, pair.baseline_values, nan)


def _interval(ours: Pooled, theirs: Pooled, level: float) -> Bounds | None:
    held = theirs.drawn > 0
    sums, baseline_sums = ours.sums[held], theirs.sums[held]
    if not baseline_sums.all():  # a baseline that may as well be 0 has no shares
        return None
    scale = ours.unit / theirs.unit
    with np.errstate(over="ignore", invalid="ignore"):
        resampled = (sums * scale - baseline_sums) / np.abs(baseline_sums)
    if not np.isfinite(resampled).all():
        return None
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high
