"""rankjury evaluate: JSON, files, and the conventions that options set, against values worked out by hand."""

import csv
import json
import math
import re
from pathlib import Path

import polars as pl
import pytest

import rankjury as library
from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, means_of, put, report_of

# q1: d1 (grade 1) at rank 1. q2: d3 (grade 1) at rank 1, d1 (grade 2) at rank 2.
NDCG = (1 + (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))) / 2
BASIC = ["evaluate", "gold.qrels", "run.trec"]


# --- JSON ---------------------------------------------------------------------------------------------------------


def test_json_has_the_versioned_form(rankjury: Rankjury) -> None:
    outcome = rankjury(*BASIC, "-m", "ndcg@10", "--json", "--no-ci")
    report = report_of(outcome)
    assert report["rankjury"] == library.__version__
    assert list(report["systems"]) == ["run"]
    entry = report["systems"]["run"]["measures"]["ndcg@10"]
    spread = abs(NDCG - 1) * math.sqrt(2)
    assert entry == pytest.approx(
        {
            "mean": NDCG,
            "n": 2,
            "undefined": 0,
            "std": spread,
            "se": spread / math.sqrt(2),
            "ci": None,
            "convention": "ndcg@10",
        }
    )
    assert report["warnings"] == []
    assert report["provenance"] == {"gold": "gold.qrels", "runs": {"run": "run.trec"}, "dialect": None}
    assert outcome.err == ""


def test_measures_are_keyed_as_they_were_asked_for(rankjury: Rankjury) -> None:
    asked = ["ndcg_cut_10", "nDCG@10", "ndcg(gain=exp,rel=2)@5", "map", "P_5", "mrr@10"]
    found = report_of(rankjury(*BASIC, *[part for name in asked for part in ("-m", name)], "--json"))
    measures = found["systems"]["run"]["measures"]
    assert list(measures) == asked
    assert measures["ndcg_cut_10"]["convention"].startswith("ndcg(rel=1,ties=id-desc,scores=single")


@pytest.mark.parametrize(
    "options",
    [
        ["-m", "ndcg@10,ndcg(gain=exp,rel=2)@5,ap"],
        ["-m", "ndcg@10 ndcg(gain=exp,rel=2)@5 ap"],
        ["-m", "ndcg@10, ndcg(gain=exp,rel=2)@5", "-m", "ap"],
        ["--measure", "ndcg@10", "--measure", "ndcg(gain=exp,rel=2)@5", "--measure=ap"],
        ["-m", "ndcg@10,ndcg@10", "-m", "ndcg(gain=exp,rel=2)@5,,ap,"],
    ],
)
def test_measures_may_be_repeated_and_split(rankjury: Rankjury, options: list[str]) -> None:
    means = means_of(rankjury(*BASIC, *options, "--json"))
    assert list(means) == ["ndcg@10", "ndcg(gain=exp,rel=2)@5", "ap"]
    assert means["ndcg@10"] == NDCG
    assert means["ndcg(gain=exp,rel=2)@5"] == pytest.approx(1 / math.log2(3), abs=1e-15)
    assert means["ap"] == 1.0


def test_undefined_is_null_in_json_and_a_dash_in_the_table(rankjury: Rankjury) -> None:
    put("nothing.qrels", "q1 0 d1 0\nq2 0 d1 0\n")
    entry = report_of(rankjury("evaluate", "nothing.qrels", "run.trec", "-m", "ap", "--json"))["systems"]["run"][
        "measures"
    ]
    undefined = dict.fromkeys(("mean", "std", "se", "ci"))
    assert entry["ap"] == {**undefined, "n": 0, "undefined": 2, "convention": "ap"}
    table = rankjury("evaluate", "nothing.qrels", "run.trec", "-m", "ap", "-q").out
    assert re.search(r"^ap +– +0 \(2 undefined\)", table, re.MULTILINE)


def test_counts_give_their_sum(rankjury: Rankjury) -> None:
    outcome = rankjury(*BASIC, "-m", "num_rel_ret", "--json")
    assert report_of(outcome)["systems"]["run"]["measures"]["num_rel_ret"]["sum"] == 3.0


