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

_FACTORS = Param(16, "how many factors", min=1)
_SEED = Param(0, "the seed of the random start", min=0, max=2**32 - 1)


@RECOMMENDERS.register("svd")
class TruncatedSvd(TrainedFactorModel):
    """PureSVD of who took what (Cremonesi et al. 2010), or a baseline and factors that predict ratings."""

    name = "svd"
    description = (
        "truncated SVD: of who took what (PureSVD), or of ratings less user and item means, which predicts stars; "
        "items of few high ratings then come first, and over a whole catalogue it can rank below random"
    )
    extra = "recsys"
    libraries = ("scipy",)
    params: ClassVar = {
        "values": Param("implicit", "what is factorised: who took what, or ratings", choices=("implicit", "ratings")),
        "factors": _FACTORS,
        "damping": Param(5.0, "of ratings: holds means of few ratings near the mean of all", min=0),
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
        self.set_factors(  # two columns more, so that products are stars
            np.column_stack((users, mean + user_means, np.ones(len(users)))),
            np.column_stack((items, np.ones(len(items)), item_means)),
        )


def _means(groups: np.ndarray, values: Floats, n: int, damping: float) -> Floats:
    return np.bincount(groups, values, minlength=n) / (np.bincount(groups, minlength=n) + damping)


def _factorised(matrix: Any, n: int) -> tuple[Floats, Floats]:
    """Return U·S and V of the n largest singular values, or of all where there are no more."""
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
    """A factor model of the library implicit; its parameters have the library's names."""

    extra = "recsys"
    libraries = ("implicit", "scipy")

    @abstractmethod
    def make(self, **options: Any) -> Any:
        """Return the library's model."""

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        from implicit.recommender_base import ModelFitError

        options: dict[str, Any] = {
            name: type(param.default)(self.settings[name])  # a whole number may stand for a float
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
    """Weighted matrix factorisation of who took what (Hu, Koren & Volinsky 2008)."""

    name = "als"
    description = "ALS: factors of who took what, by alternating least squares with confidences (implicit)"
    params: ClassVar = {
        "factors": _FACTORS,
        "regularization": Param(0.01, "holds factors small", min=0),
        "alpha": Param(1.0, "how much more an item counts that was taken than one that was not", min=0),
        "values": Param("implicit", "whether its rating multiplies that", choices=("implicit", "ratings")),
        "iterations": Param(15, "rounds over users and items", min=1),
        "seed": _SEED,
    }

    def make(self, **options: Any) -> Any:
        from implicit.cpu.als import AlternatingLeastSquares

        return AlternatingLeastSquares(**options)


@RECOMMENDERS.register("bpr")
class PairwiseRanking(_Implicit):
    """Factors that rank what a user took above what they did not (Rendle et al. 2009); in one thread."""

    name = "bpr"
    description = "BPR: factors that rank what a user took above what they did not (implicit)"
    params: ClassVar = {
        "factors": _FACTORS,
        "learning_rate": Param(0.01, "the step of gradient descent", min=1e-9),
        "regularization": Param(0.05, "holds factors small", min=0),
        "iterations": Param(100, "rounds over the training interactions", min=1),
        "seed": _SEED,
    }

    def make(self, **options: Any) -> Any:
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        # with more threads they overwrite one another's steps, and no two fits are alike
        return BayesianPersonalizedRanking(num_threads=1, **options)
