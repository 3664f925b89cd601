"""Content-based recommender: items whose attributes are like those of the items that a user took."""

from typing import ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.core.types import Floats, cut_rows, gathered
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import FactorModel, TrainingMatrix, training_matrix

CONTENT = {
    "features": Param(
        "genre", "which of the items' attributes: a name that the plan gives them, such as genre or text"
    ),
    "idf": Param(True, "of attributes that are only 0 and 1: rare ones count more"),
}
"""The parameters of content, here and in hybrids."""
_USERS_AT_ONCE = 1 << 10


@RECOMMENDERS.register("content")
class Content(FactorModel):
    """The cosine of an item's attributes and the mean of those that the user took, weighted by rating."""

    about = "items whose attributes (genres, embedded text) are like those that a user took; also items nobody took"
    params: ClassVar = CONTENT
    known: TrainingMatrix

    def fit(self, train: Log, features: SideFeatures, progress: Progress = NO_PROGRESS) -> None:
        self.known = training_matrix(train)
        items = _vectors(features, str(self.settings["features"]), len(train.items))
        if self.settings["idf"] and np.isin(items, (0.0, 1.0)).all():
            # log(n / df) + 1 of each attribute, of the items of training alone
            having = np.count_nonzero(items[self.known.items], axis=0).astype(np.float64)
            items = items * (1.0 + np.log(self.known.items.size / np.maximum(1.0, having)))
        vectors = _directions(items, self.known)
        profiles = np.full((len(train.users), vectors.shape[1]), np.nan)
        sums = _profiles(self.known, vectors[self.known.items])
        lengths = np.sqrt(np.einsum("if,if->i", sums, sums))
        profiles[self.known.users] = sums / np.where(lengths > 0, lengths, 1.0)[:, None]
        self.of_users = np.where(profiles.any(axis=1, keepdims=True), profiles, np.nan)
        self.of_items = np.where(items.any(axis=1, keepdims=True), vectors, np.nan)


def _vectors(features: SideFeatures, name: str, n: int) -> Floats:
    if not features.items:
        raise UsageError(
            f"the items have no attributes, so no {name}",
            where="features",
            expected="attributes of items",
            hint="Name a file of items in the plan.",
        )
    if name not in features.items:
        raise UnknownName("attribute of items", name, features.items)
    found = np.asarray(features.items[name], dtype=np.float64)
    if found.shape[0] != n or not np.isfinite(found).all():
        raise DataError(f"attributes of shape {found.shape}", where=name, expected=f"finite numbers of {n:,} items")
    return found


def _directions(items: Floats, known: TrainingMatrix) -> Floats:
    """Return items of length one, by the attributes that training has; other attributes only count in the length.

    So no digit of other items depends on an attribute that only the future has.
    """
    trained = items[known.items].any(axis=0)
    ours, others = items[:, trained], items[:, ~trained]
    lengths = np.sqrt(np.einsum("if,if->i", ours, ours) + np.einsum("if,if->i", others, others))
    found: Floats = ours / np.where(lengths > 0, lengths, 1.0)[:, None]
    return found


def _profiles(known: TrainingMatrix, items: Floats) -> Floats:
    """Return the weighted sum of the items of each user; ratings that can be below zero are shifted to zero."""
    weights = known.values - min(0.0, float(known.values.min()))
    found = np.empty((known.users.size, items.shape[1]))
    for first, last in cut_rows(known.users.size, _USERS_AT_ONCE):
        starts, at = gathered(known.starts, np.arange(first, last))
        found[first:last] = np.add.reduceat(items[known.columns[at]] * weights[at, None], starts[:-1], axis=0)
    return found
