"""FAISS: flat, inverted lists, graph, and inverted lists of quantised vectors."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.core.types import Matrix
from rankjury.errors import ImpossibleSetting
from rankjury.retrieval.engines.base import (
    BUILD_WIDTH,
    DEGREE,
    ENGINES,
    SEARCH_WIDTH,
    Engine,
    Filter,
    filter_mask,
    resolve_lists,
    resolve_parts,
)

_NLIST = Param(0, "number of lists; 0: about 4·√N, fewer for small corpora", min=0)


class _Faiss(Engine):
    """A FAISS index; its kinds differ in how it is created and in how a search gets its parameters."""

    extra = "faiss"
    libraries = ("faiss",)
    package = "faiss-cpu"
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._faiss = self._library
        self._metric_code = self._faiss.METRIC_L2 if metric == "l2" else self._faiss.METRIC_INNER_PRODUCT
        self._search_objects: dict[tuple[Any, ...], Any] = {}

    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        self._search_objects, self._index = {}, self._create()
        # A small index, built with one thread, is always the same, and threads would mostly wait. The number of threads
        # is set for the calling thread only.
        default = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1 if self._items <= 1 << 12 else default)
        try:
            if not self._index.is_trained:
                self._train(vectors)
            for first, last in self._batches(progress):
                self._index.add(vectors[first:last])
        finally:
            self._faiss.omp_set_num_threads(default)

    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        # The parameter object is made once, as searches only read it. Nothing is set in the index itself.
        key = (exact, filter, *params.values())
        if key not in self._search_objects:
            selector = {}
            if filter is not None:
                bits = np.packbits(filter_mask(self._attributes, filter), bitorder="little")
                selector["sel"] = self._faiss.IDSelectorBitmap(bits)
            self._search_objects[key] = self._search_object(params, selector, exact)
        index = self._exact_index() if exact else self._index
        distances, rows = index.search(queries, k, params=self._search_objects[key])
        if self.metric == "l2":
            distances = 0.0 - np.sqrt(np.maximum(distances, 0.0).astype(np.float64))
        return rows, distances

    @abstractmethod
    def _create(self) -> Any:
        """Return an empty index by ``self._build_values``."""

    def _create_flat(self) -> Any:
        return self._faiss.IndexFlat(self._dimensions, self._metric_code)

    def _train(self, vectors: Matrix) -> None:
        self._index.train(vectors)

    def _exact_index(self) -> Any:
        return self._index

    def _search_object(self, params: dict[str, Setting], selector: dict[str, Any], exact: bool) -> Any:
        return self._faiss.SearchParameters(**selector) if selector else None

    def size(self) -> int:
        """Return the bytes of the index as FAISS writes it."""
        written = 0

        def count(piece: bytes) -> int:
            nonlocal written
            written += len(piece)
            return len(piece)

        if self._index is not None:
            self._faiss.write_index(self._index, self._faiss.PyCallbackIOWriter(count))
        return written

    def metadata(self) -> dict[str, Any]:
        threads = self._faiss.omp_get_max_threads()
        return {"library": "faiss", "version": self._faiss.__version__, "threads": threads, **self._build_values}

    def close(self) -> None:
        self._search_objects = {}
        super().close()


@ENGINES.register("faiss-flat")
class FaissFlat(_Faiss):
    """Every query against every item, in 32 bits."""

    description = "FAISS: every query against every item, in 32 bits"
    approximate = False
    exact_mode = True

    _create = _Faiss._create_flat


class _Lists(_Faiss):
    """Vectors in lists around centroids; a query looks into the lists with the nearest centroids."""

    search_params: ClassVar = {"nprobe": Param(8, "lists searched per query", min=1, monotonic_recall=True)}

    def _resolve(self, values: dict[str, Setting], items: int, dimensions: int) -> dict[str, Setting]:
        return {**values, "nlist": resolve_lists(items, int(values["nlist"]), "nlist")}

    def _train(self, vectors: Matrix) -> None:
        self._index.cp.min_points_per_centroid = 1  # the user asked for so few: no warning
        self._index.train(vectors)


@ENGINES.register("faiss-ivf")
class FaissIvf(_Lists):
    """Inverted lists of whole vectors; exact when all lists are searched."""

    description = "FAISS IVF: inverted lists, some of which are searched"
    build_params: ClassVar = {"nlist": _NLIST}
    exact_mode = True

    def _create(self) -> Any:
        lists = int(self._build_values["nlist"])
        return self._faiss.IndexIVFFlat(self._create_flat(), self._dimensions, lists, self._metric_code)

    def _search_object(self, params: dict[str, Setting], selector: dict[str, Any], exact: bool) -> Any:
        lists = self._index.nlist if exact else int(params["nprobe"])
        return self._faiss.SearchParametersIVF(nprobe=lists, **selector)


@ENGINES.register("faiss-hnsw")
class FaissHnsw(_Faiss):
    """A graph of near neighbours; its stored vectors can also be searched one by one."""

    description = "FAISS HNSW: a graph of nearest neighbours"
    build_params: ClassVar = {"m": replace(DEGREE, default=32), "ef_construction": replace(BUILD_WIDTH, default=40)}
    search_params: ClassVar = {"ef_search": SEARCH_WIDTH}
    exact_mode = True

    def _create(self) -> Any:
        index = self._faiss.IndexHNSWFlat(self._dimensions, int(self._build_values["m"]), self._metric_code)
        index.hnsw.efConstruction = int(self._build_values["ef_construction"])
        return index

    def _exact_index(self) -> Any:
        return self._index.storage

    def _search_object(self, params: dict[str, Setting], selector: dict[str, Any], exact: bool) -> Any:
        if exact:
            return super()._search_object(params, selector, exact)
        return self._faiss.SearchParametersHNSW(efSearch=int(params["ef_search"]), **selector)


@ENGINES.register("faiss-ivfpq")
class FaissIvfPq(_Lists):
    """Inverted lists of product-quantised vectors: small, and never exact."""

    description = "FAISS IVF-PQ: inverted lists of product-quantized vectors"
    build_params: ClassVar = {
        "nlist": _NLIST,
        "m": Param(0, "codes per vector; 0: about one per four dimensions", min=0),
        "bits": Param(0, "bits per code; 0: eight, fewer for small corpora", min=0, max=12),
    }

    def _resolve(self, values: dict[str, Setting], items: int, dimensions: int) -> dict[str, Setting]:
        parts = resolve_parts(dimensions, int(values["m"]), "m", numbers=4)
        bits = int(values["bits"])
        if bits and 2**bits > items:
            found = f"bits is {bits}: {2**bits:,} codes per part, but the corpus has {items:,} vectors"
            raise ImpossibleSetting(found, expected="at most as many codes as vectors; 0: automatic")
        bits = bits or min(8, max(1, (items // 4).bit_length() - 1))  # at least four vectors per code
        return {**super()._resolve(values, items, dimensions), "m": parts, "bits": bits}

    def _create(self) -> Any:
        lists, parts, bits = (int(self._build_values[name]) for name in ("nlist", "m", "bits"))
        return self._faiss.IndexIVFPQ(self._create_flat(), self._dimensions, lists, parts, bits, self._metric_code)

    def _train(self, vectors: Matrix) -> None:
        self._index.pq.cp.min_points_per_centroid = 1
        least = 2 ** int(self._build_values["bits"])
        super()._train(vectors if len(vectors) >= least else np.resize(vectors, (least, self._dimensions)))

    def _search_object(self, params: dict[str, Setting], selector: dict[str, Any], exact: bool) -> Any:
        return self._faiss.IVFPQSearchParameters(nprobe=int(params["nprobe"]), **selector)
