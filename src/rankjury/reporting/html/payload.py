"""Per-query data packed into a page, which opens it piece by piece when it needs it.

The table of queries is one piece; the ids of all items and the names of those that matter most are two more. Gold and
rankings come in blocks of a hundred queries. Where all of it would make the page too large, queries are sorted by
importance: those that differ most from the baseline, or, without one, those that went worst. The first are
held whole; of the others names of items are left out, then scores, then the ends of lists, and last the lists.

Whole numbers are text that deflates well: digits to the base 90, one string per digit, lowest first. Digits that lie
together are alike, so that Huffman's code gives each about as many bits as it deserves; and the text needs no escaping
in JSON.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np

from rankjury.core.types import Bools, Floats, Ints, gathered, places_in, segments_within
from rankjury.reporting.html.query_data import LONGEST_TEXT, QueryDetails, shorten_text
from rankjury.reporting.html.rounding import round_for_display, scale_scores

BLOCK = 100
_LEVEL = 6
"""Of deflate: 9 would take twice as long for a hundredth less."""
_LETTERS = np.frombuffer(bytes(code for code in range(0x23, 0x7F) if code != 0x5C)[:90], dtype=np.uint8)
BASE = len(_LETTERS)
"""From # on, without the backslash; the page's script reads it back."""
OFFSET = 400
"""Added to decimals, which may be negative."""
_SAMPLED = 6
_MOST_SLICES = 200
_FOR_TABLE = 0.55
"""The share of the room that the table may take before it loses anything."""
_FOR_LISTS = 0.92
"""The share of what is left that lists and ids may take; the rest is for names."""
_AT_LEAST_WHOLE = 300
"""Queries, before others have anything."""
_SHORTER = 0.85
_LOOKED_AT = 2_000
"""Queries of a large table from which its size is estimated."""
_SPARING = 0.97


@dataclass(frozen=True)
class DetailLevel:
    """How much of every query's answers is held."""

    depth: int | None
    """The first so many items of a list; None: all."""
    scores: bool
    keywords: bool = False


DETAIL_LEVELS = (
    DetailLevel(None, scores=True, keywords=True),
    DetailLevel(None, scores=False, keywords=True),
    DetailLevel(10, scores=True),
    DetailLevel(10, scores=False),
    DetailLevel(5, scores=True),
    DetailLevel(5, scores=False),
    DetailLevel(3, scores=False),
)
"""From the finest on."""
FULL_DETAIL = DETAIL_LEVELS[0]


@dataclass(frozen=True, eq=False)
class CodedLists:
    """The lists of all queries (CSR), with items as places among all ids."""

    starts: Ints
    items: Ints
    grades: Floats
    scores: Floats | None
    total: Ints
    ranks: Ints

    def first(self, depth: int | None) -> "CodedLists":
        """Return the first so many of each list."""
        if depth is None:
            return self
        kept = segments_within(self.starts) < depth
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        scores = None if self.scores is None else self.scores[kept]
        return CodedLists(starts, self.items[kept], self.grades[kept], scores, self.total, self.ranks[kept])

    def take(self, rows: Ints) -> "CodedLists":
        """Return the lists of some queries."""
        starts, at = gathered(self.starts, rows)
        scores = None if self.scores is None else self.scores[at]
        return CodedLists(starts, self.items[at], self.grades[at], scores, self.total[rows], self.ranks[at])


def _encode_lists(part: CodedLists, places: Ints, grades: Sequence[float], *, scores: bool) -> Mapping[str, Any]:
    codes = np.searchsorted(grades, part.grades) + 1 if grades else np.zeros(len(part.items), dtype=np.int64)
    return {
        "lengths": encode_planes(np.diff(part.starts)),
        "places": encode_planes(places),
        "total": encode_planes(part.total),
        "gaps": encode_planes(part.ranks - segments_within(part.starts) - 1),
        "grades": encode_planes(np.where(np.isnan(part.grades), 0, codes)),
        "scores": _encode_scores(part.scores, part.starts) if scores and part.scores is not None else None,
    }


