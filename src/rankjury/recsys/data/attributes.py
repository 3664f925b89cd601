"""Attributes of items (title, genre, year) and users (age, gender, occupation), and their feature matrices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from rankjury.core.text import plural
from rankjury.core.types import Ints, Matrix, places_in
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.attributes import read_attributes
from rankjury.io.source import Source
from rankjury.io.tables import column_names
from rankjury.recsys.data.log import Log, as_whole, find_column
from rankjury.recsys.data.movielens import ID, TITLE, read_headless, resolve_file

_FEATURES = {"genre": ("genres", "genre"), "tag": ("tags", "tag"), "category": ("categories", "category")}
"""Names of item features in measures and models, and their columns."""
_LISTS = (*(name for names in _FEATURES.values() for name in names), "keywords")
_NO_GENRES = "(no genres listed)"
_SEPARATORS = ("|", ";", ",")
_TITLES = (TITLE, "name", "item_name", "product_name", "movie_title")
_YEAR = r"\((\d{4})(?:[-–]\d{0,4})?\)\s*$"
_MAX_LEVELS = 25
"""Text columns with more values are omitted as user groups; number columns with more are cut into groups."""
_GROUPS = 6


@dataclass(frozen=True, eq=False)
class SideFeatures:
    """Feature matrices of items and users, with one row per id of the log."""

    items: Mapping[str, Matrix] = field(default_factory=dict)
    """By name, such as genre: one row per item; a row of zeros is unknown."""
    users: Mapping[str, Matrix] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    """Text of each item, such as its title and genres."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the columns of ``items`` and ``users``."""


@dataclass(frozen=True, eq=False)
class Attributes:
    """Attribute table with one row per id."""

    ids: pl.Series
    """Ids as strings."""
    table: pl.DataFrame
    """The attributes; lists if there may be several values, as for genres."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles by id, if there are any."""
    source: str = "attributes"

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Attributes({self.source}: {len(self):,} rows, {', '.join(self.table.columns)})"


def read_items(path: str | Path) -> Attributes:
    """Read movies.dat, movies.csv, u.item, a folder with one of them, or any table with an id column."""
    return _read(path, "item")


def read_users(path: str | Path) -> Attributes:
    """Read users.dat, u.user, a folder with one of them, or any table with an id column."""
    return _read(path, "user")


def _read(path: str | Path, kind: Literal["item", "user"]) -> Attributes:
    source = Source.open(resolve_file(path, f"{kind}s"))
    with guard_reading(source.name, f"a table of {kind}s"):
        frame, id_column, title = _read_table(source, kind)
        ids, table = _check_ids(frame[id_column], source.name), frame.drop(id_column)
        for name in table.columns:
            if name.lower() in _LISTS and table[name].dtype == pl.String:
                table = table.with_columns(_split_cells(table[name]))
        if title is None:
            return Attributes(ids, table, source=source.name)
        titles = table[title].cast(pl.String)
        if "year" not in table.columns:
            years = titles.str.extract(_YEAR).cast(pl.Int32, strict=False)
            table = table.with_columns(years.alias("year")) if years.null_count() < len(years) else table
        by_id = {id_: text for id_, text in zip(ids, titles, strict=True) if text is not None}
        return Attributes(ids, table.drop(title), by_id, source.name)


def _read_table(source: Source, kind: Literal["item", "user"]) -> tuple[pl.DataFrame, str, str | None]:
    """Return the table, the name of its id column, and that of its title column."""
    headless = read_headless(source, kind)
    if headless is not None:
        return headless, ID, TITLE if TITLE in headless.columns else None
    if source.file is None:
        raise UsageError(f"a table of {kind}s from a pipe", where=source.name, expected="a file")
    of = "item" if kind == "item" else "query"
    known = find_column(column_names(source), kind)
    frame, id_column = read_attributes(source.name, of, id_column=known, ids_alone=kind == "item")
    folded = {name.lower(): name for name in reversed(frame.columns) if name != id_column}
    title = next((folded[name] for name in _TITLES if name in folded), None) if kind == "item" else None
    return frame, id_column, title


def _split_cells(texts: pl.Series) -> pl.Series:
    """Return cells of several values as lists; blank cells and ``(no genres listed)`` are empty."""
    separator = next((mark for mark in _SEPARATORS if texts.str.contains(mark, literal=True).any()), "|")
    cells = texts.fill_null("").str.replace(_NO_GENRES, "", literal=True).str.split(separator)
    return cells.list.eval(pl.element().str.strip_chars()).list.eval(pl.element().filter(pl.element() != ""))