def test_all_digits_stand_in_json(rankjury: Rankjury) -> None:
    put("third.trec", "q1 Q0 x 1 3 t\nq1 Q0 y 2 2 t\nq1 Q0 d1 3 1 t\nq2 Q0 d1 1 1 t\n")
    assert (
        means_of(rankjury("evaluate", "gold.qrels", "third.trec", "-m", "rr", "--json"), "third")["rr"]
        == (1 / 3 + 1) / 2
    )


# --- files --------------------------------------------------------------------------------------------------------


def test_reports_by_suffix(rankjury: Rankjury, folder: Path) -> None:
    outcome = rankjury(*BASIC, "-m", "rr,ndcg@10", "-o", "r.json", "-o", "r.csv", "-o", "r.md", "--no-ci")
    assert "Wrote r.json, r.csv, r.md" in outcome.err
    assert sorted(path.name for path in folder.iterdir()) == ["gold.qrels", "r.csv", "r.json", "r.md", "run.trec"]
    written = json.loads(Path("r.json").read_text(encoding="utf-8"))
    queries, gold = written.pop("queries"), written.pop("gold")
    assert queries["ids"] == ["q1", "q2"] and (gold["queries"], gold["judgments"]) == (2, 4)
    assert queries["scores"]["run"] == {"rr": [1.0, 1.0], "ndcg@10": pytest.approx([1.0, 2 * NDCG - 1])}
    assert written == report_of(rankjury(*BASIC, "-m", "rr,ndcg@10", "--json", "--no-ci"))
    rows = list(csv.DictReader(Path("r.csv").read_text().splitlines()))
    assert [(row["system"], row["measure"], float(row["mean"]), row["n"], row["undefined"]) for row in rows] == [
        ("run", "rr", 1.0, "2", "0"),
        ("run", "ndcg@10", NDCG, "2", "0"),
    ]
    answer, table = Path("r.md").read_text().split("\n\n", 1)
    assert answer.startswith("run: rr 1.0000 ") and "\n" not in answer
    assert table.splitlines() == [
        "| measure | run | n |",
        "|:--|--:|--:|",
        "| rr | 1.0000 | 2 |",
        f"| ndcg@10 | {NDCG:.4f} | 2 |",
    ]


def test_markdown_lists_warnings_and_escapes(rankjury: Rankjury) -> None:
    put("a|b<c.trec", "q1 Q0 d1 1 2 t\n")
    rankjury("evaluate", "gold.qrels", "a|b<c.trec", "-m", "rr", "-o", "r.md")
    text = Path("r.md").read_text()
    assert text.startswith("a&#124;b&lt;c: rr 0.500 ")
    assert "\n\n| measure | a&#124;b&lt;c | n |\n" in text
    assert "- warning: a&#124;b&lt;c: 1 judged query is missing" in text


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.jsonl", "s.parquet", "s.csv.gz"])
def test_per_query_scores(rankjury: Rankjury, name: str) -> None:
    put("other.trec", "q1 Q0 d2 1 3 t\nq1 Q0 d1 2 2 t\n")
    put("more.qrels", GOLD + "q3 0 d1 0\n")
    rankjury("evaluate", "more.qrels", "run.trec", "other.trec", "-m", "rr(empty=skip),ndcg@10", "--per-query", name)
    readers = {".csv": pl.read_csv, ".jsonl": pl.read_ndjson, ".parquet": pl.read_parquet, ".gz": pl.read_csv}
    frame = pl.read_csv(name, separator="\t") if name == "s.tsv" else readers[Path(name).suffix](name)
    assert frame.select("system", "query_id", "rr(empty=skip)").rows() == [
        ("run", "q1", 1.0),
        ("run", "q2", 1.0),
        ("run", "q3", None),
        ("other", "q1", 0.5),
        ("other", "q2", 0.0),
        ("other", "q3", None),
    ]
    assert frame["ndcg@10"][1] == (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))


# --- conventions --------------------------------------------------------------------------------------------------

TIED = "q1 Q0 b 1 1.0 t\nq1 Q0 a 2 1.0 t\n"


@pytest.mark.parametrize(("ties", "rr"), [("id", 1.0), ("id-desc", 0.5), ("order", 0.5)])
def test_ties(rankjury: Rankjury, ties: str, rr: float) -> None:
    put("g.qrels", "q1 0 a 1\n")
    put("t.trec", TIED)
    assert means_of(rankjury("evaluate", "g.qrels", "t.trec", "-m", "rr", "--ties", ties, "--json"), "t") == {"rr": rr}


