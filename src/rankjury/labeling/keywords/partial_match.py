"""Partial matches: which keywords of its query each result has and lacks.

Also the keyword that is missed most and what results have instead, and whether wrong results resemble the query item in
keywords outside of the selected groups.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import compress
from math import fsum, nan
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankjury.core.columns import ITEM, QUERY, SCORE
from rankjury.core.types import Bools, Floats, Ints, Ranking, gathered, places_in
from rankjury.core.validation import Record
from rankjury.evaluation.query_lists import require_scores, top_rows
from rankjury.evaluation.sections import Section
from rankjury.labeling.keywords.annotations import Annotations
from rankjury.labeling.keywords.gold import Predicates
from rankjury.measures.judged import TieRule
from rankjury.stats.formatting import format_percent

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report


@dataclass(frozen=True)
class ResultMatch(Record):
    """A result: rank, score, and which of the query's keywords it has and lacks."""

    item: str
    rank: int
    score: float | None
    has: tuple[str, ...]
    """Keywords as ``group=name``, in the order of the query's."""
    lacks: tuple[str, ...]
    relevant: bool
    shown: bool = True
    """False if its score is below the threshold."""
    annotated: bool = True


@dataclass(frozen=True)
class QueryMatches(Record):
    """A query with its keywords, its number of relevant items and its first results."""

    query: str
    keywords: tuple[str, ...]
    """As ``group=name``."""
    relevant: int
    results: tuple[ResultMatch, ...]


@dataclass(frozen=True)
class Substitute(Record):
    """A keyword that results have instead of another of its group, and their number."""

    keyword: str
    results: int


@dataclass(frozen=True)
class MissedKeyword(Record):
    """How often results lack a keyword (or a keyword of a group) of their query."""

    computed = ("share",)

    name: str
    """``group=name`` of a keyword, or the name of a group."""
    queries: int
    """Queries with this keyword."""
    results: int
    """Results of these queries; for a group, once per keyword."""
    lacking: int
    group: str = ""
    """Group of the keyword."""
    instead: tuple[Substitute, ...] = ()
    """Other keywords of the group that these results have, most frequent first."""

    @property
    def share(self) -> float:
        return self.lacking / self.results if self.results else nan


@dataclass(frozen=True)
class LookAlike(Record):
    """Result with a high score that lacks keywords of the query."""

    query: str
    item: str
    score: float
    lacks: tuple[str, ...]


@dataclass(frozen=True)
class ContextSimilarity(Record):
    """Mean share of the query item's other keywords (outside the selected groups) that items have."""

    json_keys = MappingProxyType({"relevant": "relevant_results", "others": "other_results", "anything": "any_item"})

    relevant: float | None
    """Over relevant results."""
    others: float | None
    """Over results that are not relevant."""
    anything: float
    """Over all items."""
    groups: tuple[str, ...]


@dataclass(frozen=True)
class ResultCounts(Record):
    """Number of results with all, some or none of the keywords of their query."""

    whole: int
    some: int
    none: int


@dataclass(frozen=True, eq=False)
class PartialMatches(Section):
    """Keywords that the first k results of all queries have and lack."""

    name = "partial_matches"
    unwritten = ("unknown",)

    k: int
    threshold: float | None
    results: ResultCounts
    keywords: tuple[MissedKeyword, ...]
    """Sorted by the number of results that lack it, most first."""
    groups: tuple[MissedKeyword, ...]
    queries: tuple[QueryMatches, ...]
    alike: ContextSimilarity | None = None
    """For queries that are items with keywords outside of the selected groups."""
    look_alikes: tuple[LookAlike, ...] = ()
    """The results with the highest scores that are not relevant."""
    not_annotated: int = 0
    """Number of results without annotations."""
    unknown: tuple[str, ...] = ()
    """Ids of these results."""

    def summary(self, report: "Report", system: str | None) -> Iterator[str]:
        """Yield the share of the results that have all keywords of their query, and the keyword missed most."""
        total = self.results.whole + self.results.some + self.results.none
        if not total:
            return
        share = format_percent(self.results.whole / total, 1)
        sentence = f"{share} of the first {self.k} results of {system} have all keywords of their query"
        missed = next((keyword for keyword in self.keywords if keyword.lacking), None)
        if missed is not None:
            name = missed.name.removeprefix(f"{missed.group}=")
            sentence += f"; missed most: {name}, by {missed.lacking:,} of {missed.results:,}"
        yield f"{sentence}."

    def of(self, query: str) -> QueryMatches | None:
        return next((query_matches for query_matches in self.queries if query_matches.query == query), None)


@dataclass(frozen=True, eq=False)
class _ResultPairs:
    """Results as arrays, and as ``frame``: each with the rows of query and item (−1: not annotated), and matches.

    The keywords of the query of result i are ``wanted[starts[i]:starts[i + 1]]``.
    """

    frame: pl.DataFrame
    query: Ints
    item: Ints
    starts: Ints
    wanted: Ints
    has: Bools
    relevant: Bools
    shown: Bools


