"""Keywords as gold that cannot be used as they are: what is told, where, what was expected, and the exit code."""

import io
import json
from pathlib import Path

import numpy as np
import pytest

from .conftest import Karat
from .support import Outcome, check_failure, put, report_of

CLIPS = (
    "clip,thing,act,place\nc1,car|van,turning,city\nc2,car,turning|braking,city\nc3,bike,braking,\n"
    "c4,bike,turning,rural\nc5,van,,city\nc6,,braking,rural\n"
)
TEXTS = (
    {"query_id": "t1", "text": "a car that is turning", "keywords": ["car", "turning"]},
    {"query_id": "t2", "text": "bicycles", "keywords": ["bike"]},
)
SYNONYMS = '[synonyms]\nbike = ["bicycle"]\n'
HEAD = (
    'measures = ["Recall@1", "Recall@5", "NDCG@5", "MAP"]\nconventions.dialect = "alfa"\n'
    'statistics.resamples = 100\n[gold]\nkind = "keywords"\npath = "clips.csv"\n'
)
ON_CLIPS = '[systems.s]\nkind = "vectors"\npath = "clips.npz"\n'
ON_TEXTS = f'{ON_CLIPS}queries = "texts.npz"\n'
GIVEN = 'queries = "texts.jsonl"\n'
MAPPED = f'{GIVEN}keywords = "mapped"\nmapping.synonyms = "synonyms.toml"\n'


def vectors(name: str, *ids: str) -> None:
    held = io.BytesIO()
    np.savez(held, ids=np.array(ids), v=np.random.default_rng(len(ids)).normal(size=(len(ids), 4)))
    put(name, held.getvalue())


def texts(*rows: object) -> None:
    put("texts.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    put("clips.csv", CLIPS)
    put("synonyms.toml", SYNONYMS)
    texts(*TEXTS)
    vectors("clips.npz", "c1", "c2", "c3", "c4", "c5", "c6")
    vectors("texts.npz", "t1", "t2")


def put_plan(gold: str = "", system: str = ON_CLIPS) -> None:
    put("karat.toml", f"{HEAD}{gold}{system}")


def run(karat: Karat, gold: str = "", system: str = ON_CLIPS) -> Outcome:
    put_plan(gold, system)
    return karat("run")


def check_warned(outcome: Outcome, *fragments: str) -> None:
    """It runs, and one of the warnings says all of it."""
    assert outcome.code == 0 and "Traceback" not in outcome.err, outcome.err
    assert any(all(fragment in line for fragment in fragments) for line in outcome.warnings), outcome.err


@pytest.mark.parametrize(("gold", "system"), [("", ON_CLIPS), (GIVEN, ON_TEXTS), (MAPPED, ON_TEXTS)])
def test_as_they_are_they_can_be_used(karat: Karat, gold: str, system: str) -> None:
    """So that what fails below fails for its one fault."""
    outcome = run(karat, gold, system)
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
        (CLIPS, "groups = {}\n", 2, ["clips.csv", "no group was named", "expected at least one group"]),
        (CLIPS, "groups = { a = [] }\n", 2, ["clips.csv", "the group a has no column", "expected at least one column"]),
        ("clip,thing\nc1,\nc2,n/a\n", "", 3, ["clips.csv", "found no keyword in any column", "expected annotations"]),
        ("clip,a,b\nc1,x,\nc2,y,N/A\n", 'groups = { one = "a", two = "b" }\n', 3,
         ["clips.csv", "1 group has no keyword: two (b)", "expected at least one value in the columns of every group"]),
        ("clip,rain,b\nc1,no,x\nc2,false,y\n", 'groups = { wet = "rain", b = "b" }\n', 3,
         ["1 group has no keyword: wet (rain)"]),
        ("clip,a,b\nc1,x,\nc2,y,\n", 'select = ["b"]\n', 2, ["clips.csv", "unknown group 'b'", "Known: a"]),
        (CLIPS + "c2,car,,\n", "", 3, ["clips.csv", "the id 'c2' stands in rows 2 and 7", "1 row repeats an id",
                                       "expected each item once", "Several values of one item go into one cell"]),
        ("a,b\n1,2\n", "", 3, ["clips.csv", "found the columns a, b; none holds ids", "expected item_id or id"]),
        ("clip,b\n,x\nc1,y\n", "", 3, ["clips.csv", "row 1 has no clip", "expected an id in every row"]),
        ("clip\nc1\n", "", 3, ["clips.csv", "found no column but clip", "expected at least one attribute"]),
        ("clip,b\n", "", 3, ["clips.csv", "found a header but no rows", "expected at least one row"]),
        ("", "", 3, ["clips.csv", "the file is empty"]),
        ("clip,b\nc1,x,y,z\n", "", 3, ["clips.csv"]),
        (b"clip,b\nc1,\xff\xfe\n", "", 3, ["clips.csv"]),
        (CLIPS, 'separator = ""\n', 2, ["karat.toml", "the separator is empty", "expected such as '|'"]),
    ],
)  # fmt: skip
def test_annotations(karat: Karat, content: str | bytes, gold: str, code: int, fragments: list[str]) -> None:
    put("clips.csv", content)
    check_failure(run(karat, gold), code, "karat.toml:4, gold", *fragments)


