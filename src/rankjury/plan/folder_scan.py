"""Scan of a folder: which file is a gold, which a run, which holds vectors, which describes queries."""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

import polars as pl

from rankjury.core.convert import is_item_column
from rankjury.errors import RankjuryError, guard_reading
from rankjury.evaluation.slices.groups import Attribute, parse_attributes, suitable_attributes
from rankjury.io.attributes import is_query_lines, query_lines, read_attributes
from rankjury.io.formats import kind_of
from rankjury.io.json import parse_json
from rankjury.io.ordered_lists import aspects_of
from rankjury.io.parquet import read_schema
from rankjury.io.source import Source, plain_suffix
from rankjury.io.tables import column_names
from rankjury.io.vectors import VECTOR_SUFFIXES
from rankjury.io.vectors.arrays import find_ids
from rankjury.io.vectors.scan import METADATA_NAME, holds_vectors, list_columns, read_headers
from rankjury.io.vectors.tables import json_spaces
from rankjury.labeling.keywords.annotations import SEPARATOR
from rankjury.labeling.products.catalog import TEXTS, read_catalogue
from rankjury.recsys.data.log import TIME, VALUE, find_columns
from rankjury.recsys.data.movielens import FILES, find_companions, find_file

_MAX_FILES = 200
_MAX_BYTES = 64 << 20
"""Larger files are not opened; their name tells."""
_GOLD_NAMES = ("qrel", "gold", "label", "judg", "truth")
_QUERY_NAMES = ("quer", "topic", "question")
_ANNOTATION_NAMES = ("annot",)
_REFERENCE_NAMES = ("reference", "ref", "teacher", "ada")
_TEXT = "text"
_FEW, _SHARE = 20, 4
"""Keywords of a column: so many, or a row in so many has another."""
_TITLES = ("title", "name", "label")
_TEXTS = (".txt", ".trec", ".run", ".qrels", ".csv", ".tsv", ".jsonl", ".json", ".parquet", ".res", ".test")


@dataclass
class FolderContents:
    """Files of a folder by kind; paths are relative to the folder."""

    golds: list[str] = field(default_factory=list)
    ordered: dict[str, list[str]] = field(default_factory=dict)
    """With their aspects."""
    runs: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    """``FILE`` or ``FILE:KEY``."""
    query_vectors: list[str] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)
    """With the attributes that group, categories before numbers."""
    item_tables: dict[str, list[str]] = field(default_factory=dict)
    """The same of tables whose ids are called an item's."""
    annotated: dict[str, list[str]] = field(default_factory=dict)
    """Tables of items with several keywords in a cell, and the columns that hold keywords."""
    texts: list[str] = field(default_factory=list)
    """Tables whose ids are called a query's, with texts; and plain texts with a query on each line."""
    products: list[str] = field(default_factory=list)
    """JSON files of products with texts."""
    logs: list[str] = field(default_factory=list)
    """Who took what and when."""
    unrated: list[str] = field(default_factory=list)
    """Logs without ratings."""
    catalogues: list[str] = field(default_factory=list)
    """Items as MovieLens releases list them."""
    people: list[str] = field(default_factory=list)
    """Users as MovieLens releases list them."""
    names: str | None = None
    """``FILE:COLUMN`` with what items are called."""

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


def scan_folder(folder: Path) -> FolderContents:
    """Look at the files of a folder; files that cannot be read are omitted."""
    found = FolderContents()

    def visible(folders: list[Path]) -> list[Path]:
        inside = (path for place in folders if place.is_dir() for path in place.iterdir())
        return sorted(path for path in inside if not path.name.startswith("."))

    def sort_in(paths: list[Path]) -> None:
        for path in [path for path in paths if path.is_file()][:_MAX_FILES]:
            with suppress(RankjuryError), guard_reading(str(path)):
                _sort_in(path, path.relative_to(folder).as_posix(), found)

    top = visible([folder])
    sort_in(top)
    if not found.logs:
        _look_into(top[:_MAX_FILES], found)
    if not found.anything:  # as where models/, data/ and docs/ hold all files
        inner = visible(top)
        sort_in(sorted([*inner, *visible(inner)]))
    return found


def _look_into(folders: list[Path], found: FolderContents) -> None:
    """Add the first folder that is a MovieLens release, such as ``ml-1m``, with its files of movies and users."""
    log = next((file for folder in folders if folder.is_dir() and (file := find_file(folder, "log"))), None)
    if log is None:
        return
    items, users = find_companions(log.parent)
    for file, names in ((log, found.logs), (items, found.catalogues), (users, found.people)):
        if file is not None:
            names.insert(0, f"{file.parent.name}/{file.name}")
    with suppress(RankjuryError), guard_reading(str(log)):
        if plain_suffix(log.name) in (".csv", ".parquet") and VALUE not in _log_columns(log):
            found.unrated.append(found.logs[0])


