"""Cumulated gain, discounted by rank."""

import numpy as np

from karat.judged import Judged
from karat.measure import Option, metric
from karat.metrics.common import REL, discounts, divide, is_relevant, ties_or, within
from karat.types import Bools, Floats

__all__ = ["dcg", "ndcg"]

_HIGHEST = 1000.0
"""The grade up to which sums of 2^grade are certainly floats."""
_GAIN = Option("gain", "gain of a grade g: g, 2^g − 1, or 1", ("linear", "exp", "binary"))
_TIES = ties_or("average", "a group of equal scores shares its discounts")
_IDEAL = Option("ideal", "ideal list: the gold's k best, all, or as many as were retrieved", ("k", "all", "retrieved"))


@metric("dcg", _GAIN, REL, _TIES)
def dcg(judged: Judged, k: int | None, *, gain: str = "linear", rel: float | None = None, ties: str = "id") -> Floats:
    """Discounted cumulative gain.

    Formula: Σ gain(grade) / log2(rank + 1) over the top k.

    Source: Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques (2002); gain=exp as in Burges et
    al. (2005); ties=average as in McSherry & Najork (2008) and scikit-learn.
    """
    return _dcg(judged, k, gain, rel, ties, np.zeros(len(judged)))


def _dcg(judged: Judged, k: int | None, gain: str, rel: float | None, ties: str, scale: Floats) -> Floats:
    """Of each query the DCG, divided by 2^scale where gains are exponential."""
    counted = is_relevant(judged.grade, rel, judged) & (judged.grade > 0)
    if ties != "average":
        counted &= within(judged, k)
    gains = _gain_of(judged.grade[counted], gain, scale[judged.row[counted]])
    shares = _tied_discounts(judged, counted, k) if ties == "average" else _discounts(judged, counted)
    return np.bincount(judged.row[counted], gains / shares, minlength=len(judged)).astype(np.float64)


@metric("ndcg", _GAIN, _IDEAL, REL, _TIES)
def ndcg(
    judged: Judged,
    k: int | None,
    *,
    gain: str = "linear",
    ideal: str = "k",
    rel: float | None = None,
    ties: str = "id",
) -> Floats:
    """Normalised discounted cumulative gain.

    Formula: DCG@k / DCG of the ideal list, which is the gold by grade descending, cut at k (ideal=all: uncut;
    ideal=retrieved: cut at the number retrieved within k).

    Source: Järvelin & Kekäläinen (2002); ideal=all as in Quepid, ideal=retrieved as in Elasticsearch.
    """
    places = judged.gold_places
    counted = is_relevant(judged.gold_grades, rel, judged) & (judged.gold_grades > 0)
    if k is not None and ideal != "all":
        counted &= places <= k
    if ideal == "retrieved":
        counted &= places <= judged.depth[judged.gold_rows]
    table = discounts(int(places[counted].max(initial=1)))
    scale = np.zeros(len(judged))
    if gain == "exp" and judged.gold_grades.max(initial=0.0) > _HIGHEST:  # 2^g is no float; the quotient is one
        np.maximum.at(scale, judged.gold_rows, judged.gold_grades)
        scale[scale <= _HIGHEST] = 0.0
    best = _gain_of(judged.gold_grades[counted], gain, scale[judged.gold_rows[counted]]) / table[places[counted]]
    total = np.bincount(judged.gold_rows[counted], best, minlength=len(judged)).astype(np.float64)
    return divide(_dcg(judged, k, gain, rel, ties, scale), total)


def _gain_of(grades: Floats, gain: str, scale: Floats) -> Floats:
    if gain == "exp":
        return np.exp2(grades - scale) - np.exp2(-scale)
    return np.ones(grades.size) if gain == "binary" else grades


def _discounts(judged: Judged, counted: Bools) -> Floats:
    ranks = judged.rank[counted]
    return discounts(int(ranks.max(initial=1)))[ranks]


def _tied_discounts(judged: Judged, counted: Bools, k: int | None) -> Floats:
    """One over the mean of 1/log2(rank + 1) over the group of equal scores, ranks past k giving 0."""
    first, last = judged.tie_first[counted], judged.tie_last[counted]
    deepest = int(last.max(initial=1))
    weights = 1.0 / discounts(deepest)
    if k is not None:
        weights[k + 1 :] = 0.0
    total = np.cumsum(weights)
    shares = (total[last] - total[first - 1]) / (last - first + 1)
    inverse: Floats = np.divide(1.0, shares, out=np.full(shares.size, np.inf), where=shares > 0)
    return inverse
