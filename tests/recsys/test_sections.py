"""Exposure against loops over lists: shares by popularity, ties by id, and nothing where nothing is recommended."""

import json
from math import isclose

import numpy as np
import polars as pl
import pytest

from rankjury.core.types import Background, Ints, Lists
from rankjury.recsys.sections import Exposure, exposure_of


def made(codes: Ints, popularity: Ints) -> Lists:
    nobody = np.zeros(1, dtype=np.int64)
    items = pl.Series([f"i{place:04}" for place in range(popularity.size)])
    background = Background(items, popularity, 10, pl.Series([], dtype=pl.String), nobody, nobody[:0])
    return Lists(codes, np.zeros(len(codes) + 1, dtype=np.int64), nobody[:0], background)


def by_loops(codes: Ints, popularity: Ints, k: int, parts: int) -> Exposure:
    """The same item by item: sorted by popularity, then by place, and cut into parts of like size."""
    order = sorted(range(popularity.size), key=lambda item: (-int(popularity[item]), item))
    parts = min(parts, len(order))
    bounds = [round(len(order) * part / parts) for part in range(parts + 1)]
    first = [int(code) for row in codes for code in row[:k] if code >= 0]
    cut = [order[bounds[part] : bounds[part + 1]] for part in range(parts)]
    total = sum(int(one) for one in popularity)
    return Exposure(
        k=k,
        n=len(first),
        edges=tuple(bound / len(order) for bound in bounds[1:]),
        recommended=tuple(sum(first.count(item) for item in part) / (len(first) or 1) for part in cut),
        taken=tuple(sum(int(popularity[item]) for item in part) / (total or 1) for part in cut),
        distinct=len(set(first)),
        catalogue=len(order),
    )


def check(found: Exposure, expected: Exposure) -> None:
    assert (found.k, found.n, found.distinct, found.catalogue) == (
        expected.k,
        expected.n,
        expected.distinct,
        expected.catalogue,
    )
    for name in ("edges", "recommended", "taken"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert len(ours) == len(theirs)
        assert all(isclose(one, other, abs_tol=1e-12) for one, other in zip(ours, theirs, strict=True)), name


@pytest.mark.parametrize("items", [1, 2, 7, 10, 25, 100, 333])
@pytest.mark.parametrize(("k", "parts"), [(1, 10), (5, 10), (5, 3), (20, 1)])
def test_as_by_loops(items: int, k: int, parts: int) -> None:
    rng = np.random.default_rng(items * 100 + k + parts)
    codes = rng.integers(-1, items, (40, 12))
    popularity = rng.integers(0, 6, items)  # many are equally popular
    check(exposure_of(made(codes, popularity), k, parts), by_loops(codes, popularity, k, parts))


def test_by_hand() -> None:
    """Four items taken 5, 1, 3 and 1 times; two users get the first and third, and the second and first."""
    found = exposure_of(made(np.array([[0, 2, 3], [1, 0, -1]]), np.array([5, 1, 3, 1])), 2, parts=4)
    assert found == Exposure(2, 4, (0.25, 0.5, 0.75, 1.0), (0.5, 0.25, 0.25, 0.0), (0.5, 0.3, 0.1, 0.1), 3, 4)


def test_shares_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    found = exposure_of(made(rng.integers(0, 90, (30, 10)), rng.integers(0, 9, 90)), 10)
    assert isclose(sum(found.recommended), 1.0) and isclose(sum(found.taken), 1.0)
    assert len(found.edges) == 10 and found.edges[-1] == 1.0 and found.n == 300


def test_nothing_recommended_and_nothing_taken() -> None:
    found = exposure_of(made(np.full((3, 2), -1), np.zeros(5, dtype=np.int64)), 2)
    assert (found.n, found.distinct, found.catalogue) == (0, 0, 5)
    assert set(found.recommended) == set(found.taken) == {0.0}


def test_lists_that_are_shorter_than_k() -> None:
    found = exposure_of(made(np.array([[0], [1]]), np.array([2, 1])), 50, parts=2)
    assert (found.k, found.n, found.recommended) == (50, 2, (0.5, 0.5))


def test_the_form_is_plain_json() -> None:
    found = exposure_of(made(np.array([[0, 1]]), np.array([3, 1])), 2)
    form = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert form == {
        "k": 2,
        "n": 2,
        "edges": [0.5, 1.0],
        "recommended": [0.5, 0.5],
        "taken": [0.75, 0.25],
        "distinct": 2,
        "catalogue": 2,
    }
