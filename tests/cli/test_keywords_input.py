"""Golds of keywords by the command line: annotations, keys and vectors that cannot be used."""

import io
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Rankjury
from tests.cli.keyword_files import (
    CLIPS,
    GIVEN,
    HEAD,
    MAPPED,
    ON_CLIPS,
    ON_TEXTS,
    check_warned,
    put_files,
    put_plan,
    run,
    vectors,
)
from tests.cli.support import check_failure, put, report_of


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    put_files()


@pytest.mark.parametrize(("gold", "system"), [("", ON_CLIPS), (GIVEN, ON_TEXTS), (MAPPED, ON_TEXTS)])
def test_as_they_are_they_can_be_used(rankjury: Rankjury, gold: str, system: str) -> None:
    """So that what fails below fails for its one fault."""
    outcome = run(rankjury, gold, system)
    assert outcome.code == 0, outcome.err
    assert not any("vector" in line or "keyword" in line for line in outcome.warnings)


# --- the table of annotations -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "gold", "code", "fragments"),
    [
        (CLIPS, 'groups = { thing = "thing", act = "acts" }\n', 2,
         ["clips.csv, group act", "unknown column 'acts'", "Did you mean act?"]),
        (CLIPS, 'groups = { a = ["thing", "colour"] }\n', 2,
         ["clips.csv, group a", "unknown column 'colour'", "Known: act, place, thing"]),
        (CLIPS, 'id = "clipp"\n', 2, ["clips.csv", "unknown column 'clipp'", "Did you mean clip?"]),
        (CLIPS, "groups = {}\n", 2, ["clips.csv", "no group was given", "expected at least one group"]),
        (CLIPS, "groups = { a = [] }\n", 2, ["clips.csv", "the group a has no column", "expected at least one column"]),
        ("clip,thing\nc1,\nc2,n/a\n", "", 3, ["clips.csv", "found no keyword in any column", "expected annotations"]),
        ("clip,a,b\nc1,x,\nc2,y,N/A\n", 'groups = { one = "a", two = "b" }\n', 3,
         ["clips.csv", "1 group has no keyword: two (b)", "expected at least one value in the columns of every group"]),
        ("clip,rain,b\nc1,no,x\nc2,false,y\n", 'groups = { wet = "rain", b = "b" }\n', 3,
         ["1 group has no keyword: wet (rain)"]),
        ("clip,a,b\nc1,x,\nc2,y,\n", 'select = ["b"]\n', 2, ["clips.csv", "unknown group 'b'", "Known: a"]),
        (CLIPS + "c2,car,,\n", "", 3, ["clips.csv", "duplicate id 'c2' in rows 2 and 7", "1 row repeats an id",
                                       "expected each item once", "Put several values of one item into one cell"]),
        ("a,b\n1,2\n", "", 3, ["clips.csv", "found the columns a, b; none holds ids", "expected item_id or id"]),
        ("clip,b\n,x\nc1,y\n", "", 3, ["clips.csv", "row 1 has no clip", "expected an id in every row"]),
        ("clip\nc1\n", "", 3, ["clips.csv", "found no column but clip", "expected at least one attribute"]),
        ("clip,b\n", "", 3, ["clips.csv", "found a header but no rows", "expected at least one row"]),
        ("", "", 3, ["clips.csv", "the file is empty"]),
        ("clip,b\nc1,x,y,z\n", "", 3, ["clips.csv"]),
        (b"clip,b\nc1,\xff\xfe\n", "", 3, ["clips.csv"]),
        (CLIPS, 'separator = ""\n', 2, ["rankjury.toml", "the separator is empty", "expected such as '|'"]),
    ],
)  # fmt: skip
def test_annotations(rankjury: Rankjury, content: str | bytes, gold: str, code: int, fragments: list[str]) -> None:
    put("clips.csv", content)
    check_failure(run(rankjury, gold), code, "rankjury.toml:4, gold", *fragments)


def test_nested_annotations(rankjury: Rankjury) -> None:
    put("clips.jsonl", '{"clip": "c1", "thing": {"a": 1}}\n{"clip": "c2", "thing": {"a": 2}}\n')
    """The fields of an object are columns."""
    put("rankjury.toml", HEAD.replace("clips.csv", "clips.jsonl") + ON_CLIPS)
    assert report_of(rankjury("run", "--json"))["keywords"]["groups"] == ["a"]


def test_a_column_without_a_keyword_is_no_group_where_none_is_named(rankjury: Rankjury) -> None:
    put("clips.csv", "clip,thing,act\nc1,a,\nc2,a,\nc3,b,\n")
    put_plan()
    assert report_of(rankjury("run", "--json"))["keywords"]["groups"] == ["thing"]


