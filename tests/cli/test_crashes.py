"""Crashes, interruptions and --debug: one line and the right exit code, a traceback only where it is asked for."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from rankjury.cli.shared import options
from rankjury.errors import DataError
from tests.cli.conftest import Rankjury
from tests.cli.support import put

EVALUATE = ["evaluate", "gold.qrels", "run.trec"]


@pytest.mark.parametrize("arguments", [["--debug", *EVALUATE[:2], "nowhere"], [*EVALUATE[:2], "nowhere", "--debug"]])
def test_debug_shows_the_traceback(rankjury: Rankjury, arguments: list[str]) -> None:
    outcome = rankjury(*arguments)
    assert outcome.code == 3
    assert "Traceback (most recent call last)" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("error: nowhere: no such file")


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (RuntimeError("oops"), 1, "internal error: RuntimeError: oops. This is a bug; --debug shows where."),
        (
            pl.exceptions.PanicException("rust"),
            1,
            "internal error: PanicException: rust. This is a bug; --debug shows where.",
        ),
        (MemoryError(), 1, "error: out of memory"),
        (DataError("found x", where="y"), 3, "error: y: found x"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_what_is_raised_within_ends_in_one_line(
    rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, line: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(options, "assess_files", fail)
    outcome = rankjury(*EVALUATE)
    assert (outcome.code, outcome.out, outcome.err) == (code, "", line + "\n")


STEERING = "a\x1b[2Jb\x9b31m\u202ec\u2066\nerror: d\re"


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "gold.qrels", STEERING],
        ["evaluate", "gold.qrels", "run.trec", "-m", STEERING],
        ["evaluate", "gold.qrels", "run.trec", f"--{STEERING}"],
        ["evaluate", "gold.qrels", "run.trec", "--resamples", STEERING],
        [STEERING],
        ["run", STEERING],
    ],
)
def test_a_name_in_an_error_cannot_steer_the_terminal(rankjury: Rankjury, arguments: list[str]) -> None:
    outcome = rankjury(*arguments)
    assert outcome.code in (2, 3)
    assert not set("\x1b\x9b\u202e\u2066\r").intersection(outcome.err)
    assert not any(line.startswith("error: d") for line in outcome.err.splitlines())


def test_a_long_argument_is_cut_in_an_error(rankjury: Rankjury) -> None:
    for arguments in (["evaluate", "gold.qrels", "x" * 100_000], ["evaluate", "--" + "x" * 100_000]):
        assert len(rankjury(*arguments).err) < 5_000


def _python(*arguments: str, **options: object) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([sys.executable, "-m", "rankjury", *arguments], capture_output=True, timeout=60, **options)  # type: ignore[call-overload]


def test_end_to_end_an_error_is_one_line(folder: Path) -> None:
    put("bad.trec", "q1 Q0 d1 1 best tag\n")
    done = _python("evaluate", "gold.qrels", "bad.trec", "-o", "report.json")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.decode().startswith("error: bad.trec:1: the score is 'best'")
    assert done.stderr.count(b"\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["bad.trec", "gold.qrels", "run.trec"]


def test_end_to_end_a_pipe_as_a_file(folder: Path) -> None:
    """As the shell's <(zcat run.gz) gives."""
    command = f"{sys.executable} -m rankjury evaluate gold.qrels <(cat run.trec) -m ap --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert b'"mean": 1.0' in done.stdout


def test_end_to_end_a_reader_that_left_is_no_error(folder: Path) -> None:
    """As ``rankjury list metrics | head -1`` with pipefail."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rankjury", "list", "metrics"], stdout=writer, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_at_the_very_end_is_no_traceback() -> None:
    """When everything is said and only the streams are to be emptied."""
    code = (
        "import sys, io\n"
        "class Late(io.StringIO):\n"
        "    def flush(self):\n"
        "        raise KeyboardInterrupt\n"
        "import rankjury.cli\n"
        "sys.argv = ['rankjury', '--version']\n"
        "sys.stdout = Late()\n"
        "rankjury.cli.run()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")
