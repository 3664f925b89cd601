"""Report sections: warnings with their unit, and merging of equal warnings of several systems."""

import pytest

from rankjury.evaluation.sections import ReportWarning, merge_warnings, with_unit


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
