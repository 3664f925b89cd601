"""Exact search: every query against every item."""

import numpy as np
import polars as pl

from rankjury.core.params import Params, settled
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix, sort_key
from rankjury.retrieval.engines.base import ENGINES, Engine, Filter, filter_mask
from rankjury.retrieval.knn.search import Neighbours, nearest
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import METRICS


@ENGINES.register("exact")
class Exact(Engine):
    """The truth that other engines are measured by: equal scores go by id, whatever the threads and tiles."""

    description = "rankjury's own, for the truth: every query against every item (faiss-flat shows what that costs)"
    metrics = tuple(METRICS)
    approximate = False
    exact_mode = True
    native_filter = True

    def build(
        self,
        vectors: Matrix,
        ids: pl.Series,
        params: Params | None = None,
        *,
        attributes: pl.DataFrame | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        settled(self.build_params, params, "build parameter")
        self._vectors = vectors
        self._places: Ints = sort_key(ids).rank("ordinal").cast(pl.Int64).to_numpy() - 1
        self._attributes = attributes

    def search(
        self,
        queries: Matrix,
        k: int,
        params: Params | None = None,
        *,
        filter: Filter | None = None,
        exact: bool = False,
    ) -> Neighbours:
        settled(self.search_params, params, "search parameter")
        if filter is None:
            return nearest(queries, self._vectors, k, metric=self.metric, places=self._places)
        rows = np.flatnonzero(filter_mask(self._attributes, filter))
        found = nearest(queries, self._vectors[rows], k, metric=self.metric, places=self._places[rows])
        return Neighbours(np.where(found.items == MISSING, MISSING, rows[found.items]), found.scores.copy())

    def size(self) -> int:
        return int(self._vectors.nbytes)
