"""Embedding spaces as systems of a plan, and the keys of vector files in a plan."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from rankjury.core.columns import ITEM
from rankjury.core.types import Vectors
from rankjury.errors import UnknownName
from rankjury.evaluation.query_lists import top_scores
from rankjury.evaluation.row_numbers import check_row_numbers
from rankjury.evaluation.sections import ReportWarning, Section, SystemFacts
from rankjury.io.vectors import ids_file_of, read_candidates, read_vectors, same_file
from rankjury.io.vectors.quantize import DTYPES, normalised, vary, widened
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.bench import add_lab_results, vector_sections
from rankjury.plan.context import (
    DEFAULT_DEPTH,
    FULL_DEPTH,
    GoldContext,
    LastStep,
    Loaded,
    PlanTable,
    SystemContext,
    SystemTable,
    default_depth,
    warn_of_names,
)
from rankjury.retrieval.agreement.pairs import VectorSimilarities
from rankjury.retrieval.knn.similarity import METRIC_HELP, METRICS
from rankjury.retrieval.rank import check_same_items, rank_listed, rank_vectors, row_numbers, select_vectors

EXCLUDE_SELF = (
    "Exclude the item with the query's own id from its results; default: if the queries are the items (no other file "
    "is given, or the gold says so)."
)


class VectorFiles(PlanTable):
    """Vectors of items and, if they are not the same, of queries."""

    path: str = Field(description="The items' vectors: FILE or FILE:KEY (.npy, .npz, .parquet, .json, .safetensors).")
    ids: str | None = Field(None, description="A file of ids, if the vectors have none: ids.txt, items.csv:id.")
    queries: str | None = Field(None, description="The queries' vectors, if they are not items of the corpus.")
    queries_ids: str | None = Field(None, description="A file of the queries' ids.")
    exclude_self: bool | None = Field(None, description=EXCLUDE_SELF)
    metric: str = Field("cosine", description=METRIC_HELP)
    normalise: bool = Field(False, description="Normalise all vectors to length one, after the other steps.")
    truncate: Annotated[int, Field(ge=1)] | None = Field(None, description="Use only the first dimensions.")
    dtype: str | None = Field(None, description="Quantize to float64, float32, float16, int8 or binary.")

    def read(self, context: GoldContext) -> tuple[Vectors, Vectors | None]:
        """Read the vectors of the items, and those of the queries if they have their own files."""
        corpus = self.varied(read_vectors(context.path(self.path), ids=self.ids and context.path(self.ids)))
        return corpus, self.read_queries(context)

    def read_queries(self, context: GoldContext) -> Vectors | None:
        """Read the queries' vectors; None if the queries are items."""
        if self.queries is None or self.asks_items(context):
            return None
        beside = ids_file_of(context.path(self.path)) if self.path else None
        taken = context.path(self.ids) if self.ids else beside
        ids = self.queries_ids and context.path(self.queries_ids)
        return self.varied(read_vectors(context.path(self.queries), ids=ids, taken=taken))

    def asks_items(self, context: GoldContext) -> bool:
        """Return whether the queries are the items: no other file is given, or the same array with the same ids."""
        if self.queries is None:
            return True
        return same_file(context.path(self.queries), context.path(self.path)) and self.queries_ids in (None, self.ids)

    def check_ids(self, context: SystemContext, corpus: Vectors, queries: Vectors | None) -> None:
        """Refuse vectors without ids if the ids that their row numbers are matched with count from 1."""
        reference, gold = context.loaded_gold.reference, context.gold
        if reference is not None and reference.vectors is not None and reference.vectors.numbered:
            return  # the rows of both models are matched by their numbers
        for numbered in row_numbers(corpus, queries):
            check_row_numbers(numbered, gold.queries, gold.items, gold.source)

    def varied(self, vectors: Vectors) -> Vectors:
        varied = vary(vectors, truncate=self.truncate, dtype=self.dtype)
        return replace(varied, values=normalised(widened(varied.values))) if self.normalise else varied

    @property
    def searches_itself(self) -> bool:
        return bool(self.path) and self.queries is None

    @property
    def prepared(self) -> dict[str, object]:
        """Transformations of the vectors before they are used."""
        return {"normalise": self.normalise, "truncate": self.truncate, "dtype": self.dtype}

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield keys with unknown values."""
        if self.metric not in METRICS:
            yield "metric", str(UnknownName("similarity", self.metric, METRICS))
        if self.dtype is not None and self.dtype not in DTYPES:
            yield "dtype", str(UnknownName("dtype", self.dtype, DTYPES))


@SYSTEM_KINDS.register("vectors")
class VectorsSystem(VectorFiles, SystemTable):
    """An embedding space, searched exactly."""

    kind: Literal["vectors"]
    engine: Literal["exact"] = Field("exact", description="Exact search; other engines are of the kind index.")
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description=f"Ranking length; default: all of up to {FULL_DEPTH:,} items, else {DEFAULT_DEPTH:,} or as many as "
        "the measures use; with a reference as gold, the largest cut-off.",
    )
    candidates: str | None = Field(
        None,
        description="all, gold (the gold's queries), a file of ids, or a table of query_id and item_id; default: gold "
        "if the gold is closed, else all.",
    )

    def load(self, context: SystemContext) -> Loaded:
        context.loaded_gold.check_search()
        corpus, queries = self.read(context)
        self.check_ids(context, corpus, queries)
        exclude = self.exclude_self if self.exclude_self is not None else context.loaded_gold.exclude_self
        similarities = VectorSimilarities(corpus, queries, self.metric)
        candidates, warnings = self._candidates(corpus, context)
        if isinstance(candidates, pl.DataFrame):
            listed = rank_listed(corpus, queries, candidates, k=self.depth, metric=self.metric, exclude_self=exclude)
            pool = candidates[ITEM].unique().sort()
            space = rank_vectors(corpus, queries, k=1, metric=self.metric, wanted=listed.queries, candidates=pool)
            return Loaded(listed, (space.hygiene,), similarities=similarities)
        reference = context.loaded_gold.reference
        if reference is not None and reference.vectors is not None and candidates is None:
            check_same_items(reference.vectors, corpus)
        size = len(corpus) if candidates is None else len(candidates)
        # With a reference as gold, one more than the measures use, to detect whether the last is tied with the next.
        only_order = reference is not None and context.deepest is not None and self.threshold is None
        deep = context.deepest + 1 if only_order and context.deepest else default_depth(size, context.cuts)
        wanted, found = context.loaded_gold.choose_queries(context.gold, corpus, queries)
        space = rank_vectors(
            corpus,
            queries,
            k=self.depth or deep,
            metric=self.metric,
            exclude_self=exclude,
            wanted=wanted,
            candidates=candidates,
            cuts=context.cuts,
            progress=context.progress,
        )
        sections: list[Section] = [space.hygiene]
        last_steps: tuple[LastStep, ...] = ()
        if context.checked.plan.is_lab and not only_order:
            asked = corpus if queries is None else queries
            asked = select_vectors(asked, space.ranking.queries, "query", own_file=queries is not None)
            sections.append(SystemFacts({"vectors": self.prepared}))
            sections += vector_sections(corpus, asked, top_scores(space.ranking, context.lab.table.k), context)
            last_steps = (add_lab_results,)
        return Loaded(space.ranking, tuple(sections), (*warnings, *found), similarities, last_steps)

    def _candidates(
        self, corpus: Vectors, context: SystemContext
    ) -> tuple[pl.Series | pl.DataFrame | None, list[ReportWarning]]:
        chosen = self.candidates or ("gold" if context.loaded_gold.closed and self.queries is None else "all")
        if chosen == "all":
            return None, []
        if chosen != "gold":
            return read_candidates(context.path(chosen)), []
        wanted = context.gold.queries.cast(pl.String).sort()
        extra = corpus.ids.filter(~corpus.ids.is_in(wanted.implode())).sort()
        return wanted, warn_of_names(
            extra, "vector is", "vectors are", "of no query, and not a candidate", "no-candidates"
        )
