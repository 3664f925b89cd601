"""Report sections: warnings with their unit, and merging of equal warnings of several systems."""

import json
from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from rankjury.errors import DataError
from rankjury.evaluation.sections import (
    ReportWarning,
    Stability,
    group_warnings,
    measure_stability,
    merge_warnings,
    with_unit,
)


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


class TestGrouped:
    """Warnings of a terminal: a line for each kind, five at most, the routine ones in the last."""

    @staticmethod
    def unjudged(system: str, share: float) -> ReportWarning:
        return ReportWarning(f"unjudged: {share}", system, "unjudged", share=share)

    def test_the_same_of_several_systems_is_one_line(self) -> None:
        found = [ReportWarning("5 duplicates", name, "duplicates", 5) for name in "ab"]
        assert group_warnings(found, ["a", "b"]) == ["all systems: 5 duplicates"]
        assert group_warnings(found, ["a", "b", "c"]) == ["a, b: 5 duplicates"]

    def test_one_kind_with_other_numbers_is_one_line(self) -> None:
        found = [ReportWarning(f"{n} duplicates", name, "duplicates", n) for n, name in enumerate("abc", 1)]
        (line,) = group_warnings(found, ["a", "b", "c"])
        assert line.startswith("a: 1 duplicates") and "b, c" in line

    def test_other_sentences_of_one_code_stay_apart(self) -> None:
        """A code such as that of a model's notes says where a warning is from, and not what it says."""
        found = [ReportWarning("46 users are unknown", "a", "model"), ReportWarning("factors diverged", "b", "model")]
        assert group_warnings(found, ["a", "b"]) == ["a: 46 users are unknown", "b: factors diverged"]

    def test_routine_ones_are_folded_into_the_last_line(self) -> None:
        found = [
            self.unjudged("a", 0.25),
            ReportWarning("missing", "a", "missing-queries", 1),
            self.unjudged("b", 0.5),
            ReportWarning("3 slices …", code="small-slices", count=3),
            ReportWarning("1 user …", "a", "nothing-relevant", 1),
        ]
        lines = group_warnings(found, ["a", "b"], ("user", "users"))
        assert len(lines) == 2 and lines[0] == "a: missing"
        for part in ("50.0 %", "3 slices", "1 user has nothing relevant", "--full"):
            assert part in lines[1]

    def test_a_routine_one_alone_says_all_of_itself(self) -> None:
        assert group_warnings([self.unjudged("a", 0.25)], ["a"]) == ["a: unjudged: 0.25"]

    @pytest.mark.parametrize("kinds", range(12))
    @pytest.mark.parametrize("routine", [False, True])
    def test_never_more_than_five_lines(self, kinds: int, routine: bool) -> None:
        found = [ReportWarning(f"number {n}", code=f"code-{n}") for n in range(kinds)]
        more = [self.unjudged("a", 0.1), ReportWarning("slices", code="small-slices", count=2)] if routine else []
        lines = group_warnings([*found, *more], ["a"])
        assert len(lines) == min(5, kinds + routine)
        left = kinds - sum(line.startswith("number") for line in lines)
        assert f"{left} more" in lines[-1] if left else "more warning" not in " ".join(lines)

    def test_doubtful_results_are_not_folded(self) -> None:
        found = [ReportWarning(f"number {n}", code=f"code-{n}") for n in range(9)]
        lines = group_warnings([*found, ReportWarning("tuned on test", code="test-opened")], ["a"])
        assert lines[:4] == ["number 0", "number 1", "number 2", "tuned on test"] and "6 more warnings" in lines[4]

    def test_nothing(self) -> None:
        assert group_warnings([], ["a"]) == []


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


INF, NAN = float("inf"), float("nan")
numbers = st.floats(-1, 1, allow_nan=False)
tables = st.tuples(st.integers(1, 8), st.integers(1, 12)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.one_of(numbers, st.just(-INF), st.just(NAN)))
)


def made(scores: Any, norms: Any = (1.0,), k: int = 10) -> Stability:
    table = np.array(scores, dtype=np.float64)
    return measure_stability(pl.Series([f"q{row}" for row in range(len(table))]), table, np.array(norms), k=k)


def test_by_hand() -> None:
    found = made([[0.9, 0.7, 0.1], [0.5, 0.3, 0.2]], [1.0, 3.0], k=2)
    assert found.to_json() == {
        "k": 2,
        "top1": {"mean": pytest.approx(0.7), "std": pytest.approx(0.08**0.5)},
        "topk": {"mean": pytest.approx(0.6), "std": pytest.approx((0.2 / 3) ** 0.5)},
        "norm": {"mean": 2.0, "std": pytest.approx(2**0.5)},
        "queries": {
            "ids": ["q0", "q1"],
            "top1": [0.9, 0.5],
            "topk_mean": [pytest.approx(0.8), pytest.approx(0.4)],
            "topk_std": [pytest.approx(0.02**0.5), pytest.approx(0.02**0.5)],
        },
    }


