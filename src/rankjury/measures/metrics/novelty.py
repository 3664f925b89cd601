"""Metrics of recommended lists beyond accuracy: popularity, novelty, serendipity, diversity and calibration."""

from collections.abc import Callable
from typing import cast

import numpy as np

from rankjury.core.types import Bools, Floats, Ints, Lists, Matrix, cut_rows, gathered, in_threads
from rankjury.errors import UsageError
from rankjury.measures.judged import REL, Judged, cut_or_depth, divide, relevant, within
from rankjury.measures.measure import Option, metric

BY = Option("by", "the item feature that is compared", ("genre", "text", "tag", "category"))
_CELLS_AT_ONCE = 1 << 16


def shown_lists(judged: Judged) -> Lists:
    """Return the top lists."""
    if judged.lists is None:
        raise ValueError("judge with lists to use this metric")
    return judged.lists


def sum_per_list(values: Matrix | Ints, codes: Ints) -> Floats:
    """Return the sums of an item value over each list; missing items add nothing."""
    return np.asarray(np.append(values, values.dtype.type(0))[codes].sum(axis=1), dtype=np.float64)


def mean_per_list(values: Floats, codes: Ints) -> Floats:
    """Return the means of an item value over each list, ignoring NaN; NaN for a list without values."""
    known = ~np.isnan(values)
    total, number = sum_per_list(np.where(known, values, 0.0), codes), sum_per_list(known, codes)
    means: Floats = np.divide(total, number, out=np.full(number.size, np.nan), where=number > 0)
    return means


