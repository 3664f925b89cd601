"""Matrix factorisation: truncated SVD (scipy), alternating least squares and BPR (implicit)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats
from rankjury.errors import DataError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import (
    TrainedFactorModel,
    TrainingMatrix,
    ignore_library_warnings,
    ratings_of,
    single_blas_thread,
    sparse_matrix,
    training_matrix,
)


@dataclass(frozen=True, eq=False)
class Baseline:
    """Deviations of users and items from the mean of all ratings."""

    mean: float
    users: Floats
    items: Floats

    def of_pairs(self, known: TrainingMatrix) -> Floats:
        """Return the prediction for each training pair."""
        return self.mean + self.users[known.rows] + self.items[known.columns]


def baseline_of(known: TrainingMatrix, ratings: Floats, damping: float) -> Baseline:
    """Return damped means, items first, then users from the residuals; damping adds ratings at the overall mean."""
    mean = float(ratings.mean())
    items = _means(known.columns, ratings - mean, known.shape[1], damping)
    users = _means(known.rows, ratings - mean - items[known.columns], known.shape[0], damping)
    return Baseline(mean, users, items)


def _means(groups: np.ndarray, values: Floats, n: int, damping: float) -> Floats:
    return np.bincount(groups, values, minlength=n) / (np.bincount(groups, minlength=n) + damping)


_FACTORS = Param(16, "how many factors", min=1)
_SEED = Param(0, "the seed of the random start", min=0, max=2**32 - 1)


@RECOMMENDERS.register("svd")
class TruncatedSvd(TrainedFactorModel):
    """PureSVD of who took what (Cremonesi et al. 2010), or a baseline and factors that predict ratings."""

    about = (
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

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        self.known = training_matrix(train)
        n = int(self.settings["factors"])
        if self.settings["values"] == "implicit":
            self.set_factors(*_factorised(sparse_matrix(self.known), n))
            return
        ratings = ratings_of(self.known, train, "svd")
        base = baseline_of(self.known, ratings, float(self.settings["damping"]))
        users, items = _factorised(sparse_matrix(self.known, ratings - base.of_pairs(self.known)), n)
        self.set_factors(  # two columns more, so that products are stars
            np.column_stack((users, base.mean + base.users, np.ones(len(users)))),
            np.column_stack((items, np.ones(len(items)), base.items)),
        )


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


@RECOMMENDERS.register("als")
class AlternatingLeastSquaresModel(TrainedFactorModel):
    """Weighted matrix factorisation of who took what (Hu, Koren & Volinsky 2008)."""

    about = "ALS: factors of who took what, by alternating least squares with confidences (implicit)"
    extra = "recsys"
    libraries = ("implicit", "scipy")
    params: ClassVar = {
        "factors": _FACTORS,
        "regularization": Param(0.01, "holds factors small", min=0),
        "alpha": Param(1.0, "how much more an item counts that was taken than one that was not", min=0),
        "values": Param("implicit", "whether its rating multiplies that", choices=("implicit", "ratings")),
        "iterations": Param(15, "rounds over users and items", min=1),
        "seed": _SEED,
    }

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        from implicit.cpu.als import AlternatingLeastSquares

        self.known = training_matrix(train)
        ratings = ratings_of(self.known, train, "als") if self.settings["values"] == "ratings" else None
        iterations = int(self.settings["iterations"])
        with ignore_library_warnings():
            model = AlternatingLeastSquares(
                factors=int(self.settings["factors"]),
                regularization=float(self.settings["regularization"]),
                alpha=float(self.settings["alpha"]),
                iterations=iterations,
                random_state=int(self.settings["seed"]),
            )
        _fit(model, sparse_matrix(self.known, ratings, np.float32), _callback(progress, iterations), "als")
        self.set_factors(model.user_factors, model.item_factors)


@RECOMMENDERS.register("bpr")
class PairwiseRanking(TrainedFactorModel):
    """Factors that rank what a user took above what they did not (Rendle et al. 2009); in one thread."""

    about = "BPR: factors that rank what a user took above what they did not (implicit)"
    extra = "recsys"
    libraries = ("implicit", "scipy")
    params: ClassVar = {
        "factors": _FACTORS,
        "learning_rate": Param(0.01, "the step of gradient descent", min=1e-9),
        "regularization": Param(0.05, "holds factors small", min=0),
        "iterations": Param(100, "rounds over the training interactions", min=1),
        "seed": _SEED,
    }

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        self.known = training_matrix(train)
        iterations = int(self.settings["iterations"])
        model = BayesianPersonalizedRanking(
            factors=int(self.settings["factors"]),
            learning_rate=float(self.settings["learning_rate"]),
            regularization=float(self.settings["regularization"]),
            iterations=iterations,
            num_threads=1,  # with more they overwrite one another's steps, and no two fits are alike
            random_state=int(self.settings["seed"]),
        )
        _fit(model, sparse_matrix(self.known, dtype=np.float32), _callback(progress, iterations), "bpr")
        self.set_factors(model.user_factors, model.item_factors)


def _fit(model: Any, matrix: Any, callback: Any, name: str) -> None:
    from implicit.recommender_base import ModelFitError

    try:
        with single_blas_thread():
            model.fit(matrix, show_progress=False, callback=callback)
    except ModelFitError as error:
        raise DataError(
            "training diverged: factors are NaN",
            where=name,
            expected="settings under which it converges",
            hint="Try more regularization, or smaller steps and weights.",
        ) from error


def _callback(progress: Progress, of: int) -> Any:
    """Return a function that implicit calls with round, seconds, and loss or share."""
    if not progress.is_visible:
        return None
    return lambda done, *_: progress.update("Fitting", done + 1, of)
