"""Keywords: the vocabulary, which items have which, and predicates that queries ask for.

Nothing is done pair by pair: a keyword is a row of bits over the items, and a query's rows are combined whole. Queries
with the same keywords are looked up once.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.types import Bools, Floats, Gold, Ints, Ranking, Runs, freeze, gathered, places_in
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.evaluation.shared_ids import IdSample, SharedIds, no_item_in_common


@dataclass(frozen=True, order=True)
class Keyword:
    """A word or phrase within its group; the same word in two groups is two keywords."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}={self.name}"


@dataclass(frozen=True)
class Vocabulary:
    """Keywords by number: sorted by group (in the order in which groups were named), then by name."""

    keywords: tuple[Keyword, ...]
    source: str = field(default="vocabulary", compare=False)

    def __len__(self) -> int:
        return len(self.keywords)

    @classmethod
    def of(cls, groups: Mapping[str, Iterable[str]], source: str = "vocabulary") -> "Vocabulary":
        """From the names in each group."""
        found = tuple(Keyword(group, name) for group, names in groups.items() for name in sorted(set(names)))
        return cls(found, source)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(keyword.group for keyword in self.keywords))

    @cached_property
    def group_numbers(self) -> tuple[int, ...]:
        """Of each keyword the place of its group."""
        places = {group: place for place, group in enumerate(self.groups)}
        return tuple(places[keyword.group] for keyword in self.keywords)

    @cached_property
    def number_of(self) -> Mapping[Keyword, int]:
        return {keyword: number for number, keyword in enumerate(self.keywords)}

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = {}
        for number, keyword in enumerate(self.keywords):
            for spelling in (keyword.name, str(keyword)):
                found[spelling] = (*found.get(spelling, ()), number)
        return found

    def find(self, spelling: str, where: str = "") -> int:
        """The number of ``bicyclist`` or ``object_type=bicyclist``; a name that two groups have needs its group."""
        numbers = self._by_name.get(spelling, ())
        if not numbers:
            raise UnknownName("keyword", spelling, [one.name for one in self.keywords], where=where or self.source)
        if len(numbers) > 1:
            raise DataError(
                f"the keyword {spelling!r} stands in {len(numbers)} groups",
                where=where or self.source,
                expected=" or ".join(str(self.keywords[number]) for number in numbers),
            )
        return numbers[0]

    def by_group(self, numbers: Iterable[int]) -> dict[str, tuple[str, ...]]:
        """Names of some keywords, by group."""
        found: dict[str, tuple[str, ...]] = {}
        for number in sorted(numbers):
            keyword = self.keywords[number]
            found[keyword.group] = (*found.get(keyword.group, ()), keyword.name)
        return found

    def select(self, groups: Sequence[str]) -> "Vocabulary":
        """Only the keywords of these groups."""
        for group in groups:
            if group not in self.groups:
                raise UnknownName("group", group, self.groups, where=self.source)
        return Vocabulary(tuple(one for one in self.keywords if one.group in groups), self.source)


Bits = NDArray[np.uint64]
_WIDTH = 64


