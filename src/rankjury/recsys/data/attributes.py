"""What is known of items and users beside the log: titles, genres, years; age, gender, occupation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from rankjury.core.text import plural
from rankjury.core.types import Ints, Matrix, places_in
from rankjury.errors import DataError, UnknownName, guard_reading
from rankjury.io.source import Source
from rankjury.recsys.data.log import Log, as_whole
from rankjury.recsys.data.movielens import as_lists, read_table, resolve_file

GENRES = "genres"
_FEATURES = {"genre": (GENRES, "genre"), "tag": ("tags", "tag"), "category": ("categories", "category")}
"""What measures and models call a feature of items, and its columns."""
_LISTS = (*(name for names in _FEATURES.values() for name in names), "keywords")
_YEAR = r"\((\d{4})(?:[-–]\d{0,4})?\)\s*$"
_MOST_LEVELS = 25
"""An attribute of more values than this is no group of users; numbers are cut into groups."""
_GROUPS = 6


@dataclass(frozen=True, eq=False)
class SideFeatures:
    """What is known of items and users beside the log; rows are those of the log's ids."""

    items: Mapping[str, Matrix] = field(default_factory=dict)
    """By name, such as genre: a row an item; a row of zeros is unknown."""
    users: Mapping[str, Matrix] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    """Of each item, such as its title and genres."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the columns of ``items`` and ``users`` are called."""


@dataclass(frozen=True, eq=False)
class Attributes:
    """One row an id."""

    ids: pl.Series
    """As strings."""
    table: pl.DataFrame
    """The attributes; lists where there can be several values, as of genres."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """By id, where there are any."""
    source: str = "attributes"

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Attributes({self.source}: {len(self):,} rows, {', '.join(self.table.columns)})"


def read_items(path: str | Path, *, id_column: str | None = None) -> Attributes:
    """Read movies.dat, movies.csv, u.item, a folder that holds one of them, or any table with a column of ids."""
    return _read(path, "item", id_column)


def read_users(path: str | Path, *, id_column: str | None = None) -> Attributes:
    """Read users.dat, u.user, a folder that holds one of them, or any table with a column of ids."""
    return _read(path, "user", id_column)


def _read(path: str | Path, kind: str, id_column: str | None) -> Attributes:
    source = Source.open(resolve_file(path, f"{kind}s"))
    with guard_reading(source.name, f"a table of {kind}s"):
        frame, found, title = read_table(source, kind, id_column)
        ids = _checked(frame[found], source.name)
        table = frame.drop(found)
        for name in table.columns:
            if name.lower() in _LISTS and table[name].dtype == pl.String:
                table = table.with_columns(as_lists(table[name]))
        if title is None:
            return Attributes(ids, table, source=source.name)
        titles = table[title].cast(pl.String)
        if "year" not in table.columns:
            years = titles.str.extract(_YEAR).cast(pl.Int32, strict=False)
            table = table.with_columns(years.alias("year")) if years.null_count() < len(years) else table
        named = {one: text for one, text in zip(ids, titles, strict=True) if text is not None}
        return Attributes(ids, table.drop(title), named, source.name)


def _checked(ids: pl.Series, source: str) -> pl.Series:
    texts = as_whole(ids).cast(pl.String).str.strip_chars()
    blank = (texts.is_null() | (texts == "")).arg_true()
    if len(blank):
        raise DataError(f"row {blank[0] + 1:,} has no {ids.name}", where=source, expected="an id in every row")
    if texts.is_duplicated().any():
        twice = texts.filter(texts.is_duplicated())[0]
        first, second = (texts == twice).arg_true()[:2]
        many = plural(len(texts) - texts.n_unique(), "row repeats", "rows repeat")
        raise DataError(
            f"the id {twice!r} stands in rows {first + 1:,} and {second + 1:,} ({many} an id)",
            where=source,
            expected="each id once",
        )
    return texts


def side_features(
    log: Log,
    items: Attributes | None = None,
    users: Attributes | None = None,
    *,
    genre_column: str = GENRES,
    trained: Ints | None = None,
) -> SideFeatures:
    """Attributes as matrices and texts whose rows are the log's items and users; who is not listed has zeros.

    Items: ``genre``, a column a genre, 1 where an item has it; likewise ``tag`` and ``category``. Users:
    ``user_gender`` and the like, a column a value; numbers of many values are cut into groups of like size, and texts
    of many, such as postcodes, are left out; so that nothing hangs on users of the future, groups are made by those who
    are ``trained`` on, by code; None: all.
    """
    of_items, of_users = dict[str, Matrix](), dict[str, Matrix]()
    labels, texts = dict[str, tuple[str, ...]](), tuple[str, ...]()
    if items is not None:
        rows = places_in(items.ids, log.items)
        features = dict(_features(items))
        if genre_column in items.table.columns:
            features["genre"] = _as_lists(items.table[genre_column])
        elif genre_column != GENRES:
            raise UnknownName("column", genre_column, items.table.columns, where=items.source)
        for name, lists in features.items():
            if (lists.list.len() > 0).any():
                of_items[name], labels[name] = _flags(lists, rows)
        texts = _texts(log, items, features.get("genre"))
    if users is not None:
        rows = places_in(users.ids, log.users)
        looked_at = rows if trained is None else rows[trained]
        for name, column in _levels(users.table, np.unique(looked_at[looked_at >= 0])):
            of_users[f"user_{name}"], labels[f"user_{name}"] = _flags(column, rows)
    return SideFeatures(of_items, of_users, texts, labels)


def _features(items: Attributes) -> Iterator[tuple[str, pl.Series]]:
    """The first column of each feature that there is, as lists of texts."""
    folded = {name.lower(): name for name in reversed(items.table.columns)}
    for feature, names in _FEATURES.items():
        column = next((folded[name] for name in names if name in folded), None)
        if column is not None:
            yield feature, _as_lists(items.table[column])


def _as_lists(column: pl.Series) -> pl.Series:
    return column.cast(pl.List(pl.String)) if isinstance(column.dtype, pl.List) else as_lists(column.cast(pl.String))


def _flags(lists: pl.Series, rows: Ints) -> tuple[Matrix, tuple[str, ...]]:
    """A column a value that occurs, ascending; ``rows``: where each wanted row stands, or −1."""
    pairs = pl.DataFrame({"row": np.arange(len(lists)), "label": lists}).explode("label").drop_nulls()
    labels = pairs["label"].unique().sort()
    matrix = np.zeros((len(lists) + 1, len(labels)), dtype=np.float32)
    matrix[pairs["row"].to_numpy(), places_in(labels, pairs["label"])] = 1
    return matrix[rows], tuple(labels)


def _texts(log: Log, items: Attributes, genres: pl.Series | None) -> tuple[str, ...]:
    """Title and genres of each of the log's items; empty where neither is known."""
    named = {} if genres is None else dict(zip(items.ids, genres, strict=True))
    found = []
    for one in log.items:
        held = named.get(one)
        found.append(" ".join([items.titles.get(one, ""), *([] if held is None else held)]).strip())
    return tuple(found)


