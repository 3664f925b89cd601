"""Hybrid recommender: a collaborative model, combined with content for items with few training interactions."""

from typing import ClassVar

import numpy as np

from rankjury.core.params import Param
from rankjury.core.progress import Progress
from rankjury.core.types import Bools, Floats, Ints, Matrix
from rankjury.recsys.data.attributes import SideFeatures
from rankjury.recsys.data.log import Log
from rankjury.recsys.models import RECOMMENDERS
from rankjury.recsys.models.base import TrainedModel
from rankjury.recsys.models.content import CONTENT, Content
from rankjury.recsys.models.factorization import AlternatingLeastSquaresModel
from rankjury.recsys.models.linear import Ease, ItemKnn
from rankjury.recsys.tiers import Tiers

_MODELS: dict[str, type[TrainedModel]] = {"ease": Ease, "als": AlternatingLeastSquaresModel, "item-knn": ItemKnn}


def _inner(model: str, parameter: str) -> str:
    """Return the name of a model's parameter in the hybrid."""
    return f"{model.replace('-', '_')}_{parameter}"


@RECOMMENDERS.register("hybrid")
class Hybrid(TrainedModel):
    """Collaborative model whose cold items are raised by content.

    Scores are rank percentiles: the share of the training items not yet taken by the user that rank below an item. Both
    models order the same items, so that percentiles are comparable. Content can only raise a cold item: the r-th by
    content comes at least at rank r / trust. Items are cold with fewer than ``cold_items`` training interactions, as in
    the tiers.

    With ``trust`` and ``blend`` 0 the scores equal those of the collaborative model, to the last bit. ``rankjury tune``
    always tries that, so that its choice is never worse on validation than the collaborative model.
    """

    description = (
        "a collaborative model whose cold items are raised by content (trust), and whose other items may be blended "
        "with it (blend); with both 0 it equals the collaborative model"
    )
    extra = "recsys"
    libraries = ("irspack", "implicit", "scipy")
    params: ClassVar = {
        "model": Param("ease", "the collaborative model", choices=tuple(_MODELS)),
        **CONTENT,
        "blend": Param(0.0, "weight of content in the score of warm items", min=0, max=1),
        "trust": Param(
            0.1,
            "cold items: the r-th by content comes at least at rank r / trust; 0: ranked by the collaborative model",
            min=0,
            max=1,
        ),
        "cold_items": Param(
            Tiers.cold_items,
            "items with fewer training interactions are cold; default in a plan: as in its tiers",
            min=1,
        ),
        **{_inner(name, key): param for name, model in _MODELS.items() for key, param in model.params.items()},
    }
    simpler: ClassVar = {"blend": 0.0, "trust": 0.0}
    collaborative: TrainedModel
    content: Content
    is_cold: Bools

    def learn(self, train: Log, features: SideFeatures, progress: Progress) -> None:
        name = str(self.settings["model"])
        kind = _MODELS[name]
        self.collaborative = kind({key: self.settings[_inner(name, key)] for key in kind.params})
        self.content = Content({key: self.settings[key] for key in CONTENT})
        for model in (self.collaborative, self.content):
            model.known = self.known
            model.learn(train, features, progress)
        self.is_cold = train.per_item < int(self.settings["cold_items"])
        self.chosen = {_inner(name, key): value for key, value in self.collaborative.chosen.items()}

    @property
    def _is_collaborative(self) -> bool:
        """Whether content has no weight, so that scores are those of the collaborative model."""
        return all(self.settings[name] == value for name, value in self.simpler.items())

    def factors(self) -> tuple[Matrix, Matrix] | None:
        return self.collaborative.factors() if self._is_collaborative else None

    def score(self, users: Ints, items: Ints) -> Matrix:
        if self._is_collaborative:
            return self.collaborative.score(users, items)
        everything = np.arange(self.known.item_at.size)
        trained = self.known.item_at >= 0
        by_others = self.collaborative.score(users, everything)
        by_content = self.content.score(users, everything)
        starts, taken = self.known.taken(users)
        scores = np.full((users.size, items.size), -np.inf)
        for row in np.flatnonzero(self.knows(users)):
            free = trained.copy()
            free[self.known.items[taken[starts[row] : starts[row + 1]]]] = False
            scores[row] = self._blended(by_others[row], by_content[row], free)[items]
        return scores

    def _blended(self, by_others: Floats, by_content: Floats, free: Bools) -> Floats:
        """Return one user's scores of all items; −∞ if neither model has one."""
        ours, theirs = _places(by_content, free), _places(by_others, free)
        blend, trust = float(self.settings["blend"]), float(self.settings["trust"])
        if blend > 0:
            mixed = np.where(np.isnan(ours), theirs, blend * ours + (1.0 - blend) * theirs)
            theirs = _places(np.where(np.isnan(theirs), -np.inf, mixed), free)
        if trust > 0:
            half = 0.5 / max(1, int(free.sum()))  # so that the first by content has rank 1, not 0
            raised = 1.0 + half - (1.0 + half - ours) / trust
            theirs = np.where(self.is_cold, np.fmax(theirs, raised), theirs)
        return np.where(np.isnan(theirs), -np.inf, theirs)


def _places(scores: Floats, among: Bools) -> Floats:
    """Return the share of items that rank below each, ties counting half; NaN without a score."""
    order = np.argsort(scores)
    ordered = scores[order]
    counted = (among & (scores > -np.inf))[order]
    before = np.concatenate(([0], np.cumsum(counted)))
    edges = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
    middles = (before[edges[:-1]] + before[edges[1:]]) / max(1, 2 * int(before[-1]))
    places = np.empty(scores.size)
    places[order] = np.repeat(middles, np.diff(edges))
    return np.where(scores > -np.inf, places, np.nan)
