"""Which query is asked when: settled by the seed before anything is measured."""

from typing import Literal, get_args

import numpy as np

from karat.errors import UnknownName
from karat.types import Floats, Ints

__all__ = ["Arrivals", "arrival_times", "asking_order"]

Arrivals = Literal["even", "random"]
_ORDER, _GAPS = 0, 1
_SEEDS = 2**64


def asking_order(n: int, total: int, seed: int) -> Ints:
    """``total`` of ``n`` queries: all of them in a random order, then again in another."""
    random = _random(seed, _ORDER)
    rounds = [random.permutation(n) for _ in range(-(-total // n))]
    return np.concatenate([np.empty(0, dtype=np.int64), *rounds])[:total]


def arrival_times(total: int, rate: float, arrivals: Arrivals, seed: int) -> Floats:
    """Seconds from the start: evenly spaced, or with gaps as of callers who know nothing of each other."""
    if arrivals not in get_args(Arrivals):
        raise UnknownName("kind of arrivals", arrivals, get_args(Arrivals))
    if arrivals == "even":
        return np.arange(total) / rate
    return np.cumsum(_random(seed, _GAPS).exponential(1.0 / rate, total))


def _random(seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng((seed % _SEEDS, stream))
