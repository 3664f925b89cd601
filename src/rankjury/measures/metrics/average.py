"""Average precision, reciprocal rank and preferences between judged items."""

import numpy as np

from rankjury.core.types import Bools, Floats
from rankjury.measures.judged import (
    NEGATIVE,
    REL,
    Judged,
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
_TIES = ties_option("group", "precision is taken at the end of a group of equal scores")
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
    at_rank = _precision_at_hits(judged, chosen, grouped=ties == "group")
    total = np.bincount(judged.row[chosen], at_rank, minlength=len(judged))
    if over == "found":
        return divide(total, sum_by_row(judged, chosen))
    divisor = count_relevant(judged, rel)
    if over != "relevant":
        divisor = np.minimum(cut_or_depth(judged, k), divisor)
    if over == "least":
        divisor = np.minimum(judged.depth, divisor)
    return divide(total, divisor)


def _precision_at_hits(judged: Judged, chosen: Bools, *, grouped: bool) -> Floats:
    rows = judged.row[chosen]
    found = nth_in_row(rows)
    if not grouped:
        return found / judged.rank[chosen]
    last = judged.tie_last[chosen]
    if rows.size == 0:
        return found
    group_end = np.flatnonzero(np.concatenate(((np.diff(last) != 0) | (np.diff(rows) != 0), [True])))
    ends = group_end[np.searchsorted(group_end, np.arange(rows.size))]
    return np.asarray(found[ends] / last, dtype=np.float64)


@metric("gm_ap", _OVER, REL, _TIES, aliases=("gm_map",), aggregate="geometric")
def gm_ap(
    judged: Judged, k: int | None, *, over: str = "relevant", rel: float | None = None, ties: str = "id"
) -> Floats:
    """Average precision, averaged over queries by the geometric mean.

    Formula: as ap; the mean is exp(Σ ln max(ap, 0.00001) / n).

    Source: Robertson, On GMAP and other transformations (2006); trec_eval's gm_map.
    """
    return ap(judged, k, over=over, rel=rel, ties=ties)


_LEVEL = Option("round", "a level of recall in items: up from a tenth, or to the nearest", ("up", "nearest"))


@metric("iprec", Option("at", "level of recall", default=0.5, low=0.0, high=1.0), _LEVEL, REL, cut="none")
def iprec(judged: Judged, k: int | None, *, at: float = 0.5, round: str = "up", rel: float | None = None) -> Floats:
    """Interpolated precision at a level of recall.

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
    """Interpolated precision averaged over eleven levels of recall.

    Formula: mean of iprec at 0, 0.1, … 1.

    Source: trec_eval's 11pt_avg.
    """
    # From the highest level down, in which order trec_eval adds.
    levels = [iprec(judged, None, at=tenth / 10, round=round, rel=rel) for tenth in range(10, -1, -1)]
    return np.asarray(sum(levels[1:], levels[0]) / 11, dtype=np.float64)


@metric("inf_ap", REL, cut="none")
def inf_ap(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Inferred average precision, for gold of which only a sample of the pool was judged.

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
    """Binary preference: how seldom a judged non-relevant item stands above a relevant one.

    Formula: 1/R · Σ over retrieved relevant items of 1 − min(n above, R) / min(N, R), n above being the judged
    non-relevant items that stand above it, R and N the judged relevant and non-relevant items.

    Source: Buckley & Voorhees, Retrieval Evaluation with Incomplete Information (2004), as trec_eval computes it;
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
    """Binary preference, averaged over queries by the geometric mean.

    Formula: as bpref; the mean is exp(Σ ln max(bpref, 0.00001) / n).

    Source: trec_eval's gm_bpref.
    """
    return bpref(judged, None, rel=rel, negative=negative)
