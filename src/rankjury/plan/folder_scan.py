"""Scan of a folder: which file is a gold, which a run, which holds vectors, which describes queries or items."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from zipfile import ZipFile

import polars as pl

from rankjury.core.columns import is_item_column
from rankjury.core.types import Gold
from rankjury.errors import RankjuryError, guard_reading
from rankjury.evaluation.slices.groups import Attribute, parse_attributes, suitable_attributes
from rankjury.io.attributes import is_query_lines, query_lines, read_attributes
from rankjury.io.ordered_lists import aspects_of, read_ordered
from rankjury.io.parquet import read_schema
from rankjury.io.source import Source, plain_suffix
from rankjury.io.vectors import VECTOR_SUFFIXES, read_ids, read_vectors
from rankjury.io.vectors.arrays import find_ids
from rankjury.io.vectors.scan import METADATA_NAME, holds_vectors, list_columns, read_headers
from rankjury.io.vectors.tables import json_spaces
from rankjury.labeling.keywords.annotations import SEPARATOR
from rankjury.labeling.products.catalog import TEXTS, read_catalogue
from rankjury.plan.file_kinds import (
    MAX_BYTES,
    has_columns_of_gold,
    is_catalogue,
    is_ordered,
    kind_of_columns,
    log_columns,
    read_gold_or_run,
    read_log_start,
    tensors_of,
)
from rankjury.plan.folder_files import (
    ARRAYS,
    GOLD_NAMES,
    ID_LISTS,
    ITEM_NAMES,
    QUERY_NAMES,
    RUN_NAMES,
    TEXT_SUFFIXES,
    choose_files,
    is_named,
)
from rankjury.recsys.data.log import TIME, VALUE
from rankjury.recsys.data.movielens import FILES

_MAX_TOTAL = 512 << 20
"""After this many bytes, files are not read whole: their first lines decide what they are."""
_ANNOTATION_NAMES = ("annot",)
_REFERENCE_NAMES = ("reference", "ref", "teacher", "ada")
_TEXT = "text"
_FEW, _SHARE = 20, 4
"""Keywords of a column: so many, or a row in so many has another."""
_TITLES = ("title", "name", "label")


@dataclass(frozen=True)
class FileFacts:
    """What is known of a file's content; None where the file was too large to be read whole."""

    queries: pl.Series | None = None
    """Ids of the queries of a gold or a run, each once."""
    items: pl.Series | None = None
    """Ids of its items; of vectors and of tables the ids in the order of the rows."""
    highest: float | None = None
    """The highest grade of a gold, or the highest rating of a log."""
    depth: int | None = None
    """The length of the longest list of an ordered gold."""
    dimensions: int | None = None
    numbered: bool = False
    """Whether vectors came without ids, so that their ids are the numbers of the rows."""
    id_column: str | None = None
    title: str | None = None
    """The column with what items are called."""
    text: str | None = None
    """The column with the texts of queries."""


