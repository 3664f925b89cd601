"""The texts of a plan's queries and their keywords: given with them, or mapped, and then how well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rankjury.core.text import join_names, plural
from rankjury.errors import MissingExtra
from rankjury.io.source import Source
from rankjury.labeling.keywords.labelled import KEYWORDS, read_labelled
from rankjury.labeling.keywords.mapping import Extraction, Settings, make_mapper, map_texts
from rankjury.labeling.keywords.quality import within
from rankjury.labeling.keywords.vocabulary import Vocabulary
from rankjury.labeling.products.queries import query_records, read_queries
from rankjury.plan.context import GoldContext, PlanTable

_NAMED = 5


class MappingTable(PlanTable):
    """How texts are mapped onto the keywords."""

    method: str = Field("exact", description="exact, embedding or keybert.")
    model: str = Field("wordllama", description="The model of the methods embedding and keybert.")
    threshold: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The score that an n-gram must exceed; unset: the method's default."
    )
    synonyms: str | None = Field(None, description="A TOML file of phrases that mean a keyword.")
    diversity: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Let KeyBERT's MMR choose keywords for each text, 0 by similarity to 1 by difference."
    )
    check: list[str] = Field(
        [], description="Further methods whose quality is measured against given keywords, where they are installed."
    )

    def settings(self, context: GoldContext, method: str) -> Settings:
        """Of a method; any but the chosen one has its usual threshold."""
        return Settings(
            method=method,
            model=self.model,
            threshold=self.threshold if method == self.method else None,
            synonyms=None if self.synonyms is None else context.path(self.synonyms),
            diversity=self.diversity if method == "keybert" else None,
        )


@dataclass(frozen=True)
class Texts:
    """Queries that are texts, and the numbers of their keywords among those of all groups."""

    ids: Sequence[str] = ()
    texts: Sequence[str] = ()
    numbers: Sequence[Sequence[int]] = ()
    source: str = "queries"
    about: dict[str, Any] = field(default_factory=dict)
    """For the report."""
    notes: tuple[str, ...] = ()


def read_given_texts(
    path: str, vocabulary: Vocabulary, separator: str, *, needed: bool, partly: bool = False
) -> Texts | None:
    """The texts with the keywords that stand in their file; None where none does, unless they are ``needed``.

    ``partly``: only those that have any.
    """
    if not needed and not any(KEYWORDS in one.fields for one in query_records(Source.open(path))):
        return None
    labelled = read_labelled(path, vocabulary, separator=separator, partly=partly)
    ids, texts = [one.id for one in labelled], [one.text for one in labelled]
    return Texts(ids, texts, [sorted(one.numbers) for one in labelled], path, {"keywords": "given"})


def map_query_texts(
    path: str,
    vocabulary: Vocabulary,
    table: MappingTable,
    context: GoldContext,
    groups: Sequence[str],
    given: Texts | None,
    *,
    skipped: bool = True,
) -> Texts:
    """The texts mapped onto the keywords of some groups; where keywords are given as well, with how well it went.

    ``skipped``: what becomes of those that map to none, to be told.
    """
    frame = read_queries(path)
    ids, texts = frame["id"].to_list(), frame["text"].to_list()
    settings = table.settings(context, table.method)
    mapper = make_mapper(vocabulary, settings)
    found = map_texts(texts, vocabulary, settings, context.progress, groups=groups, mapper=mapper)
    about: dict[str, Any] = {"keywords": "mapped", "mapping": _told(settings, mapper.threshold, ids, found)}
    notes = list(mapper.notes)
    if given is not None:
        judge = _Judge(vocabulary, groups, ids, dict(zip(given.ids, given.numbers, strict=True)))
        about["quality"] = {table.method: judge.quality(found)}
        for method in dict.fromkeys(table.check):
            if method != table.method:
                about["quality"] |= _checked(method, texts, vocabulary, table, context, judge, notes)
    bare = sorted(name for name, one in zip(ids, found, strict=True) if not one.mapped)
    if bare:
        about["unmapped"] = bare
        told = plural(len(bare), "text maps", "texts map")
        so = "left out" if skipped else "every item is relevant"
        synonyms = f" --synonyms {table.synonyms}" if table.synonyms else ""
        why = f"rankjury keywords TEXT --vocabulary {Path(vocabulary.source).name} --method {settings.method}{synonyms}"
        notes.append(f"{told} to no keyword by {settings.method}, {so}: {join_names(bare, _NAMED)} ({why} shows why)")
    return Texts(ids, texts, [one.numbers(vocabulary) for one in found], path, about, tuple(notes))


@dataclass(frozen=True)
class _Judge:
    """Given keywords, of the groups that count."""

    vocabulary: Vocabulary
    groups: Sequence[str]
    ids: Sequence[str]
    given: Mapping[str, Sequence[int]]
    """By text, of those that have any."""

    def quality(self, found: Sequence[Extraction]) -> dict[str, Any]:
        judged = [(one, self.given[name]) for name, one in zip(self.ids, found, strict=True) if name in self.given]
        mine = [frozenset(one.numbers(self.vocabulary)) for one, _ in judged]
        compared = within(mine, [frozenset(numbers) for _, numbers in judged], self.vocabulary, self.groups)
        groups = {name: one.to_json() for name, one in compared.by_group.items()}
        return {**compared.whole.to_json(), "groups": groups}


def _checked(
    method: str,
    texts: Sequence[str],
    vocabulary: Vocabulary,
    table: MappingTable,
    context: GoldContext,
    judge: _Judge,
    notes: list[str],
) -> dict[str, Any]:
    """The quality of another method, where its libraries are installed."""
    try:
        found = map_texts(texts, vocabulary, table.settings(context, method), context.progress, groups=judge.groups)
    except MissingExtra as error:
        notes.append(f"the method {method} was not measured: {error}")
        return {}
    return {method: judge.quality(found)}


def _told(settings: Settings, threshold: float, ids: Sequence[str], found: Sequence[Extraction]) -> dict[str, Any]:
    return {
        "method": settings.method,
        "model": None if settings.method == "exact" else settings.model,
        "threshold": threshold,
        **({} if settings.diversity is None else {"diversity": settings.diversity}),
        "queries": {name: one.to_json() for name, one in sorted(zip(ids, found, strict=True), key=itemgetter(0))},
    }
