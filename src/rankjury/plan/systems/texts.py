"""Texts as systems of a plan: items and queries are embedded while the plan runs, with or without chunking."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from os.path import isdir
from pathlib import Path
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import polars as pl
from pydantic import Field

from rankjury.core.text import plural
from rankjury.core.types import Matrix, Ranking, Vectors, listed
from rankjury.errors import DataError, RankjuryError, UnknownName
from rankjury.evaluation.query_lists import top_scores
from rankjury.evaluation.sections import ReportWarning, SystemFacts, as_warnings
from rankjury.io.attributes import read_attributes
from rankjury.labeling.products.catalog import ProductCatalogue, read_catalogue
from rankjury.labeling.products.query_sets import check_pins, read_query_set
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.bench import Lab, add_lab_results, vector_sections
from rankjury.plan.context import DEFAULT_DEPTH, FULL_DEPTH, Loaded, SystemContext, SystemTable, default_depth
from rankjury.retrieval.agreement.pairs import RunSimilarities, VectorSimilarities
from rankjury.retrieval.diagnostics import HUB_K
from rankjury.retrieval.embedding.chunking import Chunks, chunk_texts, find_tokenizer, parse_chunking
from rankjury.retrieval.embedding.corpus import Corpus
from rankjury.retrieval.embedding.embed import embed, find_model
from rankjury.retrieval.embedding.models import MODELS, Embedder
from rankjury.retrieval.knn.similarity import METRIC_HELP, METRICS
from rankjury.retrieval.rank import rank_vectors
from rankjury.retrieval.rank_chunks import Chunked, rank_chunks


@SYSTEM_KINDS.register("texts")
class TextsSystem(SystemTable):
    """Texts of items and queries, embedded by a model and searched exactly."""

    kind: Literal["texts"]
    items: str = Field(description="The catalogue: .jsonl, .json, .csv, .tsv or .parquet.")
    queries: str = Field(description="A table with one id and text per query.")
    query_text: str | None = Field(None, description="The column of the queries' texts; default: text, query or title.")
    model: str = Field("wordllama", description="wordllama, the folder of a model, or module:function.")
    chunking: str = Field(
        "title",
        description="Fields of the items, and windows of tokens: title, title+bullets/300, title+bullets/300+50.",
    )
    aggregate: Literal["best", "mean"] = Field("best", description="Score of an item: its best chunk, or the mean.")
    metric: str = Field("cosine", description=METRIC_HELP)
    exclude_self: bool = Field(False, description="Exclude the item with the query's own id from its results.")
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None, description=f"Length of the ranking; default: all of up to {FULL_DEPTH:,} items, else {DEFAULT_DEPTH:,}."
    )

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.metric not in METRICS:
            yield "metric", str(UnknownName("similarity", self.metric, METRICS))
        try:
            parse_chunking(self.chunking)
        except RankjuryError as error:
            yield "chunking", str(error).removeprefix("chunking: ")

    def load(self, context: SystemContext) -> Loaded:
        shared = _SHARED.setdefault(context.lab, _Shared())
        folder = context.path(self.model)
        model = shared.model(folder if MODELS.find(self.model) is None and isdir(folder) else self.model)
        chunks, warnings = self._chunks(shared.catalogue(context.path(self.items)), model)
        texts = Corpus(chunks.ids, chunks.texts, chunks.chunking.fields, source=self.items)
        corpus = shared.embed(texts, model, context)
        queries = shared.embed(self._queries(context), model, context)
        facts = SystemFacts(
            {
                "chunking": str(chunks.chunking),
                "aggregate": self.aggregate,
                "chunks": len(chunks),
                "tokens": chunks.tokens,
                "tokens_are": chunks.tokens_are,
                "model": model.name,
                "model_version": model.version,
            }
        )
        loaded = self._ranked(Chunked(corpus, chunks.owners, chunks.items), queries, context)
        loaded = loaded.adding(facts, warnings=warnings)
        if not context.checked.plan.is_lab or not isinstance(loaded.ranking, Ranking):
            return loaded
        scores = top_scores(loaded.ranking, context.lab.table.k)
        loaded = loaded.adding(*vector_sections(corpus, queries, scores, context))
        return replace(loaded, last_steps=(add_lab_results,))

    def _chunks(self, catalogue: ProductCatalogue, model: Embedder) -> tuple[Chunks, list[ReportWarning]]:
        chunking = parse_chunking(self.chunking)
        texts = {name: catalogue.texts([name]) for name in chunking.fields}
        found = chunk_texts(
            catalogue.ids, texts, chunking, tokens=find_tokenizer(model), empty="skip", source=catalogue.source
        )
        warnings = []
        if found.skipped:
            are = plural(len(found.skipped), "item has", "items have")
            text = f"{are} no text in {', '.join(chunking.fields)}, and cannot be retrieved: {listed(found.skipped)}"
            warnings.append(ReportWarning(text, code="no-text", count=len(found.skipped)))
        return found, warnings + as_warnings(catalogue.notes, "catalogue")

    def _queries(self, context: SystemContext) -> Corpus:
        """Read the texts of the gold's queries."""
        path = context.path(self.queries)
        if self.query_text is None:
            queries = read_query_set(path)
            check_pins(queries)
            ids, texts = queries.ids, queries.texts
        else:
            frame, id_column = read_attributes(path, "query")
            if self.query_text not in frame.columns:
                raise UnknownName("column", self.query_text, frame.columns, where=path)
            ids, texts = frame[id_column].cast(pl.String), frame[self.query_text].cast(pl.String)
        wanted = context.gold.queries.cast(pl.String).sort()
        known = {name: text.strip() for name, text in zip(ids, texts, strict=True) if text and text.strip()}
        lacking = [name for name in wanted if name not in known]
        if lacking:
            raise DataError(f"queries without a text: {listed(lacking)}", where=path, expected="one text per query")
        return Corpus(wanted, pl.Series("text", [known[name] for name in wanted]), ("text",), source=self.queries)

    def _ranked(self, corpus: Chunked, queries: Vectors, context: SystemContext) -> Loaded:
        n = len(corpus.items)
        depth = self.depth or default_depth(n, context.cuts)
        if len(corpus.chunks) == n:  # one chunk per item
            whole = Vectors(corpus.items, corpus.chunks.values, corpus.chunks.source)
            space = rank_vectors(
                whole,
                queries,
                k=depth,
                metric=self.metric,
                cuts=context.cuts,
                exclude_self=self.exclude_self,
                progress=context.progress,
            )
            return Loaded(space.ranking, (space.hygiene,), similarities=VectorSimilarities(whole, queries, self.metric))
        space = rank_vectors(corpus.chunks, queries, k=HUB_K, metric=self.metric, exclude_self=False)
        ranking = rank_chunks(
            corpus, queries, k=depth, how=self.aggregate, metric=self.metric, exclude_self=self.exclude_self,
            progress=context.progress,
        )  # fmt: skip
        return Loaded(ranking, (space.hygiene,), similarities=RunSimilarities(ranking))


class _Shared:
    """Models, catalogues and vectors shared by the systems of one run."""

    def __init__(self) -> None:
        self.model, self.catalogue = cache(find_model), cache(read_catalogue)
        self.vectors: dict[tuple[int, str], Matrix] = {}
        """By model and digest of the texts; the latest eight."""

    def embed(self, corpus: Corpus, model: Embedder, context: SystemContext) -> Vectors:
        key = id(model), corpus.sha256
        if key not in self.vectors:
            while len(self.vectors) >= 8:
                del self.vectors[next(iter(self.vectors))]
            progress = context.progress.step(f"Embedding {Path(corpus.source).name}")
            self.vectors[key] = embed(corpus, model, progress=progress).values
        return Vectors(corpus.ids, self.vectors[key], f"{corpus.source} ({model.name})")


_SHARED: WeakKeyDictionary[Lab, _Shared] = WeakKeyDictionary()
"""Keyed by the lab, which is new for every run, so that entries are dropped with the run."""
