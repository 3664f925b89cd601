"""LanceDB: vectors in files of a folder, with or without an index."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, Ints, Matrix, cut_rows
from rankjury.retrieval.engines.base import ENGINES, FileEngine, Filter, resolve_lists, resolve_parts
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import Singles

_QUERIES_AT_ONCE = 64


@ENGINES.register("lancedb")
class LanceDB(FileEngine):
    """The cosine comes from the L2 distance of unit vectors, as in the library's own indexes.

    The library's cosine distance has different scales for different kinds of index.
    """

    description = "LanceDB: vectors in files, with inverted lists or graphs"
    extra = "engines"
    libraries = ("lancedb", "pyarrow")
    package = "lancedb"
    build_params: ClassVar = {
        "index": Param("ivf_hnsw_sq", "kind of index", choices=("ivf_hnsw_sq", "ivf_flat", "ivf_pq", "none")),
        "partitions": Param(0, "number of lists or graphs; 0: one per 4,096 or 1,048,576 vectors", min=0),
        "m": Param(20, "neighbours of each vector in a graph (ivf_hnsw_sq)", min=2),
        "ef_construction": Param(300, "size of the candidate list while building (ivf_hnsw_sq)", min=1),
        "sub_vectors": Param(0, "codes per vector (ivf_pq); 0: one per 16 or 8 dimensions", min=0),
    }
    search_params: ClassVar = {
        "nprobes": Param(20, "lists or graphs searched per query", min=1, monotonic_recall=True),
        "ef": Param(64, "size of the candidate list of a search (ivf_hnsw_sq)", min=1, monotonic_recall=True),
        "refine_factor": Param(
            0, "rescore this multiple of k with full vectors; 0: do not rescore", min=0, monotonic_recall=True
        ),
    }
    exact_mode = True
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._arrow = self.import_library("pyarrow")
        self._distance = "dot" if metric == "ip" else "l2"

    def _resolve(self, values: dict[str, Setting], items: int, dimensions: int) -> dict[str, Setting]:
        kind = values["index"]
        if kind == "none":
            return {"index": kind}
        rows = 1 << 20 if kind == "ivf_hnsw_sq" else 1 << 12
        partitions = resolve_lists(items, int(values["partitions"]), "partitions", default=max(1, -(-items // rows)))
        resolved: dict[str, Setting] = {"index": kind, "partitions": partitions}
        if kind == "ivf_hnsw_sq":
            resolved |= {"m": values["m"], "ef_construction": values["ef_construction"]}
        if kind == "ivf_pq":
            numbers = 16 if dimensions % 16 == 0 else 8
            resolved["sub_vectors"] = resolve_parts(dimensions, int(values["sub_vectors"]), "sub_vectors", numbers)
        return resolved

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        folder, arrow, texts = self._new_folder(), self._arrow, self._attribute_texts()
        fields = [("row", arrow.int64()), ("vector", arrow.list_(arrow.float32(), self._dimensions))]
        schema = arrow.schema([*fields, *((name, arrow.string()) for name in texts.columns)])

        def batches() -> Iterator[Any]:
            for first, last in self._batches(progress):
                numbers = arrow.array(vectors[first:last].ravel())
                lists = arrow.FixedSizeListArray.from_arrays(numbers, self._dimensions)
                columns = [arrow.array(np.arange(first, last)), lists]
                for column in texts[first:last].iter_columns():
                    columns.append(arrow.array(column.to_list(), arrow.string()))
                yield arrow.record_batch(columns, schema=schema)

        self._index = self._library.connect(str(folder)).create_table("items", data=batches(), schema=schema)
        kinds, values = self._library.index, self._build_values
        if values["index"] == "none":
            return
        options = {"distance_type": self._distance, "num_partitions": values["partitions"]}
        if values["index"] == "ivf_flat":
            config = kinds.IvfFlat(**options)
        elif values["index"] == "ivf_pq":
            config = kinds.IvfPq(**options, num_sub_vectors=values["sub_vectors"])
        else:
            config = kinds.HnswSq(**options, m=values["m"], ef_construction=values["ef_construction"])
        self._index.create_index("vector", config=config)

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[Ints, Floats]:
        items, scores = np.full((len(queries), k), MISSING, np.int64), np.full((len(queries), k), -np.inf)
        for first, last in cut_rows(len(queries), _QUERIES_AT_ONCE):
            table = self._query(queries[first:last], k, params, filter, exact).to_arrow()
            distance, row = (table[name].to_numpy() for name in ("_distance", "row"))
            # For a single query the library returns no query number.
            query = table["query_index"].to_numpy().astype(np.int64) if last - first > 1 else np.zeros_like(row)
            order = np.lexsort((row, distance, query))
            query, row, distance = query[order], row[order], distance[order].astype(np.float64)
            place = np.arange(len(row)) - np.searchsorted(query, np.arange(last - first))[query]
            items[first + query, place] = row
            if self.metric == "l2":
                scores[first + query, place] = 0.0 - np.sqrt(np.maximum(distance, 0.0))
            else:
                scores[first + query, place] = 1.0 - (distance / 2.0 if self.metric == "cosine" else distance)
        return items, scores

    def _query(self, queries: Singles, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool) -> Any:
        query = self._index.search(queries[0] if len(queries) == 1 else list(queries), vector_column_name="vector")
        query = query.distance_type(self._distance).select(["row", "_distance"]).limit(k)
        if filter is not None:
            value = filter.value.replace("'", "''")
            query = query.where(f"{self._attribute_column(filter)} = '{value}'", prefilter=True)
        if exact:
            return query.bypass_vector_index()
        # The library refuses an ef below the number of results.
        refine = int(params["refine_factor"])
        query = query.nprobes(int(params["nprobes"])).ef(max(int(params["ef"]), k * max(1, refine)))
        return query.refine_factor(refine) if refine else query

    def metadata(self) -> dict[str, Any]:
        if self._index is None:
            return super().metadata()
        indexes = self._index.list_indices()
        indexed = self._index.index_stats(indexes[0].name).num_indexed_rows if indexes else 0
        return super().metadata() | {"indexed_rows": indexed, "approximate": indexed > 0}
