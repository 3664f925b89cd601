"""Keywords, relevance and partial matches with plain sets, pair by pair: slow, and with nothing of rankjury's in it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from hypothesis import strategies as st

Word = tuple[str, str]
"""Group and name."""
Words = frozenset[Word]
Table = dict[str, Words]
Run = Mapping[str, Mapping[str, float]]

MATCHES = ("all", "any", "at-least-2", "at-least-3", "graded")
STRANGERS = ("stranger1", "i9999")
"""Items that no table annotates."""


def grade(asked: Words, has: Words, match: str) -> float:
    """How relevant an item with some keywords is to who asks for others."""
    met = len(asked & has)
    if not asked:
        return 1.0
    if match == "all":
        return float(asked <= has)
    if match == "graded":
        return met / len(asked)
    least = 1 if match == "any" else int(match.rpartition("-")[2])
    return float(met >= min(least, len(asked)))


def gold(table: Table, queries: Mapping[str, Words], match: str, *, own: bool) -> dict[str, dict[str, float]]:
    """By query the relevant items; ``own``: queries are items, and do not ask for themselves."""
    return {
        query: {
            item: grade(asked, has, match)
            for item, has in table.items()
            if grade(asked, has, match) > 0 and not (own and item == query)
        }
        for query, asked in queries.items()
    }


def frame(table: Table, groups: Iterable[str], separator: str = "|") -> pl.DataFrame:
    """The table as people write it; what has no keyword of a group has an empty cell."""

    def cell(has: Words, group: str) -> str | None:
        return separator.join(sorted((name for one, name in has if one == group), reverse=True)) or None

    columns = {group: [cell(has, group) for has in table.values()] for group in groups}
    types = {"item_id": pl.String} | dict.fromkeys(columns, pl.String)
    return pl.DataFrame({"item_id": list(table), **columns}, schema=types)


@st.composite
def tables(draw: Any, most: int = 150) -> Table:
    """Of 1 to 150 items, so that words of 64 bits are filled and begun, and 1 to 12 keywords in up to 4 groups.

    The same name may stand in several groups; at least one item has a keyword.
    """
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    words = [(f"group{group}", f"word{number}") for group, size in enumerate(sizes) for number in range(size)]
    size = draw(st.one_of(st.integers(1, most), st.sampled_from([one for one in (1, 63, 64, 65, 128) if one <= most])))
    masks = draw(st.lists(st.integers(0, 2 ** len(words) - 1), min_size=size, max_size=size))
    if not any(masks):
        masks[draw(st.integers(0, size - 1))] = 1
    names = [f"i{number}" for number in range(size)]
    return {
        name: frozenset(word for bit, word in enumerate(words) if mask >> bit & 1)
        for name, mask in zip(draw(st.permutations(names)), masks, strict=True)
    }


def words_of(table: Table) -> list[Word]:
    return sorted({word for has in table.values() for word in has})


def groups_of(table: Table) -> list[str]:
    return sorted({group for group, _ in words_of(table)})


@st.composite
def asked_of(draw: Any, table: Table) -> dict[str, Words]:
    """Up to 8 queries by name; some ask for nothing, some for the same."""
    sets = st.frozensets(st.sampled_from(words_of(table)), max_size=5)
    found = draw(st.lists(sets, min_size=1, max_size=6))
    found += draw(st.lists(st.sampled_from(found), max_size=2))
    names = draw(st.permutations([f"q{number}" for number in range(len(found))]))
    return dict(zip(names, found, strict=True))


@st.composite
def runs_of(draw: Any, table: Table, queries: Iterable[str]) -> dict[str, dict[str, float]]:
    """Some of the queries and one that nobody asked, with items that tie, and some that are not annotated."""
    names = list(queries)
    shown = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    items = st.sampled_from([*table, *STRANGERS])
    scores = st.sampled_from([0.0, 0.125, 0.5, 0.75, 1.0])
    run = {query: draw(st.dictionaries(items, scores, max_size=12)) for query in shown}
    return run | draw(st.sampled_from([{}, {"nobody's": {names[0]: 1.0, "i0": 0.5}}]))


@dataclass(frozen=True)
class Seen:
    """A result as a person would note it down."""

    query: str
    item: str
    rank: int
    score: float
    has: Words
    lacks: Words
    shown: bool
    annotated: bool


def seen(
    table: Table, queries: Mapping[str, Words], run: Run, k: int, *, threshold: float | None, own: bool
) -> list[Seen]:
    """The first k results of each query, queries by name."""
    found = []
    for query in sorted(queries):
        others = {item: score for item, score in run.get(query, {}).items() if not (own and item == query)}
        ranked = sorted(others, key=lambda item: (-others[item], item))[:k]
        for rank, item in enumerate(ranked, 1):
            asked, has = queries[query], table.get(item, frozenset())
            shown = threshold is None or others[item] >= threshold
            lines = (asked & has, asked - has, shown, item in table)
            found.append(Seen(query, item, rank, others[item], *lines))
    return found


def missed(queries: Mapping[str, Words], results: list[Seen]) -> dict[Word, tuple[int, int, int]]:
    """By keyword: how many queries ask for it, how many results were shown to those, how many of these lack it."""
    words = {word for asked in queries.values() for word in asked}
    shown = [one for one in results if one.shown]
    return {
        word: (
            sum(word in asked for asked in queries.values()),
            sum(word in queries[one.query] for one in shown),
            sum(word in one.lacks for one in shown),
        )
        for word in words
    }


def instead(table: Table, queries: Mapping[str, Words], results: list[Seen], word: Word) -> list[tuple[str, int]]:
    """What shown results that lack a keyword have of its group and were not asked for: the three most frequent."""
    tally: Counter[str] = Counter()
    for one in results:
        if one.shown and one.annotated and word in one.lacks:
            tally.update(name for group, name in table[one.item] - queries[one.query] if group == word[0])
    return sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
