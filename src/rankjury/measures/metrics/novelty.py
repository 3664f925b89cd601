"""How far lists go beyond what everybody takes: popularity, novelty, serendipity."""

import numpy as np

from rankjury.core.types import Bools, Floats, Ints, gathered
from rankjury.measures.judged import REL, Judged, cut_or_depth, divide, relevant, within
from rankjury.measures.measure import Option, metric
from rankjury.measures.metrics.shown import mean_per_list, shown_lists


@metric(
    "mean_popularity",
    Option("scale", "popularity as a share of the training users, or as their number", ("share", "count")),
    aliases=("arp",),
    of_lists=True,
    lower_is_better=True,
)
def mean_popularity(judged: Judged, k: int | None, *, scale: str = "share") -> Floats:
    """How popular the recommended items were in training.

    Formula: mean over the top k of |users who took the item in training| / |training users|; scale=count does not
    divide. Items outside the catalogue are passed over; undefined for a user with an empty list.

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
        "an item that nobody took in training: p = 1/(users + 1), rarer than any other; p = 1/users; left out; "
        "or smooth: p = (takers + 1)/(users + 1) for all items",
        ("rarest", "one", "skip", "smooth"),
    ),
    of_lists=True,
)
def novelty(judged: Judged, k: int | None, *, unseen: str = "rarest") -> Floats:
    """Self-information of the recommended items, in bits: how unlikely a training user was to take them.

    Formula: mean over the top k of −log2 p, p = |users who took the item in training| / |training users|; for items
    that nobody took see unseen. Items outside the catalogue are passed over; undefined for a user with an empty list.

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
        "a hit counts where it is not among the k most popular items that the user had not taken, "
        "or by how far it stands above its place by popularity",
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
    """Share of the top k that is relevant and that popularity would not have recommended.

    Formula: |relevant ∩ top k ∖ popular| / k, popular being the k items of the catalogue that most users took in
    training, without those that the user took then, equal ones by id; against=places: Σ over hits of
    max(0, place by popularity − rank) / |catalogue| / k, items that as many users took sharing a place 1, 2, 3 …, and
    those that nobody took standing behind all. over=retrieved divides by min(k, retrieved); without a cut-off, k is
    the number retrieved.

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
    """By how much of the catalogue hits stand above the places that popularity gives them."""
    popularity = shown_lists(judged).background.popularity
    levels = np.unique(popularity[popularity > 0])
    place = levels.size - np.searchsorted(levels, popularity)
    place = np.append(np.where(popularity > 0, place, popularity.size + 1), popularity.size + 1)[codes]
    return np.asarray(np.maximum(0, place - rank) / max(1, popularity.size), dtype=np.float64)


def _unexpected(judged: Judged, row: Ints, codes: Ints, cut: Floats) -> Bools:
    """Which hits are not among the most popular items that their users had not taken; one that they had is not."""
    lists = shown_lists(judged)
    popularity = lists.background.popularity
    place = np.empty(popularity.size + 1, dtype=np.int64)
    place[np.argsort(-popularity, kind="stable")] = np.arange(popularity.size)
    place[-1] = np.iinfo(np.int64).max
    hit_at = place[codes]
    # What a user took moves a hit up by no more than its number: only some places have to be worked out.
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
