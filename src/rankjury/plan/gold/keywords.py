"""Gold of keywords: items with the keywords of a query are relevant."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from rankjury.core.columns import QUERY
from rankjury.core.text import join_names, plural
from rankjury.core.types import Gold, Ranking, Vectors
from rankjury.errors import DataError, MissingExtra, UnknownName
from rankjury.evaluation.sections import Keywords, ReportWarning, as_warnings
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.io.ordered_lists import ONLY_ASPECT
from rankjury.io.source import Source
from rankjury.labeling.keywords.annotations import NO_VALUE, SEPARATOR, Annotations, Vocabulary, read_annotations
from rankjury.labeling.keywords.gold import (
    KeywordMatch,
    Predicates,
    WithoutKeywords,
    gold_from_items,
    gold_from_keywords,
)
from rankjury.labeling.keywords.mapping import MAPPERS, Extraction, MappingSettings, make_mapper, map_texts
from rankjury.labeling.keywords.partial_match import partial_matches
from rankjury.labeling.keywords.quality import KEYWORDS, LabelledText, compare_mappings, read_labelled_texts
from rankjury.labeling.products.query_sets import read_queries, read_query_records
from rankjury.measures.dialects import NamedMeasure
from rankjury.plan import GOLD_KINDS
from rankjury.plan.context import (
    GoldContext,
    GoldTable,
    Loaded,
    LoadedGold,
    PlanTable,
    fault_of,
    threshold_warnings,
    warn_of_names,
)
from rankjury.retrieval.agreement.pairs import sample_ids
from rankjury.retrieval.rank import drop_self

_MAX_SLICES = 60
_MIN_QUERIES = 5
_MAX_RESULTS = 50
"""Maximum number of results per query in partial matches."""
_NO_THRESHOLD = (
    "match = graded: {measures} count items that have any of the keywords; (rel=1), or the dialect alfa, counts those "
    "that have all"
)
_KEYWORD, _GROUP = "keyword", "group"
_OTHERS = "(others)"
"""Keywords with few queries, or beyond the maximum."""
_UNKNOWN = "unknown-items"
"""Code of the warning about items without annotations."""
_OF_NO_ITEM = "of no annotated item, and never relevant"


@dataclass(frozen=True)
class QueryTexts:
    """Text queries; empty if the items themselves are the queries."""

    ids: Sequence[str] = ()
    texts: Sequence[str] = ()
    numbers: Sequence[Sequence[int]] = ()
    """Keyword numbers of each query, in all groups."""
    source: str = "queries"
    about: dict[str, Any] = field(default_factory=dict)
    """For the report."""
    notes: tuple[str, ...] = ()


class MappingTable(PlanTable):
    """Mapping of texts to keywords."""

    method: str = Field("exact", description="exact, embedding or keybert.")
    model: str = Field("wordllama", description="The model of the methods embedding and keybert.")
    threshold: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The score that an n-gram must exceed; default: the method's."
    )
    synonyms: str | None = Field(None, description="A TOML file of synonyms of keywords.")
    diversity: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Diversity of KeyBERT's MMR, which chooses keywords per text: 0 (similar) to 1 (diverse)."
    )
    check: list[str] = Field([], description="Further methods to evaluate against assigned keywords, if installed.")

    def settings(self, context: GoldContext, method: str) -> MappingSettings:
        """Return the settings of a method; methods other than the chosen one have their default threshold."""
        return MappingSettings(
            method=method,
            model=self.model,
            threshold=self.threshold if method == self.method else None,
            synonyms=None if self.synonyms is None else context.path(self.synonyms),
            diversity=self.diversity if method == "keybert" else None,
        )


@GOLD_KINDS.register("keywords")
class KeywordsGold(GoldTable):
    """Items with the keywords of a query: all, any, a minimum number, or graded by their share."""

    kind: Literal["keywords"]
    path: str = Field(description="A table of annotations, one row per item: CSV, TSV, JSONL or Parquet.")
    id: str | None = Field(None, description="Its id column, if not detected by name.")
    groups: list[str] | dict[str, str | list[str]] | None = Field(
        None, description="The columns of each semantic group, or a list of columns; default: each column is a group."
    )
    select: list[str] = Field([], description="The groups to use; default: all.")
    separator: str = Field(SEPARATOR, description="The separator of several values in a cell.")
    no_value: list[str] = Field(list(NO_VALUE), description="Cells that mean no value.")
    match: str = Field("all", description="all, any, at-least-2 (3 …), or graded: the share of the keywords.")
    queries: str | None = Field(None, description="A file of texts; default: the items themselves are the queries.")
    keywords: Literal["given", "mapped"] | None = Field(
        None, description="Whether the keywords of texts are given in their file, or mapped; default: given if present."
    )
    mapping: MappingTable = Field(MappingTable(), description="Mapping of texts to keywords.")
    without_keywords: WithoutKeywords = Field(
        "skip", description="A query without a keyword: skip it, count all items as relevant, or error."
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Use a random sample of the items as queries.")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="The seed of the sample.")
    show: list[str] = Field([], description="Queries whose results are shown by keyword; default: the worst.")

    def load(self, context: GoldContext) -> LoadedGold:
        groups = {name: name for name in self.groups} if isinstance(self.groups, list) else self.groups
        everything = read_annotations(
            context.path(self.path), groups, id_column=self.id, separator=self.separator, no_value=self.no_value
        )
        counted = everything.select(tuple(self.select)) if self.select else everything
        match, texts = KeywordMatch.parse(self.match), QueryTexts()
        if self.queries is None:
            wanted = None if self.sample is None else sample_ids(everything.ids, self.sample, self.seed)
            asked = gold_from_items(counted, wanted, match, self.without_keywords)
        else:
            texts = self._texts(context, context.path(self.queries), everything.vocabulary, counted.vocabulary.groups)
            numbers = counted.vocabulary.number_of
            known = [numbers.get(keyword, -1) for keyword in everything.vocabulary.keywords]
            chosen = [[known[code] for code in codes if known[code] >= 0] for codes in texts.numbers]
            asked = gold_from_keywords(counted, texts.ids, chosen, match, self.without_keywords, source=texts.source)
        about = {
            "match": self.match,
            "groups": list(counted.vocabulary.groups),
            "items": len(everything),
            "vocabulary": len(counted.vocabulary),
            "without_keywords": list(asked.skipped),
        }
        items_ask = asked.predicates.own is not None
        notes = (*everything.notes, *asked.notes(texts.about.get("unmapped", ())), *texts.notes)
        found = LoadedKeywords(
            {ONLY_ASPECT: asked.gold()},
            queries_are_items=items_ask,
            exclude_self=items_ask or None,
            sections=(Keywords(about | texts.about | {"show": list(self.show)}),),
            texts={name: text for name, text in zip(texts.ids, texts.texts, strict=True) if text},
            predicates=asked.predicates,
            everything=everything,
            show=tuple(self.show),
        )
        warnings = [*as_warnings(notes, "keywords"), *found.query_warnings()]
        if self.match == "graded":
            warnings += threshold_warnings(context.asked, _NO_THRESHOLD)
        return replace(found, warnings=tuple(warnings))

    def _texts(self, context: GoldContext, path: str, vocabulary: Vocabulary, groups: Sequence[str]) -> QueryTexts:
        """Read the texts with the keywords in their file, or map them to the keywords of some groups."""
        mapped = self.keywords == "mapped"
        labelled: list[LabelledText] | None = None
        if self.keywords == "given" or any(KEYWORDS in text.fields for text in read_query_records(Source.open(path))):
            labelled = read_labelled_texts(path, vocabulary, separator=self.separator, partly=mapped)
            if not mapped:
                ids, texts = [text.id for text in labelled], [text.text for text in labelled]
                return QueryTexts(ids, texts, [sorted(text.numbers) for text in labelled], path, {"keywords": "given"})
        return self._mapped_texts(context, path, vocabulary, groups, labelled)

    def _mapped_texts(
        self,
        context: GoldContext,
        path: str,
        vocabulary: Vocabulary,
        groups: Sequence[str],
        labelled: Sequence[LabelledText] | None,
    ) -> QueryTexts:
        """Map the texts to keywords, and evaluate the mapping if some have labelled keywords as well."""
        table, frame = self.mapping, read_queries(path)
        ids, texts = frame["id"].to_list(), frame["text"].to_list()
        settings = table.settings(context, table.method)
        mapper = make_mapper(vocabulary, settings)
        mapped = map_texts(texts, vocabulary, settings, context.progress, groups=groups, mapper=mapper)
        by_id = dict(zip(ids, mapped, strict=True))
        about: dict[str, Any] = {
            "keywords": "mapped",
            "mapping": {
                "method": settings.method,
                "model": None if settings.method == "exact" else settings.model,
                "threshold": mapper.threshold,
                **({} if settings.diversity is None else {"diversity": settings.diversity}),
                "queries": {name: text.to_json() for name, text in sorted(by_id.items())},
            },
        }
        notes = list(mapper.notes)
        if labelled is not None:
            truth = {text.id: text.numbers for text in labelled}

            def quality(extractions: Sequence[Extraction]) -> dict[str, Any]:
                judged = [(text, truth[name]) for name, text in zip(ids, extractions, strict=True) if name in truth]
                ours = [frozenset(text.numbers(vocabulary)) for text, _ in judged]
                compared = compare_mappings(ours, [numbers for _, numbers in judged], vocabulary, groups)
                by_group = {name: group.to_json() for name, group in compared.by_group.items()}
                return {**compared.whole.to_json(), "groups": by_group}

            about["quality"] = {table.method: quality(mapped)}
            for method in dict.fromkeys(method for method in table.check if method != table.method):
                try:
                    other = table.settings(context, method)
                    extractions = map_texts(texts, vocabulary, other, context.progress, groups=groups)
                    about["quality"][method] = quality(extractions)
                except MissingExtra as error:
                    notes.append(f"the method {method} was not evaluated: {error}")
        unmapped = sorted(name for name, text in by_id.items() if not text.mapped)
        if unmapped:
            about["unmapped"] = unmapped
            effect = "every item is relevant" if self.without_keywords == "all" else "omitted"
            synonyms = f" --synonyms {table.synonyms}" if table.synonyms else ""
            file = Path(vocabulary.source).name
            notes.append(
                f"{plural(len(unmapped), 'text maps', 'texts map')} to no keyword by {settings.method}, {effect}: "
                f"{join_names(unmapped, 5)} (rankjury keywords TEXT --vocabulary {file} "
                f"--method {settings.method}{synonyms} shows why)"
            )
        return QueryTexts(ids, texts, [text.numbers(vocabulary) for text in mapped], path, about, tuple(notes))

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from fault_of("match", lambda: KeywordMatch.parse(self.match))
        for method in (self.mapping.method, *self.mapping.check):
            if MAPPERS.find(method) is None:
                yield "mapping", str(UnknownName("method", method, MAPPERS.names()))
        if self.mapping.diversity is not None and "keybert" not in (self.mapping.method, *self.mapping.check):
            yield "mapping", f"diversity is for the method keybert, but the method is {self.mapping.method}"
        for name in self.select:
            if self.groups is not None and name not in self.groups:
                yield "select", str(UnknownName("group", name, self.groups))
        if self.queries is None and self.keywords is not None:
            yield "keywords", "is for texts, but queries is not set"
        if self.queries is not None and self.sample is not None:
            yield "sample", "is for item queries, but queries is a file of texts"


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedKeywords(LoadedGold):
    """Gold of keywords: slices by keyword, and partial matches of results."""

    predicates: Predicates
    everything: Annotations
    """Keywords of all groups, including those that are not selected."""
    show: tuple[str, ...] = ()
    """Queries to show completely."""

    def candidates(self, gold: Gold) -> int | Mapping[str, int] | None:
        return len(self.everything) - bool(self.queries_are_items)

    def measures(self, asked: tuple[NamedMeasure, ...]) -> tuple[NamedMeasure, ...]:
        """Return the measures; for text queries, an item with the id of a text is kept."""
        if self.queries_are_items:
            return asked
        return tuple(replace(named, measure=named.measure.with_options({"self": "keep"})) for named in asked)

    def slices(self, wanted: Collection[str]) -> list[SliceTable]:
        """Return the queries by keyword and by group; empty if all keywords are rare.

        Rare keywords, and those beyond the maximum, are combined, except those of the slices ``wanted``.
        """
        vocabulary = self.predicates.annotations.vocabulary
        asked = [self.predicates.codes_of(query).tolist() for query in range(len(self.predicates))]
        often = Counter(chain.from_iterable(asked))
        counts = Counter(keyword.name for keyword in vocabulary.keywords)  # with the group if several groups have it
        names = [keyword.name if counts[keyword.name] == 1 else str(keyword) for keyword in vocabulary.keywords]
        first = sorted(often, key=lambda code: (-often[code], code))[:_MAX_SLICES]
        shown = {code for code in first if often[code] >= _MIN_QUERIES}
        shown |= {code for code in often if f"{_KEYWORD}={names[code]}" in wanted}
        if not shown:
            return []
        table = pl.DataFrame(
            {
                QUERY: self.predicates.queries.cast(pl.String),
                _KEYWORD: [[names[code] if code in shown else _OTHERS for code in codes] for codes in asked],
                _GROUP: [list(vocabulary.by_group(codes)) for codes in asked],
            },
            schema={QUERY: pl.String, _KEYWORD: pl.List(pl.String), _GROUP: pl.List(pl.String)},
        )
        attributes = [(Attribute(name),) for name in (_KEYWORD, _GROUP)]
        return [SliceTable(table, QUERY, "queries", attributes, self.predicates.source)]

    def complete(self, loaded: Loaded, threshold: float | None, context: GoldContext) -> Loaded:
        """Return it with partial matches: which keywords the top results have and lack."""
        if not isinstance(loaded.ranking, Ranking):
            return loaded
        ranking = drop_self(loaded.ranking) if self.exclude_self else loaded.ranking
        k = min(context.largest_cut, _MAX_RESULTS)
        found = partial_matches(
            self.predicates, ranking, k, threshold=threshold, everything=self.everything, kept=self.show,
            ties=context.ties,
        )  # fmt: skip
        is_known = any(warning.code == _UNKNOWN for warning in loaded.warnings)
        warnings = [] if is_known else warn_of_names(found.unknown, "result is", "results are", _OF_NO_ITEM, _UNKNOWN)
        loaded = replace(loaded, ranking=ranking).adding(warnings=warnings)
        return super().complete(loaded, threshold, context).adding(found)

    def query_warnings(self) -> Iterator[ReportWarning]:
        """Yield warnings about unknown queries to show, and about keywords beyond the maximum of slices."""
        known = set(self.predicates.queries.cast(pl.String))
        for query in self.show:
            if query not in known:
                yield ReportWarning(f"show contains {query}, which is not a query or was omitted", code="unknown-query")
        often = int((np.bincount(self.predicates.codes) >= _MIN_QUERIES).sum())
        if often > _MAX_SLICES:
            text = (
                f"only the {_MAX_SLICES} most frequent of {often:,} keywords have slices: the rest is "
                f"{_KEYWORD}={_OTHERS}; slices of targets are always included"
            )
            yield ReportWarning(text, code="many-keywords", count=often)

    def choose_queries(
        self, gold: Gold, corpus: Vectors, queries: Vectors | None
    ) -> tuple[pl.Series, Sequence[ReportWarning]]:
        """Return the queries that have a vector, and warnings about queries and items without vectors."""
        ids = self.predicates.queries.cast(pl.String).sort()
        asked = corpus if queries is None else queries
        has_vector = pl.Series(asked.rows_of(ids) >= 0)
        if not has_vector.any():
            raise DataError(
                f"no query has a vector: the queries are {join_names(ids, 3)}, "
                f"the vectors are of {join_names(asked.ids, 3)}",
                where=asked.source,
                expected="vectors with the queries' ids",
                hint="Check prefixes, leading zeros, and that these files belong together.",
            )
        lacking = self.everything.ids.filter(pl.Series(corpus.rows_of(self.everything.ids) < 0))
        extra = corpus.ids.filter(pl.Series(self.everything.rows_of(corpus.ids) < 0))
        without = ids.filter(~has_vector) if queries is not None else ids.clear()
        return ids.filter(has_vector), [
            *warn_of_names(
                lacking, "annotated item has", "annotated items have", "no vector, and cannot be retrieved", "no-vector"
            ),
            *warn_of_names(extra, "vector is", "vectors are", _OF_NO_ITEM, _UNKNOWN),
            *warn_of_names(without, "query has", "queries have", "no vector", "queries-without-vector"),
        ]
