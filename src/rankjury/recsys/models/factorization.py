"""Matrix factorisation: truncated SVD (scipy), alternating least squares and BPR (implicit)."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import Progress
from rankjury.core.types import Floats
from rankjury.errors import DataError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import TrainedFactorModel, ignore_library_warnings, single_blas_thread, sparse_matrix

_FACTORS = Param(16, "number of factors", min=1)
_SEED = Param(0, "seed of the random initial values", min=0, max=2**32 - 1)


@RECOMMENDERS.register("svd")
class TruncatedSvd(TrainedFactorModel):
    """PureSVD of interactions (Cremonesi et al. 2010), or a baseline and factors that predict ratings."""

    name = "svd"
    description = (
        "truncated SVD of interactions (PureSVD), or of ratings minus user and item means, which predicts ratings; "
        "items with few, high ratings then come first, and on a whole catalogue it can be worse than random"
    )
    extra = "recsys"
    libraries = ("scipy",)
    params: ClassVar = {
        "values": Param("implicit", "factorised values: interactions or ratings", choices=("implicit", "ratings")),
        "factors": _FACTORS,
        "damping": Param(5.0, "for ratings: shrinks means of few ratings to the overall mean", min=0),
    }

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        n = int(self.settings["factors"])
        if self.settings["values"] == "implicit":
            self.set_factors(*_factorised(sparse_matrix(self.known), n))
            return
        ratings = self.ratings(train)
        # damped means, items first, then users from the residuals; damping adds ratings at the overall mean
        damping, mean, known = float(self.settings["damping"]), float(ratings.mean()), self.known
        item_means = _means(known.columns, ratings - mean, known.shape[1], damping)
        user_means = _means(known.rows, ratings - mean - item_means[known.columns], known.shape[0], damping)
        residuals = ratings - (mean + user_means[known.rows] + item_means[known.columns])
        users, items = _factorised(sparse_matrix(known, residuals), n)
        self.set_factors(  # two more columns, so that products are ratings
            np.column_stack((users, mean + user_means, np.ones(len(users)))),
            np.column_stack((items, np.ones(len(items)), item_means)),
        )


def _means(groups: np.ndarray, values: Floats, n: int, damping: float) -> Floats:
    return np.bincount(groups, values, minlength=n) / (np.bincount(groups, minlength=n) + damping)


def _factorised(matrix: Any, n: int) -> tuple[Floats, Floats]:
    """Return U·S and V of the n largest singular values, or of all if there are fewer."""
    from scipy.sparse.linalg import svds

    if n >= min(matrix.shape):
        with single_blas_thread():
            left, sizes, right = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return left * sizes, right.T
    if not matrix.data.any():
        return np.zeros((matrix.shape[0], 1)), np.zeros((matrix.shape[1], 1))
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    with single_blas_thread():
        left, sizes, right = svds(matrix, k=n, v0=start)
    return left * sizes, right.T


class _Implicit(TrainedFactorModel):
    """Factor model of the library implicit; its parameters have the library's names."""

    extra = "recsys"
    libraries = ("implicit", "scipy")

    @abstractmethod
    def make(self, **options: Any) -> Any:
        """Return the library's model."""

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        from implicit.recommender_base import ModelFitError

        options: dict[str, Any] = {
            name: type(param.default)(self.settings[name])  # a float may be given as a whole number
            for name, param in self.params.items()
        }
        ratings = self.ratings(train) if options.pop("values", "implicit") == "ratings" else None
        options["random_state"] = options.pop("seed")
        with ignore_library_warnings():
            model = self.make(**options)

        def report(done: int, *_: Any) -> None:
            progress.update("Fitting", done + 1, model.iterations)

        try:
            with single_blas_thread():
                matrix = sparse_matrix(self.known, ratings, np.float32)
                model.fit(matrix, show_progress=False, callback=report if progress.is_visible else None)
        except ModelFitError as error:
            raise DataError(
                "training diverged: factors are NaN",
                where=self.name,
                expected="settings under which it converges",
                hint="Try more regularization, or smaller steps and weights.",
            ) from error
        self.set_factors(model.user_factors, model.item_factors)


@RECOMMENDERS.register("als")
class AlternatingLeastSquaresModel(_Implicit):
    """Weighted matrix factorisation of interactions (Hu, Koren & Volinsky 2008)."""

    name = "als"
    description = "ALS: factors of interactions, by alternating least squares with confidence weights (implicit)"
    params: ClassVar = {
        "factors": _FACTORS,
        "regularization": Param(0.01, "L2 regularization of the factors", min=0),
        "alpha": Param(1.0, "confidence weight of interactions relative to missing ones", min=0),
        "values": Param("implicit", "ratings: multiply the weight by the rating", choices=("implicit", "ratings")),
        "iterations": Param(15, "iterations over users and items", min=1),
        "seed": _SEED,
    }

    def make(self, **options: Any) -> Any:
        from implicit.cpu.als import AlternatingLeastSquares

        return AlternatingLeastSquares(**options)


@RECOMMENDERS.register("bpr")
class PairwiseRanking(_Implicit):
    """Factors that rank a user's items above the others (Rendle et al. 2009); in one thread."""

    name = "bpr"
    description = "BPR: factors that rank a user's items above the others (implicit)"
    params: ClassVar = {
        "factors": _FACTORS,
        "learning_rate": Param(0.01, "step size of gradient descent", min=1e-9),
        "regularization": Param(0.05, "L2 regularization of the factors", min=0),
        "iterations": Param(100, "epochs over the training interactions", min=1),
        "seed": _SEED,
    }

    def make(self, **options: Any) -> Any:
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        # with more threads, updates overwrite each other, and fits are not reproducible
        return BayesianPersonalizedRanking(num_threads=1, **options)
