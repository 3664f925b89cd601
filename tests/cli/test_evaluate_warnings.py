"""rankjury evaluate: what it warns of, with counts; and that no digit hangs on order or threads."""

import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import rankjury as library
from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, check_failure, means_of, put, report_of

# q1: d1 (grade 1) at rank 1. q2: d3 (grade 1) at rank 1, d1 (grade 2) at rank 2.
NDCG = (1 + (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))) / 2
BASIC = ["evaluate", "gold.qrels", "run.trec"]


# --- warnings -----------------------------------------------------------------------------------------------------


def _warned(rankjury: Rankjury, gold: str, run: str, *options: str) -> list[str]:
    put("g.qrels", gold)
    put("r.trec", run)
    outcome = rankjury("evaluate", "g.qrels", "r.trec", "--no-ci", *(options or ("-m", "rr@2")))
    assert outcome.code == 0, outcome.err
    return [line.removeprefix("warning: r: ") for line in outcome.warnings]


def test_nothing_to_warn_of(rankjury: Rankjury) -> None:
    assert _warned(rankjury, GOLD, RUN) == []


@pytest.mark.parametrize(("missing", "text"), [(1, "1 judged query is"), (2, "2 judged queries are"), (5, "5 judged")])
def test_missing_queries_are_counted_and_listed(rankjury: Rankjury, missing: int, text: str) -> None:
    (warning,) = _warned(rankjury, GOLD + "".join(f"x{n} 0 d1 1\n" for n in range(missing)), RUN)
    assert warning.startswith(text)
    assert "x0" in warning and ("…" in warning) == (missing > 3)
    assert "scored 0" in warning and "missing=skip" in warning


def test_missing_queries_that_are_left_out(rankjury: Rankjury) -> None:
    (warning,) = _warned(rankjury, GOLD + "x 0 d1 1\n", RUN, "-m", "rr@2", "--missing", "skip")
    assert "1 judged query is missing" in warning and "left out" in warning and "missing=zero" in warning


@pytest.mark.parametrize(("extra", "text"), [(1, "1 retrieved query has"), (3, "3 retrieved queries have")])
def test_queries_without_gold_are_counted(rankjury: Rankjury, extra: int, text: str) -> None:
    (warning,) = _warned(rankjury, GOLD, RUN + "".join(f"x{n} Q0 d1 1 1 t\n" for n in range(extra)))
    assert warning.startswith(text) and "no gold" in warning


@pytest.mark.parametrize(("empty", "text"), [(1, "1 query has"), (2, "2 queries have")])
def test_queries_with_nothing_relevant_are_counted(rankjury: Rankjury, empty: int, text: str) -> None:
    names = [f"x{n}" for n in range(empty)]
    run = RUN + "".join(f"{name} Q0 d1 1 1 t\n" for name in names)
    (warning,) = _warned(rankjury, GOLD + "".join(f"{name} 0 d1 0\n" for name in names), run)
    assert warning.startswith(f"{text} nothing relevant in the gold")


def test_queries_that_a_threshold_empties_are_counted(rankjury: Rankjury) -> None:
    (warning,) = _warned(rankjury, GOLD, RUN, "-m", "rr@2", "--rel", "2")
    assert warning.startswith("1 query has nothing relevant")


@pytest.mark.parametrize(
    ("measures", "text"),
    [
        ("rr@1", None),
        ("rr@2", "25.0 % of the top 2"),
        ("rr@2,ap@4", "25.0 % of the top 2, 50.0 % of the top 4"),
        ("rr", "50.0 % of the top 10"),
    ],
)
def test_the_unjudged_share_is_told(rankjury: Rankjury, measures: str, text: str | None) -> None:
    """q1: d1 x y z, q2: d3 d1 and nothing else: 1 of 4 unjudged in the top 2, 3 of 6 in all."""
    run = "".join(f"q1 Q0 {item} 1 {9 - n} t\n" for n, item in enumerate(["d1", "x", "y", "z"]))
    run += "q2 Q0 d3 1 2 t\nq2 Q0 d1 2 1 t\n"
    warnings = _warned(rankjury, GOLD, run, "-m", measures)
    assert [warning.partition(";")[0] for warning in warnings] == (
        [] if text is None else [f"unjudged items count as not relevant: {text}"]
    )


@pytest.mark.parametrize(
    ("measures", "text"), [("rr@1", "1 query at 1"), ("rr@2", None), ("rr@1,rr@3", "1 query at 1, 2 queries at 3")]
)
def test_ties_at_the_cut_off_are_counted(rankjury: Rankjury, measures: str, text: str | None) -> None:
    gold = "".join(f"{query} 0 {item} 1\n" for query in ("q1", "q2") for item in "abcd")
    run = "".join(f"q1 Q0 {item} 1 {score} t\n" for item, score in zip("abcd", (5, 5, 3, 3), strict=True))
    run += "".join(f"q2 Q0 {item} 1 {score} t\n" for item, score in zip("abcd", (5, 4, 3, 3), strict=True))
    warnings = _warned(rankjury, gold, run, "-m", measures)
    assert [warning.partition(";")[0].rpartition(": ")[2] for warning in warnings] == ([] if text is None else [text])
    assert all("equal scores" in warning for warning in warnings)


