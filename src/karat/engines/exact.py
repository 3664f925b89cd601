"""Exact search: every query against every item."""

from karat.engines import ENGINES
from karat.neighbours import Neighbours, Progress, nearest
from karat.types import Ints, Matrix, Vectors

__all__ = ["Exact"]


@ENGINES.register("exact")
class Exact:
    """The truth that other engines are measured by: equal scores go by id, whatever the threads and tiles."""

    def __init__(self, corpus: Vectors, metric: str = "cosine") -> None:
        self.corpus = corpus
        self.metric = metric
        self._places = corpus.ids.rank("ordinal").cast(int).to_numpy() - 1

    def search(
        self,
        queries: Matrix,
        k: int,
        *,
        own: Ints | None = None,
        scored: bool = True,
        progress: Progress | None = None,
    ) -> Neighbours:
        return nearest(
            queries,
            self.corpus.values,
            k,
            metric=self.metric,
            places=self._places,
            own=own,
            scored=scored,
            progress=progress,
        )