def test_nested_annotations(karat: Karat) -> None:
    put("clips.jsonl", '{"clip": "c1", "thing": {"a": 1}}\n{"clip": "c2", "thing": {"a": 2}}\n')
    put("karat.toml", HEAD.replace("clips.csv", "clips.jsonl") + ON_CLIPS)
    check_failure(karat("run"), 3, "clips.jsonl", "thing is of type", "expected texts, or lists of texts")


def test_a_column_without_a_keyword_is_no_group_where_none_is_named(karat: Karat) -> None:
    put("clips.csv", "clip,thing,act\nc1,a,\nc2,a,\nc3,b,\n")
    put_plan()
    assert report_of(karat("run", "--json"))["keywords"]["groups"] == ["thing"]


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
        ('mapping.threshold = 1.5\n', 7, "gold.mapping.threshold", ["found 1.5", "less than or equal to 1"]),
        ('mapping.threshold = -0.5\n', 7, "gold.mapping.threshold", ["found -0.5", "greater than or equal to 0"]),
        ('keywords = "given"\n', 7, "gold.keywords", ["is for texts, but queries names no file of them"]),
        (f'{GIVEN}keywords = "mapt"\n', 8, "gold.keywords", ["found 'mapt'", "'given' or 'mapped'"]),
        (f"{GIVEN}sample = 2\n", 8, "gold.sample", ["is for items that are queries"]),
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
def test_keys(karat: Karat, gold: str, line: int, key: str, fragments: list[str]) -> None:
    check_failure(run(karat, gold, ON_TEXTS if GIVEN in gold else ON_CLIPS), 2, f"karat.toml:{line}, {key}", *fragments)


def test_an_unknown_group_where_columns_are_groups(karat: Karat) -> None:
    """What groups there are is known only when the table was read."""
    check_failure(run(karat, 'select = ["thin"]\n'), 2, "clips.csv", "unknown group 'thin'", "Did you mean thing?")


def test_a_sample_of_more_than_there_are(karat: Karat) -> None:
    fragments = ["a sample of 20 from 6", "expected at most 6", "Leave the size of the sample away"]
    check_failure(run(karat, "sample = 20\n"), 3, "karat.toml:4, gold", *fragments)


def test_several_faults_are_told_together(karat: Karat) -> None:
    outcome = run(karat, 'match = "most"\nmapping.method = "exakt"\nkeywords = "given"\n')
    first, *others = outcome.err.splitlines()
    assert (outcome.code, first) == (2, "error: karat.toml: 3 faults in the plan")
    told = [one.split(":")[1].split(", ")[1] for one in others]
    assert told == ["gold.match", "gold.mapping", "gold.keywords"]


# --- vectors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gold", "system"), [("", ON_CLIPS), (GIVEN, ON_TEXTS)])
def test_clips_without_vector_and_vectors_without_clip(karat: Karat, gold: str, system: str) -> None:
    vectors("clips.npz", "c1", "c2", "c3", "c4", "z8", "z9")
    outcome = run(karat, gold, system)
    check_warned(outcome, "s: 2 annotated items have no vector, and cannot be found: c5, c6")
    check_warned(outcome, "s: 2 vectors are of no annotated item, and never relevant: z8, z9")


def test_the_same_in_json(karat: Karat) -> None:
    vectors("clips.npz", "c1", "c2", "c3", "c4", "c5", "z9")
    put_plan()
    told = report_of(karat("run", "--json"))["warnings"]
    assert any("no vector" in one and "c6" in one for one in told) and any("z9" in one for one in told)


