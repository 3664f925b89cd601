"""Figures as people read them: no more digits than the interval deserves, signs, and nothing for nothing."""

import math

import pytest
from hypothesis import given, settings, strategies as st

from rankjury.core.formatting import (
    aligned,
    bounds_shown,
    count,
    decimals_of,
    difference_shown,
    estimate_shown,
    named,
    p_shown,
    percent,
)
from rankjury.evaluation.sections import ReportWarning, merge_warnings, with_unit
from rankjury.stats.estimates import Estimate
from rankjury.stats.resampling import Bounds

NAN = math.nan


@pytest.mark.parametrize(
    ("n", "expected"), [(0, "0 queries"), (1, "1 query"), (2, "2 queries"), (12345, "12,345 queries")]
)
def test_counts(n: int, expected: str) -> None:
    assert count(n, "query", "queries") == expected


@pytest.mark.parametrize(("share", "expected"), [(0.95, "95 %"), (0.999, "99.9 %"), (0.9, "90 %"), (0.07, "7 %")])
def test_percents(share: float, expected: str) -> None:
    assert percent(share) == expected


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
    assert percent(share) == expected


def test_percents_with_as_many_decimals_as_are_asked_for() -> None:
    assert (percent(0.5, 1), percent(0.09999227, 0), percent(0.0512, 2, signed=True)) == ("50.0 %", "10 %", "+5.12 %")


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
    assert decimals_of(ci) == expected


@given(half=st.floats(1e-5, 0.09))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_two_digits_of_the_half_width_are_shown(half: float) -> None:
    shown = round(half, decimals_of((0.5 - half, 0.5 + half)))
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
    assert estimate_shown(estimate) == expected


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
    assert difference_shown(difference, ci) == expected


def test_bounds() -> None:
    assert bounds_shown((0.1, 0.3)) == "[0.100, 0.300]"
    assert bounds_shown((-0.1, 0.3), signed=True) == "[−0.100, +0.300]"


@pytest.mark.parametrize(
    ("p", "expected"),
    [(None, "–"), (0.0, "<0.001"), (0.00099, "<0.001"), (0.001, "0.001"), (0.04949, "0.049"), (1.0, "1.000")],
)
def test_p_values(p: float | None, expected: str) -> None:
    assert p_shown(p) == expected


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        *((3 / 10_001, "<0.0003"), (1 / 10_001, "<0.0001"), (1 / 1001, "<0.001"), (12 / 1001, "<0.012")),
        *((0.9999, "<1"), (1.0, "1.000"), (None, "–")),
    ],
)
def test_a_p_value_at_the_floor_of_the_resamples_is_a_bound(p: float | None, expected: str) -> None:
    assert p_shown(p, at_floor=True) == expected


def test_lines_of_a_table() -> None:
    rows = [("measure", "mean"), ("ap", "0.5"), ("ndcg@10", "")]
    assert aligned(rows) == ["measure  mean", "ap        0.5", "ndcg@10"]
    assert aligned([("a", "b", "c"), ("aa", "bb", "cc")], left=2) == ["a   b    c", "aa  bb  cc"]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(3, "a, b, c"), (2, "a, b …"), (0, " …"), (9, "a, b, c")],
    ids=["all", "some", "none", "more"],
)
def test_some_of_many_are_named(most: int, expected: str) -> None:
    assert named(iter("abc"), most) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 {queries} have nothing", "5 users have nothing"),
        ("1 {query} at 5, 2 {queries} at 10", "1 user at 5, 2 users at 10"),
        ("queried, subquery, query_id, queries.csv", "queried, subquery, query_id, queries.csv"),
    ],
)
def test_where_queries_are_users(text: str, expected: str) -> None:
    (found,) = with_unit([ReportWarning(text, "x", "a-code", 5)], ("user", "users"))
    assert found == ReportWarning(expected, "x", "a-code", 5)
    assert str(ReportWarning(text)) == expected.replace("users", "queries").replace("user", "query")


def told_once(lines: list[str], systems: list[str]) -> list[str]:
    """Merge warnings that are given as lines: ``a: 5 ties`` is about a, where a is a system."""
    parts = [line.partition(": ") for line in lines]
    found = [
        ReportWarning(text, name) if colon and name in systems else ReportWarning(line)
        for line, (name, colon, text) in zip(lines, parts, strict=True)
    ]
    return merge_warnings(found, systems)


class TestToldOnce:
    """What is said of three systems or more is said once."""

    def test_of_all(self) -> None:
        warnings = ["a: 5 ties", "b: 5 ties", "c: 5 ties"]
        assert told_once(warnings, ["a", "b", "c"]) == ["all systems: 5 ties"]

    def test_of_some_they_are_named_in_their_order(self) -> None:
        warnings = ["c: 5 ties", "a: 5 ties", "d: 5 ties"]
        assert told_once(warnings, ["a", "b", "c", "d"]) == ["c, a, d: 5 ties"]

    @pytest.mark.parametrize("systems", [["a", "b"], ["a", "b", "c"]])
    def test_two_keep_a_line_each(self, systems: list[str]) -> None:
        assert told_once(["a: 5 ties", "b: 5 ties"], systems) == ["a: 5 ties", "b: 5 ties"]

    def test_other_texts_are_left_as_they_are(self) -> None:
        warnings = ["a: 5 ties", "a: 6 ties", "b: 7 ties", "test: 30 users", "nothing: at all: said", "no colon"]
        assert told_once(warnings, ["a", "b", "c"]) == warnings

    def test_it_is_told_where_the_first_stood(self) -> None:
        warnings = ["of the gold", "a: x", "b: y", "b: x", "of the end", "c: x"]
        assert told_once(warnings, ["a", "b", "c", "d"]) == ["of the gold", "a, b, c: x", "b: y", "of the end"]

    def test_a_text_with_a_colon_stays_whole(self) -> None:
        warnings = [f"{name}: ids: 1, 2: unknown" for name in "abc"]
        assert told_once(warnings, ["a", "b", "c", "d"]) == ["a, b, c: ids: 1, 2: unknown"]

    def test_who_is_no_system_is_not_counted(self) -> None:
        warnings = ["a: x", "b: x", "test: x", "x"]
        assert told_once(warnings, ["a", "b", "c"]) == warnings

    def test_nothing(self) -> None:
        assert told_once([], ["a"]) == []
        assert told_once(["a: x"], []) == ["a: x"]

    def test_a_system_that_says_it_twice_is_one(self) -> None:
        assert told_once(["a: x", "a: x", "b: x"], ["a", "b", "c"]) == ["a: x", "b: x"]
        assert told_once(["a: x"] * 3, ["a", "b"]) == ["a: x"]
