"""Nearest-neighbour recommenders: items similar to those of a user, and items of similar users (irspack)."""

from typing import Any, ClassVar

from rankjury.core.params import Param, Params
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Ints, Matrix
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import (
    RowModel,
    as_csr,
    ignore_library_warnings,
    sparse_matrix,
    sparse_product,
    training_matrix,
)

_WEIGHTINGS = {"none": "NONE", "tf-idf": "TF_IDF", "bm25": "BM_25"}


def _params(neighbours: int, shrinkage: float) -> dict[str, Param]:
    return {
        "neighbours": Param(neighbours, "how many neighbours count", min=1),
        "shrinkage": Param(shrinkage, "added to the divisor: takes weight from similarities that stand on few", min=0),
    }


def _weighting(*choices: str) -> Param:
    return Param("none", "what an interaction counts in similarities", choices=choices)


def _options(settings: Params) -> dict[str, Any]:
    """Return irspack's arguments; it counts an item among its own neighbours."""
    return {
        "top_k": int(settings["neighbours"]) + 1,
        "shrinkage": float(settings["shrinkage"]),
        "feature_weighting": _WEIGHTINGS[str(settings["weighting"])],
        "normalize": True,
    }


class _Neighbours(RowModel):
    extra = "recsys"
    libraries = ("irspack", "scipy")
    taken: Any
    alike: Any


@RECOMMENDERS.register("item-knn")
class ItemKnn(_Neighbours):
    """The sum of an item's cosine similarities to what a user took, over each item's nearest."""

    about = "items like those that a user took: cosine similarity of who took them, each item's nearest (irspack)"
    params: ClassVar = {
        **_params(500, 100.0),
        "weighting": _weighting("none", "bm25"),
    }  # a weight an item is lost in cosines

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        with ignore_library_warnings():
            from irspack.recommenders.knn import CosineKNNRecommender

        self.known = training_matrix(train)
        self.taken = sparse_matrix(self.known)
        self.alike = as_csr(CosineKNNRecommender(self.taken, **_options(self.settings)).learn().W)

    def table(self, rows: Ints) -> Matrix:
        return sparse_product(self.taken[rows], self.alike)


@RECOMMENDERS.register("user-knn")
class UserKnn(_Neighbours):
    """The sum of the similarities of those neighbours who took an item."""

    about = "what users took who took the same: cosine similarity, each user's nearest (irspack)"
    params: ClassVar = {**_params(100, 0.0), "weighting": _weighting(*_WEIGHTINGS)}

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        with ignore_library_warnings():
            from irspack.recommenders.user_knn import CosineUserKNNRecommender

        self.known = training_matrix(train)
        self.taken = sparse_matrix(self.known)
        self.alike = as_csr(CosineUserKNNRecommender(self.taken, **_options(self.settings)).learn().U)

    def table(self, rows: Ints) -> Matrix:
        return sparse_product(self.alike[rows], self.taken)
