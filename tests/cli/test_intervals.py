"""rankjury evaluate: intervals, what shapes them, what must never change their digits, and --record."""

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.made import QUERIES, RANKS, put_gold, put_run, shuffled
from tests.cli.support import check_failure, check_width, put, report_of

RR = ["evaluate", "g.qrels", "a.trec", "-m", "rr"]


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    put_gold()
    put_run("a.trec", RANKS)


def _rr(rankjury: Rankjury, *options: str, system: str = "a") -> dict[str, Any]:
    entry: dict[str, Any] = report_of(rankjury(*RR, "--json", *options))["systems"][system]["measures"]["rr"]
    return entry


# --- what is given ------------------------------------------------------------------------------------------------


def test_an_interval_stands_beside_every_mean(rankjury: Rankjury) -> None:
    report = report_of(rankjury(*RR[:3], "--json"))
    assert report["resampling"] == {"resamples": 10_000, "level": 0.95, "seed": 0, "interval": "auto"}
    for entry in report["systems"]["a"]["measures"].values():
        low, high = entry["ci"]
        assert low - 1e-9 <= entry["mean"] <= high + 1e-9


def test_the_interval_is_about_as_wide_as_the_normal_one(rankjury: Rankjury) -> None:
    values = [1 / rank for rank in RANKS]
    mean = sum(values) / QUERIES
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (QUERIES - 1) / QUERIES)
    entry = _rr(rankjury)
    assert entry["mean"] == pytest.approx(mean) and entry["se"] == pytest.approx(error)
    assert entry["ci"] == pytest.approx([mean - 1.96 * error, mean + 1.96 * error], abs=0.15 * error)


def test_the_table_says_what_the_brackets_are(rankjury: Rankjury) -> None:
    outcome = rankjury(*RR)
    low, high = _rr(rankjury)["ci"]
    assert f"[{low:.3f}, {high:.3f}]" in outcome.out
    assert "95 % interval over queries" in outcome.out
    assert "99.9 % interval" in rankjury(*RR, "--level", "0.999").out


def test_means_only(rankjury: Rankjury) -> None:
    outcome = rankjury(*RR, "--no-ci")
    assert "[" not in outcome.out and "interval" not in outcome.out
    report = report_of(rankjury(*RR, "--no-ci", "--json"))
    assert "resampling" not in report
    assert report["systems"]["a"]["measures"]["rr"]["ci"] is None


def test_csv_and_markdown_have_the_interval(rankjury: Rankjury) -> None:
    low, high = _rr(rankjury, "-o", "report.csv", "-o", "report.md")["ci"]
    (row,) = csv.DictReader(Path("report.csv").read_text().splitlines())
    assert (float(row["ci_low"]), float(row["ci_high"])) == (low, high)
    assert f"[{low:.3f}, {high:.3f}]" in Path("report.md").read_text()


def test_a_higher_level_is_wider(rankjury: Rankjury) -> None:
    widths = [high - low for low, high in (_rr(rankjury, "--level", level)["ci"] for level in ("0.5", "0.9", "0.99"))]
    assert widths == sorted(set(widths))


def test_bca_is_another_interval_and_usual_for_means(rankjury: Rankjury) -> None:
    put_run("a.trec", [1] * 21 + [3] * 3)
    usual, plain, shifted = (_rr(rankjury, "--interval", kind) for kind in ("auto", "percentile", "bca"))
    assert plain["mean"] == shifted["mean"]
    assert shifted["ci"][0] < plain["ci"][0]
    assert usual == shifted


@pytest.mark.parametrize("systems", [1, 2, 4, 5, 9])
@pytest.mark.parametrize("options", [[], ["--no-ci"], ["--level", "0.999"]])
def test_every_layout_fits_80_columns(rankjury: Rankjury, systems: int, options: list[str]) -> None:
    names = [put_run(f"{'a-name-of-some-length-' * (n % 2)}s{n}.trec", RANKS) for n in range(systems)]
    outcome = rankjury("evaluate", "g.qrels", *names, *options, "--full")
    check_width(outcome.out)
    assert outcome.code == 0


