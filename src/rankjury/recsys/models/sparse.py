"""Training data as a scipy matrix, and products that do not depend on the batch size (rankjury[recsys])."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rankjury.core.types import Floats, Matrix
from rankjury.recsys.models.fit import Known


def matrix_of(known: Known, values: Floats | None = None, dtype: type = np.float64) -> Any:
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
def steadily() -> Iterator[None]:
    """With one thread of BLAS: with more, sums are made in another order, and the last digits are others."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # it comes with rankjury[recsys]
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings that are libraries' own business: of how they are written, and of BLAS's threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*BLAS.* is configured to use", category=RuntimeWarning)
        yield