def partial_matches(
    predicates: Predicates,
    ranking: Ranking,
    k: int,
    *,
    threshold: float | None = None,
    everything: Annotations | None = None,
    kept: Collection[str] = (),
    ties: TieRule = "id",
) -> PartialMatches:
    """Return the partial matches of the first k results; results below the threshold are omitted.

    ``everything`` has the keywords of all groups, if only some are selected. With many queries only some are stored:
    the first by id, and those of ``kept``. ``ties`` is the order of equal scores.
    """
    if threshold is not None:
        require_scores(ranking)
    frame = top_rows(ranking, predicates.queries, k if predicates.own is None else k + 1, ties)
    pairs = _pairs(predicates, frame, k, threshold)
    total = np.concatenate(([0], np.cumsum(pairs.has)))
    met, wanted = np.diff(total[pairs.starts])[pairs.shown], np.diff(pairs.starts)[pairs.shown]
    whole, none = int((met == wanted).sum()), int(((met == 0) & (wanted > 0)).sum())
    keywords = tuple(
        sorted(_keywords(predicates, pairs), key=lambda missed: (-missed.lacking, -missed.results, missed.name))
    )
    unknown = tuple(pairs.frame[ITEM].filter(pl.Series(pairs.item < 0)).unique().sort())
    return PartialMatches(
        k,
        threshold,
        ResultCounts(whole, met.size - whole - none, none),
        keywords,
        tuple(_groups(predicates, keywords)),
        tuple(_query_matches(predicates, pairs, kept, scored=ranking.has_scores)),
        None if everything is None else _context_similarity(predicates, pairs, everything),
        tuple(_look_alikes(predicates, pairs)) if ranking.has_scores else (),
        len(unknown),
        unknown,
    )


def _pairs(predicates: Predicates, frame: pl.DataFrame, k: int, threshold: float | None) -> _ResultPairs:
    rows = pl.Series("row", places_in(predicates.queries.cast(pl.String), frame[QUERY]))
    frame = frame.with_columns(rows, pl.Series("item", predicates.annotations.rows_of(frame[ITEM])))
    if predicates.own is not None:
        own = pl.Series(predicates.own[frame["row"].to_numpy()])
        frame = frame.filter((pl.col("item") != own) | (pl.col("item") < 0))
    frame = frame.with_columns(pl.int_range(1, pl.len() + 1).over(QUERY).alias("rank")).filter(pl.col("rank") <= k)
    query, item = frame["row"].to_numpy(), frame["item"].to_numpy()
    starts, at = gathered(predicates.starts, query)
    wanted = predicates.codes[at]
    has = predicates.annotations.have(np.repeat(item, np.diff(starts)), wanted)
    shown = np.ones(query.size, dtype=bool) if threshold is None else frame[SCORE].to_numpy() >= threshold
    return _ResultPairs(frame, query, item, starts, wanted, has, predicates.grades_of(query, item) == 1.0, shown)


def _keywords(predicates: Predicates, pairs: _ResultPairs) -> Iterator[MissedKeyword]:
    """Yield the missed counts of every keyword of the queries."""
    vocabulary = predicates.annotations.vocabulary
    size = len(vocabulary)
    result = np.repeat(np.arange(pairs.query.size), np.diff(pairs.starts))
    shown = pairs.shown[result]
    lacking = shown & ~pairs.has
    queries = np.bincount(predicates.codes, minlength=size)
    results = np.bincount(pairs.wanted[shown], minlength=size)
    missed = np.bincount(pairs.wanted[lacking], minlength=size)
    rows = result[lacking]
    substitutes = _substitutes(predicates, pairs.wanted[lacking], pairs.query[rows], pairs.item[rows])
    for code in np.flatnonzero(queries).tolist():
        keyword = vocabulary.keywords[code]
        counts = int(queries[code]), int(results[code]), int(missed[code])
        yield MissedKeyword(str(keyword), *counts, keyword.group, tuple(substitutes.get(code, ())))


def _substitutes(predicates: Predicates, lacked: Ints, queries: Ints, items: Ints) -> dict[int, list[Substitute]]:
    """Return for each lacking keyword the most frequent other keywords of its group that the items have."""
    annotations = predicates.annotations
    known = items >= 0
    starts, at = gathered(annotations.starts, items[known])
    codes = annotations.codes[at]
    groups = np.array(annotations.vocabulary.group_numbers)
    lacked, queries = (np.repeat(column[known], np.diff(starts)) for column in (lacked, queries))
    size = len(annotations.vocabulary)
    of_query = np.repeat(np.arange(len(predicates)), np.diff(predicates.starts))
    wanted = np.isin(queries * size + codes, of_query * size + predicates.codes)
    same = (groups[codes] == groups[lacked]) & ~wanted
    pairs, numbers = np.unique(np.stack([lacked[same], codes[same]], axis=1), axis=0, return_counts=True)
    by_keyword: dict[int, list[Substitute]] = {}
    for row in np.argsort(-numbers, kind="stable").tolist():
        code, other = pairs[row].tolist()
        substitute = Substitute(annotations.vocabulary.keywords[other].name, int(numbers[row]))
        by_keyword.setdefault(code, []).append(substitute)
    return {code: others[:3] for code, others in by_keyword.items()}