def test_ten_unless_it_is_said_otherwise() -> None:
    form = made([list(np.linspace(1, 0, 12))]).to_json()
    assert form["topk"]["mean"] == pytest.approx(np.linspace(1, 0, 12)[:10].mean())


def test_queries_that_found_nothing_or_little() -> None:
    found = made([[0.8, 0.6], [-INF, NAN], [0.4, -INF]], k=2)
    assert found.top1.mean == pytest.approx(0.6)
    assert found.topk.mean == pytest.approx(0.6)
    assert found.to_json()["queries"]["top1"] == [0.8, None, 0.4]
    assert found.to_json()["queries"]["topk_std"] == [pytest.approx(0.02**0.5), None, None]
    assert "NaN" not in json.dumps(found.to_json())


def test_nothing_at_all() -> None:
    found = made([[-INF]], [])
    assert isnan(found.top1.mean) and isnan(found.norm.mean)
    assert found.to_json()["norm"] == {"mean": None, "std": None}


def test_normalised_vectors_spread_by_nothing() -> None:
    assert made([[0.5]], [1.0] * 100).norm.std == 0.0


@settings(max_examples=40, deadline=None)
@given(tables, arrays(np.float64, st.integers(2, 20), elements=st.floats(0.1, 10)), st.integers(1, 12))
def test_against_numpy(scores: Any, norms: Any, k: int) -> None:
    found = made(scores, norms, k)
    best = [np.sort(row[np.isfinite(row)])[::-1][:k] for row in scores]
    top1 = [row[0] for row in best if row.size]
    pooled = np.concatenate(best)
    for spread, values in ((found.top1, top1), (found.topk, pooled), (found.norm, norms)):
        if len(values):
            assert_allclose(spread.mean, np.mean(values), atol=1e-12)
        if len(values) > 1:
            assert_allclose(spread.std, np.std(values, ddof=1), atol=1e-12)
    for row, mean, std in zip(best, found.queries.topk_mean, found.queries.topk_std, strict=True):
        assert isnan(mean) if not row.size else mean == pytest.approx(row.mean(), abs=1e-12)
        assert isnan(std) if row.size < 2 else std == pytest.approx(row.std(ddof=1), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(tables, st.randoms())
def test_no_digit_hangs_on_the_order_of_rows(scores: Any, random: Any) -> None:
    norms = np.abs(np.nan_to_num(scores[:, 0], posinf=1, neginf=1)) + 0.1
    order = list(range(len(scores)))
    random.shuffle(order)
    one, other = made(scores, norms), made(scores[order][:, ::-1], norms[order])
    for name in ("top1", "topk", "norm"):
        assert str(getattr(one, name)) == str(getattr(other, name))
    assert_array_equal(one.queries.topk_mean[order], other.queries.topk_mean)


@settings(max_examples=40, deadline=None)
@given(tables)
def test_read_back(scores: Any) -> None:
    found = made(scores, k=3)
    back = Stability.from_json(json.loads(json.dumps(found.to_json())), "r.json")
    assert back == found and back.to_json() == found.to_json()
    assert_array_equal(back.queries.topk_std, found.queries.topk_std)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"k": None}, "k: Input should be a valid integer"),
        ({"k": 0}, "k: Input should be greater than or equal to 1"),
        ({"topk": {"mean": 0.5}}, "topk → std: Field required"),
        ({"top1": {"mean": "high", "std": 0}}, "top1 → mean: Input should be a valid number"),
        ({"norm": {"mean": True, "std": 0}}, "norm → mean: Input should be a valid number"),
        ({"queries": {"ids": ["a"], "top1": [], "topk_mean": [1], "topk_std": [1]}}, "0 values for 1 queries"),
        (
            {"queries": {"ids": ["a", "a"], "top1": [1, 1], "topk_mean": [1, 1], "topk_std": [1, 1]}},
            "queries: a query occurs twice",
        ),
        (
            {"queries": {"ids": [1], "top1": [1], "topk_mean": [1], "topk_std": [1]}},
            "queries → ids → 0: Input should be a valid string",
        ),
    ],
)
def test_what_cannot_be_read_is_told(change: dict[str, Any], told: str) -> None:
    form = made([[0.5, 0.4]], k=2).to_json() | change
    with pytest.raises(DataError, match=told) as error:
        Stability.from_json(form, "old.json, hnsw")
    assert error.value.exit_code == 3 and str(error.value).startswith("old.json, hnsw: ")
