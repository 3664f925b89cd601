"""Metrics of all lists together: coverage, exposure and personalisation, one value for all users.

A user's contribution is the value plus n − 1 times the value's decrease without the user, minus the mean of that
decrease (a centred jackknife pseudo-value). Their mean is the value; their standard error is its jackknife standard
error.
"""

from dataclasses import dataclass

import numpy as np

from rankjury.core.types import Bools, Floats, Ints, Matrix
from rankjury.measures.judged import Judged
from rankjury.measures.measure import COMMON_OPTIONS, Option, metric
from rankjury.measures.metrics.novelty import shown_lists, sum_per_list

_MISSING = Option(
    "missing",
    "a user who is missing in the ranking: counted with an empty list, not counted, or an error",
    next(option for option in COMMON_OPTIONS if option.name == "missing").choices,
)


@dataclass(frozen=True, eq=False)
class _Shown:
    """Number of recommendations of each catalogue item, and the counted users."""

    codes: Ints
    counts: Ints  # by catalogue item
    counted: Bools
    total: int  # number of recommendations
    lengths: Floats

    def contributions(self, value: float, without: Floats) -> Floats:
        """Return the contribution of each user, from the value and the values without each user.

        If the value is undefined without some user, the contributions are unknown: one user gets the whole value, so
        that there is no interval.
        """
        n = int(self.counted.sum())
        if n == 0 or np.isnan(value):
            return np.full(self.counted.size, np.nan)
        needed = self.counted & np.isnan(without)
        if needed.any():
            return np.where(np.arange(needed.size) == np.argmax(needed), value, np.nan)
        loss = np.where(self.counted, value - without, 0.0)
        values = value + (n - 1) * (loss - loss.sum() / n)
        values += value - values[self.counted].mean()
        return np.where(self.counted, values, np.nan)


def _shown(judged: Judged, k: int | None, missing: str) -> _Shown:
    lists = shown_lists(judged)
    codes = lists.first(k)
    counts = np.bincount(codes[codes >= 0], minlength=len(lists.background.items))
    lengths = np.asarray((codes >= 0).sum(axis=1), dtype=np.float64)
    return _Shown(codes, counts, judged.present | (missing != "skip"), int(counts.sum()), lengths)


@metric("coverage", _MISSING, of_lists=True, whole=True, highest=1.0)
def coverage(judged: Judged, k: int | None, *, missing: str = "zero") -> Floats:
    """Fraction of the catalogue that is recommended to at least one user.

    Formula: |items in the top k of at least one user| / |catalogue|.

    Source: Ge, Delgado-Battenfeld & Jannach, Beyond Accuracy: Evaluating Recommender Systems by Coverage and
    Serendipity (2010).
    """
    shown = _shown(judged, k, missing)
    covered = int((shown.counts > 0).sum())
    alone = sum_per_list(shown.counts == 1, shown.codes)
    size = shown.counts.size or np.nan
    return shown.contributions(covered / size, (covered - alone) / size)


@metric(
    "exposure_gini",
    Option("over", "all items of the catalogue, or only recommended items", ("catalogue", "recommended")),
    _MISSING,
    of_lists=True,
    whole=True,
    highest=1.0,
    lower_is_better=True,
)
def exposure_gini(judged: Judged, k: int | None, *, over: str = "catalogue", missing: str = "zero") -> Floats:
    """Gini coefficient of item exposure: 0 if all items are recommended equally often, near 1 if few items dominate.

    Formula: Σ (2j − n − 1) · x_j / (n · Σ x_j); x_j is the number of users with the j-th of n items in their top k, in
    ascending order. n includes items that are never recommended; over=recommended excludes them.

    Source: Shani & Gunawardana, Evaluating Recommendation Systems (2011), on item space coverage.
    """
    shown = _shown(judged, k, missing)
    size, lengths, ascending = shown.counts.size, shown.lengths, np.sort(shown.counts)
    apart = int(((2 * np.arange(size) - size + 1) * ascending).sum())
    below = np.searchsorted(ascending, shown.counts)
    # Without a user, each listed item gets further from the unlisted items that it is not above, and closer to others.
    apart_without = apart + sum_per_list(size - 2 * below, shown.codes) - lengths - 2 * _tied_pairs(shown)
    never, never_without = 0, np.zeros(1)
    if over == "recommended":
        never = int((shown.counts == 0).sum())
        never_without = never + sum_per_list(shown.counts == 1, shown.codes)
    value = _gini(np.array([apart]), np.array([shown.total]), size, np.array([never]))
    return shown.contributions(float(value[0]), _gini(apart_without, shown.total - lengths, size, never_without))


