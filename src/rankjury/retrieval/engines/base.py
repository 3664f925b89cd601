"""Interface of vector indexes: ``Engine``, the registry ``ENGINES``, and shared helpers.

An engine is created for a metric, built from a corpus, searched and closed. A search returns rows of the corpus, best
first, with scores where higher is more similar: the cosine, the inner product, or the negative distance (l2).
"""

import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from os.path import isdir
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.params import Param, Params, Setting, resolve_params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.registry import Registry
from rankjury.core.temp_files import TemporaryFolder
from rankjury.core.types import Bools, Floats, Ints, Matrix, Vectors, cut_rows
from rankjury.errors import DataError, ImpossibleSetting, MissingExtra, UnknownName, UsageError
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING
from rankjury.retrieval.knn.similarity import Singles

_ROWS_AT_ONCE = 1 << 14
_SHORTEST = 1e-150

DEGREE = Param(16, "neighbours of each vector in the graph", min=2)
BUILD_WIDTH = Param(200, "size of the candidate list while building", min=1)
SEARCH_WIDTH = Param(64, "size of the candidate list of a search", min=1, monotonic_recall=True)
"""Parameters of engines that search a graph: its edges, and the candidates while it is built and searched."""


@dataclass(frozen=True)
class Filter:
    """A condition on items: the attribute has this value."""

    attribute: str
    value: str

    def __str__(self) -> str:
        return f"{self.attribute}={self.value}"


class PreparedQueries(np.ndarray[Any, np.dtype[np.float32]]):
    """Queries that ``Engine.prepare_queries`` converted; a search uses them as they are."""


