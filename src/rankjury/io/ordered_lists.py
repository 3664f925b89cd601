"""Ordered lists as gold: for each query the items that should come back, best first, for one aspect or several.

The grade of an item is the length of its list + 1 − its position. A file is a JSON array of objects, each with the
query's id and a list for each aspect; a field named ``5_most_similar_movies_overall_ordered`` is the aspect ``overall``
with lists of exactly five, drawn from the queries themselves. Also understood: {query: [items]}, {query: {aspect:
[items]}}, and tables with a rank.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankjury.core.convert import find_id_column, ordered_gold, ranking_from_frame
from rankjury.core.text import plural
from rankjury.core.types import Gold
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, guard_reading
from rankjury.io.formats import format_of, read
from rankjury.io.json import parse_json
from rankjury.io.source import Source

ONLY_ASPECT = "gold"
"""The name of the aspect where there is but one, and it has none."""
_FIELD = re.compile(r"(?P<length>\d+)_most_similar_(?:[A-Za-z]+_)?(?P<aspect>.+)_ordered")


@dataclass(frozen=True)
class Ordered:
    """The lists of one aspect, by query, and what must be true of them."""

    aspect: str
    field: str
    """What the aspect is called in the file."""
    lists: Mapping[str, Any]
    length: int | None = None
    """How many items each list must have; None: at least one."""

    def violations(self, queries: Sequence[str], known: frozenset[str] | None) -> Iterator[str]:
        """All that is wrong; ``known`` are the ids that may be listed, None: any."""
        for query in queries:
            where = f"{query}, {self.field}"
            if query not in self.lists:
                yield f"{where}: missing"
            elif not _is_list_of_ids(self.lists[query]):
                yield f"{where}: found {json.dumps(self.lists[query])[:40]}, expected a list of ids"
            else:
                yield from self._of_list(query, [str(item) for item in self.lists[query]], known, where)

    def _of_list(self, query: str, items: list[str], known: frozenset[str] | None, where: str) -> Iterator[str]:
        if self.length is not None and len(items) != self.length:
            yield f"{where}: {plural(len(items), 'item', 'items')}, expected exactly {self.length}"
        elif not items:
            yield f"{where}: empty, expected at least one item"
        if query in items:
            yield f"{where}: the query itself is listed, at {items.index(query) + 1}"
        for item in dict.fromkeys(item for item in items if items.count(item) > 1):
            yield f"{where}: {item} stands {items.count(item)} times"
        for item in dict.fromkeys(items if known is not None else ()):
            if known is not None and item not in known:
                yield f"{where}: {item} is no query's id"

    def as_gold(self, source: str) -> Gold:
        return ordered_gold({query: list(map(str, items)) for query, items in self.lists.items()}, source=source)


@check_arguments
def read_ordered(given: str | Path, *, closed: bool | None = None) -> dict[str, Gold]:
    """A gold for each aspect; all violations are reported together.

    ``closed``: every listed item must be a query, as in a set that is compared with itself; None: where the fields are
    named so that the file says it.
    """
    source = Source.open(given)
    with guard_reading(source.name, "ordered lists"):
        return _read(source, closed)


def _read(source: Source, closed: bool | None) -> dict[str, Gold]:
    if not source.is_parquet() and source.head.lstrip()[:1] in ("[", "{") and format_of(source) != "jsonl":
        entries = _from_json(source)
    else:
        entries = _from_table(source)
    named = all(one.length is not None for one in entries.aspects)
    check_lists(entries.aspects, entries.queries, source.name, closed=named if closed is None else closed,
                more=entries.violations)  # fmt: skip
    return {one.aspect: one.as_gold(f"{source.name}:{one.aspect}") for one in entries.aspects}


def aspects_of(given: str | Path) -> list[str]:
    """The aspects that a JSON of ordered lists has, whether or not its lists are as they must be."""
    with guard_reading(str(given), "ordered lists"):
        return list(dict.fromkeys(one.aspect for one in _from_json(Source.open(given)).aspects))


class _Members(dict[str, Any]):
    """An object, and the names that stood in it more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]


@dataclass(frozen=True)
class _Entries:
    queries: list[str]
    aspects: list[Ordered]
    violations: tuple[str, ...] = ()
    """What was wrong before lists could be looked at."""


