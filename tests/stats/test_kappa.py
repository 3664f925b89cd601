"""Cohen's κ: by hand, like scikit-learn, and its interval."""

import warnings
from math import isnan
from typing import get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from rankjury.errors import UnknownName
from rankjury.labeling.products.human import Weighting, cohen_kappa, confusion_counts, kappa_from_counts
from rankjury.stats.resampling import Resampling, query_keys
from tests.stats.support import thorough

WEIGHTINGS = get_args(Weighting)
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60)


def test_by_hand() -> None:
    """Cohen's formula: observed 0.7; expected 0.5 · 0.6 + 0.5 · 0.4 = 0.5; κ = 0.2 ÷ 0.5."""
    table = np.array([[20, 5], [10, 15]])
    assert float(kappa_from_counts(table)) == pytest.approx(0.4)


def test_weights_by_hand() -> None:
    """One pair of four is two grades apart: observed 4 ÷ 4; expected over all 16 pairs of margins."""
    first, second = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2])
    expected = sum((i - j) ** 2 for i in first for j in second) / 16
    assert cohen_kappa(first, second, grades=3, weighting="quadratic").value == pytest.approx(1 - 1 / expected)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@given(graded=pairs)
@thorough(60)
def test_like_scikit_learn(weighting: Weighting, graded: list[tuple[int, int]]) -> None:
    first, second = np.array(graded).T
    found = cohen_kappa(first, second, grades=4, weighting=weighting).value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the undefined
        expected = cohen_kappa_score(
            first, second, labels=[0, 1, 2, 3], weights=None if weighting == "none" else weighting
        )
    assert found == pytest.approx(expected, nan_ok=True, abs=1e-12)
    np.testing.assert_array_equal(
        confusion_counts(first, second, 4), confusion_matrix(first, second, labels=[0, 1, 2, 3])
    )


def test_undefined_where_there_is_but_one_grade() -> None:
    ones = np.ones(5, dtype=np.int64)
    assert isnan(cohen_kappa(ones, ones, grades=4).value)
    assert cohen_kappa(ones, ones, grades=4).to_json() == {"value": None, "ci": None, "weighting": "none"}
    assert isnan(float(kappa_from_counts(np.zeros((4, 4)))))
    assert cohen_kappa(ones, np.array([1, 1, 1, 1, 2]), grades=4).value == 0.0


def test_unknown_weighting() -> None:
    with pytest.raises(UnknownName, match="quadratic"):
        kappa_from_counts(np.eye(4), "quadratisch")  # type: ignore[arg-type]


def sample(seed: int, queries: int, each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grades of which six in ten are the same, else drawn."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 4, queries * each)
    drawn = generator.integers(0, 4, first.size)
    second = np.where(generator.random(first.size) < 0.6, first, drawn)
    return first, second, np.repeat(np.arange(queries), each)


def test_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """The true κ is 0.6: what is not copied agrees by chance alone."""
    held = 0
    for seed in range(100):
        first, second, group = sample(seed, 60, 2)
        keys = query_keys(pl.Series([f"{seed}-{n}" for n in range(60)]), 0)
        options = Resampling(resamples=400)
        found = cohen_kappa(first, second, grades=4, group=group, keys=keys, resampling=options)
        assert found.ci is not None
        held += found.ci[0] <= 0.6 <= found.ci[1]
    assert 87 <= held <= 100


def test_interval_goes_by_groups_and_not_by_their_order() -> None:
    first, second, group = sample(3, 40, 3)
    keys = query_keys(pl.Series([f"q{n}" for n in range(40)]), 0)
    found = cohen_kappa(first, second, grades=4, group=group, keys=keys)
    order = np.random.default_rng(0).permutation(first.size)
    again = cohen_kappa(first[order], second[order], grades=4, group=group[order], keys=keys)
    assert found == again and found.ci is not None and found.ci[0] < found.value < found.ci[1]
    copied = np.tile(np.arange(first.size), 10)
    wide = cohen_kappa(first[copied], second[copied], grades=4, group=group[copied], keys=keys)
    assert wide.ci == pytest.approx(found.ci)  # ten copies within a group tell nothing new


def test_no_interval_without_enough_to_resample() -> None:
    first, second, group = sample(1, 1, 10)
    one = query_keys(pl.Series(["q"]), 0)
    assert cohen_kappa(first, second, grades=4, group=group, keys=one).ci is None
    assert cohen_kappa(first, second, grades=4).ci is None
    two = query_keys(pl.Series(["q", "r"]), 0)
    few = cohen_kappa(np.array([0, 1]), np.array([0, 1]), grades=4, group=np.array([0, 1]), keys=two)
    assert few.value == 1.0 and few.ci is None