def _sort_in(path: Path, name: str, found: FolderContents) -> None:
    suffix = plain_suffix(path.name)
    if path.name in FILES["items"]:
        found.catalogues.append(name)
    if path.name in FILES["users"]:
        found.people.append(name)
    columns = _log_columns(path) if suffix in (".csv", ".tsv", ".parquet") else {}
    if path.name in FILES["log"] or TIME in columns:
        found.logs.append(name)
        if columns and VALUE not in columns:
            found.unrated.append(name)
        return
    if suffix in (".npy", ".npz", ".safetensors") or (
        suffix in (".parquet", ".pq") and list_columns(read_schema(path, str(path)))
    ):
        _sort_in_vectors(path, name, suffix, found)
    elif suffix not in _TEXTS or path.stat().st_size == 0:
        return
    elif path.stat().st_size > _MAX_BYTES:
        (found.golds if _named(path, _GOLD_NAMES) else found.runs).append(name)
    elif suffix in (".json", ".jsonl") and holds_vectors(path):
        spaces = json_spaces(Source.open(path)) if suffix == ".json" else []
        names = [f"{name}:{space}" for space in spaces] or [name]
        (found.query_vectors if _named(path, _QUERY_NAMES) else found.vectors).extend(names)
    elif suffix == ".json" and _is_catalogue(path):
        found.products.append(name)
    elif suffix == ".json" and _is_ordered(path):
        found.ordered[name] = aspects_of(path)
    elif suffix == ".txt" and _named(path, _QUERY_NAMES) and is_query_lines(Source.open(path)) and not _is_kind(path):
        found.texts.append(name)
        if len({fields["type"] for _, fields in query_lines(Source.open(path))}) > 1:
            found.tables[name] = ["type"]
    else:
        _sort_in_table(path, name, suffix, found)


def _log_columns(path: Path) -> dict[str, str]:
    """Return the columns of users, items, ratings and times; none where the file is no log."""
    try:
        return find_columns(column_names(Source.open(path)), {}, path.name)
    except RankjuryError:
        return {}


def _named(path: Path, names: tuple[str, ...]) -> bool:
    return any(name in path.name.lower() for name in names)


def _sort_in_vectors(path: Path, file: str, suffix: str, found: FolderContents) -> None:
    if suffix == ".safetensors":
        keys, alone = _tensors(path)
    else:
        keys, alone = [header.key or "" for header in read_headers(path)], True
        if suffix == ".npz" and keys != [""]:  # not a vector for each id
            with ZipFile(path) as archive:
                names = {name.removesuffix(".npy") for name in archive.namelist() if name != METADATA_NAME}
            alone = names <= {*keys, find_ids(names, keys[0] if len(keys) == 1 else None)}
    for key in keys:
        name = file if len(keys) == 1 and alone else f"{file}:{key}"
        named_queries = len(keys) > 1 and any(part in key.lower() for part in _QUERY_NAMES)
        of_queries = named_queries or _named(path, _QUERY_NAMES)
        (found.query_vectors if of_queries else found.vectors).append(name)


def _tensors(path: Path) -> tuple[list[str], bool]:
    """Return the names of the matrices, and whether there is nothing else, from the header of safetensors."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        tensors = parse_json(file.read(min(size, _MAX_BYTES)), str(path))
    tensors.pop("__metadata__", None)
    keys = sorted(name for name, tensor in tensors.items() if len(tensor["shape"]) == 2)
    return keys, len(keys) == len(tensors)


def _is_catalogue(path: Path) -> bool:
    """Return whether this JSON holds products with texts, and no lists of each other as a gold of ordered lists."""
    try:
        ids = frozenset(read_catalogue(path).ids)
    except RankjuryError:
        return False
    tree = parse_json(Source.open(path).text(), str(path))
    entries = tree if isinstance(tree, list) else list(tree.values())
    lists = [value for entry in entries[:1] for value in entry.values() if isinstance(value, list)]
    return any(name in TEXTS for name in entries[0]) and ids.isdisjoint(str(item) for ids_ in lists for item in ids_)


def _is_ordered(path: Path) -> bool:
    tree = parse_json(Source.open(path).text(), str(path))
    return isinstance(tree, list) and any(
        isinstance(value, list) for entry in tree[:1] if isinstance(entry, dict) for value in entry.values()
    )


def _is_kind(path: Path) -> bool:
    """Return whether this is a gold or a run."""
    try:
        return bool(kind_of(Source.open(path)))
    except RankjuryError:
        return False


def _sort_in_table(path: Path, name: str, suffix: str, found: FolderContents) -> None:
    try:
        kind = kind_of(Source.open(path))
        (found.golds if kind == "gold" else found.runs).append(name)
    except RankjuryError:
        if suffix not in (".csv", ".tsv", ".jsonl", ".parquet") or suffix in VECTOR_SUFFIXES[:3]:
            raise
        table, id_column = read_attributes(str(path), "query")
        others, of_items = table.drop(id_column), is_item_column(id_column)
        attributes = [attribute.name for (attribute,) in suitable_attributes(others) if _can_be_named(attribute)]
        attributes.sort(key=lambda column: table[column].dtype.is_numeric())
        title = next((column for column in _TITLES if table.schema.get(column) == pl.String), None)
        if title is not None and found.names is None:
            found.names = f"{name}:{title}"
        keywords = _keyword_columns(others, sure=_named(path, _ANNOTATION_NAMES)) if of_items else []
        if keywords:
            found.annotated[name] = keywords
        if not of_items and _TEXT in table.columns:
            found.texts.append(name)
        if attributes:
            (found.item_tables if of_items else found.tables)[name] = attributes


def _keyword_columns(table: pl.DataFrame, *, sure: bool = False) -> list[str]:
    """Return columns of few different texts, if one of them has several in a cell, or the table is ``sure``."""
    texts = {name: table[name] for name in table.columns if table[name].dtype == pl.String}
    split = {name: cells.drop_nulls().str.split(SEPARATOR) for name, cells in texts.items()}
    several = [name for name, lists in split.items() if (lists.list.len() > 1).any()]
    few = [name for name, lists in split.items() if 0 < lists.explode().n_unique() <= max(_FEW, len(table) // _SHARE)]
    return few if sure or set(several) & set(few) else []


def _can_be_named(attribute: Attribute) -> bool:
    """Return whether a plan can name it: not where the name holds commas, stars or brackets."""
    try:
        return parse_attributes(attribute.name) == [(attribute,)]
    except RankjuryError:
        return False
