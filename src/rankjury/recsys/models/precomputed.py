"""Anything of one's own from files: scores, and factors of users and items.

What a file has of users and items that the log lacks is left aside and counted; users that it lacks are cold, and items
that it lacks cannot be recommended.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.convert import ITEM, QUERY, SCORE, ranking_from_frame
from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Floats, Ints, Matrix, Vectors, freeze, names_of, places_in
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.formats import read
from rankjury.io.source import Source, plain_suffix
from rankjury.io.vectors import read_vectors, split_off_key
from rankjury.io.vectors.arrays import ids_of, load, read_npz
from rankjury.io.vectors.ids import read_ids
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS, Recommender
from rankjury.recsys.models.base import are_known, products

_FEW = 3


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
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
class ScoreTable:
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


class _Given(Recommender):
    """Of files; nothing is learned."""

    found: list[str]

    def notes(self) -> list[str]:
        """What is to be known of the files, once they were matched with a log."""
        return self.found

    def _path(self, name: str) -> str:
        given = str(self.settings[name])
        if not given:
            raise UsageError(f"{name} is not given", expected=f"{name} = FILE")
        return given

    def _matched(self, known: pl.Series, given: pl.Series, what: str, where: str) -> Ints:
        """The code of each given id, −1 where the log lacks it."""
        places = places_in(known, given.cast(pl.String))
        lacking = int((places < 0).sum())
        if lacking == len(given):
            raise DataError(
                f"none of its {plural(lacking, what, what + 's')} is in the log: {join_names(given, _FEW)}",
                where=where,
                expected=f"ids such as {join_names(known, _FEW)}",
            )
        if lacking:
            are = plural(lacking, f"{what} is", f"{what}s are")
            self.found.append(f"{where}: {are} not in the log, and left aside")
        return places


@RECOMMENDERS.register("scores")
class PrecomputedScores(_Given):
    """Scores that somebody else worked out."""

    about = "scores from a file: a matrix (.npy, .npz) with ids of users and items, or a table of user, item, score"
    params: ClassVar = {
        "path": Param("", "the file: .npy, .npz (arrays scores, users and items), or a table"),
        "users": Param("", "of a matrix: the file with the ids of its rows"),
        "items": Param("", "of a matrix: the file with the ids of its columns"),
    }
    paths = ("path", "users", "items")
    held: ScoreMatrix | ScoreTable
    row_of: Ints
    item_codes: Ints
    n_items: int

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        path = self._path("path")
        self.found = []
        self.held = read_scores(path, str(self.settings["users"]), str(self.settings["items"]))
        users = self._matched(train.users, self.held.users, "user", path)
        self.item_codes = self._matched(train.items, self.held.items, "item", path)
        self.n_items = len(train.items)
        self.row_of = np.full(len(train.users), -1, dtype=np.int64)
        self.row_of[users[users >= 0]] = np.flatnonzero(users >= 0)

    def score(self, users: Ints, items: Ints) -> Matrix:
        rows = self.row_of[users]
        found = np.full((users.size, items.size), -np.inf)
        found[rows >= 0] = self.held.rows(rows[rows >= 0], self.item_codes, self.n_items)[:, items]
        return found

    def knows(self, users: Ints) -> Bools:
        return self.row_of[users] >= 0


@RECOMMENDERS.register("factors")
class PrecomputedFactors(_Given):
    """Factors that somebody else learned."""

    about = "factors from two files of vectors, one of users and one of items: scores are their inner products"
    params: ClassVar = {
        "user_factors": Param("", "the file of users' vectors, or FILE:KEY"),
        "item_factors": Param("", "the file of items' vectors, or FILE:KEY"),
        "users": Param("", "the file of the users' ids, where the vectors come without"),
        "items": Param("", "the file of the items' ids, where the vectors come without"),
    }
    paths = ("user_factors", "item_factors", "users", "items")
    of_users: Floats
    of_items: Floats

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        self.found = []
        users = read_vectors(self._path("user_factors"), ids=str(self.settings["users"]) or None)
        items = read_vectors(self._path("item_factors"), ids=str(self.settings["items"]) or None)
        if users.dimensions != items.dimensions:
            raise DataError(
                f"vectors of {users.dimensions:,} numbers for users and of {items.dimensions:,} for items",
                where=f"{users.source}, {items.source}",
                expected="as many for both",
            )
        self.of_users = self._laid_out(users, train.users, "user")
        self.of_items = self._laid_out(items, train.items, "item")

    def _laid_out(self, vectors: Vectors, known: pl.Series, what: str) -> Floats:
        numbers = pl.int_range(len(vectors.ids), eager=True).cast(pl.String)
        are_numbered = bool((vectors.ids.cast(pl.String) == numbers).all())
        if not self.settings[f"{what}s"] and are_numbered and "0" not in known:
            raise DataError(
                f"holds no ids of its {what}s, and the log has none that is numbered 0",
                where=vectors.source,
                expected=f"{what}s = FILE, an id a line",
            )
        codes = self._matched(known, vectors.ids, what, vectors.source)
        found = np.full((len(known), vectors.dimensions), np.nan)
        found[codes[codes >= 0]] = vectors.values[codes >= 0]
        return found

    def factors(self) -> tuple[Matrix, Matrix]:
        return self.of_users, self.of_items

    def score(self, users: Ints, items: Ints) -> Matrix:
        return products(self.of_users[users], self.of_items[items])

    def knows(self, users: Ints) -> Bools:
        return are_known(self.of_users[users])


def read_scores(path: str, users: str, items: str) -> ScoreMatrix | ScoreTable:
    """By its name: .npy and .npz are matrices, anything else is a table."""
    with guard_reading(path, "scores"):
        return _read(path, users, items)


def _read(path: str, users: str, items: str) -> ScoreMatrix | ScoreTable:
    file, key = split_off_key(path)
    if plain_suffix(file) not in (".npy", ".npz"):
        if users or items:
            raise UsageError(f"{path} is a table, which has ids of its own", hint="Leave users and items away.")
        return _cells(path)
    source = Source.open(file)
    packed = plain_suffix(file) == ".npz"
    values = read_npz(source, key or "scores").values if packed else load(source)
    sides = [_ids(source, name, given, packed) for name, given in (("users", users), ("items", items))]
    return _checked(ScoreMatrix(sides[0], sides[1], values), path)


def _ids(source: Source, name: str, given: str, packed: bool) -> pl.Series:
    if given:
        return names_of(read_ids(given), given)
    if packed:
        where = f"{source.name}:{name}"
        return names_of(ids_of(read_npz(source, name).values, where), where)
    raise UsageError(
        f"{source.name} holds no ids of its {name}", where="scores", expected=f"{name} = FILE, an id a line"
    )


def _checked(grid: ScoreMatrix, where: str) -> ScoreMatrix:
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


def _cells(path: str) -> ScoreTable:
    ranking = ranking_from_frame(read(path, "run"), source=path)
    frame = ranking.frame().with_columns(pl.col(ITEM).cast(pl.String))
    twice = frame.filter(pl.struct(QUERY, ITEM).is_duplicated())
    if len(twice):
        user, item = twice.row(0)[:2]
        raise DataError(f"item {item!r} stands more than once for user {user!r}", where=path, expected="each pair once")
    items = frame[ITEM].unique(maintain_order=True)
    codes = frame[ITEM].replace_strict(items, np.arange(len(items)), return_dtype=pl.Int64).to_numpy()
    return ScoreTable(ranking.queries, items, ranking.starts, codes, frame[SCORE].cast(pl.Float64).to_numpy())
