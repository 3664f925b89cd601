"""The same of what asks: queries without keywords, texts, thresholds, missing files and synonyms."""

from pathlib import Path

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.keyword_files import (
    GIVEN,
    HEAD,
    MAPPED,
    ON_CLIPS,
    ON_TEXTS,
    SYNONYMS,
    TEXTS,
    check_warned,
    put_files,
    put_plan,
    run,
    texts,
)
from tests.cli.support import check_failure, put


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    put_files()


def test_a_clip_without_a_keyword_in_the_selected_groups(rankjury: Rankjury) -> None:
    """Everything would be relevant to it."""
    outcome = run(rankjury, 'select = ["act"]\n')
    check_warned(outcome, "1 query has no keyword in the selected groups (everything would be relevant), omitted: c5")
    assert "5 queries, 1 system" in outcome.out


def test_as_an_error(rankjury: Rankjury) -> None:
    outcome = run(rankjury, 'select = ["act"]\nwithout_keywords = "error"\n')
    check_failure(outcome, 3, "clips.csv", "1 query has no keyword", "c5", "expected a keyword", "Select more groups")


@pytest.mark.parametrize(
    ("row", "code", "fragments"),
    [
        ({"query_id": "t2", "text": "x", "keywords": ["bikee"]}, 2, ["unknown keyword 'bikee'", "Did you mean bike?"]),
        ({"query_id": "t2", "text": "x", "keywords": ["act=bike"]}, 2, ["unknown keyword 'act=bike'"]),
        ({"query_id": "t2", "text": "x", "keywords": 7}, 3, ["keywords is 7", 'expected a list such as "keywords": [']),
        ({"query_id": "t2", "text": "x", "keywords": [7]}, 3, ["keywords is [7]", "expected a list such as"]),
        ({"query_id": "t2", "text": "x"}, 3, ["no keywords", "expected a list such as"]),
        (
            {"query_id": "t1", "text": "x", "keywords": ["bike"]},
            3,
            ["duplicate query 't1'", "texts.jsonl:1", "expected each query once"],
        ),
        ({"text": "x", "keywords": ["bike"]}, 3, ["no query_id", "expected an id on every line"]),
    ],
)
def test_a_text_that_cannot_be_used(rankjury: Rankjury, row: object, code: int, fragments: list[str]) -> None:
    """File and line are named."""
    texts(TEXTS[0], row)
    check_failure(run(rankjury, GIVEN, ON_TEXTS), code, "texts.jsonl:2", *fragments)


def test_a_text_that_is_not_there(rankjury: Rankjury) -> None:
    """It is needed only where it is mapped."""
    texts(TEXTS[0], {"query_id": "t2", "keywords": ["bike"]})
    assert run(rankjury, GIVEN, ON_TEXTS).code == 0
    fragments = ["the query 't2' has no text", "expected a text for every query"]
    check_failure(run(rankjury, MAPPED, ON_TEXTS), 3, "texts.jsonl:2", *fragments)


def test_a_name_that_two_groups_have(rankjury: Rankjury) -> None:
    put("clips.csv", "clip,thing,act\nc1,car,turning\nc2,turning,bike\nc3,x,y\n")
    texts(TEXTS[0])
    fragments = ["the keyword 'turning' is in 2 groups", "expected thing=turning or act=turning"]
    check_failure(run(rankjury, GIVEN, ON_TEXTS), 3, "texts.jsonl:1", *fragments)


@pytest.mark.parametrize("name", ["texts.jsonl", "texts.txt"])
def test_given_without_any_given(rankjury: Rankjury, name: str) -> None:
    texts({"query_id": "t1", "text": "a car"})
    put("texts.txt", "a car\n")
    outcome = run(rankjury, f'queries = "{name}"\nkeywords = "given"\n', ON_TEXTS)
    check_failure(outcome, 3, name, "no keywords", 'such as "keywords": [')


def test_texts_of_a_plain_text_file(rankjury: Rankjury) -> None:
    """A .txt was read as a table, whose first line was taken for the header."""
    put("texts.txt", "t1\ta car\n# a comment\nt2\tcity\n")
    outcome = run(rankjury, 'queries = "texts.txt"\n', ON_TEXTS)
    assert outcome.code == 0, outcome.err
    assert "2 queries, 1 system" in outcome.out


def test_a_text_that_maps_to_nothing(rankjury: Rankjury) -> None:
    texts({"query_id": "t1", "text": "a car"}, {"query_id": "t2", "text": "elephants"})
    outcome = run(rankjury, MAPPED, ON_TEXTS)
    how = "rankjury keywords TEXT --vocabulary clips.csv --method exact --synonyms synonyms.toml"
    check_warned(outcome, f"1 text maps to no keyword by exact, omitted: t2 ({how} shows why)")
    assert sum("t2" in line for line in outcome.warnings) == 1, "told once"


def test_no_text_maps_to_anything(rankjury: Rankjury) -> None:
    texts({"query_id": "t1", "text": "giraffes"}, {"query_id": "t2", "text": "elephants"})
    outcome = run(rankjury, MAPPED, ON_TEXTS)
    check_failure(outcome, 3, "texts.jsonl", "2 queries have no keyword", "t1, t2", "lower the threshold")


