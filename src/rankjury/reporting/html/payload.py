"""Per-query data packed into a page, which opens it piece by piece when it needs it.

The table of queries is one piece; the ids of all items and the names of those that matter most are two more. Gold and
rankings come in blocks of a hundred queries. Where all of it would make the page too large, queries stand in the order
in which they matter: those that differ most from the baseline, or, without one, those that went worst. The first are
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
from rankjury.evaluation.query_lists import Answers, ItemLists
from rankjury.reporting.html.query_data import LONGEST_TEXT, QueryDetails, round_significant, shorten_text

BLOCK = 100
_LEVEL = 6
"""Of deflate: 9 would take twice as long for a hundredth less."""
_LETTERS = np.frombuffer(bytes(one for one in range(0x23, 0x7F) if one != 0x5C)[:90], dtype=np.uint8)
BASE = len(_LETTERS)
"""From # on, without the backslash; the page's script reads it back."""
_DIGITS, _OF_SMALLEST, _MOST_DIGITS = 4, 2, 13
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
"""Queries from whose part of a large table the rest is estimated."""
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
    """A list of every query, its items as numbers."""

    starts: Ints
    items: Ints
    grades: Floats
    scores: Floats | None
    total: Ints
    ranks: Ints

    def first(self, depth: int | None) -> "CodedLists":
        """Of every query the first so many."""
        if depth is None:
            return self
        kept = segments_within(self.starts) < depth
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        scores = None if self.scores is None else self.scores[kept]
        return CodedLists(starts, self.items[kept], self.grades[kept], scores, self.total, self.ranks[kept])

    def take(self, rows: Ints) -> "CodedLists":
        """Of some queries."""
        starts, at = gathered(self.starts, rows)
        scores = None if self.scores is None else self.scores[at]
        return CodedLists(starts, self.items[at], self.grades[at], scores, self.total[rows], self.ranks[at])


def encode_lists(answers: Answers) -> tuple[list[str], list[CodedLists], list[CodedLists]]:
    """All items by id, ascending; golds and systems with their places there."""
    listed = [*answers.golds.values(), *answers.systems.values()]
    known = _known(listed)
    found = [
        CodedLists(lists.starts, places_in(known, lists.items), lists.grades, lists.scores, lists.total, lists.ranks)
        for lists in listed
    ]
    golds = len(answers.golds)
    return known.to_list(), found[:golds], found[golds:]


def _known(listed: Sequence[ItemLists]) -> Any:
    import polars as pl

    items = [lists.items for lists in listed]
    return pl.concat(items).unique().sort() if items else pl.Series([], dtype=pl.String)


def encode_block(
    golds: Sequence[CodedLists], systems: Sequence[CodedLists], level: DetailLevel, keywords: Any = None
) -> str:
    """Some queries: of each the items that anybody lists, each once, and who has them where."""
    parts = [*golds, *systems]
    queries = len(parts[0].total)
    owner = np.concatenate([np.repeat(np.arange(queries), np.diff(part.starts)) for part in parts])
    code = np.concatenate([part.items for part in parts])
    union, place, sizes = _unions(owner, code, queries)
    places = np.split(place, np.cumsum([len(part.items) for part in parts])[:-1])
    grades = list(np.unique(np.concatenate([part.grades for part in parts])))
    known = [one for one in grades if not np.isnan(one)]
    form = {
        "sizes": encode_planes(sizes),
        "union": encode_planes(union),
        "grades": known,
        "golds": [_list(part, at, known, scores=False) for part, at in zip(golds, places[: len(golds)], strict=True)],
        "systems": [
            _list(part, at, known, scores=level.scores) for part, at in zip(systems, places[len(golds) :], strict=True)
        ],
        "keywords": keywords,
    }
    return deflate(form)