@dataclass
class FolderContents:
    """Files of a folder by kind; paths are relative to the plan's folder."""

    golds: list[str] = field(default_factory=list)
    ordered: dict[str, list[str]] = field(default_factory=dict)
    """With their aspects."""
    runs: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    """``FILE`` or ``FILE:KEY``."""
    query_vectors: list[str] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)
    """Tables of queries with the attributes that group, categories before numbers."""
    item_tables: dict[str, list[str]] = field(default_factory=dict)
    """The same of tables of items."""
    annotated: dict[str, list[str]] = field(default_factory=dict)
    """Tables of items with several keywords in a cell, and the columns that hold keywords."""
    texts: list[str] = field(default_factory=list)
    """Tables of queries with texts; and plain texts with a query on each line."""
    products: list[str] = field(default_factory=list)
    """Files of items with texts."""
    logs: list[str] = field(default_factory=list)
    """Who took what and when."""
    unrated: list[str] = field(default_factory=list)
    """Logs without ratings."""
    untimed: list[str] = field(default_factory=list)
    """Logs without times."""
    catalogues: list[str] = field(default_factory=list)
    """Items as MovieLens releases list them."""
    people: list[str] = field(default_factory=list)
    """Users as MovieLens releases list them."""
    synonyms: str | None = None
    """A TOML file of phrases that mean a keyword, by its name."""
    names: str | None = None
    """``FILE:COLUMN`` with what items are called."""
    id_lists: dict[str, pl.Series] = field(default_factory=dict, compare=False)
    """Files with ids of vectors, one per row."""
    facts: dict[str, FileFacts] = field(default_factory=dict, compare=False)
    unusable: dict[str, str] = field(default_factory=dict, compare=False)
    """Files that are called like data and cannot be used, with the reason."""
    limits: list[str] = field(default_factory=list, compare=False)
    """What was not looked at."""

    @property
    def reference(self) -> str | None:
        """The vectors that are named like a reference's."""
        return next((file for name in _REFERENCE_NAMES for file in self.vectors if name in file.lower()), None)

    @property
    def queries_are_items(self) -> bool:
        """Whether the files call for a set that is compared with itself."""
        return bool(self.ordered) or not (self.golds or self.runs)

    @property
    def anything(self) -> bool:
        found = (self.golds, self.ordered, self.runs, self.vectors, self.annotated, self.logs, self.has_texts)
        return any(map(bool, found))

    @property
    def has_texts(self) -> bool:
        """Whether there are texts of queries and of what they search."""
        return bool(self.texts and self.products)

    def facts_of(self, name: str | None) -> FileFacts:
        return self.facts.get(name or "", FileFacts())


def scan_folder(folder: Path, base: Path | None = None) -> FolderContents:
    """Look at the files of a folder and below it; paths are relative to ``base``, by default the folder itself."""
    found = FolderContents()
    scan = _Scan(found, folder if base is None else base)
    for path in choose_files(folder, found.limits, found.unusable):
        name = scan.name_of(path)
        if not os.access(path, os.R_OK):
            found.unusable[name] = "no permission to read it"
            continue
        try:
            with guard_reading(name):
                scan.add(path, name)
        except RankjuryError as error:
            if is_named(path, (*GOLD_NAMES, *RUN_NAMES, *QUERY_NAMES)) or plain_suffix(path.name) in ARRAYS:
                found.unusable[name] = error.found
    scan.sort_tables()
    return found


@dataclass(frozen=True)
class _Table:
    """A table that is sorted in once the ids of golds and runs are known."""

    path: Path
    name: str
    frame: pl.DataFrame
    id_column: str


