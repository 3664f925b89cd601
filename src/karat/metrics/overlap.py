"""Likeness of two ordered lists: the ranking and the gold's own order."""

import numpy as np

from karat.errors import DataError
from karat.judged import Judged
from karat.measure import Option, metric
from karat.metrics.common import divide
from karat.types import Floats, Ints

__all__ = ["rbo"]


@metric(
    "rbo",
    Option("p", "persistence: the weight of the next depth relative to this one", default=0.9, low=0.0, high=1.0),
    Option("tail", "past the ends: extrapolate the agreement, or count nothing", ("extrapolate", "none")),
    needs_places=True,
)
def rbo(judged: Judged, k: int | None, *, p: float = 0.9, tail: str = "extrapolate") -> Floats:
    """Rank-biased overlap of the ranking with an ordered gold.

    Formula: (1 − p)/p · [Σ X(d)/d · p^d + Σ X(s)·(d − s)/(s·d) · p^d for d > s] + [(X(l) − X(s))/l + X(s)/s] · p^l,
    X(d) being the overlap of the first d of both lists, s and l the shorter and the longer length; tail=none keeps the
    first sum only. With a cut-off both lists are cut at k.

    Source: Webber, Moffat & Zobel, A Similarity Measure for Indefinite Rankings (2010), equation 32.
    """
    if not judged.gold_has_order or judged.place is None:
        raise DataError(
            "rbo compares with an ordered gold, but in this one items of a query share a grade",
            expected="a different grade for every item of a query",
            hint="Number the places: grade = length + 1 − position.",
        )
    retrieved, wanted = judged.depth, np.diff(judged.gold_starts)
    meets = np.maximum(judged.rank, judged.place)
    if k is not None:
        retrieved, wanted = np.minimum(retrieved, k), np.minimum(wanted, k)
    return _overlap(judged, meets, np.minimum(retrieved, wanted), np.maximum(retrieved, wanted), p, tail)


def _overlap(judged: Judged, meets: Ints, short: Ints, long: Ints, p: float, tail: str) -> Floats:
    """RBO from the depth at which each shared item stands in both lists."""
    depth = np.arange(1, int(long.max(initial=1)) + 1)
    powers = np.concatenate(([0.0], np.cumsum(np.power(p, depth))))
    harmonic = np.concatenate(([0.0], np.cumsum(np.power(p, depth) / depth)))
    shared = meets <= long[judged.row]
    rows, met = judged.row[shared], meets[shared]
    agreement = np.bincount(rows, harmonic[long[rows]] - harmonic[met - 1], minlength=len(judged))
    scale = (1 - p) / p if p > 0 else 0.0
    if tail == "none":
        return np.asarray(scale * agreement, dtype=np.float64)
    at_long = np.bincount(rows, minlength=len(judged)).astype(np.float64)
    at_short = np.bincount(judged.row[meets <= short[judged.row]], minlength=len(judged)).astype(np.float64)
    uneven = divide(at_short, short.astype(np.float64)) * (powers[long] - powers[short])
    uneven -= at_short * (harmonic[long] - harmonic[short])
    last = divide(at_long - at_short, long.astype(np.float64)) + divide(at_short, short.astype(np.float64))
    return np.asarray(scale * (agreement + uneven) + last * np.power(p, long.astype(np.float64)), dtype=np.float64)