# --- few queries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("queries", "text"), [(1, "one query: no interval"), (2, "2 queries"), (19, "19 queries")])
def test_few_queries_are_warned_of(rankjury: Rankjury, queries: int, text: str) -> None:
    put_gold(queries=queries)
    put_run("a.trec", RANKS[:queries])
    outcome = rankjury(*RR, "--json")
    assert len(outcome.warnings) == 1 and text in outcome.warnings[0]
    assert (report_of(outcome)["systems"]["a"]["measures"]["rr"]["ci"] is None) == (queries == 1)


def test_enough_queries_are_not_warned_of(rankjury: Rankjury) -> None:
    assert rankjury(*RR).warnings == []


def test_equal_scores_have_an_interval_of_no_width(rankjury: Rankjury) -> None:
    put_run("a.trec", [2] * QUERIES)
    for kind in ("auto", "percentile", "bca"):
        assert _rr(rankjury, "--interval", kind)["ci"] == [0.5, 0.5]
        measures = report_of(rankjury(*RR[:3], "-m", "precision@10,precision@3", "--interval", kind, "--json"))[
            "systems"
        ]
        assert [[entry["mean"]] * 2 for entry in measures["a"]["measures"].values()] == [
            entry["ci"] for entry in measures["a"]["measures"].values()
        ]
    assert "0.5000 [0.5000, 0.5000]" in rankjury(*RR).out


def test_nothing_relevant_at_all(rankjury: Rankjury) -> None:
    put_gold(grade=0)
    outcome = rankjury(*RR, "--empty", "skip", "--json", "-o", "report.csv", "-o", "report.md")
    assert "NaN" not in outcome.out
    entry = report_of(outcome)["systems"]["a"]["measures"]["rr"]
    assert (entry["mean"], entry["ci"], entry["n"], entry["undefined"]) == (None, None, 0, QUERIES)
    assert f"{QUERIES} queries have nothing relevant" in outcome.warnings[0]
    assert "nan" not in (Path("report.csv").read_text() + Path("report.md").read_text()).lower()


def test_undefined_queries_are_left_out_and_counted(rankjury: Rankjury) -> None:
    put("g.qrels", Path("g.qrels").read_text().replace("q00 0 d0 1", "q00 0 d0 0"))
    entry = _rr(rankjury, "--empty", "skip")
    assert (entry["n"], entry["undefined"]) == (QUERIES - 1, 1)
    assert f"{QUERIES - 1} (1 undefined)" in rankjury(*RR, "--empty", "skip").out


# --- same seed, same digits ---------------------------------------------------------------------------------------


def test_the_seed_decides(rankjury: Rankjury) -> None:
    found = [tuple(_rr(rankjury, "--seed", seed)["ci"]) for seed in ("0", "1", "-7", "0")]
    assert found[0] == found[3] and len(set(found)) == 3


def test_more_resamples_are_other_resamples(rankjury: Rankjury) -> None:
    report = report_of(rankjury(*RR, "--json", "--resamples", "500"))
    assert report["resampling"]["resamples"] == 500
    assert report["systems"]["a"]["measures"]["rr"]["ci"] != _rr(rankjury)["ci"]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rows_changes_no_digit(rankjury: Rankjury, seed: int) -> None:
    before = rankjury(*RR, "--json").out
    shuffled("g.qrels", seed)
    shuffled("a.trec", seed + 10)
    assert rankjury(*RR, "--json").out == before


def test_other_measures_and_systems_change_no_digit(rankjury: Rankjury) -> None:
    alone = _rr(rankjury)
    put_run("b.trec", RANKS[::-1])
    assert _rr(rankjury, "-m", "ap,ndcg@10,precision@1,num_rel_ret") == alone
    for runs in (["a.trec", "b.trec"], ["b.trec", "a.trec"]):
        report = report_of(rankjury("evaluate", "g.qrels", *runs, "-m", "ndcg@10,rr", "--json"))
        assert report["systems"]["a"]["measures"]["rr"] == alone


def test_threads_change_no_digit(rankjury: Rankjury) -> None:
    command = [sys.executable, "-m", "rankjury", *RR[:3], "--json"]
    one_cpu = [sys.executable, "-c", "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "]
    one_cpu[2] += "sys.argv = ['rankjury', *sys.argv[1:]]; from rankjury.cli import main; main()"
    found = {rankjury(*RR[:3], "--json").out}
    for line, threads in ((command, "1"), (command, "8"), ([*one_cpu, *RR[:3], "--json"], "1")):
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        found.add(subprocess.run(line, capture_output=True, check=True, timeout=60, env=environment).stdout.decode())
    assert len(found) == 1


