"""Texts → keywords: words and n-grams, spellings, synonyms, exact matches, and what a person is told."""

from pathlib import Path

import pytest

from rankjury.errors import DataError, UnknownName, UsageError
from rankjury.labeling.keywords.annotations import Keyword, Vocabulary
from rankjury.labeling.keywords.mapping import (
    MAPPERS,
    Extraction,
    MappedKeyword,
    MappingSettings,
    add_nearest,
    make_mapper,
    map_texts,
    summarize_mapping,
)
from rankjury.labeling.keywords.spellings import parse_phrase, split_words

VOCABULARY = Vocabulary.of(
    {
        "object": ["bicyclist", "pedestrian", "large vehicle", "bus"],
        "actor": ["entering ego path", "crossing", "moving_slow"],
        "ego": ["turning left", "u-turn"],
        "scene": ["crosswalk", "intersection", "night", "left side"],
    },
    "clips.csv",
)
SYNONYMS = """
ignored = ["video", "show me"]

[synonyms]
bicyclist = ["cyclist", "bike rider", "someone on a bike"]
"ego=turning left" = ["left turn"]
crossing = ["crosses the road"]
intersection = ["crossroads"]
"""


@pytest.fixture
def synonyms(tmp_path: Path) -> Path:
    path = tmp_path / "synonyms.toml"
    path.write_text(SYNONYMS, encoding="utf-8")
    return path


def exact(text: str, synonyms: Path | None = None, vocabulary: Vocabulary = VOCABULARY) -> Extraction:
    (found,) = map_texts([text], vocabulary, MappingSettings(synonyms=synonyms))
    return found


def names(found: Extraction) -> list[str]:
    return [one.name for one in found.keywords]


# --- words and n-grams --------------------------------------------------------------------------------------------


def test_ngrams_leave_out_fillers_and_end_at_breaks() -> None:
    words = split_words("The cyclist is entering, slowly")
    assert words.shown == ("cyclist", "entering", ".", "slowly")
    assert [words.phrase(*span) for span in words.spans(1, 3)] == ["cyclist", "cyclist entering", "entering", "slowly"]
    assert [words.phrase(*span) for span in words.spans(2, 3)] == ["cyclist entering"]
    assert [words.phrase(*span) for span in words.spans(1, 3, closed={0})] == ["entering", "slowly"]


@pytest.mark.parametrize(("text", "says"), [("in", False), ("of the", False), ("cuts in", True), ("on left", True)])
def test_stop_words_are_no_ngrams_by_themselves(text: str, says: bool) -> None:
    words = split_words(text)
    assert words.says_something(0, len(words.shown)) is says


def test_a_spelling_of_fillers_alone_keeps_them() -> None:
    assert parse_phrase("the rain") == ("rain", ("rain",))
    assert parse_phrase("a") == ("a", ("a",))
    groups = Vocabulary.of({"blood": ["a", "b"]})
    assert names(exact("blood group a", vocabulary=groups)) == ["a"]


# --- exact --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bicyclist entering the ego path", ["bicyclist", "entering ego path"]),
        ("PEDESTRIANS crossing at night.", ["pedestrian", "crossing", "night"]),
        ("something moving slow", ["moving_slow"]),
        ("a u turn, a U-turn", ["u-turn"]),
        ("cross walk", ["crosswalk"]),
        ("pédestrian", ["pedestrian"]),
        ("large, vehicle", []),
        ("", []),
        ("the and of", []),
    ],
)
def test_names_as_they_stand(text: str, expected: list[str]) -> None:
    assert names(exact(text)) == expected


def test_synonyms_of_any_length_and_articles(synonyms: Path) -> None:
    assert names(exact("someone on the bike makes a left turn", synonyms)) == ["bicyclist", "turning left"]
    (one,) = exact("bike riders", synonyms).mapped
    assert one == MappedKeyword(Keyword("object", "bicyclist"), "bike riders", 1.0, "exact", "bike rider")


def test_written_together_counts_less_than_as_written(synonyms: Path) -> None:
    """*crossroads* and *crosses the road* come to the same letters."""
    assert names(exact("at the crossroads", synonyms)) == ["intersection"]
    assert names(exact("he crosses the road", synonyms)) == ["crossing"]


