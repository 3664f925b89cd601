"""Lab of a plan: settings for measuring indexes, its input files, and its sections of the report."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankjury.core.hashing import hash_ids, hash_vectors
from rankjury.core.types import Floats, Gold, Ranking, Vectors, listed
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.drift import drift_between
from rankjury.evaluation.examples import select_examples
from rankjury.evaluation.report import Report
from rankjury.evaluation.sections import Fingerprints, Section, Stability, as_warnings, measure_stability
from rankjury.io.attributes import read_attributes
from rankjury.labeling.products.query_sets import QuerySet, check_pins, read_query_set
from rankjury.plan.context import GoldContext, Loaded
from rankjury.plan.earlier_reports import EarlierReports
from rankjury.retrieval.bench.benchmark import Embed
from rankjury.retrieval.bench.measure import Clock, select_loss_measure, split_loss
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.embedding.embed import find_model
from rankjury.retrieval.engines.base import Filter
from rankjury.retrieval.hints import Hints, find_hints
from rankjury.retrieval.knn.similarity import norms_of
from rankjury.retrieval.rank import apply_threshold

if TYPE_CHECKING:
    from rankjury.plan.schema import Plan

_ENOUGH_TIMED = 1_000
"""Number of queries needed for P99."""


class Lab:
    """Lab of a plan with the content of its files, each read once."""

    def __init__(self, plan: "Plan", folder: Path) -> None:
        """``folder``: base of relative paths."""
        self.table, self.plan, self.folder = plan.lab, plan, folder
        earlier = self.table.earlier
        self.references = None if earlier is None else EarlierReports(earlier, plan, folder)

    def clock(self, queries: int) -> Clock | None:
        table = self.table
        rounds = max(1, ceil(_ENOUGH_TIMED / max(1, queries))) if table.rounds is None else table.rounds
        return Clock(rounds, table.warm_up, tuple(table.concurrency), table.rate, self.embed) if rounds else None

    @cached_property
    def embed(self) -> Embed | None:
        if self.table.model is None:
            return None
        if self.table.queries is None:
            raise UsageError("lab.model has no texts to embed", expected="lab.queries = a table with id and text")
        return find_model(self.table.model).embed

    @cached_property
    def query_set(self) -> QuerySet | None:
        """The query set; changed queries under an unchanged version are an error."""
        if self.table.queries is None:
            return None
        queries = read_query_set(str(self.folder / self.table.queries))
        check_pins(queries)
        return queries

    @cached_property
    def texts(self) -> dict[str, str]:
        """The texts of the query set by id."""
        queries = self.query_set
        return {} if queries is None else dict(zip(queries.ids.to_list(), queries.texts.to_list(), strict=True))

    def check_earlier(self) -> None:
        """Choose the earlier reports before any work. A single file must contain a system of the plan."""
        if self.references is None:
            return
        systems = self.plan.indexes if self.references.is_by_index else self.plan.systems
        chosen = [self.references.choose(name) for name in systems]
        if self.references.is_one_file and all(earlier.report is None for earlier in chosen):
            names = ", ".join(self.plan.systems)
            raise DataError("found none of the plan's systems", where=self.table.earlier, expected=f"one of {names}")

    def texts_of(self, queries: pl.Series) -> list[str] | None:
        """Return the texts of these queries, in their order; None without a query set."""
        if self.query_set is None:
            return None
        lacking = queries.filter(~queries.is_in(list(self.texts)))
        if len(lacking):
            raise DataError(
                f"queries without a text: {listed(lacking)}",
                where=str(self.table.queries),
                expected="all queries of the plan in the query set",
            )
        return [self.texts[query] for query in queries.to_list()]

    def without_vectors(self, queries: pl.Series) -> tuple[Vectors, Vectors]:
        """Return the items and the queries as vectors without dimensions, for engines that are queried by text."""
        items, id_column = self._items
        if self.query_set is None:
            raise UsageError("the queries have no texts", expected="lab.queries = a table with id and text")
        corpus, asked = (
            Vectors(ids, np.empty((len(ids), 0), np.float32)) for ids in (items[id_column].cast(pl.String), queries)
        )
        return corpus, asked

    @cached_property
    def _items(self) -> tuple[pl.DataFrame, str]:
        if self.table.items is None:
            raise UsageError("the items are unknown", expected="lab.items = a table with an id")
        return read_attributes(str(self.folder / self.table.items), "item")

    @cached_property
    def _queries(self) -> tuple[pl.DataFrame, str]:
        if self.table.queries is None:
            raise UsageError("a filter needs the queries' attributes", expected="lab.queries = a table with an id")
        return read_attributes(str(self.folder / self.table.queries), "query")

    def attributes_of(self, items: pl.Series, attribute: str) -> pl.DataFrame:
        """Return an attribute of these items, in their order; null if an item has none."""
        values = _column(self._items, attribute, str(self.table.items))
        return pl.DataFrame({attribute: [values.get(item) for item in items.to_list()]}, schema={attribute: pl.String})

    def filters_of(self, queries: pl.Series, attribute: str) -> list[Filter | None]:
        """Return the filter of each query by an attribute; None if the query has no value of it."""
        values = _column(self._queries, attribute, str(self.table.queries))
        wanted = [values.get(query) for query in queries.to_list()]
        if not any(wanted):
            raise DataError(f"no query has a value of {attribute!r}", where=str(self.table.queries))
        return [Filter(attribute, value) if value else None for value in wanted]


def _column(table: tuple[pl.DataFrame, str], name: str, where: str) -> Mapping[str, str | None]:
    frame, id_column = table
    if name not in frame.columns:
        raise UnknownName("attribute", name, frame.drop(id_column).columns, where=where)
    ids, values = frame[id_column].cast(pl.String), frame[name].cast(pl.String)
    return dict(zip(ids.to_list(), values.to_list(), strict=True))


def vector_sections(corpus: Vectors, queries: Vectors, scores: Floats, context: GoldContext) -> tuple[Section, ...]:
    """Return stability and fingerprints of a system's vectors; ``scores``: of the top items of each query."""
    norms = norms_of(corpus.values) if corpus.dimensions else np.empty(0)
    order = queries.ids.arg_sort().to_numpy()  # by id, independent of the order in the file
    stability = measure_stability(queries.ids.gather(order), scores[order], norms, k=context.lab.table.k)
    hashes = {"items": hash_ids(corpus.ids), "queries": hash_ids(queries.ids)}
    if corpus.dimensions:
        hashes |= {"vectors": hash_vectors(corpus), "query_vectors": hash_vectors(queries)}
    return stability, Fingerprints(hashes)


