"""Scores from a file: a matrix with the ids of its rows and columns, or a table of user, item and score."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.convert import ITEM, QUERY, SCORE, ranking_from_frame
from rankjury.core.text import join_names, plural
from rankjury.core.types import Floats, Ints, freeze, names_of
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.formats import read
from rankjury.io.source import Source, plain_suffix
from rankjury.io.vectors import split_off_key
from rankjury.io.vectors.arrays import ids_of, load, read_npz
from rankjury.io.vectors.ids import read_ids

_FEW = 3


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix: a row a user, a column an item."""

    users: pl.Series
    items: pl.Series
    values: NDArray[Any]

    def __post_init__(self) -> None:
        freeze(self)

    def rows(self, users: Ints, items: Ints, n: int) -> Floats:
        """Scores of n items, −∞ of those that there are none of; ``items`` are the columns' codes, −1 unknown."""
        found = np.full((users.size, n), -np.inf)
        known = items >= 0
        found[:, items[known]] = self.values[users][:, known]
        return found


@dataclass(frozen=True, eq=False)
class Cells:
    """A table by user (CSR): an item and its score a row."""

    users: pl.Series
    items: pl.Series
    starts: Ints
    columns: Ints
    values: Floats

    def __post_init__(self) -> None:
        freeze(self)

    def rows(self, users: Ints, items: Ints, n: int) -> Floats:
        found = np.full((users.size, n), -np.inf)
        for row, user in enumerate(users):
            part = slice(self.starts[user], self.starts[user + 1])
            codes = items[self.columns[part]]
            found[row, codes[codes >= 0]] = self.values[part][codes >= 0]
        return found


def read_scores(path: str, users: str, items: str) -> Grid | Cells:
    """By its name: .npy and .npz are matrices, anything else is a table."""
    with guard_reading(path, "scores"):
        return _read(path, users, items)


def _read(path: str, users: str, items: str) -> Grid | Cells:
    file, key = split_off_key(path)
    if plain_suffix(file) not in (".npy", ".npz"):
        if users or items:
            raise UsageError(f"{path} is a table, which has ids of its own", hint="Leave users and items away.")
        return _cells(path)
    source = Source.open(file)
    packed = plain_suffix(file) == ".npz"
    values = read_npz(source, key or "scores").values if packed else load(source)
    sides = [_ids(source, name, given, packed) for name, given in (("users", users), ("items", items))]
    return _checked(Grid(sides[0], sides[1], values), path)


def _ids(source: Source, name: str, given: str, packed: bool) -> pl.Series:
    if given:
        return names_of(read_ids(given), given)
    if packed:
        where = f"{source.name}:{name}"
        return names_of(ids_of(read_npz(source, name).values, where), where)
    raise UsageError(
        f"{source.name} holds no ids of its {name}", where="scores", expected=f"{name} = FILE, an id a line"
    )


def _checked(grid: Grid, where: str) -> Grid:
    values = grid.values
    if values.ndim != 2 or values.dtype.kind not in "fiu" or values.shape != (len(grid.users), len(grid.items)):
        raise DataError(
            f"found an array of shape {'×'.join(map(str, values.shape))} and type {values.dtype}",
            where=where,
            expected=f"numbers, {len(grid.users):,} users × {len(grid.items):,} items",
        )
    for what, ids in (("user", grid.users), ("item", grid.items)):
        if ids.is_duplicated().any():
            twice = join_names(ids.filter(ids.is_duplicated()).unique(maintain_order=True), _FEW)
            raise DataError(f"the {what} {twice} stands more than once", where=where, expected=f"each {what} once")
    bad = np.isnan(values) | np.isposinf(values)
    if bad.any():
        row, column = divmod(int(np.argmax(bad)), values.shape[1])
        raise _no_number(grid.users[row], grid.items[column], values[row, column], int(bad.sum()), where)
    return grid


def _no_number(user: str, item: str, value: float, times: int, where: str) -> DataError:
    return DataError(
        f"the score of item {item!r} for user {user!r} is {value} ({plural(times, 'such value', 'such values')})",
        where=where,
        expected="finite scores, or −∞ for what cannot be recommended",
    )


def _cells(path: str) -> Cells:
    ranking = ranking_from_frame(read(path, "run"), source=path)
    frame = ranking.frame().with_columns(pl.col(ITEM).cast(pl.String))
    twice = frame.filter(pl.struct(QUERY, ITEM).is_duplicated())
    if len(twice):
        user, item = twice.row(0)[:2]
        raise DataError(f"item {item!r} stands more than once for user {user!r}", where=path, expected="each pair once")
    items = frame[ITEM].unique(maintain_order=True)
    codes = frame[ITEM].replace_strict(items, np.arange(len(items)), return_dtype=pl.Int64).to_numpy()
    return Cells(ranking.queries, items, ranking.starts, codes, frame[SCORE].cast(pl.Float64).to_numpy())