# --- requests that make no sense ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [RR, ["compare", *RR[1:3], "b.trec"], ["gate", "t.toml", *RR[1:3]]])
@pytest.mark.parametrize(
    ("options", "fragments"),
    [
        (["--level", "95"], ("95", "between 0 and 1", "0.95")),
        (["--level", "nan"], ("nan", "between 0 and 1")),
        (["--level", "1"], ("between 0 and 1",)),
        (["--resamples", "0"], ("found 0 resamples", "100 to")),
        (["--resamples", "-5"], ("resamples",)),
        (["--resamples", "1000000000"], ("1,000,000,000 resamples",)),
        (["--seed", "99999999999999999999"], ("seed", "64 bits")),
        (["--interval", "bac"], ("'bac'", "Did you mean bca?")),
    ],
)
def test_bad_options_of_resampling(
    rankjury: Rankjury, folder: Path, command: list[str], options: list[str], fragments: tuple[str, ...]
) -> None:
    put_run("b.trec", RANKS)
    put("t.toml", 'targets = ["rr >= 0.5"]\n')
    before = sorted(folder.iterdir())
    check_failure(rankjury(*command, *options, "-o", "new.json"), 2, *fragments)
    assert sorted(folder.iterdir()) == before


# --- recorded figures ---------------------------------------------------------------------------------------------


def test_a_figure_is_kept_with_every_system_or_with_one(rankjury: Rankjury) -> None:
    put_run("b.trec", RANKS)
    options = ["--record", "latency_p95_ms=12.5", "--record", "b:size=-3e2", "--record", "b: memory = 7"]
    report = report_of(rankjury("evaluate", "g.qrels", "a.trec", "b.trec", "--json", "--no-ci", *options))
    assert report["systems"]["a"]["figures"] == {"latency_p95_ms": 12.5}
    assert report["systems"]["b"]["figures"] == {"latency_p95_ms": 12.5, "size": -300.0, "memory": 7.0}


def test_no_figures_no_key(rankjury: Rankjury) -> None:
    assert "figures" not in report_of(rankjury(*RR, "--json"))["systems"]["a"]


@pytest.mark.parametrize("text", ["latency", "=5", "latency=", "latency=fast", "latency=nan", "x=inf", "a:=5", ""])
def test_a_figure_that_is_none(rankjury: Rankjury, folder: Path, text: str) -> None:
    before = sorted(folder.iterdir())
    check_failure(rankjury(*RR, "--record", text, "-o", "new.json"), 2, repr(text), "a name and a number")
    assert sorted(folder.iterdir()) == before


def test_a_figure_of_an_unknown_system(rankjury: Rankjury) -> None:
    put_run("dense.trec", RANKS)
    outcome = rankjury("evaluate", "g.qrels", "dense.trec", "--record", "dens:x=1")
    check_failure(outcome, 2, "unknown system 'dens'", "Did you mean dense?")


# --- standard output and error ------------------------------------------------------------------------------------


def test_quiet_leaves_the_same_result(rankjury: Rankjury) -> None:
    put_gold(queries=3)
    put_run("a.trec", RANKS[:3])
    for form in ([], ["--json"]):
        loud, quiet = rankjury(*RR, *form), rankjury(*RR, *form, "-q")
        assert loud.err.startswith("warning: ") and quiet.err == ""
        assert loud.out == quiet.out


def test_the_saved_report_holds_every_query(rankjury: Rankjury) -> None:
    """So that a later one can be compared with it; what is printed for a pipe does not."""
    outcome = rankjury(*RR, "--json", "-o", "report.json")
    saved = json.loads(Path("report.json").read_text())
    queries = saved.pop("queries")
    assert saved.pop("gold")["queries"] == QUERIES
    assert saved == report_of(outcome)
    assert queries["ids"] == [f"q{n:02}" for n in range(QUERIES)]
    assert queries["scores"]["a"]["rr"] == [1 / rank for rank in RANKS]
