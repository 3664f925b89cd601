"""Scores against exact arithmetic, their independence of whatever else is scored, and the bound on their stand-ins."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rankjury.core.types import Matrix
from rankjury.errors import DataError, UnknownName
from rankjury.retrieval.knn import similarity
from rankjury.retrieval.knn.similarity import Similarity, similarity_of
from tests.stats.support import thorough

METRICS = ["cosine", "ip", "l2"]
DTYPES = [np.float16, np.float32, np.float64]
seeds = st.integers(0, 2**32 - 1)


def exact_score(query: Matrix, item: Matrix, metric: str) -> float:
    """By Fractions; rounded once, but for the roots and quotients of the cosine."""
    q, x = ([Fraction(float(number)) for number in vector] for vector in (query, item))
    if metric == "l2":
        return -math.sqrt(sum((a - b) ** 2 for a, b in zip(q, x, strict=True)))
    dot = sum(a * b for a, b in zip(q, x, strict=True))
    if metric == "ip":
        return float(dot)
    return float(dot) / (math.sqrt(sum(a * a for a in q)) * math.sqrt(sum(b * b for b in x)))


def all_scores(compared: Similarity) -> Any:
    rows = np.arange(len(compared.queries))
    return compared.scores(rows, np.tile(np.arange(len(compared.items)), (rows.size, 1)))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
@given(seed=seeds, dimensions=st.integers(1, 40))
@thorough(15)
def test_like_exact_arithmetic(metric: str, dtype: Any, seed: int, dimensions: int) -> None:
    rng = np.random.default_rng(seed)
    queries, items = (rng.normal(size=(size, dimensions)).astype(dtype) for size in (3, 5))
    found = all_scores(similarity_of(metric, queries, items))
    lengths = np.sqrt((queries.astype(float) ** 2).sum(1))[:, None] * np.sqrt((items.astype(float) ** 2).sum(1))
    size = lengths if metric == "ip" else np.ones_like(lengths)
    expected = np.array([[exact_score(q, x, metric) for x in items] for q in queries])
    assert (np.abs(found - expected) <= (dimensions + 5) * 2.0**-53 * np.maximum(size, np.abs(expected))).all()


@given(seed=seeds, dimensions=st.integers(1, 300))
@thorough(40)
def test_whole_numbers_give_the_exact_score_to_the_last_bit(seed: int, dimensions: int) -> None:
    """Their sums are exact, and roots, products and quotients are rounded once each."""
    rng = np.random.default_rng(seed)
    queries, items = (rng.integers(1, 9, (size, dimensions)) for size in (4, 6))
    dots, squares = queries @ items.T, (np.square(queries).sum(1), np.square(items).sum(1))
    expected = {
        "ip": [[float(dot) for dot in line] for line in dots.tolist()],
        "l2": [[-math.sqrt(int(((q - x) ** 2).sum())) for x in items] for q in queries],
        "cosine": [
            [min(1.0, dot / (math.sqrt(q) * math.sqrt(x))) for dot, x in zip(line, squares[1].tolist(), strict=True)]
            for line, q in zip(dots.tolist(), squares[0].tolist(), strict=True)
        ],
    }
    for metric in METRICS:
        for dtype in DTYPES:
            compared = similarity_of(metric, queries.astype(dtype), items.astype(dtype))
            np.testing.assert_array_equal(all_scores(compared), expected[metric])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dimensions", [1, 3, 129, 10_000, 10_001, 20_011])
def test_a_score_hangs_on_its_pair_alone(metric: str, dimensions: int) -> None:
    """Below and above the length that OpenBLAS cuts for threads: alone or not, from either side, in any block."""
    rng = np.random.default_rng(dimensions)
    vectors = rng.normal(size=(7, dimensions)).astype(np.float32)
    table = all_scores(similarity_of(metric, vectors, vectors))
    np.testing.assert_array_equal(table, table.T)
    for row in range(7):
        for column in range(7):
            pair = similarity_of(metric, vectors[row : row + 1], vectors[column : column + 1].astype(np.float64))
            assert all_scores(pair)[0, 0] == table[row, column]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "_ELEMENTS_AT_ONCE", 2 * dimensions)
        np.testing.assert_array_equal(all_scores(similarity_of(metric, vectors, vectors)), table)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_in_memory_is_of_no_account(dtype: Any) -> None:
    vectors = np.random.default_rng(3).normal(size=(300, 97)).astype(dtype)
    wide = np.zeros((300, 194), dtype)
    wide[:, ::2] = vectors
    expected = all_scores(similarity_of("cosine", vectors, vectors))
    for other in (np.asfortranarray(vectors), wide[:, ::2]):
        np.testing.assert_array_equal(all_scores(similarity_of("cosine", other, other)), expected)


def summed_in_turn(left: Matrix, right: Matrix) -> Any:
    """The product as the plainest 32-bit loop gives it: the worst that a library may do."""
    total = np.zeros((len(left), len(right)), dtype=np.float32)
    for one, other in zip(left.T, right.T, strict=True):
        total += one[:, None] * other
    return total


def check_slack(metric: str, queries: Matrix, items: Matrix) -> None:
    compared = similarity_of(metric, queries, items)
    rows = np.repeat(np.arange(len(queries)), len(items))
    expected = compared.stand_in(rows, all_scores(compared).reshape(-1)).reshape(len(queries), -1)
    left, right = compared.query_tile(0, len(queries)), compared.item_tile(0, len(items))
    assert left.dtype == right.dtype == np.float32
    for product in (left @ right.T, summed_in_turn(left, right), summed_in_turn(left[:, ::-1], right[:, ::-1])):
        assert np.abs(product.astype(np.float64) - expected).max() <= compared.slack


def signs(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.choice([-1.0, 1.0], shape)


def rounded_up(_: np.random.Generator, shape: tuple[int, int]) -> Any:
    """Of length 1, with products of which each adds a little over half a step to a sum of 0.51."""
    vectors = np.full(shape, 1.02 * 2.0**-12.5)
    vectors[:, 0] = math.sqrt(0.51)
    if shape[1] > 2:
        rows = np.arange(shape[0])
        vectors[:, 1:3] = 0.0
        vectors[rows, 1 + rows % 2] = np.sqrt(1.0 - np.square(vectors).sum(axis=1))
    return vectors


def units(vectors: Any) -> Any:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


SHAPES: dict[str, Any] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "all of one sign": lambda rng, shape: rng.uniform(0.9, 1.0, shape),
    "one number over and over": lambda rng, shape: np.full(shape, rng.uniform(0.5, 1.0)),
    "signs alone": signs,
    "just over a step of 32 bits": lambda rng, shape: signs(rng, shape) * (1 + 2.0**-24 * rng.uniform(1, 1.01, shape)),
    "sums that are rounded up at each step": rounded_up,
    "of many sizes": lambda rng, shape: signs(rng, shape) * 10.0 ** rng.uniform(-12, 0, shape),
    "lengths of many sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.uniform(-6, 6, (shape[0], 1)),
    "far from the origin": lambda rng, shape: 1e6 * rng.normal(size=shape[1]) + rng.normal(size=shape),
    "very far from the origin": lambda rng, shape: 1e12 * rng.normal(size=shape[1]) + rng.normal(size=shape),
    "one far from the others": lambda rng, shape: np.vstack([np.full(shape[1], 1e5), rng.normal(size=shape)[1:]]),
    "nearly opposite": lambda rng, shape: signs(rng, (shape[0], 1)) + 1e-7 * rng.normal(size=shape),
    "of length one": lambda rng, shape: units(rng.normal(size=shape)),
    "nearly of length one": lambda rng, shape: (
        units(rng.normal(size=shape)) * rng.uniform(1 - 4e-7, 1 + 4e-7, (shape[0], 1))
    ),
    "on a grid": lambda rng, shape: rng.integers(1, 4, shape).astype(float),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", SHAPES)
@given(seed=seeds, dimensions=st.one_of(st.integers(1, 8), st.integers(1, 1000)), double=st.booleans())
@thorough(12)
def test_no_stand_in_is_further_off_than_the_slack(
    metric: str, shape: str, seed: int, dimensions: int, double: bool
) -> None:
    rng = np.random.default_rng(seed)
    vectors = SHAPES[shape](rng, (24, dimensions)).astype(np.float64 if double else np.float32)
    check_slack(metric, vectors, vectors)
    check_slack(metric, vectors[:8], vectors[8:])
    scale = min(float(10.0 ** rng.uniform(-30, 30)), 3e38 / float(np.abs(vectors).max()))  # float32 ends at 3.4e38
    check_slack(metric, (vectors[:8] * scale).astype(vectors.dtype), vectors[8:])


@pytest.mark.parametrize("metric", METRICS)
@given(seed=seeds, power=st.integers(-149, 149))
@thorough(30)
def test_the_slack_holds_for_any_length(metric: str, seed: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(16, 5)) / 3
    check_slack(metric, vectors[:8] * 10.0**power, vectors[8:] * 10.0**power)


@given(seed=seeds, power=st.integers(0, 18), equal=st.booleans())
@thorough(60)
def test_the_slack_holds_for_queries_far_from_all_items(seed: int, power: int, equal: bool) -> None:
    rng = np.random.default_rng(seed)
    items = np.tile(rng.normal(size=8), (16, 1)) if equal else rng.normal(size=(16, 8))
    check_slack("l2", rng.normal(size=(8, 8)) * 10.0**power, items)


@pytest.mark.parametrize("metric", ["cosine", "ip"])
def test_the_slack_holds_for_the_shortest_of_float32(metric: str) -> None:
    vectors = (np.random.default_rng(0).normal(size=(24, 6)) * 1e-40).astype(np.float32)
    check_slack(metric, vectors[:8], vectors[8:])


class TestRefusals:
    @pytest.mark.parametrize("side", ["queries", "items"])
    def test_zero_has_no_direction(self, side: str) -> None:
        sides = {"queries": np.ones((3, 2)), "items": np.ones((3, 2))}
        sides[side] = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
        with pytest.raises(DataError, match="vector 1 is zero; expected vectors with a direction"):
            similarity_of("cosine", **sides)
        assert all_scores(similarity_of("ip", **sides)).shape == (3, 3)

    def test_a_misspelt_metric_suggests(self) -> None:
        with pytest.raises(UnknownName, match=r"unknown similarity 'cosin'. Did you mean cosine"):
            similarity_of("cosin", np.ones((1, 1)), np.ones((1, 1)))
        with pytest.raises(UnknownName, match="Known: cosine, cosine-zero, ip, l2"):
            similarity_of("?", np.ones((1, 1)), np.ones((1, 1)))

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("sides", [(1e160, 1.0), (1.0, 1e160), (np.nan, 1.0)])
    def test_too_long_to_be_squared(self, metric: str, sides: tuple[float, float]) -> None:
        with pytest.raises(DataError, match="too long to be squared"):
            similarity_of(metric, *(np.full((2, 3), side) for side in sides))

    def test_no_items_are_no_error(self) -> None:
        for metric in METRICS:
            assert similarity_of(metric, np.ones((2, 3)), np.empty((0, 3))).items.shape == (0, 3)


def test_no_distance_is_negative_zero() -> None:
    assert math.copysign(1.0, all_scores(similarity_of("l2", np.ones((1, 3)), np.ones((1, 3))))[0, 0]) == 1.0
