"""Holm and Benjamini-Hochberg: by hand, like statsmodels, and blind to tests that could not be made."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from statsmodels.stats.multitest import multipletests

from rankjury.stats.significance import benjamini_hochberg, holm
from tests.stats.support import thorough

Correction = Callable[[list[float | None]], list[float | None]]
BOTH = pytest.mark.parametrize(("correction", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
p_values = st.one_of(st.floats(1e-12, 1), st.sampled_from([0.0, 1e-9, 0.01, 0.05, 0.5, 1.0]))


def test_by_hand() -> None:
    given_p: list[float | None] = [0.01, 0.04, 0.03, 0.005]
    assert holm(given_p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benjamini_hochberg(given_p) == pytest.approx([0.02, 0.04, 0.04, 0.02])


@BOTH
@given(p=st.lists(p_values, min_size=1, max_size=30))
@thorough(25)
def test_like_statsmodels(correction: Correction, name: str, p: list[float | None]) -> None:
    """Few examples: statsmodels collects the garbage of the whole process in each call."""
    np.testing.assert_allclose(correction(p), multipletests(p, method=name)[1], rtol=1e-13, atol=0)


@BOTH
@given(p=st.lists(st.one_of(st.none(), p_values), max_size=20))
@thorough(100)
def test_a_test_that_could_not_be_made_does_not_count(correction: Correction, name: str, p: list[float | None]) -> None:
    found = correction(p)
    assert [one is None for one in found] == [one is None for one in p]
    assert [one for one in found if one is not None] == correction([one for one in p if one is not None])


@BOTH
@given(p=st.lists(p_values, min_size=1, max_size=20))
@thorough(100)
def test_adjusted_upwards_within_one_and_in_the_same_order(
    correction: Correction, name: str, p: list[float | None]
) -> None:
    adjusted = np.array(correction(p), dtype=float)
    assert (adjusted >= np.array(p, dtype=float) * (1 - 1e-15)).all() and (adjusted <= 1.0).all()
    assert (np.diff(adjusted[np.argsort(np.array(p, dtype=float))]) >= 0).all()


@BOTH
@given(p=st.lists(p_values, min_size=1, max_size=12), order=st.randoms(use_true_random=False))
@thorough(50)
def test_the_order_of_tests_is_of_no_account(
    correction: Correction, name: str, p: list[float], order: random.Random
) -> None:
    places = list(range(len(p)))
    order.shuffle(places)
    found = correction(list(p))
    assert correction([p[place] for place in places]) == [found[place] for place in places]


@BOTH
def test_one_test_needs_no_correction(correction: Correction, name: str) -> None:
    assert correction([0.03]) == [0.03]
    assert correction([None, 0.03, None]) == [None, 0.03, None]


@BOTH
def test_nothing_to_correct(correction: Correction, name: str) -> None:
    assert correction([]) == []
    assert correction([None, None]) == [None, None]


def test_false_findings_of_equal_p_values() -> None:
    """Equal ones stay equal: Holm takes the first factor for all, Benjamini-Hochberg the last."""
    assert holm([0.01] * 4) == [0.04] * 4
    assert benjamini_hochberg([0.01] * 4) == [0.01] * 4
