"""How far the first items of queries changed between two searches: what they share, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType

from karat.records import Record

__all__ = ["Churn", "Churned", "churn_between", "overlap_of", "rbo_of"]

PERSISTENCE = 0.9
"""Of RBO: the weight of the next depth relative to this one."""
_LISTED = 5


@dataclass(frozen=True)
class Churned(Record):
    """One query's first items before and after."""

    json_keys = MappingProxyType({"query": "query_id"})

    query: str
    overlap: float
    rbo: float
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Churn(Record):
    """Over all queries."""

    k: int
    n: int
    overlap: float
    """Mean share of the first k that both have."""
    rbo: float
    changed: float
    """Share of the queries whose first k differ, be it in their order alone."""
    most: tuple[Churned, ...]
    """The queries that changed most."""


def churn_between(
    before: Sequence[Sequence[str]], after: Sequence[Sequence[str]], ids: Sequence[str], *, k: int | None = None
) -> Churn | None:
    """Lists of items, best first, one a query of ``ids``; None where there is nothing to compare.

    They are cut at k, and no deeper than both sides go: what only one side kept cannot have changed.
    """
    depth = min(max(map(len, side), default=0) for side in (before, after))
    k = depth if k is None else min(k, depth)
    if not k:
        return None
    pairs = [(list(old[:k]), list(new[:k])) for old, new in zip(before, after, strict=True)]
    found = [_churned(query, *pair) for query, pair in zip(ids, pairs, strict=True)]
    apart = [one for one, (old, new) in zip(found, pairs, strict=True) if old != new]
    most = sorted(apart, key=lambda one: (one.rbo, one.overlap, one.query))[:_LISTED]
    overlap, rbo = (
        fsum(column) / len(found) for column in zip(*((one.overlap, one.rbo) for one in found), strict=True)
    )
    return Churn(k, len(found), overlap, rbo, len(apart) / len(found), tuple(most))


def _churned(query: str, old: list[str], new: list[str]) -> Churned:
    gone, come = (tuple(item for item in one if item not in other) for one, other in ((old, new), (new, old)))
    return Churned(query, overlap_of(old, new), rbo_of(old, new), gone, come)


def overlap_of(one: Sequence[str], other: Sequence[str]) -> float:
    """The share of the longer list that both have; 1 of two empty ones."""
    longest = max(len(one), len(other))
    return len(set(one) & set(other)) / longest if longest else 1.0


def rbo_of(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE) -> float:
    """Rank-biased overlap, the agreement extrapolated past the ends; 1 of two empty lists.

    Each item stands once in a list.
    Source: Webber, Moffat & Zobel, A Similarity Measure for Indefinite Rankings (2010), equation 32.
    """
    if list(one) == list(other):
        return 1.0
    short, long = sorted((one, other), key=len)
    if not short:
        return 0.0
    place = {item: rank for rank, item in enumerate(short, 1)}
    meets = [0] * (len(long) + 1)
    for rank, item in enumerate(long, 1):
        if item in place:
            meets[max(rank, place[item])] += 1
    terms = []
    shared = at_short = 0
    for depth in range(1, len(long) + 1):
        shared += meets[depth]
        if depth == len(short):
            at_short = shared
        uneven = at_short * (depth - len(short)) / len(short) if depth > len(short) else 0.0
        terms.append((shared + uneven) / depth * p**depth)
    last = ((shared - at_short) / len(long) + at_short / len(short)) * p ** len(long)
    return (1 - p) / p * fsum(terms) + last
