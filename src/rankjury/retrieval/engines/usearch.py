"""USearch: a graph of near neighbours in memory."""

from typing import Any, ClassVar

import numpy as np

from rankjury.core.importing import import_optional
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.retrieval.engines.arrays import ArrayEngine, SettingLock, pad_neighbours
from rankjury.retrieval.engines.base import ENGINES, Filter, filter_mask, search_then_filter
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import Singles

_ROWS_AT_ONCE = 1 << 11
"""The first of these are added by one thread: several, in a graph of so few, may leave some that no path leads to."""
_KINDS = {"cosine": "cos", "ip": "ip", "l2": "l2sq"}


@ENGINES.register("usearch")
class USearch(ArrayEngine):
    """The width of a search is kept in the index, so that searches by different widths wait for each other."""

    description = "USearch: a graph of near neighbours"
    extra = "engines"
    libraries = ("usearch",)
    build_params: ClassVar = {
        "connectivity": Param(16, "neighbours of a vector in the graph", min=2),
        "expansion_add": Param(128, "how many it chooses these from", min=1),
        "dtype": Param("f32", "numbers that it keeps: of 32 bits, or rounded", choices=("f32", "bf16", "f16")),
    }
    search_params: ClassVar = {
        "expansion_search": Param(64, "how many a query keeps in view", min=1, monotonic_recall=True)
    }
    exact_mode = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._version = import_optional("usearch", "the engine usearch").__version__
        self._library = import_optional("usearch.index", "the engine usearch")
        self._index: Any = None
        self._turns = SettingLock()

    def _fill(self, held: Singles, progress: Progress) -> None:
        self._index = self._library.Index(ndim=held.shape[1], metric=_KINDS[self.metric], **self._built)
        self._turns = SettingLock()
        for first, last in self._batches(_ROWS_AT_ONCE, progress):
            self._index.add(np.arange(first, last), held[first:last], threads=0 if first else 1)

    def _find(
        self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        width = int(values["expansion_search"])
        if filter is not None:
            passes = filter_mask(self._attributes, filter)
            return search_then_filter(lambda deep: self._found(asked, deep, width, exact), passes, k)
        return self._found(asked, k, width, exact)

    def _found(self, asked: Singles, k: int, width: int, exact: bool) -> Neighbours:
        deep = min(k, len(self._index))
        if not len(asked) or not deep:
            return pad_neighbours(np.empty((len(asked), 0), np.int64), np.empty((len(asked), 0)), k)
        with self._turns.at(width) as new:
            if new:
                self._index.expansion_search = width
            found = self._index.search(asked, deep, exact=exact)
        if len(asked) == 1:  # then the library gives a list, as long as what was found
            rows, distances = found.keys.astype(np.int64)[None, :], found.distances[None, :]
        else:
            nobody = np.arange(deep) >= found.counts[:, None]
            rows = np.where(nobody, MISSING, found.keys.astype(np.int64))
            distances = np.where(nobody, np.float32(0), found.distances)
        apart = distances.astype(np.float64)
        return pad_neighbours(rows, 0.0 - np.sqrt(np.fmax(apart, 0.0)) if self.metric == "l2" else 1.0 - apart, k)

    def size(self) -> int:
        """Bytes of the index as the library writes it."""
        if self._index is None:
            return 0
        try:
            return int(self._index.serialized_length)
        except TypeError:  # of releases in which it cannot be read
            return len(self._index.save())

    def metadata(self) -> dict[str, Any]:
        simd = self._index.hardware_acceleration if self._index is not None else None
        return {"library": "usearch", "version": self._version, "simd": simd, **self._built}

    def close(self) -> None:
        self._index = None
