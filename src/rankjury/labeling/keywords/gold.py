"""Keyword predicates as gold: an item is relevant if it has the keywords of the query.

Queries are items themselves (which are excluded from their own relevant items), or anything with a list of keywords,
such as texts mapped to the vocabulary. A keyword is a row of bits over the items, and queries are evaluated by bit
operations on rows; queries with the same keywords are evaluated once.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Literal, get_args

import numpy as np
import polars as pl

from rankjury.core.text import join_names, plural
from rankjury.core.types import Floats, Gold, Ints, Ranking, Runs, cut_rows, freeze, gathered, places_in
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.shared_ids import IdSample, SharedIds, no_item_in_common
from rankjury.labeling.keywords.annotations import WORD_BITS, Annotations, Bits

MOST_LISTED = 5_000_000
"""Maximum number of listed relevant items; above it, they are counted and looked up on demand."""
_PAIRS_AT_ONCE = 1 << 19
_WORDS_AT_ONCE = 1 << 16
_NAMED = 5
WithoutKeywords = Literal["skip", "all", "error"]


def bit_positions(bits: Bits) -> tuple[Ints, Ints]:
    """Return the rows and positions of the set bits, ascending; only non-zero words are unpacked."""
    row, word = np.nonzero(bits)
    inside = np.unpackbits(bits[row, word].astype("<u8").view(np.uint8), bitorder="little").reshape(-1, WORD_BITS)
    at, bit = np.nonzero(inside)
    return row[at], word[at] * WORD_BITS + bit


@dataclass(frozen=True)
class KeywordMatch:
    """Match rule: how many of a query's keywords an item must have; ``str`` and ``parse`` round-trip.

    A query with fewer keywords than ``at_least`` needs all of them.
    """

    at_least: int | None = None
    """None: all of them."""
    graded: bool = False
    """Grades are the share of the query's keywords that an item has, instead of 1."""

    def __str__(self) -> str:
        if self.graded:
            return "graded"
        return "all" if self.at_least is None else "any" if self.at_least == 1 else f"at-least-{self.at_least}"

    @classmethod
    def parse(cls, text: str) -> "KeywordMatch":
        if text == "all":
            return cls()
        if text in ("any", "graded"):
            return cls(1, graded=text == "graded")
        at_least = re.fullmatch(r"at-least-([1-9]\d{0,3})", text)
        if at_least is None:
            raise UsageError(f"the match is {text!r}", expected="all, any, at-least-2 (3, 4 …) or graded")
        return cls(int(at_least[1]))

    def needed(self, asked: int) -> int:
        """Return how many of the requested keywords make an item relevant."""
        return asked if self.at_least is None else min(self.at_least, asked)


