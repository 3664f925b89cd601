"""The best and the worst queries: which they are, in what order, and what is told of each."""

from math import nan
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

import rankjury
from rankjury.core.types import Gold
from rankjury.evaluation.examples import Example, ExampleItem, select_examples
from rankjury.evaluation.scores import Scores

MANY = {f"q{number:02}": number / 10 for number in range(12)}


def scores_of(values: dict[str, float], **more: Any) -> Scores:
    table = np.array(list(values.values()), dtype=np.float64)[:, None]
    return Scores(pl.Series(list(values), dtype=pl.String), ("m",), ("m",), ("mean",), table, **more)


def gold_of(values: dict[str, float], **judged: dict[str, float]) -> Gold:
    return rankjury.as_gold({query: judged.get(query, {"other": 1}) for query in values})


def chosen(values: dict[str, float], most: int = 5, **more: Any) -> dict[str, list[str]]:
    tops = [["a"]] * len(values)
    found = select_examples(scores_of(values, **more), "m", tops, gold_of(values), most=most)
    kinds = [one.kind for one in found]
    assert kinds == sorted(kinds, reverse=True), "successes first"
    return {kind: [one.query for one in found if one.kind == kind] for kind in ("success", "failure")}


def one_of(top: list[str], judged: dict[str, float], score: float = 0.5, **more: Any) -> Example:
    (found,) = select_examples(scores_of({"q": score}), "m", [top], gold_of({"q": score}, q=judged), **more)
    return found


def pairs(items: tuple[ExampleItem, ...]) -> list[tuple[str, float]]:
    return [(item.id, item.grade) for item in items]


class TestWhich:
    def test_five_of_each_best_first_and_worst_first(self) -> None:
        assert chosen(MANY) == {
            "success": ["q11", "q10", "q09", "q08", "q07"],
            "failure": ["q00", "q01", "q02", "q03", "q04"],
        }

    def test_as_many_as_are_asked_for(self) -> None:
        assert chosen(MANY, most=2) == {"success": ["q11", "q10"], "failure": ["q00", "q01"]}

    def test_equal_scores_go_by_id_on_both_sides(self) -> None:
        values = dict.fromkeys(["c", "a", "e", "b", "d", "f"], 0.5)
        assert chosen(values, most=2) == {"success": ["a", "b"], "failure": ["c", "d"]}
        assert chosen({"b": 0.0, "a": 0.0, "d": 1.0, "c": 1.0}, most=1) == {"success": ["c"], "failure": ["a"]}

    @pytest.mark.parametrize(
        ("n", "best", "worst"), [(1, 1, 0), (2, 1, 1), (3, 2, 1), (7, 4, 3), (9, 5, 4), (10, 5, 5)]
    )
    def test_of_few_queries_none_is_shown_as_both(self, n: int, best: int, worst: int) -> None:
        found = chosen({f"q{number}": float(number) for number in range(n)})
        assert (len(found["success"]), len(found["failure"])) == (best, worst)
        assert not set(found["success"]) & set(found["failure"])

    def test_undefined_queries_are_neither(self) -> None:
        assert chosen({"a": nan, "b": 0.25, "c": nan, "d": 0.75}) == {"success": ["d"], "failure": ["b"]}
        assert chosen({"a": nan}) == {"success": [], "failure": []}

    def test_where_less_is_better_the_lowest_went_best(self) -> None:
        found = chosen({"a": 3.0, "b": 1.0, "c": 2.0, "d": 0.0}, most=1, lower_is_better=frozenset({"m"}))
        assert found == {"success": ["d"], "failure": ["a"]}

    @given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.sampled_from([0.0, 0.25, 0.5, 1.0, nan])))
    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    def test_no_failure_went_better_than_a_success(self, values: dict[str, float]) -> None:
        if not values:
            return
        found = chosen(values, most=3)
        best, worst = ([values[query] for query in found[kind]] for kind in ("success", "failure"))
        known = sorted(value for value in values.values() if value == value)
        assert best == sorted(best, reverse=True) == known[::-1][: len(best)]
        assert worst == sorted(worst) == known[: len(worst)]
        assert len(best) + len(worst) == min(len(known), 6)


class TestWhatIsTold:
    def test_items_with_their_grades_and_what_was_missed(self) -> None:
        """Not judged is 0; of what did not come the highest grades first, equal ones by id, and none of grade 0."""
        found = one_of(["c", "x", "a"], {"a": 1, "b": 2, "c": 3, "d": 0, "f": 1, "e": 3, "bb": 2})
        assert pairs(found.found) == [("c", 3.0), ("x", 0.0), ("a", 1.0)]
        assert pairs(found.missed) == [("e", 3.0), ("b", 2.0), ("bb", 2.0), ("f", 1.0)]

    def test_ten_that_came_and_five_that_did_not(self) -> None:
        found = one_of([f"x{n:02}" for n in range(15)], {**{f"m{n}": 1 for n in range(9)}, "x12": 2})
        assert [item.id for item in found.found] == [f"x{n:02}" for n in range(10)]
        assert found.missed[0] == ExampleItem("x12", 2.0), "it came too late to be shown"
        assert len(found.missed) == 5

    def test_nothing_came(self) -> None:
        found = one_of([], {"a": 1}, score=0.0)
        assert (found.kind, found.score, found.found, found.missed) == ("success", 0.0, (), (ExampleItem("a", 1.0),))

    def test_whole_number_ids_are_matched_by_their_decimal_form(self) -> None:
        gold = rankjury.as_gold(pl.DataFrame({"query_id": [7], "item_id": [12], "grade": [2.0]}))
        scores = Scores(pl.Series([7]), ("m",), ("m",), ("mean",), np.array([[0.5]]))
        (found,) = select_examples(scores, "m", [["12", "13"]], gold)
        assert (found.query, pairs(found.found)) == ("7", [("12", 2.0), ("13", 0.0)])

    def test_form_with_names_where_they_are_known(self) -> None:
        found = one_of(["c", "x"], {"c": 3, "e": 1}, texts={"q": "red dress"}, names={"c": "Dress"})
        assert found.to_json() == {
            "kind": "success",
            "query": "q",
            "text": "red dress",
            "score": 0.5,
            "items": [{"id": "c", "name": "Dress", "grade": 3.0}, {"id": "x", "name": None, "grade": 0.0}],
            "missed": [{"id": "e", "name": None, "grade": 1.0}],
        }
        assert one_of(["c", "x"], {"c": 3, "e": 1}).to_json()["text"] is None

    def test_each_query_has_its_own_row(self) -> None:
        values = {"b": 0.1, "a": 0.9}
        gold = gold_of(values, a={"x": 1}, b={"y": 2})
        best, worst = select_examples(scores_of(values), "m", [["y"], ["x"]], gold)
        assert (best.query, best.found) == ("a", (ExampleItem("x", 1.0),))
        assert (worst.query, worst.found) == ("b", (ExampleItem("y", 2.0),))
