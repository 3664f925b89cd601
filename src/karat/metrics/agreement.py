"""Agreement of two models' similarities of the same pairs: correlations and errors.

These are of pairs, not of rankings: each takes the reference's and the candidate's numbers and gives one number; NaN
where it is undefined, as a correlation is where one side is constant.
"""

from collections.abc import Callable
from math import nan, sqrt

import numpy as np

from karat.types import Floats, Ints

__all__ = ["AGREEMENTS", "concordance", "kendall", "mae", "midranks", "pearson", "rmse", "spearman", "standard"]


def pearson(reference: Floats, candidate: Floats) -> float:
    """Pearson's r: how far one is a linear function of the other.

    Formula: Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² · Σ (y − ȳ)²).
    """
    if reference.size < 2 or any(side.min() == side.max() for side in (reference, candidate)):
        return nan
    x, y = standard(reference), standard(candidate)
    return float(np.clip(_product(x, y) / sqrt(_product(x, x) * _product(y, y)), -1.0, 1.0))


def _product(x: Floats, y: Floats) -> float:
    """Not by BLAS, whose sums hang on how many threads it has."""
    return float((x * y).sum())


def standard(values: Floats) -> Floats:
    """Centred, and near 1, so that squares neither overflow nor vanish."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    return np.asarray(centred - centred.mean())


def spearman(reference: Floats, candidate: Floats) -> float:
    """Spearman's ρ: how far one is a monotone function of the other.

    Formula: Pearson's r of the ranks; equal numbers share the mean of their ranks.
    """
    return pearson(midranks(reference), midranks(candidate))


def midranks(values: Floats) -> Floats:
    """Ranks from 1 on, equal numbers with the mean of theirs."""
    order = np.sort(values)
    below, up_to = np.searchsorted(order, values, "left"), np.searchsorted(order, values, "right")
    return np.asarray((below + up_to + 1) / 2.0)


def kendall(reference: Floats, candidate: Floats) -> float:
    """Kendall's τ-b: of two pairs drawn at random, how much likelier both models order them alike than unlike.

    Formula: (concordant − discordant) / √(pairs that differ in x · pairs that differ in y).
    """
    agreeing, differing_x, differing_y = concordance(reference, candidate)
    total_x, total_y = int(differing_x.sum()), int(differing_y.sum())
    return int(agreeing.sum()) / sqrt(total_x * total_y) if total_x and total_y else nan


def concordance(reference: Floats, candidate: Floats) -> tuple[Ints, Ints, Ints]:
    """For each number: with how many others it agrees in order less with how many not, and from how many it differs.

    The latter by the reference and by the candidate. Without a square of the numbers: n · log² n steps.
    """
    x, y = _dense(reference), _dense(candidate)
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


def _dense(values: Floats) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _counts(codes: Ints) -> tuple[Ints, Ints]:
    """How many are lower than each, and how many are no higher."""
    ends = np.cumsum(np.bincount(codes, minlength=1))
    starts = np.concatenate(([0], ends[:-1]))
    return starts[codes], ends[codes]


class _Prefixes:
    """Of a row of codes: how many of its first m are below a limit, for many m and limits at once.

    The first m are cut into pieces of lengths that are powers of two, one for each bit of m; each piece is sorted.
    """

    def __init__(self, codes: Ints) -> None:
        self.codes = codes
        self.stride = int(codes.max(initial=0)) + 2

    def below(self, lengths: Ints, limits: Ints) -> Ints:
        found = np.zeros(lengths.size, dtype=np.int64)
        places = np.arange(self.codes.size)
        for bit in range(int(lengths.max(initial=0)).bit_length()):
            asked = np.flatnonzero(lengths >> bit & 1)
            if asked.size:
                pieces = np.sort((places >> bit) * self.stride + self.codes)
                piece = (lengths[asked] >> bit) - 1
                at = np.searchsorted(pieces, piece * self.stride + limits[asked])
                found[asked] += at - (piece << bit)
        return found


def mae(reference: Floats, candidate: Floats) -> float:
    """Mean absolute error: how far the candidate's similarities are from the reference's.

    Formula: Σ |x − y| / n.
    """
    return float(np.abs(reference - candidate).mean()) if reference.size else nan


def rmse(reference: Floats, candidate: Floats) -> float:
    """Root mean square error: the same, large errors counting more.

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
