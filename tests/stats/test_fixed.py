"""Fixed point: near enough to the values, exact in its sums, and alike for columns of one scale."""

from math import frexp

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from rankjury.core.types import Floats
from rankjury.stats.sums import LARGEST_BLOCK, exact_sum, to_fixed
from tests.stats.support import NAN, thorough

columns = arrays(np.float64, st.integers(0, 20), elements=st.floats(-1e300, 1e300, allow_subnormal=False))

LARGEST_WEIGHT = 5


def test_by_hand() -> None:
    """The largest is 3 < 2^2, so that a step is 2^-34."""
    (fixed,) = to_fixed(np.array([3.0, 0.5, -1.0, NAN, 2.0**-35, 2.0**-34 * 0.75]))
    assert fixed.unit == 2.0**-34
    assert fixed.whole.tolist() == [3.0 * 2**34, 2.0**33, -(2.0**34), 0.0, 0.0, 1.0]


@given(column=columns)
@thorough(100)
def test_values_are_held_to_half_a_step_in_36_bits(column: Floats) -> None:
    (fixed,) = to_fixed(column)
    assert frexp(fixed.unit)[0] == 0.5, "the step is a power of two"
    assert (fixed.whole == np.rint(fixed.whole)).all()
    assert (np.abs(fixed.whole) <= 2**36).all()
    assert (np.abs(fixed.whole * fixed.unit - column) <= fixed.unit / 2).all()
    if column.any():
        assert np.abs(fixed.whole).max() >= 2**35, "bits are wasted"


@given(column=columns, other=columns)
@thorough(100)
def test_columns_given_together_share_the_scale_of_the_largest(column: Floats, other: Floats) -> None:
    one, two = to_fixed(column, other)
    (both,) = to_fixed(np.concatenate((column, other)))
    assert one.unit == two.unit == both.unit
    np.testing.assert_array_equal(np.concatenate((one.whole, two.whole)), both.whole)


@given(
    column=arrays(np.float64, st.integers(0, 20), elements=st.integers(-(2**60), 2**60).map(float)),
    power=st.integers(-900, 900),
)
@thorough(100)
def test_a_scale_of_a_power_of_two_changes_the_unit_alone(column: Floats, power: int) -> None:
    (one,), (two,) = to_fixed(column), to_fixed(column * 2.0**power)
    np.testing.assert_array_equal(one.whole, two.whole)
    if column.any():
        assert two.unit == one.unit * 2.0**power


@pytest.mark.parametrize("column", [[], [0.0, 0.0], [NAN, NAN], [NAN, 0.0]])
def test_nothing_to_scale_by(column: list[float]) -> None:
    (fixed,) = to_fixed(np.array(column, dtype=float))
    assert fixed.whole.tolist() == [0.0] * len(column)
    assert fixed.unit > 0


@pytest.mark.parametrize("value", [1e300, 1.7e308, 1e-300, 1e-310, 5e-324])
def test_the_ends_of_what_a_float_holds(value: float) -> None:
    (fixed,) = to_fixed(np.array([value, -value, 0.0]))
    assert fixed.unit > 0
    assert (fixed.whole * fixed.unit).tolist() == pytest.approx([value, -value, 0.0], rel=2.0**-36, abs=0)


@given(column=columns)
@thorough(100)
def test_sums_are_exact(column: Floats) -> None:
    (fixed,) = to_fixed(column)
    assert exact_sum(fixed.whole) == sum(int(value) for value in fixed.whole)


def test_the_largest_sum_of_a_block_is_exact_as_a_float() -> None:
    largest = int(to_fixed(np.array([1.0 - 2.0**-53]))[0].whole[0])
    assert largest * LARGEST_WEIGHT * LARGEST_BLOCK <= 2**53
    heaviest = np.full(LARGEST_BLOCK, float(largest)) - np.arange(LARGEST_BLOCK) % 7
    weights = np.full(LARGEST_BLOCK, float(LARGEST_WEIGHT))
    assert int(heaviest @ weights) == sum(int(value) for value in heaviest) * LARGEST_WEIGHT
