"""rankjury evaluate: what stands on the screen and what is piped; names of systems."""

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, check_width, means_of, put, report_of, tables_of, warnings_of
from tests.cli.terminal import in_terminal

# q1: d1 (grade 1) at rank 1. q2: d3 (grade 1) at rank 1, d1 (grade 2) at rank 2.
NDCG = (1 + (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))) / 2
BASIC = ["evaluate", "gold.qrels", "run.trec"]


# --- the table ----------------------------------------------------------------------------------------------------


def test_the_table_shows_means_and_how_many(rankjury: Rankjury) -> None:
    lines = tables_of(rankjury(*BASIC, "-m", "ndcg@10,precision@10,num_rel_ret", "--no-ci").out).splitlines()
    assert lines[0].split() == ["measure", "run", "n"]
    assert [line.split() for line in lines[2:]] == [
        ["ndcg@10", f"{NDCG:.4f}", "2"],
        ["precision@10", "0.1500", "2"],
        ["num_rel_ret", "Σ", "3", "2"],
    ]


def test_several_runs_stand_beside_each_other(rankjury: Rankjury) -> None:
    put("worse.trec", RUN.replace("2.5", "0.5"))
    outcome = rankjury("evaluate", "gold.qrels", "run.trec", "worse.trec", "-m", "rr", "--no-ci")
    lines = tables_of(outcome.out).splitlines()
    assert lines[0].split() == ["measure", "run", "worse", "n"]
    assert lines[2].split() == ["rr", "1.0000", "0.7500", "2"]


def test_many_runs_stand_below_each_other(rankjury: Rankjury) -> None:
    names = [put(f"s{number}.trec", RUN) for number in range(5)]
    lines = tables_of(rankjury("evaluate", "gold.qrels", *names, "-m", "rr,ap", "--no-ci").out).splitlines()
    assert lines[0].split() == ["system", "rr", "ap", "n"]
    assert [line.split()[0] for line in lines[2:]] == ["s0", "s1", "s2", "s3", "s4"]


@pytest.mark.parametrize("systems", [1, 2, 4, 5, 9])
def test_the_default_table_fits_80_columns(rankjury: Rankjury, systems: int) -> None:
    names = [put(f"s{number}.trec", RUN) for number in range(systems)]
    outcome = rankjury("evaluate", "gold.qrels", *names, "--full")
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
@pytest.mark.parametrize(
    ("options", "figure"),
    [(["--no-ci"], r"\b[01]\.\d{4}\b"), ([], r"\b[01]\.\d{3,4}\b(?: \[[01]\.\d{3,4}, [01]\.\d{3,4}\])?")],
)
def test_no_figure_is_lost_to_long_names(
    rankjury: Rankjury, systems: int, measures: str, options: list[str], figure: str
) -> None:
    """Names may be shortened or wrapped, but every mean stands in the table whole, with its interval."""
    names = [put(f"a-system-with-a-name-of-some-length-{number}.trec", RUN) for number in range(systems)]
    out = tables_of(rankjury("evaluate", "gold.qrels", *names, "-m", measures, *options, "--full").out)
    count = len(means_of(rankjury("evaluate", "gold.qrels", names[0], "-m", measures, "--json"), names[0][:-5]))
    assert max(map(len, out.splitlines())) <= 80
    assert len(re.findall(figure, out)) == systems * count


@pytest.mark.parametrize(
    ("systems", "name"),
    [
        (1, "short"),
        (4, "short"),
        (2, "a-system-with-a-name-of-some-length"),
        (5, "short"),
    ],
)
def test_how_many_queries_were_averaged_is_shown_in_every_layout(rankjury: Rankjury, systems: int, name: str) -> None:
    """ap is defined for one query of two; a table that hides it compares what cannot be compared."""
    put("half.qrels", "q1 0 d1 1\nq2 0 d1 0\n")
    names = [put(f"{name}-{number}.trec", RUN) for number in range(systems)]
    out = tables_of(rankjury("evaluate", "half.qrels", *names, "-m", "ap").out)
    assert re.search(r"\bn\b", out.splitlines()[0])
    assert "1 (1 undefined)" in out


