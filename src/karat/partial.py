"""Partial matches: which of a query's keywords each of its results has and which it lacks, and what that shows.

Which keyword is missed most and what stands in its place, and whether results that are wrong are alike in what was not
asked for: the look of the scene rather than what happens in it.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import polars as pl

from karat.annotations import Annotations
from karat.columns import ITEM, QUERY, SCORE
from karat.ordering import TieRule
from karat.predicates import Predicates
from karat.sections import Section
from karat.tops import first_rows, known_scores
from karat.types import Bools, Floats, Ints, Ranking, gathered
from karat.vocabulary import Keyword

__all__ = ["Alike", "LookAlike", "Looked", "Missed", "Partial", "Result", "partial_matches"]


@dataclass(frozen=True)
class Result:
    """An item that was found: where, how alike it is, and which of the query's keywords it has, in their order."""

    item: str
    rank: int
    score: float | None
    has: tuple[bool, ...]
    relevant: bool
    shown: bool = True
    """Not, where its score is below the threshold."""
    annotated: bool = True


@dataclass(frozen=True)
class Looked:
    """A query with its keywords, how many items are relevant to it, and its first results."""

    query: str
    keywords: tuple[Keyword, ...]
    relevant: int
    results: tuple[Result, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "keywords": [str(keyword) for keyword in self.keywords],
            "relevant": self.relevant,
            "results": [
                {
                    "item": one.item,
                    "rank": one.rank,
                    "score": one.score,
                    "relevant": one.relevant,
                    "shown": one.shown,
                    "annotated": one.annotated,
                    "has": [str(keyword) for keyword, has in zip(self.keywords, one.has, strict=True) if has],
                    "lacks": [str(keyword) for keyword, has in zip(self.keywords, one.has, strict=True) if not has],
                }
                for one in self.results
            ],
        }


@dataclass(frozen=True)
class Missed:
    """How often results lack a keyword, or a keyword of a group, that their query asks for."""

    name: str
    """``group=name`` of a keyword, or the name of a group."""
    queries: int
    """How many ask for it."""
    results: int
    """How many results those have; of a group, once for each keyword asked for."""
    lacking: int
    group: str = ""
    """Of a keyword."""
    instead: tuple[tuple[str, int], ...] = ()
    """Other keywords of the group that those results have, the most frequent first."""

    @property
    def share(self) -> float:
        return self.lacking / self.results if self.results else float("nan")

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "queries": self.queries,
            "results": self.results,
            "lacking": self.lacking,
            "share": self.share if self.results else None,
            "instead": [{"keyword": name, "results": number} for name, number in self.instead],
        }


@dataclass(frozen=True)
class LookAlike:
    """A result that scores high though it lacks what was asked for."""

    query: str
    item: str
    score: float
    lacks: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"query": self.query, "item": self.item, "score": self.score, "lacks": list(self.lacks)}


@dataclass(frozen=True)
class Alike:
    """How much of a query item's other keywords, of groups that do not count, items have on average."""

    relevant: float | None
    """Results that are relevant."""
    others: float | None
    """Results that are not."""
    anything: float
    """Any item."""
    groups: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "groups": list(self.groups),
            "relevant_results": self.relevant,
            "other_results": self.others,
            "any_item": self.anything,
        }


@dataclass(frozen=True, eq=False)
class Partial(Section):
    """What the first k results of all queries have and lack."""

    name = "partial_matches"

    k: int
    threshold: float | None
    whole: int
    """Results with all keywords of their query."""
    some: int
    none: int
    keywords: tuple[Missed, ...]
    """By how many results lack it, most first."""
    groups: tuple[Missed, ...]
    queries: tuple[Looked, ...]
    alike: Alike | None = None
    """Of queries that are items with other keywords than those that count."""
    look_alikes: tuple[LookAlike, ...] = ()
    """Of those that are not relevant, the results that score highest."""
    unknown: tuple[str, ...] = ()
    """Results that are not annotated."""

    def of(self, query: str) -> Looked | None:
        return next((one for one in self.queries if one.query == query), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "threshold": self.threshold,
            "results": {"whole": self.whole, "some": self.some, "none": self.none},
            "keywords": [one.to_json() for one in self.keywords],
            "groups": [one.to_json() for one in self.groups],
            "alike": None if self.alike is None else self.alike.to_json(),
            "not_annotated": len(self.unknown),
            "look_alikes": [one.to_json() for one in self.look_alikes],
            "queries": [one.to_json() for one in self.queries],
        }


_QUERIES_KEPT = 500
_INSTEAD_KEPT = 3
_LOOK_ALIKES_KEPT = 10


