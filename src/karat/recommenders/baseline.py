"""What a rating is before a model: the mean of all, of the user and of the item, of few ratings held near zero."""

from dataclasses import dataclass

import numpy as np

from karat.recommenders.trained import Known
from karat.types import Floats

__all__ = ["Baseline", "baseline_of"]


@dataclass(frozen=True, eq=False)
class Baseline:
    """How far users and items are from the mean of all ratings."""

    mean: float
    users: Floats
    items: Floats

    def of_pairs(self, known: Known) -> Floats:
        """What it says of each training pair."""
        return self.mean + self.users[known.rows] + self.items[known.columns]


def baseline_of(known: Known, ratings: Floats, damping: float) -> Baseline:
    """Items first, then users from what is left, each mean as if ``damping`` ratings more had been the mean of all."""
    mean = float(ratings.mean())
    items = _means(known.columns, ratings - mean, known.shape[1], damping)
    users = _means(known.rows, ratings - mean - items[known.columns], known.shape[0], damping)
    return Baseline(mean, users, items)


def _means(groups: np.ndarray, values: Floats, n: int, damping: float) -> Floats:
    return np.bincount(groups, values, minlength=n) / (np.bincount(groups, minlength=n) + damping)
