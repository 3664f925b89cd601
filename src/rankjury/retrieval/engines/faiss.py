"""FAISS: flat, inverted lists, graph, and inverted lists of quantised vectors."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from rankjury.core.importing import import_optional
from rankjury.core.params import Param, Params, Setting
from rankjury.core.progress import Progress
from rankjury.retrieval.engines.arrays import ArrayEngine, pad_neighbours
from rankjury.retrieval.engines.auto_params import resolve_bits, resolve_lists, resolve_parts
from rankjury.retrieval.engines.base import ENGINES, Filter, filter_mask
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.similarity import Singles

_ROWS_AT_ONCE = 1 << 14
_ROWS_FOR_ONE_THREAD = 1 << 12
_NUMBERS_IN_A_PART = 4

_NLIST = Param(0, "lists; 0: about 4·√N, fewer where the corpus is small", min=0)
_NPROBE = Param(8, "lists that a query looks into", min=1, monotonic_recall=True)


class _Faiss(ArrayEngine):
    """An index of FAISS; what differs between kinds is how it is made and how a search is told its parameters."""

    extra = "faiss"
    libraries = ("faiss",)
    native_filter = True

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._faiss = import_optional("faiss", "the engine faiss")
        self._index: Any = None
        self._asked: dict[tuple[Any, ...], Any] = {}
        self._values: dict[tuple[Any, ...], dict[str, Setting]] = {}

    def _fill(self, held: Singles, progress: Progress) -> None:
        self._asked, self._index = {}, self._made(held.shape[1])
        with self._threads_for(len(held)):
            if not self._index.is_trained:
                self._train(held)
            for first, last in self._batches(_ROWS_AT_ONCE, progress):
                self._index.add(held[first:last])

    @contextmanager
    def _threads_for(self, rows: int) -> Iterator[None]:
        """A small index is built by one thread: the same every time, and threads would mostly wait for each other.

        What is set holds for the calling thread alone.
        """
        usual = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1 if rows <= _ROWS_FOR_ONE_THREAD else usual)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(usual)

    def _find(
        self, asked: Singles, k: int, values: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        how = self._how(values, filter, exact)
        if not len(asked):
            return pad_neighbours(np.empty((0, 0), np.int64), np.empty((0, 0)), k)
        distances, rows = self._searched(exact).search(asked, min(k, self._shape[0]), params=how)
        if self.metric == "l2":
            distances = 0.0 - np.sqrt(np.maximum(distances, 0.0).astype(np.float64))
        return pad_neighbours(rows, distances, k)

    def _search_values(self, params: Params | None) -> dict[str, Setting]:
        """Check the same parameters once: a search may take no more than a few microseconds."""
        key = tuple((params or {}).items())
        if key not in self._values:
            self._values[key] = super()._search_values(params)
        return self._values[key]

    def _how(self, values: dict[str, Setting], filter: Filter | None, exact: bool) -> Any:
        """The parameters of one search; made once, as they are only read. Nothing is set in the index itself."""
        key = (exact, filter, *values.values())
        if key not in self._asked:
            given = {}
            if filter is not None:
                bits = np.packbits(filter_mask(self._attributes, filter), bitorder="little")
                given["sel"] = self._faiss.IDSelectorBitmap(bits)
            self._asked[key] = self._parameters(values, given, exact)
        return self._asked[key]

    @abstractmethod
    def _made(self, dimensions: int) -> Any:
        """An empty index by ``self._built``."""

    def _train(self, held: Singles) -> None:
        self._index.train(held)

    def _searched(self, exact: bool) -> Any:
        return self._index

    def _parameters(self, values: dict[str, Setting], given: dict[str, Any], exact: bool) -> Any:
        return self._faiss.SearchParameters(**given) if given else None

    @property
    def _by(self) -> int:
        return int(self._faiss.METRIC_L2 if self.metric == "l2" else self._faiss.METRIC_INNER_PRODUCT)

    def size(self) -> int:
        """Bytes of the index as FAISS writes it."""
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
        return {"library": "faiss", "version": self._faiss.__version__, "threads": threads, **self._built}

    def close(self) -> None:
        self._asked = {}
        self._index = None


@ENGINES.register("faiss-flat")
class FaissFlat(_Faiss):
    """Every query against every item, in 32 bits."""

    description = "FAISS: every query against every item, in 32 bits"
    approximate = False
    exact_mode = True

    def _made(self, dimensions: int) -> Any:
        return self._faiss.IndexFlat(dimensions, self._by)


class _Lists(_Faiss):
    """Vectors in lists about centres; a query looks into the lists whose centres are nearest."""

    search_params: ClassVar = {"nprobe": _NPROBE}

    def _fitting(self, values: dict[str, Setting], n: int, dimensions: int) -> dict[str, Setting]:
        return {**values, "nlist": resolve_lists(n, int(values["nlist"]), "nlist")}

    def _train(self, held: Singles) -> None:
        self._index.cp.min_points_per_centroid = 1  # so few were asked for: no warning past rankjury
        self._index.train(held)

    def _centres(self, dimensions: int) -> Any:
        return self._faiss.IndexFlat(dimensions, self._by)


@ENGINES.register("faiss-ivf")
class FaissIvf(_Lists):
    """Inverted lists of whole vectors; with every list looked into it is exact."""

    description = "FAISS IVF: vectors in lists, a query looks into some"
    build_params: ClassVar = {"nlist": _NLIST}
    exact_mode = True

    def _made(self, dimensions: int) -> Any:
        lists = int(self._built["nlist"])
        return self._faiss.IndexIVFFlat(self._centres(dimensions), dimensions, lists, self._by)

    def _parameters(self, values: dict[str, Setting], given: dict[str, Any], exact: bool) -> Any:
        lists = self._index.nlist if exact else int(values["nprobe"])
        return self._faiss.SearchParametersIVF(nprobe=lists, **given)


@ENGINES.register("faiss-hnsw")
class FaissHnsw(_Faiss):
    """A graph of near neighbours; the vectors it stands on can be searched one by one as well."""

    description = "FAISS HNSW: a graph of near neighbours"
    build_params: ClassVar = {
        "m": Param(32, "neighbours of a vector in the graph", min=2),
        "ef_construction": Param(40, "how many it chooses these from", min=1),
    }
    search_params: ClassVar = {"ef_search": Param(64, "how many a query keeps in view", min=1, monotonic_recall=True)}
    exact_mode = True

    def _made(self, dimensions: int) -> Any:
        index = self._faiss.IndexHNSWFlat(dimensions, int(self._built["m"]), self._by)
        index.hnsw.efConstruction = int(self._built["ef_construction"])
        return index

    def _searched(self, exact: bool) -> Any:
        return self._index.storage if exact else self._index

    def _parameters(self, values: dict[str, Setting], given: dict[str, Any], exact: bool) -> Any:
        if exact:
            return super()._parameters(values, given, exact)
        return self._faiss.SearchParametersHNSW(efSearch=int(values["ef_search"]), **given)


@ENGINES.register("faiss-ivfpq")
class FaissIvfPq(_Lists):
    """Inverted lists of product-quantised vectors: small, and never exact."""

    description = "FAISS IVF-PQ: vectors in lists, kept as short codes"
    build_params: ClassVar = {
        "nlist": _NLIST,
        "m": Param(0, "parts that a vector is cut into, a code each; 0: of about four numbers", min=0),
        "bits": Param(0, "bits of a code; 0: eight, fewer where the corpus is small", min=0, max=12),
    }

    def _fitting(self, values: dict[str, Setting], n: int, dimensions: int) -> dict[str, Setting]:
        parts = resolve_parts(dimensions, int(values["m"]), "m", _NUMBERS_IN_A_PART)
        bits = resolve_bits(n, int(values["bits"]), "bits")
        return {**super()._fitting(values, n, dimensions), "m": parts, "bits": bits}

    def _made(self, dimensions: int) -> Any:
        lists, parts, bits = (int(self._built[name]) for name in ("nlist", "m", "bits"))
        return self._faiss.IndexIVFPQ(self._centres(dimensions), dimensions, lists, parts, bits, self._by)

    def _train(self, held: Singles) -> None:
        self._index.pq.cp.min_points_per_centroid = 1
        least = 2 ** int(self._built["bits"])
        super()._train(held if len(held) >= least else np.resize(held, (least, held.shape[1])))

    def _parameters(self, values: dict[str, Setting], given: dict[str, Any], exact: bool) -> Any:
        return self._faiss.IVFPQSearchParameters(nprobe=int(values["nprobe"]), **given)