@pytest.mark.parametrize("query", ["c99", "c5"])
def test_a_query_to_show_that_there_is_not(rankjury: Rankjury, query: str) -> None:
    """Neither one that nobody asks, nor one that was left out for want of a keyword."""
    check_warned(run(rankjury, f'select = ["act"]\nshow = ["c1", "{query}"]\n'), "show", query)


# --- thresholds ---------------------------------------------------------------------------------------------------


def test_a_threshold_on_a_random_order(rankjury: Rankjury) -> None:
    outcome = run(rankjury, "", '[systems.s]\nkind = "random"\nthreshold = 0.15\n')
    check_failure(outcome, 2, "rankjury.toml:9, systems.s.threshold", "is for systems that have scores")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("own.csv", "query_id,item_id,rank\nc1,c2,1\nc1,c3,2\n"),
        ("own.json", '{"c1": ["c2", "c3"]}'),
        (
            "own.jsonl",
            '{"query_id": "c1", "item_id": "c2", "rank": 1}\n{"query_id": "c1", "item_id": "c3", "rank": 2}\n',
        ),
    ],
)
def test_a_threshold_on_a_run_without_scores(rankjury: Rankjury, name: str, content: str) -> None:
    put(name, content)
    assert run(rankjury, "", f'[systems.s]\npath = "{name}"\n').code == 0, "without a threshold it is as good as any"
    outcome = run(rankjury, "", f'[systems.s]\npath = "{name}"\nthreshold = 0.15\n')
    check_failure(outcome, 2, name, "a threshold, but the ranking has no scores", "expected scores")


def test_a_threshold_that_is_no_number(rankjury: Rankjury) -> None:
    outcome = run(rankjury, "", f'{ON_CLIPS}threshold = "high"\n')
    check_failure(outcome, 2, "rankjury.toml:10, systems.s.threshold", "found 'high'", "expected a valid number")


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [("clips.csv", "nowhere.csv"), ("texts.jsonl", "nowhere.jsonl"), ("synonyms.toml", "nowhere.toml")],
)
def test_a_missing_file(rankjury: Rankjury, old: str, new: str) -> None:
    put("rankjury.toml", f"{HEAD}{MAPPED}{ON_TEXTS}".replace(old, new))
    check_failure(rankjury("run"), 3, f"{new} (rankjury.toml:4, gold): no such file", "Check the path")


def test_a_missing_file_of_vectors(rankjury: Rankjury) -> None:
    outcome = run(rankjury, "", ON_CLIPS.replace("clips.npz", "nowhere.npz"))
    check_failure(outcome, 3, "nowhere.npz (rankjury.toml:9, systems.s.path): no such file")


@pytest.mark.parametrize(
    ("content", "code", "fragments"),
    [
        ("[synonyms\n", 3, ["not TOML", "line 1"]),
        (b"\xff\xfe\x00", 3, ["expected UTF-8"]),
        ("[synonyms]\nbike = 3\n", 3, ["synonyms.toml, bike", "found 3", "expected phrases"]),
        ('[synonyms]\nbike = ["x", 3]\n', 3, ["synonyms.toml, bike", "found 3", "expected phrases"]),
        ('[synonyms]\nbike = "bicycle"\n', 3, ["synonyms.toml, bike", "found 'bicycle'", "expected phrases"]),
        ('ignored = "the"\n', 3, ["synonyms.toml, ignored", "found 'the'", "expected phrases"]),
        ('synonyms = ["x"]\n', 3, ["synonyms.toml", "synonyms is ['x']", "expected a table [synonyms]"]),
        ('[synonym]\nbike = ["x"]\n', 2, ["unknown key 'synonym'", "Did you mean synonyms?"]),
    ],
)
def test_synonyms_that_cannot_be_read(
    rankjury: Rankjury, content: str | bytes, code: int, fragments: list[str]
) -> None:
    put("synonyms.toml", content)
    check_failure(run(rankjury, MAPPED, ON_TEXTS), code, "synonyms.toml", "rankjury.toml:4, gold", *fragments)


def test_synonyms_of_an_unknown_keyword(rankjury: Rankjury) -> None:
    """They may be made for more than one table; but it may be a slip."""
    put("synonyms.toml", f'{SYNONYMS}bikes = ["cycle"]\n')
    check_warned(run(rankjury, MAPPED, ON_TEXTS), "synonyms.toml", "the vocabulary has no 'bikes' (bike?)")


# --- what holds for all of it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [["--json"], ["-q"], ["-o", "there"]])
def test_nothing_is_written_where_it_fails(rankjury: Rankjury, folder: Path, form: list[str]) -> None:
    put("rankjury.toml", 'outputs = ["report.json", "report.md"]\n' + HEAD + 'select = ["thin"]\n' + ON_CLIPS)
    before = set(folder.rglob("*"))
    check_failure(rankjury("run", *form), 2, "unknown group 'thin'")
    assert set(folder.rglob("*")) == before


def test_quiet_warns_of_nothing(rankjury: Rankjury) -> None:
    put_plan('select = ["act"]\n')
    assert rankjury("run", "-q").err == ""


def test_debug_shows_where(rankjury: Rankjury) -> None:
    put_plan('select = ["thin"]\n')
    outcome = rankjury("run", "--debug")
    assert outcome.code == 2 and "Traceback" in outcome.err and "unknown group 'thin'" in outcome.err