@dataclass(frozen=True, eq=False)
class Predicates:
    """Queries with their keywords (CSR), over annotated items.

    A query without keywords matches every item.
    """

    annotations: Annotations
    queries: pl.Series
    starts: Ints
    codes: Ints
    match: KeywordMatch = KeywordMatch()
    own: Ints | None = None
    """Row of the item that is the query itself and is excluded; −1 or None: none."""
    source: str = "predicates"

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.queries)

    def codes_of(self, query: int) -> Ints:
        """Return the keyword numbers of a query."""
        return self.codes[self.starts[query] : self.starts[query + 1]]

    @cached_property
    def _sets(self) -> tuple[list[Ints], Ints]:
        """The distinct keyword sets, and the index of each query's set."""
        numbers: dict[bytes, int] = {}
        every = [self.codes_of(query) for query in range(len(self))]
        which = [numbers.setdefault(codes.tobytes(), len(numbers)) for codes in every]
        first = np.unique(np.array(which, dtype=np.int64), return_index=True)[1]
        return [every[query] for query in first.tolist()], np.array(which, dtype=np.int64)

    def met_by(self, rows: Ints, items: Ints) -> Ints:
        """Return for pairs of query row and item row the number of the query's keywords that the item has."""
        starts, at = gathered(self.starts, rows)
        has = self.annotations.have(np.repeat(items, np.diff(starts)), self.codes[at])
        total = np.concatenate(([0], np.cumsum(has)))
        return np.asarray(np.diff(total[starts]), dtype=np.int64)

    def grades_of(self, rows: Ints, items: Ints) -> Floats:
        """Return the grades of such pairs; 0 if the item is not relevant, not annotated (−1), or the query itself."""
        asked, met = np.diff(self.starts)[rows], self.met_by(rows, items)
        needed = asked if self.match.at_least is None else np.minimum(self.match.at_least, asked)
        relevant = (met >= needed) & (items >= 0)
        if self.own is not None:
            relevant &= items != self.own[rows]
        shares = met / np.maximum(asked, 1) if self.match.graded else np.ones(rows.size)
        return np.where(relevant, np.where(asked == 0, 1.0, shares), 0.0)

    @cached_property
    def levels(self) -> Runs:
        """Number of relevant items of each grade for every query, best grade first."""
        sets, which = self._sets
        grades_of_sets = [self._grades(codes.size) for codes in sets]
        of_set = np.concatenate(([0], np.cumsum([grades.size for grades in grades_of_sets], dtype=np.int64)))
        counts = np.zeros(of_set[-1], dtype=np.int64)
        for members, codes in self._blocks():
            for level, bits in enumerate(self._levels(codes)):
                counts[of_set[members] + level] = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        starts, at = gathered(of_set, which)
        numbers, grades = counts[at], np.concatenate([np.empty(0), *grades_of_sets])[at]
        if self.own is not None:  # an item has all of its own keywords, so it has the best grade
            numbers[starts[:-1][self.own >= 0]] -= 1
        return Runs(starts, grades, numbers)

    @cached_property
    def relevant_counts(self) -> Ints:
        """Number of relevant items of every query."""
        return np.diff(np.concatenate(([0], np.cumsum(self.levels.counts)))[self.levels.starts])

    def gold(self) -> Gold:
        """Return the gold with every relevant item."""
        blocks: list[tuple[Ints, Ints, Floats]] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        for members, codes in self._blocks():
            for grade, bits in zip(self._grades(codes.shape[1]), self._levels(codes), strict=True):
                row, place = bit_positions(bits)
                blocks.append((members[row], place, np.full(place.size, grade)))
        member, places, grades = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        order = np.lexsort((places, member))
        sets, which = self._sets
        of_set = np.concatenate(([0], np.cumsum(np.bincount(member, minlength=len(sets)))))
        starts, at = gathered(of_set, which)
        places, grades = places[order][at], grades[order][at]
        if self.own is not None:
            others = places != np.repeat(self.own, np.diff(starts))
            starts = np.concatenate(([0], np.cumsum(others)))[starts]
            places, grades = places[others], grades[others]
        items = self.annotations.ids.gather(places)
        return Gold(self.queries, starts, items, grades, complete=True, source=self.source)

    def gold_by_number(self) -> Gold:
        """Return a gold with counts only; relevant items are looked up for those that a ranking contains."""
        nothing = np.zeros(len(self) + 1, dtype=np.int64), self.annotations.ids[:0], np.empty(0)
        return Gold(
            self.queries, *nothing, complete=True, counted=self.levels, lookup=self.gold_for, source=self.source
        )

    def gold_for(self, ranking: Ranking) -> Gold:
        """Return the gold with the relevant items of a ranking; counts by grade are of all items."""
        row = places_in(self.queries.cast(pl.String), ranking.queries.cast(pl.String))
        rows = np.repeat(row, np.diff(ranking.starts))
        at = np.flatnonzero(rows >= 0)
        known = self.annotations.rows_of(ranking.items)
        if not (known >= 0).any():
            ids = SharedIds(*(IdSample.of(ids.cast(pl.String)) for ids in (self.annotations.ids, ranking.items)))
            if ids.surely_disjoint:
                raise no_item_in_common(ids, f"{self.source} × {ranking.source}")
        items = known[at]
        grades = np.zeros(at.size)
        for first, last in cut_rows(at.size, _PAIRS_AT_ONCE):
            grades[first:last] = self.grades_of(rows[at[first:last]], items[first:last])
        relevant = np.flatnonzero(grades)
        pairs = rows[at[relevant]] * len(self.annotations) + items[relevant]
        order = relevant[np.unique(pairs, return_index=True)[1]]  # by query, without duplicates of the ranking
        starts = np.concatenate(([0], np.cumsum(np.bincount(rows[at[order]], minlength=len(self)))))
        listed = starts.astype(np.int64), ranking.items.gather(at[order]), grades[order]
        return Gold(self.queries, *listed, complete=True, counted=self.levels, source=self.source)

    def _blocks(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield blocks of keyword sets of equal size: their indices and their keywords, one row per set."""
        sets = self._sets[0]
        sizes = np.array([codes.size for codes in sets], dtype=np.int64)
        words = max(1, self.annotations.bits.shape[1])
        for size in np.unique(sizes).tolist():
            members = np.flatnonzero(sizes == size)
            for first, last in cut_rows(members.size, max(1, _WORDS_AT_ONCE // (words * max(1, size)))):
                block = members[first:last]
                yield block, np.array([sets[member] for member in block], dtype=np.int64).reshape(block.size, size)

    def _grades(self, asked: int) -> Floats:
        """Return the possible grades for this number of keywords, best first."""
        if not self.match.graded or not asked:
            return np.ones(1)
        return np.arange(asked, self.match.needed(asked) - 1, -1) / asked

    def _levels(self, codes: Ints) -> Iterator[Bits]:
        """Yield the items of each grade as bits, best grade first, one row per set."""
        asked = codes.shape[1]
        if not asked:
            every = np.full((len(codes), self.annotations.bits.shape[1]), ~np.uint64(0))
            if rest := len(self.annotations) % WORD_BITS:
                every[:, -1] = np.uint64((1 << rest) - 1)
            yield every
            return
        rows = self.annotations.bits[codes]
        needed = self.match.needed(asked)
        if needed == asked:
            yield np.bitwise_and.reduce(rows, axis=1)
        elif needed == 1 and not self.match.graded:
            yield np.bitwise_or.reduce(rows, axis=1)
        elif not self.match.graded:
            yield _reached(rows)[needed - 1]
        else:
            above = np.zeros_like(rows[:, 0])
            for bits in _reached(rows)[needed - 1 :][::-1]:
                yield bits & ~above
                above = bits


def _reached(rows: Bits) -> Bits:
    """Return at level j the items with more than j of the set's keywords, one row per set."""
    sets, asked, words = rows.shape
    reached = np.zeros((asked, sets, words), dtype=np.uint64)
    for number in range(asked):
        row = rows[:, number]
        for level in range(number, 0, -1):
            reached[level] |= reached[level - 1] & row
        reached[0] |= row
    return reached


@dataclass(frozen=True, eq=False)
class KeywordGold:
    """Predicates, and the skipped queries without keywords."""

    predicates: Predicates
    skipped: tuple[str, ...] = ()
    """Omitted queries without keywords."""

    def gold(self) -> Gold:
        """Return the gold with every relevant item, or with counts if there are too many."""
        few = int(self.predicates.relevant_counts.sum()) <= MOST_LISTED
        return self.predicates.gold() if few else self.predicates.gold_by_number()

    def notes(self, known: Sequence[str] = ()) -> list[str]:
        """Return notes on skipped queries, except known ones."""
        skipped = [query for query in self.skipped if query not in set(known)]
        return [_format_skipped(skipped, ", omitted")] if skipped else []


@check_arguments
def keyword_gold(
    annotations: Annotations,
    queries: Mapping[str, Iterable[str]] | None = None,
    *,
    match: str = "all",
    groups: Sequence[str] = (),
    without: WithoutKeywords = "skip",
) -> Gold:
    """Return a gold from keywords: the items that have those that a query asks for.

    Args:
        annotations: The keywords of items, as ``rankjury.read_annotations`` reads them.
        queries: By query, the keywords that it asks for; by default each item is a query for its own keywords.
        match: ``all`` keywords, ``any``, ``at-least-2`` (3 …), or ``graded`` by how many.
        groups: The groups of keywords that count; by default all.
        without: What to do with queries without keywords: ``skip`` them, ``all`` items match, or an ``error``.

    Returns:
        The gold.

    Raises:
        DataError: A keyword is not in the vocabulary, or no query has one.
        UsageError: An argument is not valid.

    Example:
        >>> annotations = rankjury.read_annotations("clips.csv")
        >>> rankjury.keyword_gold(annotations, {"t1": ["car"]})
    """
    counted = annotations.select(tuple(groups)) if len(groups) else annotations
    if queries is None:
        result = gold_from_items(counted, None, KeywordMatch.parse(match), without)
    else:
        for name, words in queries.items():
            if isinstance(words, str):
                raise UsageError(f"the keywords of {name!r} are the text {words!r}", expected=f"a list: [{words!r}]")
        numbers = [[counted.vocabulary.find(keyword) for keyword in keywords] for keywords in queries.values()]
        result = gold_from_keywords(counted, list(queries), numbers, KeywordMatch.parse(match), without)
    for note in result.notes():
        warnings.warn(note, stacklevel=2)
    return result.gold()


def gold_from_items(
    annotations: Annotations,
    wanted: pl.Series | None = None,
    match: KeywordMatch | None = None,
    without: WithoutKeywords = "skip",
) -> KeywordGold:
    """Return the gold of item queries: each item asks for others with its keywords."""
    rows = np.arange(len(annotations)) if wanted is None else annotations.rows_of(wanted)
    if (rows < 0).any():
        unknown = wanted.filter(pl.Series(rows < 0)) if wanted is not None else annotations.ids[:0]
        problem = (
            f"{plural(len(unknown), 'query is', 'queries are')} not an annotated item: {join_names(unknown, _NAMED)}"
        )
        raise DataError(problem, where=annotations.source, expected="annotated items")
    starts, at = gathered(annotations.starts, rows)
    ids, codes = annotations.ids.gather(rows), annotations.codes[at]
    predicates = Predicates(annotations, ids, starts, codes, match or KeywordMatch(), rows, annotations.source)
    return _skip_empty(predicates, without)


def gold_from_keywords(
    annotations: Annotations,
    queries: Sequence[str],
    numbers: Sequence[Sequence[int]],
    match: KeywordMatch | None = None,
    without: WithoutKeywords = "skip",
    *,
    source: str = "queries",
) -> KeywordGold:
    """Return the gold of queries with keyword numbers of the annotations' vocabulary."""
    lists = [sorted(set(codes)) for codes in numbers]
    starts = np.concatenate(([0], np.cumsum([len(codes) for codes in lists]))).astype(np.int64)
    flat = np.array(list(chain.from_iterable(lists)), dtype=np.int64)
    names = pl.Series(list(queries), dtype=pl.String)
    return _skip_empty(Predicates(annotations, names, starts, flat, match or KeywordMatch(), None, source), without)


def _skip_empty(predicates: Predicates, without: WithoutKeywords) -> KeywordGold:
    """Handle queries without keywords, to which every item would be relevant."""
    if without not in get_args(WithoutKeywords):
        raise UnknownName("way with queries without keywords", without, get_args(WithoutKeywords))
    duplicates = predicates.queries.filter(predicates.queries.is_duplicated()).unique(maintain_order=True)
    if len(duplicates):
        count = plural(len(duplicates), "duplicate query", "duplicate queries")
        names = join_names(map(repr, duplicates), _NAMED)
        raise DataError(f"{count}: {names}", where=predicates.source, expected="each query once")
    bare = np.diff(predicates.starts) == 0
    if not bare.any() or without == "all":
        return KeywordGold(predicates)
    skipped = tuple(predicates.queries.filter(pl.Series(bare)).sort().to_list())
    if without == "error" or bare.all():
        raise DataError(
            _format_skipped(skipped),
            where=predicates.source,
            expected="a keyword of the selected groups for every query" if without == "error" else "one that has any",
            hint="Select more groups, or lower the threshold of the mapping.",
        )
    rows = np.flatnonzero(~bare)
    starts, at = gathered(predicates.starts, rows)
    others = replace(
        predicates,
        queries=predicates.queries.gather(rows),
        starts=starts,
        codes=predicates.codes[at],
        own=None if predicates.own is None else predicates.own[rows],
    )
    return KeywordGold(others, skipped)


def _format_skipped(skipped: Sequence[str], outcome: str = "") -> str:
    return (
        f"{plural(len(skipped), 'query has', 'queries have')} no keyword in the selected groups (everything would be "
        f"relevant){outcome}: {join_names(skipped, _NAMED)}"
    )
