"""Fusion methods: functions of aligned rankings that return one score per (query, item) pair.

Sums have twice the digits of a float, so that exact ties remain ties: 1/63 + 1/84 and 1/72 + 1/72 are the same number,
as are 0.1/61 + 0.2/61 and 0.3/61. Added as floats they may differ in the last digit, and the id would not break the
tie. Such a number is stored as a complex: ``real`` is its float, ``imag`` the rounding error. After T. J. Dekker, A
floating-point technique for extending the available precision, Numerische Mathematik 18, 1971.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import lcm

import numpy as np
from numpy.typing import NDArray

from rankjury.core.types import Floats, cut_into_blocks, cut_rows, in_threads
from rankjury.retrieval.fusion.align import Aligned
from rankjury.retrieval.fusion.fusion import Fusion, method

Precise = NDArray[np.complex128]

_ROWS_PER_BLOCK = 1 << 15
_SPLITTER = 134217729.0  # 2^27 + 1


def from_decimal(number: float) -> complex:
    """Return the decimal number that a float prints as."""
    meant = Fraction(repr(float(number)))
    return complex(number, float(meant - Fraction(number)))


def shifted(number: complex, values: Floats) -> Precise:
    """Return number + values."""
    total, rest = _two_sum(np.float64(number.real), values)
    return _pair(total, rest + number.imag)


def quotient(number: complex, below: Precise) -> Precise:
    """Return number / below."""
    with np.errstate(over="ignore", invalid="ignore"):
        first = number.real / below.real
        back, rest = _two_product(first, below.real)
        left = (number.real - back) - rest + number.imag - first * below.imag
        return _pair(first, left / below.real)


def product(number: complex, values: Floats) -> Precise:
    """Return number × values."""
    if number == 1:
        return values.astype(np.complex128)
    with np.errstate(over="ignore", invalid="ignore"):
        first, rest = _two_product(np.float64(number.real), values)
        return _pair(first, rest + number.imag * values)


def times(numbers: Precise, factors: Floats) -> Floats:
    """Return numbers × factors, rounded once."""
    with np.errstate(over="ignore", invalid="ignore"):
        first, rest = _two_product(numbers.real, factors)
        return np.asarray(first + (rest + numbers.imag * factors))


def totals(rows: int, columns: Sequence[Callable[[slice], Precise]]) -> Precise:
    """Return the sum over the columns for each row; the order of the columns does not change a digit."""

    def of_block(first: int, last: int) -> Precise:
        terms = np.stack([column(slice(first, last)) for column in columns], axis=1)
        if len(columns) > 2:  # the order of two does not matter
            terms.sort(axis=1)
        total = terms[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            for other in terms.T[1:]:
                high, low = _two_sum(total.real, other.real)
                total = _pair(high, low + (total.imag + other.imag))
        return total

    return np.concatenate([np.empty(0, dtype=np.complex128), *in_threads(of_block, cut_rows(rows, _ROWS_PER_BLOCK))])


def _pair(high: Floats, low: Floats) -> Precise:
    """Return high + low as a pair, with as much as fits in the first."""
    pair = np.empty(high.shape, dtype=np.complex128)
    total = high + low
    pair.real = total
    pair.imag = low - (total - high)
    return pair


def _two_sum(left: Floats | np.float64, right: Floats) -> tuple[Floats, Floats]:
    """Return the sum and its rounding error."""
    total = left + right
    of_right = total - left
    return total, (left - (total - of_right)) + (right - of_right)


def _two_product(left: Floats | np.float64, right: Floats) -> tuple[Floats, Floats]:
    """Return the product and its rounding error."""
    first = left * right
    left_high, left_low = _split(left)
    right_high, right_low = _split(right)
    rest = ((left_high * right_high - first) + left_high * right_low + left_low * right_high) + left_low * right_low
    # Numbers beyond 10^300 cannot be split: they are multiplied as plain floats.
    return np.asarray(first), np.where(np.isfinite(rest), rest, 0.0)


def _split(number: Floats | np.float64) -> tuple[Floats | np.float64, Floats | np.float64]:
    """Return two halves of 26 digits each."""
    far = number * _SPLITTER
    high = far - (far - number)
    return high, number - high


_CELLS = 1 << 18
"""Maximum cells of the items × items table in memory."""


@method("rrf", has_c=True)
def rrf(aligned: Aligned, fusion: Fusion) -> Floats:
    """Reciprocal rank fusion: the sum of weight / (c + rank) over the lists that have the item.

    Source: Cormack, Clarke and Büttcher, Reciprocal rank fusion outperforms Condorcet, SIGIR 2009.
    """
    below = shifted(from_decimal(fusion.c), _places(aligned))
    return np.asarray(_sum_by_rank(aligned, fusion, below).real)


@method("isr")
def isr(aligned: Aligned, fusion: Fusion) -> Floats:
    """Inverse square rank: the number of lists that have the item × the sum of weight / rank².

    Source: Mourão, Martins and Magalhães, Multimodal medical information retrieval, 2015.
    """
    below = (_places(aligned) ** 2).astype(np.complex128)
    return times(_sum_by_rank(aligned, fusion, below), _lists_that_hold(aligned))


@method("combsum", normalise="min-max")
def combsum(aligned: Aligned, fusion: Fusion) -> Floats:
    """The sum of weight × normalised score over the lists that have the item.

    Source: Fox and Shaw, Combination of multiple searches, TREC-2, 1993.
    """
    return np.asarray(_sum_of(_normalized(aligned, fusion), aligned, fusion).real)


@method("combmnz", normalise="min-max")
def combmnz(aligned: Aligned, fusion: Fusion) -> Floats:
    """The number of lists that have the item × the sum of weight × normalised score.

    A list of weight 0 that has the item counts.
    Source: Fox and Shaw, Combination of multiple searches, TREC-2, 1993.
    """
    return times(_sum_of(_normalized(aligned, fusion), aligned, fusion), _lists_that_hold(aligned))


@method("combmax", normalise="min-max")
def combmax(aligned: Aligned, fusion: Fusion) -> Floats:
    """The highest weight × normalised score among the lists that have the item.

    Source: Fox and Shaw, Combination of multiple searches, TREC-2, 1993.
    """
    highest = np.full(len(aligned), -np.inf)
    weights = fusion.weights_of(len(aligned.lists))
    for weight, column, ranks in zip(weights, _normalized(aligned, fusion), aligned.ranks, strict=True):
        weighted = product(from_decimal(weight), column).real
        np.maximum(highest, weighted, out=highest, where=ranks > 0)
    return highest


@method("borda")
def borda(aligned: Aligned, fusion: Fusion) -> Floats:
    """Borda count: of n candidates, rank r gets n − r + 1 points; candidates missing in a list share its other points.

    A list without the query gives no points. Source: Aslam and Montague, Models for metasearch, SIGIR 2001.
    """
    candidates = np.diff(aligned.starts)
    query = np.repeat(np.arange(candidates.size), candidates)
    points = np.empty(aligned.ranks.shape)
    for row, ranks, ranked in zip(points, aligned.ranks, aligned.lists, strict=True):
        listed = np.diff(ranked.starts)
        shared = np.where(listed > 0, (candidates - listed + 1) / 2, 0.0)
        row[:] = np.where(ranks > 0, candidates[query] - ranks + 1, shared[query])
    return np.asarray(_sum_of(points, aligned, fusion).real)


@method("condorcet")
def condorcet(aligned: Aligned, fusion: Fusion) -> Floats:
    """Copeland's method: the number of the query's items that an item beats, by a majority of the lists' weights.

    A list votes for the item that it ranks higher, and for an item that it contains against a missing one, but not
    between two missing ones. Source: Montague and Aslam, Condorcet fusion for improved retrieval, CIKM 2002, who sort
    by the majority; with cyclic majorities that order depends on the start of the sort, a count does not.
    """
    votes = _whole_votes(fusion.weights_of(len(aligned.lists)))

    def of_block(first: int, last: int) -> Floats:
        bounds = aligned.starts[first : last + 1].tolist()
        ranks = [aligned.ranks[:, low:high] for low, high in pairwise(bounds)]
        return np.concatenate([_wins(of_query, votes) for of_query in ranks])

    blocks = in_threads(of_block, cut_into_blocks(aligned.starts, 1 << 12))
    return np.concatenate([np.empty(0), *blocks])


def _whole_votes(weights: Sequence[float]) -> list[int]:
    """Return weights as whole numbers in the same proportion, so that 0.1 and 0.2 together equal 0.3."""
    meant = [Fraction(repr(weight)) for weight in weights]
    scale = lcm(*(weight.denominator for weight in meant))
    votes = [int(weight * scale) for weight in meant]
    excess = max(0, sum(votes).bit_length() - 62)  # so that the sum fits in 64 bits
    return [max(vote >> excess, 1) if vote else 0 for vote in votes]


def _wins(ranks: NDArray[np.int32], votes: Sequence[int]) -> Floats:
    """Return the number of others that each item of a query beats."""
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


def _places(aligned: Aligned) -> Floats:
    """Return all existing ranks, from 1."""
    return np.arange(1, int(aligned.ranks.max(initial=0)) + 1, dtype=np.float64)


def _lists_that_hold(aligned: Aligned) -> Floats:
    return np.asarray(np.count_nonzero(aligned.ranks, axis=0), dtype=np.float64)


def _normalized(aligned: Aligned, fusion: Fusion) -> Floats:
    return aligned.normalized(fusion.normalise or "none")


def _sum_by_rank(aligned: Aligned, fusion: Fusion, below: Precise) -> Precise:
    """Return the sum of weight / below[rank − 1] over the lists that have the pair."""
    weights = fusion.weights_of(len(aligned.lists))
    tables = [np.append(0j, quotient(from_decimal(weight), below)) for weight in weights]

    def look_up(number: int, rows: slice) -> Precise:
        return tables[number].take(aligned.ranks[number, rows])

    return totals(len(aligned), [partial(look_up, number) for number in range(len(weights))])


def _sum_of(values: Floats, aligned: Aligned, fusion: Fusion) -> Precise:
    """Return the sum of weight × value over the lists; ``values`` is lists × pairs."""
    weights = [from_decimal(weight) for weight in fusion.weights_of(len(aligned.lists))]

    def weighted(number: int, rows: slice) -> Precise:
        return product(weights[number], values[number, rows])

    return totals(len(aligned), [partial(weighted, number) for number in range(len(weights))])
