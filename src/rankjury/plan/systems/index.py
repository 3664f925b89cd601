"""Vector indexes as systems of a plan: built, searched, timed and compared with exact search."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

import polars as pl
from pydantic import Field

from rankjury.core.params import Params, Setting, resolve_params
from rankjury.core.text import plural
from rankjury.core.types import Ints, Vectors
from rankjury.errors import UnknownName, UsageError, install_command
from rankjury.evaluation.sections import ReportWarning, as_warnings
from rankjury.io.vectors.quantize import are_units
from rankjury.plan import SYSTEM_KINDS
from rankjury.plan.bench import LoadedIndex, add_lab_results, vector_sections
from rankjury.plan.context import GoldContext, Loaded, SystemContext, SystemTable, fault_of
from rankjury.plan.systems.vectors import VectorFiles
from rankjury.retrieval.bench.benchmark import IndexBenchmark
from rankjury.retrieval.bench.measure import compare_metrics, measure_index, read_stored_vectors
from rankjury.retrieval.engines.base import ENGINES, Filter, filter_mask
from rankjury.retrieval.engines.pgvector.server import remove_abandoned
from rankjury.retrieval.knn.similarity import METRICS, norms_of
from rankjury.retrieval.rank import check_comparable, row_numbers, rows_of_queries, select_vectors, self_note

if TYPE_CHECKING:
    from rankjury.plan.parse import CheckedPlan

_LISTED = 5


@SYSTEM_KINDS.register("index")
class IndexSystem(VectorFiles, SystemTable):
    """A vector index over an embedding space."""

    is_index = True
    kind: Literal["index"]
    path: str = Field(
        "",
        description="The items' vectors: FILE or FILE:KEY. Not needed with an existing table (open.table), whose "
        "vectors are read, nor with the engine endpoint, then queried with the texts of lab.queries for the ids "
        "of lab.items.",
    )
    engine: str = Field(description="exact, faiss-hnsw, pgvector …; see rankjury list engines.")
    build: dict[str, Setting] = Field({}, description="Build parameters: { m = 16 }.")
    search: dict[str, Setting] = Field({}, description="Search parameters: { ef_search = 64 }.")
    open: dict[str, Setting] = Field({}, description="Connection parameters: { url = … }.")
    depth: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Length of the ranking; default: the largest cut-off, at least lab.k."
    )
    optional: bool = Field(False, description="Omit the system, with a warning, if its engine is not installed.")
    filter: str | None = Field(
        None, description="Search only items with the query's value of this attribute, such as category."
    )

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from super().faults()
        kind = ENGINES.find(self.engine)
        if kind is None:
            yield "engine", str(UnknownName("engine", self.engine, ENGINES.names()))
            return
        if self.metric in METRICS and self.metric not in kind.metrics:
            yield "metric", str(UnknownName(f"similarity of {self.engine}", self.metric, kind.metrics))
        if not self.path and self.engine != "endpoint" and not self.holds_corpus:
            yield "path", "is missing; expected the items' vectors, FILE or FILE:KEY"
        yield from fault_of("build", lambda: resolve_params(kind.build_params, self.build, "parameter"))
        yield from fault_of("search", lambda: resolve_params(kind.search_params, self.search, "parameter"))
        yield from fault_of("open", lambda: resolve_params(kind.open_params, self.open, "parameter"))

    @property
    def holds_corpus(self) -> bool:
        """Whether the index exists already, so that its vectors are read from it and not from a file."""
        return ENGINES.get(self.engine).holds_corpus(self.open)

    @property
    def unavailable_reason(self) -> str | None:
        kind = ENGINES.get(self.engine)
        if not self.optional or kind.is_installed():
            return None
        install = install_command(kind.extra) if kind.extra else f"it needs {', '.join(kind.libraries)}"
        return f"omitted, as {self.engine} is not installed: {install}"

    def load(self, context: SystemContext) -> Loaded:
        context.loaded_gold.check_search()
        bench, warnings = self.bench(context)
        corpus, asked = bench.corpus, bench.queries
        numbered = row_numbers(corpus, None if self.asks_items(context) else asked)
        found = measure_index(
            bench,
            build=self.build,
            search=self.search,
            clock=context.lab.clock(len(asked)),
            depth=self.depth or max([*context.cuts, bench.k]),
            progress=context.progress,
            source=f"{self.engine} over {corpus.source}",
        )
        verify = context.lab.table.verify and corpus.dimensions and self.metric != "l2"
        verify = verify and (are_units(corpus.values) or (self.normalise and self.holds_corpus))
        same = compare_metrics(corpus, asked, k=bench.k) if verify and are_units(asked.values) else None
        vectors = self.prepared | {"filter": self.filter} | ({"corpus": "stored"} if self.holds_corpus else {})
        indexed = replace(found.indexed, vectors=vectors, equivalence=same)
        sections = (indexed, *vector_sections(corpus, asked, found.scores, context))
        ranking = replace(found.ranking, row_numbers=numbered)
        return LoadedIndex(ranking, sections, tuple(warnings), last_steps=(add_lab_results,), exact=found.exact)

    def bench(self, context: SystemContext) -> tuple[IndexBenchmark, list[ReportWarning]]:
        """Return the benchmark of the index, with warnings."""
        remove_abandoned()
        warnings: list[ReportWarning] = []
        corpus, asked = self._sides(context, warnings)
        lab = context.lab
        filters = attributes = None
        if self.filter is not None:
            attributes = lab.attributes_of(corpus.ids, self.filter)
            filters = lab.filters_of(asked.ids, self.filter)
            warnings += _check_filters(filters, attributes)
        bench = IndexBenchmark(
            corpus,
            asked,
            engine=self.engine,
            metric=self.metric,
            settings=self._opened(context),
            k=lab.table.k,
            attributes=attributes,
            texts=lab.texts_of(asked.ids),
            filters=filters,
            own=self._own(context, corpus, asked, warnings),
            resampling=context.resampling,
        )
        return bench, warnings

    def _sides(self, context: SystemContext, warnings: list[ReportWarning]) -> tuple[Vectors, Vectors]:
        """Read the vectors of items and queries."""
        if self.holds_corpus:
            corpus, queries = self._stored(context, warnings), self.read_queries(context)
            asked = queries if queries is not None else self.varied(corpus)
        elif not self.path:
            return context.lab.without_vectors(context.gold.queries.cast(pl.String).sort())
        else:
            corpus, queries = self.read(context)
            asked = queries if queries is not None else corpus
        self.check_ids(context, corpus, queries)
        wanted, found = context.loaded_gold.choose_queries(context.gold, corpus, queries)
        warnings += found
        asked = select_vectors(asked, wanted, "query", own_file=queries is not None)
        check_comparable(asked, corpus, self.metric)
        return corpus, asked

    def _stored(self, context: GoldContext, warnings: list[ReportWarning]) -> Vectors:
        """Read the vectors of an existing table; a file of vectors is only compared with them."""
        given = self.read(context)[0] if self.path else None
        stored, notes = read_stored_vectors(self.engine, self.metric, self._opened(context), given)
        warnings += as_warnings(notes, "stored-vectors")
        if self.normalise and not are_units(stored.values):
            lengths = norms_of(stored.values)
            between = f"{lengths.min():.4g} to {lengths.max():.4g}"
            text = f"normalise = true, but the stored vectors are not of length one: {between}"
            warnings.append(ReportWarning(text, code="not-normalised"))
        return stored

    def _own(self, context: SystemContext, corpus: Vectors, asked: Vectors, warnings: list[ReportWarning]) -> Ints:
        """Return the excluded item of each query; warn of equal ids in different files."""
        asks_items = bool(corpus.dimensions) and self.asks_items(context)
        settings = (self.exclude_self, context.loaded_gold.exclude_self, asks_items)
        exclude = next(setting for setting in settings if setting is not None)
        same = rows_of_queries(corpus, asked, exclude=True)
        if not asks_items and (same >= 0).any():
            warnings += as_warnings([self_note(int((same >= 0).sum()), len(asked), exclude=exclude)], "own-item")
        return same if exclude else rows_of_queries(corpus, asked, exclude=False)

    def _opened(self, context: GoldContext) -> Params:
        """Return the parameters of ``open``; a folder is relative to the plan, and by default the plan's output."""
        params = dict(self.open)
        if folder := params.get("folder"):
            params["folder"] = context.path(str(folder))
        elif ENGINES.get(self.engine).data_under_output:
            params.setdefault("folder", context.scratch)
        return params


