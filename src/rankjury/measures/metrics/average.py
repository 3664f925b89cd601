"""Metrics of the ranks of relevant items: average precision, reciprocal rank, preferences, and cascade models."""

import numpy as np

from rankjury.core.types import Floats, Ints
from rankjury.measures.judged import (
    HIGHEST_SUMMED,
    NEGATIVE,
    REL,
    Judged,
    check_highest,
    count_relevant,
    cut_or_depth,
    divide,
    is_relevant,
    nth_in_row,
    relevant,
    running_count,
    sum_by_row,
    ties_option,
    within,
)
from rankjury.measures.measure import Option, metric

_OVER = Option("over", "divisor", ("relevant", "found", "min", "least"))
_TIES = ties_option("group", "precision is computed at the end of a group of equal scores")
_INF_AP_SMOOTHING = 0.00001


@metric("ap", _OVER, REL, _TIES, aliases=("map",))
def ap(judged: Judged, k: int | None, *, over: str = "relevant", rel: float | None = None, ties: str = "id") -> Floats:
    """Average precision: the mean of the precisions at the ranks of the relevant items.

    Formula: Σ precision@rank over relevant items in the top k / |relevant|; over=found divides by the number found,
    over=min by min(k, |relevant|), over=least by min(k, retrieved, |relevant|).

    Source: Buckley & Voorhees (2005); over=found as in the papers protocol, over=min as in sentence-transformers,
    over=least as in LensKit, ties=group as in scikit-learn's average_precision_score.
    """
    chosen = relevant(judged, rel) & within(judged, k)
    rows = judged.row[chosen]
    found = nth_in_row(rows)
    precisions = found / judged.rank[chosen]
    if ties == "group" and rows.size:
        last = judged.tie_last[chosen]
        group_end = np.flatnonzero(np.concatenate(((np.diff(last) != 0) | (np.diff(rows) != 0), [True])))
        precisions = found[group_end[np.searchsorted(group_end, np.arange(rows.size))]] / last
    total = np.bincount(rows, precisions, minlength=len(judged))
    if over == "found":
        return divide(total, sum_by_row(judged, chosen))
    divisor = count_relevant(judged, rel)
    if over != "relevant":
        divisor = np.minimum(cut_or_depth(judged, k), divisor)
    if over == "least":
        divisor = np.minimum(judged.depth, divisor)
    return divide(total, divisor)


@metric("gm_ap", _OVER, REL, _TIES, aliases=("gm_map",), aggregate="geometric")
def gm_ap(
    judged: Judged, k: int | None, *, over: str = "relevant", rel: float | None = None, ties: str = "id"
) -> Floats:
    """Geometric mean of average precision over queries.

    Formula: as ap; the mean is exp(Σ ln max(ap, 0.00001) / n).

    Source: Robertson, On GMAP and other transformations (2006); trec_eval's gm_map.
    """
    return ap(judged, k, over=over, rel=rel, ties=ties)


_LEVEL = Option("round", "rounding of the recall level to items: up from a tenth, or to the nearest", ("up", "nearest"))


@metric("iprec", Option("at", "level of recall", default=0.5, low=0.0, high=1.0), _LEVEL, REL, cut="none")
def iprec(judged: Judged, k: int | None, *, at: float = 0.5, round: str = "up", rel: float | None = None) -> Floats:
    """Interpolated precision at a recall level.

    Formula: the highest precision at any rank with at least ⌊at · |relevant| + 0.9⌋ relevant items; round=nearest
    adds 0.5 instead.

    Source: trec_eval's iprec_at_recall; round=nearest as in trec_eval 10.
    """
    chosen = relevant(judged, rel)
    rows = judged.row[chosen]
    found = nth_in_row(rows)
    needed = np.floor(at * count_relevant(judged, rel) + (0.9 if round == "up" else 0.5))
    enough = found >= needed[rows]
    values = np.zeros(len(judged))
    np.maximum.at(values, rows[enough], (found / judged.rank[chosen])[enough])
    return values


