"""Chance: draws that come out the same with every version of NumPy, since all are made of plain uniform numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Chance"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Choice = TypeVar("Choice")
NORMAL = NormalDist()


class Chance:
    """A stream of draws; what is named apart does not move when another part draws more or less."""

    def __init__(self, seed: int, part: int) -> None:
        self.stream = np.random.Generator(np.random.PCG64([seed, part]))

    def uniform(self, size: int) -> Floats:
        """Above 0 and at most 1."""
        return 1.0 - self.stream.random(size)

    def number(self) -> float:
        return float(self.uniform(1)[0])

    def normal(self, size: int) -> Floats:
        """With mean 0 and variance 1."""
        inside = np.clip(self.uniform(size), 1e-12, 1 - 1e-12)
        return np.array([NORMAL.inv_cdf(float(one)) for one in inside])

    def count(self, mean: float) -> int:
        """A whole number from 0, geometric."""
        return int(np.log(self.number()) / np.log(mean / (1 + mean)))

    def order(self, size: int) -> Ints:
        """The numbers below size in random order."""
        return np.argsort(self.uniform(size), kind="stable")

    def one(self, choices: Sequence[Choice], weights: Sequence[float] | None = None) -> Choice:
        ends = np.cumsum(np.ones(len(choices)) if weights is None else np.asarray(weights, dtype=np.float64))
        return choices[int(np.searchsorted(ends, self.number() * ends[-1]))]

    def several(self, weights: Floats, size: int) -> Ints:
        """Different places, drawn one after another by their weights; no place of weight 0."""
        waits = np.full(weights.size, np.inf)
        held = weights > 0
        waits[held] = -np.log(self.uniform(int(held.sum()))) / weights[held]
        return np.argsort(waits, kind="stable")[: min(size, int(held.sum()))]
