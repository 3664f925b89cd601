"""What a gold of keywords knows beside its grades: who asks for what, and why."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl

from karat.annotations import Annotations
from karat.columns import QUERY
from karat.errors import DataError
from karat.ordering import TieRule
from karat.partial import Partial, partial_matches
from karat.predicates import Predicates
from karat.slices import Attribute, Cuts
from karat.types import Gold, Ranking, Vectors
from karat.vocabulary import Vocabulary
from karat.wording import count, named

__all__ = ["KeywordSide", "wanted_queries"]

_MOST_SLICES = 60
_FEWEST_QUERIES = 5
_FEW = 3
KEYWORD, GROUP = "keyword", "group"
_OTHERS = "(others)"
"""Keywords that few queries ask for, or that are too many."""


@dataclass(frozen=True, eq=False)
class KeywordSide:
    """The predicates of the queries, and where these came from."""

    predicates: Predicates
    everything: Annotations
    """The keywords of all groups, also of those that do not count."""
    about: Mapping[str, Any]
    """How it was made, for the report: groups, match, the mapping of texts and its quality."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """By query."""
    show: tuple[str, ...] = ()
    """Queries to be shown whole."""

    @property
    def candidates(self) -> int:
        """How many items a query can find."""
        return len(self.everything) - (not self.asks_by_texts)

    @property
    def asks_by_texts(self) -> bool:
        """Whether queries are texts: then an item of the same id is no query, and may be found."""
        return self.predicates.own is None

    def cuts(self, wanted: Collection[str] = ()) -> Cuts | None:
        """The queries by keyword and by group that they ask for; None where all keywords are rare.

        Keywords that few queries ask for, or that are too many, are put together, save those of the slices ``wanted``.
        """
        vocabulary = self.predicates.annotations.vocabulary
        asked = [self.predicates.codes_of(query).tolist() for query in range(len(self.predicates))]
        often = Counter(code for codes in asked for code in codes)
        names = _names(vocabulary)
        first = sorted(often, key=lambda code: (-often[code], code))[:_MOST_SLICES]
        kept = {code for code in first if often[code] >= _FEWEST_QUERIES}
        kept |= {code for code in often if f"{KEYWORD}={names[code]}" in wanted}
        if not kept:
            return None
        table = pl.DataFrame(
            {
                QUERY: self.predicates.queries.cast(pl.String),
                KEYWORD: [[names[code] if code in kept else _OTHERS for code in codes] for codes in asked],
                GROUP: [list(vocabulary.by_group(codes)) for codes in asked],
            },
            schema={QUERY: pl.String, KEYWORD: pl.List(pl.String), GROUP: pl.List(pl.String)},
        )
        attributes = [(Attribute(name),) for name in (KEYWORD, GROUP)]
        return Cuts(table, QUERY, "queries", attributes, self.predicates.source)

    def looked_at(self, ranking: Ranking, k: int, threshold: float | None, ties: TieRule = "id") -> Partial:
        """What the first k results of a ranking have and lack."""
        return partial_matches(
            self.predicates, ranking, k, threshold=threshold, everything=self.everything, kept=self.show, ties=ties
        )

    def notes(self) -> list[str]:
        """Queries that were to be shown, but are none; keywords that have no slice though many ask for them."""
        known = set(self.predicates.queries.cast(pl.String))
        found = [f"show names {query}, which is no query, or was left out" for query in self.show if query not in known]
        often = int((np.bincount(self.predicates.codes) >= _FEWEST_QUERIES).sum())
        if often > _MOST_SLICES:
            found.append(
                f"slices are of the {_MOST_SLICES} keywords that most queries ask for, of {often:,}: the rest is "
                f"{KEYWORD}={_OTHERS}; a target's slice is always there"
            )
        return found

    def askable(self, corpus: Vectors, queries: Vectors | None) -> tuple[pl.Series, list[str]]:
        """The queries that have a vector, and what is to be told of those, and of items, that have none."""
        ids = self.predicates.queries.cast(pl.String).sort()
        asked = corpus if queries is None else queries
        there = pl.Series(asked.rows_of(ids) >= 0)
        notes = []
        lacking = self.everything.ids.filter(pl.Series(corpus.rows_of(self.everything.ids) < 0))
        extra = corpus.ids.filter(pl.Series(self.everything.rows_of(corpus.ids) < 0))
        if len(lacking):
            told = count(len(lacking), "annotated item has", "annotated items have")
            notes.append(f"{told} no vector, and cannot be found: {named(lacking)}")
        if len(extra):
            told = count(len(extra), "vector is", "vectors are")
            notes.append(f"{told} of no annotated item, and never relevant: {named(extra)}")
        if queries is not None and not there.all():
            notes.append(
                f"{count(int((~there).sum()), 'query has', 'queries have')} no vector: {named(ids.filter(~there))}"
            )
        return ids.filter(there), notes


class _Shop(Protocol):
    gold: Gold
    keywords: KeywordSide | None

    def note(self, text: str) -> None: ...


def wanted_queries(shop: _Shop, corpus: Vectors, queries: Vectors | None) -> pl.Series:
    """Whom to ask: the gold's queries; where it is of keywords, those that have a vector, the others are told of."""
    if shop.keywords is None:
        return shop.gold.queries.cast(pl.String).sort()
    wanted, notes = shop.keywords.askable(corpus, queries)
    if not len(wanted):
        asked = corpus if queries is None else queries
        known = shop.keywords.predicates.queries.cast(pl.String).sort()
        raise DataError(
            f"no query has a vector: asked are {named(known, _FEW)}; the vectors are of {named(asked.ids, _FEW)}",
            where=asked.source,
            expected="vectors with the queries' ids",
            hint="Check prefixes, leading zeros, and that these files belong together.",
        )
    for note in notes:
        shop.note(note)
    return wanted


def _names(vocabulary: Vocabulary) -> list[str]:
    """Of each keyword its name, with the group where two groups have it."""
    often = Counter(one.name for one in vocabulary.keywords)
    return [one.name if often[one.name] == 1 else str(one) for one in vocabulary.keywords]
