"""The keys by which a plan names files of vectors."""

from collections.abc import Iterator

from pydantic import Field

from karat.errors import UnknownName
from karat.formats.vectors import ids_beside, read_vectors
from karat.plan.tables import Folder, Table
from karat.similarity import METRICS
from karat.types import Vectors

__all__ = ["VectorFiles"]


class VectorFiles(Table):
    """Vectors of items and, where these are others, of queries."""

    path: str = Field(description="The items' vectors: FILE or FILE:KEY (.npy, .npz, .parquet, .json, .safetensors).")
    ids: str | None = Field(None, description="A file of ids, where the vectors come without: ids.txt, items.csv:id.")
    queries: str | None = Field(None, description="The queries' vectors, where they are not items of the corpus.")
    queries_ids: str | None = Field(None, description="A file of the queries' ids.")
    metric: str = Field("cosine", description="cosine, ip (inner product) or l2.")

    def read(self, folder: Folder) -> tuple[Vectors, Vectors | None]:
        """Of the items, and of the queries where they have files of their own."""
        corpus = read_vectors(folder.path(self.path), ids=self.ids and folder.path(self.ids))
        if self.queries is None:
            return corpus, None
        taken = folder.path(self.ids) if self.ids else ids_beside(folder.path(self.path))
        ids = self.queries_ids and folder.path(self.queries_ids)
        return corpus, read_vectors(folder.path(self.queries), ids=ids, taken=taken)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Keys whose values are not known."""
        if self.metric not in METRICS:
            yield "metric", str(UnknownName("similarity", self.metric, METRICS))
