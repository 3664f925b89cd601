"""Vector indexes behind one protocol; one file an engine."""

from collections.abc import Callable
from typing import Protocol

from karat.neighbours import Neighbours, Progress
from karat.registry import Registry
from karat.types import Ints, Matrix, Vectors

__all__ = ["ENGINES", "Engine"]


class Engine(Protocol):
    """Holds a corpus, and finds in it what is most alike to a query."""

    def search(
        self,
        queries: Matrix,
        k: int,
        *,
        own: Ints | None = None,
        scored: bool = True,
        progress: Progress | None = None,
    ) -> Neighbours:
        """The k items most alike to each query, the rows of ``own`` left out; not ``scored``: levels will do."""


ENGINES: Registry[Callable[[Vectors, str], Engine]] = Registry(
    "engine", home="karat.engines.exact", group="karat.engines"
)
"""By name: a corpus and a similarity (cosine, ip, l2) → an engine that holds it."""
