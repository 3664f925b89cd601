"""karat evaluate: what it prints, writes and warns of, against values worked out by hand."""

import csv
import json
import math
import os
import pty
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import karat as library

from .conftest import Karat
from .support import GOLD, RUN, Outcome, check_width, put

# q1: d1 (grade 1) at rank 1. q2: d3 (grade 1) at rank 1, d1 (grade 2) at rank 2.
NDCG = (1 + (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))) / 2
BASIC = ["evaluate", "gold.qrels", "run.trec"]


def _report(outcome: Outcome) -> dict[str, Any]:
    assert outcome.code == 0, outcome.err
    report = json.loads(outcome.out)
    assert report["schema"] == "karat.report/1"
    assert isinstance(report["warnings"], list)
    return report


def _means(outcome: Outcome, system: str = "run") -> dict[str, float | None]:
    return {label: entry["mean"] for label, entry in _report(outcome)["systems"][system]["measures"].items()}


# --- JSON ---------------------------------------------------------------------------------------------------------


def test_json_has_the_versioned_form(karat: Karat) -> None:
    outcome = karat(*BASIC, "-m", "ndcg@10", "--json")
    report = _report(outcome)
    assert report["karat"] == library.__version__
    assert report["systems"] == {
        "run": {"measures": {"ndcg@10": {"mean": NDCG, "n": 2, "undefined": 0, "convention": "ndcg@10"}}}
    }
    assert report["warnings"] == []
    assert report["provenance"] == {"gold": "gold.qrels", "runs": {"run": "run.trec"}, "dialect": None}
    assert outcome.err == ""


def test_measures_are_keyed_as_they_were_asked_for(karat: Karat) -> None:
    asked = ["ndcg_cut_10", "nDCG@10", "ndcg(gain=exp,rel=2)@5", "map", "P_5", "mrr@10"]
    found = _report(karat(*BASIC, *[part for name in asked for part in ("-m", name)], "--json"))
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
def test_measures_may_be_repeated_and_split(karat: Karat, options: list[str]) -> None:
    means = _means(karat(*BASIC, *options, "--json"))
    assert list(means) == ["ndcg@10", "ndcg(gain=exp,rel=2)@5", "ap"]
    assert means["ndcg@10"] == NDCG
    assert means["ndcg(gain=exp,rel=2)@5"] == pytest.approx(1 / math.log2(3), abs=1e-15)
    assert means["ap"] == 1.0


def test_undefined_is_null_in_json_and_a_dash_in_the_table(karat: Karat) -> None:
    put("nothing.qrels", "q1 0 d1 0\nq2 0 d1 0\n")
    entry = _report(karat("evaluate", "nothing.qrels", "run.trec", "-m", "ap", "--json"))["systems"]["run"]["measures"]
    assert entry["ap"] == {"mean": None, "n": 0, "undefined": 2, "convention": "ap"}
    table = karat("evaluate", "nothing.qrels", "run.trec", "-m", "ap", "-q").out
    assert re.search(r"^ap +– +0 \(2 undefined\)", table, re.MULTILINE)


def test_counts_give_their_sum(karat: Karat) -> None:
    outcome = karat(*BASIC, "-m", "num_rel_ret", "--json")
    assert _report(outcome)["systems"]["run"]["measures"]["num_rel_ret"]["sum"] == 3.0


def test_all_digits_stand_in_json(karat: Karat) -> None:
    put("third.trec", "q1 Q0 x 1 3 t\nq1 Q0 y 2 2 t\nq1 Q0 d1 3 1 t\nq2 Q0 d1 1 1 t\n")
    assert _means(karat("evaluate", "gold.qrels", "third.trec", "-m", "rr", "--json"), "third")["rr"] == (1 / 3 + 1) / 2


# --- the table ----------------------------------------------------------------------------------------------------


def test_the_table_shows_means_and_how_many(karat: Karat) -> None:
    lines = karat(*BASIC, "-m", "ndcg@10,precision@10,num_rel_ret").out.splitlines()
    assert lines[0].split() == ["measure", "run", "n"]
    assert [line.split() for line in lines[2:]] == [
        ["ndcg@10", f"{NDCG:.4f}", "2"],
        ["precision@10", "0.1500", "2"],
        ["num_rel_ret", "3", "2"],
    ]


