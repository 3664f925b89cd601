"""Count metrics, and the share of judged items among the retrieved ones."""

from typing import Any

import numpy as np

from rankjury.core.types import Floats
from rankjury.measures.judged import (
    NEGATIVE,
    REL,
    Judged,
    count_hits,
    count_relevant,
    cut_or_depth,
    divide,
    relevant,
    sum_by_row,
    within,
)
from rankjury.measures.measure import Option, metric


@metric("judged", needs_relevant=False, by_position=False, descriptive=True)
def judged_share(judged: Judged, k: int | None) -> Floats:
    """Fraction of the top k that is judged, with any grade.

    Formula: |judged ∩ top k| / min(k, retrieved).

    Source: Judged@k of ir_measures.
    """
    return divide(sum_by_row(judged, within(judged, k)), np.minimum(cut_or_depth(judged, k), judged.depth))


@metric("unjudged", NEGATIVE, needs_relevant=False, lower_is_better=True, by_position=False, descriptive=True)
def unjudged(judged: Judged, k: int | None, *, negative: str = "unjudged") -> Floats:
    """Fraction of the top k that is not judged.

    Formula: (min(k, retrieved) − |judged ∩ top k|) / k.

    Source: unj_k of trec_eval 10.
    """
    retrieved = np.minimum(cut_or_depth(judged, k), judged.depth)
    counted = within(judged, k) & ((judged.grade >= 0) | (negative == "judged"))
    return divide(retrieved - sum_by_row(judged, counted), cut_or_depth(judged, k))


_MISSING = Option(
    "missing",
    "a gold query that is missing in the ranking: counted with nothing retrieved, not counted, skipped, or an error",
    ("zero", "none", "skip", "error"),
)


def _counted(judged: Judged, values: Floats, missing: str) -> Floats:
    return np.where(judged.present, values, 0.0) if missing == "none" else values


_COUNT: dict[str, Any] = {"aggregate": "sum", "needs_relevant": False, "by_position": False, "descriptive": True}


@metric("num_q", _MISSING, cut="none", **_COUNT)
def num_q(judged: Judged, k: int | None, *, missing: str = "zero") -> Floats:
    """Number of queries.

    Formula: 1 for each query.

    Source: trec_eval; missing=none as in ir_measures.
    """
    return _counted(judged, np.ones(len(judged)), missing)


@metric("num_ret", **_COUNT)
def num_ret(judged: Judged, k: int | None) -> Floats:
    """Number of items retrieved.

    Formula: min(k, retrieved).

    Source: trec_eval.
    """
    return np.minimum(cut_or_depth(judged, k), judged.depth)


@metric("num_rel", REL, _MISSING, cut="none", **_COUNT)
def num_rel(judged: Judged, k: int | None, *, rel: float | None = None, missing: str = "zero") -> Floats:
    """Number of relevant items in the gold.

    Formula: |relevant|.

    Source: trec_eval; missing=none as in ir_measures.
    """
    return _counted(judged, count_relevant(judged, rel), missing)


@metric("num_rel_ret", REL, **_COUNT)
def num_rel_ret(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Number of relevant items retrieved.

    Formula: |relevant ∩ top k|.

    Source: trec_eval.
    """
    return count_hits(judged, k, rel)


@metric("hit_count", REL, zero_when_empty=True, by_position=False)
def hit_count(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Number of relevant items in the top k, as a mean over queries.

    Formula: |relevant ∩ top k|.

    Source: hits@k of ranx.
    """
    return count_hits(judged, k, rel)


_MISSING_FROM_POOL = Option(
    "missing",
    "a gold query that is missing in the ranking: pooled with nothing retrieved, skipped, or an error",
    ("zero", "skip", "error"),
)


@metric("pooled_precision", REL, _MISSING_FROM_POOL, whole=True, by_position=False)
def pooled_precision(judged: Judged, k: int | None, *, rel: float | None = None, missing: str = "zero") -> Floats:
    """Pooled precision: relevant items in the top k of all queries, as a fraction of the maximum possible.

    Formula: P = Σ |relevant ∩ top k| / Σ min(k, |relevant|), summed over queries. The contribution of one query is
    P + (|relevant ∩ top k| − P · min(k, |relevant|)) / mean of min(k, |relevant|). Without a cut-off, k is the number
    retrieved.

    Source: precision of implicit's ranking_metrics_at_k.
    """
    whole = judged if judged.whole is None else judged.whole
    pooled = whole.present if missing == "skip" else np.ones(len(whole), bool)
    most = _most_hits(whole, k, rel)[pooled]
    total, counted = most.sum(), np.count_nonzero(most)
    if total == 0:
        return np.zeros(len(judged))
    share = count_hits(whole, k, rel)[pooled].sum() / total
    beyond = count_hits(judged, k, rel) - share * _most_hits(judged, k, rel)
    return np.asarray(share + beyond * (counted / total), dtype=np.float64)


def _most_hits(judged: Judged, k: int | None, rel: float | None) -> Floats:
    """Return the maximum number of relevant items in the top k of each query."""
    return np.minimum(cut_or_depth(judged, k), count_relevant(judged, rel))


@metric("num_nonrel_ret", REL, lower_is_better=True, **_COUNT)
def num_nonrel_ret(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Number of retrieved items that are judged as not relevant.

    Formula: |judged, not relevant, grade ≥ 0 ∩ top k|.

    Source: num_nonrel_judged_ret of trec_eval.
    """
    return sum_by_row(judged, ~relevant(judged, rel) & (judged.grade >= 0) & within(judged, k))


@metric("utility", REL, needs_relevant=False, by_position=False)
def utility(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Number of relevant items minus number of other items in the top k.

    Formula: |relevant ∩ top k| − (min(k, retrieved) − |relevant ∩ top k|).

    Source: trec_eval's utility with its default coefficients 1, −1, 0, 0.
    """
    return 2 * count_hits(judged, k, rel) - num_ret(judged, k)
