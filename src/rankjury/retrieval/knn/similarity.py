"""Similarity of vectors: the score in float64, and a fast 32-bit approximation with a bound on its error.

The score of a pair depends on the two vectors only. It is summed in a fixed order, so that threads, tiles and other
pairs do not change a digit, and equal vectors are tied exactly. The approximation comes from one multiplication of
32-bit matrices; it only determines which pairs are worth scoring.
"""

from abc import ABC, abstractmethod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from rankjury.core.types import Floats, Ints, Matrix, cut_rows
from rankjury.errors import DataError, UnknownName

Singles = NDArray[np.float32]

_ELEMENTS_AT_ONCE = 1 << 18
"""Size of the float64 copies from which scores are summed: they fit into the cache."""
_LONGEST_FOR_ONE_THREAD = 10_000
_ROUNDING = 2.0**-24
_LARGEST_SINGLE = 1e38
_NEAREST = 2.0**-28
_OFF_ONE = 2.0**-21
"""Tolerance for lengths of one."""
_SHORTEST, _LONGEST = 1e-150, 1e150
"""Lengths whose squares and products are within float64."""


class Similarity(ABC):
    """Scores between the rows of ``queries`` and the rows of ``items``; higher is more similar."""

    slack: float
    """Maximum error of an approximate score."""
    symmetric = False
    """Whether both sides of the product are equal, so that half of the products of a set with itself are enough."""

    def __init__(self, queries: Matrix, items: Matrix) -> None:
        self.queries = queries
        self.items = items
        self.slack = (items.shape[1] + 10) * _ROUNDING * 1.05

    def scores(self, rows: Ints, columns: Ints) -> Floats:
        """Return the scores of each row's query with the items in its ``columns``, in their shape."""
        found = np.empty(columns.shape)
        shape = (columns.shape[1], self.items.shape[1])
        step = max(1, min(len(rows), _ELEMENTS_AT_ONCE // max(1, shape[0] * shape[1])))
        # Reused arrays: allocating new ones would cost more than the sums.
        given, wide = np.empty((step, *shape), self.items.dtype), np.empty((step, *shape))
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            size = len(rows[part])
            target = wide if self.items.dtype == np.float64 else given
            np.take(self.items, columns[part], axis=0, out=target[:size], mode="clip")
            if target is given:
                np.copyto(wide[:size], given[:size])
            queries = self.queries[rows[part]].astype(np.float64, copy=False)[:, None, :]
            found[part] = self._scores(queries, wide[:size], rows[part], columns[part])
        return found

    @abstractmethod
    def _scores(self, queries: Floats, items: Floats, rows: Ints, columns: Ints) -> Floats:
        """Score queries × 1 × dimensions with queries × items × dimensions; ``items`` may be overwritten."""

    @abstractmethod
    def query_tile(self, first: int, last: int) -> Singles:
        """Return the left side of the product of approximate scores."""

    @abstractmethod
    def item_tile(self, first: int, last: int) -> Singles:
        """Return the right side, one row per item."""

    @abstractmethod
    def stand_in(self, rows: Ints, scores: Floats) -> Floats:
        """Return the exact approximation values of such scores."""


class _Cosine(Similarity):
    symmetric = True

    def __init__(self, queries: Matrix, items: Matrix) -> None:
        super().__init__(queries, items)
        self._query_norms = self._divisors(_lengths(queries))
        self._item_norms = self._query_norms if queries is items else self._divisors(_lengths(items))
        # 32-bit vectors of length one need not be divided by it.
        self._units = {
            side: vectors.dtype == np.float32 and bool((np.abs(norms - 1.0) <= _OFF_ONE).all())
            for side, vectors, norms in (("queries", queries, self._query_norms), ("items", items, self._item_norms))
        }
        self.slack += 2 * _OFF_ONE * sum(self._units.values())

    def _scores(self, queries: Floats, items: Floats, rows: Ints, columns: Ints) -> Floats:
        found = _dots(queries, items)
        found /= self._query_norms[rows][:, None] * self._item_norms[columns]
        np.clip(found, -1.0, 1.0, out=found)
        return found

    def _divisors(self, norms: Floats) -> Floats:
        """Return the divisors of products; a zero vector is refused."""
        if (norms < _SHORTEST).any():
            found = f"vector {int(np.argmin(norms))} is zero"
            raise DataError(found, expected="vectors with a direction", hint=ZERO_VECTORS)
        return norms

    def query_tile(self, first: int, last: int) -> Singles:
        return self._tile("queries", self.queries[first:last], self._query_norms[first:last])

    def item_tile(self, first: int, last: int) -> Singles:
        return self._tile("items", self.items[first:last], self._item_norms[first:last])

    def _tile(self, side: str, vectors: Matrix, norms: Floats) -> Singles:
        return vectors.astype(np.float32, copy=False) if self._units[side] else _scaled(vectors, norms)

    def stand_in(self, rows: Ints, scores: Floats) -> Floats:
        return scores


class _CosineOrZero(_Cosine):
    """Cosine, and 0 between a zero vector and any other: the limit of u / (|u| + eps) for eps to 0."""

    def _divisors(self, norms: Floats) -> Floats:
        return super()._divisors(np.where(norms == 0, 1.0, norms))

    def _scores(self, queries: Floats, items: Floats, rows: Ints, columns: Ints) -> Floats:
        return super()._scores(queries, items, rows, columns) + 0.0  # no −0


class _InnerProduct(Similarity):
    """The approximation is q·x over |q| and the longest |x|, so that it is at most 1."""

    def __init__(self, queries: Matrix, items: Matrix) -> None:
        super().__init__(queries, items)
        norms = _lengths(queries)
        self._query_norms = np.where(norms > 0, norms, 1.0)
        self._longest = float(_lengths(items).max(initial=0.0)) or 1.0

    def _scores(self, queries: Floats, items: Floats, rows: Ints, columns: Ints) -> Floats:
        return _dots(queries, items)

    def query_tile(self, first: int, last: int) -> Singles:
        return _scaled(self.queries[first:last], self._query_norms[first:last])

    def item_tile(self, first: int, last: int) -> Singles:
        return _scaled(self.items[first:last], np.full(last - first, self._longest))

    def stand_in(self, rows: Ints, scores: Floats) -> Floats:
        return scores / (self._query_norms[rows] * self._longest)


class _Euclidean(Similarity):
    """The score is the negative distance. The approximation is q·x − |x|²/2, around the items' mean, over their radius.

    Both sides have one more coordinate for |x|²/2, and are divided by the query's length, so that it is at most 1.
    """

    def __init__(self, queries: Matrix, items: Matrix) -> None:
        super().__init__(queries, items)
        self._middle = items.mean(axis=0, dtype=np.float64) if len(items) else np.zeros(items.shape[1])
        self._radius = _farthest(items, self._middle)
        if queries is not items:
            # For queries beyond that, float64 is not precise enough for the slack.
            self._radius = max(self._radius, _farthest(queries, self._middle) * _NEAREST)
        self._radius = self._radius or 1.0

    def _scores(self, queries: Floats, items: Floats, rows: Ints, columns: Ints) -> Floats:
        apart = np.subtract(queries, items, out=items)
        return 0.0 - np.sqrt(_dots(apart, apart))

    def query_tile(self, first: int, last: int) -> Singles:
        centred = self._centred(self.queries[first:last])
        return (np.column_stack([centred, np.ones(last - first)]) / self._scale(centred)[:, None]).astype(np.float32)

    def item_tile(self, first: int, last: int) -> Singles:
        centred = self._centred(self.items[first:last])
        return np.column_stack([centred, -0.5 * _dots(centred, centred)]).astype(np.float32)

    def stand_in(self, rows: Ints, scores: Floats) -> Floats:
        centred = self._centred(self.queries[rows])
        apart = scores / self._radius
        return 0.5 * (_dots(centred, centred) - apart * apart) / self._scale(centred)

    def _centred(self, vectors: Matrix) -> Floats:
        return np.asarray((vectors.astype(np.float64) - self._middle) / self._radius)

    def _scale(self, centred: Floats) -> Floats:
        """Return the maximum of the left side; twice it bounds the error of the right side's last coordinate."""
        return 2.0 * (np.sqrt(_dots(centred, centred)) + 1.0)


METRICS: dict[str, type[Similarity]] = {
    "cosine": _Cosine,
    "cosine-zero": _CosineOrZero,
    "ip": _InnerProduct,
    "l2": _Euclidean,
}
COSINES = ("cosine", "cosine-zero")
"""They differ only for zero vectors, which the first refuses."""
METRIC_HELP = "cosine, cosine-zero (the same, but 0 for a zero vector), ip (inner product) or l2."
ZERO_VECTORS = "Use the metric cosine-zero, whose similarity with a zero vector is 0, remove them, or use l2."


def similarity_of(metric: str, queries: Matrix, items: Matrix) -> Similarity:
    """Return the similarity ``cosine``, ``cosine-zero``, ``ip`` (inner product) or ``l2`` (negative distance)."""
    if metric not in METRICS:
        raise UnknownName("similarity", metric, METRICS)
    # Contiguous rows: sums over strides have another order, and indexing scattered rows would copy them all.
    rows = np.ascontiguousarray(items)
    return METRICS[metric](rows if queries is items else np.ascontiguousarray(queries), rows)


def norms_of(vectors: Matrix) -> Floats:
    """Return the length of each row; infinite if its square overflows."""
    norms = np.empty(len(vectors))
    for first, last in _blocks(vectors):
        block = vectors[first:last].astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            norms[first:last] = np.sqrt(_dots(block, block))
    return norms


def _blocks(vectors: Matrix) -> list[tuple[int, int]]:
    return cut_rows(len(vectors), max(1, _ELEMENTS_AT_ONCE // max(1, vectors.shape[1])))


def _lengths(vectors: Matrix) -> Floats:
    """Return the lengths; vectors that are too long are refused."""
    norms = norms_of(vectors)
    if not (norms <= _LONGEST).all():
        raise DataError("a vector is too long to be squared, or not of numbers", expected="lengths below 1e150")
    return norms


def _dots(left: Floats, right: Floats) -> Floats:
    """Return dot products over the last axis, each summed in an order that depends only on its length.

    ``vecdot`` calls BLAS's dot product of two vectors pair by pair, which OpenBLAS splits over threads above 10,000
    numbers, so that it gets at most this many at once. ``einsum`` splits depending on the shape of the arrays.
    """
    size = left.shape[-1]
    parts = [slice(first, first + _LONGEST_FOR_ONE_THREAD) for first in range(0, size, _LONGEST_FOR_ONE_THREAD)]
    if len(parts) < 2:
        return cast(Floats, np.vecdot(left, right))
    return cast(Floats, sum(np.vecdot(left[..., part], right[..., part]) for part in parts))


def _scaled(vectors: Matrix, lengths: Floats) -> Singles:
    factors = 1.0 / lengths
    if vectors.dtype == np.float32 and np.max(factors, initial=0.0) < _LARGEST_SINGLE:
        return vectors * factors.astype(np.float32)[:, None]
    return (vectors.astype(np.float64, copy=False) * factors[:, None]).astype(np.float32)


def _farthest(vectors: Matrix, middle: Floats) -> float:
    blocks = (vectors[first:last] - middle for first, last in _blocks(vectors))
    return max((float(_lengths(block).max()) for block in blocks), default=0.0)
