"""Ordered lists as gold: the expected items of each query, best first, for one or several aspects.

The grade of an item is the length of its list + 1 − its position. A file is a JSON array of objects, each with the
query's id and one list per aspect; a field named ``5_most_similar_movies_overall_ordered`` is the aspect ``overall``
with lists of exactly five items, which must be queries themselves. Also accepted: {query: [items]}, {query: {aspect:
[items]}}, and tables with a rank.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankjury.core.columns import find_id_column
from rankjury.core.convert import ordered_gold, ranking_from_frame
from rankjury.core.text import plural
from rankjury.core.types import Gold
from rankjury.core.validation import check_arguments
from rankjury.errors import DataError, guard_reading
from rankjury.io.formats import format_of, read
from rankjury.io.json import parse_json
from rankjury.io.source import Source

ONLY_ASPECT = "gold"
"""Name of the aspect if there is only one and it is unnamed."""
_FIELD = re.compile(r"(?P<length>\d+)_most_similar_(?:[A-Za-z]+_)?(?P<aspect>.+)_ordered")


@dataclass(frozen=True)
class _Aspect:
    """Lists of one aspect by query, and their constraints."""

    name: str
    field: str
    """The name of the aspect in the file."""
    lists: Mapping[str, Any]
    length: int | None = None
    """Required length of each list; None: at least one."""

    def violations(self, queries: Sequence[str], known: frozenset[str] | None) -> Iterator[str]:
        """Yield all violations; ``known`` are the ids that may be listed, None: any."""
        for query in queries:
            where = f"{query}, {self.field}"
            if query not in self.lists:
                yield f"{where}: missing"
            elif not isinstance(self.lists[query], list) or not all(
                type(item) in (str, int) and item != "" for item in self.lists[query]
            ):
                yield f"{where}: found {json.dumps(self.lists[query])[:40]}, expected a list of ids"
            else:
                items = [str(item) for item in self.lists[query]]
                if self.length is not None and len(items) != self.length:
                    yield f"{where}: {plural(len(items), 'item', 'items')}, expected exactly {self.length}"
                elif not items:
                    yield f"{where}: empty, expected at least one item"
                if query in items:
                    yield f"{where}: the query itself is listed, at {items.index(query) + 1}"
                for item, times in Counter(items).items():
                    if times > 1:
                        yield f"{where}: duplicate item {item}, listed {times} times"
                    if known is not None and item not in known:
                        yield f"{where}: {item} is not the id of a query"


@check_arguments
def read_ordered(given: str | Path, *, closed: bool | None = None) -> dict[str, Gold]:
    """Read one gold per aspect; all violations are reported together.

    ``closed``: every listed item must be a query, as in a set that is compared with itself; None: if the field names
    imply it.
    """
    source = Source.open(given)
    with guard_reading(source.name, "ordered lists"):
        if not source.is_parquet() and source.head.lstrip()[:1] in ("[", "{") and format_of(source) != "jsonl":
            queries, aspects, violations = _from_json(source)
        else:
            queries, aspects, violations = _from_table(source)
        if closed is None:
            closed = all(aspect.length is not None for aspect in aspects)
        known = frozenset(queries) if closed else None
        violations += [violation for aspect in aspects for violation in aspect.violations(queries, known)]
        if violations:
            found = f"{plural(len(violations), 'violation', 'violations')} of the rules for ordered lists"
            raise DataError(found, where=source.name, details=violations)
        golds = {}
        for aspect in aspects:
            lists = {query: list(map(str, items)) for query, items in aspect.lists.items()}
            golds[aspect.name] = ordered_gold(lists, source=f"{source.name}:{aspect.name}")
        return golds


def aspects_of(given: str | Path) -> list[str]:
    """Return the aspects of a JSON file of ordered lists, even if its lists are invalid."""
    with guard_reading(str(given), "ordered lists"):
        _, aspects, _ = _from_json(Source.open(given))
        return list(dict.fromkeys(aspect.name for aspect in aspects))


class _Members(dict[str, Any]):
    """An object with its duplicate keys."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.duplicates = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]


