"""rankjury compare: what stands on the screen."""

import os
import re
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cli.comparing import COMPARE, LONG, RR, A, B, compare_files
from tests.cli.conftest import Rankjury
from tests.cli.made import put_run, tree
from tests.cli.support import check_width, help_examples
from tests.cli.terminal import in_terminal

__all__ = ["compare_files"]
pytestmark = pytest.mark.usefixtures("compare_files")


# --- the screen ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("systems", [2, 3, 5])
@pytest.mark.parametrize("name", ["s", LONG])
@pytest.mark.parametrize("measures", ["rr", "ndcg(gain=exp,ideal=retrieved,rel=1,ties=id-desc,scores=single)@10,ap"])
def test_everything_fits_80_columns(rankjury: Rankjury, systems: int, name: str, measures: str) -> None:
    runs = [put_run(f"{name}-{n}.trec", B if n % 2 else A) for n in range(systems)]
    out = rankjury("compare", "g.qrels", *runs, "-m", measures, "--full").out
    check_width(out)
    figures = re.findall(r"[+−]?0\.\d+ \[[+−]?0\.\d+, [+−]?0\.\d+\]", out)
    assert len(figures) == (systems - 1) * (1 + measures.count(",ap"))
    losses = out.split("Largest losses of ")[1:]
    assert len(losses) == systems // 2
    assert all("q00" in part and "d0 (1): 1 → 2" in part for part in losses)


def test_the_bundled_sample_fits(rankjury: Rankjury) -> None:
    folder = files("rankjury.plan") / "samples" / "helpdesk"
    runs = [str(folder / name) for name in ("bm25.trec", "dense.trec")]
    check_width(rankjury("compare", str(folder / "qrels.trec"), *runs, "-s", f"{folder / 'queries.jsonl'}:type").out)


@pytest.mark.parametrize("command", ["evaluate", "compare", "gate"])
def test_help_has_examples_to_copy(rankjury: Rankjury, command: str) -> None:
    outcome = rankjury(command, "--help")
    assert outcome.code == 0 and outcome.err == ""
    check_width(outcome.out.replace("RUN…", "RUN"))
    commands = help_examples(outcome.out)
    assert len(commands) >= 3 and all(f"rankjury {command} " in text for text in commands)
    assert "RUN..." in outcome.out.splitlines()[0].replace("…", "...")


def test_colours_only_where_wanted(folder: Path) -> None:
    put_run("b.trec", [3 - (rank == 3) for rank in A])
    coloured = re.compile(r"\x1b\[[\d;]*(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
    assert coloured.search(in_terminal(RR)) and not coloured.search(in_terminal(RR, NO_COLOR="1"))


def test_an_interruption_leaves_nothing(folder: Path) -> None:
    """It comes while resamples are drawn: the second run is a pipe, and was just read."""
    run = Path("b.trec").read_bytes()
    os.mkfifo("c.trec")
    before = tree(folder)
    line = [sys.executable, "-m", "rankjury", *COMPARE[:3], "c.trec", "--resamples", "10000000", "-o", "new.json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        Path("c.trec").write_bytes(run)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    assert tree(folder) == before


def test_few_queries_that_differ_are_warned_of(rankjury: Rankjury) -> None:
    put_run("b.trec", [2 if n < 3 else rank for n, rank in enumerate(A)])
    assert any("fewer than 10 queries differ in rr of b" in text for text in rankjury(*RR).warnings)
    put_run("b.trec", B)
    assert not any("queries differ" in text for text in rankjury(*RR).warnings)


@pytest.mark.parametrize("width", [60, 70])
def test_narrow_screens_get_a_narrow_table(rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = rankjury(*COMPARE, "-m", "rr,recall@100").out.splitlines()
    table = lines[: next(n for n, line in enumerate(lines) if line.startswith("p: "))]
    assert max(map(len, lines)) <= width
    assert any(line.split()[:1] == ["b"] and "[" in line and "]" in line for line in table)
