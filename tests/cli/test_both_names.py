"""A measure whose name misleads is shown with its common name: in the terminal, Markdown, CSV and JSON."""

import csv
import json
from pathlib import Path

import pytest

from rankjury.measures.measure import common_names_note
from tests.cli.conftest import Rankjury
from tests.cli.support import check_width, put, tables_of

LEGEND = common_names_note({"Recall@5": "precision@5"})
OTHER = "q1 Q0 d2 1 2.5 tag\nq1 Q0 d1 2 1.5 tag\nq2 Q0 d9 1 0.9 tag\nq2 Q0 d1 2 0.5 tag\n"
ALFA = ("-m", "Recall@5,Precision@5,NDCG@5", "--dialect", "alfa")


def _first_words(text: str) -> list[str]:
    """Return the text before the first gap of each line."""
    return [line.partition("  ")[0].strip() for line in text.splitlines()]


def test_evaluate(rankjury: Rankjury) -> None:
    outcome = rankjury("evaluate", "gold.qrels", "run.trec", *ALFA, "--no-ci")
    check_width(outcome.out)
    assert _first_words(tables_of(outcome.out))[0] == "measure"
    assert _first_words(tables_of(outcome.out))[2:] == [
        "Recall@5 = precision@5",
        "Precision@5 = recall@5",
        "NDCG@5",
        LEGEND,
    ]
    assert "Recall@5 = precision@5  0.3000  2\n" in outcome.out


def test_without_a_dialect_too(rankjury: Rankjury) -> None:
    outcome = rankjury("evaluate", "gold.qrels", "run.trec", "-m", "recall(over=k)@5", "--no-ci")
    assert "\nrecall(over=k)@5 = precision@5  0.3000  2\n" in outcome.out


@pytest.mark.parametrize("width", ["80", "60", "44"])
def test_every_layout_shows_both(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    put("other.trec", OTHER)
    for command in ("evaluate", "compare"):
        outcome = rankjury(command, "gold.qrels", "run.trec", "other.trec", *ALFA, "--full")
        check_width(outcome.out, int(width))
        letters = "".join(outcome.out.split())
        assert "precision@5" in letters and "recall@5" in letters
        assert LEGEND.replace(" ", "") in letters


def test_systems_down_measures_across(rankjury: Rankjury) -> None:
    """Five systems stand below each other, both names above their column."""
    runs = [put(f"{name}.trec", OTHER) for name in "abcde"]
    outcome = rankjury("evaluate", "gold.qrels", *runs, "-m", "Recall@5,NDCG@5", "-d", "alfa", "--no-ci")
    check_width(outcome.out)
    assert tables_of(outcome.out).split("\n")[0].split() == ["system", "Recall@5", "=", "precision@5", "NDCG@5", "n"]


def test_compare(rankjury: Rankjury) -> None:
    put("other.trec", OTHER)
    outcome = rankjury("compare", "gold.qrels", "run.trec", "other.trec", *ALFA)
    shown = _first_words(outcome.out)
    assert {"Recall@5 = precision@5", "Precision@5 = recall@5", "NDCG@5", LEGEND} <= set(shown)
    assert outcome.out.startswith("other ") and "Recall@5" in outcome.out.partition("\n")[0]


def test_run(rankjury: Rankjury) -> None:
    put(
        "rankjury.toml",
        'measures = ["Recall@5", "Precision@5"]\ngold = { kind = "labels", path = "gold.qrels" }\n'
        'conventions = { dialect = "alfa" }\nsystems.one = { kind = "run", path = "run.trec" }\n',
    )
    outcome = rankjury("run", "rankjury.toml")
    assert outcome.code == 0, outcome.err
    assert {"Recall@5 = precision@5", "Precision@5 = recall@5", LEGEND} <= set(_first_words(outcome.out))


def test_slices(rankjury: Rankjury) -> None:
    put("queries.csv", "query_id,kind\nq1,a\nq2,b\n")
    outcome = rankjury("evaluate", "gold.qrels", "run.trec", *ALFA, "-s", "queries.csv:kind", "-o", "x.md")
    assert "\nRecall@5 = precision@5 by slice, weakest first\n" in outcome.out
    assert "\n### Precision@5 = recall@5 by slice, weakest first\n" in Path("x.md").read_text("utf-8")


def test_files(rankjury: Rankjury) -> None:
    outcome = rankjury("evaluate", "gold.qrels", "run.trec", *ALFA, "-o", "x.md", "-o", "x.csv", "-o", "x.json")
    assert outcome.code == 0, outcome.err
    text = Path("x.md").read_text("utf-8")
    assert "\n| Recall@5 = precision@5 | 0.3" in text and f"\n\n{LEGEND}\n" in text
    with Path("x.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["common_name"] for row in rows] == ["precision@5", "recall@5", ""]
    measures = json.loads(Path("x.json").read_text("utf-8"))["systems"]["run"]["measures"]
    assert list(measures) == ["Recall@5", "Precision@5", "NDCG@5"]
    assert measures["Recall@5"]["convention"] == "recall(over=k,rel=1,self=drop)@5"
    assert [one.get("common_name") for one in measures.values()] == ["precision@5", "recall@5", None]


def test_a_saved_report_is_read_back(rankjury: Rankjury) -> None:
    rankjury("evaluate", "gold.qrels", "run.trec", *ALFA, "-o", "x.json")
    put("targets.toml", 'targets = ["Recall@5 >= 0.1"]\n')
    outcome = rankjury("gate", "targets.toml", "x.json")
    assert outcome.code == 0, outcome.err
    assert "Recall@5" in outcome.out


def test_nothing_more_where_names_say_what_they_are(rankjury: Rankjury) -> None:
    outputs = ("-o", "x.md", "-o", "x.csv", "-o", "x.json")
    outcome = rankjury(
        "evaluate", "gold.qrels", "run.trec", "-m", "recall@5,precision@5,recall(over=k,gold=k)@5", *outputs
    )
    written = [Path(f"x.{form}").read_text("utf-8") for form in ("md", "csv", "json")]
    for text in (outcome.out, *written):
        assert " = " not in text and "usual" not in text


def test_explain_says_what_it_is(rankjury: Rankjury) -> None:
    outcome = rankjury("explain", "gold.qrels", "run.trec", "-m", "recall@5")
    check_width(outcome.out)
    assert "over=k: this is precision@5" in " ".join(outcome.out.split())
    assert "\nover=k: precision@5 " in outcome.out
    rows = json.loads(rankjury("explain", "gold.qrels", "run.trec", "-m", "recall@5", "--json").out)["rows"]
    assert {row["who"]: row["common_name"] for row in rows if row["common_name"]} == {
        "alfa": "precision@5",
        "over=k": "precision@5",
    }
    own = rankjury("explain", "gold.qrels", "run.trec", "-m", "recall(over=k)@5").out
    assert next(line for line in own.splitlines() if line.startswith("rankjury")).endswith("this is precision@5")


def test_metrics_says_what_it_is(rankjury: Rankjury) -> None:
    assert "recall(over=k) is what is usually called precision\n" in rankjury("list", "metrics", "recall").out
    assert "precision(over=relevant) is what is usually called recall\n" in rankjury("list", "metrics", "precision").out
    assert "usually called" not in rankjury("list", "metrics", "ndcg").out


def test_hits_needs_no_note(rankjury: Rankjury) -> None:
    outcome = rankjury("evaluate", "gold.qrels", "run.trec", "-m", "hits@5,rr", "--no-ci")
    assert "hits@5 = recall@5" in outcome.out and "common name" not in outcome.out