@dataclass(frozen=True, eq=False)
class Annotations:
    """For each item the numbers of its keywords, ascending (CSR: those of row i are ``starts[i]:starts[i + 1]``)."""

    ids: pl.Series
    vocabulary: Vocabulary
    starts: Ints
    codes: Ints
    source: str = "annotations"
    notes: tuple[str, ...] = ()
    """What is odd about the table that they are from."""

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Annotations({self.source}: {len(self):,} items, {len(self.vocabulary):,} keywords)"

    @cached_property
    def bits(self) -> Bits:
        """Bit i of row v: whether item i has keyword v."""
        words = (len(self) + _WIDTH - 1) // _WIDTH
        packed = np.zeros((len(self.vocabulary), words * 8), dtype=np.uint8)
        of_item = np.repeat(np.arange(len(self)), np.diff(self.starts))
        np.bitwise_or.at(packed, (self.codes, of_item >> 3), (1 << (of_item & 7)).astype(np.uint8))
        return packed.view("<u8").astype(np.uint64, copy=False)

    @cached_property
    def frequencies(self) -> Ints:
        """How many items have each keyword."""
        return np.bincount(self.codes, minlength=len(self.vocabulary)).astype(np.int64)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {str(id_): row for row, id_ in enumerate(self.ids)}

    def row_of(self, id_: str) -> int:
        """The row of an item, which must be there."""
        try:
            return self._row_of[id_]
        except KeyError:
            raise UnknownName("item", id_, self._row_of, where=self.source) from None

    @check_arguments
    def rows_of(self, ids: pl.Series) -> Ints:
        """The row of each of these ids, −1 where there is none."""
        return places_in(self.ids, ids)

    @check_arguments
    def keywords_of(self, id_: str) -> tuple[int, ...]:
        """The numbers of an item's keywords."""
        row = self.row_of(id_)
        return tuple(self.codes[self.starts[row] : self.starts[row + 1]].tolist())

    def have(self, rows: Ints, codes: Ints) -> Bools:
        """Pair by pair, whether the item of that row has the keyword of that number; no row (−1) has none."""
        words = self.bits[codes, np.maximum(rows, 0) >> 6]
        has = (words >> (rows & 63).astype(np.uint64)) & np.uint64(1) == 1
        return np.asarray(has & (rows >= 0), dtype=bool)

    @check_arguments
    def select(self, groups: tuple[str, ...]) -> "Annotations":
        """Only the keywords of these groups."""
        chosen = self.vocabulary.select(groups)
        if not len(chosen):
            raise DataError(f"found no keyword in {', '.join(groups)}", where=self.source, expected="at least one")
        number = np.array([chosen.number_of.get(one, -1) for one in self.vocabulary.keywords], dtype=np.int64)
        codes = number[self.codes]
        kept = codes >= 0
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        return replace(self, vocabulary=chosen, starts=starts, codes=codes[kept])


def places_of(bits: Bits) -> tuple[Ints, Ints]:
    """The rows and places of the bits that are set, ascending; few words are looked into where few are set."""
    row, word = np.nonzero(bits)
    inside = np.unpackbits(bits[row, word].astype("<u8").view(np.uint8), bitorder="little").reshape(-1, _WIDTH)
    at, bit = np.nonzero(inside)
    return row[at], word[at] * _WIDTH + bit


_ITEMS_PER_WORD = 64
_PAIRS_AT_ONCE = 1 << 19
_WORDS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Match:
    """How many of a query's keywords an item must have; prints as its own spelling and parses back.

    A query of fewer keywords than ``at_least`` asks for all of its own.
    """

    at_least: int | None = None
    """None: all of them."""
    graded: bool = False
    """Grades are the share of the keywords that an item has, instead of 1."""

    def __str__(self) -> str:
        if self.graded:
            return "graded"
        return "all" if self.at_least is None else "any" if self.at_least == 1 else f"at-least-{self.at_least}"

    @classmethod
    def parse(cls, text: str) -> "Match":
        if text == "all":
            return cls()
        if text in ("any", "graded"):
            return cls(1, graded=text == "graded")
        found = re.fullmatch(r"at-least-([1-9]\d{0,3})", text)
        if found is None:
            raise UsageError(f"the match is {text!r}", expected="all, any, at-least-2 (3, 4 …) or graded")
        return cls(int(found[1]))

    def needed(self, asked: int) -> int:
        """How many keywords make an item relevant, of so many that are asked for."""
        return asked if self.at_least is None else min(self.at_least, asked)


