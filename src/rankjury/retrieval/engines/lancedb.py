"""LanceDB: vectors in files of a folder, with or without an index."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rankjury.core.importing import import_optional
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, cut_rows
from rankjury.retrieval.engines.arrays import (
    ArrayEngine,
    attribute_column,
    attribute_columns,
    pad_neighbours,
)
from rankjury.retrieval.engines.auto_params import resolve_lists, resolve_parts
from rankjury.retrieval.engines.base import ENGINES, Filter
from rankjury.retrieval.engines.temp_folder import FOLDER, Folder, bytes_in, folder_in
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import Singles

_ROWS_AT_ONCE = 1 << 14
_QUERIES_AT_ONCE = 64
_ROWS_OF_A_LIST, _ROWS_OF_A_GRAPH = 1 << 12, 1 << 20
_TABLE, _COLUMN = "items", "vector"


@ENGINES.register("lancedb")
class LanceDB(ArrayEngine):
    """The cosine is had from the distance of vectors of length one, as the library itself has it within its indexes.

    (Asked for the cosine distance, it gives it on one scale from some kinds of index and on another from others.)
    """

    description = "LanceDB: vectors in files, in lists or graphs"
    extra = "engines"
    libraries = ("lancedb", "pyarrow")
    open_params: ClassVar = {"folder": FOLDER}
    build_params: ClassVar = {
        "index": Param("ivf_hnsw_sq", "the kind of index", choices=("ivf_hnsw_sq", "ivf_flat", "ivf_pq", "none")),
        "partitions": Param(0, "lists, or graphs; 0: one for 4,096 vectors, or for 1,048,576", min=0),
        "m": Param(20, "neighbours of a vector in a graph (ivf_hnsw_sq)", min=2),
        "ef_construction": Param(300, "how many it chooses these from (ivf_hnsw_sq)", min=1),
        "sub_vectors": Param(0, "codes of a vector (ivf_pq); 0: one for 16 or 8 numbers", min=0),
    }
    search_params: ClassVar = {
        "nprobes": Param(20, "lists or graphs that a query looks into", min=1, monotonic_recall=True),
        "ef": Param(64, "how many a query keeps in view (ivf_hnsw_sq)", min=1, monotonic_recall=True),
        "refine_factor": Param(0, "so many times k are scored anew with whole vectors", min=0, monotonic_recall=True),
    }
    exact_mode = True
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._lancedb = import_optional("lancedb", "the engine lancedb")
        self._arrow = import_optional("pyarrow", "the engine lancedb")
        self._folder: Folder | None = None
        self._table: Any = None

    def _fitting(self, values: dict[str, Setting], n: int, dimensions: int) -> dict[str, Setting]:
        """The build parameters that this kind of index has, with those that were left to the corpus."""
        kind = values["index"]
        if kind == "none":
            return {"index": kind}
        rows = _ROWS_OF_A_GRAPH if kind == "ivf_hnsw_sq" else _ROWS_OF_A_LIST
        partitions = resolve_lists(n, int(values["partitions"]), "partitions", usual=max(1, -(-n // rows)))
        found: dict[str, Setting] = {"index": kind, "partitions": partitions}
        if kind == "ivf_hnsw_sq":
            found |= {"m": values["m"], "ef_construction": values["ef_construction"]}
        if kind == "ivf_pq":
            numbers = 16 if dimensions % 16 == 0 else 8
            found |= {"sub_vectors": resolve_parts(dimensions, int(values["sub_vectors"]), "sub_vectors", numbers)}
        return found

    def _fill(self, held: Singles, progress: Progress) -> None:
        self.close()
        self._folder = folder_in(str(self.settings["folder"]), "lancedb")
        arrow = self._arrow
        fields = [("row", arrow.int64()), (_COLUMN, arrow.list_(arrow.float32(), held.shape[1]))]
        schema = arrow.schema([*fields, *((name, arrow.string()) for name in attribute_columns(self._attributes))])
        self._table = self._lancedb.connect(self._folder.name).create_table(
            _TABLE, data=self._tables(held, schema, progress), schema=schema
        )
        config = self._config()
        if config is not None:
            self._table.create_index(_COLUMN, config=config)

    def _tables(self, held: Singles, schema: Any, progress: Progress) -> Iterator[Any]:
        arrow = self._arrow
        for first, last in self._batches(_ROWS_AT_ONCE, progress):
            numbers = arrow.array(held[first:last].ravel())
            columns = [
                arrow.array(np.arange(first, last)),
                arrow.FixedSizeListArray.from_arrays(numbers, held.shape[1]),
            ]
            if self._attributes is not None:
                part = self._attributes[first:last].cast(pl.String)
                columns += [arrow.array(column.to_list(), arrow.string()) for column in part.iter_columns()]
            yield arrow.record_batch(columns, schema=schema)

    def _config(self) -> Any:
        kinds, built = self._lancedb.index, self._built
        if built["index"] == "none":
            return None
        common = {"distance_type": self._distance, "num_partitions": built["partitions"]}
        if built["index"] == "ivf_flat":
            return kinds.IvfFlat(**common)
        if built["index"] == "ivf_pq":
            return kinds.IvfPq(**common, num_sub_vectors=built["sub_vectors"])
        return kinds.HnswSq(**common, m=built["m"], ef_construction=built["ef_construction"])

    @property
    def _distance(self) -> str:
        return "dot" if self.metric == "ip" else "l2"

    def _find(
        self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        deep = min(k, self._shape[0])
        items, scores = np.full((len(asked), deep), MISSING, np.int64), np.full((len(asked), deep), -np.inf)
        for first, last in cut_rows(len(asked), _QUERIES_AT_ONCE):
            table = self._query(asked[first:last], deep, values, filter, exact).to_arrow()
            apart, row = (table[name].to_numpy() for name in ("_distance", "row"))
            # Of a single query the library gives no number.
            query = table["query_index"].to_numpy().astype(np.int64) if last - first > 1 else np.zeros_like(row)
            order = np.lexsort((row, apart, query))
            query, row, apart = query[order], row[order], apart[order]
            place = np.arange(len(row)) - np.searchsorted(query, np.arange(last - first))[query]
            items[first + query, place], scores[first + query, place] = row, self._scores(apart)
        return pad_neighbours(items, scores, k)

    def _query(self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool) -> Any:
        refine = int(values["refine_factor"])
        query = self._table.search(asked[0] if len(asked) == 1 else list(asked), vector_column_name=_COLUMN)
        query = query.distance_type(self._distance).select(["row", "_distance"]).limit(k)
        if filter is not None:
            value = filter.value.replace("'", "''")
            query = query.where(f"{attribute_column(self._attributes, filter)} = '{value}'", prefilter=True)
        if exact:
            return query.bypass_vector_index()
        # The library refuses a view that is narrower than what is asked for.
        query = query.nprobes(int(values["nprobes"])).ef(max(int(values["ef"]), k * max(1, refine)))
        return query.refine_factor(refine) if refine else query

    def _scores(self, apart: Singles) -> Floats:
        wide: Floats = apart.astype(np.float64)
        if self.metric == "l2":
            return 0.0 - np.sqrt(np.maximum(wide, 0.0))
        return 1.0 - wide / 2.0 if self.metric == "cosine" else 1.0 - wide

    def size(self) -> int:
        """Bytes of its files."""
        return bytes_in(self._folder)

    def metadata(self) -> dict[str, Any]:
        found = {"library": "lancedb", "version": version("lancedb"), **self._built}
        if self._table is not None:
            indexes = self._table.list_indices()
            indexed = self._table.index_stats(indexes[0].name).num_indexed_rows if indexes else 0
            found |= {"indexed_rows": indexed, "approximate": indexed > 0}
        return found

    def close(self) -> None:
        self._table = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
