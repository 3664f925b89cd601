"""Hybrid: a collaborative model where there is something to learn from, content where there is nothing."""

from typing import ClassVar

import numpy as np

from karat.interactions.log import Log
from karat.interactions.task import Facts
from karat.recommenders import RECOMMENDERS, Progress
from karat.recommenders.content import CONTENT, Content
from karat.recommenders.factors import LeastSquares
from karat.recommenders.linear import Ease
from karat.recommenders.neighbours import ItemNeighbours
from karat.recommenders.trained import Trained
from karat.settings import Param
from karat.types import Bools, Floats, Ints, Matrix

__all__ = ["Hybrid"]

_MODELS: dict[str, type[Trained]] = {"ease": Ease, "als": LeastSquares, "item-knn": ItemNeighbours}


def _inner(model: str, parameter: str) -> str:
    """What a model's parameter is called here."""
    return f"{model.replace('-', '_')}_{parameter}"


@RECOMMENDERS.register("hybrid")
class Hybrid(Trained):
    """Scores are places: the share of the warm items that a user has not taken and that stand below an item.

    Both models order the same items, so that a place by content is worth what the same place is by the other model:
    a cold item stands among the warm ones where warm items of its content stand among one another.
    """

    about = (
        "a collaborative model for items that somebody took, blended with content, and content alone for cold items; "
        "both as places among the warm items"
    )
    extra = "recsys"
    libraries = ("irspack", "implicit", "scipy")
    params: ClassVar = {
        "model": Param("ease", "the collaborative model", choices=tuple(_MODELS)),
        **CONTENT,
        "blend": Param(0.0, "the share of content in the score of warm items", least=0, most=1),
        "trust": Param(1.0, "what the place of a cold item is multiplied by", least=0, most=1),
        **{_inner(name, one): param for name, model in _MODELS.items() for one, param in model.params.items()},
    }
    collaborative: Trained
    content: Content

    def fit(self, train: Log, facts: Facts, progress: Progress | None = None) -> None:
        name = str(self.settings["model"])
        kind = _MODELS[name]
        self.collaborative = kind({one: self.settings[_inner(name, one)] for one in kind.params})
        self.collaborative.fit(train, facts, progress)
        self.content = Content({one: self.settings[one] for one in CONTENT})
        self.content.fit(train, facts)
        self.known = self.collaborative.known

    def score(self, users: Ints, items: Ints) -> Matrix:
        everything = np.arange(self.known.item_at.size)
        warm = self.known.item_at >= 0
        by_others = self.collaborative.score(users, everything)
        by_content = self.content.score(users, everything)
        starts, taken = self.known.taken(users)
        found = np.full((users.size, items.size), -np.inf)
        for row in np.flatnonzero(self.knows(users)):
            free = warm.copy()
            free[self.known.items[taken[starts[row] : starts[row + 1]]]] = False
            found[row] = self._blended(by_others[row], by_content[row], free, warm)[items]
        return found

    def _blended(self, by_others: Floats, by_content: Floats, free: Bools, warm: Bools) -> Floats:
        """One user's scores of all items."""
        ours, theirs = _places(by_content, free), _places(by_others, free)
        blend = float(self.settings["blend"])
        both = np.where(np.isnan(ours), theirs, blend * np.nan_to_num(ours) + (1.0 - blend) * theirs)
        cold = np.where(np.isnan(ours), -np.inf, float(self.settings["trust"]) * np.nan_to_num(ours))
        return np.where(warm, both, cold)


def _places(scores: Floats, among: Bools) -> Floats:
    """The share of some items that stand below each, of equal ones the half; NaN where there is no score."""
    order = np.argsort(scores)
    ordered = scores[order]
    counted = (among & (scores > -np.inf))[order]
    before = np.concatenate(([0], np.cumsum(counted)))
    edges = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1], [True])))
    middles = (before[edges[:-1]] + before[edges[1:]]) / max(1, 2 * int(before[-1]))
    places = np.empty(scores.size)
    places[order] = np.repeat(middles, np.diff(edges))
    return np.where(scores > -np.inf, places, np.nan)
