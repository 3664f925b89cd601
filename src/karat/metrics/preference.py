"""Preferences between judged items, for gold that is known to be incomplete."""

import numpy as np

from karat.judged import Judged
from karat.measure import metric
from karat.metrics.common import NEGATIVE, REL, divide, is_relevant, relevant, relevant_count, running_count
from karat.types import Floats

__all__ = ["bpref", "gm_bpref"]


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
    wanted = relevant_count(judged, rel)
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