def _gini(apart: Matrix | Ints, total: Matrix | Ints, size: int, never: Matrix | Ints) -> Floats:
    """Return the coefficient from the sum of all differences, without differences to items that are not counted."""
    items = np.maximum(1, size - never)
    values = (apart - never * total) / (items * np.maximum(1, total))
    return np.where(total > 0, values, np.nan)


def _tied_pairs(shown: _Shown) -> Floats:
    """Return the number of pairs of items in each list that are recommended equally often."""
    often = np.sort(np.append(shown.counts, 0)[shown.codes], axis=1)
    place = np.broadcast_to(np.arange(often.shape[1]), often.shape)
    begins = np.ones(often.shape, dtype=bool)
    begins[:, 1:] = often[:, 1:] != often[:, :-1]
    before = place - np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    return np.asarray(np.where(often > 0, before, 0).sum(axis=1), dtype=np.float64)


@metric(
    "exposure_entropy",
    Option("scale", "in bits, or as a share of the maximum, equal exposure of all items", ("bits", "share")),
    _MISSING,
    of_lists=True,
    whole=True,
)
def exposure_entropy(judged: Judged, k: int | None, *, scale: str = "bits", missing: str = "zero") -> Floats:
    """Shannon entropy of item exposure; 2 to this power is the effective number of recommended items.

    Formula: −Σ p · log2 p, p is an item's share of all recommendations in the top k; scale=share divides by
    log2 |catalogue|.

    Source: Shani & Gunawardana, Evaluating Recommendation Systems (2011), on item space coverage.
    """
    shown = _shown(judged, k, missing)
    often = shown.counts.astype(np.float64)
    weight = often * np.log(np.maximum(1.0, often))
    less = np.maximum(0.0, often - 1)
    change = less * np.log(np.maximum(1.0, less)) - weight
    value = _entropy(weight.sum(keepdims=True), np.array([float(shown.total)]))
    without = _entropy(weight.sum() + sum_per_list(change, shown.codes), shown.total - shown.lengths)
    unit = np.log(2.0) if scale == "bits" else np.log(max(1, shown.counts.size)) or np.nan
    return shown.contributions(float(value[0] / unit), without / unit)


def _entropy(weight: Floats, total: Floats) -> Floats:
    """Return the entropy in nats from Σ x · ln x and Σ x."""
    some = np.maximum(1.0, total)
    return np.where(total > 0, np.maximum(0.0, np.log(some) - weight / some), np.nan)


@metric("personalisation", _MISSING, aliases=("personalization",), of_lists=True, whole=True, highest=1.0)
def personalisation(judged: Judged, k: int | None, *, missing: str = "zero") -> Floats:
    """Mean difference of two users' lists: the fraction of the top k that they do not share.

    Formula: 1 − mean over all pairs of users u, v of |top k of u ∩ top k of v| / k; users with an empty list are
    excluded. Without a cut-off, k is the length of the longest list. Undefined for fewer than two lists.

    Source: Zhou et al., Solving the apparent diversity–accuracy dilemma of recommender systems (2010): the mean
    Hamming distance of lists.
    """
    shown = _shown(judged, k, missing)
    width, lists = max(1, shown.codes.shape[1]), int((shown.lengths > 0).sum())
    if lists < 2:
        return np.full(len(judged), np.nan)
    shared = sum_per_list(shown.counts - 1, shown.codes)
    value = 1 - shared.sum() / (lists * (lists - 1) * width)
    if lists == 2:
        return shown.contributions(value, np.where(shown.lengths > 0, np.nan, value))
    without = 1 - (shared.sum() - 2 * shared) / ((lists - 1) * (lists - 2) * width)
    return shown.contributions(value, np.where(shown.lengths > 0, without, value))