@pytest.mark.parametrize(
    ("option", "means"),
    [
        ([], {"rr": 0.5}),
        (["--missing", "skip"], {"rr": 1.0}),
        (["--missing", "zero"], {"rr": 0.5}),
        (["-d", "trec_eval"], {"rr": 1.0}),
        (["-d", "trec_eval", "--missing", "zero"], {"rr": 0.5}),
    ],
)
def test_missing(rankjury: Rankjury, option: list[str], means: dict[str, float]) -> None:
    put("half.trec", "q1 Q0 d1 1 2 t\n")
    assert means_of(rankjury("evaluate", "gold.qrels", "half.trec", "-m", "rr", "--json", *option), "half") == means


def test_missing_error_names_the_query(rankjury: Rankjury) -> None:
    put("half.trec", "q1 Q0 d1 1 2 t\n")
    outcome = rankjury("evaluate", "gold.qrels", "half.trec", "-m", "rr", "--missing", "error")
    assert outcome.code == 3
    assert outcome.err.startswith("error: half.trec, rr(missing=error): query 'q2' is missing from the ranking")


@pytest.mark.parametrize(("option", "mean", "n"), [([], 2 / 3, 3), (["--empty", "skip"], 1.0, 2)])
def test_empty(rankjury: Rankjury, option: list[str], mean: float, n: int) -> None:
    put("g.qrels", GOLD + "q3 0 d1 0\n")
    put("r.trec", RUN + "q3 Q0 d1 1 1 t\n")
    entry = report_of(rankjury("evaluate", "g.qrels", "r.trec", "-m", "rr", "--json", *option))
    found = entry["systems"]["r"]["measures"]["rr"]
    assert (found["mean"], found["n"], found["undefined"]) == (mean, n, 3 - n)


def test_empty_error_names_the_query(rankjury: Rankjury) -> None:
    put("g.qrels", GOLD + "q3 0 d1 0\n")
    outcome = rankjury("evaluate", "g.qrels", "run.trec", "-m", "rr", "--empty", "error")
    assert outcome.code == 3
    assert "query 'q3' has nothing relevant" in outcome.err


def test_rel(rankjury: Rankjury) -> None:
    found = report_of(rankjury(*BASIC, "-m", "rr,rr(rel=1)", "--rel", "2", "--json"))["systems"]["run"]["measures"]
    assert (found["rr"]["mean"], found["rr"]["n"], found["rr"]["undefined"]) == (0.25, 2, 0)
    assert (found["rr(rel=1)"]["mean"], found["rr(rel=1)"]["n"]) == (1.0, 2)


@pytest.mark.parametrize(("rule", "rr"), [("first", 0.5), ("last", 1 / 3), ("max", 1.0)])
def test_duplicates_in_the_run(rankjury: Rankjury, rule: str, rr: float) -> None:
    put("g.qrels", "q1 0 a 1\n")
    put("d.trec", "q1 Q0 a 1 3 t\nq1 Q0 b 2 5 t\nq1 Q0 a 3 9 t\nq1 Q0 c 4 2 t\nq1 Q0 a 5 1 t\n")
    outcome = rankjury("evaluate", "g.qrels", "d.trec", "-m", "rr", "--duplicates", rule, "--json")
    assert means_of(outcome, "d") == {"rr": rr}
    assert any(re.search(r"\b2 duplicate rows were dropped", warning) for warning in outcome.warnings)


@pytest.mark.parametrize(("rule", "dcg"), [("first", 1.0), ("last", 2.0), ("max", 3.0)])
def test_duplicates_in_the_gold(rankjury: Rankjury, rule: str, dcg: float) -> None:
    put("g.qrels", "q1 0 a 1\nq1 0 a 3\nq1 0 a 2\n")
    put("d.trec", "q1 Q0 a 1 3 t\n")
    outcome = rankjury("evaluate", "g.qrels", "d.trec", "-m", "dcg", "--duplicates", rule, "--json")
    assert means_of(outcome, "d") == {"dcg": dcg}
