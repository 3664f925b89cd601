"""Partial matches: which of a query's keywords each result has and lacks.

Also which keyword is missed most and what results have instead, and whether wrong results resemble the query item in
keywords that do not count.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import compress
from math import fsum, nan
from types import MappingProxyType

import numpy as np
import polars as pl

from rankjury.core.convert import ITEM, QUERY, SCORE
from rankjury.core.types import Bools, Floats, Ints, Ranking, gathered
from rankjury.core.validation import Record
from rankjury.evaluation.query_lists import require_scores, top_rows
from rankjury.evaluation.sections import Section
from rankjury.labeling.keywords.annotations import Annotations
from rankjury.labeling.keywords.gold import Predicates
from rankjury.measures.judged import TieRule


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
    """Results of these queries; for a group, once for each keyword."""
    lacking: int
    group: str = ""
    """Of a keyword."""
    instead: tuple[Substitute, ...] = ()
    """Other keywords of the group that these results have, most frequent first."""

    @property
    def share(self) -> float:
        return self.lacking / self.results if self.results else nan


@dataclass(frozen=True)
class LookAlike(Record):
    """A result with a high score that lacks keywords of the query."""

    query: str
    item: str
    score: float
    lacks: tuple[str, ...]


@dataclass(frozen=True)
class ContextSimilarity(Record):
    """Mean share of the query item's other keywords (of groups that do not count) that items have."""

    json_keys = MappingProxyType({"relevant": "relevant_results", "others": "other_results", "anything": "any_item"})

    relevant: float | None
    """Results that are relevant."""
    others: float | None
    """Results that are not."""
    anything: float
    """Any item."""
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
    """By how many results lack it, most first."""
    groups: tuple[MissedKeyword, ...]
    queries: tuple[QueryMatches, ...]
    alike: ContextSimilarity | None = None
    """Of queries that are items with other keywords than those that count."""
    look_alikes: tuple[LookAlike, ...] = ()
    """Of those that are not relevant, the results that score highest."""
    not_annotated: int = 0
    """How many results are not annotated."""
    unknown: tuple[str, ...] = ()
    """Those results."""

    def of(self, query: str) -> QueryMatches | None:
        return next((query_matches for query_matches in self.queries if query_matches.query == query), None)


_QUERIES_KEPT = 500
_INSTEAD_KEPT = 3
_LOOK_ALIKES_KEPT = 10


@dataclass(frozen=True, eq=False)
class _ResultPairs:
    """Results as arrays: each with its query's row, its item's row (−1: not annotated), and what it has.

    The keywords that result i's query asks for are ``asked[starts[i]:starts[i + 1]]``.
    """

    query: Ints
    item: Ints
    starts: Ints
    asked: Ints
    has: Bools
    relevant: Bools
    shown: Bools

    @property
    def met(self) -> Ints:
        total = np.concatenate(([0], np.cumsum(self.has)))
        return np.asarray(np.diff(total[self.starts]), dtype=np.int64)

    def of_result(self) -> Ints:
        """Which result each entry of ``asked`` is of."""
        return np.repeat(np.arange(self.query.size), np.diff(self.starts))


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
    """Return the partial matches of the first k results; results below the threshold are not shown.

    ``everything`` holds the keywords of all groups, where only some of them count. Of many queries only some are kept
    one by one: the first by id, and those of ``kept``. ``ties`` says how equal scores are ordered.
    """
    if threshold is not None:
        require_scores(ranking)
    frame = top_rows(ranking, predicates.queries, k if predicates.own is None else k + 1, ties)
    pairs, frame = _pairs(predicates, frame, k, threshold)
    met, asked = pairs.met[pairs.shown], np.diff(pairs.starts)[pairs.shown]
    whole, none = int((met == asked).sum()), int(((met == 0) & (asked > 0)).sum())
    keywords = tuple(
        sorted(_keywords(predicates, pairs), key=lambda missed: (-missed.lacking, -missed.results, missed.name))
    )
    unknown = tuple(frame[ITEM].filter(pl.Series(pairs.item < 0)).unique().sort())
    return PartialMatches(
        k,
        threshold,
        ResultCounts(whole, met.size - whole - none, none),
        keywords,
        tuple(_groups(predicates, keywords)),
        tuple(_looked(predicates, pairs, frame, kept, scored=ranking.has_scores)),
        None if everything is None else _alike(predicates, pairs, everything),
        tuple(_look_alikes(predicates, pairs, frame)) if ranking.has_scores else (),
        len(unknown),
        unknown,
    )


def _pairs(
    predicates: Predicates, frame: pl.DataFrame, k: int, threshold: float | None
) -> tuple[_ResultPairs, pl.DataFrame]:
    numbers = pl.DataFrame({QUERY: predicates.queries.cast(pl.String), "row": np.arange(len(predicates))})
    frame = frame.join(numbers, on=QUERY, maintain_order="left")
    query, item = frame["row"].to_numpy(), predicates.annotations.rows_of(frame[ITEM])
    if predicates.own is not None:
        others = (item != predicates.own[query]) | (item < 0)
        frame, query, item = frame.filter(pl.Series(others)), query[others], item[others]
    frame = frame.with_columns(pl.int_range(1, pl.len() + 1).over(QUERY).alias("rank"))
    kept = frame["rank"].to_numpy() <= k
    frame, query, item = frame.filter(pl.Series(kept)), query[kept], item[kept]
    starts, at = gathered(predicates.starts, query)
    asked = predicates.codes[at]
    shown = np.ones(query.size, dtype=bool) if threshold is None else frame[SCORE].to_numpy() >= threshold
    pairs = _ResultPairs(
        query,
        item,
        starts,
        asked,
        predicates.annotations.have(np.repeat(item, np.diff(starts)), asked),
        predicates.grades_of(query, item) == 1.0,
        shown,
    )
    return pairs, frame


