"""Linear models of interactions: nearest items, nearest users, EASE and SLIM (irspack)."""

from typing import Any, ClassVar

import numpy as np

from rankjury.core.params import Param, Params
from rankjury.core.progress import Progress
from rankjury.core.types import Ints, Matrix
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import TrainedModel, ignore_library_warnings, single_blas_thread, sparse_matrix

_WEIGHTINGS = {"none": "NONE", "tf-idf": "TF_IDF", "bm25": "BM_25"}


class _Linear(TrainedModel):
    """Model whose scores are the product of a row per known user and weights of the known items."""

    extra = "recsys"
    libraries = ("irspack", "scipy")
    rows: Any
    weights: Any
    """None if the rows are the scores themselves."""

    def score(self, users: Ints, items: Ints) -> Matrix:
        """Return users × items; −∞ for users and items that are not in training."""
        rows, places = self.known.user_at[users], self.known.item_at[items]
        table = self.rows[rows[rows >= 0]]
        if self.weights is not None:  # each row is summed separately, in the order of its entries
            table = table @ self.weights
        table = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
        scores = np.full((users.size, items.size), -np.inf)
        scores[rows >= 0] = np.where(places >= 0, table[:, places], -np.inf)
        return scores


def _neighbour_params(neighbours: int, shrinkage: float, *weightings: str) -> dict[str, Param]:
    return {
        "neighbours": Param(neighbours, "number of neighbours", min=1),
        "shrinkage": Param(shrinkage, "added to the divisor; reduces similarities based on few users", min=0),
        "weighting": Param("none", "weighting of interactions in similarities", choices=weightings),
    }


def _neighbour_options(settings: Params) -> dict[str, Any]:
    """Return irspack's arguments; it counts an item as one of its neighbours."""
    return {
        "top_k": int(settings["neighbours"]) + 1,
        "shrinkage": float(settings["shrinkage"]),
        "feature_weighting": _WEIGHTINGS[str(settings["weighting"])],
        "normalize": True,
    }


@RECOMMENDERS.register("item-knn")
class ItemKnn(_Linear):
    """Sum of an item's cosine similarities to the user's items, over each item's nearest neighbours."""

    description = "item-based nearest neighbours: cosine similarity of the items' users (irspack)"
    params: ClassVar = _neighbour_params(500, 100.0, "none", "bm25")  # a weight per item has no effect on cosines

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        with ignore_library_warnings():
            from irspack.recommenders.knn import CosineKNNRecommender

        self.rows = sparse_matrix(self.known)
        learned: Any = CosineKNNRecommender(self.rows, **_neighbour_options(self.settings)).learn()
        self.weights = learned.W.tocsr()


@RECOMMENDERS.register("user-knn")
class UserKnn(_Linear):
    """Sum of the similarities of the neighbours with an item."""

    description = "user-based nearest neighbours: cosine similarity of the users' items (irspack)"
    params: ClassVar = _neighbour_params(100, 0.0, *_WEIGHTINGS)

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        with ignore_library_warnings():
            from irspack.recommenders.user_knn import CosineUserKNNRecommender

        self.weights = sparse_matrix(self.known)
        learned: Any = CosineUserKNNRecommender(self.weights, **_neighbour_options(self.settings)).learn()
        self.rows = learned.U.tocsr()


@RECOMMENDERS.register("ease")
class Ease(_Linear):
    """Ridge regression of each item on the others, in closed form (Steck 2019); needs items × items numbers in memory.

    With fewer users than items, the same is computed over users, from users × items numbers.
    """

    description = "EASE: each item by ridge regression on all others, in closed form (irspack's DenseSLIM)"
    params: ClassVar = {
        "regularization": Param(
            0.0,
            "ridge regularization; 0: a hundredth of the training interactions, between 10 and 10000",
            min=0,
            auto=True,
        )
    }

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        # The best ridge grows with the log (benchmarks/defaults.py, docs/explanation/recommenders.md): about 100 at
        # 19,000 training interactions, 250 to 1,000 at 80,000, 10,000 at 800,000. It is not extrapolated beyond these
        # measurements.
        default = float(np.clip(self.known.columns.size / 100, 10.0, 10_000.0))
        ridge = float(self.settings["regularization"]) or default
        self.chosen = {"regularization": ridge}
        if self.known.users.size < self.known.items.size:
            self.weights = None
            with single_blas_thread():
                # X·B for B = I − P·diag(1/P) with P = (XᵀX + ridge)⁻¹, by X·P = (XXᵀ + ridge)⁻¹·X
                taken = sparse_matrix(self.known)
                products = (taken @ taken.T).toarray()
                products[np.diag_indices_from(products)] += ridge
                solved = np.linalg.solve(products, taken.toarray())
                diagonal = (1.0 - np.asarray(taken.multiply(solved).sum(axis=0)).ravel()) / ridge
                self.rows = taken.toarray() - solved / diagonal
            return
        with ignore_library_warnings():
            from irspack.recommenders.dense_slim import DenseSLIMRecommender

        self.rows = sparse_matrix(self.known, dtype=np.float32)
        with single_blas_thread():
            self.weights = np.asarray(DenseSLIMRecommender(self.rows, reg=ridge).learn().W)

    def used(self) -> dict[str, str]:
        """Return the libraries; none if rankjury computes the model over users."""
        versions = self.versions()
        return {name: versions[name] for name in versions if name != "irspack" or self.weights is not None}


@RECOMMENDERS.register("slim")
class Slim(_Linear):
    """Sparse weights, by coordinate descent (Ning & Karypis 2011)."""

    description = "SLIM: sparse regression of each item on others, with an elastic net (irspack)"
    params: ClassVar = {
        "alpha": Param(0.05, "strength of the regularization", min=0),
        "l1_ratio": Param(0.01, "L1 share of the regularization, which makes weights zero", min=0, max=1),
        "positive": Param(True, "use only non-negative weights"),
        "iterations": Param(100, "maximum iterations of coordinate descent", min=1),
    }

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        with ignore_library_warnings():
            from irspack.recommenders.slim import SLIMRecommender

        self.rows = sparse_matrix(self.known, dtype=np.float32)
        learned: Any = SLIMRecommender(
            self.rows,
            alpha=float(self.settings["alpha"]),
            l1_ratio=float(self.settings["l1_ratio"]),
            positive_only=bool(self.settings["positive"]),
            n_iter=int(self.settings["iterations"]),
            n_threads=1,  # with threads, the order of steps varies, and fits are not reproducible
        ).learn()
        self.weights = learned.W.tocsr()
