"""Number formatting: digits by the interval, signs, missing values."""

import math

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.stats.estimates import Estimate
from rankjury.stats.formatting import (
    format_difference,
    format_estimate,
    format_interval,
    format_p,
    format_percent,
    interval_decimals,
)
from rankjury.stats.resampling import Bounds

NAN = math.nan


@pytest.mark.parametrize(("share", "expected"), [(0.95, "95 %"), (0.999, "99.9 %"), (0.9, "90 %"), (0.07, "7 %")])
def test_percents(share: float, expected: str) -> None:
    assert format_percent(share) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        *((0.858654, "85.9 %"), (0.09999227, "10 %"), (0.200103, "20 %"), (1 / 3, "33.3 %")),
        *((0.9995, "99.95 %"), (0.9999876, "99.999 %"), (0.0000123, "0.001 %"), (0.0, "0 %"), (1.0, "100 %")),
        (-0.0512345, "−5.1 %"),
    ],
)
def test_percents_are_rounded_but_never_to_all_or_nothing(share: float, expected: str) -> None:
    """Hints read '85.8654 %', and ticks of a picture '9.999227 %'."""
    assert format_percent(share) == expected


def test_percents_with_as_many_decimals_as_are_asked_for() -> None:
    assert (format_percent(0.5, 1), format_percent(0.09999227, 0), format_percent(0.0512, 2, signed=True)) == (
        "50.0 %",
        "10 %",
        "+5.12 %",
    )


@pytest.mark.parametrize(
    ("ci", "expected"),
    [
        (None, 4),
        ((0.5, 0.5), 4),
        ((0.0, 1.0), 3),
        ((0.566, 0.657), 3),
        ((0.6, 0.62), 3),
        ((0.6, 0.609), 4),
        ((0.6, 0.6009), 5),
        ((0.6, 0.60009), 6),
        ((0.6, 0.6000009), 6),
        ((-30.0, 30.0), 0),
        ((-11.496, -9.964), 2),
        ((-1.5, 1.5), 3),
    ],
)
def test_decimals(ci: Bounds | None, expected: int) -> None:
    assert interval_decimals(ci) == expected


@given(half=st.floats(1e-5, 0.09))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_two_digits_of_the_half_width_are_shown(half: float) -> None:
    shown = round(half, interval_decimals((0.5 - half, 0.5 + half)))
    assert abs(shown - half) <= 0.0501 * half


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [
        (Estimate(0.6119, 50, 0, ci=(0.5662, 0.6571)), "0.612 [0.566, 0.657]"),
        (Estimate(0.61194, 50, 0, ci=(0.6079, 0.6161)), "0.6119 [0.6079, 0.6161]"),
        (Estimate(0.5, 1, 3), "0.5000"),
        (Estimate(1.0, 5, 0, ci=(1.0, 1.0)), "1.0000 [1.0000, 1.0000]"),
        (Estimate(NAN, 0, 3), "–"),
        (Estimate(3.0, 4115, 0, total=12345.0, ci=(2.0, 4.0)), "Σ 12,345"),
    ],
)
def test_estimates(estimate: Estimate, expected: str) -> None:
    assert format_estimate(estimate) == expected


@pytest.mark.parametrize(
    ("difference", "ci", "expected"),
    [
        (0.0432, (0.0191, 0.0684), "+0.043 [+0.019, +0.068]"),
        (-0.0141, (-0.0221, -0.0061), "−0.0141 [−0.0221, −0.0061]"),
        (-0.01, (-0.06, 0.04), "−0.010 [−0.060, +0.040]"),
        (0.25, None, "+0.2500"),
        (0.0, None, "0.0000"),
        (-0.0, None, "0.0000"),
        (-0.00001, (-0.06, 0.06), "0.000 [−0.060, +0.060]"),
        (0.0, (0.0, 0.0), "0.0000 [0.0000, 0.0000]"),
        (NAN, None, "–"),
    ],
)
def test_differences(difference: float, ci: Bounds | None, expected: str) -> None:
    assert format_difference(difference, ci) == expected


def test_bounds() -> None:
    assert format_interval((0.1, 0.3)) == "[0.100, 0.300]"
    assert format_interval((-0.1, 0.3), signed=True) == "[−0.100, +0.300]"


@pytest.mark.parametrize(
    ("p", "expected"),
    [(None, "–"), (0.0, "<0.001"), (0.00099, "<0.001"), (0.001, "0.001"), (0.04949, "0.049"), (1.0, "1.000")],
)
def test_p_values(p: float | None, expected: str) -> None:
    assert format_p(p) == expected


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        *((3 / 10_001, "<0.0003"), (1 / 10_001, "<0.0001"), (1 / 1001, "<0.001"), (12 / 1001, "<0.012")),
        *((0.9999, "<1"), (1.0, "1.000"), (None, "–")),
    ],
)
def test_a_p_value_at_the_floor_of_the_resamples_is_a_bound(p: float | None, expected: str) -> None:
    assert format_p(p, at_floor=True) == expected