def test_a_gold_that_is_named_as_the_run_is_noticed(rankjury: Rankjury) -> None:
    put("gold.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\nq2\td1\t1\n")
    put("run.tsv", "query_id\titem_id\tscore\nq1\td1\t2\nq1\td2\t1\nq2\td1\t1\n")
    for run, expected in (("gold.tsv", 1), ("run.tsv", 0)):
        warnings = rankjury("compare", "gold.tsv", run, "run.tsv", "-m", "rr@1").warnings
        assert sum("the gold itself" in line and "gold.tsv" in line for line in warnings) == expected


def test_warnings_name_their_system(rankjury: Rankjury) -> None:
    put("half.trec", "q1 Q0 d1 1 2 t\n")
    outcome = rankjury("evaluate", "gold.qrels", "run.trec", "half.trec", "-m", "rr", "--no-ci")
    assert [line.split(":")[1] for line in outcome.warnings] == [" half"]


@pytest.mark.parametrize("name", ["NDCG@2", "nDCG@2"])
def test_each_command_warns_once_of_a_name_that_differs_by_case_from_rankjurys_own(
    rankjury: Rankjury, name: str
) -> None:
    put("half.trec", "q1 Q0 d1 1 2 t\n")
    put("t.toml", f'targets = ["{name} >= 0"]\n')
    put("p.toml", f'gold = "gold.qrels"\nmeasures = ["{name}"]\n[systems]\na = "run.trec"\nb = "half.trec"\n')
    files = ["gold.qrels", "run.trec", "half.trec"]
    for command in (["evaluate", *files, "-m", name], ["compare", *files, "-m", name], ["gate", "t.toml", *files]):
        for options, times in (([], 1), (["--dialect", "ir_measures"], 0)):
            warnings = rankjury(*command, *options).warnings
            assert sum(f"{name} is read as ir_measures" in line for line in warnings) == times, (command, options)
    assert sum(f"{name} is read as ir_measures" in line for line in rankjury("run", "p.toml").warnings) == 1


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
            [sys.executable, "-m", "rankjury", *command],
            capture_output=True,
            timeout=60,
            check=True,
            env={**os.environ, "POLARS_MAX_THREADS": threads},
        )
        seen.append((done.stdout, Path("scores.csv").read_bytes()))
    assert seen[0] == seen[1]
    assert len(seen[0][1].splitlines()) == 151


def test_the_order_of_lines_changes_no_digit(rankjury: Rankjury) -> None:
    gold, run = _large(2)
    expected = report_of(rankjury("evaluate", put("g.qrels", gold), put("r.trec", run), "-m", MEASURES, "--json"))
    for seed in range(3):
        lines, judged = run.splitlines(keepends=True), gold.splitlines(keepends=True)
        random.Random(seed).shuffle(lines)
        random.Random(seed).shuffle(judged)
        put("g.qrels", "".join(judged))
        put("r.trec", "".join(lines))
        assert report_of(rankjury("evaluate", "g.qrels", "r.trec", "-m", MEASURES, "--json")) == expected


@pytest.mark.parametrize("name", ["r.csv", "r.tsv.gz", "r.jsonl.zst", "r.json", "r.parquet", "r.trec.gz"])
def test_the_format_changes_no_digit(rankjury: Rankjury, name: str) -> None:
    gold, run = _large(3)
    put("g.qrels", gold)
    put("r.trec", run)
    expected = means_of(rankjury("evaluate", "g.qrels", "r.trec", "-m", MEASURES, "--json"), "r")
    assert rankjury("convert", "r.trec", name).code == 0
    assert rankjury("convert", "g.qrels", "g" + name[1:]).code == 0
    assert means_of(rankjury("evaluate", "g" + name[1:], name, "-m", MEASURES, "--json"), "r") == expected


def test_format_overrides(rankjury: Rankjury) -> None:
    put("g.txt", "query_id,item_id,grade Q0 d1 1\n")
    put("r.txt", "query_id,item_id,grade Q0 d1 1 2 t\n")
    assert rankjury("evaluate", "g.txt", "r.txt", "-m", "rr").code == 3
    assert means_of(rankjury("evaluate", "g.txt", "r.txt", "-m", "rr", "--format", "trec", "--json"), "r") == {
        "rr": 1.0
    }
    put("g.bar", "qid,docid,rel\nq1,d1,1\n")
    mixed = ["evaluate", "g.bar", "run.trec", "-m", "rr", "--format", "trec", "--gold-format", "csv", "--json"]
    assert means_of(rankjury(*mixed)) == {"rr": 1.0}


def test_a_format_that_the_gold_does_not_have(rankjury: Rankjury) -> None:
    """The error names the option with the format that the gold does have, and that is what helps."""
    put("gold.tsv", "q1\t0\td1\t1\n")
    put("hits.json", '{"query_id": "q1", "hits": [{"id": "d1", "score": 2}]}\n')
    command = ["evaluate", "gold.tsv", "hits.json", "-m", "rr", "--format", "jsonl"]
    check_failure(rankjury(*command), 3, "gold.tsv:1", "--gold-format trec")
    assert means_of(rankjury(*command, "--gold-format", "trec", "--json"), "hits") == {"rr": 1.0}
    put("gold.jsonl", "{}\n")
    failed = rankjury("evaluate", "gold.jsonl", "hits.json", "--format", "jsonl")
    assert failed.code == 3 and "--gold-format" not in failed.err


def test_version_and_help(rankjury: Rankjury) -> None:
    assert rankjury("--version").out == f"rankjury {library.__version__}\n"
    shown = rankjury("evaluate", "--help")
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    for option in ("--dialect", "--per-query", "--missing", "--duplicates", "--gold-format", "--quiet"):
        assert option in shown.out
