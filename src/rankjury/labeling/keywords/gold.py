"""Keywords as gold: an item is relevant when it has what the query asks for.

Queries are items themselves (their own keywords are asked for, and they are not relevant to themselves), or anything
with a list of keywords, such as texts that were mapped onto the vocabulary.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import polars as pl

from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Gold, gathered
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.labeling.keywords.vocabulary import Annotations, Match, Predicates

MOST_LISTED = 5_000_000
"""Relevant items of all queries that are held by name; where there are more, only those that a ranking names."""
_NAMED = 5
WithoutKeywords = Literal["skip", "all", "error"]


@dataclass(frozen=True, eq=False)
class KeywordGold:
    """What is asked for, and the queries that ask for nothing."""

    predicates: Predicates
    skipped: tuple[str, ...] = ()
    """Queries without keywords, which were left out."""

    def gold(self) -> Gold:
        """With every relevant item, or where these are too many, with those that a ranking names."""
        few = int(self.predicates.relevant_counts.sum()) <= MOST_LISTED
        return self.predicates.gold() if few else self.predicates.gold_by_number()

    def notes(self, known: Sequence[str] = ()) -> list[str]:
        """What is to be told, save of queries that were told of before."""
        skipped = [query for query in self.skipped if query not in set(known)]
        return [_skipped_told(skipped)] if skipped else []


@check_arguments
def keyword_gold(
    annotations: Annotations,
    queries: Mapping[str, Iterable[str]] | None = None,
    *,
    match: str = "all",
    groups: Sequence[str] = (),
    without: WithoutKeywords = "skip",
) -> Gold:
    """The items that have the keywords which each query asks for, by name; without queries the items are these.

    ``match``: all, any, at-least-2 (3 …) or graded. ``groups`` are those that count; none named: all.
    """
    counted = annotations.select(tuple(groups)) if len(groups) else annotations
    if queries is None:
        return _told(ask_items(counted, None, Match.parse(match), without))
    for name, keywords in queries.items():
        if isinstance(keywords, str):
            raise UsageError(f"the keywords of {name!r} are the text {keywords!r}", expected=f"a list: [{keywords!r}]")
    numbers = [[counted.vocabulary.find(keyword) for keyword in keywords] for keywords in queries.values()]
    return _told(ask_keywords(counted, list(queries), numbers, Match.parse(match), without))


def _told(asked: KeywordGold) -> Gold:
    """A script has no other place to be told."""
    for note in asked.notes():
        warnings.warn(note, stacklevel=3)
    return asked.gold()


def ask_items(
    annotations: Annotations,
    wanted: pl.Series | None = None,
    match: Match | None = None,
    without: WithoutKeywords = "skip",
) -> KeywordGold:
    """Each of these items, or of all, asks for others with its keywords."""
    rows = np.arange(len(annotations)) if wanted is None else annotations.rows_of(wanted)
    if (rows < 0).any():
        unknown = wanted.filter(pl.Series(rows < 0)) if wanted is not None else annotations.ids[:0]
        raise DataError(
            f"{plural(len(unknown), 'query is', 'queries are')} no annotated item: {join_names(unknown, _NAMED)}",
            where=annotations.source,
            expected="annotated items",
        )
    starts, at = gathered(annotations.starts, rows)
    predicates = Predicates(
        annotations,
        annotations.ids.gather(rows),
        starts,
        annotations.codes[at],
        match or Match(),
        rows,
        annotations.source,
    )
    return _settled(predicates, without)


def ask_keywords(
    annotations: Annotations,
    queries: Sequence[str],
    numbers: Sequence[Sequence[int]],
    match: Match | None = None,
    without: WithoutKeywords = "skip",
    *,
    source: str = "queries",
) -> KeywordGold:
    """Each query asks for the keywords of these numbers in the annotations' vocabulary."""
    lists = [sorted(set(one)) for one in numbers]
    starts = np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
    codes = np.array([code for one in lists for code in one], dtype=np.int64)
    names = pl.Series(list(queries), dtype=pl.String)
    return _settled(Predicates(annotations, names, starts, codes, match or Match(), None, source), without)


def _settled(predicates: Predicates, without: WithoutKeywords) -> KeywordGold:
    """Every item would be relevant to a query without keywords: it is left out, unless that is what is wanted."""
    if without not in get_args(WithoutKeywords):
        raise UnknownName("way with queries without keywords", without, get_args(WithoutKeywords))
    _check_queries(predicates)
    bare = np.diff(predicates.starts) == 0
    if not bare.any() or without == "all":
        return KeywordGold(predicates)
    skipped = tuple(predicates.queries.filter(pl.Series(bare)).sort().to_list())
    if without == "error" or bare.all():
        raise DataError(
            _skipped_told(skipped).replace(", left out", ""),
            where=predicates.source,
            expected="a keyword of the selected groups for every query" if without == "error" else "one that has any",
            hint="Select more groups, or lower the threshold of the mapping.",
        )
    return KeywordGold(_those(predicates, ~bare), skipped)


def _check_queries(predicates: Predicates) -> None:
    twice = predicates.queries.filter(predicates.queries.is_duplicated()).unique(maintain_order=True)
    if len(twice):
        raise DataError(
            f"{plural(len(twice), 'duplicate query', 'duplicate queries')}: {join_names(map(repr, twice), _NAMED)}",
            where=predicates.source,
            expected="each query once",
        )


def _those(predicates: Predicates, kept: Bools) -> Predicates:
    rows = np.flatnonzero(kept)
    starts, at = gathered(predicates.starts, rows)
    return Predicates(
        predicates.annotations,
        predicates.queries.gather(rows),
        starts,
        predicates.codes[at],
        predicates.match,
        None if predicates.own is None else predicates.own[rows],
        predicates.source,
    )


def _skipped_told(skipped: Sequence[str]) -> str:
    return (
        f"{plural(len(skipped), 'query has', 'queries have')} no keyword in the selected groups (everything would be "
        f"relevant), left out: {join_names(skipped, _NAMED)}"
    )
