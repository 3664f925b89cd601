"""karat demo: something real before anything is configured."""

import json
import re
from pathlib import Path

import pytest

from .conftest import Karat
from .support import check_failure, check_width, put


def test_the_demo_prints_a_table_and_a_next_step(karat: Karat, folder: Path) -> None:
    before = sorted(folder.iterdir())
    outcome = karat("demo")
    assert outcome.code == 0
    check_width(outcome.out)
    for measure in ("ndcg@10", "ap", "rr", "recall@100", "precision@10", "judged@10"):
        assert re.search(
            rf"^{re.escape(measure)} +bm25 +0\.\d{{3}} *\n +dense +0\.\d{{3}} +[+−]0\.\d{{3}} \[", outcome.out, re.M
        )
    assert re.search(r"^type=keyword +10 ", outcome.out, re.MULTILINE)
    assert outcome.err.splitlines()[-1].startswith("Next: karat demo --keep")
    assert sorted(folder.iterdir()) == before, "without --keep nothing is written"


def test_quiet(karat: Karat) -> None:
    assert karat("demo", "-q").err == ""


def test_kept_files_compare_alike(karat: Karat) -> None:
    shown = karat("demo", "--keep", "kept/here").out
    assert sorted(path.name for path in Path("kept/here").iterdir()) == [
        "bm25.trec",
        "dense.trec",
        "documents.jsonl",
        "qrels.trec",
        "queries.jsonl",
    ]
    files = [f"kept/here/{name}.trec" for name in ("qrels", "bm25", "dense")]
    again = karat("compare", *files, "--slices", "kept/here/queries.jsonl:type")
    assert again.out in shown
    assert again.out.count("\n") > 20


def test_the_next_step_works(karat: Karat) -> None:
    line = karat("demo", "--keep", "kept").err.splitlines()[-1]
    assert karat(*line.removeprefix("Next: karat ").split()).code == 0


def test_queries_and_documents_are_those_of_the_runs(karat: Karat) -> None:
    karat("demo", "--keep", "kept")
    queries = [json.loads(line) for line in Path("kept/queries.jsonl").read_text(encoding="utf-8").splitlines()]
    documents = [json.loads(line) for line in Path("kept/documents.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (len(queries), len(documents)) == (40, 90)
    ids = {str(value) for document in documents for value in document.values()}
    assert {line.split()[2] for line in Path("kept/qrels.trec").read_text().splitlines()} <= ids


@pytest.mark.parametrize("place", ["a-file", "a-file/below"])
def test_a_place_that_cannot_be_a_folder(karat: Karat, place: str) -> None:
    put("a-file", "x")
    check_failure(karat("demo", "--keep", place), 3, place)
