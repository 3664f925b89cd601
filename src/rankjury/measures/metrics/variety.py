"""What a list is made of: how unlike its items are, and whether it has the mixture that the user took before."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from rankjury.core.lists import Lists
from rankjury.core.types import Floats, Ints, gathered
from rankjury.errors import UsageError
from rankjury.measures.judged import Judged
from rankjury.measures.measure import Option, metric
from rankjury.measures.metrics.shown import BY, compute_in_blocks, feature, row_sums, shown_lists, sum_per_list

_SMOOTHING = 0.01


@metric("diversity", BY, aliases=("ild",), of_lists=True)
def diversity(judged: Judged, k: int | None, *, by: str = "genre") -> Floats:
    """How unlike the items of a list are: intra-list diversity.

    Formula: mean over all pairs of items in the top k of 1 − cosine of their features. Items whose feature is unknown
    (all zeros) or that the catalogue lacks are in no pair; undefined for a list with fewer than two others.

    Source: Smyth & McClave, Similarity vs. Diversity (2001); 1 − the intra-list similarity of Ziegler, McNee, Konstan
    & Lausen (2005).
    """
    codes, table = shown_lists(judged).first(k), feature(judged, by, "diversity")
    norms = np.sqrt((table * table).sum(axis=1))
    known = norms > 0
    directions = np.divide(table, norms[:, None], out=np.zeros_like(table), where=known[:, None])
    directions, number = np.vstack([directions, np.zeros(table.shape[1])]), sum_per_list(known, codes)

    def of_some(first: int, last: int) -> Floats:
        sums = row_sums(directions, codes[first:last])
        return np.asarray((sums * sums).sum(axis=1))

    alike = compute_in_blocks(of_some, len(judged), table.shape[1]) - number
    pairs = np.where(number > 1, number * (number - 1), np.nan)
    return np.maximum(0.0, 1 - alike / pairs)


@metric(
    "calibration",
    BY,
    Option("divergence", "Kullback and Leibler's from the history to the list, or Jensen and Shannon's", ("kl", "js")),
    of_lists=True,
    lower_is_better=True,
)
def calibration(judged: Judged, k: int | None, *, by: str = "genre", divergence: str = "kl") -> Floats:
    """How far the mixture of genres in a list is from that of what the user took in training, in bits.

    Formula: Σ p · log2(p / r), p(g) being the genres' shares of the user's training items, q(g) those of the top k,
    r = 0.99 q + 0.01 p; each item spreads a weight of 1 evenly over its genres. divergence=js: ½ KL(p ‖ m) +
    ½ KL(q ‖ m), m = (p + q) / 2. Undefined where training or the list has no item of known genre.

    Source: Steck, Calibrated Recommendations (2018), with its α = 0.01; Lin (1991) for divergence=js.
    """
    lists, table = shown_lists(judged), feature(judged, by, "calibration")
    if (table < 0).any():
        raise UsageError(
            f"the feature {by!r} has values below 0, of which there are no shares",
            where=f"calibration, by={by}",
            expected="weights such as those of genres",
        )
    shares, codes = np.vstack([_normalised(table, 0.0), np.zeros(table.shape[1])]), lists.first(k)
    taken = _taken(lists, shares, by)

    def of_some(first: int, last: int) -> Floats:
        shown = row_sums(shares, codes[first:last])
        return _divergence(taken[first:last], _normalised(shown, np.nan), divergence)

    return compute_in_blocks(of_some, len(judged), table.shape[1])


def _taken(lists: Lists, shares: Floats, by: str) -> Floats:
    """The mixture that each user took before; worked out once for all systems that are evaluated on the same users."""
    remembered, name = lists.background.remembered, f"mixtures by {by}"
    of, found = remembered.get(name, (None, None))
    if of is not lists.history:
        genres = _Genres.of(shares)

        def of_some(first: int, last: int) -> Floats:
            starts = lists.starts[first : last + 1]
            return genres.sums(starts - starts[0], lists.history[starts[0] : starts[-1]]).reshape(-1)

        width = shares.shape[1]
        sums = compute_in_blocks(of_some, lists.starts.size - 1, width).reshape(-1, width)
        found = _normalised(sums, np.nan)
        remembered[name] = lists.history, found
    return cast(Floats, found)


@dataclass(frozen=True, eq=False)
class _Genres:
    """The genres of each item with their shares (CSR)."""

    starts: Ints
    column: Ints
    share: Floats
    width: int

    @classmethod
    def of(cls, shares: Floats) -> "_Genres":
        item, column = np.nonzero(shares)
        starts = np.searchsorted(item, np.arange(shares.shape[0] + 1))
        return cls(starts, column, shares[item, column], shares.shape[1])

    def sums(self, starts: Ints, items: Ints) -> Floats:
        """Of each segment of items the sum of their shares by genre."""
        ends, at = gathered(self.starts, items)
        users = starts.size - 1
        cell = np.repeat(np.arange(users) * self.width, np.diff(ends[starts])) + self.column[at]
        sums = np.bincount(cell, self.share[at], minlength=users * self.width)
        return np.asarray(sums.reshape(users, self.width), dtype=np.float64)


def _normalised(sums: Floats, nothing: float) -> Floats:
    """Each row divided by its sum; where that is 0, nothing."""
    total = sums.sum(axis=1, keepdims=True)
    quotients: Floats = np.divide(sums, total, out=np.full_like(sums, nothing), where=total > 0)
    return quotients


def _divergence(taken: Floats, shown: Floats, kind: str) -> Floats:
    """Of the mixture that was shown from the one that was taken, in bits; undefined where one of them is."""
    if kind == "js":
        middle = (taken + shown) / 2
        values = (_relative_entropy(taken, middle) + _relative_entropy(shown, middle)) / 2
    else:
        values = _relative_entropy(taken, (1 - _SMOOTHING) * shown + _SMOOTHING * taken)
    defined = (taken.sum(axis=1) > 0) & (shown.sum(axis=1) > 0)
    return np.where(defined, np.maximum(0.0, values), np.nan)


def _relative_entropy(p: Floats, q: Floats) -> Floats:
    """Row by row in bits; q is above 0 wherever p is."""
    ratio = np.divide(p, q, out=np.ones_like(p), where=p > 0)
    return np.asarray((p * np.log(ratio)).sum(axis=1) / np.log(2.0))
