"""The kind of gold that is made of keywords: items are relevant that have what a query asks for."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field

from rankjury.core.convert import QUERY
from rankjury.core.text import join_names, plural
from rankjury.core.types import Gold, Ranking, Vectors
from rankjury.errors import DataError, RankjuryError, UnknownName
from rankjury.evaluation.sections import Keywords, ReportWarning, as_warnings
from rankjury.evaluation.slices import SliceTable
from rankjury.evaluation.slices.groups import Attribute
from rankjury.io.ordered_lists import ONLY_ASPECT
from rankjury.labeling.keywords.gold import KeywordGold, WithoutKeywords, ask_items, ask_keywords
from rankjury.labeling.keywords.mapping import MAPPERS
from rankjury.labeling.keywords.partial_match import partial_matches
from rankjury.labeling.keywords.read_annotations import NO_VALUE, SEPARATOR, read_annotations
from rankjury.labeling.keywords.vocabulary import Annotations, Match, Predicates, Vocabulary
from rankjury.measures.dialects import NamedMeasure
from rankjury.plan import GOLD_KINDS
from rankjury.plan.context import TOP, GoldContext, GoldTable, Loaded, LoadedGold, loose_measures
from rankjury.plan.gold.keyword_mapping import MappingTable, Texts, map_query_texts, read_given_texts
from rankjury.retrieval.agreement.pairs import sample_ids
from rankjury.retrieval.rank import drop_self

_MOST_SLICES = 60
_FEWEST_QUERIES = 5
_FEW = 3
_MOST_LOOKED_AT = 50
"""How many results of a query are looked at keyword by keyword."""
_KEYWORD, _GROUP = "keyword", "group"
_OTHERS = "(others)"
"""Keywords that few queries ask for, or that are too many."""
_UNKNOWN = "unknown-items"
"""Code of the warning about items without annotations."""


@GOLD_KINDS.register("keywords")
class KeywordsGold(GoldTable):
    """Items with the keywords that a query asks for: all, any, at least so many, or graded by their share."""

    kind: Literal["keywords"]
    path: str = Field(description="A table of annotations, a row an item: CSV, TSV, JSONL or Parquet.")
    id: str | None = Field(None, description="Its column of ids, where the name does not tell.")
    groups: list[str] | dict[str, str | list[str]] | None = Field(
        None, description="The columns of each semantic group, or columns that are one each; unset: every column is."
    )
    select: list[str] = Field([], description="The groups that count; unset: all.")
    separator: str = Field(SEPARATOR, description="What splits several values in a cell.")
    no_value: list[str] = Field(list(NO_VALUE), description="What a cell without a value says.")
    match: str = Field("all", description="all, any, at-least-2 (3 …), or graded: the share of the keywords.")
    queries: str | None = Field(None, description="A file of texts; unset: the items themselves are the queries.")
    keywords: Literal["given", "mapped"] | None = Field(
        None, description="The texts' keywords are given in their file, or mapped; unset: given where they are."
    )
    mapping: MappingTable = Field(MappingTable(), description="How texts are mapped onto keywords.")
    without_keywords: WithoutKeywords = Field(
        "skip", description="A query without a keyword: skip it, count all items as relevant, or error."
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Ask only so many of the items, by the seed.")
    seed: Annotated[int, Field(ge=0)] = Field(42, description="The seed of the sample.")
    show: list[str] = Field([], description="Queries whose results are shown keyword by keyword; unset: the worst.")

    def load(self, context: GoldContext) -> LoadedGold:
        everything = read_annotations(
            context.path(self.path), self._columns, id_column=self.id, separator=self.separator, no_value=self.no_value
        )
        counted = everything.select(tuple(self.select)) if self.select else everything
        match, texts = Match.parse(self.match), Texts()
        if self.queries is None:
            wanted = None if self.sample is None else sample_ids(everything.ids, self.sample, self.seed)
            asked = ask_items(counted, wanted, match, self.without_keywords)
        else:
            texts = self._texts(context, context.path(self.queries), everything.vocabulary, counted.vocabulary.groups)
            asked = self._asked(texts, everything, counted, match)
        about = {
            "match": self.match,
            "groups": list(counted.vocabulary.groups),
            "items": len(everything),
            "vocabulary": len(counted.vocabulary),
            "without_keywords": list(asked.skipped),
        }
        names = {name: text for name, text in zip(texts.ids, texts.texts, strict=True) if text}
        items_ask = asked.predicates.own is not None
        notes = (*everything.notes, *asked.notes(texts.about.get("unmapped", ())), *texts.notes)
        found = LoadedKeywords(
            {ONLY_ASPECT: asked.gold()},
            queries_are_items=items_ask,
            exclude_self=items_ask or None,
            sections=(Keywords(about | texts.about | {"show": list(self.show)}),),
            texts=names,
            predicates=asked.predicates,
            everything=everything,
            show=tuple(self.show),
        )
        return replace(
            found, warnings=(*as_warnings(notes, "keywords"), *found.query_warnings(), *self._cautions(context.asked))
        )

    @property
    def _columns(self) -> dict[str, str | list[str]] | None:
        return {name: name for name in self.groups} if isinstance(self.groups, list) else self.groups

    def _texts(self, context: GoldContext, path: str, vocabulary: Vocabulary, groups: Sequence[str]) -> Texts:
        mapped = self.keywords == "mapped"
        given = read_given_texts(path, vocabulary, self.separator, needed=self.keywords == "given", partly=mapped)
        if given is not None and not mapped:
            return given
        skipped = self.without_keywords != "all"
        return map_query_texts(path, vocabulary, self.mapping, context, groups, given, skipped=skipped)

    def _asked(self, texts: Texts, everything: Annotations, counted: Annotations, match: Match) -> KeywordGold:
        numbers = counted.vocabulary.number_of
        known = [numbers.get(one, -1) for one in everything.vocabulary.keywords]
        chosen = [[known[code] for code in codes if known[code] >= 0] for codes in texts.numbers]
        return ask_keywords(counted, texts.ids, chosen, match, self.without_keywords, source=texts.source)

    def _cautions(self, asked: Sequence[NamedMeasure]) -> Iterator[ReportWarning]:
        """Under graded, an item with any one of the keywords is relevant, unless a measure says from which grade on."""
        loose = loose_measures(asked)
        if self.match == "graded" and loose:
            yield ReportWarning(
                f"match = graded: {', '.join(loose)} count items that have any of the keywords; (rel=1), or the "
                "dialect alfa, counts those that have all",
                code="no-threshold",
                count=len(loose),
            )

    def faults(self) -> Iterator[tuple[str, str]]:
        """Keys whose values are not known, or do not fit together."""
        try:
            Match.parse(self.match)
        except RankjuryError as error:
            yield "match", str(error)
        for method in (self.mapping.method, *self.mapping.check):
            if MAPPERS.find(method) is None:
                yield "mapping", str(UnknownName("method", method, MAPPERS.names()))
        if self.mapping.diversity is not None and "keybert" not in (self.mapping.method, *self.mapping.check):
            yield "mapping", f"diversity is for the method keybert, but the method is {self.mapping.method}"
        if self.groups is not None:
            for name in self.select:
                if name not in self.groups:
                    yield "select", str(UnknownName("group", name, self.groups))
        if self.queries is None and self.keywords is not None:
            yield "keywords", "is for texts, but queries names no file of them"
        if self.queries is not None and self.sample is not None:
            yield "sample", "is for items that are queries, but queries names a file of texts"


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedKeywords(LoadedGold):
    """A gold of keywords: slices by keyword, and what results have and lack of the keywords asked for."""

    predicates: Predicates
    everything: Annotations
    """The keywords of all groups, also of those that do not count."""
    show: tuple[str, ...] = ()
    """Queries to be shown whole."""

    def candidates(self, gold: Gold) -> int | Mapping[str, int] | None:
        return len(self.everything) - bool(self.queries_are_items)

    def measures(self, asked: tuple[NamedMeasure, ...]) -> tuple[NamedMeasure, ...]:
        """An item that has the id of a text is not that text, and is not dropped."""
        if self.queries_are_items:
            return asked
        return tuple(replace(one, measure=one.measure.with_options({"self": "keep"})) for one in asked)

    def slices(self, wanted: Collection[str]) -> list[SliceTable]:
        """Return the queries by keyword and by group that they ask for; none where all keywords are rare.

        Keywords that few queries ask for, or that are too many, are put together, save those of the slices ``wanted``.
        """
        vocabulary = self.predicates.annotations.vocabulary
        asked = [self.predicates.codes_of(query).tolist() for query in range(len(self.predicates))]
        often = Counter(code for codes in asked for code in codes)
        names = _names(vocabulary)
        first = sorted(often, key=lambda code: (-often[code], code))[:_MOST_SLICES]
        kept = {code for code in first if often[code] >= _FEWEST_QUERIES}
        kept |= {code for code in often if f"{_KEYWORD}={names[code]}" in wanted}
        if not kept:
            return []
        table = pl.DataFrame(
            {
                QUERY: self.predicates.queries.cast(pl.String),
                _KEYWORD: [[names[code] if code in kept else _OTHERS for code in codes] for codes in asked],
                _GROUP: [list(vocabulary.by_group(codes)) for codes in asked],
            },
            schema={QUERY: pl.String, _KEYWORD: pl.List(pl.String), _GROUP: pl.List(pl.String)},
        )
        attributes = [(Attribute(name),) for name in (_KEYWORD, _GROUP)]
        return [SliceTable(table, QUERY, "queries", attributes, self.predicates.source)]

    def complete(self, loaded: Loaded, threshold: float | None, context: GoldContext) -> Loaded:
        """Return it with partial matches: what the first results have and lack."""
        if not isinstance(loaded.ranking, Ranking):
            return loaded
        ranking = drop_self(loaded.ranking) if self.exclude_self else loaded.ranking
        k = min(max(context.cuts, default=TOP), _MOST_LOOKED_AT)
        found = partial_matches(
            self.predicates, ranking, k, threshold=threshold, everything=self.everything, kept=self.show,
            ties=context.ties,
        )  # fmt: skip
        warnings = []
        if found.unknown and not any(one.code == _UNKNOWN for one in loaded.warnings):
            many = plural(len(found.unknown), "result is", "results are")
            text = f"{many} of no annotated item, and never relevant: {join_names(found.unknown)}"
            warnings.append(ReportWarning(text, code=_UNKNOWN, count=len(found.unknown)))
        loaded = replace(loaded, ranking=ranking).adding(warnings=warnings)
        return super().complete(loaded, threshold, context).adding(found)

    def query_warnings(self) -> Iterator[ReportWarning]:
        """Warn of queries to show that do not exist, and of keywords without a slice though many ask for them."""
        known = set(self.predicates.queries.cast(pl.String))
        for query in self.show:
            if query not in known:
                yield ReportWarning(f"show names {query}, which is no query, or was left out", code="unknown-query")
        often = int((np.bincount(self.predicates.codes) >= _FEWEST_QUERIES).sum())
        if often > _MOST_SLICES:
            yield ReportWarning(
                f"slices are of the {_MOST_SLICES} keywords that most queries ask for, of {often:,}: the rest is "
                f"{_KEYWORD}={_OTHERS}; a target's slice is always there",
                code="many-keywords",
                count=often,
            )

    def choose_queries(
        self, gold: Gold, corpus: Vectors, queries: Vectors | None
    ) -> tuple[pl.Series, Sequence[ReportWarning]]:
        """Return the queries that have a vector, and warnings about queries and items that have none."""
        ids = self.predicates.queries.cast(pl.String).sort()
        asked = corpus if queries is None else queries
        there = pl.Series(asked.rows_of(ids) >= 0)
        if not there.any():
            raise DataError(
                f"no query has a vector: the queries are {join_names(ids, _FEW)}, "
                f"the vectors are of {join_names(asked.ids, _FEW)}",
                where=asked.source,
                expected="vectors with the queries' ids",
                hint="Check prefixes, leading zeros, and that these files belong together.",
            )
        lacking = self.everything.ids.filter(pl.Series(corpus.rows_of(self.everything.ids) < 0))
        extra = corpus.ids.filter(pl.Series(self.everything.rows_of(corpus.ids) < 0))
        found = []
        if len(lacking):
            many = plural(len(lacking), "annotated item has", "annotated items have")
            text = f"{many} no vector, and cannot be found: {join_names(lacking)}"
            found.append(ReportWarning(text, code="no-vector", count=len(lacking)))
        if len(extra):
            many = plural(len(extra), "vector is", "vectors are")
            text = f"{many} of no annotated item, and never relevant: {join_names(extra)}"
            found.append(ReportWarning(text, code=_UNKNOWN, count=len(extra)))
        if queries is not None and not there.all():
            silent = ids.filter(~there)
            text = f"{plural(len(silent), 'query has', 'queries have')} no vector: {join_names(silent)}"
            found.append(ReportWarning(text, code="queries-without-vector", count=len(silent)))
        return ids.filter(there), found


def _names(vocabulary: Vocabulary) -> list[str]:
    """Of each keyword its name, with the group where two groups have it."""
    often = Counter(one.name for one in vocabulary.keywords)
    return [one.name if often[one.name] == 1 else str(one) for one in vocabulary.keywords]
