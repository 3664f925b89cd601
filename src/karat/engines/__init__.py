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

from karat.errors import UnknownName, UsageError
from karat.neighbours import NOBODY, Neighbours, Progress
from karat.registry import Registry
from karat.similarity import METRICS
from karat.types import Bools, Floats, Ints, Matrix

__all__ = [
    "ENGINES",
    "Engine",
    "Filter",
    "Param",
    "Params",
    "Setting",
    "aligned_rows",
    "keep_passing",
    "no_progress",
    "passing",
    "settled",
]

Setting = int | float | str | bool
Params = Mapping[str, Setting]


@dataclass(frozen=True)
class Param:
    """One setting of an engine: what it is unless it is said, and what it does."""

    usual: Setting
    about: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    more_finds_more: bool = False
    """Recall does not fall and time does not shorten as it grows: sweeps leave settings out by this."""


@dataclass(frozen=True)
class Filter:
    """Only items whose attribute has this value may be found."""

    attribute: str
    value: str

    def __str__(self) -> str:
        return f"{self.attribute}={self.value}"


class Engine(ABC):
    """Holds a corpus, and finds in it what is most alike to a query."""

    about: ClassVar[str] = ""
    """What it is, in a line."""
    extra: ClassVar[str | None] = None
    """The extra that installs its library."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """What it imports beside karat's own, by the names of modules."""
    opens: ClassVar[Mapping[str, Param]] = {}
    """Where it is and how to reach it: a URL, a folder."""
    builds: ClassVar[Mapping[str, Param]] = {}
    """What is settled when it is built."""
    searches: ClassVar[Mapping[str, Param]] = {}
    """What each search may choose."""
    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    approximate: ClassVar[bool] = True
    """Whether it may miss neighbours."""
    exact_mode: ClassVar[bool] = False
    """Whether it can also look at everything it holds (``search(…, exact=True)``)."""
    native_filter: ClassVar[bool] = False
    """Whether it filters while it searches; else items that do not pass are left out of what was found."""
    takes_texts: bool = False
    """Whether it is asked with texts, not with vectors."""
    beside_output: ClassVar[bool] = False
    """Whether what it keeps on disk while it is open belongs under a plan's output (its setting ``folder``)."""
    gives_scores: bool = True
    """Whether its scores say how alike items are; else they only tell the order."""
    answers_singly: ClassVar[bool] = False
    """Whether every query is a request of its own, which may fail while others succeed."""
    threads_safe: ClassVar[bool] = True
    """Whether several threads may search at the same time; else every thread needs ``again()``."""

    def __init__(self, metric: str = "cosine", settings: Params | None = None) -> None:
        if metric not in self.metrics:
            raise UnknownName(f"similarity of {type(self).__name__}", metric, self.metrics)
        self.metric = metric
        self.settings = settled(self.opens, settings, "setting")

    @classmethod
    def is_installed(cls) -> bool:
        """Whether its libraries are there."""
        return all(find_spec(name) is not None for name in cls.libraries)

    @abstractmethod
    def build(
        self,
        vectors: Matrix,
        ids: pl.Series,
        params: Params | None = None,
        *,
        attributes: pl.DataFrame | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Hold these vectors, one an id. ``attributes``: a column a name, a row an item, for filters."""

    @abstractmethod
    def search(
        self,
        queries: Any,
        k: int,
        params: Params | None = None,
        *,
        only: Filter | None = None,
        exact: bool = False,
    ) -> Neighbours:
        """The k items most alike to each query: a matrix, a row a query (or texts, where it takes these).

        ``only``: among the items that pass a filter. ``exact``: by its own exact mode, where it has one.
        """

    def ready(self, queries: Any) -> Any:
        """The queries as a search takes them at once: what is done to them beforehand is not the index's time."""
        return queries

    def size(self) -> int | None:
        """Bytes that the index takes, in memory or on disk; None where that cannot be known."""
        return None

    def facts(self) -> dict[str, Any]:
        """What to record: versions, and what proves how it searched."""
        return {}

    def again(self) -> Self:
        """For another thread: this engine where threads may share it, else another connection to the same index."""
        return self

    def close(self) -> None:  # noqa: B027 - nothing to close unless an engine has it
        """Give back what it holds; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


ENGINES: Registry[type[Engine]] = Registry("engine", home="karat.engines.own", group="karat.engines")
"""By name."""


def settled(known: Mapping[str, Param], given: Params | None, what: str) -> dict[str, Setting]:
    """All parameters with their values: those given, checked, and the usual ones."""
    for name, value in (given or {}).items():
        if name not in known:
            if not known:
                raise UsageError(f"{what} {name!r} is not known", expected=f"no {what}s: this engine has none")
            raise UnknownName(what, name, known)
        _check(name, value, known[name])
    return {name: (given or {}).get(name, param.usual) for name, param in known.items()}


def _check(name: str, value: Setting, param: Param) -> None:
    number = isinstance(param.usual, int | float) and not isinstance(param.usual, bool)
    fits = isinstance(value, type(param.usual)) and (isinstance(param.usual, bool) or not isinstance(value, bool))
    if number and isinstance(param.usual, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits:
        kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[type(param.usual)]
        raise UsageError(f"{name} is {value!r}", expected=kind)
    if param.choices and value not in param.choices:
        raise UnknownName(f"value of {name}:", str(value), param.choices)
    if number and isinstance(value, int | float):
        if param.least is not None and value < param.least:
            raise UsageError(f"{name} is {value}", expected=f"{param.least:g} or more")
        if param.most is not None and value > param.most:
            raise UsageError(f"{name} is {value}", expected=f"{param.most:g} or less")


def aligned_rows(rows: Sequence[Ints], scores: Sequence[Floats], k: int) -> Neighbours:
    """What each query found, at most k each, as one table; ``NOBODY`` fills the rest."""
    items = np.full((len(rows), k), NOBODY, dtype=np.int64)
    values = np.full((len(rows), k), -np.inf)
    for place, (found, score) in enumerate(zip(rows, scores, strict=True)):
        items[place, : len(found[:k])] = found[:k]
        values[place, : len(found[:k])] = score[:k]
    return Neighbours(items, values)


def passing(attributes: pl.DataFrame | None, only: Filter) -> Bools:
    """Which rows of the corpus pass a filter."""
    if attributes is None or only.attribute not in attributes.columns:
        known = [] if attributes is None else attributes.columns
        raise UnknownName("attribute of items", only.attribute, known)
    return (attributes[only.attribute].cast(pl.String) == only.value).fill_null(False).to_numpy()


def keep_passing(search: Callable[[int], Neighbours], passes: Bools, k: int) -> Neighbours:
    """Filter after the search: ask for more until every query has k that pass, or all were found."""
    n, wanted = len(passes), min(k, int(passes.sum()))
    deep = min(n, max(k, int(np.ceil(1.5 * k * n / max(1, int(passes.sum()))))))
    while True:
        found = search(deep)
        held = (found.items != NOBODY) & passes[found.items]
        if deep >= n or (held.sum(axis=1) >= wanted).all():
            rows = [items[mask] for items, mask in zip(found.items, held, strict=True)]
            scores = [values[mask] for values, mask in zip(found.scores, held, strict=True)]
            return aligned_rows(rows, scores, k)
        deep = min(n, deep * 4)


def no_progress(done: int, of: int) -> None:
    """Nobody to tell."""
