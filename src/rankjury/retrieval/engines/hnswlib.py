"""hnswlib: the HNSW graph of its inventors."""

from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankjury.core.params import Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.retrieval.engines.base import (
    BUILD_WIDTH,
    DEGREE,
    ENGINES,
    SEARCH_WIDTH,
    Engine,
    Filter,
    SettingLock,
    filter_mask,
    stack_rows,
)
from rankjury.retrieval.knn.similarity import Singles


@ENGINES.register("hnswlib")
class Hnswlib(Engine):
    """The search width is stored in the index, so searches with different widths are serialized.

    A filter is a Python function that the library calls for every item it visits.
    """

    description = "hnswlib: a graph of nearest neighbours (HNSW)"
    extra = "engines"
    libraries = ("hnswlib",)
    package = "hnswlib"
    build_params: ClassVar = {"m": DEGREE, "ef_construction": BUILD_WIDTH}
    search_params: ClassVar = {"ef_search": SEARCH_WIDTH}
    native_filter = True

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        self._width_lock = SettingLock()
        self._passing: dict[Filter, frozenset[int]] = {}
        self._index = self._library.Index(space="l2" if self.metric == "l2" else "ip", dim=self._dimensions)
        m, ef_construction = self._build_values["m"], self._build_values["ef_construction"]
        self._index.init_index(max_elements=max(1, self._items), M=m, ef_construction=ef_construction)
        for first, last in self._batches(progress):
            self._index.add_items(vectors[first:last], np.arange(first, last))

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        passing = None
        if filter is not None:
            if filter not in self._passing:
                self._passing[filter] = frozenset(np.flatnonzero(filter_mask(self._attributes, filter)).tolist())
            passing = self._passing[filter]
            k = min(k, len(passing))
        with self._width_lock.at(int(params["ef_search"]), self._index.set_ef):
            try:
                return self._query(queries, k, passing)
            except RuntimeError:  # fewer than k items are reachable for a query, and the library returns all or nothing
                return stack_rows([self._query_most(query[None, :], k, passing) for query in queries], k)

    def _query(self, queries: Singles, k: int, passing: frozenset[int] | None) -> tuple[Ints, Floats]:
        if not k:
            return np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0))
        if passing is None:
            rows, distances = self._index.knn_query(queries, k)
        else:  # more threads would block each other in the filter
            rows, distances = self._index.knn_query(queries, k, num_threads=1, filter=passing.__contains__)
        distances = distances.astype(np.float64)
        return rows.astype(np.int64), (0.0 - np.sqrt(distances)) if self.metric == "l2" else 1.0 - distances

    def _query_most(self, query: Singles, k: int, passing: frozenset[int] | None) -> tuple[Ints, Floats]:
        """Return as many items for one query as the library can find, by binary search for their number."""
        best: tuple[Ints, Floats] = np.empty(0, np.int64), np.empty(0)
        low, high = 0, k
        while low < high:
            middle = (low + high + 1) // 2
            try:
                rows, scores = self._query(query, middle, passing)
                best, low = (rows[0], scores[0]), middle
            except RuntimeError:
                high = middle - 1
        return best

    def size(self) -> int:
        """Return the bytes of the index as the library writes it."""
        return int(self._index.index_file_size()) if self._index is not None else 0