_Entries = tuple[list[str], list[_Aspect], list[str]]
"""Queries, aspects, and the violations found before the lists are checked."""


def _from_json(source: Source) -> _Entries:
    tree: Any = parse_json(source.text(), source.name, expected=_EXPECTED, members=_Members)
    if isinstance(tree, _Members) and tree:
        violations = [f"{query}: duplicate query" for query in tree.duplicates]
        if not all(isinstance(value, dict) for value in tree.values()):
            return list(tree), [_Aspect(ONLY_ASPECT, "list", tree)], violations
        names = dict.fromkeys(name for value in tree.values() for name in value)
        return _of_fields(tree, list(names), violations, source.name)
    if isinstance(tree, list) and any(isinstance(entry, dict) for entry in tree):
        return _from_objects(tree, source.name)
    raise DataError(f"found {json.dumps(tree)[:40]}", where=source.name, expected=_EXPECTED)


_EXPECTED = 'a JSON array of objects such as {"movie_id": "tt…", "5_most_similar_movies_overall_ordered": ["tt…", …]}'


def _of_fields(entries: Mapping[str, _Members], names: list[str], violations: list[str], where: str) -> _Entries:
    """Return the lists of each query under these field names, one aspect each."""
    if not names:
        raise DataError("no field contains lists", where=where, expected=_EXPECTED)
    violations += [f"{query}, {name}: duplicate key" for query, entry in entries.items() for name in entry.duplicates]
    aspects = [
        _aspect(name, {query: entry[name] for query, entry in entries.items() if name in entry}) for name in names
    ]
    for name, times in Counter(aspect.name for aspect in aspects).items():
        if times > 1:
            same = ", ".join(aspect.field for aspect in aspects if aspect.name == name)
            violations.append(f"{same}: duplicate fields for the aspect {name!r}")
    return list(entries), aspects, violations


def _from_objects(entries: list[Any], where: str) -> _Entries:
    """Return the lists of objects with an id and one list per aspect; anything else is a violation."""
    fields = dict.fromkeys(name for entry in entries if isinstance(entry, dict) for name in entry)
    id_field = find_id_column(list(fields), "query", where)
    violations: list[str] = []
    seen: dict[str, _Members] = {}
    again: list[tuple[str, _Members]] = []
    for number, entry in enumerate(entries, 1):
        query = entry.get(id_field) if isinstance(entry, dict) else None
        if not isinstance(query, str | int) or isinstance(query, bool) or str(query) == "":
            violations.append(f"entry {number}: no {id_field}")
        elif str(query) in seen:
            violations.append(f"{query}, {id_field}: duplicate (entry {number})")
            again.append((str(query), entry))
        else:
            seen[str(query)] = entry
    named = [name for name in fields if _FIELD.fullmatch(name) and any(name in entry for entry in seen.values())]
    lists = (name for entry in seen.values() for name, value in entry.items() if isinstance(value, list))
    names = named or [name for name in dict.fromkeys(lists) if name != id_field]
    known = frozenset(seen) if named else None
    for query, entry in again:
        for name in names:
            aspect = _aspect(name, {query: entry[name]} if name in entry else {})
            violations += (f"{violation} (in the duplicate)" for violation in aspect.violations([query], known))
    return _of_fields(seen, names, violations, where)


def _aspect(name: str, lists: Mapping[str, Any]) -> _Aspect:
    match = _FIELD.fullmatch(name)
    return _Aspect(match["aspect"], name, lists, int(match["length"])) if match else _Aspect(name, name, lists)


def _from_table(source: Source) -> _Entries:
    """Return the lists of a table with query, item and rank, or of a run."""
    ranking = ranking_from_frame(read(source, "run"), source=source.name)
    frame = ranking.frame().sort("query_id", "score", "item_id", descending=[False, True, False])
    grouped = frame.group_by("query_id", maintain_order=True).agg("item_id")
    lists = {str(query): [str(item) for item in items] for query, items in grouped.iter_rows()}
    return list(lists), [_Aspect(ONLY_ASPECT, "list", lists)], []