def test_both_keywords_of_one_group_stay(synonyms: Path) -> None:
    assert names(exact("cyclist and pedestrian", synonyms)) == ["bicyclist", "pedestrian"]


def test_a_keyword_is_found_once(synonyms: Path) -> None:
    found = exact("a cyclist and a bike rider", synonyms)
    assert names(found) == ["bicyclist"]
    assert [(one.mapped.ngram, one.reason) for one in found.dropped] == [
        ("cyclist", "already found by 'bike rider' (1.00)")
    ]


def test_the_longer_of_two_stands() -> None:
    both = Vocabulary.of({"ego": ["turning left"], "side": ["left"]})
    found = exact("turning left", vocabulary=both)
    assert names(found) == ["turning left"]
    assert found.dropped[0].reason == "overlaps 'turning left', which is longer, and means turning left"


def test_of_one_name_in_two_groups_that_of_the_selected_group_stands() -> None:
    both = Vocabulary.of({"actor": ["stationary"], "ego": ["stationary"]})
    (found,) = map_texts(["stationary"], both, MappingSettings(), groups=["ego"])
    assert [str(one) for one in found.keywords] == ["ego=stationary"]


def test_one_name_in_two_groups_is_settled_openly() -> None:
    both = Vocabulary.of({"actor": ["stationary"], "ego": ["stationary"]})
    found = exact("stationary", vocabulary=both)
    assert [str(one) for one in found.keywords] == ["actor=stationary"]
    assert [(str(one.mapped.keyword), one.reason) for one in found.dropped] == [
        ("ego=stationary", "'stationary' is equally similar to actor=stationary (1.00)")
    ]