class Engine(ABC):
    """Base class of vector indexes: it checks arguments, converts vectors, applies filters and pads results.

    A subclass implements ``_build`` and ``_search``, and overrides ``size``, ``metadata``, ``for_thread`` and ``close``
    where it needs to. A complete engine, in one file, in this package or behind the entry point ``rankjury.engines``::

        import numpy as np
        from rankjury.retrieval.engines.base import ENGINES, Engine

        @ENGINES.register("dot")
        class Dot(Engine):
            description = "inner products by NumPy"
            metrics = ("ip",)
            approximate = False

            def _build(self, vectors, ids, progress):
                self._index = vectors  # contiguous float32, one row per id

            def _search(self, queries, k, params, filter, exact):
                scores = queries @ self._index.T
                rows = np.argsort(-scores, axis=1)[:, :k]
                return rows, np.take_along_axis(scores, rows, axis=1)

    Parameters that an engine cannot use with the corpus at hand are refused with ``ImpossibleSetting``.
    """

    name: ClassVar[str] = "engine"
    """The registered name; set by ``ENGINES.register``."""
    description: ClassVar[str] = ""
    """One line for ``rankjury list engines``."""
    extra: ClassVar[str | None] = None
    """The extra of rankjury that installs its libraries."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """The modules it imports beyond rankjury's dependencies; the first is ``self._library``."""
    package: ClassVar[str] = ""
    """The PyPI package whose version ``metadata`` records."""
    open_params: ClassVar[Mapping[str, Param]] = {}
    """Connection parameters: a URL, a folder."""
    build_params: ClassVar[Mapping[str, Param]] = {}
    search_params: ClassVar[Mapping[str, Param]] = {}
    metrics: ClassVar[tuple[str, ...]] = ("cosine", "ip", "l2")
    approximate: ClassVar[bool] = True
    """Whether it may miss neighbours."""
    exact_mode: ClassVar[bool] = False
    """Whether ``search(…, exact=True)`` compares a query with every item."""
    native_filter: bool = False
    """Whether ``_search`` applies filters; otherwise the base class filters the results of deeper searches."""
    float32: ClassVar[bool] = True
    """Whether it receives contiguous float32 vectors, of length one for the cosine; otherwise vectors as given."""
    takes_texts: bool = False
    """Whether queries are texts, not vectors."""
    data_under_output: ClassVar[bool] = False
    """Whether its data folder (the setting ``folder``) is placed under a plan's output by default."""
    has_scores: bool = True
    """Whether scores are similarities; otherwise they only give the order."""
    one_request_per_query: ClassVar[bool] = False
    """Whether each query is a separate request, which may fail while others succeed."""

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        if metric not in self.metrics:
            raise UnknownName(f"similarity of {self.name}", metric, self.metrics)
        self.metric = metric
        self.settings = resolve_params(self.open_params, settings, "setting")
        self._library: Any = self.import_library(self.libraries[0]) if self.libraries else None
        self._index: Any = None
        """The library's index or connection; dropped by ``close``."""
        self._items = self._dimensions = 0
        self._attributes: pl.DataFrame | None = None
        self._build_values: dict[str, Setting] = {}
        """The build parameters in use."""
        self._search_values: dict[tuple[Any, ...], dict[str, Setting]] = {}
        self._copies: list[Self] = []

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether its libraries are installed."""
        return all(find_spec(library.partition(".")[0]) is not None for library in cls.libraries)

    @classmethod
    def holds_corpus(cls, settings: Params) -> bool:
        """Return whether these settings name an existing index, whose vectors are read by ``stored_vectors``."""
        return False

    def import_library(self, module: str) -> Any:
        """Import an optional library, or raise ``MissingExtra``."""
        try:
            import_module(module.partition(".")[0])
            return import_module(module)
        except ImportError as error:
            raise MissingExtra(self.package or module, self.extra or self.name, f"the engine {self.name}") from error

    def stored_vectors(self) -> Vectors:
        """Read all vectors of an existing index, in the order of ids."""
        raise UsageError(f"the vectors of {self.name} cannot be read", expected="an existing table")

    def build(
        self,
        vectors: Matrix,
        ids: pl.Series,
        params: Params | None = None,
        *,
        attributes: pl.DataFrame | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        """Index a corpus.

        Args:
            vectors: One row per item.
            ids: The items' ids.
            params: Build parameters; the others have their defaults.
            attributes: One row per item, one column per attribute that filters may name.
            progress: Reports the rows added.
        """
        values = resolve_params(self.build_params, params, "build parameter")
        converted = to_float32(vectors, self.metric) if self.float32 else vectors
        self._items, self._dimensions = converted.shape
        self._attributes = attributes
        self._build_values = self._resolve(values, *converted.shape)
        progress.update("Building", 0, len(converted))
        self._build(converted, ids, progress)
        progress.update("Building", len(converted), len(converted))

    def _resolve(self, values: dict[str, Setting], items: int, dimensions: int) -> dict[str, Setting]:
        """Return the final build parameters: automatic ones are chosen for the corpus, those without effect dropped."""
        return values

    @abstractmethod
    def _build(self, vectors: Matrix, ids: pl.Series, progress: Progress) -> None:
        """Create the index by ``self._build_values`` and add all vectors."""

    def _batches(self, progress: Progress, rows: int = _ROWS_AT_ONCE) -> Iterator[tuple[int, int]]:
        """Yield the first and the end row of each batch to add."""
        for first, last in cut_rows(self._items, rows):
            progress.update("Building", first, self._items)
            yield first, last

    def prepare_queries(self, queries: Any) -> Any:
        """Return the queries as ``_search`` takes them, so that conversion is not part of a measured search."""
        return self._convert(queries).view(PreparedQueries) if self.float32 else queries

    def _convert(self, queries: Any) -> Any:
        if queries.shape[1] != self._dimensions:
            expected = f"{self._dimensions:,}, as the index"
            raise DataError(f"queries have {queries.shape[1]:,} dimensions", expected=expected)
        return to_float32(queries, self.metric) if self.float32 else queries

    def search(
        self, queries: Any, k: int, params: Params | None = None, *, filter: Filter | None = None, exact: bool = False
    ) -> Neighbours:
        """Return the k nearest items of each query.

        Args:
            queries: A matrix with one row per query, or a list of texts where the engine takes texts.
            k: How many items to return; ``MISSING`` fills the row of a query with fewer.
            params: Search parameters; the others have their defaults.
            filter: Only items that pass it are returned.
            exact: Compare each query with every item, where the engine has such a mode.
        """
        # Checked once per combination: a search may take only a few microseconds.
        key = (*params.items(), *map(type, params.values())) if params else ()
        try:
            values = self._search_values[key]
        except (KeyError, TypeError):  # TypeError: a value that is not hashable, which is refused here
            values = resolve_params(self.search_params, params, "search parameter")
            self._search_values[key] = values
        if exact and not self.exact_mode:
            raise UsageError(f"{self.name} has no exact mode")
        converted = queries if type(queries) is PreparedQueries else self._convert(queries)
        if filter is None or self.native_filter:
            return self._padded(converted, k, values, filter, exact)
        passes = filter_mask(self._attributes, filter)
        count = int(passes.sum())
        depth = min(self._items, max(k, int(np.ceil(1.5 * k * self._items / max(1, count)))))
        while True:  # search deeper until each query has k items that pass, or all items were returned
            deeper = self._padded(converted, depth, values, None, exact)
            passing = (deeper.items != MISSING) & passes[deeper.items]
            if depth >= self._items or (passing.sum(axis=1) >= min(k, count)).all():
                lists = zip(deeper.items, deeper.scores, passing, strict=True)
                return pad_neighbours(*stack_rows([(row[mask], score[mask]) for row, score, mask in lists], k), k)
            depth = min(self._items, depth * 4)

    def _padded(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> Neighbours:
        depth = self._depth(k)
        if not len(queries) or not depth:
            return pad_neighbours(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0)), k)
        return pad_neighbours(*self._search(queries, depth, params, filter, exact), k)

    def _depth(self, k: int) -> int:
        """Return how many items to request from ``_search``."""
        return min(k, self._items)

    @abstractmethod
    def _search(
        self, queries: Any, k: int, params: dict[str, Setting], filter: Filter | None, exact: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows and scores, one line per query, best first.

        Args:
            queries: At least one, converted.
            k: From 1 to the number of items.
            params: All search parameters, checked.
            filter: None unless ``native_filter``.
            exact: False unless ``exact_mode``.

        Returns:
            Two arrays with at most k columns; negative rows, at the end of a line, are missing.
        """

    def _attribute_texts(self) -> pl.DataFrame:
        """Return the attributes as texts, in columns whose names (``attribute0``) need no quotes."""
        if self._attributes is None:
            return pl.DataFrame()
        texts = self._attributes.cast(pl.String)
        texts.columns = [f"attribute{number}" for number in range(texts.width)]
        return texts

    def _attribute_column(self, filter: Filter) -> str:
        """Return the column of ``_attribute_texts`` that a filter names."""
        return f"attribute{_attribute_place(self._attributes, filter)}"

    def size(self) -> int | None:
        """Return the bytes of the index in memory or on disk; None where they are unknown."""
        return None

    def metadata(self) -> dict[str, Any]:
        """Return what a report records: versions, parameters in force, and evidence of how searches ran."""
        return {"library": self.package, "version": version(self.package), **self._build_values} if self.package else {}

    def for_thread(self) -> Self:
        """Return an engine for another thread: this one where threads may share it, else one with its own connection.

        Engines with their own connection are closed with this one.
        """
        return self

    def _copy(self) -> Self:
        """Return a shallow copy that is closed with this engine."""
        other = copy(self)
        other._copies = []
        self._copies.append(other)
        return other

    def close(self) -> None:
        """Release the index; may be called twice."""
        while self._copies:
            self._copies.pop().close()
        self._index = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Engines(Registry[type[Engine]]):
    """Registry of engine classes, which know their names."""

    def add(self, name: str, entry: type[Engine]) -> type[Engine]:
        entry.name = name
        return super().add(name, entry)


