"""Resampled sums as matrix products: weights or signs × per-query scores, all columns at once.

Work is cut into ranges of resamples, done in threads, and blocks of queries within them that stay in the processor's
cache. Sums are exact (see ``sums``), so nothing depends on either.
"""

import numpy as np

from karat.blocks import cut_rows, in_threads
from karat.statistics.streams import Keys, Signs, Weights
from karat.statistics.sums import LARGEST_BLOCK
from karat.types import Floats, Ints

__all__ = ["draw_sums", "flip_sums"]

_RESAMPLES_PER_PART = 2560
_QUERIES_PER_BLOCK = 128
_PRODUCTS_AT_ONCE = 1 << 18
"""More at a time, and OpenBLAS would start threads within ours, which then wait for each other."""


def draw_sums(keys: Keys, columns: Floats, resamples: int) -> Ints:
    """Sums of each column over resampled queries, as columns × resamples.

    Every query is drawn a random number of times, with mean 1, independently of the others. ``columns`` holds whole
    numbers, as queries × columns.
    """
    return _sums(Weights, keys, columns, resamples)


def flip_sums(keys: Keys, columns: Floats, resamples: int) -> Ints:
    """Sums of each column with the signs of its values flipped at random, as columns × resamples."""
    total = columns.astype(np.int64).sum(axis=0)
    flipped = _sums(Signs, keys, columns, resamples)
    flipped *= 2
    flipped -= total[:, None]
    return flipped


def _sums(numbers: type[Weights] | type[Signs], keys: Keys, columns: Floats, resamples: int) -> Ints:
    across = np.ascontiguousarray(columns.T)
    blocks = cut_rows(keys.size, min(_QUERIES_PER_BLOCK, LARGEST_BLOCK))

    def work(first: int, last: int) -> Ints:
        drawn = numbers(first, last, min(_QUERIES_PER_BLOCK, keys.size))
        sums = np.zeros((across.shape[0], last - first), dtype=np.int64)
        exact, product = np.zeros((2, *sums.shape))
        since = 0
        parts = cut_rows(last - first, max(1, _PRODUCTS_AT_ONCE // (across.shape[0] * _QUERIES_PER_BLOCK)))
        for start, end in blocks:
            if end - since > LARGEST_BLOCK:
                sums += exact.astype(np.int64)
                exact[:] = 0.0
                since = start
            weights = drawn.draw(keys[start:end])
            for low, high in parts:
                np.matmul(across[:, start:end], weights[:, low:high], out=product[:, low:high])
            np.add(exact, product, out=exact)
        return sums + exact.astype(np.int64)

    return np.concatenate(list(in_threads(work, cut_rows(resamples, _RESAMPLES_PER_PART))), axis=1)