@dataclass(frozen=True, eq=False)
class Predicates:
    """Queries with their keywords (CSR), over annotated items.

    A query without a keyword is met by every item.
    """

    annotations: Annotations
    queries: pl.Series
    starts: Ints
    codes: Ints
    match: Match = Match()
    own: Ints | None = None
    """The row of the item that each query is itself, which it does not ask for; −1, or None: of none."""
    source: str = "predicates"

    def __post_init__(self) -> None:
        freeze(self)

    def __len__(self) -> int:
        return len(self.queries)

    def codes_of(self, query: int) -> Ints:
        """The numbers of a query's keywords, by the query's row."""
        return self.codes[self.starts[query] : self.starts[query + 1]]

    @cached_property
    def _alike(self) -> tuple[list[Ints], Ints]:
        """The different sets of keywords, and which of them each query has."""
        numbers: dict[bytes, int] = {}
        sets: list[Ints] = []
        which = np.empty(len(self), dtype=np.int64)
        for query in range(len(self)):
            codes = self.codes_of(query)
            which[query] = numbers.setdefault(codes.tobytes(), len(sets))
            if which[query] == len(sets):
                sets.append(codes)
        return sets, which

    def met_by(self, rows: Ints, items: Ints) -> Ints:
        """For pairs of a query's row and an item's: how many of the query's keywords the item has."""
        starts, at = gathered(self.starts, rows)
        has = self.annotations.have(np.repeat(items, np.diff(starts)), self.codes[at])
        total = np.concatenate(([0], np.cumsum(has)))
        return np.asarray(np.diff(total[starts]), dtype=np.int64)

    def grades_of(self, rows: Ints, items: Ints) -> Floats:
        """For such pairs the grade, 0 where the item is not relevant, not annotated (−1), or the query itself."""
        asked, met = np.diff(self.starts)[rows], self.met_by(rows, items)
        needed = asked if self.match.at_least is None else np.minimum(self.match.at_least, asked)
        relevant = (met >= needed) & (items >= 0)
        if self.own is not None:
            relevant &= items != self.own[rows]
        shares = met / np.maximum(asked, 1) if self.match.graded else np.ones(rows.size)
        return np.where(relevant, np.where(asked == 0, 1.0, shares), 0.0)

    @cached_property
    def levels(self) -> Runs:
        """How many relevant items of each grade every query has, best grade first."""
        sets, which = self._alike
        counts = [np.zeros(self._grades(codes.size).size, dtype=np.int64) for codes in sets]
        for members, codes in self._blocks():
            for level, bits in enumerate(self._levels(codes)):
                for member, number in zip(members, np.bitwise_count(bits).sum(axis=1, dtype=np.int64), strict=True):
                    counts[member][level] = number
        lengths = np.array([one.size for one in counts], dtype=np.int64)
        starts, at = gathered(np.concatenate(([0], np.cumsum(lengths))), which)
        numbers = np.concatenate([np.empty(0, np.int64), *counts])[at]
        grades = np.concatenate([np.empty(0), *(self._grades(codes.size) for codes in sets)])[at]
        if self.own is not None:  # an item has all keywords of its own: it is of the best grade
            numbers[starts[:-1][self.own >= 0]] -= 1
        return Runs(starts, grades, numbers)

    @cached_property
    def relevant_counts(self) -> Ints:
        """How many relevant items every query has."""
        total = np.concatenate(([0], np.cumsum(self.levels.counts)))
        return total[self.levels.starts[1:]] - total[self.levels.starts[:-1]]

    def gold(self) -> Gold:
        """Every relevant item of every query by name."""
        of_set, places, grades = self._relevant()
        starts, at = gathered(of_set, self._alike[1])
        places, grades = places[at], grades[at]
        if self.own is not None:
            others = places != np.repeat(self.own, np.diff(starts))
            starts = np.concatenate(([0], np.cumsum(others)))[starts]
            places, grades = places[others], grades[others]
        return Gold(
            self.queries,
            starts,
            self.annotations.ids.gather(places),
            grades,
            complete=True,
            source=self.source,
        )

    def gold_by_number(self) -> Gold:
        """The same where that would be too many: items are looked up when a ranking names them."""
        none = np.zeros(len(self) + 1, dtype=np.int64)
        return Gold(
            self.queries,
            none,
            self.annotations.ids[:0],
            np.empty(0),
            complete=True,
            counted=self.levels,
            lookup=self.gold_for,
            source=self.source,
        )

    def gold_for(self, ranking: Ranking) -> Gold:
        """The relevant items that a ranking names; how many there are of each grade in all is told by number."""
        row = places_in(self.queries.cast(pl.String), ranking.queries.cast(pl.String))
        rows = np.repeat(row, np.diff(ranking.starts))
        at = np.flatnonzero(rows >= 0)
        known = self.annotations.rows_of(ranking.items)
        if not (known >= 0).any():
            ids = SharedIds(
                IdSample.of(self.annotations.ids.cast(pl.String)), IdSample.of(ranking.items.cast(pl.String))
            )
            if ids.surely_disjoint:
                raise no_item_in_common(ids, f"{self.source} × {ranking.source}")
        items = known[at]
        grades = np.concatenate(
            [np.empty(0), *(self.grades_of(rows[at[part]], items[part]) for part in _slices(at.size))]
        )
        kept = np.flatnonzero(grades)
        pairs = rows[at[kept]] * len(self.annotations) + items[kept]
        order = kept[np.unique(pairs, return_index=True)[1]]  # by query; what a ranking names twice is here once
        starts = np.concatenate(([0], np.cumsum(np.bincount(rows[at[order]], minlength=len(self)))))
        return Gold(
            self.queries,
            starts.astype(np.int64),
            ranking.items.gather(at[order]),
            grades[order],
            complete=True,
            counted=self.levels,
            source=self.source,
        )

    def _relevant(self) -> tuple[Ints, Ints, Floats]:
        """For each set of keywords the rows of the relevant items, ascending, and their grades (CSR)."""
        found: list[tuple[Ints, Ints, Floats]] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        for members, codes in self._blocks():
            for grade, bits in zip(self._grades(codes.shape[1]), self._levels(codes), strict=True):
                row, place = places_of(bits)
                found.append((members[row], place, np.full(place.size, grade)))
        member, places, grades = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((places, member))
        sizes = np.bincount(member, minlength=len(self._alike[0]))
        return np.concatenate(([0], np.cumsum(sizes))), places[order], grades[order]

    def _blocks(self) -> Iterator[tuple[Ints, Ints]]:
        """Sets of equally many keywords, some at a time: which they are, and their keywords, a row a set."""
        sets = self._alike[0]
        sizes = np.array([codes.size for codes in sets], dtype=np.int64)
        words = max(1, self.annotations.bits.shape[1])
        for size in np.unique(sizes):
            members = np.flatnonzero(sizes == size)
            step = max(1, _WORDS_AT_ONCE // (words * max(1, int(size))))
            for first in range(0, members.size, step):
                some = members[first : first + step]
                yield some, np.array([sets[one] for one in some], dtype=np.int64).reshape(some.size, int(size))

    def _grades(self, asked: int) -> Floats:
        """The grades that there are for so many keywords, best first."""
        if not self.match.graded or not asked:
            return np.ones(1)
        return np.arange(asked, self.match.needed(asked) - 1, -1) / asked

    def _levels(self, codes: Ints) -> Iterator[Bits]:
        """Who is of each grade, best first: as bits, a row a set."""
        asked = codes.shape[1]
        if not asked:
            yield np.repeat(self._everyone[None], len(codes), axis=0)
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

    @cached_property
    def _everyone(self) -> Bits:
        bits = np.full(self.annotations.bits.shape[1], ~np.uint64(0))
        rest = len(self.annotations) % _ITEMS_PER_WORD
        if rest:
            bits[-1] = np.uint64((1 << rest) - 1)
        return bits


def _slices(size: int) -> Iterator[slice]:
    return (slice(first, first + _PAIRS_AT_ONCE) for first in range(0, size, _PAIRS_AT_ONCE))


def _reached(rows: Bits) -> Bits:
    """Level j, a row a set: who has more than j of the set's keywords."""
    sets, asked, words = rows.shape
    reached = np.zeros((asked, sets, words), dtype=np.uint64)
    for number in range(asked):
        row = rows[:, number]
        for level in range(number, 0, -1):
            reached[level] |= reached[level - 1] & row
        reached[0] |= row
    return reached
