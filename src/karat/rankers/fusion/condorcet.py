"""Fusion by pairwise majority."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np
from numpy.typing import NDArray

from karat.blocks import cut_into_blocks, cut_rows, in_threads
from karat.rankers.fusion.aligned import Aligned
from karat.rankers.fusion.value import Fusion
from karat.types import Floats

__all__ = ["condorcet"]

_CELLS = 1 << 18
"""Of the table of items × items that are held at once."""
_MOST_VOTES = 1 << 62


def condorcet(aligned: Aligned, fusion: Fusion) -> Floats:
    """Copeland's count: how many of the query's items it beats, by a majority of the lists' weights.

    A list votes for the item that it ranks higher, and for one that it holds against one that it lacks; of two that it
    lacks it says nothing. Source: Montague and Aslam, Condorcet fusion for improved retrieval, CIKM 2002, who sort by
    the majority; that order hangs on where the sort begins as soon as majorities run in a circle, a count does not.
    """
    votes = _whole_votes(fusion.weights_of(len(aligned.lists)))

    def of_block(first: int, last: int) -> Floats:
        bounds = aligned.starts[first : last + 1].tolist()
        ranks = [aligned.ranks[:, low:high] for low, high in pairwise(bounds)]
        return np.concatenate([_wins(of_query, votes) for of_query in ranks])

    blocks = in_threads(of_block, cut_into_blocks(aligned.starts, 1 << 12))
    return np.concatenate([np.empty(0), *blocks])


def _whole_votes(weights: Sequence[float]) -> list[int]:
    """Weights as whole numbers in the same proportion, so that 0.1 and 0.2 together are as much as 0.3."""
    meant = [Fraction(repr(weight)) for weight in weights]
    scale = lcm(*(weight.denominator for weight in meant))
    votes = [int(weight * scale) for weight in meant]
    excess = max(0, sum(votes).bit_length() - _MOST_VOTES.bit_length() + 1)
    return [max(vote >> excess, 1) if vote else 0 for vote in votes]


def _wins(ranks: NDArray[np.int32], votes: Sequence[int]) -> Floats:
    """How many of the others each item of a query beats."""
    items = ranks.shape[1]
    places = np.where(ranks == 0, items + 1, ranks).astype(np.min_scalar_type(-items - 2))
    narrowest = np.min_scalar_type(-sum(votes) - 1)
    wins = np.empty(items)
    for first, last in cut_rows(items, max(1, _CELLS // max(items, 1))):
        lead = np.zeros((last - first, items), dtype=narrowest)
        for place, vote in zip(places, votes, strict=True):
            mine = place[first:last, None]
            opinion = (mine < place).view(np.int8) - (mine > place).view(np.int8)
            lead += opinion * narrowest.type(vote)
        wins[first:last] = np.count_nonzero(lead > 0, axis=1)
    return wins