@metric("iprec_mean", _LEVEL, REL, cut="none")
def iprec_mean(judged: Judged, k: int | None, *, round: str = "up", rel: float | None = None) -> Floats:
    """Mean of interpolated precision at eleven recall levels.

    Formula: mean of iprec at 0, 0.1, … 1.

    Source: trec_eval's 11pt_avg.
    """
    # From the highest level down, the order of addition in trec_eval.
    levels = [iprec(judged, None, at=tenth / 10, round=round, rel=rel) for tenth in range(10, -1, -1)]
    return np.asarray(sum(levels[1:], levels[0]) / 11, dtype=np.float64)


@metric("inf_ap", REL, cut="none")
def inf_ap(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Inferred average precision, for gold in which only a sample of the pool is judged.

    Formula: mean over relevant items of 1/r + (r−1)/r · pooled above/(r−1) · (relevant above + ε)/(judged above + 2ε);
    items with a negative grade are in the pool but unjudged; ε = 0.00001.

    Source: Yilmaz & Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments (2006).
    """
    good = relevant(judged, rel)
    bad = ~good & (judged.grade >= 0)
    above = judged.rank[good] - 1.0
    good_above = nth_in_row(judged.row[good]) - 1.0
    bad_above = running_count(judged, bad)[good]
    pooled_above = good_above + bad_above + running_count(judged, judged.grade < 0)[good]
    share = (good_above + _INF_AP_SMOOTHING) / (good_above + bad_above + 2 * _INF_AP_SMOOTHING)
    expected = 1.0 / (above + 1) + (above / (above + 1)) * divide(pooled_above, above) * share
    total = np.bincount(judged.row[good], np.where(above == 0, 1.0, expected), minlength=len(judged))
    return divide(total, count_relevant(judged, rel))


@metric("rr", REL, aliases=("mrr",), zero_when_empty=True)
def rr(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Reciprocal rank of the first relevant item.

    Formula: 1 / rank of the first relevant item, 0 if there is none within the cut-off.

    Source: Voorhees, The TREC-8 Question Answering Track Report (1999).
    """
    chosen = relevant(judged, rel) & within(judged, k)
    rows, firsts = np.unique(judged.row[chosen], return_index=True)
    values = np.zeros(len(judged))
    values[rows] = 1.0 / judged.rank[chosen][firsts]
    return values


@metric("bpref", REL, NEGATIVE, cut="none")
def bpref(judged: Judged, k: int | None, *, rel: float | None = None, negative: str = "unjudged") -> Floats:
    """Binary preference: the fraction of judged non-relevant items ranked below relevant ones.

    Formula: 1/R · Σ over retrieved relevant items of 1 − min(n above, R) / min(N, R); n above is the number of judged
    non-relevant items ranked above it, R and N are the numbers of judged relevant and non-relevant items.

    Source: Buckley & Voorhees, Retrieval Evaluation with Incomplete Information (2004), as in trec_eval;
    negative=judged as in ranx.
    """
    good = relevant(judged, rel)
    lowest = 0.0 if negative == "unjudged" else -np.inf
    bad = ~good & (judged.grade >= lowest)
    rows = judged.row[good]
    above = running_count(judged, bad)[good]
    wanted = count_relevant(judged, rel)
    gold_bad = ~is_relevant(judged.gold_grades, rel, judged) & (judged.gold_grades >= lowest)
    unwanted = np.bincount(judged.gold_rows[gold_bad], minlength=len(judged))
    limit = np.minimum(unwanted, wanted)[rows]
    preferred = 1.0 - divide(np.minimum(above, wanted[rows]), limit)
    return divide(np.bincount(rows, preferred, minlength=len(judged)), wanted)


@metric("gm_bpref", REL, NEGATIVE, cut="none", aggregate="geometric")
def gm_bpref(judged: Judged, k: int | None, *, rel: float | None = None, negative: str = "unjudged") -> Floats:
    """Geometric mean of binary preference over queries.

    Formula: as bpref; the mean is exp(Σ ln max(bpref, 0.00001) / n).

    Source: trec_eval's gm_bpref.
    """
    return bpref(judged, None, rel=rel, negative=negative)


_FEW_ROWS = 32  # up to this many queries are computed one by one, which is faster than NumPy calls
_MAX = Option("max", "highest grade of the scale (default: the highest in the gold)", low=0.0, from_gold=True)


@metric("err", _MAX, REL, zero_when_empty=True)
def err(judged: Judged, k: int | None, *, max: float | None = None, rel: float | None = None) -> Floats:
    """Expected reciprocal rank of the item that satisfies the user.

    Formula: Σ 1/rank · R(rank) · Π (1 − R(above)) with R = (2^grade − 1) / 2^max. A grade above max is an error.

    Source: Chapelle, Metlzer, Zhang & Grinspan, Expected Reciprocal Rank for Graded Relevance (2009); gdeval and
    ir_measures use max=4.
    """
    if max is not None:
        hint = "Set max to the highest grade of the scale, or omit it to use the highest in the gold."
        check_highest(judged, max, f"grades up to {max:g}, the max of err", hint)
    top = judged.highest if max is None else max
    chosen = is_relevant(judged.grade, rel, judged) & (judged.grade > 0) & within(judged, k)
    rows, ranks = judged.row[chosen], judged.rank[chosen]
    satisfied = np.exp2(judged.grade[chosen] - top) - np.exp2(-top)  # 2^grade itself may be too large for a float
    still_reading = _products_above(1 - satisfied, np.searchsorted(rows, np.arange(len(judged) + 1)))
    return np.bincount(rows, satisfied * still_reading / ranks, minlength=len(judged)).astype(np.float64)


def _products_above(factors: Floats, starts: Ints) -> Floats:
    """Return for each factor the product of the preceding ones in its segment (CSR), multiplied in order."""
    products = np.ones(factors.size)
    lengths = np.diff(starts)
    longest_first = np.argsort(-lengths, kind="stable")
    firsts, ordered = starts[longest_first], -lengths[longest_first]
    done = 1
    while (rows := int(np.searchsorted(ordered, -done))) > _FEW_ROWS:  # segments with a factor at this position
        at = firsts[:rows] + done
        products[at] = products[at - 1] * factors[at - 1]
        done += 1
    for first, length in zip(firsts[:rows].tolist(), (-ordered[:rows]).tolist(), strict=True):
        rest = slice(first + done, first + length)
        above = factors[first + done - 1 : first + length - 1].copy()
        above[0] *= products[first + done - 1]
        products[rest] = np.multiply.accumulate(above)
    return products


@metric(
    "rbp",
    Option("p", "persistence: the probability of continuing to the next item", default=0.8, low=0.0, high=1.0),
    Option("gain", "gain of an item: 1, its grade, or its share of the best grade", ("binary", "linear", "share")),
    REL,
    zero_when_empty=True,
)
def rbp(judged: Judged, k: int | None, *, p: float = 0.8, gain: str = "binary", rel: float | None = None) -> Floats:
    """Rank-biased precision: expected gain of a user who continues to the next item with probability p.

    Formula: (1 − p) · Σ r · p^(rank − 1); r is 1 for a relevant item (gain=linear: its grade; gain=share: its grade
    divided by the highest in the query's gold).

    Source: Moffat & Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness (2008); gain=linear as in
    ranx, gain=share as in trec_eval 10.
    """
    if gain == "linear":
        check_highest(judged, HIGHEST_SUMMED, f"grades up to {HIGHEST_SUMMED:g} where they are added up")
    chosen = is_relevant(judged.grade, rel, judged) & within(judged, k)
    weights = np.power(p, judged.rank[chosen] - 1.0)
    if gain != "binary":
        weights = weights * judged.grade[chosen]
    if gain == "share":
        best = np.append(judged.gold_grades, 0.0)[judged.gold_starts[:-1]]
        weights = weights / best[judged.row[chosen]]
    return (1 - p) * np.bincount(judged.row[chosen], weights, minlength=len(judged)).astype(np.float64)