# --- keys of the plan ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "line", "key", "fragments"),
    [
        ('groups = { thing = "thing" }\nselect = ["thin"]\n', 8, "gold.select",
         ["unknown group 'thin'", "Did you mean thing?"]),
        ('match = "most"\n', 7, "gold.match",
         ["the match is 'most'", "expected all, any, at-least-2 (3, 4 …) or graded"]),
        ('match = "at-least-0"\n', 7, "gold.match", ["'at-least-0'", "expected all, any"]),
        ('match = "at-least-two"\n', 7, "gold.match", ["'at-least-two'"]),
        (f'{GIVEN}mapping.method = "exakt"\n', 8, "gold.mapping", ["unknown method 'exakt'", "Did you mean exact?"]),
        (f'{GIVEN}mapping.check = ["keyburt"]\n', 8, "gold.mapping", ["unknown method 'keyburt'", "mean keybert?"]),
        (f'{GIVEN}mapping.diversity = 0.2\n', 8, "gold.mapping", ["diversity", "keybert", "exact"]),
        ('mapping.threshold = 1.5\n', 7, "gold.mapping.threshold", ["found 1.5", "less than or equal to 1"]),
        ('mapping.threshold = -0.5\n', 7, "gold.mapping.threshold", ["found -0.5", "greater than or equal to 0"]),
        ('keywords = "given"\n', 7, "gold.keywords", ["is for texts, but queries is not set"]),
        (f'{GIVEN}keywords = "mapt"\n', 8, "gold.keywords", ["found 'mapt'", "'given' or 'mapped'"]),
        (f"{GIVEN}sample = 2\n", 8, "gold.sample", ["is for item queries"]),
        ("sample = 0\n", 7, "gold.sample", ["found 0", "greater than or equal to 1"]),
        ("seed = -1\n", 7, "gold.seed", ["found -1"]),
        ('without_keywords = "drop"\n', 7, "gold.without_keywords", ["found 'drop'", "'skip', 'all' or 'error'"]),
        ('selects = ["act"]\n', 7, "gold.selects", ["unknown key 'selects'", "Did you mean select"]),
        ('show = "c1"\n', 7, "gold.show", ["found 'c1'", "expected a valid list"]),
        pytest.param(
            'mapping.methode = "exact"\n', 7, "gold.mapping.methode", ["unknown key 'methode'", "Did you mean method"]
        ),
    ],
)  # fmt: skip
def test_keys(rankjury: Rankjury, gold: str, line: int, key: str, fragments: list[str]) -> None:
    check_failure(
        run(rankjury, gold, ON_TEXTS if GIVEN in gold else ON_CLIPS), 2, f"rankjury.toml:{line}, {key}", *fragments
    )


def test_an_unknown_group_where_columns_are_groups(rankjury: Rankjury) -> None:
    """What groups there are is known only when the table was read."""
    check_failure(run(rankjury, 'select = ["thin"]\n'), 2, "clips.csv", "unknown group 'thin'", "Did you mean thing?")


def test_a_sample_of_more_than_there_are(rankjury: Rankjury) -> None:
    fragments = ["a sample of 20 from 6", "expected at most 6", "Omit the sample size"]
    check_failure(run(rankjury, "sample = 20\n"), 3, "rankjury.toml:4, gold", *fragments)


def test_several_faults_are_told_together(rankjury: Rankjury) -> None:
    outcome = run(rankjury, 'match = "most"\nmapping.method = "exakt"\nkeywords = "given"\n')
    first, *others = outcome.err.splitlines()
    assert (outcome.code, first) == (2, "error: rankjury.toml: 3 faults in the plan")
    told = [one.split(":")[1].split(", ")[1] for one in others]
    assert told == ["gold.match", "gold.mapping", "gold.keywords"]


# --- vectors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gold", "system"), [("", ON_CLIPS), (GIVEN, ON_TEXTS)])
def test_clips_without_vector_and_vectors_without_clip(rankjury: Rankjury, gold: str, system: str) -> None:
    vectors("clips.npz", "c1", "c2", "c3", "c4", "z8", "z9")
    outcome = run(rankjury, gold, system)
    check_warned(outcome, "s: 2 annotated items have no vector, and cannot be retrieved: c5, c6")
    check_warned(outcome, "s: 2 vectors are of no annotated item, and never relevant: z8, z9")


def test_the_same_in_json(rankjury: Rankjury) -> None:
    vectors("clips.npz", "c1", "c2", "c3", "c4", "c5", "z9")
    put_plan()
    told = [one["text"] for one in report_of(rankjury("run", "--json"))["warnings"]]
    assert any("no vector" in one and "c6" in one for one in told) and any("z9" in one for one in told)


def test_a_query_clip_without_vector(rankjury: Rankjury) -> None:
    """It cannot ask, and counts 0; the others are not touched by that."""
    vectors("clips.npz", "c1", "c2", "c3", "c4", "c6")
    outcome = run(rankjury)
    check_warned(outcome, "1 annotated item has no vector", "c5")
    check_warned(outcome, "1 judged query is missing from the ranking (c5) and scored 0")


def test_a_query_text_without_vector(rankjury: Rankjury) -> None:
    vectors("texts.npz", "t1", "t7")
    outcome = run(rankjury, GIVEN, ON_TEXTS)
    check_warned(outcome, "s: 1 query has no vector: t2")
    check_warned(outcome, "1 judged query is missing from the ranking (t2)")


@pytest.mark.parametrize(("gold", "system"), [("", ON_CLIPS), (GIVEN, ON_TEXTS)])
def test_no_query_has_a_vector(rankjury: Rankjury, gold: str, system: str) -> None:
    vectors("clips.npz", "x1", "x2")
    vectors("texts.npz", "x1", "x2")
    check_failure(run(rankjury, gold, system), 3, "no query has a vector", "x1, x2", "rankjury.toml")


def test_vectors_of_another_width(rankjury: Rankjury) -> None:
    held = io.BytesIO()
    np.savez(held, ids=np.array(["t1", "t2"]), v=np.ones((2, 3)))
    put("texts.npz", held.getvalue())
    check_failure(run(rankjury, GIVEN, ON_TEXTS), 3, "texts.npz", "3", "4")


# --- queries ------------------------------------------------------------------------------------------------------