ENGINES = _Engines("engine", home="rankjury.retrieval.engines", group="rankjury.engines")
"""Engine classes by name."""


class FileEngine(Engine):
    """Base class of engines that store files: in a folder that is created by a build and removed by ``close``."""

    open_params: ClassVar = {"folder": Param("", "folder for the files of the index; empty: a temporary folder")}

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        super().__init__(metric, settings)
        self._folder: TemporaryFolder | None = None

    def _new_folder(self) -> Path:
        """Return a new folder of this engine, after closing that of an earlier build."""
        self.close()
        parent = str(self.settings["folder"])
        if parent and not isdir(parent):
            raise UsageError(f"found no folder {parent!r}", expected=f"a folder for the files of {self.name}")
        try:
            self._folder = TemporaryFolder(self.name, Path(parent) if parent else None)
        except OSError as error:
            where = parent or tempfile.gettempdir()
            raise DataError(f"cannot create a folder: {error.strerror}", where=where) from error
        return Path(self._folder.name)

    def size(self) -> int:
        """Return the bytes of its files."""
        files = Path(self._folder.name).rglob("*") if self._folder is not None else ()
        return sum(path.stat().st_size for path in files if path.is_file())

    def close(self) -> None:
        super().close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def filter_mask(attributes: pl.DataFrame | None, filter: Filter) -> Bools:
    """Return which rows of the corpus pass a filter."""
    column = pl.DataFrame(attributes).to_series(_attribute_place(attributes, filter))
    return (column.cast(pl.String) == filter.value).fill_null(False).to_numpy()


def _attribute_place(attributes: pl.DataFrame | None, filter: Filter) -> int:
    names = [] if attributes is None else attributes.columns
    if filter.attribute not in names:
        raise UnknownName("attribute of items", filter.attribute, names)
    return names.index(filter.attribute)


