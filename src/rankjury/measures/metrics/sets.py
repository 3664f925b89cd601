"""Metrics of the set of items in the top k (precision, recall and related) and overlap with the order of the gold."""

import numpy as np

from rankjury.core.types import Floats
from rankjury.errors import DataError
from rankjury.measures.judged import REL, Judged, count_hits, count_relevant, cut_or_depth, divide, relevant, sum_by_row
from rankjury.measures.measure import Option, metric


@metric(
    "precision",
    Option("over", "divisor", ("k", "relevant", "retrieved")),
    REL,
    zero_when_empty=("k", "retrieved"),
    by_position=False,
)
def precision(judged: Judged, k: int | None, *, over: str = "k", rel: float | None = None) -> Floats:
    """Fraction of the top k that is relevant.

    Formula: |relevant ∩ top k| / k; over=retrieved divides by min(k, retrieved), over=relevant by |relevant|.
    Without a cut-off, k is the number retrieved.

    Source: Manning, Raghavan & Schütze, Introduction to Information Retrieval (2008), ch. 8; over=retrieved as in
    Elasticsearch, over=relevant as in the driving protocol.
    """
    if over == "relevant":
        return divide(count_hits(judged, k, rel), count_relevant(judged, rel))
    divisor = cut_or_depth(judged, k)
    if over == "retrieved":
        divisor = np.minimum(divisor, judged.depth)
    return divide(count_hits(judged, k, rel), divisor)


@metric(
    "recall",
    Option("over", "divisor", ("relevant", "k", "min")),
    REL,
    aliases=("hits",),
    zero_when_empty=("k",),
    by_position=False,
)
def recall(judged: Judged, k: int | None, *, over: str = "relevant", rel: float | None = None) -> Floats:
    """Fraction of the relevant items that is in the top k.

    Formula: |relevant ∩ top k| / |relevant|; over=k divides by k, over=min by min(k, |relevant|).
    Without a cut-off, k is the number retrieved.

    Source: Manning, Raghavan & Schütze (2008), ch. 8; over=min is BEIR's R_cap and trec_eval's relative_P, over=k
    that of the driving and papers protocols.
    """
    divisor = count_relevant(judged, rel)
    if over == "k":
        divisor = cut_or_depth(judged, k)
    elif over == "min":
        divisor = np.minimum(cut_or_depth(judged, k), divisor)
    return divide(count_hits(judged, k, rel), divisor)


@metric("f1", REL, by_position=False)
def f1(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Harmonic mean of precision and recall.

    Formula: 2 · P · R / (P + R) with precision over k and recall over |relevant|; 0 where both are 0.

    Source: van Rijsbergen, Information Retrieval (1979), ch. 7.
    """
    precise, recalled = precision(judged, k, rel=rel), recall(judged, k, rel=rel)
    return 2 * divide(precise * recalled, precise + recalled)


@metric("hit_rate", REL, aliases=("success", "accuracy"), zero_when_empty=True, by_position=False)
def hit_rate(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Hit rate: 1 if the top k has at least one relevant item, else 0.

    Formula: 1 if |relevant ∩ top k| > 0, else 0.

    Source: success@k of trec_eval; accuracy@k of sentence-transformers.
    """
    return (count_hits(judged, k, rel) > 0).astype(np.float64)


@metric("r_precision", Option("times", "multiple of R to cut at", default=1.0, low=0.0, high=1e6), REL, cut="none")
def r_precision(judged: Judged, k: int | None, *, times: float = 1.0, rel: float | None = None) -> Floats:
    """Precision at R, the number of relevant items.

    Formula: |relevant ∩ top R| / R; with times=x the cut-off is ⌊x · R + 0.9⌋.

    Source: Buckley & Voorhees, Retrieval System Evaluation (2005); times= is trec_eval's Rprec_mult.
    """
    wanted = count_relevant(judged, rel)
    cut = wanted if times == 1 else np.floor(times * wanted + 0.9)
    found = sum_by_row(judged, relevant(judged, rel) & (judged.rank <= cut[judged.row]))
    return divide(found, cut)


@metric("set_ap", REL, cut="none", by_position=False)
def set_ap(judged: Judged, k: int | None, *, rel: float | None = None) -> Floats:
    """Precision times recall of the complete retrieved set.

    Formula: |relevant ∩ retrieved|² / (retrieved · |relevant|).

    Source: trec_eval's set_map.
    """
    found = count_hits(judged, None, rel)
    return divide(found * found, judged.depth * count_relevant(judged, rel))


@metric(
    "rbo",
    Option("p", "persistence: the weight of the next depth relative to this one", default=0.9, low=0.0, high=1.0),
    Option("tail", "beyond the end of the lists: extrapolate the agreement, or count nothing", ("extrapolate", "none")),
    needs_places=True,
)
def rbo(judged: Judged, k: int | None, *, p: float = 0.9, tail: str = "extrapolate") -> Floats:
    """Rank-biased overlap of the ranking with an ordered gold.

    Formula: (1 − p)/p · [Σ X(d)/d · p^d + Σ X(s)·(d − s)/(s·d) · p^d for d > s] + [(X(l) − X(s))/l + X(s)/s] · p^l;
    X(d) is the overlap of the first d items of both lists, s and l are the shorter and the longer length; tail=none
    uses only the first sum. With a cut-off both lists are cut at k.

    Source: Webber, Moffat & Zobel, A Similarity Measure for Indefinite Rankings (2010), equation 32.
    """
    if not judged.gold_has_order or judged.place is None:
        raise DataError(
            "rbo needs an ordered gold, but in this one items of a query share a grade",
            expected="a different grade for every item of a query",
            hint="Use grade = list length + 1 − position.",
        )
    retrieved, wanted = judged.depth, np.diff(judged.gold_starts)
    meets = np.maximum(judged.rank, judged.place)  # the depth at which an item is in both lists
    if k is not None:
        retrieved, wanted = np.minimum(retrieved, k), np.minimum(wanted, k)
    short, long = np.minimum(retrieved, wanted), np.maximum(retrieved, wanted)
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