class _Scan:
    """The files that were opened so far."""

    def __init__(self, found: FolderContents, base: Path) -> None:
        self.found, self.base = found, base.absolute()
        self.tables: list[_Table] = []
        self.bytes = 0

    def name_of(self, path: Path) -> str:
        return Path(os.path.relpath(path.absolute(), self.base)).as_posix()

    def add(self, path: Path, name: str) -> None:
        """Find out what a file holds, and add it."""
        found, suffix, lower = self.found, plain_suffix(path.name), path.name.lower()
        size = path.stat().st_size
        if suffix == ".toml":
            found.synonyms = found.synonyms or name
            return
        if lower.endswith(ID_LISTS):
            if size <= MAX_BYTES:
                found.id_lists[name] = read_ids(str(path)).cast(pl.String)
            return
        if suffix == ".json" and re.match(r'\s*\{\s*"schema":\s*"', Source.open(path).head):
            return  # a report of rankjury
        if lower in FILES["items"]:
            found.catalogues.append(name)
        if lower in FILES["users"]:
            found.people.append(name)
        columns = log_columns(path) if suffix in (".csv", ".tsv", ".parquet") else {}
        rated_only = VALUE in columns and columns[VALUE].lower() == "rating" and not is_named(path, GOLD_NAMES)
        if lower in FILES["log"] or TIME in columns or rated_only:
            self._add_log(path, name, columns)
            return
        is_large = size > MAX_BYTES or self.bytes + size > _MAX_TOTAL
        self.bytes += 0 if is_large else size
        if suffix in ARRAYS or (suffix in (".parquet", ".pq") and list_columns(read_schema(path, str(path)))):
            self._add_arrays(path, name, suffix, is_large)
        elif size == 0 or suffix not in ("", *TEXT_SUFFIXES):
            if is_named(path, GOLD_NAMES):
                found.unusable[name] = "the file is empty"
        elif is_large:
            self._add_large(path, name, suffix)
        elif suffix in (".json", ".jsonl") and holds_vectors(path):
            spaces = json_spaces(Source.open(path)) if suffix == ".json" else []
            for one in [f"{name}:{space}" for space in spaces] or [name]:
                self._add_vectors(path, one, is_queries=is_named(path, QUERY_NAMES))
        elif suffix == ".json" and is_catalogue(path):
            found.products.append(name)
        elif suffix == ".json" and is_ordered(path):
            found.ordered[name] = aspects_of(path)
            with suppress(RankjuryError):
                golds = read_ordered(str(path)).values()
                depth = max(int(gold.grades.max()) for gold in golds)
                found.facts[name] = FileFacts(queries=next(iter(golds)).queries.cast(pl.String), depth=depth)
        elif suffix == ".txt" and is_named(path, QUERY_NAMES) and self._is_query_text(path):
            self._add_query_text(path, name)
        else:
            self._add_table(path, name, suffix)

    def _add_log(self, path: Path, name: str, columns: dict[str, str]) -> None:
        found = self.found
        if columns:
            try:
                log = read_log_start(path)
            except RankjuryError as error:
                found.unusable[name] = ". ".join(filter(None, (error.found, error.hint)))
                return
            if VALUE in columns and path.stat().st_size <= MAX_BYTES:
                found.facts[name] = FileFacts(highest=float(log.value.max()))
        found.logs.append(name)
        if not columns:
            return
        if VALUE not in columns:
            found.unrated.append(name)
        if TIME not in columns:
            found.untimed.append(name)

    def _add_arrays(self, path: Path, file: str, suffix: str, is_large: bool) -> None:
        if suffix == ".safetensors":
            keys, alone = tensors_of(path)
        else:
            keys, alone = [header.key or "" for header in read_headers(path)], True
            if suffix == ".npz" and keys != [""]:  # not a vector for each id
                with ZipFile(path) as archive:
                    names = {name.removesuffix(".npy") for name in archive.namelist() if name != METADATA_NAME}
                alone = names <= {*keys, find_ids(names, keys[0] if len(keys) == 1 else None)}
        for key in keys:
            name = file if len(keys) == 1 and alone else f"{file}:{key}"
            named_queries = len(keys) > 1 and any(part in key.lower() for part in QUERY_NAMES)
            is_queries = named_queries or is_named(path, QUERY_NAMES)
            self._add_vectors(path, name, is_queries=is_queries, is_large=is_large)

    def _add_vectors(self, path: Path, name: str, *, is_queries: bool, is_large: bool = False) -> None:
        _, _, key = name.rpartition(path.name)
        if not is_large:
            try:
                vectors = read_vectors(f"{path}{key}")
            except RankjuryError as error:
                self.found.unusable[name] = error.found
                return
            self.found.facts[name] = FileFacts(
                items=vectors.ids, dimensions=vectors.values.shape[1], numbered=vectors.numbered
            )
        (self.found.query_vectors if is_queries else self.found.vectors).append(name)

    def _add_large(self, path: Path, name: str, suffix: str) -> None:
        """Add a file that is too large to be read, by its columns or first lines."""
        if suffix in (".parquet", ".pq"):
            kind = kind_of_columns(list(read_schema(path, str(path))), name)
        elif suffix == ".json":
            kind = "gold" if is_named(path, GOLD_NAMES) else "run"
        else:
            lines = Source.open(path).head.rpartition("\n")[0]
            kind, _ = read_gold_or_run(Source(name, None, lines.encode()), path)
        (self.found.golds if kind == "gold" else self.found.runs).append(name)
        self.found.limits.append(f"{name} is large: only its beginning was read")

    def _is_query_text(self, path: Path) -> bool:
        if not is_query_lines(Source.open(path)):
            return False
        with suppress(RankjuryError):
            read_gold_or_run(Source.open(path), path)
            return False
        return True

    def _add_query_text(self, path: Path, name: str) -> None:
        queries = [fields for _, fields in query_lines(Source.open(path))]
        self.found.texts.append(name)
        ids = pl.Series([fields["id"] for fields in queries], dtype=pl.String)
        self.found.facts[name] = FileFacts(items=ids, id_column="id", text=_TEXT)
        if len({fields["type"] for fields in queries}) > 1:
            self.found.tables[name] = ["type"]

    def _add_table(self, path: Path, name: str, suffix: str) -> None:
        try:
            kind, content = read_gold_or_run(Source.open(path), path)
        except RankjuryError:
            if suffix not in (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet") or suffix in VECTOR_SUFFIXES[:3]:
                raise
            if is_named(path, GOLD_NAMES) and has_columns_of_gold(path):
                raise  # its columns are those of a gold, and its content is not
            self.tables.append(_Table(path, name, *read_attributes(str(path), "query")))
            return
        facts = FileFacts(_ids(content.queries), _ids(content.items))
        if isinstance(content, Gold):
            facts = replace(facts, highest=float(content.grades.max()))
        self.found.facts[name] = facts
        (self.found.golds if kind == "gold" else self.found.runs).append(name)

    def sort_tables(self) -> None:
        """Sort in the tables of queries and of items: by their columns, by whose ids they hold, or by their names."""
        found = self.found
        judged = [found.facts_of(name) for name in (*found.golds, *found.runs)]
        for table in self.tables:
            path, name, ids = table.path, table.name, table.frame[table.id_column].cast(pl.String)
            others = table.frame.drop(table.id_column)
            as_queries, as_items = (
                max((shared(ids, facts_ids) for facts_ids in known if facts_ids is not None), default=0)
                for known in ([facts.queries for facts in judged], [facts.items for facts in judged])
            )
            of_items = is_item_column(table.id_column)
            if not of_items and as_items != as_queries:
                of_items = as_items > as_queries
            elif not of_items:
                of_items = is_named(path, ITEM_NAMES) and not is_named(path, QUERY_NAMES)
            attributes = [attribute.name for (attribute,) in suitable_attributes(others) if _can_beis_named(attribute)]
            attributes.sort(key=lambda column: others[column].dtype.is_numeric())
            title = next((column for column in _TITLES if others.schema.get(column) == pl.String), None)
            text = next((column for column in (_TEXT, "query", "question") if column in others.columns), None)
            found.facts[name] = FileFacts(items=ids, id_column=table.id_column, title=title, text=text)
            if title is not None and found.names is None and (of_items or not judged):
                found.names = f"{name}:{title}"
            keywords = _keyword_columns(others, sure=is_named(path, _ANNOTATION_NAMES)) if of_items else []
            if keywords:
                found.annotated[name] = keywords
            elif of_items and any(column in others.columns for column in TEXTS):
                with suppress(RankjuryError):
                    read_catalogue(path)
                    found.products.append(name)
            if not of_items and _TEXT in others.columns:
                found.texts.append(name)
            if attributes:
                (found.item_tables if of_items else found.tables)[name] = attributes


def shared(ids: pl.Series, others: pl.Series) -> int:
    """Return how many of these ids are among the others."""
    return int(ids.is_in(others.implode()).sum())


def _ids(ids: pl.Series) -> pl.Series:
    return ids.cast(pl.String).unique()


def _keyword_columns(table: pl.DataFrame, *, sure: bool = False) -> list[str]:
    """Return columns of few different texts, if one of them has several in a cell, or the table is ``sure``."""
    texts = {name: table[name] for name in table.columns if table[name].dtype == pl.String}
    split = {name: cells.drop_nulls().str.split(SEPARATOR) for name, cells in texts.items()}
    several = [name for name, lists in split.items() if (lists.list.len() > 1).any()]
    few = [name for name, lists in split.items() if 0 < lists.explode().n_unique() <= max(_FEW, len(table) // _SHARE)]
    return few if sure or set(several) & set(few) else []


def _can_beis_named(attribute: Attribute) -> bool:
    """Return whether a plan can name it: not where the name holds commas, stars or brackets."""
    try:
        return parse_attributes(attribute.name) == [(attribute,)]
    except RankjuryError:
        return False
