"""Engines that hold 32-bit vectors: what goes into them and what comes out, rows and scores."""

import threading
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import Params, Setting, settled
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Matrix, cut_rows
from rankjury.errors import DataError, UnknownName
from rankjury.retrieval.engines.base import Engine, Filter
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import Singles

_ROWS_AT_ONCE = 1 << 14
_SHORTEST = 1e-150
_BYTES = 4


class Ready(np.ndarray[Any, np.dtype[np.float32]]):
    """Queries that an engine of this file's kind made ready before: nothing is left to be done to them."""


class ArrayEngine(Engine):
    """Checks parameters and vectors for an engine, which fills (``_fill``) and searches (``_find``) its index."""

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._shape: tuple[int, ...] = (0, 0)
        self._attributes: pl.DataFrame | None = None
        self._built: dict[str, Setting] = {}

    def build(
        self,
        vectors: Matrix,
        ids: pl.Series,
        params: Params | None = None,
        *,
        attributes: pl.DataFrame | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        values = settled(self.build_params, params, "build parameter")
        held = singles(vectors, self.metric)
        self._built = self._fitting(values, *held.shape)
        self._shape, self._attributes = held.shape, attributes
        self._fill(held, progress)
        progress.update("Building", len(held), len(held))

    def _fitting(self, values: dict[str, Setting], n: int, dimensions: int) -> dict[str, Setting]:
        """Return the build parameters in force, with those that were left to the corpus."""
        return values

    @abstractmethod
    def _fill(self, held: Singles, progress: Progress) -> None:
        """Make the index by ``self._built``, and add all vectors."""

    def _batches(self, rows: int, progress: Progress) -> Iterator[tuple[int, int]]:
        """Give the first and last row of each batch to add."""
        for first, last in cut_rows(self._shape[0], rows):
            progress.update("Building", first, self._shape[0])
            yield first, last

    def prepare_queries(self, queries: Matrix) -> Matrix:
        return singles(queries, self.metric, self._shape[1]).view(Ready)

    def search(
        self,
        queries: Matrix,
        k: int,
        params: Params | None = None,
        *,
        filter: Filter | None = None,
        exact: bool = False,
    ) -> Neighbours:
        values = self._search_values(params)
        return self._find(singles(queries, self.metric, self._shape[1]), k, values, filter, exact)

    def _search_values(self, params: Params | None) -> dict[str, Setting]:
        return settled(self.search_params, params, "search parameter")

    @abstractmethod
    def _find(
        self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        """Search with queries of the right form and parameters that were checked."""


def singles(vectors: Matrix, metric: str, dimensions: int | None = None) -> Singles:
    """The vectors in 32 bits and one piece, of length one where the metric is the cosine; a copy where need be."""
    if type(vectors) is Ready:
        return vectors
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise DataError(f"queries have {vectors.shape[1]:,} dimensions", expected=f"{dimensions:,}, as the index")
    if metric == "cosine":
        return _units(vectors)
    if vectors.dtype.itemsize <= _BYTES:
        return np.ascontiguousarray(vectors, dtype=np.float32)
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(vectors, dtype=np.float32)
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found).all(axis=1)))
        raise DataError(f"vector {row} has a number beyond 32 bits", expected="numbers below 3e38")
    return found


def _units(vectors: Matrix) -> Singles:
    if len(vectors) <= _ROWS_AT_ONCE:
        return _units_of(vectors, 0)
    found = np.empty(vectors.shape, dtype=np.float32)
    for first, last in cut_rows(len(vectors), _ROWS_AT_ONCE):
        found[first:last] = _units_of(vectors[first:last], first)
    return found


def _units_of(block: Matrix, first: int) -> Singles:
    wide = block.astype(np.float64)
    lengths = np.sqrt(np.vecdot(wide, wide))
    # One query alone is what latency is measured of: a comparison of arrays would cost it more than its length.
    if lengths.item() < _SHORTEST if len(block) == 1 else (lengths < _SHORTEST).any():
        raise DataError(f"vector {first + int(np.argmin(lengths))} is zero", expected="vectors with a direction")
    wide /= lengths[:, None]
    return wide.astype(np.float32)


def pad_neighbours(rows: NDArray[np.integer], scores: NDArray[np.floating], k: int) -> Neighbours:
    """A table of k columns from one that may have fewer. A row below zero is nobody; such stand behind the others."""
    width = rows.shape[1]
    if width == k and k and (rows.item(k - 1) >= 0 if len(rows) == 1 else not (rows[:, -1] < 0).any()):
        return Neighbours(rows.astype(np.int64, copy=False), scores.astype(np.float64, copy=False))
    items = np.full((len(rows), k), MISSING, dtype=np.int64)
    values = np.full((len(rows), k), -np.inf)
    items[:, :width] = np.maximum(rows, MISSING)
    values[:, :width] = np.where(rows < 0, -np.inf, scores)
    return Neighbours(items, values)


def attribute_columns(attributes: pl.DataFrame | None) -> list[str]:
    """Names for the attributes within an engine: whatever they are called, these need no quotes."""
    return [] if attributes is None else [f"attribute{place}" for place in range(attributes.width)]


def attribute_column(attributes: pl.DataFrame | None, filter: Filter) -> str:
    """The name of the attribute that a filter looks at."""
    known = [] if attributes is None else attributes.columns
    if filter.attribute not in known:
        raise UnknownName("attribute of items", filter.attribute, known)
    return attribute_columns(attributes)[known.index(filter.attribute)]


class SettingLock:
    """For libraries that keep a search parameter in the index: searches by one value go together, others wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._value: int | None = None
        self._inside = 0

    @contextmanager
    def at(self, value: int) -> Iterator[bool]:
        """Gives whether the index has to be set to the value first."""
        with self._changed:
            self._changed.wait_for(lambda: self._inside == 0 or self._value == value)
            new, self._value = self._value != value, value
            self._inside += 1
        try:
            yield new
        finally:
            with self._changed:
                self._inside -= 1
                if self._inside == 0:
                    self._changed.notify_all()