def stack_rows(results: Sequence[tuple[Ints, Floats]], k: int) -> tuple[Ints, Floats]:
    """Return the rows and scores of each query, at most k of them, as two arrays; ``MISSING`` fills the rows."""
    items, values = np.full((len(results), k), MISSING, dtype=np.int64), np.full((len(results), k), -np.inf)
    for line, (rows, scores) in enumerate(results):
        items[line, : len(rows[:k])], values[line, : len(rows[:k])] = rows[:k], scores[:k]
    return items, values


def pad_neighbours(rows: NDArray[Any], scores: NDArray[Any], k: int) -> Neighbours:
    """Return results of k columns from arrays that may have fewer. Negative rows are missing, and last in a line."""
    width = rows.shape[1]
    if width == k and k and (rows.item(k - 1) >= 0 if len(rows) == 1 else not (rows[:, -1] < 0).any()):
        return Neighbours(rows.astype(np.int64, copy=False), scores.astype(np.float64, copy=False))
    items, values = np.full((len(rows), k), MISSING, dtype=np.int64), np.full((len(rows), k), -np.inf)
    items[:, :width] = np.maximum(rows, MISSING)
    values[:, :width] = np.where(rows < 0, -np.inf, scores)
    return Neighbours(items, values)


def to_float32(vectors: Matrix, metric: str) -> Singles:
    """Return the vectors as contiguous float32, of length one for the cosine; a copy only where needed."""
    if metric == "cosine":
        if len(vectors) <= _ROWS_AT_ONCE:
            return _unit_rows(vectors, 0)
        units = np.empty(vectors.shape, dtype=np.float32)
        for first, last in cut_rows(len(vectors), _ROWS_AT_ONCE):
            units[first:last] = _unit_rows(vectors[first:last], first)
        return units
    if vectors.dtype.itemsize <= 4:
        return np.ascontiguousarray(vectors, dtype=np.float32)
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(vectors, dtype=np.float32)
    if not np.isfinite(converted).all():
        row = int(np.argmin(np.isfinite(converted).all(axis=1)))
        raise DataError(f"vector {row} has a number beyond 32 bits", expected="numbers below 3e38")
    return converted


def _unit_rows(block: Matrix, first: int) -> Singles:
    wide = block.astype(np.float64)
    lengths = np.sqrt(np.vecdot(wide, wide))
    # Latency is measured with one query: comparing arrays would take longer than computing its length.
    if lengths.item() < _SHORTEST if len(block) == 1 else (lengths < _SHORTEST).any():
        raise DataError(f"vector {first + int(np.argmin(lengths))} is zero", expected="vectors with a direction")
    wide /= lengths[:, None]
    return wide.astype(np.float32)


class SettingLock:
    """Lock for libraries that store a search parameter in the index: only searches with the same value run together."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._value: int | None = None
        self._searches = 0

    @contextmanager
    def at(self, value: int, store: Callable[[int], object]) -> Iterator[None]:
        """Wait until no search with another value runs, and store a new value before any search with it begins."""
        with self._changed:
            self._changed.wait_for(lambda: self._searches == 0 or self._value == value)
            if self._value != value:
                store(value)
                self._value = value
            self._searches += 1
        try:
            yield
        finally:
            with self._changed:
                self._searches -= 1
                if self._searches == 0:
                    self._changed.notify_all()


def resolve_lists(items: int, given: int, name: str, default: int | None = None) -> int:
    """Return the number of lists: ``given``, else ``default``, else about 4·√n with enough vectors in each."""
    if given > max(items, 1):
        found = f"{name} is {given:,} but the corpus has {items:,} vectors"
        raise ImpossibleSetting(found, expected=f"at most {items:,} lists")
    # FAISS warns below 39 training vectors per list.
    return given or default or max(1, min(round(4 * items**0.5), items // 39))


def resolve_parts(dimensions: int, given: int, name: str, numbers: int) -> int:
    """Return into how many parts a vector is split: ``given``, else the most that have ``numbers`` numbers or more."""
    divisors = [parts for parts in range(1, dimensions + 1) if dimensions % parts == 0]
    if given and given not in divisors:
        near = sorted(sorted(divisors, key=lambda parts: abs(parts - given))[:3])
        found = f"{name} is {given}, which does not divide {dimensions} dimensions"
        raise ImpossibleSetting(found, expected=f"a divisor, such as {', '.join(map(str, near))}")
    return given or max(parts for parts in divisors if parts <= max(1, dimensions // numbers))
