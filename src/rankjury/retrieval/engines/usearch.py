"""USearch: an HNSW graph in memory."""

from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import Param, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Matrix
from rankjury.retrieval.engines.base import (
    ENGINES,
    Engine,
    Filter,
    SettingLock,
    build_width_param,
    degree_param,
    search_width_param,
)
from rankjury.retrieval.knn.select import MISSING

_ROWS_AT_ONCE = 1 << 11
"""One thread adds the first batch: several threads, in a graph of so few, may leave items that no path leads to."""
_KINDS = {"cosine": "cos", "ip": "ip", "l2": "l2sq"}


@ENGINES.register("usearch")
class USearch(Engine):
    """The search width is stored in the index, so searches with different widths wait for each other."""

    description = "USearch: a graph of near neighbours"
    extra = "engines"
    libraries = ("usearch.index",)
    package = "usearch"
    build_params: ClassVar = {
        "connectivity": degree_param(16),
        "expansion_add": build_width_param(128),
        "dtype": Param("f32", "numbers that it keeps: of 32 bits, or rounded", choices=("f32", "bf16", "f16")),
    }
    search_params: ClassVar = {"expansion_search": search_width_param(64)}
    exact_mode = True

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        self._index = self._library.Index(ndim=self._dimensions, metric=_KINDS[self.metric], **self._build_values)
        self._width_lock = SettingLock()
        for first, last in self._batches(_ROWS_AT_ONCE, progress):
            self._index.add(np.arange(first, last), vectors[first:last], threads=0 if first else 1)

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        width = int(params["expansion_search"])
        with self._width_lock.at(width) as new:
            if new:
                self._index.expansion_search = width
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
