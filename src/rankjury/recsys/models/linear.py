"""Linear item-item models: EASE and SLIM (irspack)."""

from typing import Any, ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, Ints, Matrix
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import (
    RowModel,
    as_csr,
    ignore_library_warnings,
    single_blas_thread,
    sparse_matrix,
    sparse_product,
    training_matrix,
)


class _Linear(RowModel):
    """The sum of the weights from what a user took to an item."""

    extra = "recsys"
    libraries = ("irspack", "scipy")
    taken: Any
    weights: Any

    def table(self, rows: Ints) -> Matrix:
        return sparse_product(self.taken[rows], self.weights)


@RECOMMENDERS.register("ease")
class Ease(_Linear):
    """Ridge regression of each item on the others, in closed form (Steck 2019); items × items numbers in memory.

    Where there are fewer users than items the same is worked out over users, from users × items numbers.
    """

    about = "EASE: each item by ridge regression on all others, in closed form (irspack's DenseSLIM)"
    params: ClassVar = {
        "regularization": Param(
            0.0,
            "the ridge: the higher, the smaller the weights; 0: a hundredth of the training interactions, 10 to 10000",
            min=0,
            auto=True,
        )
    }
    scores: Floats | None = None

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        self.known = training_matrix(train)
        # The best ridge grows with the log (benchmarks/defaults.py, docs/recommenders.md): about 100 at 19,000 training
        # interactions, 250 to 1,000 at 80,000, 10,000 at 800,000. It is not extrapolated beyond what was measured.
        default = float(np.clip(self.known.columns.size / 100, 10.0, 10_000.0))
        ridge = float(self.settings["regularization"]) or default
        self.chosen = {"regularization": ridge}
        if self.known.users.size < self.known.items.size:
            with single_blas_thread():
                self.scores = _over_users(sparse_matrix(self.known), ridge)
            return
        with ignore_library_warnings():
            from irspack.recommenders.dense_slim import DenseSLIMRecommender

        self.scores, self.taken = None, sparse_matrix(self.known, dtype=np.float32)
        with single_blas_thread():
            self.weights = np.asarray(DenseSLIMRecommender(self.taken, reg=ridge).learn().W)

    def table(self, rows: Ints) -> Matrix:
        return super().table(rows) if self.scores is None else self.scores[rows]

    def used(self) -> dict[str, str]:
        """Return the libraries; over users, rankjury computes the model itself."""
        return {name: version for name, version in self.versions().items() if name != "irspack" or self.scores is None}


def _over_users(taken: Any, ridge: float) -> Floats:
    """X·B for B = I − P·diag(1/P) with P = (XᵀX + ridge)⁻¹, by X·P = (XXᵀ + ridge)⁻¹·X."""
    product_of_users = (taken @ taken.T).toarray()
    product_of_users[np.diag_indices_from(product_of_users)] += ridge
    known = np.linalg.solve(product_of_users, taken.toarray())
    diagonal = (1.0 - np.asarray(taken.multiply(known).sum(axis=0)).ravel()) / ridge
    found: Floats = taken.toarray() - known / diagonal
    return found


@RECOMMENDERS.register("slim")
class Slim(_Linear):
    """Sparse weights, by coordinate descent (Ning & Karypis 2011)."""

    about = "SLIM: each item by few others, weights with an elastic net (irspack)"
    params: ClassVar = {
        "alpha": Param(0.05, "how strongly weights are held small", min=0),
        "l1_ratio": Param(0.01, "the share of it that makes weights zero", min=0, max=1),
        "positive": Param(True, "no weight below zero"),
        "iterations": Param(100, "rounds of coordinate descent at most", min=1),
    }

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        with ignore_library_warnings():
            from irspack.recommenders.slim import SLIMRecommender

        self.known = training_matrix(train)
        self.taken = sparse_matrix(self.known, dtype=np.float32)
        learned = SLIMRecommender(
            self.taken,
            alpha=float(self.settings["alpha"]),
            l1_ratio=float(self.settings["l1_ratio"]),
            positive_only=bool(self.settings["positive"]),
            n_iter=int(self.settings["iterations"]),
            n_threads=1,  # threads draw the order of steps from what they happened to do before: no two fits are alike
        ).learn()
        self.weights = as_csr(learned.W)
