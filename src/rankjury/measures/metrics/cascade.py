"""Measures that model a reader who goes down the list and may stop."""

import numpy as np

from rankjury.core.types import Floats, Ints
from rankjury.measures.judged import HIGHEST_SUMMED, REL, Judged, check_highest, is_relevant, within
from rankjury.measures.measure import Option, metric

_FEW_ROWS = 32
"""So few queries are finished one by one: a NumPy call on fewer numbers costs more than the numbers do."""
_MAX = Option("max", "highest grade of the scale (otherwise the highest in the gold)", low=0.0, from_gold=True)


@metric("err", _MAX, REL, zero_when_empty=True)
def err(judged: Judged, k: int | None, *, max: float | None = None, rel: float | None = None) -> Floats:
    """Expected reciprocal rank at which the reader is satisfied.

    Formula: Σ 1/rank · R(rank) · Π (1 − R(above)) with R = (2^grade − 1) / 2^max. A grade above max is an error.

    Source: Chapelle, Metlzer, Zhang & Grinspan, Expected Reciprocal Rank for Graded Relevance (2009); gdeval and
    ir_measures use max=4.
    """
    if max is not None:
        hint = "Set max to the highest grade of the scale, or leave it out to take the gold's."
        check_highest(judged, max, f"grades up to {max:g}, the max of err", hint)
    top = judged.highest if max is None else max
    chosen = is_relevant(judged.grade, rel, judged) & (judged.grade > 0) & within(judged, k)
    rows, ranks = judged.row[chosen], judged.rank[chosen]
    satisfied = np.exp2(judged.grade[chosen] - top) - np.exp2(-top)  # 2^grade itself may be too large for a float
    still_reading = _products_above(1 - satisfied, np.searchsorted(rows, np.arange(len(judged) + 1)))
    return np.bincount(rows, satisfied * still_reading / ranks, minlength=len(judged)).astype(np.float64)


def _products_above(factors: Floats, starts: Ints) -> Floats:
    """Return for each factor the product of those before it in its segment (CSR), multiplied from the first on."""
    products = np.ones(factors.size)
    lengths = np.diff(starts)
    longest_first = np.argsort(-lengths, kind="stable")
    firsts, ordered = starts[longest_first], -lengths[longest_first]
    done = 1
    while (rows := int(np.searchsorted(ordered, -done))) > _FEW_ROWS:  # those that have a factor at this place
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
    Option("p", "persistence: the chance of looking at the next item", default=0.8, low=0.0, high=1.0),
    Option(
        "gain", "an item counts 1, its grade, or its share of the query's best grade", ("binary", "linear", "share")
    ),
    REL,
    zero_when_empty=True,
)
def rbp(judged: Judged, k: int | None, *, p: float = 0.8, gain: str = "binary", rel: float | None = None) -> Floats:
    """Rank-biased precision.

    Formula: (1 − p) · Σ r · p^(rank − 1), r being 1 for a relevant item (gain=linear: its grade; gain=share: its grade
    divided by the highest that the query's gold has).

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
