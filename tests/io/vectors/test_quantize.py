"""Variants of vectors against plain loops: the cut, the codes, what they stand for, and what cannot be."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from rankjury.core.types import Matrix, Vectors
from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.io.vectors.quantize import DTYPES, are_units, decode, encode, normalised, vary

ROWS = [[3.0, 4.0, 0.0], [0.0, -1.0, 1.0], [0.5, 0.5, -0.5]]


def made(values: Matrix) -> Vectors:
    return Vectors(pl.Series("id", [f"d{row}" for row in range(len(values))]), values, "corpus.npz")


def units(count: int = 50, dimensions: int = 12) -> Matrix:
    drawn = np.random.default_rng(3).normal(size=(count, dimensions))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


FINITE = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-8, 8, width=16))


def test_the_first_dimensions_are_kept_as_they_are() -> None:
    found = vary(made(np.array(ROWS)), truncate=2)
    assert found.values.tolist() == [row[:2] for row in ROWS]
    assert found.values.dtype == np.float64 and found.values.flags.c_contiguous
    assert found.source == "corpus.npz (first 2)" and found.ids.to_list() == ["d0", "d1", "d2"]


def test_rows_of_length_one_are_brought_back_to_it_after_the_cut() -> None:
    given_rows = units()
    found = vary(made(given_rows), truncate=5).values
    for row, cut in zip(given_rows.astype(float).tolist(), found.tolist(), strict=True):
        length = math.sqrt(sum(number * number for number in row[:5]))
        assert cut == pytest.approx([number / length for number in row[:5]], abs=1e-6)
    assert found.dtype == np.float32


def test_one_row_of_another_length_leaves_all_as_they_are() -> None:
    values = units()
    values[7] *= 1.01
    assert vary(made(values), truncate=5).values.tolist() == values[:, :5].tolist()


def test_rows_of_zeros_stay_and_do_not_count() -> None:
    values = units()
    values[3], values[4] = 0.0, np.eye(12)[11]
    found = vary(made(values), truncate=5).values
    assert not found[[3, 4]].any()
    assert np.linalg.norm(found[5]) == pytest.approx(1.0, abs=1e-6)
    assert not are_units(np.zeros((2, 3))) and are_units(values)


def test_a_cut_of_all_dimensions_changes_no_digit() -> None:
    values = units()
    assert vary(made(values), truncate=12).values.tolist() == values.tolist()
    assert vary(made(values)).source == "corpus.npz"


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_given_vectors_are_never_changed(dtype: str) -> None:
    values = units()
    before = values.copy()
    vectors = made(values)
    found = vary(vectors, truncate=7, dtype=dtype)
    assert vectors.values.tobytes() == before.tobytes() and vectors.source == "corpus.npz"
    assert found.source == f"corpus.npz (first 7, {dtype})" and found.dimensions == 7


def test_int8_is_255_steps_of_one_scale() -> None:
    found = vary(made(np.array(ROWS)), dtype="int8").values
    step = 4.0 / 127
    expected = [[round(number / step) * step for number in row] for row in ROWS]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@given(FINITE)
def test_an_int8_code_times_the_scale_is_exact_and_near(values: Matrix) -> None:
    codes = encode(values, "int8")
    assert codes.scale is not None and codes.array.dtype == np.int8
    found = decode(codes)
    assert (found.astype(np.float64) == codes.array.astype(np.float64) * codes.scale).all()
    assert np.abs(found - values.astype(np.float64)).max() <= codes.scale / 2 * (1 + 1e-6)
    if values.any():
        assert np.abs(codes.array.astype(int)).max() == 127


@given(FINITE, st.sampled_from(DTYPES))
def test_codes_of_a_variant_are_its_own(values: Matrix, dtype: str) -> None:
    once = decode(encode(values, dtype))
    twice = encode(once, dtype)
    assert decode(twice).tobytes() == once.tobytes()
    assert twice.array.tobytes() == encode(values, dtype).array.tobytes()


@given(FINITE)
def test_binary_is_the_sign_and_zero_is_positive(values: Matrix) -> None:
    expected = [[1.0 if number >= 0 else -1.0 for number in row] for row in values.tolist()]
    codes = encode(values, "binary")
    assert vary(made(values), dtype="binary").values.tolist() == expected
    assert codes.array.shape == (len(values), math.ceil(values.shape[1] / 8)) and codes.array.dtype == np.uint8


def test_float16_rounds_and_floats_change_their_width() -> None:
    values = np.array([[0.1, 1.0 + 2**-12]])
    assert vary(made(values), dtype="float16").values.tolist() == [[float(np.float16(0.1)), 1.0]]
    for dtype in ("float64", "float32", "float16"):
        assert vary(made(values), dtype=dtype).values.dtype == dtype


def test_the_numbering_of_vectors_without_ids_is_kept() -> None:
    numbered = Vectors(pl.Series("id", ["0", "1", "2"]), np.array(ROWS), "a.npy", numbered=True)
    assert vary(numbered, truncate=1).numbered


def test_normalised_rows_keep_their_width() -> None:
    found = normalised(np.array([[3.0, 4.0], [0.0, 0.0]], np.float16))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]], atol=1e-3)


@pytest.mark.parametrize("truncate", [0, -1, 4])
def test_a_cut_that_cannot_be(truncate: int) -> None:
    with pytest.raises(UsageError, match="from 1 to 3"):
        vary(made(np.array(ROWS)), truncate=truncate)


def test_a_dtype_that_is_none() -> None:
    for function in (lambda: vary(made(np.array(ROWS)), dtype="int16"), lambda: encode(np.array(ROWS), "int16")):
        with pytest.raises(UnknownName, match="int8"):
            function()


@pytest.mark.parametrize(
    ("largest", "dtype"), [(1e5, "float16"), (1e39, "float32"), (1e39, "int8"), (1e-40, "int8"), (-1e5, "float16")]
)
def test_numbers_that_a_dtype_cannot_hold(largest: float, dtype: str) -> None:
    with pytest.raises(DataError, match=r"corpus\.npz: .*1e"):
        vary(made(np.array([[largest, 0.0]])), dtype=dtype)