@dataclass(frozen=True, eq=False)
class LoadedIndex(Loaded):
    """Rankings of an index and of exact search."""

    exact: Ranking | None = None
    """Ranking of exact search, for computing the loss of the index."""

    def final_sections(self, report: Report, system: str, context: GoldContext, gold: Gold) -> tuple[Section, ...]:
        measure = select_loss_measure(context.asked, context.lab.table.k)
        if measure is None or self.exact is None:
            return self.sections
        # Items that exact search excludes by the system's threshold are not a loss of the index.
        threshold = context.checked.plan.systems[system].threshold
        exact = self.exact if threshold is None else apply_threshold(self.exact, threshold)
        return tuple(
            replace(section, loss=split_loss(gold, exact, report.scores[system], measure, context.resampling))
            if isinstance(section, IndexResult) and section.recall.n
            else section
            for section in self.sections
        )


def add_lab_results(report: Report, context: GoldContext, golds: Mapping[str, Gold]) -> Report:
    """Return the report with examples, drift and hints, if it is about indexes or vectors."""
    tried = report.sections_of(Stability)
    if not tried:
        return report
    lab = context.lab
    indexes = report.sections_of(IndexResult)
    report = report.with_recorded({name: index.figures() for name, index in indexes.items()})
    if lab.query_set is not None:
        report = replace(report, provenance={**report.provenance, "query_set": lab.query_set.to_json()})
        if report.queries is not None:
            report = replace(
                report, queries=replace(report.queries, query_texts={**report.queries.query_texts, **lab.texts})
            )
    chosen = select_loss_measure(context.asked, lab.table.k)
    label = report.labels[0] if chosen is None else chosen.label
    for name in tried:
        if golds[name].lookup is None and report.queries is not None:
            queries, top = report.queries, report.top_items[name]
            texts = queries.query_texts
            examples = select_examples(report.scores[name], label, top, golds[name], texts=texts, names=report.names)
            report = report.with_sections(examples, system=name)
    if lab.references is not None:
        fresh, notes = replace(report, source="this report"), list[str]()
        for name in indexes if lab.references.is_by_index else tried:
            earlier = lab.references.choose(name)
            notes += earlier.notes
            if earlier.report is not None:
                drift = drift_between(earlier.report, fresh, system=name, allowed=lab.table.allowed_drift)
                report = report.with_sections(drift, system=name).with_recorded({name: drift.figures()})
        report = replace(report, warnings=(*report.warnings, *as_warnings(dict.fromkeys(notes), "earlier-run")))
    hints = find_hints(report)
    return report.with_sections(Hints(tuple(hints))) if hints else report