@dataclass(frozen=True, eq=False)
class _Pairs:
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
) -> Partial:
    """Look at the first k results of each query; those that score below the threshold are found, but not shown.

    ``everything`` holds the keywords of all groups, where only some of them count. Of many queries only some are kept
    one by one: the first by id, and those of ``kept``. ``ties`` says how equal scores are ordered.
    """
    if threshold is not None:
        known_scores(ranking)
    frame = first_rows(ranking, predicates.queries, k if predicates.own is None else k + 1, ties)
    pairs, frame = _pairs(predicates, frame, k, threshold)
    met, asked = pairs.met[pairs.shown], np.diff(pairs.starts)[pairs.shown]
    whole, none = int((met == asked).sum()), int(((met == 0) & (asked > 0)).sum())
    keywords = tuple(sorted(_keywords(predicates, pairs), key=lambda one: (-one.lacking, -one.results, one.name)))
    return Partial(
        k,
        threshold,
        whole,
        met.size - whole - none,
        none,
        keywords,
        tuple(_groups(predicates, keywords)),
        tuple(_looked(predicates, pairs, frame, kept, scored=ranking.has_scores)),
        None if everything is None else _alike(predicates, pairs, everything),
        tuple(_look_alikes(predicates, pairs, frame)) if ranking.has_scores else (),
        tuple(frame[ITEM].filter(pl.Series(pairs.item < 0)).unique().sort()),
    )


def _pairs(predicates: Predicates, frame: pl.DataFrame, k: int, threshold: float | None) -> tuple[_Pairs, pl.DataFrame]:
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
    pairs = _Pairs(
        query,
        item,
        starts,
        asked,
        predicates.annotations.have(np.repeat(item, np.diff(starts)), asked),
        predicates.grades_of(query, item) == 1.0,
        shown,
    )
    return pairs, frame


def _keywords(predicates: Predicates, pairs: _Pairs) -> Iterator[Missed]:
    """Every keyword that a query asks for."""
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
        yield Missed(
            str(vocabulary.keywords[code]),
            int(queries[code]),
            int(results[code]),
            int(missed[code]),
            vocabulary.keywords[code].group,
            tuple((vocabulary.keywords[other].name, number) for other, number in instead.get(int(code), ())),
        )


def _instead(predicates: Predicates, asked: Ints, queries: Ints, items: Ints) -> dict[int, list[tuple[int, int]]]:
    """By keyword that items lack: what those have of its group, unless that was asked for too, and how many have it."""
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
        code: sorted(others, key=lambda one: (-one[1], one[0]))[:_INSTEAD_KEPT] for code, others in by_keyword.items()
    }


def _groups(predicates: Predicates, keywords: tuple[Missed, ...]) -> Iterator[Missed]:
    vocabulary = predicates.annotations.vocabulary
    group_of = np.array(vocabulary.group_numbers)
    of_query = np.repeat(np.arange(len(predicates)), np.diff(predicates.starts))
    asking = np.unique(np.stack([of_query, group_of[predicates.codes]], axis=1), axis=0)[:, 1]
    for number, group in enumerate(vocabulary.groups):
        own = [one for one in keywords if one.group == group]
        if own:
            queries = int((asking == number).sum())
            yield Missed(group, queries, sum(one.results for one in own), sum(one.lacking for one in own))


def _looked(
    predicates: Predicates, pairs: _Pairs, frame: pl.DataFrame, kept: Collection[str], *, scored: bool
) -> Iterator[Looked]:
    ids = predicates.queries.cast(pl.String)
    place = ids.rank("ordinal").to_numpy()
    order = [row for row in ids.arg_sort().to_list() if place[row] <= _QUERIES_KEPT or ids[row] in kept]
    by_query = np.argsort(pairs.query, kind="stable")
    bounds = np.searchsorted(pairs.query[by_query], np.arange(len(predicates) + 1))
    items, ranks, scores = frame[ITEM].to_list(), frame["rank"].to_list(), frame[SCORE].to_list()
    relevant = predicates.levels.counts[predicates.levels.starts[:-1]]  # of the best grade, as results are marked
    keywords = predicates.annotations.vocabulary.keywords
    for query in order:
        results = [
            Result(
                items[at],
                ranks[at],
                scores[at] if scored else None,
                tuple(pairs.has[pairs.starts[at] : pairs.starts[at + 1]].tolist()),
                bool(pairs.relevant[at]),
                bool(pairs.shown[at]),
                bool(pairs.item[at] >= 0),
            )
            for at in by_query[bounds[query] : bounds[query + 1]].tolist()
        ]
        asked = tuple(keywords[code] for code in predicates.codes_of(query).tolist())
        yield Looked(str(predicates.queries[query]), asked, int(relevant[query]), tuple(results))


def _look_alikes(predicates: Predicates, pairs: _Pairs, frame: pl.DataFrame) -> Iterator[LookAlike]:
    wrong = pl.Series(pairs.shown & ~pairs.relevant & (pairs.item >= 0))
    best = frame.with_row_index("at").filter(wrong).sort(SCORE, QUERY, ITEM, descending=[True, False, False])
    names = predicates.annotations.vocabulary.keywords
    for at, query, item, score in best.head(_LOOK_ALIKES_KEPT).select("at", QUERY, ITEM, SCORE).iter_rows():
        part = slice(pairs.starts[at], pairs.starts[at + 1])
        lacks = tuple(names[code].name for code in pairs.asked[part][~pairs.has[part]].tolist())
        yield LookAlike(query, item, score, lacks)


def _alike(predicates: Predicates, pairs: _Pairs, everything: Annotations) -> Alike | None:
    """Shares of the query item's other keywords, averaged over results, and over all items of the same queries."""
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
    return Alike(_mean(shares[relevant]), _mean(shares[~relevant]), fsum(anything) / anything.size, groups)


def _mean(values: Floats) -> float | None:
    return fsum(values) / values.size if values.size else None
