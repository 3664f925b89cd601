"""The keys by which a plan names files of vectors."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from karat.errors import UnknownName, UsageError
from karat.formats.vectors import ids_beside, read_vectors, same_file
from karat.plan.tables import Folder, Shop, Table
from karat.similarity import METRIC_HELP, METRICS
from karat.types import Vectors
from karat.variants import DTYPES, normalised, vary, widened

__all__ = ["EXCLUDE_SELF", "VectorFiles", "refuse_users"]

EXCLUDE_SELF = (
    "Leave the item with the query's own id out of its results; unset: where the queries are the items (no other file "
    "is named, or the gold says so)."
)


def refuse_users(shop: Shop) -> None:
    """Users are no items, whatever their ids, and are not shown what they have: that is for recommenders."""
    if shop.recommendations is not None:
        raise UsageError(
            "the gold is of users, and a search by vectors does not know what they took",
            expected='kind = "recommender", model = "factors" with the vectors of users and items',
        )


class VectorFiles(Table):
    """Vectors of items and, where these are others, of queries."""

    path: str = Field(description="The items' vectors: FILE or FILE:KEY (.npy, .npz, .parquet, .json, .safetensors).")
    ids: str | None = Field(None, description="A file of ids, where the vectors come without: ids.txt, items.csv:id.")
    queries: str | None = Field(None, description="The queries' vectors, where they are not items of the corpus.")
    queries_ids: str | None = Field(None, description="A file of the queries' ids.")
    exclude_self: bool | None = Field(None, description=EXCLUDE_SELF)
    metric: str = Field("cosine", description=METRIC_HELP)
    normalise: bool = Field(False, description="Bring all vectors to length one, last of all.")
    truncate: Annotated[int, Field(ge=1)] | None = Field(None, description="Use only the first dimensions.")
    dtype: str | None = Field(None, description="Use them as float64, float32, float16, int8 or binary.")

    def read(self, folder: Folder) -> tuple[Vectors, Vectors | None]:
        """Of the items, and of the queries where they have files of their own."""
        corpus = self.varied(read_vectors(folder.path(self.path), ids=self.ids and folder.path(self.ids)))
        return corpus, self.read_queries(folder)

    def read_queries(self, folder: Folder) -> Vectors | None:
        """Read the queries' vectors; None where the queries are items."""
        if self.queries is None or self.asks_items(folder):
            return None
        beside = ids_beside(folder.path(self.path)) if self.path else None
        taken = folder.path(self.ids) if self.ids else beside
        ids = self.queries_ids and folder.path(self.queries_ids)
        return self.varied(read_vectors(folder.path(self.queries), ids=ids, taken=taken))

    def asks_items(self, folder: Folder) -> bool:
        """Whether the queries are the items: no other file is named, or the same array under the same ids."""
        if self.queries is None:
            return True
        return same_file(folder.path(self.queries), folder.path(self.path)) and self.queries_ids in (None, self.ids)

    def varied(self, vectors: Vectors) -> Vectors:
        varied = vary(vectors, truncate=self.truncate, dtype=self.dtype)
        return replace(varied, values=normalised(widened(varied.values))) if self.normalise else varied

    @property
    def searches_itself(self) -> bool:
        return bool(self.path) and self.queries is None

    @property
    def prepared(self) -> dict[str, object]:
        """What is done to the vectors of the files before they are used."""
        return {"normalise": self.normalise, "truncate": self.truncate, "dtype": self.dtype}

    def faults(self) -> Iterator[tuple[str, str]]:
        """Keys whose values are not known."""
        if self.metric not in METRICS:
            yield "metric", str(UnknownName("similarity", self.metric, METRICS))
        if self.dtype is not None and self.dtype not in DTYPES:
            yield "dtype", str(UnknownName("dtype", self.dtype, DTYPES))