def test_several_runs_stand_beside_each_other(karat: Karat) -> None:
    put("worse.trec", RUN.replace("2.5", "0.5"))
    outcome = karat("evaluate", "gold.qrels", "run.trec", "worse.trec", "-m", "rr")
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["measure", "run", "worse", "n"]
    assert lines[2].split() == ["rr", "1.0000", "0.7500", "2"]


def test_many_runs_stand_below_each_other(karat: Karat) -> None:
    names = [put(f"s{number}.trec", RUN) for number in range(5)]
    lines = karat("evaluate", "gold.qrels", *names, "-m", "rr,ap").out.splitlines()
    assert lines[0].split() == ["system", "rr", "ap", "n"]
    assert [line.split()[0] for line in lines[2:]] == ["s0", "s1", "s2", "s3", "s4"]


@pytest.mark.parametrize("systems", [1, 2, 4, 5, 9])
def test_the_default_table_fits_80_columns(karat: Karat, systems: int) -> None:
    names = [put(f"s{number}.trec", RUN) for number in range(systems)]
    outcome = karat("evaluate", "gold.qrels", *names)
    check_width(outcome.out)


@pytest.mark.parametrize(
    ("systems", "measures"),
    [
        (2, "rr,ap"),
        (4, "rr,ap"),
        (5, "ndcg@10,ap,rr,recall@100,precision@10,judged@10"),
        (5, ",".join(f"ndcg@{k}" for k in range(1, 15))),
        (1, "ndcg(gain=exp,ideal=retrieved,rel=2,ties=id-desc,scores=single,self=drop)@10,ap"),
    ],
)
def test_no_figure_is_lost_to_long_names(karat: Karat, systems: int, measures: str) -> None:
    """Names may be shortened or wrapped, but every mean stands in the table whole."""
    names = [put(f"a-system-with-a-name-of-some-length-{number}.trec", RUN) for number in range(systems)]
    out = karat("evaluate", "gold.qrels", *names, "-m", measures).out
    count = len(_means(karat("evaluate", "gold.qrels", names[0], "-m", measures, "--json"), names[0][:-5]))
    assert max(map(len, out.splitlines())) <= 80
    assert len(re.findall(r"\b[01]\.\d{4}\b", out)) == systems * count


@pytest.mark.parametrize(
    ("systems", "name"),
    [
        (1, "short"),
        (4, "short"),
        (2, "a-system-with-a-name-of-some-length"),
        (5, "short"),
    ],
)
def test_how_many_queries_were_averaged_is_shown_in_every_layout(karat: Karat, systems: int, name: str) -> None:
    """rr is defined for one query of two; a table that hides it compares what cannot be compared."""
    put("half.qrels", "q1 0 d1 1\nq2 0 d1 0\n")
    names = [put(f"{name}-{number}.trec", RUN) for number in range(systems)]
    out = karat("evaluate", "half.qrels", *names, "-m", "rr").out
    assert re.search(r"\bn\b", out.splitlines()[0])
    assert "1 (1 undefined)" in out


def test_a_wider_terminal_is_used(karat: Karat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    names = [put(f"a-system-with-a-name-of-some-length-{number}.trec", RUN) for number in range(4)]
    out = karat("evaluate", "gold.qrels", *names, "-m", "rr").out
    assert out.splitlines()[0].split() == ["measure", *(name[:-5] for name in names), "n"]


# --- names of systems ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["bm25.trec", "dense.trec.gz"], ["bm25", "dense"]),
        (["a/run.trec", "b/run.trec"], ["a/run", "b/run"]),
        (["x/a/run.trec", "x/b/run.csv"], ["a/run", "b/run"]),
        (["run.1", "run.2"], ["run.1", "run.2"]),
        (["bm25.v1.2.trec", "bm25.v1.3.trec"], ["bm25.v1.2", "bm25.v1.3"]),
        (["a/run.trec", "run.trec"], ["a/run.trec", "run.trec"]),
        (["x/a/run.trec", "y/a/run.trec"], ["x/a/run.trec", "y/a/run.trec"]),
    ],
)
def test_systems_are_called_by_their_stem(karat: Karat, paths: list[str], names: list[str]) -> None:
    for path in paths:
        text = "query_id,item_id,score\nq1,d1,1\n" if path.endswith(".csv") else RUN
        put(path, text)
    report = _report(karat("evaluate", "gold.qrels", *paths, "-m", "rr", "--json"))
    assert list(report["systems"]) == names
    assert report["provenance"]["runs"] == dict(zip(names, paths, strict=True))


