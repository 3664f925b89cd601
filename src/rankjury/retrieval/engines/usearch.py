"""USearch: an HNSW graph in memory."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import Param, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Matrix
from rankjury.retrieval.engines.base import BUILD_WIDTH, DEGREE, ENGINES, SEARCH_WIDTH, Engine, Filter, SettingLock
from rankjury.retrieval.knn.select import MISSING


@ENGINES.register("usearch")
class USearch(Engine):
    """The search width is stored in the index, so searches with different widths wait for each other."""

    description = "USearch: a graph of nearest neighbours (HNSW)"
    extra = "engines"
    libraries = ("usearch.index",)
    package = "usearch"
    build_params: ClassVar = {
        "connectivity": DEGREE,
        "expansion_add": replace(BUILD_WIDTH, default=128),
        "dtype": Param("f32", "number type of the stored vectors", choices=("f32", "bf16", "f16")),
    }
    search_params: ClassVar = {"expansion_search": SEARCH_WIDTH}
    exact_mode = True

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        metric = {"cosine": "cos", "ip": "ip", "l2": "l2sq"}[self.metric]
        self._index = self._library.Index(ndim=self._dimensions, metric=metric, **self._build_values)
        self._width_lock = SettingLock()
        # One thread adds the first batch: several threads, in so small a graph, may leave items that no path leads to.
        for first, last in self._batches(progress, 1 << 11):
            self._index.add(np.arange(first, last), vectors[first:last], threads=0 if first else 1)

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        store = partial(setattr, self._index, "expansion_search")
        with self._width_lock.at(int(params["expansion_search"]), store):
            found = self._index.search(queries, k, exact=exact)
        if len(queries) == 1:  # the library returns a list, with as many items as it found
            rows, distances = found.keys.astype(np.int64)[None, :], found.distances[None, :]
        else:
            missing = np.arange(k) >= found.counts[:, None]
            rows = np.where(missing, MISSING, found.keys.astype(np.int64))
            distances = np.where(missing, np.float32(0), found.distances)
        distances = distances.astype(np.float64)
        return rows, 0.0 - np.sqrt(np.fmax(distances, 0.0)) if self.metric == "l2" else 1.0 - distances

    def size(self) -> int:
        """Return the bytes of the index as the library writes it."""
        if self._index is None:
            return 0
        try:
            return int(self._index.serialized_length)
        except TypeError:  # some releases cannot read it
            return len(self._index.save())

    def metadata(self) -> dict[str, Any]:
        return super().metadata() | {"simd": None if self._index is None else self._index.hardware_acceleration}
