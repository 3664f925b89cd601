"""rankjury label: counts, files, agreement with people, explanations, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from rankjury.cli import label
from tests import paths
from tests.cli.conftest import Rankjury
from tests.cli.support import Outcome, check_failure, check_width, public_functions, put

ITEMS = [
    {
        "asin": "A1",
        "title": "Wrap dress",
        "store": "Marlo",
        "categories": ["Clothing", "Women", "Dresses"],
        "price": "$9",
    },
    {"asin": "A2", "title": "Red cotton shirt", "store": "Vell", "categories": ["Clothing", "Men", "Shirts"]},
    {"asin": "A3", "title": "Socks", "store": "Vell", "details": {"Color": "Red"}, "features": ["Soft cotton"]},
]
QUERIES = [
    {"id": "q1", "text": "women's dress", "type": "audience"},
    {"id": "q2", "text": "red cotton shirt", "type": "attribute"},
    {"id": "q3", "text": "Marlo", "type": "brand"},
]
GIVEN = ["items.json", "queries.jsonl"]
SAMPLE = paths.SAMPLES / "fashion"


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    put("items.json", json.dumps(ITEMS))
    put("queries.jsonl", "\n".join(map(json.dumps, QUERIES)))
    put(
        "human.jsonl",
        '{"query_id": "q1", "item_id": "A1", "grade": 3}\n{"query_id": "q2", "item_id": "A2", "grade": 3}',
    )


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


def written(name: str) -> dict[tuple[str, str], int]:
    rows = (json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines())
    return {(row["query_id"], row["item_id"]): row["grade"] for row in rows}


GRADES = {("q1", "A1"): 2, ("q2", "A2"): 3, ("q2", "A3"): 2, ("q3", "A1"): 1}


def test_labels_are_written_and_counted(rankjury: Rankjury) -> None:
    outcome = done(rankjury("label", *GIVEN, "-o", "labels.jsonl"))
    assert written("labels.jsonl") == GRADES
    assert outcome.err.splitlines() == [
        "warning: 1 of 3 items have no specific category: their titles were used",
        "Wrote labels.jsonl: 4 pairs",
        "Next: rankjury evaluate labels.jsonl RUN -m 'ndcg(gain=exp)@10' -m 'recall(rel=2)@10'",
    ]
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["audience", "1", "0", "1", "0", "2"] in lines
    assert ["all", "3", "1", "2", "1", "5"] in lines
    assert "Nothing relevant (grade 2 or 3) for q3 (Marlo)" in outcome.out


def test_a_catalogue_by_id_and_queries_of_a_plain_text_file(rankjury: Rankjury) -> None:
    """Both were dead ends: the catalogue was one product without an id, the ids were numbers of lines."""
    keyed = {one["asin"]: {name: value for name, value in one.items() if name != "asin"} for one in ITEMS}
    put("items.json", json.dumps(keyed))
    put("queries.txt", "\n".join(f"{one['id']}\t{one['text']}" for one in QUERIES))
    done(rankjury("label", "items.json", "queries.txt", "-o", "labels.jsonl"))
    assert written("labels.jsonl") == GRADES


def test_what_comes_next_works(rankjury: Rankjury) -> None:
    done(rankjury("label", *GIVEN, "-o", "labels.jsonl"))
    put("best.trec", "q1 Q0 A1 1 3 t\nq2 Q0 A2 1 3 t\nq2 Q0 A3 2 2 t\nq3 Q0 A1 1 3 t\n")
    outcome = done(
        rankjury("evaluate", "labels.jsonl", "best.trec", "-m", "ndcg(gain=exp)@10", "-m", "recall(rel=2)@10")
    )
    assert "1.000" in outcome.out


def test_zeros_and_other_forms(rankjury: Rankjury) -> None:
    done(rankjury("label", *GIVEN, "-o", "labels.jsonl", "--zeros"))
    found = written("labels.jsonl")
    assert len(found) == 9 and {pair: grade for pair, grade in found.items() if grade} == GRADES
    done(rankjury("label", *GIVEN, "-o", "labels.qrels"))
    assert Path("labels.qrels").read_text().splitlines()[1] == "q2 0 A2 3"


def test_the_catalogue_for_other_commands(rankjury: Rankjury) -> None:
    outcome = done(rankjury("label", *GIVEN, "-o", "labels.jsonl", "--catalogue-out", "items.jsonl"))
    assert "Wrote items.jsonl" in outcome.err and "rankjury embed items.jsonl --text title,bullets" in outcome.err
    items = pl.read_ndjson("items.jsonl")
    assert items["id"].to_list() == ["A1", "A2", "A3"] and items["price"].to_list() == [9.0, None, None]
    assert items["category"].to_list() == ["Dresses", "Shirts", None]
    again = done(rankjury("label", "items.jsonl", "queries.jsonl", "-o", "again.jsonl"))
    assert "Wrote again.jsonl: 4 pairs" in again.err and written("again.jsonl") == GRADES


def test_people_override_and_agreement_is_told(rankjury: Rankjury) -> None:
    outcome = done(rankjury("label", *GIVEN, "-o", "labels.jsonl", "--human", "human.jsonl"))
    assert written("labels.jsonl") == {**GRADES, ("q1", "A1"): 3}
    assert "1 of 2 pairs graded alike by rules and people; people's grades stand" in outcome.out
    assert "κ 0.0000" in outcome.out
    assert ["q1", "A1", "2", "3", "category"] in [line.split()[:5] for line in outcome.out.splitlines()]
    form = json.loads(done(rankjury("label", *GIVEN, "--human", "human.jsonl", "--json")).out)["agreement"]
    assert (form["pairs"], form["exact"], form["kappa"]["value"]) == (2, 1, 0.0)
    assert form["confusion"][2] == [0, 0, 0, 1] and form["disagreements"][0]["rule"] == "category"


def test_the_sample(rankjury: Rankjury) -> None:
    given = [str(SAMPLE / "catalogue.jsonl"), str(SAMPLE / "queries.jsonl"), "--human", str(SAMPLE / "human.jsonl")]
    outcome = done(rankjury("label", *given, "-o", "labels.jsonl"))
    check_width(outcome.out)
    assert "39 of 40 pairs graded alike" in outcome.out and "κ 0.967 [" in outcome.out
    assert {line.split()[0] for line in outcome.out.splitlines() if line.strip()} > {"category", "attribute", "all"}


def test_json_and_quiet(rankjury: Rankjury) -> None:
    outcome = done(rankjury("label", *GIVEN, "-o", "labels.jsonl", "--json", "--quiet"))
    form = json.loads(outcome.out)
    assert outcome.err == "" and form["schema"] == "rankjury.labels/1"
    assert (form["queries"], form["items"], form["grades"]) == (3, 3, {"0": 5, "1": 1, "2": 2, "3": 1})
    assert form["without_relevant"] == ["q3"] and form["written"] == ["labels.jsonl"] and form["agreement"] is None
    assert [one["type"] for one in form["types"]] == ["audience", "attribute", "brand"]


def test_without_an_output_nothing_is_written(rankjury: Rankjury) -> None:
    before = sorted(Path().iterdir())
    assert "Nothing was written: -o labels.jsonl keeps the labels" in done(rankjury("label", *GIVEN)).err
    assert sorted(Path().iterdir()) == before


def test_explained(rankjury: Rankjury) -> None:
    of_query = done(rankjury("label", *GIVEN, "--explain", "q2"))
    assert "category: shirt" in of_query.out and "attributes: red (color), cotton (material)" in of_query.out
    rows = [line.split()[:2] for line in of_query.out.splitlines()]
    assert ["3", "A2"] in rows and ["2", "A3"] in rows
    assert "Nothing was written" not in of_query.err
    of_pair = done(rankjury("label", *GIVEN, "--explain", "q2,A3"))
    cells = [line.split() for line in of_pair.out.splitlines()]
    assert ["shirt", "category", "–"] in cells and ["cotton", "attribute", "bullets"] in cells
    assert "A3: grade 2, by the rule: attributes" in of_pair.out
    by_person = done(rankjury("label", *GIVEN, "--explain", "q1,A1", "--human", "human.jsonl"))
    assert "A1: grade 3, given by a person" in by_person.out
    form = json.loads(done(rankjury("label", *GIVEN, "--explain", "q2,A1", "--json")).out)["explained"]
    assert form["labels"][0]["grade"] == 0
    assert [one["found_in"] for one in form["matches"]] == [None, None, None]
    check_failure(rankjury("label", *GIVEN, "--explain", "q9"), 2, "unknown query 'q9'", "q1")
    check_failure(rankjury("label", *GIVEN, "--explain", "q2,A9"), 2, "unknown item 'A9'", "A1")


def test_synonyms_ids_and_categories_of_ones_own(rankjury: Rankjury) -> None:
    put("mine.toml", '[category]\nsame = [["frock", "dress"]]\n')
    put("queries.jsonl", '{"id": "q1", "text": "frock", "category": "Shirts"}')
    done(rankjury("label", *GIVEN, "-o", "labels.jsonl", "--synonyms", "mine.toml"))
    assert written("labels.jsonl") == {("q1", "A1"): 2}
    done(rankjury("label", *GIVEN, "-o", "labels.jsonl", "--query-category", "--id", "asin"))
    assert written("labels.jsonl") == {("q1", "A2"): 2}


def test_a_file_that_is_there_is_left_when_something_is_wrong(rankjury: Rankjury) -> None:
    put("labels.jsonl", "kept")
    put("human.jsonl", '{"query_id": "q1", "item_id": "A1", "grade": 7}')
    outcome = rankjury("label", *GIVEN, "-o", "labels.jsonl", "--human", "human.jsonl")
    check_failure(outcome, 3, "human.jsonl:1", "q1 with item A1 is 7", "0, 1, 2 or 3")
    assert Path("labels.jsonl").read_text() == "kept"


def test_changed_queries_under_a_pinned_version(rankjury: Rankjury) -> None:
    rows = [{**one, "category": "Dresses", "version": "1"} for one in QUERIES]
    put("queries.jsonl", "\n".join(map(json.dumps, rows)))
    done(rankjury("pin", "queries.jsonl"))
    done(rankjury("label", *GIVEN, "-o", "labels.jsonl"))
    for change in ({"text": "blue shirt"}, {"category": "Shirts"}):
        put("queries.jsonl", "\n".join(map(json.dumps, [rows[0], rows[1] | change, rows[2]])))
        check_failure(rankjury("label", *GIVEN, "-o", "new.jsonl"), 3, "queries.jsonl: ", "changed: q2;", "new version")
    put("queries.jsonl", "\n".join(json.dumps(one | {"version": "2"}) for one in rows))
    done(rankjury("label", *GIVEN))
    assert written("labels.jsonl") == GRADES and not Path("new.jsonl").exists()
    done(rankjury("label", "items.json", "-", stdin=b'{"id": "q1", "text": "dress", "version": "1"}'))


def test_a_product_without_texts_does_not_end_it(rankjury: Rankjury) -> None:
    put("items.json", json.dumps([*ITEMS, {"asin": "A4", "store": "Marlo"}, {"asin": "A5"}]))
    outcome = done(rankjury("label", *GIVEN, "-o", "labels.jsonl"))
    assert written("labels.jsonl") == {**GRADES, ("q3", "A4"): 1}
    assert outcome.warnings[0] == (
        "warning: 2 of 5 items have no title, bullets or description; only their other fields are used: A4, A5; "
        "omitted, as they have no other fields either: A5"
    )


@pytest.mark.parametrize(("options", "last"), [([], "Nothing relevant"), (["--json"], "}")])
def test_what_was_written_is_told_after_what_was_found(
    options: list[str], last: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    command = [sys.executable, "-m", "rankjury", "label", *GIVEN, "-o", "labels.jsonl", *options]
    both = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    told = both.decode().splitlines()
    assert told[-4].startswith(last) and told[-3].startswith("warning: "), told
    assert told[-2].startswith("Wrote labels.jsonl"), told


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        (["none.json", "queries.jsonl"], 3, ["none.json", "no such file"]),
        (["-", "-"], 2, ["standard input was named twice"]),
        ([*GIVEN, "-o", "labels.html"], 2, ["suffix", ".jsonl"]),
        ([*GIVEN, "-o", "no/labels.jsonl"], 3, ["no such folder"]),
        ([*GIVEN, "--catalogue-out", "items.qrels"], 2, ["suffix"]),
        ([*GIVEN, "--id", "azin"], 2, ["unknown field 'azin'", "asin"]),
        (["queries.jsonl", "queries.jsonl"], 3, ["queries.jsonl", "no item has a text"]),
        ([*GIVEN, "--synonyms", "items.json"], 3, ["items.json", "not TOML"]),
    ],
)
def test_refused(arguments: list[str], code: int, fragments: list[str], rankjury: Rankjury) -> None:
    check_failure(rankjury("label", *arguments, stdin=b"[]"), code, *fragments)


def test_every_option_is_told_of(rankjury: Rankjury) -> None:
    shown = done(rankjury("label", "--help")).out
    assert "asin" in shown and "--explain QUERY[,ITEM]" in shown
    assert public_functions(label) == ["label_command"]
    assert label.EPILOG.startswith("Examples:") and "rankjury label catalogue.jsonl queries.jsonl" in label.EPILOG
