"""Keywords by number and by name."""

import pytest

import rankjury
from rankjury.errors import UnknownName
from rankjury.labeling.keywords.annotations import Keyword, Vocabulary

WORDS = Vocabulary.of(
    {"object": ["pedestrian", "bicyclist", "pedestrian"], "light": ["red"], "colour": ["red"]}, "t.csv"
)


def test_numbered_by_group_as_named_then_by_name() -> None:
    assert [str(one) for one in WORDS.keywords] == [
        "object=bicyclist",
        "object=pedestrian",
        "light=red",
        "colour=red",
    ]
    assert len(WORDS) == 4
    assert WORDS.groups == ("object", "light", "colour")
    assert WORDS.number_of[Keyword("colour", "red")] == 3


def test_equal_by_keywords_wherever_they_came_from() -> None:
    same = Vocabulary.of({"object": ["bicyclist", "pedestrian"], "light": {"red"}, "colour": ("red",)}, "other.csv")
    assert same == WORDS
    assert hash(same) == hash(WORDS)
    assert Vocabulary.of({"light": ["red"], "object": ["bicyclist", "pedestrian"], "colour": ["red"]}) != WORDS


@pytest.mark.parametrize(
    ("spelling", "number"), [("bicyclist", 0), ("object=pedestrian", 1), ("light=red", 2), ("colour=red", 3)]
)
def test_found_by_name_or_with_its_group(spelling: str, number: int) -> None:
    assert WORDS.find(spelling) == number


def test_a_name_in_two_groups_needs_its_group() -> None:
    with pytest.raises(rankjury.DataError, match=r"t\.csv: .*'red' is in 2 groups; expected light=red or colour=red"):
        WORDS.find("red")
    with pytest.raises(rankjury.DataError, match=r"^line 3: "):
        WORDS.find("red", where="line 3")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(UnknownName, match=r"t\.csv: unknown keyword 'bycyclist'\. Did you mean bicyclist\?"):
        WORDS.find("bycyclist")
    with pytest.raises(UnknownName, match=r"^here: unknown keyword 'object=red'"):
        WORDS.find("object=red", where="here")


@pytest.mark.parametrize("spelling", ["Bicyclist", " bicyclist", "", "object=", "=bicyclist"])
def test_spelled_exactly(spelling: str) -> None:
    with pytest.raises(UnknownName):
        WORDS.find(spelling)


def test_names_by_group() -> None:
    assert WORDS.by_group([3, 1, 0]) == {"object": ("bicyclist", "pedestrian"), "colour": ("red",)}
    assert WORDS.by_group([]) == {}


def test_some_groups_in_their_own_order() -> None:
    chosen = WORDS.select(["colour", "object"])
    assert [str(one) for one in chosen.keywords] == ["object=bicyclist", "object=pedestrian", "colour=red"]
    assert chosen.source == "t.csv"
    assert chosen.find("red") == 2


def test_a_group_that_is_not_there() -> None:
    with pytest.raises(UnknownName, match=r"t\.csv: unknown group 'objects'\. Did you mean object\?"):
        WORDS.select(["light", "objects"])


def test_a_group_without_names_is_none() -> None:
    assert Vocabulary.of({"a": [], "b": ["x"]}).groups == ("b",)
    assert len(Vocabulary.of({})) == 0


def test_names_may_hold_equals_signs_and_any_letters() -> None:
    words = Vocabulary.of({"größe": ["a=b", "日本"]})
    assert [words.find(one) for one in ("a=b", "größe=a=b", "日本", "größe=日本")] == [0, 0, 1, 1]
