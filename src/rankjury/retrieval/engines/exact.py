"""Exact search: every query against every item."""

from typing import Any

import numpy as np
import polars as pl

from rankjury.core.params import Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints, Matrix, sort_key
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter, filter_mask
from rankjury.retrieval.knn.search import nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import METRICS


@ENGINES.register("exact")
class Exact(Engine):
    """The ground truth for other engines: float64 scores, ties by id, the same for any number of threads."""

    description = "rankjury's exact search, the ground truth: every query against every item (faiss-flat is faster)"
    metrics = tuple(METRICS)
    approximate = False
    exact_mode = True
    native_filter = True
    float32 = False

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        self._index = vectors
        self._places: Ints = sort_key(ids).rank("ordinal").cast(pl.Int64).to_numpy() - 1

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        if filter is None:
            found = nearest(queries, self._index, k, metric=self.metric, places=self._places)
            return found.items, found.scores
        rows = np.flatnonzero(filter_mask(self._attributes, filter))
        found = nearest(queries, self._index[rows], k, metric=self.metric, places=self._places[rows])
        return np.where(found.items == MISSING, MISSING, rows[found.items]), found.scores

    def size(self) -> int:
        return int(self._index.nbytes)