def test_a_wider_terminal_is_used(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    names = [put(f"a-system-with-a-name-of-some-length-{number}.trec", RUN) for number in range(4)]
    out = tables_of(rankjury("evaluate", "gold.qrels", *names, "-m", "rr").out)
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
def test_systems_are_called_by_their_stem(rankjury: Rankjury, paths: list[str], names: list[str]) -> None:
    for path in paths:
        text = "query_id,item_id,score\nq1,d1,1\n" if path.endswith(".csv") else RUN
        put(path, text)
    report = report_of(rankjury("evaluate", "gold.qrels", *paths, "-m", "rr", "--json"))
    assert list(report["systems"]) == names
    assert report["provenance"]["runs"] == dict(zip(names, paths, strict=True))


# --- standard input and output ------------------------------------------------------------------------------------


def test_the_run_from_standard_input(rankjury: Rankjury) -> None:
    assert means_of(rankjury("evaluate", "gold.qrels", "-", "-m", "rr", "--json", stdin=RUN.encode()), "stdin") == {
        "rr": 1.0
    }


def test_the_gold_from_standard_input(rankjury: Rankjury) -> None:
    assert means_of(rankjury("evaluate", "-", "run.trec", "-m", "rr", "--json", stdin=GOLD.encode())) == {"rr": 1.0}


def test_warnings_go_to_standard_error_only(rankjury: Rankjury) -> None:
    put("half.trec", "q1 Q0 x 1 2 t\n")
    outcome = rankjury("evaluate", "gold.qrels", "half.trec", "--json", "--full")
    assert len(outcome.warnings) == len(report_of(outcome)["warnings"]) > 0
    assert [line.removeprefix("warning: ") for line in outcome.warnings] == warnings_of(outcome)


def test_warnings_are_grouped_unless_all_are_asked_for(rankjury: Rankjury) -> None:
    """Every run lacks a query and has an unjudged item: one line for each kind, or one for each run."""
    runs = [put(f"r{n}.trec", f"q1 Q0 x{n} 1 2 t\nq1 Q0 d1 2 1 t\n") for n in range(4)]
    grouped, every = (rankjury("evaluate", "gold.qrels", *runs, "-m", "rr", *more) for more in ((), ("--full",)))
    assert len(grouped.warnings) <= 5
    assert sum("missing" in line for line in grouped.warnings) == 1
    assert sum("q2" in line for line in every.warnings) == 1, "the same of all systems is one line anyway"
    assert len(every.warnings) >= len(grouped.warnings)


def test_a_long_report_is_cut_and_says_so(rankjury: Rankjury) -> None:
    runs = [put(f"a-system-with-a-name-of-some-length-{number}.trec", RUN) for number in range(9)]
    command = ("evaluate", "gold.qrels", *runs, "-m", ",".join(f"ndcg@{k}" for k in range(1, 9)))
    short, whole = rankjury(*command).out.splitlines(), rankjury(*command, "--full").out.splitlines()
    assert len(short) <= 60 < len(whole)
    hidden = int(re.fullmatch(r"… (\d+) more lines: --full", short[-1])[1])  # type: ignore[index]
    assert hidden == sum(map(bool, whole)) - sum(map(bool, short[:-1]))
    assert short[:-1] == whole[: len(short) - 1]


@pytest.mark.parametrize("form", [[], ["--json"], ["-o", "report.md"]])
def test_quiet_silences_standard_error(rankjury: Rankjury, form: list[str]) -> None:
    put("half.trec", "q1 Q0 x 1 2 t\n")
    loud = rankjury("evaluate", "gold.qrels", "half.trec", *form)
    quiet = rankjury("evaluate", "gold.qrels", "half.trec", *form, "--quiet")
    assert loud.err != "" and quiet.err == ""
    assert quiet.out == loud.out


def test_the_next_step_is_a_command_that_works(rankjury: Rankjury) -> None:
    line = rankjury(*BASIC).err.splitlines()[-1]
    assert line.startswith("Next: ")
    assert rankjury(*line.split("rankjury ")[1].split()).code == 0


def test_piped_output_has_no_escapes(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "rankjury", *BASIC], capture_output=True, check=True, timeout=60)
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"0.150 [" in done.stdout


def test_no_color_is_respected_in_a_terminal(folder: Path) -> None:
    plain = in_terminal(BASIC, NO_COLOR="1")
    assert "0.150 [" in plain
    assert not re.search(r"\x1b\[[\d;]*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]", plain)
