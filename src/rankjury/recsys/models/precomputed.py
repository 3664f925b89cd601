"""Precomputed recommenders: scores from a matrix or a table, and factors of users and items from files.

Users and items of a file that are not in the log are dropped and counted; users that are not in the file are cold, and
items that are not in it cannot be recommended.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankjury.core.columns import ITEM, QUERY, SCORE
from rankjury.core.convert import ranking_from_frame
from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.text import join_names, plural
from rankjury.core.types import Bools, Floats, Ints, Matrix, Vectors, gathered, names_of, places_in
from rankjury.errors import DataError, UsageError, guard_reading
from rankjury.io.formats import read
from rankjury.io.source import Source, plain_suffix
from rankjury.io.vectors import read_ids, read_vectors, split_off_key
from rankjury.io.vectors.arrays import ids_of, load, read_npz
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS, Recommender
from rankjury.recsys.models.base import FactorModel

_EXAMPLES = 3
"""Maximum number of ids in an error."""


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """Scores as a matrix with one row per user and one column per item."""

    users: pl.Series
    items: pl.Series
    values: NDArray[Any]

    def rows(self, users: Ints) -> Matrix:
        """Return the scores of all items for some users, given by row."""
        return np.asarray(self.values[users])


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores as a table by user (CSR) with one row per pair."""

    users: pl.Series
    items: pl.Series
    starts: Ints
    columns: Ints
    values: Floats

    def rows(self, users: Ints) -> Matrix:
        """Return the scores of all items for some users, given by row; −∞ without a score."""
        scores = np.full((users.size, len(self.items)), -np.inf)
        starts, at = gathered(self.starts, users)
        scores[np.repeat(np.arange(users.size), np.diff(starts)), self.columns[at]] = self.values[at]
        return scores


class _Precomputed(Recommender):
    """Recommender from files, without training."""

    warnings: list[str]

    def notes(self) -> list[str]:
        """Return warnings on the files after matching them with a log."""
        return self.warnings

    def _path(self, name: str) -> str:
        path = str(self.settings[name])
        if not path:
            raise UsageError(f"{name} is missing", expected=f"{name} = FILE")
        return path

    def _match(self, known: pl.Series, ids: pl.Series, what: str, where: str) -> Ints:
        """Return the code of each id, −1 if it is not in the log."""
        codes = places_in(known, ids.cast(pl.String))
        lacking = int((codes < 0).sum())
        if lacking == len(ids):
            raise DataError(
                f"none of its {plural(lacking, what, what + 's')} is in the log: {join_names(ids, _EXAMPLES)}",
                where=where,
                expected=f"ids such as {join_names(known, _EXAMPLES)}",
            )
        if lacking:
            are = plural(lacking, f"{what} is", f"{what}s are")
            self.warnings.append(f"{where}: {are} not in the log, and ignored")
        return codes


@RECOMMENDERS.register("scores")
class PrecomputedScores(_Precomputed):
    """Scores computed by another program."""

    description = (
        "scores from a file: a matrix (.npy, .npz) with ids of users and items, or a table of user, item, score"
    )
    params: ClassVar = {
        "path": Param("", "the file: .npy, .npz (arrays scores, users and items), or a table"),
        "users": Param("", "for a matrix: the file with the ids of its rows"),
        "items": Param("", "for a matrix: the file with the ids of its columns"),
    }
    paths = ("path", "users", "items")
    scores: ScoreMatrix | ScoreTable
    row_of: Ints
    column_of: Ints

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        path = self._path("path")
        self.warnings = []
        self.scores = read_scores(path, str(self.settings["users"]), str(self.settings["items"]))
        self.row_of, self.column_of = np.full(len(train.users), -1), np.full(len(train.items), -1)
        users = self._match(train.users, self.scores.users, "user", path)
        items = self._match(train.items, self.scores.items, "item", path)
        self.row_of[users[users >= 0]] = np.flatnonzero(users >= 0)
        self.column_of[items[items >= 0]] = np.flatnonzero(items >= 0)

    def score(self, users: Ints, items: Ints) -> Matrix:
        rows, columns = self.row_of[users], self.column_of[items]
        table = np.full((users.size, items.size), -np.inf)
        table[np.ix_(rows >= 0, columns >= 0)] = self.scores.rows(rows[rows >= 0])[:, columns[columns >= 0]]
        return table

    def knows(self, users: Ints) -> Bools:
        return self.row_of[users] >= 0


