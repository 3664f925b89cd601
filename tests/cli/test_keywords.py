"""rankjury keywords: what a text means, what was dropped, how good it is, and what is refused."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from rankjury.cli import keywords
from tests import paths
from tests.cli.conftest import Rankjury
from tests.cli.support import Outcome, check_failure, check_width, public_functions, put

CLIPS = """clip,object,actor,relation,scene
c1,bicyclist,entering ego path,behind ego,night
c2,pedestrian|bicyclist,leaving ego path,opposite lane,urban|rain
c3,bus,,,
"""
QUERIES = [
    {"query_id": "t1", "text": "cyclist entering ego lane", "keywords": ["bicyclist", "entering ego path"]},
    {"query_id": "t2", "text": "bus at night", "keywords": ["bus", "night"]},
    {"query_id": "t3", "text": "someone sings", "keywords": []},
]
SYNONYMS = '[synonyms]\nbicyclist = ["cyclist"]\n"actor=entering ego path" = ["entering ego lane"]\n'
GIVEN = ["--vocabulary", "clips.csv"]
SAMPLE = paths.SAMPLES / "driving"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    put("clips.csv", CLIPS)
    put("queries.jsonl", "\n".join(map(json.dumps, QUERIES)))
    put("synonyms.toml", SYNONYMS)


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


def cells(outcome: Outcome) -> list[list[str]]:
    return [line.split() for line in outcome.out.splitlines()]


def flat(outcome: Outcome) -> str:
    """What is printed, whatever the width."""
    return " ".join(outcome.out.split())


def test_the_example_of_the_spec(rankjury: Rankjury) -> None:
    outcome = done(rankjury("keywords", "cyclist entering ego lane", *GIVEN))
    assert outcome.out.startswith("3 keywords by embedding: bicyclist, entering ego path, ")
    assert "\n\ncyclist entering ego lane\n" in outcome.out
    rows = cells(outcome)
    assert ["bicyclist", "object", "cyclist", "0.72", "embedding"] in rows
    assert ["entering", "ego", "path", "actor", "entering", "ego", "0.82", "embedding"] in rows
    assert "Dropped" in outcome.out and "'ego' is only a part" in outcome.out
    assert outcome.err.startswith("Next: --synonyms")
    check_width(outcome.out)


def test_exact_with_synonyms_and_groups(rankjury: Rankjury) -> None:
    groups = ["--group", "who=object", "--group", "what=actor,relation", "--select", "who"]
    options = ["cyclist behind ego", *GIVEN, *groups, "--method", "exact"]
    outcome = done(rankjury("keywords", *options, "-q"))
    assert outcome.err == ""
    assert "No keyword by exact: what occurs in the text was dropped; nearest in spelling bicyclist" in flat(outcome)
    assert ["behind", "ego", "behind", "ego", "1.00", "what", "is", "not", "selected"] in cells(outcome)
    put("synonyms.toml", '[synonyms]\nbicyclist = ["cyclist"]\n')
    told = done(rankjury("keywords", *options, "--synonyms", "synonyms.toml"))
    assert ["bicyclist", "who", "cyclist", "1.00", "exact"] in cells(told)


def test_a_text_without_keywords_is_told_plainly(rankjury: Rankjury) -> None:
    outcome = done(rankjury("keywords", "bicylist", "zzz", *GIVEN, "--method", "exact"))
    told = "No keyword by exact: none occurs in the text; nearest in spelling bicyclist 0.94 (bicylist)"
    assert told in flat(outcome)
    assert "zzz\nNo keyword by exact: none occurs in the text\n" in outcome.out
    near = done(rankjury("keywords", "somebody strolls", *GIVEN, "--threshold", "0.9"))
    assert "No keyword by embedding: nothing comes nearer than 0.9; nearest " in flat(near)


def test_several_methods_side_by_side(rankjury: Rankjury) -> None:
    rows = cells(done(rankjury("keywords", "bus", *GIVEN, "--method", "exact", "--method", "embedding")))
    assert ["bus", "object", "bus", "1.00", "exact"] in rows and ["bus", "object", "bus", "1.00", "embedding"] in rows


def test_many_texts_are_shown_in_brief(rankjury: Rankjury) -> None:
    put("texts.txt", "\n".join(["bus", "night", "rain", "urban", "pedestrian", "zzz"]))
    outcome = done(rankjury("keywords", "bicyclist", "--file", "texts.txt", *GIVEN, "--method", "exact"))
    assert ["bus", "bus"] in cells(outcome) and ["zzz", "–"] in cells(outcome)
    assert outcome.out.startswith("6 of 7 texts have a keyword by exact; ") and "--json shows" in outcome.out
    check_width(outcome.out)


def test_a_text_that_occurs_twice(rankjury: Rankjury) -> None:
    """Of texts alone, without ids, it is no fault."""
    put("texts.txt", "bus\nnight\nbus\n")
    form = json.loads(done(rankjury("keywords", "--file", "texts.txt", *GIVEN, "--method", "exact", "--json")).out)
    assert [one["text"] for one in form["methods"]["exact"]["texts"]] == ["bus", "night", "bus"]


def test_json(rankjury: Rankjury) -> None:
    form = json.loads(done(rankjury("keywords", "bus", "zzz", *GIVEN, "--method", "exact", "--json")).out)
    assert form["schema"] == "rankjury.keywords/1" and form["vocabulary"]["source"] == "clips.csv"
    assert form["vocabulary"]["groups"]["object"] == ["bicyclist", "bus", "pedestrian"]
    first, second = form["methods"]["exact"]["texts"]
    assert first["mapped"][0]["keyword"] == "bus" and second == {
        "text": "zzz",
        "mapped": [],
        "dropped": [],
        "nearest": [],
    }
    near = json.loads(done(rankjury("keywords", "zzz", *GIVEN, "--json", "-q")).out)["methods"]["embedding"]
    assert near["threshold"] == 0.5 and len(near["texts"][0]["nearest"]) > 1


def test_checked(rankjury: Rankjury) -> None:
    options = ["--check", "queries.jsonl", *GIVEN, "--synonyms", "synonyms.toml"]
    outcome = done(rankjury("keywords", *options, "--method", "exact", "--method", "embedding"))
    assert ["exact", "1.000", "1.000", "1.000", "1.000", "1.000", "3"] in cells(outcome)
    assert "By group, exact" in outcome.out and "Not as people did, exact" not in outcome.out
    check_width(outcome.out)
    bare = done(rankjury("keywords", "--check", "queries.jsonl", *GIVEN, "--method", "exact"))
    assert ["exact", "1.000", "0.500", "0.667", "0.500", "0.667", "3"] in cells(bare)
    assert "Not as people did, exact: 1 text\n" in bare.out
    assert "Measured on the 3 texts of queries.jsonl" in bare.err


def test_checked_within_a_group_and_as_json(rankjury: Rankjury) -> None:
    options = ["--check", "queries.jsonl", *GIVEN, "--method", "exact", "--select", "scene", "--json"]
    form = json.loads(done(rankjury("keywords", *options)).out)["quality"]["exact"]
    assert (form["all"]["f1"], form["all"]["given"], form["mistakes"]) == (1.0, 1, [])
    assert list(form["groups"]) == ["scene"]
    whole = json.loads(done(rankjury("keywords", *options[:-3], "--json")).out)["quality"]["exact"]
    assert whole["mistakes"] == [
        {
            "text": "cyclist entering ego lane",
            "missed": ["object=bicyclist", "actor=entering ego path"],
            "wrong": [],
        }
    ]
    assert whole["groups"]["relation"]["precision"] is None


def test_the_methods_that_are_checked_by_default(rankjury: Rankjury) -> None:
    """keybert maps as embedding does, unless MMR chooses the keywords that it looks at."""
    form = json.loads(done(rankjury("keywords", "--check", "queries.jsonl", *GIVEN, "--json")).out)["quality"]
    assert list(form) == ["exact", "embedding"]


@pytest.mark.skipif(find_spec("keybert") is None, reason="keybert is not installed")
def test_keybert_is_embedding_unless_there_is_a_diversity(rankjury: Rankjury) -> None:
    methods = ["--method", "embedding", "--method", "keybert"]
    form = json.loads(done(rankjury("keywords", "cyclist entering ego lane", *GIVEN, *methods, "--json")).out)[
        "methods"
    ]
    one, other = (
        [{**mapped, "method": ""} for mapped in form[name]["texts"][0]["mapped"]] for name in ("embedding", "keybert")
    )
    assert one == other and one
    chosen = json.loads(done(rankjury("keywords", "bus", *GIVEN, "--diversity", "0.2", "--json")).out)["methods"]
    assert list(chosen) == ["keybert"]
    every = json.loads(done(rankjury("keywords", "--check", "queries.jsonl", *GIVEN, "--diversity", "1", "--json")).out)
    assert list(every["quality"]) == ["exact", "embedding", "keybert"]


def test_a_diversity_without_keybert_is_refused(rankjury: Rankjury) -> None:
    outcome = rankjury("keywords", "bus", *GIVEN, "--method", "exact", "--diversity", "0.2")
    assert outcome.code == 2 and "--diversity" in outcome.err


@pytest.mark.skipif(not (SAMPLE / "queries.jsonl").exists(), reason="the sample is not there")
def test_the_sample(rankjury: Rankjury) -> None:
    """Each method does better than a floor that a fault would break; vectors find what exact matching does not."""
    given = ["--check", str(SAMPLE / "queries.jsonl"), "--vocabulary", str(SAMPLE / "clips.csv")]
    form = json.loads(done(rankjury("keywords", *given, "--synonyms", str(SAMPLE / "synonyms.toml"), "--json")).out)
    figures = {name: one["all"] for name, one in form["quality"].items()}
    assert all(one["n"] >= 60 and one["f1"] > 0.7 for one in figures.values())
    assert figures["exact"]["precision"] > 0.85
    assert all(figures["exact"]["recall"] < one["recall"] for name, one in figures.items() if name != "exact")


@pytest.mark.parametrize("asked", [["bus"], ["--check", "queries.jsonl"]])
def test_synonyms_are_suggested_only_where_none_are_given(rankjury: Rankjury, asked: list[str]) -> None:
    options = [*asked, *GIVEN, "--method", "exact"]
    assert "--synonyms" in done(rankjury("keywords", *options)).err
    assert "--synonyms" not in done(rankjury("keywords", *options, "--synonyms", "synonyms.toml")).err


def test_synonyms_of_other_data_are_noted(rankjury: Rankjury) -> None:
    put("synonyms.toml", '[synonyms]\nzeppelin = ["airship"]\n')
    options = [*GIVEN, "--method", "exact", "--method", "embedding", "--synonyms", "synonyms.toml"]
    outcome = done(rankjury("keywords", "bus", *options))
    assert outcome.warnings == ["warning: synonyms.toml: the vocabulary has no 'zeppelin'"]
    assert rankjury("keywords", "bus", *options, "--quiet").err == ""


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        ([*GIVEN], 2, ["no text was given", "--check"]),
        (["  ", *GIVEN], 2, ["a text is empty", "words to map"]),
        (["bus", "--vocabulary", "none.csv"], 3, ["none.csv", "no such file"]),
        (["bus", *GIVEN, "--check", "queries.jsonl"], 2, ["--check, which has its own"]),
        (["bus", *GIVEN, "--group", "object"], 2, ["cannot read --group 'object'", "a name and columns"]),
        (["bus", *GIVEN, "--group", "who=objekt"], 2, ["unknown column 'objekt'", "object"]),
        (["bus", *GIVEN, "--select", "objekt"], 2, ["unknown group 'objekt'", "object"]),
        (["bus", *GIVEN, "--id", "klip"], 2, ["unknown column 'klip'", "clip"]),
        (["bus", *GIVEN, "--method", "exat"], 2, ["unknown method 'exat'", "exact"]),
        (["bus", *GIVEN, "--model", "nothing"], 2, ["no model or folder is called 'nothing'"]),
        (["bus", *GIVEN, "--threshold", "7"], 2, ["a threshold of 7", "0 to 1"]),
        (["bus", *GIVEN, "--synonyms", "clips.csv"], 3, ["clips.csv", "not TOML"]),
        (["--file", "-", "--vocabulary", "-"], 2, ["standard input was named twice"]),
        (["bus", "--vocabulary", "bare.csv"], 3, ["bare.csv", "no keyword"]),
        (["--check", "bad.jsonl", *GIVEN], 2, ["bad.jsonl:1", "unknown keyword 'buss'", "bus"]),
    ],
)
def test_refused(arguments: list[str], code: int, fragments: list[str], rankjury: Rankjury) -> None:
    put("bare.csv", "clip,object\nc1,\n")
    put("bad.jsonl", '{"query_id": "t1", "text": "x", "keywords": ["buss"]}')
    check_failure(rankjury("keywords", *arguments), code, *fragments)


def test_help_teaches(rankjury: Rankjury) -> None:
    shown = done(rankjury("keywords", "--help")).out
    assert 'rankjury keywords "cyclist entering ego lane" --vocabulary clips.csv' in shown
    assert "[synonyms]" in shown and "--group NAME=COLUMN[,COLUMN]" in shown
    assert public_functions(keywords) == ["keywords_command"]