def _unions(owner: Ints, code: Ints, queries: int) -> tuple[Ints, Ints, Ints]:
    """Of every query its items, each once, as they first come; where each entry stands there; how many there are."""
    many = int(code.max(initial=0)) + 1
    distinct, first, inverse = np.unique(owner * many + code, return_index=True, return_inverse=True)
    asked = distinct // many
    order = np.lexsort((first, asked))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    sizes = np.bincount(asked, minlength=queries)
    begins = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    return (distinct % many)[order], rank[inverse] - begins[owner], sizes


def _list(part: CodedLists, places: Ints, known: Sequence[float], *, scores: bool) -> Mapping[str, Any]:
    grades = np.searchsorted(known, part.grades) + 1 if known else np.zeros(len(part.items), dtype=np.int64)
    return {
        "lengths": encode_planes(np.diff(part.starts)),
        "places": encode_planes(places),
        "total": encode_planes(part.total),
        "gaps": encode_planes(part.ranks - segments_within(part.starts) - 1),
        "grades": encode_planes(np.where(np.isnan(part.grades), 0, grades)),
        "scores": _scores(part) if scores and part.scores is not None else None,
    }


def _scores(part: CodedLists) -> Mapping[str, Any]:
    """The first of each list, then by how much they fall; and which are undefined."""
    assert part.scores is not None
    decimals, numbers = scale_scores(part.scores, part.starts)
    within = segments_within(part.starts)
    fallen = np.where(within > 0, np.concatenate(([0], numbers[:-1])) - numbers, numbers)
    lowest = int(fallen.min(initial=0))
    return {
        "decimals": encode_planes(decimals + OFFSET),
        "lowest": lowest,
        "falls": encode_planes(fallen - lowest),
        "unknown": np.flatnonzero(~np.isfinite(part.scores)).tolist(),
    }


def deflate(form: Any) -> str:
    """JSON as text that an HTML page can hold."""
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(text.encode(), _LEVEL)).decode()


def encode_planes(numbers: Ints) -> list[str]:
    """As many strings as the largest number has digits; numbers are 0 or more."""
    if len(numbers) and numbers.min() < 0:
        raise ValueError(f"{numbers.min()} among numbers that are 0 or more")
    planes: list[str] = []
    rest = np.asarray(numbers, dtype=np.int64)
    while not planes or rest.any():
        rest, digit = np.divmod(rest, BASE)
        planes.append(_LETTERS[digit].tobytes().decode("ascii"))
    return planes