def _check_filters(filters: Sequence[Filter | None], attributes: pl.DataFrame) -> Iterator[ReportWarning]:
    """Warn of values that no item has: filters by them exclude everything."""
    empty = [value for value in dict.fromkeys(filters) if value and not filter_mask(attributes, value).any()]
    if empty:
        lost = sum(value in empty for value in filters)
        shown = ", ".join(map(str, empty[:_LISTED])) + (" …" if len(empty) > _LISTED else "")
        text = f"no item passes the filters of {plural(lost, 'query', 'queries')}: {shown}"
        yield ReportWarning(text, code="empty-filters", count=lost)


def on_database(checked: "CheckedPlan", dsn: str | None) -> "CheckedPlan":
    """Return the plan with its pgvector indexes in this database; unchanged without a database."""
    if dsn is None:
        return checked
    systems = dict(checked.plan.systems)
    for name, table in checked.plan.systems.items():
        if isinstance(table, IndexSystem) and table.engine == "pgvector":
            systems[name] = table.model_copy(update={"open": {**table.open, "dsn": dsn}})
    if all(systems[name] is table for name, table in checked.plan.systems.items()):
        raise UsageError("a dsn is given, but no system has the engine pgvector", where=checked.where)
    return replace(checked, plan=checked.plan.model_copy(update={"systems": systems}))
