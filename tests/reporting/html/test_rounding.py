"""Figures of single queries have four digits, those that Python's round gives."""

from math import floor, isfinite, log10

import numpy as np
from hypothesis import given, strategies as st

from rankjury.reporting.html.query_data import round_significant

NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=64)
DECIMALS = st.builds(lambda whole, places: whole / 10**places, st.integers(-(10**7), 10**7), st.integers(0, 9))


def one_by_one(values: list[float]) -> list[float | None]:
    found: list[float | None] = []
    for value in values:
        power = floor(log10(abs(value))) if value and isfinite(value) else 0
        found.append(round(value, min(max(3 - power, 0), 17)) if isfinite(value) else None)
    return found


def ours(values: list[float]) -> list[float | None]:
    return [None if value != value else value for value in round_significant(np.array(values)).tolist()]


@given(st.lists(st.one_of(NUMBERS, DECIMALS), min_size=1, max_size=50))
def test_as_python_rounds_them(values: list[float]) -> None:
    assert ours(values) == one_by_one(values)


def test_halves_go_as_in_python() -> None:
    halves = [whole / 10**places + 5 / 10 ** (places + 1) for whole in range(1000, 2000) for places in range(3, 8)]
    assert ours(halves) == one_by_one(halves)


def test_a_few_by_hand() -> None:
    assert ours([0.123456, 1234.56, 12.3456, -0.00012345678, 0.0, 1.0]) == [0.1235, 1235, 12.35, -0.0001235, 0, 1]


def test_tables_keep_their_shape() -> None:
    values = np.array([[0.123456, np.nan], [np.inf, 2.0]])
    found = round_significant(values)
    assert found.shape == (2, 2) and found[0, 0] == 0.1235 and np.isnan(found[0, 1]) and np.isnan(found[1, 0])
