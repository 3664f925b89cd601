"""Messages of errors: no larger than a reader can take in, whatever the data holds."""

import pytest

from rankjury.errors import DataError, DuplicatePair, RankjuryError, UnknownName, list_some, shorten

LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "error",
    [
        DataError(f"found {LONG}"),
        DataError("found", where=LONG, expected=LONG, hint=LONG),
        DataError("found", details=[LONG] * 1000),
        UnknownName("measure", LONG, ["ndcg"]),
        UnknownName("column", "a", [f"{LONG}{n}" for n in range(3)]),
        UnknownName("column", "a", map(str, range(1_000_000))),
        DuplicatePair(LONG, LONG, 3, LONG),
    ],
)
def test_no_message_grows_with_the_data(error: RankjuryError) -> None:
    assert len(str(error)) < 60_000
    assert max(map(len, str(error).splitlines())) < 5_000


def test_a_cut_message_keeps_its_end() -> None:
    assert "for query 'q'" in str(DuplicatePair("q", LONG, 1, "run.trec"))


def test_the_rest_of_many_details_is_counted() -> None:
    error = DataError("many", details=[f"fault {n}" for n in range(1000)])
    assert str(error).splitlines()[-1] == "  and 950 more"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("ab", "ab"), (12, "12"), (None, "None"), ("a" * 30, "aaaaaaaaaaaaaa…aaaaaa (30 characters)")],
)
def test_values_are_shortened(value: object, expected: str) -> None:
    assert shorten(value, 20) == expected


def test_an_integer_that_python_does_not_write_out() -> None:
    assert shorten(10**5000) == "an integer of 16,610 bits"


def test_some_of_many_are_listed() -> None:
    assert list_some(f"d{n}" for n in range(1000)) == "d0, d1, d2, d3, d4, d5, d6, d7, d8, d9 and 990 more"
    assert list_some(["a", 1]) == "a, 1"
    assert list_some([]) == ""
