"""Ticks are round, even, within the ends and told apart."""

from datetime import UTC, datetime
from itertools import pairwise
from math import log10

import pytest
from hypothesis import given, strategies as st

from rankjury.reporting.charts.layout import even_ticks, format_ticks, linear_ticks, log_ticks, time_ticks

ENDS = st.tuples(st.floats(-1e6, 1e6, allow_nan=False), st.floats(1e-3, 1e6, allow_nan=False), st.integers(2, 12)).map(
    lambda one: (one[0], one[0] + one[1], one[2])
)


class TestLinear:
    @pytest.mark.parametrize(
        ("low", "high", "most", "expected"),
        [
            (0.0, 1.0, 6, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (0.0, 1.0, 5, [0.0, 0.5, 1.0]),
            (-0.34, 0.31, 8, [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
            (0.0, 0.3, 4, [0.0, 0.1, 0.2, 0.3]),
            (12.0, 1200.0, 7, [200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0]),
            (-0.36, 0.31, 2, [-0.2, 0.2]),
            (3.0, 3.0, 5, [3.0]),
        ],
    )
    def test_by_hand(self, low: float, high: float, most: int, expected: list[float]) -> None:
        assert linear_ticks(low, high, most) == expected

    @given(ENDS)
    def test_round_even_and_within(self, ends: tuple[float, float, int]) -> None:
        low, high, most = ends
        ticks = linear_ticks(low, high, most)
        assert 2 <= len(ticks) <= most
        assert all(low - 1e-6 * (high - low) <= tick <= high + 1e-6 * (high - low) for tick in ticks)
        if len(ticks) > 2:
            steps = [after - before for before, after in pairwise(ticks)]
            assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-4)
            digits = steps[0] / 10.0 ** round(log10(steps[0]) - 0.35)
            assert min(abs(digits - one) for one in (0.5, 1.0, 2.0, 5.0, 10.0)) < 1e-3

    @given(ENDS)
    def test_names_read_back_as_the_ticks(self, ends: tuple[float, float, int]) -> None:
        ticks = linear_ticks(*ends)
        names = format_ticks(ticks)
        assert len(set(names)) == len(names)
        read = [float(name.replace("−", "-").replace(",", "")) for name in names]
        assert read == pytest.approx(ticks, rel=1e-6, abs=1e-9 * (ends[1] - ends[0]))


class TestLog:
    @pytest.mark.parametrize(
        ("low", "high", "most", "expected"),
        [
            (0.8, 120.0, 8, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]),
            (0.8, 120.0, 5, [1.0, 3.0, 10.0, 30.0, 100.0]),
            (0.8, 120.0, 4, [1.0, 10.0, 100.0]),
            (0.001, 1000.0, 12, [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]),
        ],
    )
    def test_by_hand(self, low: float, high: float, most: int, expected: list[float]) -> None:
        assert log_ticks(low, high, most) == pytest.approx(expected)

    @given(st.floats(1e-6, 1e6), st.floats(1.05, 1e9), st.integers(3, 12))
    def test_within_and_ascending(self, low: float, ratio: float, most: int) -> None:
        ticks = log_ticks(low, low * ratio, most)
        assert 1 <= len(ticks) <= most and ticks == sorted(set(ticks))
        assert all(low * 0.999 <= tick <= low * ratio * 1.001 for tick in ticks)


@given(st.integers(1, 2_000), st.integers(2, 12))
def test_evenly_spaced_names_keep_both_ends(names: int, most: int) -> None:
    ticks = even_ticks(names, most)
    assert ticks[0] == 0 and ticks[-1] == names - 1
    assert len(ticks) <= most and ticks == sorted(set(ticks))
    inner = [after - before for before, after in pairwise(ticks[:-1])]
    assert len(set(inner)) <= 1, "but for the last, as far apart as each other"


class TestTime:
    def at(self, *given: int) -> float:
        return datetime(*given, tzinfo=UTC).timestamp()  # type: ignore[misc]

    def test_days(self) -> None:
        ticks = time_ticks(self.at(2026, 11, 1, 7), self.at(2026, 11, 5, 7), 5)
        assert [name for _, name in ticks] == ["2026-11-02", "2026-11-03", "2026-11-04", "2026-11-05"]
        assert [value for value, _ in ticks] == [self.at(2026, 11, day) for day in (2, 3, 4, 5)]

    def test_hours_of_one_day(self) -> None:
        ticks = time_ticks(self.at(2026, 11, 1, 7), self.at(2026, 11, 1, 10), 4)
        assert [name for _, name in ticks] == ["07:00", "08:00", "09:00", "10:00"]

    def test_months_and_years(self) -> None:
        months = time_ticks(self.at(2025, 11, 20), self.at(2026, 5, 2), 6)
        assert [name for _, name in months] == ["2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05"]
        years = time_ticks(self.at(1999, 3, 1), self.at(2026, 5, 2), 6)
        assert [name for _, name in years] == ["2000", "2005", "2010", "2015", "2020", "2025"]

    @given(st.floats(1, 3e9), st.floats(120, 3e9), st.integers(2, 10))
    def test_within_and_no_more_than_asked_for(self, low: float, wide: float, most: int) -> None:
        ticks = time_ticks(low, low + wide, most)
        assert len(ticks) <= most + 1
        assert all(low <= value <= low + wide for value, _ in ticks)
        assert len({name for _, name in ticks}) == len(ticks)


def test_how_numbers_are_written() -> None:
    assert format_ticks([-0.5, 0.0, 0.5]) == ["−0.5", "0.0", "0.5"]
    assert format_ticks([0.0, 20_000.0]) == ["0", "20,000"]
    assert format_ticks([-0.05, 0.1], shares=True) == ["−5 %", "10 %"]
    assert format_ticks([0.0, 1e12]) == ["0", "1e+12"]