def test_a_query_clip_without_vector(karat: Karat) -> None:
    """It cannot ask, and counts 0; the others are not touched by that."""
    vectors("clips.npz", "c1", "c2", "c3", "c4", "c6")
    outcome = run(karat)
    check_warned(outcome, "1 annotated item has no vector", "c5")
    check_warned(outcome, "1 judged query is missing from the ranking (c5) and scored 0")


def test_a_query_text_without_vector(karat: Karat) -> None:
    vectors("texts.npz", "t1", "t7")
    outcome = run(karat, GIVEN, ON_TEXTS)
    check_warned(outcome, "s: 1 query has no vector: t2")
    check_warned(outcome, "1 judged query is missing from the ranking (t2)")


@pytest.mark.parametrize(("gold", "system"), [("", ON_CLIPS), (GIVEN, ON_TEXTS)])
def test_no_query_has_a_vector(karat: Karat, gold: str, system: str) -> None:
    vectors("clips.npz", "x1", "x2")
    vectors("texts.npz", "x1", "x2")
    check_failure(run(karat, gold, system), 3, "no query has a vector", "x1, x2", "karat.toml")


def test_vectors_of_another_width(karat: Karat) -> None:
    held = io.BytesIO()
    np.savez(held, ids=np.array(["t1", "t2"]), v=np.ones((2, 3)))
    put("texts.npz", held.getvalue())
    check_failure(run(karat, GIVEN, ON_TEXTS), 3, "texts.npz", "3", "4")


# --- queries ------------------------------------------------------------------------------------------------------


def test_a_clip_without_a_keyword_in_the_selected_groups(karat: Karat) -> None:
    """Everything would be relevant to it."""
    outcome = run(karat, 'select = ["act"]\n')
    check_warned(outcome, "1 query has no keyword in the selected groups (everything would be relevant), left out: c5")
    assert "5 queries, 1 system" in outcome.out


def test_as_an_error(karat: Karat) -> None:
    outcome = run(karat, 'select = ["act"]\nwithout_keywords = "error"\n')
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
            ["the query 't1' stands at", "expected each id once"],
        ),
        ({"text": "x", "keywords": ["bike"]}, 3, ["no query_id", "expected an id on every line"]),
    ],
)
def test_a_text_that_cannot_be_used(karat: Karat, row: object, code: int, fragments: list[str]) -> None:
    """File and line are named."""
    texts(TEXTS[0], row)
    check_failure(run(karat, GIVEN, ON_TEXTS), code, "texts.jsonl:2", *fragments)


def test_a_text_that_is_not_there(karat: Karat) -> None:
    """It is needed only where it is mapped."""
    texts(TEXTS[0], {"query_id": "t2", "keywords": ["bike"]})
    assert run(karat, GIVEN, ON_TEXTS).code == 0
    fragments = ["the query 't2' has no text", "expected a text for every query"]
    check_failure(run(karat, MAPPED, ON_TEXTS), 3, "texts.jsonl:2", *fragments)


def test_a_name_that_two_groups_have(karat: Karat) -> None:
    put("clips.csv", "clip,thing,act\nc1,car,turning\nc2,turning,bike\nc3,x,y\n")
    texts(TEXTS[0])
    fragments = ["the keyword 'turning' stands in 2 groups", "expected thing=turning or act=turning"]
    check_failure(run(karat, GIVEN, ON_TEXTS), 3, "texts.jsonl:1", *fragments)


@pytest.mark.parametrize("name", ["texts.jsonl", "texts.txt"])
def test_given_without_any_given(karat: Karat, name: str) -> None:
    texts({"query_id": "t1", "text": "a car"})
    put("texts.txt", "a car\n")
    outcome = run(karat, f'queries = "{name}"\nkeywords = "given"\n', ON_TEXTS)
    check_failure(outcome, 3, name, "no keywords", 'such as "keywords": [')


def test_a_text_that_maps_to_nothing(karat: Karat) -> None:
    texts({"query_id": "t1", "text": "a car"}, {"query_id": "t2", "text": "elephants"})
    outcome = run(karat, MAPPED, ON_TEXTS)
    how = "karat keywords TEXT --vocabulary clips.csv --method exact --synonyms synonyms.toml"
    check_warned(outcome, f"1 text maps to no keyword by exact, left out: t2 ({how} shows why)")
    assert sum("t2" in line for line in outcome.warnings) == 1, "told once"


