"""Metrics of discounted cumulative gain: DCG and nDCG."""

import numpy as np

from rankjury.core.types import Bools, Floats
from rankjury.measures.judged import (
    HIGHEST_SUMMED,
    REL,
    Judged,
    check_highest,
    cut_or_depth,
    discounts,
    divide,
    is_relevant,
    ties_option,
    within,
)
from rankjury.measures.measure import Option, metric

_HIGHEST = 1000.0  # sums of 2^grade are finite floats up to this grade
_GAIN = Option("gain", "gain of a grade g: g, 2^g − 1, or 1", ("linear", "exp", "binary"))
_TIES = ties_option("average", "items with equal scores share their mean discount")
_IDEAL = Option(
    "ideal",
    "ideal list: the k best gold items, all, as many as were retrieved, or k items of the query's best grade",
    ("k", "all", "retrieved", "full"),
)
_DISCOUNT = Option(
    "discount", "gains are divided by log2(rank + 1), or by log2(rank) (by 1 at rank 1)", ("next", "rank")
)


@metric("dcg", _GAIN, _DISCOUNT, REL, _TIES, zero_when_empty=True)
def dcg(
    judged: Judged,
    k: int | None,
    *,
    gain: str = "linear",
    discount: str = "next",
    rel: float | None = None,
    ties: str = "id",
) -> Floats:
    """Discounted cumulative gain: sum of the gains in the top k, discounted by rank.

    Formula: Σ gain(grade) / log2(rank + 1) over the top k; discount=rank divides by log2(max(rank, 2)).

    Source: Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques (2002), whose discount is
    discount=rank, as in LensKit; gain=exp as in Burges et al. (2005); ties=average as in McSherry & Najork (2008) and
    scikit-learn.
    """
    if gain == "exp":
        expected = f"grades up to {_HIGHEST:g}: 2^grade is too large for a number above"
        check_highest(judged, _HIGHEST, expected, "Use gain=linear, or ndcg, which is defined for all grades.")
    return _dcg(judged, k, gain, discount, rel, ties, np.zeros(len(judged)))


def _dcg(
    judged: Judged, k: int | None, gain: str, discount: str, rel: float | None, ties: str, scale: Floats
) -> Floats:
    """Return the DCG of each query, divided by 2^scale for exponential gains."""
    if gain == "linear":
        check_highest(judged, HIGHEST_SUMMED, f"grades up to {HIGHEST_SUMMED:g} where they are added up")
    counted = is_relevant(judged.grade, rel, judged) & (judged.grade > 0)
    if ties != "average":
        counted &= within(judged, k)
    gains = _gain_of(judged.grade[counted], gain, scale[judged.row[counted]])
    if ties == "average":
        shares = _tied_discounts(judged, counted, k, discount)
    else:
        ranks = judged.rank[counted]
        shares = _table(int(ranks.max(initial=1)), discount)[ranks]
    return np.bincount(judged.row[counted], gains / shares, minlength=len(judged)).astype(np.float64)


@metric("ndcg", _GAIN, _IDEAL, _DISCOUNT, REL, _TIES)
def ndcg(
    judged: Judged,
    k: int | None,
    *,
    gain: str = "linear",
    ideal: str = "k",
    discount: str = "next",
    rel: float | None = None,
    ties: str = "id",
) -> Floats:
    """Normalised discounted cumulative gain: DCG divided by that of the ideal ranking.

    Formula: DCG@k / DCG of the ideal list: the gold by grade descending, cut at k (ideal=all: uncut; ideal=retrieved:
    cut at the number retrieved within k; ideal=full: k items of the query's best grade, even if fewer are relevant).

    Source: Järvelin & Kekäläinen (2002); ideal=all as in Quepid, ideal=retrieved as in Elasticsearch, ideal=full as in
    RecTools, discount=rank as in LensKit.
    """
    scale = np.zeros(len(judged))
    if gain == "exp" and judged.highest > _HIGHEST:  # 2^g overflows a float, but the quotient does not
        np.maximum.at(scale, judged.gold_rows, judged.gold_grades)
        scale[scale <= _HIGHEST] = 0.0
    best = _ideal_dcg(judged, k, gain, ideal, discount, rel, scale)
    return divide(_dcg(judged, k, gain, discount, rel, ties, scale), best)


def _ideal_dcg(
    judged: Judged, k: int | None, gain: str, ideal: str, discount: str, rel: float | None, scale: Floats
) -> Floats:
    if ideal == "full":  # k items of each query's best grade; without a cut-off, the number retrieved
        firsts = np.append(judged.gold_grades, 0.0)[judged.gold_starts[:-1]]
        best = np.where(np.diff(judged.gold_starts) > 0, np.maximum(firsts, 0.0), 0.0)
        cut = cut_or_depth(judged, k).astype(np.int64)
        total = np.cumsum(1.0 / _table(int(cut.max(initial=1)), discount))
        return _gain_of(best, gain, scale) * total[cut]
    places = judged.gold_places
    counted = is_relevant(judged.gold_grades, rel, judged) & (judged.gold_grades > 0)
    if k is not None and ideal != "all":
        counted &= places <= k
    if ideal == "retrieved":
        counted &= places <= judged.depth[judged.gold_rows]
    at = np.flatnonzero(counted)
    places, rows = places.take(at), judged.gold_rows.take(at)
    gains = _gain_of(judged.gold_grades.take(at), gain, scale.take(rows) if gain == "exp" else scale)
    table = _table(int(places.max(initial=1)), discount)
    return np.bincount(rows, gains / table.take(places), minlength=len(judged)).astype(np.float64)


def _gain_of(grades: Floats, gain: str, scale: Floats) -> Floats:
    if gain == "exp":
        return np.exp2(grades - scale) - np.exp2(-scale)
    return np.ones(grades.size) if gain == "binary" else grades


def _table(up_to: int, discount: str) -> Floats:
    """Return the divisors of gains at index ``rank``; infinite at 0, which is not a rank."""
    table = discounts(up_to)
    return table if discount == "next" else np.concatenate(([np.inf, 1.0], table[1:-1]))


def _tied_discounts(judged: Judged, counted: Bools, k: int | None, discount: str) -> Floats:
    """Return the divisor of a group of equal scores: 1 / mean of 1/discount; ranks beyond k count as 0."""
    first, last = judged.tie_first[counted], judged.tie_last[counted]
    weights = 1.0 / _table(int(last.max(initial=1)), discount)
    if k is not None:
        weights[k + 1 :] = 0.0
    total = np.cumsum(weights)
    shares = (total[last] - total[first - 1]) / (last - first + 1)
    inverse: Floats = np.divide(1.0, shares, out=np.full(shares.size, np.inf), where=shares > 0)
    return inverse
