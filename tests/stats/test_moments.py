"""Sums that are exact before they are rounded, however many values there are."""

from math import fsum

import numpy as np
import pytest

from rankjury.stats.sums import exact_total, mean_and_std, means_and_stds


def columns(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "shares": rng.integers(0, 5, n) / rng.integers(1, 7, n),
        "uniform": rng.random(n),
        "wide": rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n),
        "wider": rng.standard_normal(n) * 10.0 ** rng.integers(-60, 60, n),
        "zeros": np.zeros(n),
        "equal": np.full(n, 0.1),
        "tiny": rng.random(n) * 1e-310,
        "huge": rng.standard_normal(n) * 1e300,
        "cancelling": np.concatenate([rng.random(n // 2), np.zeros(n % 2), -rng.random(n // 2)]),
    }


@pytest.mark.parametrize("n", [0, 1, 2, 511, 512, 513, 8192, 8193, 30_000])
def test_the_sum_is_fsum_s(n: int) -> None:
    for name, values in columns(n, np.random.default_rng(n)).items():
        assert exact_total(values) == fsum(values.tolist()), name


@pytest.mark.parametrize("n", [2, 600, 20_000])
def test_no_digit_depends_on_the_order(n: int) -> None:
    rng = np.random.default_rng(n)
    for name, values in columns(n, rng).items():
        turned = rng.permutation(values)
        assert mean_and_std(values) == mean_and_std(turned), name
        if name not in ("tiny", "huge"):
            assert mean_and_std(values) == pytest.approx((values.mean(), values.std(ddof=1)), rel=1e-9, abs=1e-15), name


@pytest.mark.parametrize("n", [1, 2, 600, 20_000])
def test_a_sum_that_is_known_changes_nothing(n: int) -> None:
    for name, values in columns(n, np.random.default_rng(n)).items():
        known, unknown = mean_and_std(values, exact_total(values)), mean_and_std(values)
        assert str(known) == str(unknown), name


@pytest.mark.parametrize("n", [0, 1, 2, 3, 600, 2_048, 9_000])
def test_columns_at_once_are_as_one_by_one(n: int) -> None:
    rng = np.random.default_rng(n)
    table = np.column_stack(list(columns(n, rng).values())) if n else np.empty((0, 9))
    some = np.where(rng.random(table.shape) < 0.3, np.nan, table)
    none = np.full((n, 1), np.nan)
    for given in (table, np.hstack([some, none])):
        totals, means, stds, numbers = means_and_stds(given)
        for place, column in enumerate(given.T):
            known = column[~np.isnan(column)]
            mean = exact_total(known) / known.size if known.size else float("nan")
            expected = [exact_total(known), mean, mean_and_std(known, exact_total(known))[1], known.size]
            found = [totals[place], means[place], stds[place], numbers[place]]
            assert np.array_equal(np.array(found, dtype=float), np.array(expected), equal_nan=True), place