# --- standard input and output ------------------------------------------------------------------------------------


def test_the_run_from_standard_input(karat: Karat) -> None:
    assert _means(karat("evaluate", "gold.qrels", "-", "-m", "rr", "--json", stdin=RUN.encode()), "stdin") == {
        "rr": 1.0
    }


def test_the_gold_from_standard_input(karat: Karat) -> None:
    assert _means(karat("evaluate", "-", "run.trec", "-m", "rr", "--json", stdin=GOLD.encode())) == {"rr": 1.0}


def test_warnings_go_to_standard_error_only(karat: Karat) -> None:
    put("half.trec", "q1 Q0 x 1 2 t\n")
    outcome = karat("evaluate", "gold.qrels", "half.trec", "--json")
    assert len(outcome.warnings) == len(_report(outcome)["warnings"]) > 0
    assert [line.removeprefix("warning: ") for line in outcome.warnings] == _report(outcome)["warnings"]


@pytest.mark.parametrize("form", [[], ["--json"], ["-o", "report.md"]])
def test_quiet_silences_standard_error(karat: Karat, form: list[str]) -> None:
    put("half.trec", "q1 Q0 x 1 2 t\n")
    loud = karat("evaluate", "gold.qrels", "half.trec", *form)
    quiet = karat("evaluate", "gold.qrels", "half.trec", *form, "--quiet")
    assert loud.err != "" and quiet.err == ""
    assert quiet.out == loud.out


def test_the_next_step_is_a_command_that_works(karat: Karat) -> None:
    line = karat(*BASIC).err.splitlines()[-1]
    assert line.startswith("Next: ")
    assert karat(*line.split("karat ")[1].split()).code == 0


def test_piped_output_has_no_escapes(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "karat", *BASIC], capture_output=True, check=True, timeout=60)
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"0.1500" in done.stdout


