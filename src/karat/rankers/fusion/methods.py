"""The ways of fusing: functions of aligned rankings, one score a (query, item) pair."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from karat.rankers.fusion.aligned import Aligned
from karat.rankers.fusion.condorcet import condorcet
from karat.rankers.fusion.precise import Precise, from_decimal, product, quotient, shifted, times, totals
from karat.rankers.fusion.value import Fusion, method
from karat.types import Floats

__all__ = ["borda", "combmax", "combmnz", "combsum", "condorcet", "isr", "rrf"]


@method("rrf", has_c=True)
def rrf(aligned: Aligned, fusion: Fusion) -> Floats:
    """Reciprocal rank fusion: the sum of weight / (c + rank) over the lists that hold the item.

    Source: Cormack, Clarke and Büttcher, Reciprocal rank fusion outperforms Condorcet, SIGIR 2009.
    """
    below = shifted(from_decimal(fusion.c), _places(aligned))
    return np.asarray(_sum_by_rank(aligned, fusion, below).real)


@method("isr")
def isr(aligned: Aligned, fusion: Fusion) -> Floats:
    """Inverse square rank: the number of lists that hold the item × the sum of weight / rank².

    Source: Mourão, Martins and Magalhães, Multimodal medical information retrieval, 2015.
    """
    below = (_places(aligned) ** 2).astype(np.complex128)
    return times(_sum_by_rank(aligned, fusion, below), _lists_that_hold(aligned))


@method("combsum", normalise="min-max")
def combsum(aligned: Aligned, fusion: Fusion) -> Floats:
    """The sum of weight × normalised score over the lists that hold the item.

    Source: Fox and Shaw, Combination of multiple searches, TREC-2, 1993.
    """
    return np.asarray(_sum_of(_normalised(aligned, fusion), aligned, fusion).real)


@method("combmnz", normalise="min-max")
def combmnz(aligned: Aligned, fusion: Fusion) -> Floats:
    """The number of lists that hold the item × the sum of weight × normalised score.

    A list of weight 0 that holds the item counts among them.
    Source: Fox and Shaw, Combination of multiple searches, TREC-2, 1993.
    """
    return times(_sum_of(_normalised(aligned, fusion), aligned, fusion), _lists_that_hold(aligned))


@method("combmax", normalise="min-max")
def combmax(aligned: Aligned, fusion: Fusion) -> Floats:
    """The highest weight × normalised score among the lists that hold the item.

    Source: Fox and Shaw, Combination of multiple searches, TREC-2, 1993.
    """
    highest = np.full(len(aligned), -np.inf)
    weights = fusion.weights_of(len(aligned.lists))
    for weight, column, held in zip(weights, _normalised(aligned, fusion), aligned.held, strict=True):
        weighted = product(from_decimal(weight), column).real
        np.maximum(highest, weighted, out=highest, where=held)
    return highest


@method("borda")
def borda(aligned: Aligned, fusion: Fusion) -> Floats:
    """Borda count: of n candidates, rank r gets n − r + 1 points; those a list lacks share its other points evenly.

    A list without the query gives no points. Source: Aslam and Montague, Models for metasearch, SIGIR 2001.
    """
    query, candidates = aligned.query, np.diff(aligned.starts)
    points = np.empty(aligned.ranks.shape)
    for row, ranks, each in zip(points, aligned.ranks, aligned.lists, strict=True):
        listed = np.diff(each.starts)
        shared = np.where(listed > 0, (candidates - listed + 1) / 2, 0.0)
        row[:] = np.where(ranks > 0, candidates[query] - ranks + 1, shared[query])
    return np.asarray(_sum_of(points, aligned, fusion).real)


method("condorcet")(condorcet)


def _places(aligned: Aligned) -> Floats:
    """All ranks that occur, from 1."""
    return np.arange(1, int(aligned.ranks.max(initial=0)) + 1, dtype=np.float64)


def _lists_that_hold(aligned: Aligned) -> Floats:
    return np.asarray(np.count_nonzero(aligned.ranks, axis=0), dtype=np.float64)


def _normalised(aligned: Aligned, fusion: Fusion) -> Floats:
    return aligned.normalised(fusion.normalise or "none")


def _sum_by_rank(aligned: Aligned, fusion: Fusion, below: Precise) -> Precise:
    """The sum of weight / below[rank − 1] over the lists that hold the pair."""
    nothing = np.zeros(1, dtype=np.complex128)
    tables = [
        np.concatenate((nothing, quotient(from_decimal(weight), below)))
        for weight in fusion.weights_of(len(aligned.lists))
    ]

    def looked_up(number: int, rows: slice) -> Precise:
        return tables[number].take(aligned.ranks[number, rows])

    return _total(aligned, looked_up)


def _sum_of(values: Floats, aligned: Aligned, fusion: Fusion) -> Precise:
    """The sum of weight × value over the lists; ``values`` is lists × pairs."""
    weights: Sequence[complex] = [from_decimal(weight) for weight in fusion.weights_of(len(aligned.lists))]

    def weighted(number: int, rows: slice) -> Precise:
        return product(weights[number], values[number, rows])

    return _total(aligned, weighted)


def _total(aligned: Aligned, term: Callable[[int, slice], Precise]) -> Precise:
    return totals(len(aligned), [partial(term, number) for number in range(len(aligned.lists))])
