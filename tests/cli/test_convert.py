"""rankjury convert: one format into another, and what it says about it."""

import json
from pathlib import Path

import polars as pl
import pytest

from rankjury.io.formats import read
from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, check_failure, put

TARGETS = ["o.trec", "o.json", "o.jsonl", "o.csv", "o.tsv", "o.parquet", "o.trec.gz", "o.json.zst", "o.csv.zst"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("source", "kind"), [("run.trec", "run"), ("gold.qrels", "gold")])
def test_there_and_back(rankjury: Rankjury, source: str, kind: str, target: str) -> None:
    if kind == "gold":
        target = target.replace(".trec", ".qrels")
    form = {".qrels": "trec", ".trec": "trec"}.get("." + target.split(".")[1], target.split(".")[1])
    outcome = rankjury("convert", source, target, "--kind", kind)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"Wrote {target}: 4 rows as {form}\n"
    assert read(target, kind).rows() == read(source, kind).rows()
    assert rankjury("convert", target, "back.txt", "--kind", kind).code == 0
    expected = RUN.replace("tag", "back") if kind == "run" else GOLD
    assert Path("back.txt").read_text() == expected


def test_what_it_was_read_as_is_told(rankjury: Rankjury) -> None:
    assert "(read as a run; --kind says otherwise)" in rankjury("convert", "run.trec", "o.csv").err
    assert "(read as a gold; --kind says otherwise)" in rankjury("convert", "gold.qrels", "o.csv").err
    assert rankjury("convert", "run.trec", "o.csv", "-q").err == ""


def test_kind_is_obeyed(rankjury: Rankjury) -> None:
    put("whole.json", '{"q": {"a": 2, "b": 1}}')
    rankjury("convert", "whole.json", "as-gold.csv")
    rankjury("convert", "whole.json", "as-run.csv", "--kind", "run")
    assert Path("as-gold.csv").read_text() == "query_id,item_id,grade\nq,a,2.0\nq,b,1.0\n"
    assert Path("as-run.csv").read_text() == "query_id,item_id,score\nq,a,2.0\nq,b,1.0\n"


def test_formats_may_be_given(rankjury: Rankjury) -> None:
    put("input", "query_id,item_id,grade Q0 d1 1 0.5 t\n")
    assert rankjury("convert", "input", "output", "--format", "trec", "--to", "jsonl").code == 0
    (line,) = Path("output").read_text().splitlines()
    assert json.loads(line) == {"query_id": "query_id,item_id,grade", "item_id": "d1", "score": 0.5}


def test_standard_input(rankjury: Rankjury) -> None:
    assert rankjury("convert", "-", "o.parquet", stdin=RUN.encode()).code == 0
    assert pl.read_parquet("o.parquet").rows() == read("run.trec", "run").rows()


def test_interleaved_queries_are_grouped(rankjury: Rankjury) -> None:
    put("mixed.csv", "query_id,item_id,score\nb,x,1.5\na,x,2.5\nb,y,0.5\n")
    rankjury("convert", "mixed.csv", "o.csv")
    assert Path("o.csv").read_text().splitlines()[1:] == ["b,x,1.5", "b,y,0.5", "a,x,2.5"]


def test_a_list_of_items_gets_falling_scores(rankjury: Rankjury) -> None:
    put("lists.json", '{"q": ["z", "a", "m"]}')
    rankjury("convert", "lists.json", "o.trec", "--kind", "run")
    assert [line.split()[2:4] for line in Path("o.trec").read_text().splitlines()] == [
        ["z", "1"],
        ["a", "2"],
        ["m", "3"],
    ]


def test_ranks_survive_as_an_order(rankjury: Rankjury) -> None:
    put("ranks.csv", "query_id,item_id,rank\nq,b,2\nq,a,1\nq,c,3\n")
    rankjury("convert", "ranks.csv", "o.trec")
    assert [line.split()[2] for line in Path("o.trec").read_text().splitlines()] == ["a", "b", "c"]


@pytest.mark.parametrize("bad", ["q 1,d1", "q1,d 1", "#q,d1"])
def test_ids_that_the_target_cannot_hold(rankjury: Rankjury, bad: str) -> None:
    put("in.csv", f"query_id,item_id,score\n{bad},0.5\n")
    put("o.trec", "as it was")
    check_failure(rankjury("convert", "in.csv", "o.trec"), 3, "cannot be written to a TREC file", "Write CSV")
    assert Path("o.trec").read_text() == "as it was"
    assert sorted(path.name for path in Path().iterdir()) == ["gold.qrels", "in.csv", "o.trec", "run.trec"]


def test_a_file_may_be_converted_onto_itself(rankjury: Rankjury) -> None:
    assert rankjury("convert", "run.trec", "run.trec").code == 0
    assert Path("run.trec").read_text() == RUN.replace("tag", "run")


def test_huge_whole_grades(rankjury: Rankjury) -> None:
    put("in.csv", "query_id,item_id,grade\nq,d,1e300\n")
    assert rankjury("convert", "in.csv", "o.qrels").code == 0
    assert read("o.qrels", "gold").rows() == [("q", "d", 1e300)]


@pytest.mark.parametrize("target", ["o.trec", "o.csv", "o.jsonl", "o.parquet"])
def test_queries_that_found_nothing_are_reported_where_they_are_lost(rankjury: Rankjury, target: str) -> None:
    put("some.json", '{"q1": {"a": 1.5}, "q2": {}, "q3": {}}')
    outcome = rankjury("convert", "some.json", target, "--kind", "run")
    assert outcome.code == 0
    assert "warning: 2 queries that found nothing" in outcome.err and "q2, q3" in outcome.err


def test_queries_that_found_nothing_are_kept_in_json(rankjury: Rankjury) -> None:
    put("some.json", '{"q1": {"a": 1.5}, "q2": {}}')
    assert "warning" not in rankjury("convert", "some.json", "o.json", "--kind", "run").err
    assert json.loads(Path("o.json").read_text()) == {"q1": {"a": 1.5}, "q2": {}}