def _check_ids(ids: pl.Series, source: str) -> pl.Series:
    """Return ids as strings; raise an error for blank ids and duplicates."""
    texts = as_whole(ids).cast(pl.String).str.strip_chars()
    blank = (texts.is_null() | (texts == "")).arg_true()
    if len(blank):
        raise DataError(f"row {blank[0] + 1:,} has no {ids.name}", where=source, expected="an id in every row")
    if texts.is_duplicated().any():
        duplicate = texts.filter(texts.is_duplicated())[0]
        first, second = (texts == duplicate).arg_true()[:2]
        many = plural(len(texts) - texts.n_unique(), "row repeats", "rows repeat")
        found = f"duplicate id {duplicate!r} in rows {first + 1:,} and {second + 1:,} ({many} an id)"
        raise DataError(found, where=source, expected="each id once")
    return texts


def side_features(
    log: Log, items: Attributes | None = None, users: Attributes | None = None, *, trained: Ints | None = None
) -> SideFeatures:
    """Return attributes as matrices and texts whose rows are the log's items and users; unlisted ids have zeros.

    Items: ``genre``, with one column per genre, 1 if the item has it; likewise ``tag`` and ``category``. Users:
    ``user_gender`` etc., with one column per value; numbers with many values are cut into groups of similar size, and
    text columns with many, such as postcodes, are omitted. So that results do not depend on future users, groups are
    computed from the ``trained`` users, by code; None: all.
    """
    of_items, of_users = dict[str, Matrix](), dict[str, Matrix]()
    labels, texts = dict[str, tuple[str, ...]](), tuple[str, ...]()
    if items is not None:
        rows = places_in(items.ids, log.items)
        folded = {name.lower(): name for name in reversed(items.table.columns)}
        genres = dict[str, pl.Series]()
        for feature, names in _FEATURES.items():
            column = next((items.table[folded[name]] for name in names if name in folded), None)
            if column is None:
                continue
            is_list = isinstance(column.dtype, pl.List)
            values = column.cast(pl.List(pl.String)) if is_list else _split_cells(column.cast(pl.String))
            if (values.list.len() > 0).any():
                of_items[feature], labels[feature] = _flags(values, rows)
            if feature == "genre":
                genres = {id_: of for id_, of in zip(items.ids, values, strict=True) if of is not None}
        texts = tuple(" ".join([items.titles.get(id_, ""), *genres.get(id_, ())]).strip() for id_ in log.items)
    if users is not None:
        rows = places_in(users.ids, log.users)
        grouping = rows if trained is None else rows[trained]
        for name, column in _user_levels(users.table, np.unique(grouping[grouping >= 0])):
            of_users[f"user_{name}"], labels[f"user_{name}"] = _flags(column, rows)
    return SideFeatures(of_items, of_users, texts, labels)


def _flags(lists: pl.Series, rows: Ints) -> tuple[Matrix, tuple[str, ...]]:
    """Return a column per distinct value, ascending; ``rows``: the position of each wanted row in the lists, or −1."""
    pairs = pl.DataFrame({"row": np.arange(len(lists)), "label": lists}).explode("label").drop_nulls()
    labels = pairs["label"].unique().sort()
    matrix = np.zeros((len(lists) + 1, len(labels)), dtype=np.float32)
    matrix[pairs["row"].to_numpy(), places_in(labels, pairs["label"])] = 1
    return matrix[rows], tuple(labels)


def _user_levels(table: pl.DataFrame, grouping: Ints) -> Iterator[tuple[str, pl.Series]]:
    """Yield each attribute that groups users, as lists of texts; groups are computed from the rows ``grouping``."""
    for name in table.columns:
        column = table[name]
        if isinstance(column.dtype, pl.List):
            yield name, column.cast(pl.List(pl.String))
            continue
        if column.dtype.is_numeric() and column.gather(grouping).n_unique() > _MAX_LEVELS:
            column = _cut_numbers(column.cast(pl.Float64).fill_nan(None), grouping)
        texts = column.cast(pl.String)
        if 1 < texts.gather(grouping).drop_nulls().n_unique() <= _MAX_LEVELS:
            yield name, texts.to_frame().select(pl.concat_list(name))[name]


def _cut_numbers(numbers: pl.Series, grouping: Ints) -> pl.Series:
    """Return numbers as groups of similar size, named by their lowest and highest number."""
    known = numbers.gather(grouping).drop_nulls().to_numpy()
    inner = np.unique(np.quantile(known, np.arange(1, _GROUPS) / _GROUPS, method="lower"))
    group = np.searchsorted(inner, numbers.fill_null(float("inf")).to_numpy(), side="left")
    table = pl.DataFrame({"group": group, "value": numbers})
    ends = table[grouping].drop_nulls().group_by("group").agg(low=pl.col("value").min(), high=pl.col("value").max())
    names = {group: f"{low:g}–{high:g}" for group, low, high in ends.iter_rows()}
    groups = table.select(pl.when(pl.col("value").is_not_null()).then(pl.col("group")))["group"]
    return groups.replace_strict(names, return_dtype=pl.String, default=None).rename(numbers.name)
