"""Matching of a folder's files by their ids: which runs and vectors a gold can judge, and which file holds the ids."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

import polars as pl

from rankjury.plan.folder_scan import FolderContents, shared

_PARTS = ("test", "", "dev", "val", "train")
"""Parts of a data set by their names, the one to evaluate on first; the empty one is that of other names."""
_SIDES = re.compile(r"quer(y|ies)|topics?|questions?|items?|docs?|documents?|corpus|passages?|products?|emb\w*|vec\w*")


@dataclass(frozen=True)
class SpaceFiles:
    """The vectors of items with those of the queries, and the files of their ids where they have none."""

    path: str
    queries: str | None = None
    ids: str | None = None
    queries_ids: str | None = None

    def keys(self) -> dict[str, str]:
        """Return the keys of a plan's table."""
        keys = {"path": self.path, "ids": self.ids, "queries": self.queries, "queries_ids": self.queries_ids}
        return {key: value for key, value in keys.items() if value is not None}


@dataclass
class Match:
    """What a gold can judge, and what it cannot, with the reason."""

    gold: str | None = None
    runs: list[str] = field(default_factory=list)
    spaces: list[SpaceFiles] = field(default_factory=list)
    texts: str | None = None
    """The file with the texts of its queries."""
    products: str | None = None
    """The file with the texts of its items."""
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def systems(self) -> int:
        return len(self.runs) + len(self.spaces)


def match_gold(found: FolderContents) -> Match:
    """Return the gold that judges most runs and vectors; of equal ones a test set, then the one with most queries."""
    matches = [_match_to(found, name) for name in found.golds]
    if not matches:
        return _with_texts(found, Match(runs=list(found.runs)), None)

    def worth(match: Match) -> tuple[int, ...]:
        name = str(match.gold)
        queries = found.facts_of(name).queries
        count = 0 if queries is None else len(queries)
        return match.systems, -_part_of(name), -len(PurePath(name).parts), count, -found.golds.index(name)

    best = max(matches, key=worth)
    for other in matches:
        if other is not best:
            best.left_out[str(other.gold)] = f"another gold; the plan uses {best.gold}"
    return best


def _part_of(name: str) -> int:
    stem = PurePath(name).name.lower()
    return next((place for place, part in enumerate(_PARTS) if part and part in stem), _PARTS.index(""))


def _match_to(found: FolderContents, gold: str) -> Match:
    queries = found.facts_of(gold).queries
    match = _with_texts(found, Match(gold=gold), queries)
    for run in found.runs:
        asked = found.facts_of(run).queries
        if queries is not None and asked is not None and not shared(queries, asked):
            match.left_out[run] = f"it has none of the queries of {gold}"
        else:
            match.runs.append(run)
    _match_vectors(found, match)
    return match


def _with_texts(found: FolderContents, match: Match, queries: pl.Series | None) -> Match:
    """Return the match with the files that hold the texts of all queries and those of items."""
    known = (name for name in found.texts if queries is None or _covers(found.facts_of(name).items, queries))
    match.texts, match.products = next(known, None), next(iter(found.products), None)
    return match


def _covers(ids: pl.Series | None, wanted: pl.Series | None) -> bool:
    return ids is None or wanted is None or shared(wanted, ids) == len(wanted)


def _match_vectors(found: FolderContents, match: Match) -> None:
    """Add the spaces whose items the gold judges, each with the vectors of the gold's queries."""
    gold = found.facts_of(match.gold)
    everything = [*found.vectors, *found.query_vectors]
    asked = {name: ids_for(found, name, gold.queries, whole=True) for name in everything}
    judged = {name: ids_for(found, name, gold.items) for name in everything}
    for name in found.vectors:
        if judged[name] is None:
            if asked[name] is None:
                match.left_out[name] = f"its ids are not those of the items in {match.gold}"
            continue
        others = [
            other for other in everything if other != name and asked[other] is not None and _fit(found, name, other)
        ]
        others = [other for other in others if other in found.query_vectors or judged[other] is None]
        nearest = max(others, key=lambda other: (_alike(name, other), -others.index(other)), default=None)
        if nearest is not None:
            match.spaces.append(SpaceFiles(name, nearest, judged[name] or None, asked[nearest] or None))
        elif asked[name] is not None:
            match.spaces.append(SpaceFiles(name, None, asked[name] or None))
        else:
            match.left_out[name] = f"no vectors of the queries in {match.gold} with the same dimensions"