@RECOMMENDERS.register("factors")
class PrecomputedFactors(_Precomputed, FactorModel):
    """Factors learned by another program."""

    description = "factors from two vector files, of users and of items: scores are their inner products"
    params: ClassVar = {
        "user_factors": Param("", "the file of users' vectors, or FILE:KEY"),
        "item_factors": Param("", "the file of items' vectors, or FILE:KEY"),
        "users": Param("", "the file of user ids, if the vectors have none"),
        "items": Param("", "the file of item ids, if the vectors have none"),
    }
    paths = ("user_factors", "item_factors", "users", "items")

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        self.warnings = []
        users = read_vectors(self._path("user_factors"), ids=str(self.settings["users"]) or None)
        items = read_vectors(self._path("item_factors"), ids=str(self.settings["items"]) or None)
        if users.dimensions != items.dimensions:
            found = f"vectors of {users.dimensions:,} numbers for users and of {items.dimensions:,} for items"
            raise DataError(found, where=f"{users.source}, {items.source}", expected="as many for both")
        self.of_users = self._align(users, train.users, "user")
        self.of_items = self._align(items, train.items, "item")

    def _align(self, vectors: Vectors, known: pl.Series, what: str) -> Floats:
        """Return one row per id of the log; NaN if the file has none."""
        numbers = pl.int_range(len(vectors.ids), eager=True).cast(pl.String)
        are_numbered = bool((vectors.ids.cast(pl.String) == numbers).all())
        if not self.settings[f"{what}s"] and are_numbered and "0" not in known:
            found = f"no {what} ids, and the log has no {what} 0"
            raise DataError(found, where=vectors.source, expected=f"{what}s = FILE, one id per line")
        codes = self._match(known, vectors.ids, what, vectors.source)
        aligned = np.full((len(known), vectors.dimensions), np.nan)
        aligned[codes[codes >= 0]] = vectors.values[codes >= 0]
        return aligned


def read_scores(path: str, users: str, items: str) -> ScoreMatrix | ScoreTable:
    """Read scores by the file's name: .npy and .npz are matrices, anything else is a table."""
    with guard_reading(path, "scores"):
        file, key = split_off_key(path)
        suffix = plain_suffix(file)
        if suffix not in (".npy", ".npz"):
            if users or items:
                raise UsageError(f"{path} is a table, which already contains ids", hint="Omit users and items.")
            return _read_score_table(path)
        source = Source.open(file)
        values = read_npz(source, key or "scores").values if suffix == ".npz" else load(source)
        sides = []
        for name, file_of_ids in (("users", users), ("items", items)):
            if file_of_ids:
                sides.append(names_of(read_ids(file_of_ids), file_of_ids))
            elif suffix == ".npz":
                where = f"{source.name}:{name}"
                sides.append(names_of(ids_of(read_npz(source, name).values, where), where))
            else:
                found = f"{source.name} has no ids of {name}"
                raise UsageError(found, where="scores", expected=f"{name} = FILE, one id per line")
        _check_matrix(values, sides[0], sides[1], path)
        return ScoreMatrix(sides[0], sides[1], values)


def _check_matrix(values: NDArray[Any], users: pl.Series, items: pl.Series, where: str) -> None:
    """Refuse shapes other than users × items, duplicate ids, NaN and +∞."""
    if values.ndim != 2 or values.dtype.kind not in "fiu" or values.shape != (len(users), len(items)):
        raise DataError(
            f"found an array of shape {'×'.join(map(str, values.shape))} and type {values.dtype}",
            where=where,
            expected=f"numbers, {len(users):,} users × {len(items):,} items",
        )
    for what, ids in (("user", users), ("item", items)):
        if ids.is_duplicated().any():
            duplicates = join_names(ids.filter(ids.is_duplicated()).unique(maintain_order=True), _EXAMPLES)
            raise DataError(f"duplicate {what} {duplicates}", where=where, expected=f"each {what} once")
    bad = np.isnan(values) | np.isposinf(values)
    if bad.any():
        row, column = divmod(int(np.argmax(bad)), values.shape[1])
        shown = "NaN" if np.isnan(values[row, column]) else values[row, column]
        raise DataError(
            f"the score of item {items[column]!r} for user {users[row]!r} is {shown} "
            f"({plural(int(bad.sum()), 'such value', 'such values')})",
            where=where,
            expected="finite scores, or −∞ for items that cannot be recommended",
        )


def _read_score_table(path: str) -> ScoreTable:
    ranking = ranking_from_frame(read(path, "run"), source=path)
    frame = ranking.frame().with_columns(pl.col(ITEM).cast(pl.String))
    duplicates = frame.filter(pl.struct(QUERY, ITEM).is_duplicated())
    if len(duplicates):
        user, item = duplicates.row(0)[:2]
        raise DataError(f"duplicate item {item!r} for user {user!r}", where=path, expected="each pair once")
    items = frame[ITEM].unique(maintain_order=True)
    codes = frame[ITEM].replace_strict(items, np.arange(len(items)), return_dtype=pl.Int64).to_numpy()
    return ScoreTable(ranking.queries, items, ranking.starts, codes, frame[SCORE].cast(pl.Float64).to_numpy())
