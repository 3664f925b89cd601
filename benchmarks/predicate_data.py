"""Draws annotated items, queries for them and a ranking, from a fixed seed: every process has the same ones.

How often keywords occur follows Zipf and Mandelbrot: the n-th in proportion to 1 / (n + 20). An item has 8 on average,
one of ten those of another item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

SEED = 20_260_701
PARTS = ("texts", "items", "graded")
SHIFT = 20
MEAN_BEYOND_FIRST = 7.2
"""Of keywords drawn for an item; some come twice, and count once."""
SHARE_COPIED = 0.1
RESULTS = 100
QUERIES_AT_ONCE = 500


@dataclass(frozen=True)
class Lists:
    """Keywords by number, ascending, of items or queries: those of row i are ``codes[starts[i]:starts[i + 1]]``."""

    starts: Ints
    codes: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        return np.diff(self.starts)

    @property
    def rows(self) -> Ints:
        """The row of each of the codes."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def lists(self) -> list[list[int]]:
        codes, starts = self.codes.tolist(), self.starts.tolist()
        return [codes[first:last] for first, last in pairwise(starts)]

    def take(self, rows: Ints) -> Lists:
        lengths = self.lengths[rows]
        starts = starts_of(lengths)
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        return Lists(starts, self.codes[np.repeat(self.starts[:-1][rows], lengths) + within])


@dataclass(frozen=True)
class Asked:
    """What queries ask for."""

    keywords: Lists
    own: Ints | None
    """The row of the item that each query is."""
    graded: bool
    ranked: Lists | None = None
    """For each query the rows of the items that a search returned."""

    def __len__(self) -> int:
        return len(self.keywords)

    def some(self, first: int, last: int) -> Asked:
        own = None if self.own is None else self.own[first:last]
        return Asked(self.keywords.take(np.arange(first, min(last, len(self)))), own, self.graded)

    def blocks(self, queries: int) -> Iterator[Asked]:
        return (self.some(first, first + queries) for first in range(0, len(self), queries))


def starts_of(lengths: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def draw_table(items: int, keywords: int) -> Lists:
    draw = np.random.default_rng((SEED, 1))
    weights = 1.0 / (np.arange(1, keywords + 1) + SHIFT)
    of_item = np.repeat(np.arange(items), 1 + draw.poisson(MEAN_BEYOND_FIRST, items))
    codes = draw.choice(keywords, of_item.size, p=weights / weights.sum())
    pairs = np.unique(of_item * keywords + codes)
    table = Lists(starts_of(np.bincount(pairs // keywords, minlength=items)), pairs % keywords)
    whose = np.where(draw.random(items) < SHARE_COPIED, draw.integers(items, size=items), np.arange(items))
    return table.take(whose)


def draw_asked(part: str, table: Lists, queries: int) -> Asked:
    """Items as they are, or as a text two or three keywords that some item has."""
    draw = np.random.default_rng((SEED, 2))
    if part != "texts":
        rows = draw.permutation(len(table))[:queries]
        return Asked(table.take(rows), rows, graded=part == "graded")
    rows = draw.choice(np.flatnonzero(table.lengths >= 3), queries)
    asked = table.take(rows)
    order = np.lexsort((draw.random(asked.codes.size), asked.rows))
    place = np.arange(asked.codes.size) - np.repeat(asked.starts[:-1], asked.lengths)
    wanted = draw.integers(2, 4, size=queries)
    kept = np.sort(order[place < wanted[asked.rows]])
    return Asked(Lists(starts_of(wanted), asked.codes[kept]), None, graded=False)


def draw_ranking(table: Lists, asked: Asked) -> Asked:
    """With up to 100 results a query: half of them any item, half one with a keyword of it; never the query itself."""
    draw = np.random.default_rng((SEED, 3))
    holders = table.rows[np.argsort(table.codes, kind="stable")]
    ends = starts_of(np.bincount(table.codes))
    drawn = [draw_results(draw, holders, ends, block, len(table)) for block in asked.blocks(QUERIES_AT_ONCE)]
    starts = starts_of(np.concatenate([one.lengths for one in drawn]))
    return replace(asked, ranked=Lists(starts, np.concatenate([one.codes for one in drawn])))


def draw_results(draw: np.random.Generator, holders: Ints, ends: Ints, asked: Asked, items: int) -> Lists:
    """``holders[ends[v]:ends[v + 1]]`` have keyword v. More are drawn than are kept, as some come twice."""
    query = np.repeat(np.arange(len(asked)), RESULTS + RESULTS // 2)
    code = asked.keywords.codes[draw_between(draw, asked.keywords.starts, query)]
    item = holders[draw_between(draw, ends, code)]
    anyhow = draw.random(query.size) < 0.5
    item[anyhow] = draw.integers(items, size=anyhow.sum())
    kept = np.unique(query * items + item, return_index=True)[1]
    kept.sort()
    if asked.own is not None:
        kept = kept[item[kept] != asked.own[query[kept]]]
    starts = starts_of(np.bincount(query[kept], minlength=len(asked)))
    kept = kept[np.arange(kept.size) - starts[query[kept]] < RESULTS]
    return Lists(starts_of(np.bincount(query[kept], minlength=len(asked))), item[kept])


def draw_between(draw: np.random.Generator, starts: Ints, rows: Ints) -> Ints:
    """For each of these rows one of its places."""
    return starts[rows] + (draw.random(rows.size) * np.diff(starts)[rows]).astype(np.int64)