def check_lists(
    aspects: Sequence[Ordered], queries: Sequence[str], where: str, *, closed: bool, more: Sequence[str] = ()
) -> None:
    """An error that lists every violation, with its query and field."""
    known = frozenset(queries) if closed else None
    found = [*more, *(violation for one in aspects for violation in one.violations(queries, known))]
    if found:
        raise DataError(
            f"{plural(len(found), 'violation', 'violations')} of what must hold of ordered lists",
            where=where,
            details=found,
        )


def _from_json(source: Source) -> _Entries:
    tree: Any = parse_json(source.text(), source.name, expected=_EXPECTED, members=_Members)
    if isinstance(tree, _Members) and tree:
        return _from_mapping(tree, source.name)
    if isinstance(tree, list) and any(isinstance(one, dict) for one in tree):
        return _from_objects(tree, source.name)
    raise DataError(f"found {json.dumps(tree)[:40]}", where=source.name, expected=_EXPECTED)


_EXPECTED = 'a JSON array of objects such as {"movie_id": "tt…", "5_most_similar_movies_overall_ordered": ["tt…", …]}'


def _from_mapping(tree: _Members, where: str) -> _Entries:
    """{query: [items]} or {query: {aspect: [items]}}."""
    violations = [f"{query}: stands more than once" for query in tree.twice]
    if not all(isinstance(value, dict) for value in tree.values()):
        return _Entries(list(tree), [Ordered(ONLY_ASPECT, "list", tree)], tuple(violations))
    names = dict.fromkeys(name for value in tree.values() for name in value)
    return _of_fields(tree, list(names), violations, where)


def _of_fields(entries: Mapping[str, _Members], names: list[str], violations: list[str], where: str) -> _Entries:
    """Of each query the lists under these names, an aspect each."""
    if not names:
        raise DataError("found no field that holds lists", where=where, expected=_EXPECTED)
    found = [f"{query}, {name}: stands more than once" for query, entry in entries.items() for name in entry.twice]
    aspects = [
        _aspect(name, {query: entry[name] for query, entry in entries.items() if name in entry}) for name in names
    ]
    for aspect, times in Counter(one.aspect for one in aspects).items():
        if times > 1:
            found.append(f"{', '.join(one.field for one in aspects if one.aspect == aspect)}: all are {aspect!r}")
    return _Entries(list(entries), aspects, (*violations, *found))


def _from_objects(entries: list[Any], where: str) -> _Entries:
    """Objects with an id and a list for each aspect; what is no such object is a violation like any other."""
    id_field = _id_field(entries, where)
    violations: list[str] = []
    seen: dict[str, _Members] = {}
    again: list[tuple[str, _Members]] = []
    for number, entry in enumerate(entries, 1):
        query = entry.get(id_field) if isinstance(entry, dict) else None
        if not isinstance(query, str | int) or isinstance(query, bool) or str(query) == "":
            violations.append(f"entry {number}: no {id_field}")
        elif str(query) in seen:
            violations.append(f"{query}, {id_field}: stands more than once (entry {number})")
            again.append((str(query), entry))
        else:
            seen[str(query)] = entry
    names = dict.fromkeys(
        name for entry in seen.values() for name, value in entry.items()
        if name != id_field and (isinstance(value, list) or _FIELD.fullmatch(name))
    )  # fmt: skip
    named = [name for name in names if _FIELD.fullmatch(name)]
    known = frozenset(seen) if named else None
    for query, entry in again:
        for name in named or list(names):
            lists = {query: entry[name]} if name in entry else {}
            violations += (
                f"{one} (of the entry that repeats it)" for one in _aspect(name, lists).violations([query], known)
            )
    return _of_fields(seen, named or list(names), violations, where)


def _id_field(entries: list[Any], where: str) -> str:
    names = dict.fromkeys(name for entry in entries if isinstance(entry, dict) for name in entry)
    return find_id_column(list(names), "query", where)


def _aspect(name: str, lists: Mapping[str, Any]) -> Ordered:
    match = _FIELD.fullmatch(name)
    return Ordered(match["aspect"], name, lists, int(match["length"])) if match else Ordered(name, name, lists)


def _is_list_of_ids(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) in (str, int) and one != "" for one in value)


def _from_table(source: Source) -> _Entries:
    """A table with query, item and rank, or a run: the order is the truth."""
    ranking = ranking_from_frame(read(source, "run"), source=source.name)
    frame = ranking.frame().sort("query_id", "score", "item_id", descending=[False, True, False])
    grouped = frame.group_by("query_id", maintain_order=True).agg("item_id")
    lists = {str(query): [str(item) for item in items] for query, items in grouped.iter_rows()}
    return _Entries(list(lists), [Ordered(ONLY_ASPECT, "list", lists)])