def _keywords(predicates: Predicates, pairs: _ResultPairs) -> Iterator[MissedKeyword]:
    """Yield every keyword of a query."""
    vocabulary = predicates.annotations.vocabulary
    size = len(vocabulary)
    of_result = pairs.of_result()
    shown = pairs.shown[of_result]
    lacking = shown & ~pairs.has
    queries = np.bincount(predicates.codes, minlength=size)
    results = np.bincount(pairs.asked[shown], minlength=size)
    missed = np.bincount(pairs.asked[lacking], minlength=size)
    results_lacking = of_result[lacking]
    instead = _instead(predicates, pairs.asked[lacking], pairs.query[results_lacking], pairs.item[results_lacking])
    for code in np.flatnonzero(queries):
        yield MissedKeyword(
            str(vocabulary.keywords[code]),
            int(queries[code]),
            int(results[code]),
            int(missed[code]),
            vocabulary.keywords[code].group,
            tuple(Substitute(vocabulary.keywords[other].name, number) for other, number in instead.get(int(code), ())),
        )


def _instead(predicates: Predicates, asked: Ints, queries: Ints, items: Ints) -> dict[int, list[tuple[int, int]]]:
    """Return for each lacking keyword the other keywords of its group that the items have, with counts."""
    annotations = predicates.annotations
    known = items >= 0
    asked, queries, items = asked[known], queries[known], items[known]
    starts, at = gathered(annotations.starts, items)
    found = annotations.codes[at]
    groups = np.array(annotations.vocabulary.group_numbers)
    lacked = np.repeat(asked, np.diff(starts))
    size = len(annotations.vocabulary)
    of_query = np.repeat(np.arange(len(predicates)), np.diff(predicates.starts))
    wanted = np.isin(np.repeat(queries, np.diff(starts)) * size + found, of_query * size + predicates.codes)
    same = (groups[found] == groups[lacked]) & ~wanted
    pairs, numbers = np.unique(np.stack([lacked[same], found[same]], axis=1), axis=0, return_counts=True)
    by_keyword: dict[int, list[tuple[int, int]]] = {}
    for (code, other), number in zip(pairs.tolist(), numbers.tolist(), strict=True):
        by_keyword.setdefault(code, []).append((other, number))
    return {
        code: sorted(others, key=lambda pair: (-pair[1], pair[0]))[:_INSTEAD_KEPT]
        for code, others in by_keyword.items()
    }


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


def _looked(
    predicates: Predicates, pairs: _ResultPairs, frame: pl.DataFrame, kept: Collection[str], *, scored: bool
) -> Iterator[QueryMatches]:
    ids = predicates.queries.cast(pl.String)
    place = ids.rank("ordinal").to_numpy()
    order = [row for row in ids.arg_sort().to_list() if place[row] <= _QUERIES_KEPT or ids[row] in kept]
    by_query = np.argsort(pairs.query, kind="stable")
    bounds = np.searchsorted(pairs.query[by_query], np.arange(len(predicates) + 1))
    items, ranks, scores = frame[ITEM].to_list(), frame["rank"].to_list(), frame[SCORE].to_list()
    relevant = predicates.levels.counts[predicates.levels.starts[:-1]]  # of the best grade, as results are marked
    names = [str(keyword) for keyword in predicates.annotations.vocabulary.keywords]
    for query in order:
        asked = tuple(names[code] for code in predicates.codes_of(query).tolist())
        results = [
            ResultMatch(
                items[at],
                ranks[at],
                scores[at] if scored else None,
                tuple(compress(asked, pairs.has[pairs.starts[at] : pairs.starts[at + 1]])),
                tuple(compress(asked, ~pairs.has[pairs.starts[at] : pairs.starts[at + 1]])),
                bool(pairs.relevant[at]),
                bool(pairs.shown[at]),
                bool(pairs.item[at] >= 0),
            )
            for at in by_query[bounds[query] : bounds[query + 1]].tolist()
        ]
        yield QueryMatches(str(predicates.queries[query]), asked, int(relevant[query]), tuple(results))


def _look_alikes(predicates: Predicates, pairs: _ResultPairs, frame: pl.DataFrame) -> Iterator[LookAlike]:
    wrong = pl.Series(pairs.shown & ~pairs.relevant & (pairs.item >= 0))
    best = frame.with_row_index("at").filter(wrong).sort(SCORE, QUERY, ITEM, descending=[True, False, False])
    names = predicates.annotations.vocabulary.keywords
    for at, query, item, score in best.head(_LOOK_ALIKES_KEPT).select("at", QUERY, ITEM, SCORE).iter_rows():
        part = slice(pairs.starts[at], pairs.starts[at + 1])
        lacks = tuple(names[code].name for code in pairs.asked[part][~pairs.has[part]].tolist())
        yield LookAlike(query, item, score, lacks)


def _alike(predicates: Predicates, pairs: _ResultPairs, everything: Annotations) -> ContextSimilarity | None:
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
    asked = np.flatnonzero(sizes)
    by_chance[asked] = np.add.reduceat(per_keyword, asking.starts[asked]) / sizes[asked]
    anything = by_chance[pairs.query[known]]
    return ContextSimilarity(_mean(shares[relevant]), _mean(shares[~relevant]), fsum(anything) / anything.size, groups)


def _mean(values: Floats) -> float | None:
    return fsum(values) / values.size if values.size else None