def scale_scores(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
    """Decimals of each segment, and its values as whole numbers of their last one.

    There are four digits of the segment's largest value, and two of its smallest where that is not too far away.
    ``starts`` are the segments' (CSR). What is undefined is 0; decimals are negative where values are huge.
    """
    lengths = np.diff(starts)
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), np.nan)
    with np.errstate(divide="ignore"):
        power = np.floor(np.log10(size))
    filled = lengths > 0
    largest, smallest = np.full(len(lengths), np.nan), np.full(len(lengths), np.nan)
    if filled.any():
        largest[filled] = np.fmax.reduceat(power, starts[:-1][filled])
        smallest[filled] = np.fmin.reduceat(power, starts[:-1][filled])
    largest, smallest = np.nan_to_num(largest, nan=0.0), np.nan_to_num(smallest, nan=0.0)
    wanted = np.maximum(_DIGITS - 1 - largest, _OF_SMALLEST - 1 - smallest)
    decimals = np.clip(np.minimum(wanted, _MOST_DIGITS - 1 - largest), -300, 15).astype(np.int64)
    held = np.where(np.isfinite(values), values, 0.0)
    return decimals, np.rint(held * 10.0 ** np.repeat(decimals, lengths).astype(np.float64)).astype(np.int64)


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
    golds: Sequence[CodedLists]
    systems: Sequence[CodedLists]
    rows: Ints

    @classmethod
    def of(cls, details: QueryDetails, rows: Ints) -> "QueryLists":
        assert details.answers is not None
        ids, golds, systems = encode_lists(details.answers)
        return cls(details, ids, [gold.take(rows) for gold in golds], [lists.take(rows) for lists in systems], rows)

    def likely(self, level: DetailLevel) -> float:
        """About how many bytes a query takes, from a few blocks."""
        blocks = -(-len(self.rows) // BLOCK)
        looked_at = np.unique(np.linspace(0, blocks - 1, min(_SAMPLED, blocks)).astype(int)).tolist()
        cut = self._cut(level)
        found = sum(len(self._block(number, *cut, level)) for number in looked_at)
        return float(found / max(sum(self._end(number) - number * BLOCK for number in looked_at), 1))

    def packed(self, level: DetailLevel, whole: int, held: int) -> PackedBlocks:
        """The first queries whole, then as fine as it is said, up to ``held`` of them."""
        of_block = [FULL_DETAIL if first < whole else level for first in range(0, held, BLOCK)]
        cuts = {one: self._cut(one) for one in set(of_block)}
        used = np.zeros(len(self.ids), dtype=bool)
        for number, one in enumerate(of_block):
            for part in (*cuts[one][0], *cuts[one][1]):
                used[part.items[part.starts[number * BLOCK] : part.starts[self._end(number)]]] = True
        place = np.cumsum(used) - 1
        for one, (golds, systems) in cuts.items():
            cuts[one] = [_renumbered(part, place) for part in golds], [_renumbered(part, place) for part in systems]
        found = tuple(self._block(number, *cuts[one], one) for number, one in enumerate(of_block))
        return PackedBlocks(found, deflate([self.ids[item] for item in np.flatnonzero(used).tolist()]), used)

    def _end(self, number: int) -> int:
        return min((number + 1) * BLOCK, len(self.rows))

    def _cut(self, level: DetailLevel) -> tuple[list[CodedLists], list[CodedLists]]:
        golds, systems = ([one.first(level.depth) for one in some] for some in (self.golds, self.systems))
        return golds, systems

    def _block(
        self, number: int, golds: Sequence[CodedLists], systems: Sequence[CodedLists], level: DetailLevel
    ) -> str:
        part = np.arange(number * BLOCK, self._end(number))
        keywords = self._keywords(self.rows[part]) if level.keywords else None
        return encode_block(
            [gold.take(part) for gold in golds], [lists.take(part) for lists in systems], level, keywords
        )

    def _keywords(self, rows: Ints) -> list[Any] | None:
        """By system and query."""
        held, answers = self.details.keywords, self.details.answers
        if not held or answers is None:
            return None
        return [[held.get(name, {}).get(self.details.ids[row]) for row in rows.tolist()] for name in answers.systems]


def _renumbered(lists: CodedLists, number: Ints) -> CodedLists:
    return replace(lists, items=number[lists.items])


def pack_names(lists: QueryLists, used: Bools, most: int) -> tuple[str | None, float]:
    """Names of as many items as there is room for, those of the first queries first; and their share."""
    names, ids = lists.details.names, lists.ids
    held = [place for place in np.flatnonzero(used).tolist() if names.get(ids[place])]
    if not held:
        return None, 1.0
    number = np.cumsum(used) - 1
    whole, fewer = _named(lists, held, number), len(held)
    if len(whole) <= most:
        return whole, 1.0
    order = _as_they_come(lists, set(held))
    while fewer and len(whole) > most:
        fewer = int(0.95 * fewer * max(most, 0) / len(whole))
        whole = _named(lists, sorted(order[:fewer]), number)
    return (whole, fewer / len(held)) if fewer else (None, 0.0)


def _named(lists: QueryLists, places: Sequence[int], number: Ints) -> str:
    gaps = np.diff(number[np.asarray(places, dtype=np.int64)], prepend=0)
    names = [shorten_text(lists.details.names.get(lists.ids[one])) for one in places]
    return deflate({"gaps": encode_planes(gaps), "names": names})


def _as_they_come(lists: QueryLists, held: set[int]) -> list[int]:
    """Items that have names, by the first query that lists them."""
    first = np.full(len(lists.ids), len(lists.rows), dtype=np.int64)
    for one in (*lists.golds, *lists.systems):
        np.minimum.at(first, one.items, np.repeat(np.arange(len(lists.rows)), np.diff(one.starts)))
    return [place for place in np.argsort(first, kind="stable").tolist() if place in held]


@dataclass(frozen=True, eq=False)
class PackedTable:
    """What is in it, and its text."""

    rows: Ints
    labels: tuple[str, ...]
    longest: int
    """Letters of a query's text."""
    text: str


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
    """Of the queries that matter less; None where no answers are held."""
    whole: int = 0
    """How many queries are held whole,"""
    held: int = 0
    """and how many at all."""
    named: float = 1.0
    """The share of the items' names that is held."""

    @property
    def size(self) -> int:
        return len(self.table) + len(self.items or "") + len(self.names or "") + sum(map(len, self.blocks))


def pack_queries(
    details: QueryDetails,
    labels: Sequence[str],
    baseline: str | None,
    lower: Collection[str],
    most: int,
    idle: Collection[str] = (),
) -> PackedQueries:
    """Into about ``most`` bytes, for the measures ``labels``.

    ``lower``: those of which less is better; ``idle``: systems that nobody asks about, such as a random one.
    """
    importance = np.argsort(_importance(details, labels[0], baseline, labels[0] in lower, idle), kind="stable")
    slices = dict(list(details.slices.items())[:_MOST_SLICES])
    table = _packed_table(details, labels, slices, importance, int(_FOR_TABLE * most))
    if details.answers is None:
        return _held(table, tuple(slices))
    if len(table.rows) == len(details.ids):
        lists, room = QueryLists.of(details, table.rows), most - len(table.text)
        if lists.likely(FULL_DETAIL) * len(table.rows) <= room:
            pieces = lists.packed(FULL_DETAIL, len(table.rows), len(table.rows))
            names, share = pack_names(lists, pieces.used, room - pieces.size)
            if share == 1 and pieces.size <= room:
                return _held(table, tuple(slices), pieces, names, FULL_DETAIL, len(table.rows))
    table = _reordered(details, table, slices, importance[: len(table.rows)])
    return _in_tiers(QueryLists.of(details, table.rows), table, tuple(slices), most - len(table.text))


def _held(
    table: PackedTable,
    slices: tuple[str, ...],
    pieces: PackedBlocks | None = None,
    names: str | None = None,
    level: DetailLevel | None = None,
    whole: int = 0,
    share: float = 1.0,
) -> PackedQueries:
    about = table.labels, slices, table.text, len(table.rows), table.longest
    if pieces is None:
        return PackedQueries(*about)
    held = min(len(pieces.blocks) * BLOCK, len(table.rows))
    return PackedQueries(*about, pieces.items, names, pieces.blocks, level, min(whole, held), held, share)


def _in_tiers(lists: QueryLists, table: PackedTable, slices: tuple[str, ...], room: int) -> PackedQueries:
    """The first queries whole, the others as fine as there is room for, or not at all."""
    number = len(lists.rows)
    ids = float(len(deflate(lists.ids)))  # of all; fewer queries use fewer
    fine, least = lists.likely(FULL_DETAIL), min(_AT_LEAST_WHOLE, number)
    left = _FOR_LISTS * room - fine * least
    costs = {one: lists.likely(one) for one in DETAIL_LEVELS}
    level = next((one for one in DETAIL_LEVELS if ids + costs[one] * (number - least) <= left), DETAIL_LEVELS[-1])
    coarse = costs[level]
    spare = left - ids - coarse * (number - least)
    whole = least + max(0, int(spare / max(fine - coarse, 1.0)))
    held = number if spare >= 0 else least + max(0, int(left / (coarse + ids / number)))
    while True:
        whole, held = _in_blocks(whole, number), _in_blocks(held, number)
        pieces = lists.packed(level, whole, held)
        if pieces.size <= room or held <= BLOCK:
            break
        whole, held = (
            (whole, int(_SHORTER * held)) if held < number or whole <= least else (int(_SHORTER * whole), held)
        )
    if pieces.size > room:
        return _held(table, slices)
    names, share = pack_names(lists, pieces.used, room - pieces.size)
    return _held(table, slices, pieces, names, level, whole, share)


def _in_blocks(queries: int, number: int) -> int:
    """Blocks are whole: as many of them as hold so many queries, one at the least."""
    return min(max(queries // BLOCK, 1) * BLOCK, number) if queries < number else number


def _importance(details: QueryDetails, label: str, baseline: str | None, lower: bool, idle: Collection[str]) -> Floats:
    """Lower comes first: the largest differences to the baseline, or the worst scores."""
    columns = {name: one[label] for name, one in details.scores.items() if label in one}
    columns = {name: values for name, values in columns.items() if name not in idle} or columns
    values = np.column_stack(list(columns.values()))
    if baseline in columns and len(columns) > 1:
        apart = np.nan_to_num(np.abs(values - columns[baseline][:, None]), nan=0.0)
        return -np.asarray(apart.max(axis=1))
    worth = -values if lower else values
    return np.asarray(np.nan_to_num(worth, nan=np.inf).min(axis=1))


def _packed_table(
    details: QueryDetails, labels: Sequence[str], slices: Mapping[str, Sequence[int]], importance: Ints, most: int
) -> PackedTable:
    """In at most so many bytes: texts are cut first, then measures go, then the queries that matter least."""
    every = np.arange(len(details.ids))
    shapes = [(LONGEST_TEXT, len(labels)), (120, len(labels)), (120, 3), (60, 3), (60, 1)]
    sample = every if len(every) <= 2 * _LOOKED_AT else every[:: len(every) // _LOOKED_AT]
    longest, kept = shapes[-1]
    for longest, kept in shapes:
        if len(deflate(_columns(details, labels[:kept], slices, sample, longest))) * len(every) / len(sample) <= most:
            break
    rows, told = every, tuple(labels[:kept])
    while True:
        text = deflate(_columns(details, told, slices, rows, longest))
        if len(text) <= most or len(rows) <= BLOCK:
            return PackedTable(rows, told, longest, text)
        rows = importance[: max(BLOCK, int(_SPARING * len(rows) * most / len(text)))]


def _reordered(
    details: QueryDetails, table: PackedTable, slices: Mapping[str, Sequence[int]], rows: Ints
) -> PackedTable:
    """The same with its rows in another order."""
    text = deflate(_columns(details, table.labels, slices, rows, table.longest))
    return PackedTable(rows, table.labels, table.longest, text)


def _columns(
    details: QueryDetails, labels: Sequence[str], slices: Mapping[str, Sequence[int]], rows: Ints, longest: int
) -> dict[str, Any]:
    nothing = np.full(len(details.ids), np.nan)
    at = rows.tolist()
    place = np.full(len(details.ids), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    texts = [_cut(details.texts[row], longest) for row in at]
    members = (place[np.asarray(held, dtype=np.int64)] for held in slices.values())
    return {
        "ids": [details.ids[row] for row in at],
        "order": None if (np.diff(rows) == 1).all() else encode_planes(rows),
        "texts": texts if any(text is not None for text in texts) else None,
        "scores": [
            [_rounded(columns.get(label, nothing)[rows]) for label in labels] for columns in details.scores.values()
        ],
        "slices": [encode_planes(np.sort(held[held >= 0])) for held in members],
    }


def _cut(text: str | None, longest: int) -> str | None:
    return text if text is None or len(text) <= longest else f"{text[:longest].rstrip('…')}…"


def _rounded(values: Floats) -> list[float | int | None]:
    """To a few significant digits; whole numbers without a point, NaN as null."""
    short = round_significant(values).tolist()
    return [None if isnan(value) else int(value) if value.is_integer() else value for value in short]
