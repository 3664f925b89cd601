"""Vector indexes behind one protocol; one file an engine.

An engine is made for a metric, given a corpus to hold (``build``), asked (``search``), and closed. What it finds are
rows of the corpus, best first, with scores of which the higher is the more alike: the cosine, the inner product, or the
distance below zero (l2).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from rankjury.core.params import Param, Params, settled
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.registry import Registry
from rankjury.core.types import Bools, Floats, Ints, Matrix, Vectors
from rankjury.errors import UnknownName, UsageError
from rankjury.retrieval.knn.search import Neighbours
from rankjury.retrieval.knn.select import MISSING


@dataclass(frozen=True)
class Filter:
    """Only items whose attribute has this value may be found."""

    attribute: str
    value: str

    def __str__(self) -> str:
        return f"{self.attribute}={self.value}"


class Engine(ABC):
    """Holds a corpus, and finds in it what is most alike to a query."""

    description: ClassVar[str] = ""
    """What it is, in a line."""
    extra: ClassVar[str | None] = None
    """The extra that installs its library."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """What it imports beside rankjury's own, by the names of modules."""
    open_params: ClassVar[Mapping[str, Param]] = {}
    """Where it is and how to reach it: a URL, a folder."""
    build_params: ClassVar[Mapping[str, Param]] = {}
    """What is settled when it is built."""
    search_params: ClassVar[Mapping[str, Param]] = {}
    """What each search may choose."""
    metrics: ClassVar[tuple[str, ...]] = ("cosine", "ip", "l2")
    approximate: ClassVar[bool] = True
    """Whether it may miss neighbours."""
    exact_mode: ClassVar[bool] = False
    """Whether it can also look at everything it holds (``search(…, exact=True)``)."""
    native_filter: ClassVar[bool] = False
    """Whether it filters while it searches; else items that do not pass are left out of what was found."""
    takes_texts: bool = False
    """Whether it is asked with texts, not with vectors."""
    data_under_output: ClassVar[bool] = False
    """Whether what it keeps on disk while it is open belongs under a plan's output (its setting ``folder``)."""
    has_scores: bool = True
    """Whether its scores say how alike items are; else they only tell the order."""
    one_request_per_query: ClassVar[bool] = False
    """Whether every query is a request of its own, which may fail while others succeed."""

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        if metric not in self.metrics:
            raise UnknownName(f"similarity of {type(self).__name__}", metric, self.metrics)
        self.metric = metric
        self.settings = settled(self.open_params, settings, "setting")

    @classmethod
    def is_installed(cls) -> bool:
        """Whether its libraries are there."""
        return all(find_spec(name) is not None for name in cls.libraries)

    @classmethod
    def holds_corpus(cls, settings: Params) -> bool:
        """Whether these settings name an index that exists already, and whose vectors ``stored`` reads."""
        return False

    def stored_vectors(self) -> Vectors:
        """Read all vectors of an existing index, in the order of ids."""
        raise UsageError(f"the vectors of {type(self).__name__} cannot be read", expected="an existing table")

    @abstractmethod
    def build(
        self,
        vectors: Matrix,
        ids: pl.Series,
        params: Params | None = None,
        *,
        attributes: pl.DataFrame | None = None,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        """Hold these vectors, one an id. ``attributes``: a column a name, a row an item, for filters."""

    @abstractmethod
    def search(
        self,
        queries: Any,
        k: int,
        params: Params | None = None,
        *,
        filter: Filter | None = None,
        exact: bool = False,
    ) -> Neighbours:
        """The k items most alike to each query: a matrix, a row a query (or texts, where it takes these).

        ``filter``: among the items that pass a filter. ``exact``: by its own exact mode, where it has one.
        """

    def prepare_queries(self, queries: Any) -> Any:
        """The queries as a search takes them at once: what is done to them beforehand is not the index's time."""
        return queries

    def size(self) -> int | None:
        """Bytes that the index takes, in memory or on disk; None where that cannot be known."""
        return None

    def metadata(self) -> dict[str, Any]:
        """What to record: versions, and what proves how it searched."""
        return {}

    def for_thread(self) -> Self:
        """For another thread: this engine where threads may share it, else another connection to the same index."""
        return self

    def close(self) -> None:  # noqa: B027 - nothing to close unless an engine has it
        """Give back what it holds; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


ENGINES: Registry[type[Engine]] = Registry("engine", home="rankjury.retrieval.engines", group="rankjury.engines")
"""By name."""


def pad_rows(rows: Sequence[Ints], scores: Sequence[Floats], k: int) -> Neighbours:
    """What each query found, at most k each, as one table; ``MISSING`` fills the rest."""
    items = np.full((len(rows), k), MISSING, dtype=np.int64)
    values = np.full((len(rows), k), -np.inf)
    for place, (found, score) in enumerate(zip(rows, scores, strict=True)):
        items[place, : len(found[:k])] = found[:k]
        values[place, : len(found[:k])] = score[:k]
    return Neighbours(items, values)


def filter_mask(attributes: pl.DataFrame | None, filter: Filter) -> Bools:
    """Which rows of the corpus pass a filter."""
    if attributes is None or filter.attribute not in attributes.columns:
        known = [] if attributes is None else attributes.columns
        raise UnknownName("attribute of items", filter.attribute, known)
    return (attributes[filter.attribute].cast(pl.String) == filter.value).fill_null(False).to_numpy()


def search_then_filter(search: Callable[[int], Neighbours], passes: Bools, k: int) -> Neighbours:
    """Filter after the search: ask for more until every query has k that pass, or all were found."""
    n, wanted = len(passes), min(k, int(passes.sum()))
    deep = min(n, max(k, int(np.ceil(1.5 * k * n / max(1, int(passes.sum()))))))
    while True:
        found = search(deep)
        held = (found.items != MISSING) & passes[found.items]
        if deep >= n or (held.sum(axis=1) >= wanted).all():
            rows = [items[mask] for items, mask in zip(found.items, held, strict=True)]
            scores = [values[mask] for values, mask in zip(found.scores, held, strict=True)]
            return pad_rows(rows, scores, k)
        deep = min(n, deep * 4)