def test_no_text_maps_to_anything(karat: Karat) -> None:
    texts({"query_id": "t1", "text": "giraffes"}, {"query_id": "t2", "text": "elephants"})
    outcome = run(karat, MAPPED, ON_TEXTS)
    check_failure(outcome, 3, "texts.jsonl", "2 queries have no keyword", "t1, t2", "lower the threshold")


@pytest.mark.parametrize("query", ["c99", "c5"])
def test_a_query_to_show_that_there_is_not(karat: Karat, query: str) -> None:
    """Neither one that nobody asks, nor one that was left out for want of a keyword."""
    check_warned(run(karat, f'select = ["act"]\nshow = ["c1", "{query}"]\n'), "show", query)


# --- thresholds ---------------------------------------------------------------------------------------------------


def test_a_threshold_on_a_random_order(karat: Karat) -> None:
    outcome = run(karat, "", '[systems.s]\nkind = "random"\nthreshold = 0.15\n')
    check_failure(outcome, 2, "karat.toml:9, systems.s.threshold", "is for systems that have scores")


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
def test_a_threshold_on_a_run_without_scores(karat: Karat, name: str, content: str) -> None:
    put(name, content)
    assert run(karat, "", f'[systems.s]\npath = "{name}"\n').code == 0, "without a threshold it is as good as any"
    outcome = run(karat, "", f'[systems.s]\npath = "{name}"\nthreshold = 0.15\n')
    check_failure(outcome, 2, name, "a threshold, but the ranking has no scores", "expected scores")


def test_a_threshold_that_is_no_number(karat: Karat) -> None:
    outcome = run(karat, "", f'{ON_CLIPS}threshold = "high"\n')
    check_failure(outcome, 2, "karat.toml:10, systems.s.threshold", "found 'high'", "expected a valid number")


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [("clips.csv", "nowhere.csv"), ("texts.jsonl", "nowhere.jsonl"), ("synonyms.toml", "nowhere.toml")],
)
def test_a_missing_file(karat: Karat, old: str, new: str) -> None:
    put("karat.toml", f"{HEAD}{MAPPED}{ON_TEXTS}".replace(old, new))
    check_failure(karat("run"), 3, f"{new} (karat.toml:4, gold): no such file", "Check the path")


def test_a_missing_file_of_vectors(karat: Karat) -> None:
    outcome = run(karat, "", ON_CLIPS.replace("clips.npz", "nowhere.npz"))
    check_failure(outcome, 3, "nowhere.npz (karat.toml:9, systems.s.path): no such file")


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
def test_synonyms_that_cannot_be_read(karat: Karat, content: str | bytes, code: int, fragments: list[str]) -> None:
    put("synonyms.toml", content)
    check_failure(run(karat, MAPPED, ON_TEXTS), code, "synonyms.toml", "karat.toml:4, gold", *fragments)


def test_synonyms_of_an_unknown_keyword(karat: Karat) -> None:
    """They may be made for more than one table; but it may be a slip."""
    put("synonyms.toml", f'{SYNONYMS}bikes = ["cycle"]\n')
    check_warned(run(karat, MAPPED, ON_TEXTS), "synonyms.toml", "the vocabulary has no 'bikes' (bike?)")


# --- what holds for all of it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [["--json"], ["-q"], ["-o", "there"]])
def test_nothing_is_written_where_it_fails(karat: Karat, folder: Path, form: list[str]) -> None:
    put("karat.toml", 'outputs = ["report.json", "report.md"]\n' + HEAD + 'select = ["thin"]\n' + ON_CLIPS)
    before = set(folder.rglob("*"))
    check_failure(karat("run", *form), 2, "unknown group 'thin'")
    assert set(folder.rglob("*")) == before


def test_quiet_warns_of_nothing(karat: Karat) -> None:
    put_plan('select = ["act"]\n')
    assert karat("run", "-q").err == ""


def test_debug_shows_where(karat: Karat) -> None:
    put_plan('select = ["thin"]\n')
    outcome = karat("run", "--debug")
    assert outcome.code == 2 and "Traceback" in outcome.err and "unknown group 'thin'" in outcome.err