def _in_terminal(arguments: list[str], **environment: str) -> str:
    """What a terminal gets to see."""
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    with subprocess.Popen(
        [sys.executable, "-m", "karat", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**clean, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        process.wait(timeout=60)
    os.close(ours)
    return seen.decode()


def test_no_color_is_respected_in_a_terminal(folder: Path) -> None:
    plain = _in_terminal(BASIC, NO_COLOR="1")
    assert "0.1500" in plain
    assert not re.search(r"\x1b\[[\d;]*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]", plain)


# --- files --------------------------------------------------------------------------------------------------------


def test_reports_by_suffix(karat: Karat, folder: Path) -> None:
    outcome = karat(*BASIC, "-m", "rr,ndcg@10", "-o", "r.json", "-o", "r.csv", "-o", "r.md")
    assert "Wrote r.json, r.csv, r.md" in outcome.err
    assert sorted(path.name for path in folder.iterdir()) == ["gold.qrels", "r.csv", "r.json", "r.md", "run.trec"]
    written = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert written == _report(karat(*BASIC, "-m", "rr,ndcg@10", "--json"))
    rows = list(csv.DictReader(Path("r.csv").read_text().splitlines()))
    assert [(row["system"], row["measure"], float(row["mean"]), row["n"], row["undefined"]) for row in rows] == [
        ("run", "rr", 1.0, "2", "0"),
        ("run", "ndcg@10", NDCG, "2", "0"),
    ]
    assert Path("r.md").read_text().splitlines() == [
        "| measure | run | n |",
        "|:--|--:|--:|",
        "| rr | 1.0000 | 2 |",
        f"| ndcg@10 | {NDCG:.4f} | 2 |",
    ]


def test_markdown_lists_warnings_and_escapes(karat: Karat) -> None:
    put("a|b<c.trec", "q1 Q0 d1 1 2 t\n")
    karat("evaluate", "gold.qrels", "a|b<c.trec", "-m", "rr", "-o", "r.md")
    text = Path("r.md").read_text()
    assert text.splitlines()[0] == "| measure | a\\|b&lt;c | n |"
    assert "- warning: a\\|b&lt;c: 1 judged query is missing" in text


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.jsonl", "s.parquet", "s.csv.gz"])
def test_per_query_scores(karat: Karat, name: str) -> None:
    put("other.trec", "q1 Q0 d2 1 3 t\nq1 Q0 d1 2 2 t\n")
    put("more.qrels", GOLD + "q3 0 d1 0\n")
    karat("evaluate", "more.qrels", "run.trec", "other.trec", "-m", "rr,ndcg@10", "--per-query", name)
    readers = {".csv": pl.read_csv, ".jsonl": pl.read_ndjson, ".parquet": pl.read_parquet, ".gz": pl.read_csv}
    frame = pl.read_csv(name, separator="\t") if name == "s.tsv" else readers[Path(name).suffix](name)
    assert frame.select("system", "query_id", "rr").rows() == [
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
def test_ties(karat: Karat, ties: str, rr: float) -> None:
    put("g.qrels", "q1 0 a 1\n")
    put("t.trec", TIED)
    assert _means(karat("evaluate", "g.qrels", "t.trec", "-m", "rr", "--ties", ties, "--json"), "t") == {"rr": rr}


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
def test_missing(karat: Karat, option: list[str], means: dict[str, float]) -> None:
    put("half.trec", "q1 Q0 d1 1 2 t\n")
    assert _means(karat("evaluate", "gold.qrels", "half.trec", "-m", "rr", "--json", *option), "half") == means


def test_missing_error_names_the_query(karat: Karat) -> None:
    put("half.trec", "q1 Q0 d1 1 2 t\n")
    outcome = karat("evaluate", "gold.qrels", "half.trec", "-m", "rr", "--missing", "error")
    assert outcome.code == 3
    assert outcome.err.startswith("error: half.trec, rr(missing=error): query 'q2' is missing from the ranking")


@pytest.mark.parametrize(("option", "mean", "n"), [([], 1.0, 2), (["--empty", "zero"], 2 / 3, 3)])
def test_empty(karat: Karat, option: list[str], mean: float, n: int) -> None:
    put("g.qrels", GOLD + "q3 0 d1 0\n")
    put("r.trec", RUN + "q3 Q0 d1 1 1 t\n")
    entry = _report(karat("evaluate", "g.qrels", "r.trec", "-m", "rr", "--json", *option))
    found = entry["systems"]["r"]["measures"]["rr"]
    assert (found["mean"], found["n"], found["undefined"]) == (mean, n, 3 - n)


def test_empty_error_names_the_query(karat: Karat) -> None:
    put("g.qrels", GOLD + "q3 0 d1 0\n")
    outcome = karat("evaluate", "g.qrels", "run.trec", "-m", "rr", "--empty", "error")
    assert outcome.code == 3
    assert "query 'q3' has nothing relevant" in outcome.err


def test_rel(karat: Karat) -> None:
    found = _report(karat(*BASIC, "-m", "rr,rr(rel=1)", "--rel", "2", "--json"))["systems"]["run"]["measures"]
    assert (found["rr"]["mean"], found["rr"]["n"], found["rr"]["undefined"]) == (0.5, 1, 1)
    assert (found["rr(rel=1)"]["mean"], found["rr(rel=1)"]["n"]) == (1.0, 2)


@pytest.mark.parametrize(("rule", "rr"), [("first", 0.5), ("last", 1 / 3), ("max", 1.0)])
def test_duplicates_in_the_run(karat: Karat, rule: str, rr: float) -> None:
    put("g.qrels", "q1 0 a 1\n")
    put("d.trec", "q1 Q0 a 1 3 t\nq1 Q0 b 2 5 t\nq1 Q0 a 3 9 t\nq1 Q0 c 4 2 t\nq1 Q0 a 5 1 t\n")
    outcome = karat("evaluate", "g.qrels", "d.trec", "-m", "rr", "--duplicates", rule, "--json")
    assert _means(outcome, "d") == {"rr": rr}
    assert any(re.search(r"\b2 duplicate rows were dropped", warning) for warning in outcome.warnings)


@pytest.mark.parametrize(("rule", "dcg"), [("first", 1.0), ("last", 2.0), ("max", 3.0)])
def test_duplicates_in_the_gold(karat: Karat, rule: str, dcg: float) -> None:
    put("g.qrels", "q1 0 a 1\nq1 0 a 3\nq1 0 a 2\n")
    put("d.trec", "q1 Q0 a 1 3 t\n")
    outcome = karat("evaluate", "g.qrels", "d.trec", "-m", "dcg", "--duplicates", rule, "--json")
    assert _means(outcome, "d") == {"dcg": dcg}


# --- warnings -----------------------------------------------------------------------------------------------------


def _warned(karat: Karat, gold: str, run: str, *options: str) -> list[str]:
    put("g.qrels", gold)
    put("r.trec", run)
    outcome = karat("evaluate", "g.qrels", "r.trec", *(options or ("-m", "rr@2")))
    assert outcome.code == 0, outcome.err
    return [line.removeprefix("warning: r: ") for line in outcome.warnings]


def test_nothing_to_warn_of(karat: Karat) -> None:
    assert _warned(karat, GOLD, RUN) == []


@pytest.mark.parametrize(("missing", "text"), [(1, "1 judged query is"), (2, "2 judged queries are"), (5, "5 judged")])
def test_missing_queries_are_counted_and_listed(karat: Karat, missing: int, text: str) -> None:
    (warning,) = _warned(karat, GOLD + "".join(f"x{n} 0 d1 1\n" for n in range(missing)), RUN)
    assert warning.startswith(text)
    assert "x0" in warning and ("…" in warning) == (missing > 3)
    assert "scored 0" in warning and "--missing skip" in warning


def test_missing_queries_that_are_left_out(karat: Karat) -> None:
    (warning,) = _warned(karat, GOLD + "x 0 d1 1\n", RUN, "-m", "rr@2", "--missing", "skip")
    assert "1 judged query is missing" in warning and "left out" in warning and "--missing zero" in warning


@pytest.mark.parametrize(("extra", "text"), [(1, "1 retrieved query has"), (3, "3 retrieved queries have")])
def test_queries_without_gold_are_counted(karat: Karat, extra: int, text: str) -> None:
    (warning,) = _warned(karat, GOLD, RUN + "".join(f"x{n} Q0 d1 1 1 t\n" for n in range(extra)))
    assert warning.startswith(text) and "no gold" in warning


@pytest.mark.parametrize(("empty", "text"), [(1, "1 query has"), (2, "2 queries have")])
def test_queries_with_nothing_relevant_are_counted(karat: Karat, empty: int, text: str) -> None:
    names = [f"x{n}" for n in range(empty)]
    run = RUN + "".join(f"{name} Q0 d1 1 1 t\n" for name in names)
    (warning,) = _warned(karat, GOLD + "".join(f"{name} 0 d1 0\n" for name in names), run)
    assert warning.startswith(f"{text} nothing relevant in the gold")


def test_queries_that_a_threshold_empties_are_counted(karat: Karat) -> None:
    (warning,) = _warned(karat, GOLD, RUN, "-m", "rr@2", "--rel", "2")
    assert warning.startswith("1 query has nothing relevant")


@pytest.mark.parametrize(
    ("measures", "text"),
    [
        ("rr@1", None),
        ("rr@2", "25.0% of the top 2"),
        ("rr@2,ap@4", "25.0% of the top 2, 50.0% of the top 4"),
        ("rr", "50.0% of the top 10"),
    ],
)
def test_the_unjudged_share_is_told(karat: Karat, measures: str, text: str | None) -> None:
    """q1: d1 x y z, q2: d3 d1 and nothing else: 1 of 4 unjudged in the top 2, 3 of 6 in all."""
    run = "".join(f"q1 Q0 {item} 1 {9 - n} t\n" for n, item in enumerate(["d1", "x", "y", "z"]))
    run += "q2 Q0 d3 1 2 t\nq2 Q0 d1 2 1 t\n"
    warnings = _warned(karat, GOLD, run, "-m", measures)
    assert warnings == ([] if text is None else [f"unjudged items count as not relevant: {text}"])


@pytest.mark.parametrize(
    ("measures", "text"), [("rr@1", "1 query at 1"), ("rr@2", None), ("rr@1,rr@3", "1 query at 1, 2 queries at 3")]
)
def test_ties_at_the_cut_off_are_counted(karat: Karat, measures: str, text: str | None) -> None:
    gold = "".join(f"{query} 0 {item} 1\n" for query in ("q1", "q2") for item in "abcd")
    run = "".join(f"q1 Q0 {item} 1 {score} t\n" for item, score in zip("abcd", (5, 5, 3, 3), strict=True))
    run += "".join(f"q2 Q0 {item} 1 {score} t\n" for item, score in zip("abcd", (5, 4, 3, 3), strict=True))
    warnings = _warned(karat, gold, run, "-m", measures)
    assert [warning.rpartition(": ")[2] for warning in warnings] == ([] if text is None else [text])
    assert all("equal scores" in warning for warning in warnings)


def test_warnings_name_their_system(karat: Karat) -> None:
    put("half.trec", "q1 Q0 d1 1 2 t\n")
    outcome = karat("evaluate", "gold.qrels", "run.trec", "half.trec", "-m", "rr")
    assert [line.split(":")[1] for line in outcome.warnings] == [" half"]


# --- the same digits ----------------------------------------------------------------------------------------------


def _large(seed: int) -> tuple[str, str]:
    """Ties, gaps and unjudged items in plenty."""
    chance = random.Random(seed)
    gold = "".join(
        f"q{q} 0 d{item} {chance.randrange(4)}\n" for q in range(150) for item in chance.sample(range(200), 25)
    )
    run = "".join(
        f"q{q} Q0 d{item} 1 {chance.randrange(40) / 7!r} t\n"
        for q in range(150)
        for item in chance.sample(range(200), 60)
    )
    return gold, run


MEASURES = "ndcg@10,ndcg(gain=exp)@20,ap,rr,recall@20,rbp,err@20,bpref,ndcg(ties=average)@10,map,nDCG@10"


def test_end_to_end_the_number_of_threads_changes_no_digit(folder: Path) -> None:
    gold, run = _large(1)
    put("g.qrels", gold)
    put("r.trec", run)
    command = ["evaluate", "g.qrels", "r.trec", "-m", MEASURES, "--json", "--per-query", "scores.csv"]
    seen = []
    for threads in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "karat", *command],
            capture_output=True,
            timeout=60,
            check=True,
            env={**os.environ, "POLARS_MAX_THREADS": threads},
        )
        seen.append((done.stdout, Path("scores.csv").read_bytes()))
    assert seen[0] == seen[1]
    assert len(seen[0][1].splitlines()) == 151


def test_the_order_of_lines_changes_no_digit(karat: Karat) -> None:
    gold, run = _large(2)
    expected = _report(karat("evaluate", put("g.qrels", gold), put("r.trec", run), "-m", MEASURES, "--json"))
    for seed in range(3):
        lines, judged = run.splitlines(keepends=True), gold.splitlines(keepends=True)
        random.Random(seed).shuffle(lines)
        random.Random(seed).shuffle(judged)
        put("g.qrels", "".join(judged))
        put("r.trec", "".join(lines))
        assert _report(karat("evaluate", "g.qrels", "r.trec", "-m", MEASURES, "--json")) == expected


@pytest.mark.parametrize("name", ["r.csv", "r.tsv.gz", "r.jsonl.zst", "r.json", "r.parquet", "r.trec.gz"])
def test_the_format_changes_no_digit(karat: Karat, name: str) -> None:
    gold, run = _large(3)
    put("g.qrels", gold)
    put("r.trec", run)
    expected = _means(karat("evaluate", "g.qrels", "r.trec", "-m", MEASURES, "--json"), "r")
    assert karat("convert", "r.trec", name).code == 0
    assert karat("convert", "g.qrels", "g" + name[1:]).code == 0
    assert _means(karat("evaluate", "g" + name[1:], name, "-m", MEASURES, "--json"), "r") == expected


def test_format_overrides(karat: Karat) -> None:
    put("g.txt", "query_id,item_id,grade Q0 d1 1\n")
    put("r.txt", "query_id,item_id,grade Q0 d1 1 2 t\n")
    assert karat("evaluate", "g.txt", "r.txt", "-m", "rr").code == 3
    assert _means(karat("evaluate", "g.txt", "r.txt", "-m", "rr", "--format", "trec", "--json"), "r") == {"rr": 1.0}
    put("g.bar", "qid,docid,rel\nq1,d1,1\n")
    mixed = ["evaluate", "g.bar", "run.trec", "-m", "rr", "--format", "trec", "--gold-format", "csv", "--json"]
    assert _means(karat(*mixed)) == {"rr": 1.0}


def test_version_and_help(karat: Karat) -> None:
    assert karat("--version").out == f"karat {library.__version__}\n"
    shown = karat("evaluate", "--help")
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    for option in ("--dialect", "--per-query", "--missing", "--duplicates", "--gold-format", "--quiet"):
        assert option in shown.out
