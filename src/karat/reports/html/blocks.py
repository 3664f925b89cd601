"""Gold and rankings of a hundred queries as one block of a page.

Whole numbers are text that deflates well: digits to the base 90, one string per digit, lowest first. Digits that lie
together are alike, so that Huffman's code gives each about as many bits as it deserves; and the text needs no escaping
in JSON.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.answers import Answers, Listed
from karat.types import Floats, Ints, gathered, places_in, segments_within

__all__ = ["BASE", "BLOCK", "Coded", "Fineness", "block_of", "coded", "deflated", "planes_of", "scaled"]

BLOCK = 100
_LEVEL = 6
"""Of deflate: 9 would take twice as long for a hundredth less."""
_LETTERS = np.frombuffer(bytes(one for one in range(0x23, 0x7F) if one != 0x5C)[:90], dtype=np.uint8)
BASE = len(_LETTERS)
"""From # on, without the backslash; the page's script reads it back."""
_DIGITS, _OF_SMALLEST, _MOST_DIGITS = 4, 2, 13
OFFSET = 400
"""Added to decimals, which may be negative."""


@dataclass(frozen=True)
class Fineness:
    """How much of every query's answers is held."""

    depth: int | None
    """The first so many items of a list; None: all."""
    scores: bool
    keywords: bool = False


@dataclass(frozen=True, eq=False)
class Coded:
    """A list of every query, its items as numbers."""

    starts: Ints
    items: Ints
    grades: Floats
    scores: Floats | None
    total: Ints
    ranks: Ints

    def first(self, depth: int | None) -> "Coded":
        """Of every query the first so many."""
        if depth is None:
            return self
        kept = segments_within(self.starts) < depth
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts]
        scores = None if self.scores is None else self.scores[kept]
        return Coded(starts, self.items[kept], self.grades[kept], scores, self.total, self.ranks[kept])

    def take(self, rows: Ints) -> "Coded":
        """Of some queries."""
        starts, at = gathered(self.starts, rows)
        scores = None if self.scores is None else self.scores[at]
        return Coded(starts, self.items[at], self.grades[at], scores, self.total[rows], self.ranks[at])


def coded(answers: Answers) -> tuple[list[str], list[Coded], list[Coded]]:
    """All items by id, ascending; golds and systems with their places there."""
    listed = [*answers.golds.values(), *answers.systems.values()]
    known = _known(listed)
    found = [
        Coded(one.starts, places_in(known, one.items), one.grades, one.scores, one.total, one.ranks) for one in listed
    ]
    golds = len(answers.golds)
    return known.to_list(), found[:golds], found[golds:]


def _known(listed: Sequence[Listed]) -> Any:
    import polars as pl

    items = [one.items for one in listed]
    return pl.concat(items).unique().sort() if items else pl.Series([], dtype=pl.String)


def block_of(golds: Sequence[Coded], systems: Sequence[Coded], fineness: Fineness, keywords: Any = None) -> str:
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
        "sizes": planes_of(sizes),
        "union": planes_of(union),
        "grades": known,
        "golds": [_list(part, at, known, scores=False) for part, at in zip(golds, places[: len(golds)], strict=True)],
        "systems": [
            _list(part, at, known, scores=fineness.scores)
            for part, at in zip(systems, places[len(golds) :], strict=True)
        ],
        "keywords": keywords,
    }
    return deflated(form)


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


def _list(part: Coded, places: Ints, known: Sequence[float], *, scores: bool) -> Mapping[str, Any]:
    grades = np.searchsorted(known, part.grades) + 1 if known else np.zeros(len(part.items), dtype=np.int64)
    return {
        "lengths": planes_of(np.diff(part.starts)),
        "places": planes_of(places),
        "total": planes_of(part.total),
        "gaps": planes_of(part.ranks - segments_within(part.starts) - 1),
        "grades": planes_of(np.where(np.isnan(part.grades), 0, grades)),
        "scores": _scores(part) if scores and part.scores is not None else None,
    }


def _scores(part: Coded) -> Mapping[str, Any]:
    """The first of each list, then by how much they fall; and which are undefined."""
    assert part.scores is not None
    decimals, numbers = scaled(part.scores, part.starts)
    within = segments_within(part.starts)
    fallen = np.where(within > 0, np.concatenate(([0], numbers[:-1])) - numbers, numbers)
    lowest = int(fallen.min(initial=0))
    return {
        "decimals": planes_of(decimals + OFFSET),
        "lowest": lowest,
        "falls": planes_of(fallen - lowest),
        "unknown": np.flatnonzero(~np.isfinite(part.scores)).tolist(),
    }


def deflated(form: Any) -> str:
    """JSON as text that an HTML page can hold."""
    text = json.dumps(form, separators=(",", ":"), allow_nan=False)
    return b64encode(zlib.compress(text.encode(), _LEVEL)).decode()


def planes_of(numbers: Ints) -> list[str]:
    """As many strings as the largest number has digits; numbers are 0 or more."""
    if len(numbers) and numbers.min() < 0:
        raise ValueError(f"{numbers.min()} among numbers that are 0 or more")
    planes: list[str] = []
    rest = np.asarray(numbers, dtype=np.int64)
    while not planes or rest.any():
        rest, digit = np.divmod(rest, BASE)
        planes.append(_LETTERS[digit].tobytes().decode("ascii"))
    return planes


def scaled(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
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