def _encode_scores(scores: Floats, starts: Ints) -> Mapping[str, Any]:
    """Return the first score of each list, by how much the others fall, and which are undefined."""
    decimals, numbers = scale_scores(scores, starts)
    fallen = np.where(segments_within(starts) > 0, np.concatenate(([0], numbers[:-1])) - numbers, numbers)
    lowest = int(fallen.min(initial=0))
    return {
        "decimals": encode_planes(decimals + OFFSET),
        "lowest": lowest,
        "falls": encode_planes(fallen - lowest),
        "unknown": np.flatnonzero(~np.isfinite(scores)).tolist(),
    }


def _unions(owner: Ints, code: Ints, queries: int) -> tuple[Ints, Ints, Ints]:
    """Return the distinct items of each query as they first appear, the places of entries there, and their counts."""
    many = int(code.max(initial=0)) + 1
    distinct, first, inverse = np.unique(owner * many + code, return_index=True, return_inverse=True)
    queries_of = distinct // many
    order = np.lexsort((first, queries_of))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    sizes = np.bincount(queries_of, minlength=queries)
    begins = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    return (distinct % many)[order], rank[inverse] - begins[owner], sizes


def deflate(form: Any) -> str:
    """Return compressed JSON as text that an HTML page can hold."""
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(text.encode(), _LEVEL)).decode()


def encode_planes(numbers: Ints) -> list[str]:
    """Return a string for each digit of the largest number, lowest first; numbers are 0 or more."""
    if len(numbers) and numbers.min() < 0:
        raise ValueError(f"{numbers.min()} among numbers that are 0 or more")
    planes: list[str] = []
    rest = np.asarray(numbers, dtype=np.int64)
    while not planes or rest.any():
        rest, digit = np.divmod(rest, BASE)
        planes.append(_LETTERS[digit].tobytes().decode("ascii"))
    return planes


@dataclass(frozen=True, eq=False)
class PackedBlocks:
    """Blocks of queries, the ids that they use, and which of the items these are."""

    blocks: tuple[str, ...]
    items: str
    used: Bools

    @property
    def size(self) -> int:
        return len(self.items) + sum(map(len, self.blocks))


