"""Steps of a series: against every partition there is, on series whose steps are known, and on noise alone."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rankjury.tracking.archive.history import cut_penalty, find_steps, noise_level, optimal_cuts

numbers = st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=9)


def cost_of(values: np.ndarray, starts: tuple[int, ...], noise: float, price: float) -> float:
    """Of one partition, as its definition says."""
    edges = [0, *starts, len(values)]
    parts = [values[first:last] for first, last in pairwise(edges)]
    return sum(float(((part - part.mean()) ** 2).sum()) for part in parts) / noise**2 + price * len(starts)


@given(numbers, st.floats(0.1, 5), st.floats(0.5, 20))
def test_no_partition_is_cheaper(given_values: list[float], noise: float, price: float) -> None:
    values = np.array(given_values)
    found = cost_of(values, tuple(optimal_cuts(values, noise, price)), noise, price)
    places = range(1, len(values))
    every = (starts for size in range(len(values)) for starts in combinations(places, size))
    assert found == pytest.approx(min(cost_of(values, starts, noise, price) for starts in every), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("size", [3, 4, 5, 10, 40])
@pytest.mark.parametrize("change", [1e-6, 0.001, 0.2])
def test_one_change_of_a_series_without_noise_is_one_step(size: int, change: float) -> None:
    for start in range(1, size) if size > 3 else [2]:
        values = np.where(np.arange(size) < start, 0.6123456789, 0.6123456789 + change)
        (step,) = find_steps(values)
        assert step.index == start
        assert (step.before, step.difference) == pytest.approx((0.6123456789, change), rel=1e-6)


def test_every_change_of_a_series_without_noise_is_a_step() -> None:
    values = np.repeat([0.5, 0.52, 0.519, 0.7], 5)
    assert [step.index for step in find_steps(values)] == [5, 10, 15]


def test_rounding_is_no_step() -> None:
    generator = np.random.default_rng(5)
    for size in (3, 10, 200):
        noise = generator.choice([-1.0, 0.0, 1.0], size) * 1e-9
        shifted = np.where(np.arange(size) < size // 2, 0.0, 1e-9)
        assert find_steps(0.7 * (1 + noise)) == find_steps(0.7 * (1 + shifted)) == ()


@pytest.mark.parametrize("size", [5, 12, 20, 60])
def test_noise_alone_seldom_shows_a_step(size: int) -> None:
    generator = np.random.default_rng(size)
    series = generator.normal(0.6, 0.01, (400, size))
    alarms = np.mean([bool(find_steps(values)) for values in series])
    assert alarms <= 0.09


def test_a_step_of_several_standard_deviations_is_found_in_noise() -> None:
    generator = np.random.default_rng(7)
    series = generator.normal(0.6, 0.01, (200, 20)) + np.where(np.arange(20) < 12, 0.0, 0.05)
    found = [[step.index for step in find_steps(values)] for values in series]
    assert np.mean([places == [12] for places in found]) >= 0.85


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=30), st.integers(0, 5))
def test_gaps_are_passed_over(given_values: list[float], gap: int) -> None:
    values = np.array(given_values)
    spread = np.full(len(values) * (gap + 1), np.nan)
    spread[:: gap + 1] = values
    whole, with_gaps = find_steps(values), find_steps(spread)
    assert [step.index * (gap + 1) for step in whole] == [step.index for step in with_gaps]
    assert [step.after for step in whole] == [step.after for step in with_gaps]


@given(st.lists(st.floats(0, 1, width=32), min_size=2, max_size=20))
def test_backwards_the_same_levels(given_values: list[float]) -> None:
    """Cuts may fall otherwise where two partitions cost the same; their number may not."""
    values = np.array(given_values)
    noise, price = noise_level(values), cut_penalty(len(values))
    if noise:
        costs = [cost_of(one, tuple(optimal_cuts(one, noise, price)), noise, price) for one in (values, values[::-1])]
        assert costs[0] == pytest.approx(costs[1], rel=1e-6, abs=1e-6)


def test_errors_tell_whether_other_queries_would_show_it() -> None:
    values = np.array([0.5, 0.5, 0.5, 0.6, 0.6, 0.6])
    (surely,) = find_steps(values, np.full(6, 0.01))
    assert surely.z == pytest.approx(0.1 / (0.01 * 2**0.5)) and surely.beyond is True
    (hardly,) = find_steps(values, np.full(6, 0.1))
    assert hardly.beyond is False
    (unknown,) = find_steps(values, np.full(6, np.nan))
    assert unknown.z is None and unknown.beyond is None
    assert find_steps(values)[0].beyond is None


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.6], [np.nan, np.nan], [0.0, 0.0, 0.0]])
def test_too_little_to_tell(values: list[float]) -> None:
    assert find_steps(np.array(values, dtype=np.float64)) == ()
