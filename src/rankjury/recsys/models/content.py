"""Content-based recommender: items with attributes similar to those of the user's items."""

from typing import ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import Progress
from rankjury.core.types import Floats, cut_rows, gathered
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import FactorModel, TrainedModel

CONTENT = {
    "features": Param("genre", "item attribute, by its name in the plan, such as genre or text"),
    "idf": Param(True, "weight rare attributes more (inverse document frequency), for 0/1 attributes"),
}
"""Parameters of content, here and in hybrids."""
_USERS_AT_ONCE = 1 << 10


@RECOMMENDERS.register("content")
class Content(FactorModel, TrainedModel):
    """Cosine of an item's attributes and the mean of those of the user's items, weighted by rating."""

    description = (
        "items with attributes (genres, embedded text) similar to the user's items; includes items without interactions"
    )
    params: ClassVar = CONTENT

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        items = _vectors(features, str(self.settings["features"]), len(train.items))
        if self.settings["idf"] and np.isin(items, (0.0, 1.0)).all():
            # log(n / df) + 1 of each attribute, over the items of training only
            having = np.count_nonzero(items[self.known.items], axis=0).astype(np.float64)
            items = items * (1.0 + np.log(self.known.items.size / np.maximum(1.0, having)))
        # Items have length one in the attributes of training; other attributes only count in the length, so that no
        # digit of other items depends on an attribute that occurs only in the future.
        trained = items[self.known.items].any(axis=0)
        ours, others = items[:, trained], items[:, ~trained]
        lengths = np.sqrt(np.einsum("if,if->i", ours, ours) + np.einsum("if,if->i", others, others))
        vectors = ours / np.where(lengths > 0, lengths, 1.0)[:, None]
        # weighted sum of the items of each user; possibly negative ratings are shifted to zero
        known, items_of_training = self.known, vectors[self.known.items]
        weights = known.values - min(0.0, float(known.values.min()))
        sums = np.empty((known.users.size, vectors.shape[1]))
        for first, last in cut_rows(known.users.size, _USERS_AT_ONCE):
            starts, at = gathered(known.starts, np.arange(first, last))
            taken = items_of_training[known.columns[at]] * weights[at, None]
            sums[first:last] = np.add.reduceat(taken, starts[:-1], axis=0)
        lengths = np.sqrt(np.einsum("if,if->i", sums, sums))
        profiles = np.full((len(train.users), vectors.shape[1]), np.nan)
        profiles[self.known.users] = sums / np.where(lengths > 0, lengths, 1.0)[:, None]
        self.of_users = np.where(profiles.any(axis=1, keepdims=True), profiles, np.nan)
        self.of_items = np.where(items.any(axis=1, keepdims=True), vectors, np.nan)


def _vectors(features: SideFeatures, name: str, n: int) -> Floats:
    if not features.items:
        found, hint = f"the items have no attributes, so {name} is missing", "Add a file of items to the plan."
        raise UsageError(found, where="features", expected="attributes of items", hint=hint)
    if name not in features.items:
        raise UnknownName("attribute of items", name, features.items)
    vectors = np.asarray(features.items[name], dtype=np.float64)
    if vectors.shape[0] != n or not np.isfinite(vectors).all():
        raise DataError(f"attributes of shape {vectors.shape}", where=name, expected=f"finite numbers of {n:,} items")
    return vectors
