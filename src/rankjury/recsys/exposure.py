"""Exposure: what is recommended, by how popular it was in training, beside what the catalogue offers."""

from dataclasses import dataclass

import numpy as np

from rankjury.core.types import Floats, Ints, Lists
from rankjury.evaluation.sections import Section


@dataclass(frozen=True, eq=False)
class Exposure(Section):
    """Shares of recommendations, of the catalogue and of training interactions, popular items first."""

    name = "exposure"

    k: int
    n: int
    """How many recommendations there are."""
    edges: tuple[float, ...]
    """Up to which share of the catalogue, most popular first, each part goes."""
    recommended: tuple[float, ...]
    """The share of recommendations in each part."""
    taken: tuple[float, ...]
    """The share of training interactions in each part."""
    distinct: int
    """How many items are recommended to anybody."""
    catalogue: int


def exposure_of(lists: Lists, k: int, parts: int = 10) -> Exposure:
    """The first k of everybody, by tenths of the catalogue (``parts``), equal popularity by id."""
    background = lists.background
    codes = lists.first(k)
    often = np.bincount(codes[codes >= 0], minlength=len(background.items)).astype(np.float64)
    order = np.argsort(-background.popularity, kind="stable")
    bounds = np.round(np.linspace(0, order.size, min(parts, max(1, order.size)) + 1)).astype(np.int64)
    return Exposure(
        k=k,
        n=int(often.sum()),
        edges=tuple((bounds[1:] / max(1, order.size)).tolist()),
        recommended=_shares(often[order], bounds),
        taken=_shares(background.popularity[order].astype(np.float64), bounds),
        distinct=int((often > 0).sum()),
        catalogue=order.size,
    )


def _shares(values: Floats, bounds: Ints) -> tuple[float, ...]:
    total = values.sum()
    before = np.concatenate(([0.0], np.cumsum(values)))
    return tuple(((before[bounds[1:]] - before[bounds[:-1]]) / (total or 1.0)).tolist())