def _fit(found: FolderContents, name: str, other: str) -> bool:
    dimensions = found.facts_of(name).dimensions, found.facts_of(other).dimensions
    return None in dimensions or dimensions[0] == dimensions[1]


def _alike(name: str, other: str) -> tuple[bool, int, int]:
    """Return how well the names of two files say that they are of one model."""
    words = [set(filter(None, re.split(r"[^a-z0-9]+", _SIDES.sub(" ", text.lower())))) for text in (name, other)]
    same_file = name.partition(":")[0] == other.partition(":")[0]
    return same_file, len(words[0] & words[1]) - len(words[0] ^ words[1]), len(PurePath(name).parent.parts)


def ids_for(found: FolderContents, name: str, wanted: pl.Series | None, *, whole: bool = False) -> str | None:
    """Return the file of ids that vectors need to have the wanted ids; empty where they need none, None if none fits.

    Vectors without ids take those of a table with as many rows, ``items.csv:id``, before the numbers of their rows.
    ``whole``: all of the wanted ids must be there, and not only one.
    """
    facts = found.facts_of(name)
    if facts.items is None or wanted is None:
        return ""
    least = len(wanted) if whole else 1
    if facts.numbered:
        for table, column, ids in _id_tables(found, len(facts.items)):
            if shared(wanted, ids) >= least and ids.n_unique() == len(ids):
                return f"{table}:{column}" if column else table
    return "" if shared(wanted, facts.items) >= least else None


def _id_tables(found: FolderContents, rows: int) -> Iterable[tuple[str, str | None, pl.Series]]:
    for name, facts in found.facts.items():
        is_table = facts.id_column is not None and not name.lower().endswith(".txt")
        if is_table and facts.items is not None and len(facts.items) == rows:
            yield name, facts.id_column, facts.items
    for name, ids in found.id_lists.items():
        if len(ids) == rows:
            yield name, None, ids


def file_of_ids(ids: str) -> str:
    """Return the file of ``items.csv:id``, or of a list of ids."""
    return ids.rpartition(":")[0] or ids


def match_items(found: FolderContents, names: Sequence[str], wanted: pl.Series | None, what: str) -> Match:
    """Return the spaces that hold all wanted ids; ``what`` says whose ids these are."""
    match = Match()
    for name in names:
        ids = ids_for(found, name, wanted, whole=True)
        if ids is None:
            match.left_out[name] = f"it does not have a vector for {what}"
        else:
            match.spaces.append(SpaceFiles(name, ids=ids or None))
    return match


def match_models(found: FolderContents) -> tuple[SpaceFiles | None, Match]:
    """Return the reference, and the models that hold the same items as it does."""
    reference = found.reference or next(iter(found.vectors), None)
    if reference is None:
        return None, Match()
    facts, match = found.facts_of(reference), Match()
    table = _table_by_row(found, reference) if facts.numbered else None
    for name in found.vectors:
        other = found.facts_of(name)
        if name == reference:
            continue
        if facts.items is None or other.items is None:
            match.spaces.append(SpaceFiles(name))
        elif facts.numbered and other.numbered and len(facts.items) == len(other.items):
            match.spaces.append(SpaceFiles(name, ids=table))
        elif facts.numbered == other.numbered and set(facts.items) == set(other.items):
            match.spaces.append(SpaceFiles(name))
        else:
            match.left_out[name] = f"its items are not those of {reference}"
    return SpaceFiles(reference, ids=table), match


def _table_by_row(found: FolderContents, name: str) -> str | None:
    """Return the column of ids of the only table, or the only list of ids, that has as many rows as the vectors."""
    ids = found.facts_of(name).items
    tables = [] if ids is None else list(_id_tables(found, len(ids)))
    table = tables[0] if len(tables) == 1 and tables[0][2].n_unique() == len(tables[0][2]) else None
    return table and (f"{table[0]}:{table[1]}" if table[1] else table[0])
