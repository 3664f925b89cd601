"""Base classes of recommenders: the training matrix, scores by factors, and helpers for scipy and BLAS.

Models learn only from the users and items of training, coded without gaps. Others do not reach a model, not even as an
empty row, which would change random initial values.
"""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Bools, Floats, Ints, Matrix, cut_rows, freeze, gathered
from rankjury.errors import DataError, UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Codes, Log
from rankjury.recsys.models import Recommender

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class TrainingMatrix:
    """Training pairs as a matrix of the users and items in them (CSR): each pair once, items ascending."""

    users: Ints
    """Log codes of the matrix's rows, ascending."""
    items: Ints
    user_at: Ints
    """Row of each user of the log, −1 for users that are not in training."""
    item_at: Ints
    starts: Ints
    columns: Codes
    values: Floats

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""
        return self.users.size, self.items.size

    @property
    def rows(self) -> Ints:
        """Row of each pair."""
        return np.repeat(np.arange(self.users.size), np.diff(self.starts))

    def taken(self, users: Ints) -> tuple[Ints, Codes]:
        """Return the training items of these users, given by code (CSR); empty for unknown users."""
        row = self.user_at[users]
        starts, at = gathered(np.append(self.starts, self.starts[-1]), np.where(row < 0, self.users.size, row))
        return starts, self.columns[at]


def training_matrix(train: Log) -> TrainingMatrix:
    """Return the training pairs of a log as a matrix."""
    pairs = train.pairs
    if not pairs.items.size:
        raise DataError("no training interactions", where=train.source, expected="at least one interaction")
    per_user = np.diff(pairs.starts)
    users, items = np.flatnonzero(per_user), np.unique(pairs.items).astype(np.int64)
    user_at, item_at = np.full(len(train.users), -1), np.full(len(train.items), -1)
    user_at[users], item_at[items] = np.arange(users.size), np.arange(items.size)
    starts = np.concatenate(([0], np.cumsum(per_user[users]))).astype(np.int64)
    return TrainingMatrix(users, items, user_at, item_at, starts, item_at[pairs.items].astype(np.int32), pairs.values)


class TrainedModel(Recommender):
    """Model with known users and items from training."""

    name: ClassVar[str] = ""
    """Name in errors."""
    known: TrainingMatrix

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        """Learn from training rows and store them as ``known``."""
        self.known = training_matrix(train)
        self.learn(train, features, progress)

    @abstractmethod
    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        """Learn from ``known``."""

    def ratings(self, train: Log) -> Floats:
        """Return the ratings of the training pairs; raise an error if the log has none."""
        if not train.rated:
            where, hint = f"{self.name}, values", "It uses interactions without ratings."
            raise UsageError("the log has no ratings", where=where, expected='values = "implicit"', hint=hint)
        return self.known.values

    def knows(self, users: Ints) -> Bools:
        """Return which users are in training."""
        return self.known.user_at[users] >= 0


class FactorModel(Recommender):
    """Model whose scores are inner products of a row per user and a row per item."""

    of_users: Floats
    of_items: Floats
    """Rows are those of the log; NaN for unknown users and items."""

    def factors(self) -> tuple[Matrix, Matrix]:
        """Return the rows of users and items."""
        return self.of_users, self.of_items

    def knows(self, users: Ints) -> Bools:
        """Return which users have factors."""
        unknown: Bools = np.isnan(self.of_users[users, 0])
        return ~unknown

    def score(self, users: Ints, items: Ints) -> Matrix:
        """Return inner products of all pairs, −∞ if either is unknown; no digit depends on the other pairs."""
        of_users, of_items = self.of_users[users], self.of_items[items]
        scores = np.empty((users.size, items.size))
        for first, last in cut_rows(users.size, max(1, _CELLS_AT_ONCE // max(1, items.size))):
            # not with BLAS, whose order of summation depends on the block's shape
            np.einsum("uf,if->ui", of_users[first:last], of_items, out=scores[first:last])
        return np.where(np.isnan(scores), -np.inf, scores)


class TrainedFactorModel(FactorModel, TrainedModel):
    """Factor model of the users and items of training."""

    def set_factors(self, users: Matrix, items: Matrix) -> None:
        """Set the factors of the known users and items."""
        self.of_users = np.full((self.known.user_at.size, users.shape[1]), np.nan)
        self.of_users[self.known.users] = users
        self.of_items = np.full((self.known.item_at.size, items.shape[1]), np.nan)
        self.of_items[self.known.items] = items


def sparse_matrix(known: TrainingMatrix, values: Floats | None = None, dtype: type = np.float64) -> Any:
    """Return users × items as a scipy matrix; ones unless values are given."""
    from scipy.sparse import csr_matrix

    numbers = np.ones(known.columns.size) if values is None else values
    starts = known.starts.astype(np.int32) if known.columns.size < np.iinfo(np.int32).max else known.starts
    return csr_matrix((numbers.astype(dtype), known.columns.astype(starts.dtype), starts), shape=known.shape)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Use one BLAS thread: with more, the order of summation and so the last digits differ."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # part of rankjury[recsys]
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def ignore_library_warnings() -> Iterator[None]:
    """Ignore warnings that users cannot act on: deprecations in libraries, and BLAS threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*BLAS.* is configured to use", category=RuntimeWarning)
        yield