def compute_in_blocks(work: Callable[[int, int], Floats], users: int, width: int) -> Floats:
    """Compute a function for blocks of users (first, last + 1), with ``width`` cells per user."""
    parts = cut_rows(users, max(1, _CELLS_AT_ONCE // max(1, width)))
    return np.concatenate([np.empty(0), *in_threads(work, parts)])


def row_sums(table: Floats, codes: Ints) -> Floats:
    """Return for each list the sum of its items' rows in a table whose last row is zero."""
    sums = np.zeros((codes.shape[0], table.shape[1]))
    for places in codes.T:
        sums += table.take(places, axis=0, mode="wrap")
    return sums


def feature(judged: Judged, by: str, measure: str) -> Floats:
    """Return a feature of the catalogue's items, one row per item; a row of zeros is unknown."""
    features = shown_lists(judged).background.features
    if by not in features:
        known = ", ".join(sorted(features))
        raise UsageError(
            f"items have no feature {by!r}",
            where=f"{measure}, by={by}",
            expected=f"one of: {known}" if known else "item features, but there are none",
            hint=None if known else "Provide the items with their genres together with the log.",
        )
    return np.asarray(features[by], dtype=np.float64)


@metric(
    "mean_popularity",
    Option("scale", "popularity as a share of the training users, or as their number", ("share", "count")),
    aliases=("arp",),
    of_lists=True,
    lower_is_better=True,
)
def mean_popularity(judged: Judged, k: int | None, *, scale: str = "share") -> Floats:
    """Mean popularity of the recommended items in training.

    Formula: mean over the top k of |users with the item in training| / |training users|; scale=count does not divide.
    Items outside the catalogue are ignored; undefined for a user with an empty list.

    Source: Yin, Cui, Li, Yao & Chen, Challenging the Long Tail Recommendation (2012); scale=count as
    AvgRecPopularity of RecTools.
    """
    lists = shown_lists(judged)
    divisor = max(1, lists.background.n_users) if scale == "share" else 1
    return mean_per_list(lists.background.popularity / divisor, lists.first(k))


@metric(
    "novelty",
    Option(
        "unseen",
        "an item that no user had in training: p = 1/(users + 1), rarer than any other; p = 1/users; omitted; "
        "or smooth: p = (users with the item + 1)/(users + 1) for all items",
        ("rarest", "one", "skip", "smooth"),
    ),
    of_lists=True,
)
def novelty(judged: Judged, k: int | None, *, unseen: str = "rarest") -> Floats:
    """Mean self-information of the recommended items, in bits: the improbability that a training user had the item.

    Formula: mean over the top k of −log2 p, p = |users with the item in training| / |training users|; for items without
    users see unseen. Items outside the catalogue are ignored; undefined for a user with an empty list.

    Source: Zhou et al., Solving the apparent diversity–accuracy dilemma of recommender systems (2010); unseen=one as
    MeanInvUserFreq of RecTools.
    """
    lists = shown_lists(judged)
    taken, users = lists.background.popularity.astype(np.float64), max(1, lists.background.n_users)
    if unseen == "smooth":
        chance = (taken + 1) / (users + 1)
    else:
        rarest = {"rarest": 1 / (users + 1), "one": 1 / users, "skip": np.nan}[unseen]
        chance = np.where(taken > 0, taken / users, rarest)
    return mean_per_list(-np.log2(chance), lists.first(k))


@metric(
    "serendipity",
    Option(
        "against",
        "a hit counts if it is not among the k most popular items that are new to the user, "
        "or by how far it is ranked above its popularity rank",
        ("popularity", "places"),
    ),
    Option("over", "divisor", ("k", "retrieved")),
    REL,
    of_lists=True,
    needs_relevant=True,
    zero_when_empty=True,
)
def serendipity(
    judged: Judged, k: int | None, *, against: str = "popularity", over: str = "k", rel: float | None = None
) -> Floats:
    """Fraction of the top k that is relevant and not among the most popular items.

    Formula: |relevant ∩ top k ∖ popular| / k; popular are the k catalogue items with most training users, without the
    user's training items, ties by id; against=places: Σ over hits of max(0, popularity rank − rank) / |catalogue| / k;
    items with equally many users share a popularity rank 1, 2, 3 …, and items without users come last. over=retrieved
    divides by min(k, retrieved); without a cut-off, k is the number retrieved.

    Source: Ge, Delgado-Battenfeld & Jannach, Beyond Accuracy (2010), with popularity as the primitive recommender;
    against=places,over=retrieved as in RecTools.
    """
    hits = np.flatnonzero(relevant(judged, rel) & within(judged, k))
    row, rank = judged.row[hits], judged.rank[hits]
    codes = shown_lists(judged).first(k)[row, rank - 1]
    cut = cut_or_depth(judged, k)
    worth = _above_place(judged, codes, rank) if against == "places" else _unexpected(judged, row, codes, cut[row])
    found = np.bincount(row, worth, minlength=len(judged))
    return divide(found, np.minimum(cut, judged.depth) if over == "retrieved" else cut)


def _above_place(judged: Judged, codes: Ints, rank: Ints) -> Floats:
    """Return how far hits are ranked above their popularity rank, as a share of the catalogue."""
    popularity = shown_lists(judged).background.popularity
    levels = np.unique(popularity[popularity > 0])
    place = levels.size - np.searchsorted(levels, popularity)
    place = np.append(np.where(popularity > 0, place, popularity.size + 1), popularity.size + 1)[codes]
    return np.asarray(np.maximum(0, place - rank) / max(1, popularity.size), dtype=np.float64)


def _unexpected(judged: Judged, row: Ints, codes: Ints, cut: Floats) -> Bools:
    """Return which hits are not among the most popular items without the user's training items, which never count."""
    lists = shown_lists(judged)
    popularity = lists.background.popularity
    place = np.empty(popularity.size + 1, dtype=np.int64)
    place[np.argsort(-popularity, kind="stable")] = np.arange(popularity.size)
    place[-1] = np.iinfo(np.int64).max
    hit_at = place[codes]
    # A user's training items raise the popularity rank of a hit by at most their number, so few ranks must be computed.
    unsure = np.flatnonzero(hit_at < cut + np.diff(lists.starts)[row])
    users, of_hit = np.unique(row[unsure], return_inverse=True)
    furthest = np.zeros(users.size, dtype=np.int64)
    np.maximum.at(furthest, of_hit, hit_at[unsure])
    starts, at = gathered(lists.starts, users)
    taken, taken_by = place[lists.history[at]], np.repeat(np.arange(users.size), np.diff(starts))
    above = taken <= furthest[taken_by]
    keys = np.sort(taken_by[above] * place.size + taken[above])
    wanted = of_hit * place.size + hit_at[unsure]
    before = np.searchsorted(keys, wanted)
    moved = before - np.searchsorted(keys, of_hit * place.size)
    had = np.append(keys, -1)[before] == wanted
    unexpected = hit_at >= cut
    unexpected[unsure] = had | (hit_at[unsure] - moved >= cut[unsure])
    return unexpected


_SMOOTHING = 0.01


@metric("diversity", BY, aliases=("ild",), of_lists=True)
def diversity(judged: Judged, k: int | None, *, by: str = "genre") -> Floats:
    """Intra-list diversity: mean dissimilarity of the items of a list.

    Formula: mean over all pairs of items in the top k of 1 − cosine of their features. Items with unknown features (all
    zeros) or outside the catalogue are ignored; undefined for a list with fewer than two other items.

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
    Option("divergence", "Kullback–Leibler (from the history to the list) or Jensen–Shannon", ("kl", "js")),
    of_lists=True,
    lower_is_better=True,
)
def calibration(judged: Judged, k: int | None, *, by: str = "genre", divergence: str = "kl") -> Floats:
    """Divergence of the genre distribution of a list from that of the user's training items, in bits.

    Formula: Σ p · log2(p / r); p(g) are the genre shares of the user's training items, q(g) those of the top k,
    r = 0.99 q + 0.01 p; each item has a total weight of 1, divided evenly over its genres. divergence=js: ½ KL(p ‖ m) +
    ½ KL(q ‖ m), m = (p + q) / 2. Undefined if the training items or the list have no known genre.

    Source: Steck, Calibrated Recommendations (2018), with its α = 0.01; Lin (1991) for divergence=js.
    """
    lists, table = shown_lists(judged), feature(judged, by, "calibration")
    if (table < 0).any():
        raise UsageError(
            f"the feature {by!r} has negative values, which cannot be shares",
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
    """Return the training distribution of each user; computed once for all systems with the same users."""
    cache, name = lists.background.remembered, f"mixtures by {by}"
    history, mixtures = cache.get(name, (None, None))
    if history is not lists.history:
        item, column = np.nonzero(shares)  # genres of each item with their shares (CSR)
        genre_starts, share = np.searchsorted(item, np.arange(shares.shape[0] + 1)), shares[item, column]
        width = shares.shape[1]

        def sum_genres(first: int, last: int) -> Floats:
            starts = lists.starts[first : last + 1]
            ends, at = gathered(genre_starts, lists.history[starts[0] : starts[-1]])
            users = last - first
            cell = np.repeat(np.arange(users) * width, np.diff(ends[starts - starts[0]])) + column[at]
            return np.asarray(np.bincount(cell, share[at], minlength=users * width), dtype=np.float64)

        sums = compute_in_blocks(sum_genres, lists.starts.size - 1, width).reshape(-1, width)
        mixtures = _normalised(sums, np.nan)
        cache[name] = lists.history, mixtures
    return cast(Floats, mixtures)


def _normalised(sums: Floats, nothing: float) -> Floats:
    """Return each row divided by its sum; ``nothing`` if the sum is 0."""
    total = sums.sum(axis=1, keepdims=True)
    quotients: Floats = np.divide(sums, total, out=np.full_like(sums, nothing), where=total > 0)
    return quotients


def _divergence(taken: Floats, shown: Floats, kind: str) -> Floats:
    """Return the divergence of the list's distribution from the training distribution in bits; NaN if either is NaN."""
    if kind == "js":
        middle = (taken + shown) / 2
        values = (_relative_entropy(taken, middle) + _relative_entropy(shown, middle)) / 2
    else:
        values = _relative_entropy(taken, (1 - _SMOOTHING) * shown + _SMOOTHING * taken)
    defined = (taken.sum(axis=1) > 0) & (shown.sum(axis=1) > 0)
    return np.where(defined, np.maximum(0.0, values), np.nan)


def _relative_entropy(p: Floats, q: Floats) -> Floats:
    """Return the relative entropy of each row in bits; q is above 0 wherever p is."""
    ratio = np.divide(p, q, out=np.ones_like(p), where=p > 0)
    return np.asarray((p * np.log(ratio)).sum(axis=1) / np.log(2.0))