@dataclass(frozen=True, eq=False)
class QueryLists:
    """Golds and systems of the queries in some rows."""

    details: QueryDetails
    ids: Sequence[str]
    """Of all items, ascending."""
    golds: Sequence[CodedLists]
    systems: Sequence[CodedLists]
    rows: Ints

    @classmethod
    def of(cls, details: QueryDetails, rows: Ints) -> "QueryLists":
        import polars as pl

        assert details.answers is not None
        listed = [*details.answers.golds.values(), *details.answers.systems.values()]
        items = [lists.items for lists in listed]
        ids = pl.concat(items).unique().sort() if items else pl.Series([], dtype=pl.String)
        coded = [
            CodedLists(each.starts, places_in(ids, each.items), each.grades, each.scores, each.total, each.ranks)
            for each in listed
        ]
        taken, golds = [lists.take(rows) for lists in coded], len(details.answers.golds)
        return cls(details, ids.to_list(), taken[:golds], taken[golds:], rows)

    def likely(self, level: DetailLevel) -> float:
        """Estimate the bytes of a query from a few blocks."""
        blocks = -(-len(self.rows) // BLOCK)
        sampled = np.unique(np.linspace(0, blocks - 1, min(_SAMPLED, blocks)).astype(int)).tolist()
        cut = self._cut(level)
        size = sum(len(self._block(number, *cut, level)) for number in sampled)
        return float(size / max(sum(self._end(number) - number * BLOCK for number in sampled), 1))

    def packed(self, level: DetailLevel, whole: int, held: int) -> PackedBlocks:
        """Return the first ``held`` queries: ``whole`` of them in full detail, the others at the level."""
        levels = [FULL_DETAIL if first < whole else level for first in range(0, held, BLOCK)]
        cuts = {each: self._cut(each) for each in set(levels)}
        used = np.zeros(len(self.ids), dtype=bool)
        for number, each in enumerate(levels):
            for part in (*cuts[each][0], *cuts[each][1]):
                used[part.items[part.starts[number * BLOCK] : part.starts[self._end(number)]]] = True
        place = np.cumsum(used) - 1
        for each, (golds, systems) in cuts.items():
            cuts[each] = (
                [replace(part, items=place[part.items]) for part in golds],
                [replace(part, items=place[part.items]) for part in systems],
            )
        blocks = tuple(self._block(number, *cuts[each], each) for number, each in enumerate(levels))
        return PackedBlocks(blocks, deflate([self.ids[item] for item in np.flatnonzero(used).tolist()]), used)

    def _end(self, number: int) -> int:
        return min((number + 1) * BLOCK, len(self.rows))

    def _cut(self, level: DetailLevel) -> tuple[list[CodedLists], list[CodedLists]]:
        golds, systems = ([lists.first(level.depth) for lists in side] for side in (self.golds, self.systems))
        return golds, systems

    def _block(
        self, number: int, golds: Sequence[CodedLists], systems: Sequence[CodedLists], level: DetailLevel
    ) -> str:
        """Return the lists of some queries: the items in any of them, each once, and their places in each list."""
        block = np.arange(number * BLOCK, self._end(number))
        parts = [lists.take(block) for lists in (*golds, *systems)]
        owner = np.concatenate([np.repeat(np.arange(len(block)), np.diff(part.starts)) for part in parts])
        union, place, sizes = _unions(owner, np.concatenate([part.items for part in parts]), len(block))
        places = np.split(place, np.cumsum([len(part.items) for part in parts])[:-1])
        grades = [grade for grade in np.unique(np.concatenate([part.grades for part in parts])) if not np.isnan(grade)]
        lists = [
            _encode_lists(part, at, grades, scores=level.scores and column >= len(golds))
            for column, (part, at) in enumerate(zip(parts, places, strict=True))
        ]
        form = {
            "sizes": encode_planes(sizes),
            "union": encode_planes(union),
            "grades": grades,
            "golds": lists[: len(golds)],
            "systems": lists[len(golds) :],
            "keywords": self._keywords(self.rows[block]) if level.keywords else None,
        }
        return deflate(form)

    def _keywords(self, rows: Ints) -> list[Any] | None:
        """Return keywords by system and query."""
        keywords, answers = self.details.keywords, self.details.answers
        if not keywords or answers is None:
            return None
        return [
            [keywords.get(name, {}).get(self.details.ids[row]) for row in rows.tolist()] for name in answers.systems
        ]


def pack_names(lists: QueryLists, used: Bools, most: int) -> tuple[str | None, float]:
    """Return names of as many items as there is room for, those of the first queries first; and their share."""
    names, ids = lists.details.names, lists.ids
    named = [place for place in np.flatnonzero(used).tolist() if names.get(ids[place])]
    if not named:
        return None, 1.0
    number = np.cumsum(used) - 1

    def packed(places: Sequence[int]) -> str:
        gaps = np.diff(number[np.asarray(places, dtype=np.int64)], prepend=0)
        return deflate({"gaps": encode_planes(gaps), "names": [shorten_text(names.get(ids[at])) for at in places]})

    text, fewer = packed(named), len(named)
    if len(text) <= most:
        return text, 1.0
    first = np.full(len(ids), len(lists.rows), dtype=np.int64)  # the first query that lists an item
    for coded in (*lists.golds, *lists.systems):
        np.minimum.at(first, coded.items, np.repeat(np.arange(len(lists.rows)), np.diff(coded.starts)))
    order = sorted(named, key=first.tolist().__getitem__)
    while fewer and len(text) > most:
        fewer = int(0.95 * fewer * max(most, 0) / len(text))
        text = packed(sorted(order[:fewer]))
    return (text, fewer / len(named)) if fewer else (None, 0.0)


@dataclass(frozen=True)
class PackedQueries:
    """Pieces as text that an HTML page can hold."""

    labels: tuple[str, ...]
    """The measures in the table."""
    slices: tuple[str, ...]
    table: str
    queries: int
    """How many the table has."""
    longest: int
    """Letters of a query's text."""
    items: str | None = None
    names: str | None = None
    blocks: tuple[str, ...] = ()
    level: DetailLevel | None = None
    """Of the queries that matter less; None where there are no lists."""
    whole: int = 0
    """How many queries have their lists in full detail."""
    held: int = 0
    """How many queries have lists."""
    named: float = 1.0
    """The share of the items' names."""

    @property
    def size(self) -> int:
        return len(self.table) + len(self.items or "") + len(self.names or "") + sum(map(len, self.blocks))

    def with_lists(
        self, pieces: PackedBlocks, names: str | None, level: DetailLevel, whole: int, share: float = 1.0
    ) -> "PackedQueries":
        held = min(len(pieces.blocks) * BLOCK, self.queries)
        lists: dict[str, Any] = {"items": pieces.items, "blocks": pieces.blocks, "level": level}
        return replace(self, **lists, names=names, whole=min(whole, held), held=held, named=share)


def pack_queries(
    details: QueryDetails,
    labels: Sequence[str],
    baseline: str | None,
    lower: Collection[str],
    most: int,
    idle: Collection[str] = (),
) -> PackedQueries:
    """Pack queries into about ``most`` bytes, for the measures ``labels``.

    ``lower``: measures of which less is better; ``idle``: systems that do not count, such as a random one.
    """
    importance = np.argsort(_importance(details, labels[0], baseline, labels[0] in lower, idle), kind="stable")
    slices = dict(list(details.slices.items())[:_MOST_SLICES])
    shown = _shown_scores(details, labels, baseline)
    rows, packed = _pack_table(details, shown, slices, importance, int(_FOR_TABLE * most))
    if details.answers is None:
        return packed
    if len(rows) == len(details.ids):
        lists, room = QueryLists.of(details, rows), most - len(packed.table)
        if lists.likely(FULL_DETAIL) * len(rows) <= room:
            pieces = lists.packed(FULL_DETAIL, len(rows), len(rows))
            names, share = pack_names(lists, pieces.used, room - pieces.size)
            if share == 1 and pieces.size <= room:
                return packed.with_lists(pieces, names, FULL_DETAIL, len(rows))
    rows = importance[: len(rows)]
    packed = replace(packed, table=deflate(_columns(details, packed.labels, shown, slices, rows, packed.longest)))
    return _in_tiers(QueryLists.of(details, rows), packed, most - len(packed.table))


def _in_tiers(lists: QueryLists, packed: PackedQueries, room: int) -> PackedQueries:
    """Add the lists of the first queries in full detail, those of the others as fine as there is room for, or none."""
    number = len(lists.rows)
    ids = float(len(deflate(lists.ids)))  # of all; fewer queries use fewer
    fine, least = lists.likely(FULL_DETAIL), min(_AT_LEAST_WHOLE, number)
    left = _FOR_LISTS * room - fine * least
    costs = {level: lists.likely(level) for level in DETAIL_LEVELS}
    fitting = (level for level in DETAIL_LEVELS if ids + costs[level] * (number - least) <= left)
    level = next(fitting, DETAIL_LEVELS[-1])
    coarse = costs[level]
    spare = left - ids - coarse * (number - least)
    whole = least + max(0, int(spare / max(fine - coarse, 1.0)))
    held = number if spare >= 0 else least + max(0, int(left / (coarse + ids / number)))
    while True:
        whole, held = _in_blocks(whole, number), _in_blocks(held, number)
        pieces = lists.packed(level, whole, held)
        if pieces.size <= room or held <= BLOCK:
            break
        if held < number or whole <= least:
            held = int(_SHORTER * held)
        else:
            whole = int(_SHORTER * whole)
    if pieces.size > room:
        return packed
    names, share = pack_names(lists, pieces.used, room - pieces.size)
    return packed.with_lists(pieces, names, level, whole, share)


def _in_blocks(queries: int, number: int) -> int:
    """Round a number of queries down to whole blocks, one at least; ``number`` is that of all queries."""
    return min(max(queries // BLOCK, 1) * BLOCK, number) if queries < number else number


def _importance(details: QueryDetails, label: str, baseline: str | None, lower: bool, idle: Collection[str]) -> Floats:
    """Return a key by which the largest differences to the baseline, or the worst scores, come first."""
    columns = {name: scores[label] for name, scores in details.scores.items() if label in scores}
    columns = {name: values for name, values in columns.items() if name not in idle} or columns
    values = np.column_stack(list(columns.values()))
    if baseline in columns and len(columns) > 1:
        apart = np.nan_to_num(np.abs(values - columns[baseline][:, None]), nan=0.0)
        return -np.asarray(apart.max(axis=1))
    worth = -values if lower else values
    return np.asarray(np.nan_to_num(worth, nan=np.inf).min(axis=1))


def _shown_scores(details: QueryDetails, labels: Sequence[str], baseline: str | None) -> dict[str, Floats]:
    """Return by measure the scores, systems × queries, as a page shows them."""
    base = -1 if baseline is None or baseline not in details.scores else list(details.scores).index(baseline)
    undefined = np.full(len(details.ids), np.nan)
    return {
        label: round_for_display(
            np.vstack([columns.get(label, undefined) for columns in details.scores.values()]),
            [base] * len(details.scores),
        )
        for label in labels
    }


def _pack_table(
    details: QueryDetails,
    shown: Mapping[str, Floats],
    slices: Mapping[str, Sequence[int]],
    importance: Ints,
    most: int,
) -> tuple[Ints, PackedQueries]:
    """Return the table in at most so many bytes, and its rows.

    Texts are cut first, then measures are omitted, then the queries that matter least.
    """
    every, labels = np.arange(len(details.ids)), tuple(shown)
    shapes = [(LONGEST_TEXT, len(labels)), (120, len(labels)), (120, 3), (60, 3), (60, 1)]
    sample = every if len(every) <= 2 * _LOOKED_AT else every[:: len(every) // _LOOKED_AT]
    longest, kept = shapes[-1]

    def packed(kept: int, rows: Ints, longest: int) -> str:
        return deflate(_columns(details, labels[:kept], shown, slices, rows, longest))

    for longest, kept in shapes:
        if len(packed(kept, sample, longest)) * len(every) / len(sample) <= most:
            break
    rows = every
    while True:
        text = packed(kept, rows, longest)
        if len(text) <= most or len(rows) <= BLOCK:
            return rows, PackedQueries(labels[:kept], tuple(slices), text, len(rows), longest)
        rows = importance[: max(BLOCK, int(_SPARING * len(rows) * most / len(text)))]


def _columns(
    details: QueryDetails,
    labels: Sequence[str],
    shown: Mapping[str, Floats],
    slices: Mapping[str, Sequence[int]],
    rows: Ints,
    longest: int,
) -> dict[str, Any]:
    at = rows.tolist()
    place = np.full(len(details.ids), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    texts = [details.texts[row] for row in at]
    texts = [text if text is None or len(text) <= longest else f"{text[:longest].rstrip('…')}…" for text in texts]
    members = (place[np.asarray(queries, dtype=np.int64)] for queries in slices.values())
    return {
        "ids": [details.ids[row] for row in at],
        "order": None if (np.diff(rows) == 1).all() else encode_planes(rows),
        "texts": texts if any(text is not None for text in texts) else None,
        "scores": [
            [_short_numbers(shown[label][system, rows]) for label in labels] for system in range(len(details.scores))
        ],
        "slices": [encode_planes(np.sort(places[places >= 0])) for places in members],
    }


def _short_numbers(values: Floats) -> list[float | int | None]:
    """Return whole numbers without a point, and None for NaN."""
    return [None if isnan(value) else int(value) if value.is_integer() else value for value in values.tolist()]