def _levels(table: pl.DataFrame, looked_at: Ints) -> Iterator[tuple[str, pl.Series]]:
    """Each attribute that parts users into groups, as lists of texts; ``looked_at``: the rows that decide."""
    for name in table.columns:
        column = table[name]
        if isinstance(column.dtype, pl.List):
            yield name, column.cast(pl.List(pl.String))
            continue
        if column.dtype.is_numeric() and column.gather(looked_at).n_unique() > _MOST_LEVELS:
            column = _cut(column.cast(pl.Float64).fill_nan(None), looked_at)
        texts = column.cast(pl.String)
        if 1 < texts.gather(looked_at).drop_nulls().n_unique() <= _MOST_LEVELS:
            yield name, texts.to_frame().select(pl.concat_list(name))[name]


def _cut(numbers: pl.Series, looked_at: Ints) -> pl.Series:
    """Numbers as groups of like size, called by their lowest and highest."""
    known = numbers.gather(looked_at).drop_nulls().to_numpy()
    inner = np.unique(np.quantile(known, np.arange(1, _GROUPS) / _GROUPS, method="lower"))
    group = np.searchsorted(inner, numbers.fill_null(float("inf")).to_numpy(), side="left")
    names = pl.DataFrame({"group": group, "value": numbers})
    ends = names[looked_at].drop_nulls().group_by("group").agg(low=pl.col("value").min(), high=pl.col("value").max())
    called = {group: f"{low:g}–{high:g}" for group, low, high in ends.iter_rows()}
    found = names.select(pl.when(pl.col("value").is_not_null()).then(pl.col("group")))["group"]
    return found.replace_strict(called, return_dtype=pl.String, default=None).rename(numbers.name)