def test_a_name_wins_over_a_synonym(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[synonyms]\n"large vehicle" = ["night"]\n', encoding="utf-8")
    assert [str(one) for one in exact("night", path).keywords] == ["scene=night"]


def test_groups_that_are_not_selected_are_dropped_not_replaced() -> None:
    (found,) = map_texts(["pedestrian at night"], VOCABULARY, MappingSettings(), groups=["object"])
    assert names(found) == ["pedestrian"]
    assert [(one.mapped.keyword.name, one.reason) for one in found.dropped] == [("night", "scene is not selected")]
    with pytest.raises(UnknownName, match=r"unknown group 'objekt'.*object"):
        map_texts(["x"], VOCABULARY, MappingSettings(), groups=["objekt"])


def test_numbers_and_json() -> None:
    found = exact("crossing pedestrian")
    numbers = found.numbers(VOCABULARY)
    assert numbers == tuple(sorted(numbers)) and {VOCABULARY.keywords[one].name for one in numbers} == {
        "crossing",
        "pedestrian",
    }
    form = found.to_json()
    assert form["text"] == "crossing pedestrian" and form["dropped"] == form["nearest"] == []
    assert form["mapped"][0] == {
        "keyword": "crossing",
        "group": "actor",
        "ngram": "crossing",
        "score": 1.0,
        "method": "exact",
        "spelling": "crossing",
    }


def test_a_text_without_keywords_is_told_what_comes_near() -> None:
    settings = MappingSettings()
    mapper = make_mapper(VOCABULARY, settings)
    (found,) = map_texts(["pedestrain at nigth"], VOCABULARY, settings, mapper=mapper)
    assert found.mapped == found.nearest == ()
    near = add_nearest(found, mapper, VOCABULARY, "exact").nearest
    assert [one.keyword.name for one in near][:2] == ["pedestrian", "night"] and near[0].score > near[1].score
    only = add_nearest(found, mapper, VOCABULARY, "exact", ["scene"]).nearest
    assert {one.keyword.group for one in only} == {"scene"}
    (known,) = map_texts(["night"], VOCABULARY, settings, mapper=mapper)
    assert add_nearest(known, mapper, VOCABULARY, "exact") is known


def test_texts_keep_their_order_and_may_repeat() -> None:
    found = map_texts(["night", "bus", "night"], VOCABULARY)
    assert [names(one) for one in found] == [["night"], ["bus"], ["night"]]
    assert map_texts([], VOCABULARY) == []


# --- synonym files ------------------------------------------------------------------------------------------------


def test_keywords_that_the_vocabulary_lacks_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[synonyms]\nbicylist = ["cyclist"]\nzeppelin = ["airship"]\n', encoding="utf-8")
    mapper = make_mapper(VOCABULARY, MappingSettings(synonyms=path))
    assert mapper.notes == (f"{path}: the vocabulary has no 'bicylist' (bicyclist?), 'zeppelin'",)


def test_ignored_may_stand_below_the_table(tmp_path: Path) -> None:
    from rankjury.labeling.keywords.spellings import read_keyword_synonyms

    path = tmp_path / "s.toml"
    path.write_text('[synonyms]\nbus = ["coach"]\nignored = ["video"]\n', encoding="utf-8")
    found = read_keyword_synonyms(path, VOCABULARY)
    assert found.ignored == ("video",) and found.notes == ()
    assert found.phrases == {VOCABULARY.find("bus"): ("coach",)}
    own = Vocabulary.of({"state": ["ignored", "bus"]})
    assert read_keyword_synonyms(path, own).phrases == {own.find("bus"): ("coach",), own.find("ignored"): ("video",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("synonyms = [", "not TOML"),
        ("synonym = {}", "unknown key 'synonym'.*synonyms"),
        ("synonyms = 3", "synonyms is 3; expected a table"),
        ('[synonyms]\nbus = "coach"', "bus: found 'coach'; expected phrases"),
        ("[synonyms]\nbus = [3]", "found 3; expected phrases"),
        ('[synonyms]\nbus = ["?!"]', r"found '\?!'; expected phrases"),
        ("ignored = 3", "ignored: found 3"),
    ],
)
def test_synonym_files_that_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises((DataError, UnknownName), match=message):
        exact("bus", path)


def test_a_bare_name_of_two_groups_needs_its_group(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[synonyms]\nstopped = ["halted"]\n', encoding="utf-8")
    both = Vocabulary.of({"actor": ["stopped"], "ego": ["stopped"]})
    with pytest.raises(DataError, match=r"is in 2 groups.*actor=stopped or ego=stopped"):
        exact("halted", path, both)
    path.write_text('[synonyms]\n"ego=stopped" = ["halted"]\n', encoding="utf-8")
    assert [str(one) for one in exact("halted", path, both).keywords] == ["ego=stopped"]


# --- what is refused ----------------------------------------------------------------------------------------------


def test_an_empty_vocabulary_and_one_without_words() -> None:
    with pytest.raises(DataError, match=r"clips\.csv: the vocabulary is empty"):
        map_texts(["x"], Vocabulary.of({}, "clips.csv"))
    with pytest.raises(DataError, match="no keyword has a word"):
        map_texts(["x"], Vocabulary.of({"g": ["?", "-"]}))
    mapper = make_mapper(Vocabulary.of({"g": ["?", "bus"]}), MappingSettings())
    assert mapper.notes == ("'g=?' cannot be found in texts: no word in it",)


def test_methods() -> None:
    assert set(MAPPERS.names()) >= {"exact", "embedding", "keybert"}
    with pytest.raises(UnknownName, match=r"unknown method 'exat'. Did you mean exact"):
        map_texts(["x"], VOCABULARY, MappingSettings("exat"))


@pytest.mark.parametrize(
    "wrong",
    [{"ngrams": (0, 3)}, {"ngrams": (3, 1)}, {"ngrams": (1, 99)}, {"threshold": 1.5}, {"diversity": 2}, {"chosen": 0}],
)
def test_settings_that_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="keywords: "):
        MappingSettings(**wrong)  # type: ignore[arg-type]


def test_what_was_found_in_a_sentence() -> None:
    def extraction(*names: str) -> Extraction:
        return Extraction("x", tuple(MappedKeyword(Keyword("object", name), name, 1.0, "exact") for name in names))

    assert summarize_mapping("exact", [extraction("bus", "bicyclist")]) == "2 keywords by exact: bus, bicyclist."
    assert summarize_mapping("exact", [extraction()]) == "No keyword by exact in 1 text."
    several = summarize_mapping("exact", [extraction("bus"), extraction("pedestrian", "bus"), extraction()])
    assert several == "2 of 3 texts have a keyword by exact; most frequent: bus, pedestrian."
