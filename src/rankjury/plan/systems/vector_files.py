"""The keys by which a plan names files of vectors."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from rankjury.core.types import Vectors
from rankjury.errors import UnknownName
from rankjury.io.vectors import ids_beside, read_vectors, same_file
from rankjury.io.vectors.quantize import DTYPES, normalised, vary, widened
from rankjury.plan.context import GoldContext, PlanTable
from rankjury.retrieval.knn.similarity import METRIC_HELP, METRICS

EXCLUDE_SELF = (
    "Leave the item with the query's own id out of its results; unset: where the queries are the items (no other file "
    "is named, or the gold says so)."
)


class VectorFiles(PlanTable):
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

    def read(self, context: GoldContext) -> tuple[Vectors, Vectors | None]:
        """Of the items, and of the queries where they have files of their own."""
        corpus = self.varied(read_vectors(context.path(self.path), ids=self.ids and context.path(self.ids)))
        return corpus, self.read_queries(context)

    def read_queries(self, context: GoldContext) -> Vectors | None:
        """Read the queries' vectors; None where the queries are items."""
        if self.queries is None or self.asks_items(context):
            return None
        beside = ids_beside(context.path(self.path)) if self.path else None
        taken = context.path(self.ids) if self.ids else beside
        ids = self.queries_ids and context.path(self.queries_ids)
        return self.varied(read_vectors(context.path(self.queries), ids=ids, taken=taken))

    def asks_items(self, context: GoldContext) -> bool:
        """Whether the queries are the items: no other file is named, or the same array under the same ids."""
        if self.queries is None:
            return True
        return same_file(context.path(self.queries), context.path(self.path)) and self.queries_ids in (None, self.ids)

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
