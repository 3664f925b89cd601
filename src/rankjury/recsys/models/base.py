"""What models learn from: the users and items of training alone, coded anew without gaps.

Nothing of a user or an item that training lacks reaches a model, not even as an empty row, by which random starts would
differ.
"""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankjury.core.types import Bools, Floats, Ints, Matrix, cut_rows, freeze, gathered
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.log import Codes, Log
from rankjury.recsys.models import Recommender

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class TrainingMatrix:
    """Training as a matrix of the users and items that are in it (CSR): each pair once, items ascending."""

    users: Ints
    """Their codes in the log, ascending; a row's number is a place here."""
    items: Ints
    user_at: Ints
    """The row of each user of the log, −1 of those who are not in training."""
    item_at: Ints
    starts: Ints
    columns: Codes
    values: Floats

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def shape(self) -> tuple[int, int]:
        return self.users.size, self.items.size

    @property
    def rows(self) -> Ints:
        """The row of each pair."""
        return np.repeat(np.arange(self.users.size), np.diff(self.starts))

    def of_items(self, table: Matrix, items: Ints) -> Floats:
        """Scores of the known items laid out for these codes; −∞ of items that are not known."""
        place = self.item_at[items]
        return np.where(place >= 0, table[:, place], -np.inf)

    def taken(self, users: Ints) -> tuple[Ints, Codes]:
        """What these users, given by code, have (CSR): nothing of those who are not known."""
        row = self.user_at[users]
        starts, at = gathered(np.append(self.starts, self.starts[-1]), np.where(row < 0, self.users.size, row))
        return starts, self.columns[at]


def training_matrix(train: Log) -> TrainingMatrix:
    """The users and items that occur, and who took what."""
    pairs = train.pairs
    if not pairs.items.size:
        raise DataError("there are no training interactions", where=train.source, expected="something to learn from")
    per_user = np.diff(pairs.starts)
    users, items = np.flatnonzero(per_user), np.unique(pairs.items).astype(np.int64)
    item_at = _places(items, len(train.items))
    return TrainingMatrix(
        users,
        items,
        _places(users, len(train.users)),
        item_at,
        np.concatenate(([0], np.cumsum(per_user[users]))).astype(np.int64),
        item_at[pairs.items].astype(np.int32),
        pairs.values,
    )


def _places(codes: Ints, n: int) -> Ints:
    places = np.full(n, -1, dtype=np.int64)
    places[codes] = np.arange(codes.size)
    return places


def ratings_of(known: TrainingMatrix, train: Log, model: str) -> Floats:
    """The ratings, where the log has any."""
    if not train.rated:
        raise UsageError(
            "the log has no ratings",
            where=f"{model}, values",
            expected='values = "implicit"',
            hint="Who took what counts.",
        )
    return known.values


class TrainedModel(Recommender):
    """A model that knows the users and items of training."""

    known: TrainingMatrix

    def knows(self, users: Ints) -> Bools:
        return self.known.user_at[users] >= 0


class RowModel(TrainedModel):
    """A model that scores rows of known users over all known items."""

    @abstractmethod
    def table(self, rows: Ints) -> Matrix:
        """Rows × known items."""

    def score(self, users: Ints, items: Ints) -> Matrix:
        rows = self.known.user_at[users]
        found = np.full((users.size, items.size), -np.inf)
        found[rows >= 0] = self.known.of_items(self.table(rows[rows >= 0]), items)
        return found


class FactorModel(TrainedModel):
    """A model whose scores are inner products of a row a user and a row an item."""

    of_users: Floats
    of_items: Floats
    """Rows are those of the log; NaN of what is not known."""

    def keep(self, users: Matrix, items: Matrix) -> None:
        """Factors of the known users and items."""
        self.of_users = _with_gaps(users, self.known.users, self.known.user_at.size)
        self.of_items = _with_gaps(items, self.known.items, self.known.item_at.size)

    def factors(self) -> tuple[Matrix, Matrix]:
        return self.of_users, self.of_items

    def score(self, users: Ints, items: Ints) -> Matrix:
        return products(self.of_users[users], self.of_items[items])


def are_known(rows: Matrix) -> Bools:
    """Which rows of factors are numbers."""
    return np.isfinite(rows[:, 0])


def products(users: Matrix, items: Matrix) -> Floats:
    """Inner products of all pairs, −∞ where either is not known; no digit hangs on who is asked for with whom."""
    found = np.empty((len(users), len(items)))
    for first, last in cut_rows(len(users), max(1, _CELLS_AT_ONCE // max(1, len(items)))):
        np.einsum("uf,if->ui", users[first:last], items, out=found[first:last])  # BLAS sums by the shape of the block
    return np.where(np.isnan(found), -np.inf, found)


def _with_gaps(rows: Matrix, codes: Ints, n: int) -> Floats:
    found = np.full((n, rows.shape[1]), np.nan)
    found[codes] = rows
    return found


def sparse_matrix(known: TrainingMatrix, values: Floats | None = None, dtype: type = np.float64) -> Any:
    """Users × items; ones unless values are given."""
    from scipy.sparse import csr_matrix

    numbers = np.ones(known.columns.size) if values is None else values
    starts = known.starts.astype(np.int32) if known.columns.size < np.iinfo(np.int32).max else known.starts
    return csr_matrix((numbers.astype(dtype), known.columns.astype(starts.dtype), starts), shape=known.shape)


def by_rows(matrix: Any) -> Any:
    """A sparse matrix so stored that its rows are at hand."""
    return matrix.tocsr()


def product(rows: Any, matrix: Any) -> Matrix:
    """Sparse rows × a matrix, each row summed by itself and in the order of its entries."""
    found = rows @ matrix
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """With one thread of BLAS: with more, sums are made in another order, and the last digits are others."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # it comes with rankjury[recsys]
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def ignore_library_warnings() -> Iterator[None]:
    """Without the warnings that are libraries' own business: of how they are written, and of BLAS's threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*BLAS.* is configured to use", category=RuntimeWarning)
        yield
