"""Scores of single queries have four digits, or as many as the page needs to show the exact scores and differences."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from math import floor, isfinite, log10

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from rankjury.reporting.html.rounding import round_for_display, round_list, round_significant, scale_scores

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


PRECISE = Context(prec=800)
SCORES = st.one_of(
    st.floats(0, 1),
    st.builds(lambda whole, places: whole / 10**places, st.integers(0, 10**6), st.integers(0, 6)),
    st.builds(lambda found, k: found / k, st.integers(0, 64), st.integers(1, 64)),
    st.floats(-2000, 2000),
    st.floats(0, 1e-3),
)


def page_text(value: float) -> str:
    """What ``number`` in page.js makes of a number; a test in tests/browser compares the two."""
    size = abs(value)
    if value == floor(value) or size >= 1000:
        return f"{value:.0f}"
    if 1e-6 <= size < 0.0005:
        return f"{value:.{2 - floor(log10(size))}f}"
    return f"{value:.{1 if size >= 100 else 3}f}"


def is_correctly_rounded(text: str, exact: float) -> bool:
    """Tell whether a text is the decimal with its number of digits that is nearest to a number, halves to even."""
    shown = Decimal(text)
    exponent = Decimal((0, (1,), shown.as_tuple().exponent))  # type: ignore[arg-type]
    return shown == Decimal(exact).quantize(exponent, ROUND_HALF_EVEN, PRECISE)


@given(st.lists(st.tuples(SCORES, SCORES, SCORES), min_size=1, max_size=20))
@example([(0.71048, 0.7105, 0.0625)])
@example([(0.43651, 0.40002, 0.1)])
def test_scores_and_differences_are_shown_as_if_they_were_exact(queries: list[tuple[float, float, float]]) -> None:
    exact = np.array(queries).T
    rounded = round_for_display(exact, [-1, 0, 0])
    for ours, theirs in zip(rounded.T.tolist(), exact.T.tolist(), strict=True):
        for system, (score, value) in enumerate(zip(ours, theirs, strict=True)):
            assert is_correctly_rounded(page_text(score), value)
            difference = value - theirs[0]
            if system and abs(difference) >= 0.0005:
                assert is_correctly_rounded(page_text(score - ours[0]), difference)
            elif system:
                assert abs(score - ours[0]) < 0.0005


def test_a_score_near_a_half_keeps_a_fifth_digit() -> None:
    assert round_for_display(np.array([[0.71048, 0.71042, np.nan, np.inf]]), [-1])[0, :2].tolist() == [0.71048, 0.7104]


def test_what_is_shown_of_a_query_does_not_depend_on_the_others() -> None:
    scores = np.random.default_rng(1).random((3, 500))
    whole = round_for_display(scores, [-1, 0, 0])
    one_by_one = [round_for_display(scores[:, row : row + 1], [-1, 0, 0])[:, 0] for row in range(500)]
    assert np.array_equal(whole, np.column_stack(one_by_one))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308, -1e308, 5e-324, 1e-17, 0.0, 999.95, 999999.5])
def test_any_score_can_be_rounded(value: float) -> None:
    (found,) = round_for_display(np.array([[value, 0.5], [-value, 0.25]]), [-1, 0])[0, :1].tolist()
    assert not isfinite(found) if not isfinite(value) else is_correctly_rounded(page_text(found), value)


@given(st.lists(SCORES, min_size=1, max_size=10))
@example([2.5241, 2.4348])
@example([10001.0, 12345.678])
def test_scores_of_a_list_are_correctly_rounded_to_the_digits_that_are_kept(scores: list[float]) -> None:
    (decimals,), _ = scale_scores(np.array(scores), np.array([0, len(scores)]))
    for found, exact in zip(round_list(scores), scores, strict=True):
        assert found is not None and is_correctly_rounded(f"{found:.{max(decimals, 0)}f}", exact)
    assert round_list([2.5241, 2.4348]) == [2.524, 2.435]
