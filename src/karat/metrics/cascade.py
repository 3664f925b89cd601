"""Measures that model a reader who goes down the list and may stop."""

import numpy as np

from karat.judged import Judged
from karat.measure import Option, metric
from karat.metrics.common import REL, is_relevant, nth_in_row, within
from karat.types import Floats

__all__ = ["err", "rbp"]


@metric("err", Option("max", "highest grade of the scale (otherwise the highest in the gold)", low=0.0), REL)
def err(judged: Judged, k: int | None, *, max: float | None = None, rel: float | None = None) -> Floats:
    """Expected reciprocal rank at which the reader is satisfied.

    Formula: Σ 1/rank · R(rank) · Π (1 − R(above)) with R = (2^grade − 1) / 2^max.

    Source: Chapelle, Metlzer, Zhang & Grinspan, Expected Reciprocal Rank for Graded Relevance (2009); gdeval and
    ir_measures use max=4.
    """
    top = judged.highest if max is None else max
    chosen = is_relevant(judged.grade, rel, judged) & (judged.grade > 0) & within(judged, k)
    rows, ranks = judged.row[chosen], judged.rank[chosen]
    satisfied = (np.exp2(judged.grade[chosen]) - 1) / np.exp2(top)
    still_reading = np.ones(len(judged))
    total = np.zeros(len(judged))
    nth = nth_in_row(rows)
    for n in range(1, int(nth.max(initial=0)) + 1):
        now = nth == n
        total[rows[now]] += satisfied[now] * still_reading[rows[now]] / ranks[now]
        still_reading[rows[now]] *= 1 - satisfied[now]
    return total


@metric(
    "rbp",
    Option("p", "persistence: the chance of looking at the next item", default=0.8, low=0.0, high=1.0),
    Option(
        "gain", "an item counts 1, its grade, or its share of the query's best grade", ("binary", "linear", "share")
    ),
    REL,
)
def rbp(judged: Judged, k: int | None, *, p: float = 0.8, gain: str = "binary", rel: float | None = None) -> Floats:
    """Rank-biased precision.

    Formula: (1 − p) · Σ r · p^(rank − 1), r being 1 for a relevant item (gain=linear: its grade; gain=share: its grade
    divided by the highest that the query's gold has).

    Source: Moffat & Zobel, Rank-Biased Precision for Measurement of Retrieval Effectiveness (2008); gain=linear as in
    ranx, gain=share as in trec_eval 10.
    """
    chosen = is_relevant(judged.grade, rel, judged) & within(judged, k)
    weights = np.power(p, judged.rank[chosen] - 1.0)
    if gain != "binary":
        weights = weights * judged.grade[chosen]
    if gain == "share":
        best = np.append(judged.gold_grades, 0.0)[judged.gold_starts[:-1]]
        weights = weights / best[judged.row[chosen]]
    return (1 - p) * np.bincount(judged.row[chosen], weights, minlength=len(judged)).astype(np.float64)
