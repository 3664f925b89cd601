"""hnswlib: the graph of near neighbours by its inventors."""

from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from rankjury.core.importing import import_optional
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints
from rankjury.retrieval.engines.arrays import ArrayEngine, SettingLock, pad_neighbours
from rankjury.retrieval.engines.base import ENGINES, Filter, filter_mask, pad_rows
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.similarity import Singles

_ROWS_AT_ONCE = 1 << 14


@ENGINES.register("hnswlib")
class Hnswlib(ArrayEngine):
    """The width of a search is kept in the index, so that searches by different widths wait for each other.

    A filter is a Python function that the library calls for every item it meets.
    """

    description = "hnswlib: a graph of near neighbours"
    extra = "engines"
    libraries = ("hnswlib",)
    build_params: ClassVar = {
        "m": Param(16, "neighbours of a vector in the graph", min=2),
        "ef_construction": Param(200, "how many it chooses these from", min=1),
    }
    search_params: ClassVar = {"ef_search": Param(64, "how many a query keeps in view", min=1, monotonic_recall=True)}
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._library = import_optional("hnswlib", "the engine hnswlib")
        self._index: Any = None
        self._turns = SettingLock()
        self._passing: dict[Filter, frozenset[int]] = {}

    def _fill(self, held: Singles, progress: Progress) -> None:
        self._turns, self._passing = SettingLock(), {}
        self._index = self._library.Index(space="l2" if self.metric == "l2" else "ip", dim=held.shape[1])
        self._index.init_index(
            max_elements=max(1, len(held)), M=self._built["m"], ef_construction=self._built["ef_construction"]
        )
        for first, last in self._batches(_ROWS_AT_ONCE, progress):
            self._index.add_items(held[first:last], np.arange(first, last))

    def _find(
        self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        width = int(values["ef_search"])
        passes = None if filter is None else self._that_pass(filter)
        deep = min(k, self._index.element_count if passes is None else len(passes))
        if not len(asked) or not deep:
            return pad_neighbours(np.empty((len(asked), 0), np.int64), np.empty((len(asked), 0)), k)
        with self._turns.at(width) as new:
            if new:
                self._index.set_ef(width)
            try:
                return pad_neighbours(*self._found(asked, deep, passes), k)
            except RuntimeError:  # the library gives all or nothing: a query has fewer than so many in reach
                parts = [self._as_many_as_found(asked[row : row + 1], deep, passes) for row in range(len(asked))]
                return pad_rows([rows for rows, _ in parts], [scores for _, scores in parts], k)

    def _that_pass(self, filter: Filter) -> frozenset[int]:
        if filter not in self._passing:
            self._passing[filter] = frozenset(np.flatnonzero(filter_mask(self._attributes, filter)).tolist())
        return self._passing[filter]

    def _found(self, asked: Singles, k: int, passes: frozenset[int] | None) -> tuple[Ints, Floats]:
        if passes is None:
            rows, apart = self._index.knn_query(asked, k)
        else:  # threads of the library would wait for each other at the filter
            rows, apart = self._index.knn_query(asked, k, num_threads=1, filter=passes.__contains__)
        apart = apart.astype(np.float64)
        return rows.astype(np.int64), (0.0 - np.sqrt(apart)) if self.metric == "l2" else 1.0 - apart

    def _as_many_as_found(self, asked: Singles, deep: int, passes: frozenset[int] | None) -> tuple[Ints, Floats]:
        """Of one query; how many can be had is found by halving."""
        best: tuple[Ints, Floats] = np.empty(0, np.int64), np.empty(0)
        low, high = 0, deep
        while low < high:
            middle = (low + high + 1) // 2
            try:
                rows, scores = self._found(asked, middle, passes)
                best, low = (rows[0], scores[0]), middle
            except RuntimeError:
                high = middle - 1
        return best

    def size(self) -> int:
        """Bytes of the index as the library writes it."""
        return int(self._index.index_file_size()) if self._index is not None else 0

    def metadata(self) -> dict[str, Any]:
        return {"library": "hnswlib", "version": version("hnswlib"), **self._built}

    def close(self) -> None:
        self._index = None
