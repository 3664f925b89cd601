"""Where the first relevant item stands."""

import numpy as np

from karat.judged import Judged
from karat.measure import metric
from karat.metrics.common import REL, relevant, within
from karat.types import Floats

__all__ = ["rr"]


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
