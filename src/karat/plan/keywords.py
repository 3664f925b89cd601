"""The kind of gold that is made of keywords: items are relevant that have what a query asks for."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from karat.annotations import Annotations
from karat.dialects import Asked
from karat.errors import KaratError, UnknownName
from karat.gold.annotations import NO_VALUE, SEPARATOR, read_annotations
from karat.gold.keywords import KeywordGold, WithoutKeywords, ask_items, ask_keywords
from karat.gold.ordered import ONLY_ASPECT
from karat.plan import GOLD_KINDS
from karat.plan.keyword_side import KeywordSide
from karat.plan.mapping import MappingTable, Texts, given_texts, mapped_texts
from karat.plan.tables import Folder, GoldTable, Loaded
from karat.predicates import Match
from karat.sampling import sample_ids
from karat.text.keywords import MAPPERS
from karat.vocabulary import Vocabulary

__all__ = ["KeywordsGold"]


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
        "skip", description="A query without a keyword: skip it, hold all items for relevant, or error."
    )
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Ask only so many of the items, by the seed.")
    seed: Annotated[int, Field(ge=0)] = Field(42, description="The seed of the sample.")
    show: list[str] = Field([], description="Queries whose results are shown keyword by keyword; unset: the worst.")

    def load(self, folder: Folder) -> Loaded:
        everything = read_annotations(
            folder.path(self.path), self._columns, id_column=self.id, separator=self.separator, no_value=self.no_value
        )
        counted = everything.select(tuple(self.select)) if self.select else everything
        match, texts = Match.parse(self.match), Texts()
        if self.queries is None:
            wanted = None if self.sample is None else sample_ids(everything.ids, self.sample, self.seed)
            asked = ask_items(counted, wanted, match, self.without_keywords)
        else:
            texts = self._texts(folder, folder.path(self.queries), everything.vocabulary, counted.vocabulary.groups)
            asked = self._asked(texts, everything, counted, match)
        about = {
            "match": self.match,
            "groups": list(counted.vocabulary.groups),
            "items": len(everything),
            "vocabulary": len(counted.vocabulary),
            "without_keywords": list(asked.skipped),
        }
        names = {name: text for name, text in zip(texts.ids, texts.texts, strict=True) if text}
        side = KeywordSide(asked.predicates, everything, about | texts.about, names, tuple(self.show))
        return Loaded(
            {ONLY_ASPECT: asked.gold()},
            notes=(*everything.notes, *asked.notes(texts.about.get("unmapped", ())), *texts.notes, *side.notes()),
            keywords=side,
        )

    @property
    def _columns(self) -> dict[str, str | list[str]] | None:
        return {name: name for name in self.groups} if isinstance(self.groups, list) else self.groups

    def _texts(self, folder: Folder, path: str, vocabulary: Vocabulary, groups: Sequence[str]) -> Texts:
        mapped = self.keywords == "mapped"
        given = given_texts(path, vocabulary, self.separator, needed=self.keywords == "given", partly=mapped)
        if given is not None and not mapped:
            return given
        skipped = self.without_keywords != "all"
        return mapped_texts(path, vocabulary, self.mapping, folder, groups, given, skipped=skipped)

    def _asked(self, texts: Texts, everything: Annotations, counted: Annotations, match: Match) -> KeywordGold:
        numbers = counted.vocabulary.number_of
        known = [numbers.get(one, -1) for one in everything.vocabulary.keywords]
        chosen = [[known[code] for code in codes if known[code] >= 0] for codes in texts.numbers]
        return ask_keywords(counted, texts.ids, chosen, match, self.without_keywords, source=texts.source)

    def cautions(self, asked: Sequence[Asked]) -> Iterator[str]:
        """Under graded, an item with any one of the keywords is relevant, unless a measure says from which grade on."""
        loose = [
            one.label
            for one in asked
            if one.measure["rel"] is None
            and one.measure.metric.needs_relevant
            and one.measure["gain"] in (None, "binary")
        ]
        if self.match == "graded" and loose:
            yield (
                f"match = graded: {', '.join(loose)} count items that have any of the keywords; (rel=1), or the "
                "dialect alfa, counts those that have all"
            )

    def faults(self) -> Iterator[tuple[str, str]]:
        """Keys whose values are not known, or do not fit together."""
        try:
            Match.parse(self.match)
        except KaratError as error:
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