def _groups(predicates: Predicates, keywords: tuple[MissedKeyword, ...]) -> Iterator[MissedKeyword]:
    vocabulary = predicates.annotations.vocabulary
    group_of = np.array(vocabulary.group_numbers)
    of_query = np.repeat(np.arange(len(predicates)), np.diff(predicates.starts))
    asking = np.unique(np.stack([of_query, group_of[predicates.codes]], axis=1), axis=0)[:, 1]
    for number, group in enumerate(vocabulary.groups):
        members = [missed for missed in keywords if missed.group == group]
        if members:
            results, lacking = sum(missed.results for missed in members), sum(missed.lacking for missed in members)
            yield MissedKeyword(group, int((asking == number).sum()), results, lacking)


def _query_matches(
    predicates: Predicates, pairs: _ResultPairs, kept: Collection[str], *, scored: bool
) -> Iterator[QueryMatches]:
    ids = predicates.queries.cast(pl.String)
    by_query = np.argsort(pairs.query, kind="stable")
    bounds = np.searchsorted(pairs.query[by_query], np.arange(len(predicates) + 1))
    items, ranks, scores = (pairs.frame[name].to_list() for name in (ITEM, "rank", SCORE))
    relevant = predicates.levels.counts[
        predicates.levels.starts[:-1]
    ]  # relevant means best grade, as in the marks of results
    names = [str(keyword) for keyword in predicates.annotations.vocabulary.keywords]
    for place, query in enumerate(ids.arg_sort().to_list()):
        if place >= 500 and ids[query] not in kept:
            continue
        wanted = tuple(names[code] for code in predicates.codes_of(query).tolist())
        results = []
        for at in by_query[bounds[query] : bounds[query + 1]].tolist():
            has = pairs.has[pairs.starts[at] : pairs.starts[at + 1]]
            score = scores[at] if scored else None
            marks = bool(pairs.relevant[at]), bool(pairs.shown[at]), bool(pairs.item[at] >= 0)
            matches = tuple(compress(wanted, has)), tuple(compress(wanted, ~has))
            results.append(ResultMatch(items[at], ranks[at], score, *matches, *marks))
        yield QueryMatches(ids[query], wanted, int(relevant[query]), tuple(results))


def _look_alikes(predicates: Predicates, pairs: _ResultPairs) -> Iterator[LookAlike]:
    wrong = pl.Series(pairs.shown & ~pairs.relevant & (pairs.item >= 0))
    best = pairs.frame.with_row_index("at").filter(wrong).sort(SCORE, QUERY, ITEM, descending=[True, False, False])
    names = predicates.annotations.vocabulary.keywords
    for at, query, item, score in best.head(10).select("at", QUERY, ITEM, SCORE).iter_rows():
        part = slice(pairs.starts[at], pairs.starts[at + 1])
        lacks = tuple(names[code].name for code in pairs.wanted[part][~pairs.has[part]].tolist())
        yield LookAlike(query, item, score, lacks)


def _context_similarity(
    predicates: Predicates, pairs: _ResultPairs, everything: Annotations
) -> ContextSimilarity | None:
    """Return the shares of the query item's other keywords, averaged over results and over all items."""
    counted = predicates.annotations.vocabulary.groups
    groups = tuple(group for group in everything.vocabulary.groups if group not in counted)
    if predicates.own is None or not groups:
        return None
    others = everything.select(groups)
    starts, at = gathered(others.starts, predicates.own)
    asking = Predicates(others, predicates.queries, starts, others.codes[at], own=predicates.own)
    sizes = np.diff(asking.starts)
    known = pairs.shown & (sizes[pairs.query] > 0) & (pairs.item >= 0)
    if not known.any():
        return None
    shares = asking.met_by(pairs.query[known], pairs.item[known]) / sizes[pairs.query[known]]
    relevant = pairs.relevant[known]
    per_keyword = (others.frequencies[asking.codes] - 1) / max(1, len(others) - 1)
    by_chance = np.zeros(sizes.size)
    filled = np.flatnonzero(sizes)
    by_chance[filled] = np.add.reduceat(per_keyword, asking.starts[filled]) / sizes[filled]
    anything = by_chance[pairs.query[known]]
    return ContextSimilarity(_mean(shares[relevant]), _mean(shares[~relevant]), fsum(anything) / anything.size, groups)


def _mean(values: Floats) -> float | None:
    return fsum(values) / values.size if values.size else None
