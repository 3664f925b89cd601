"""Environments: streams that are closed, full or not UTF-8, narrow screens, odd numbers of threads."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rankjury.cli import prepare_process
from tests.cli.conftest import Rankjury
from tests.cli.support import GOLD, RUN, put

COMPARE = "compare gold.qrels run.trec other.trec -m ndcg@2"
OTHER = "q1 Q0 d2 1 2.5 tag\nq1 Q0 d1 2 1.5 tag\nq2 Q0 d1 1 0.9 tag\n"
NAME = "é👩\u202e"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in (("gold.qrels", GOLD), ("run.trec", RUN), ("other.trec", OTHER)):
        put(name, content)
    return tmp_path


def shell(command: str, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a command line, with ``rankjury`` in it, as a shell does."""
    line = f"rankjury() {{ '{sys.executable}' -m rankjury \"$@\"; }}; {command}"
    return subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, env={**os.environ, **variables})


ASCII = {"PYTHONIOENCODING": "ascii"}
NO_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("variables", [ASCII, NO_LOCALE], ids=["ascii", "C"])
def test_tables_are_printed_in_any_encoding(folder: Path, variables: dict[str, str]) -> None:
    done = shell(f"rankjury {COMPARE}", **variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and b"1.000 > 0.631" in done.stdout and b"-0.369" in done.stdout


def test_a_file_name_that_is_not_utf8_is_an_error(folder: Path, rankjury: Rankjury) -> None:
    Path("\udcff.trec").write_text(RUN)
    done = rankjury("evaluate", "gold.qrels", "\udcff.trec")
    assert done.code == 3 and "\\udcff.trec: " in done.err and "not UTF-8" in done.err


def test_json_is_the_same_in_any_encoding(folder: Path) -> None:
    put(f"{NAME}.trec", RUN)
    done = shell(f"rankjury evaluate gold.qrels '{NAME}.trec' --json", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0 and done.stdout.isascii()
    assert list(json.loads(done.stdout)["systems"]) == [NAME]


def test_json_steers_no_terminal(folder: Path, rankjury: Rankjury) -> None:
    put("a\x9bb\u202e.trec", RUN)
    done = rankjury("evaluate", "gold.qrels", "a\x9bb\u202e.trec", "--json")
    assert not {"\x9b", "\u202e"}.intersection(done.out)
    assert list(json.loads(done.out)["systems"]) == ["a\x9bb\u202e"]


def test_names_steer_no_terminal(folder: Path, rankjury: Rankjury) -> None:
    name = "[red]x\x1b[2J\x9b1m\u202e\r:smile:"
    put(f"{name}.trec", RUN)
    done = rankjury("evaluate", "gold.qrels", f"{name}.trec", "-m", "ndcg@2")
    assert done.code == 0
    assert not set("\x1b\x9b\u202e\r").intersection(done.out + done.err)
    assert "[red]x␛[2J␡1m\\u202e␍:smile:" in "".join(done.out.split())


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(folder: Path, closed: str) -> None:
    done = shell(f"rankjury {COMPARE} -o r.json {closed}")
    assert (done.returncode, done.stdout == b"") == (0, ">&- 2" in closed)
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["systems"]


def test_a_full_standard_output_is_an_error(folder: Path) -> None:
    for command in (f"rankjury {COMPARE} > /dev/full", "rankjury show --help > /dev/full"):
        done = shell(command)
        assert done.returncode in (1, 3)
        assert done.stderr.startswith(b"error: ") and done.stderr.count(b"\n") == 1


def test_a_full_standard_error_loses_messages_only(folder: Path) -> None:
    assert shell(f"rankjury {COMPARE} 2> /dev/full").returncode == 0


def test_numbers_of_threads_that_are_none(folder: Path) -> None:
    odd = {
        "POLARS_MAX_THREADS": "0",
        "OMP_NUM_THREADS": "-1",
        "OPENBLAS_NUM_THREADS": "abc",
        "RANKJURY_THREADS": "9" * 9,
    }
    done = shell(f"rankjury {COMPARE} -q", **odd)
    assert done.returncode == 0
    lines = done.stderr.decode().splitlines()
    assert sorted(line.split()[1] for line in lines) == sorted(odd)
    assert all(line.startswith("warning: ") for line in lines)


def test_numbers_of_threads_that_are_fine_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for streams in ("stdout", "stderr"):
        monkeypatch.setattr(sys, streams, getattr(sys, streams))
    fine = {"POLARS_MAX_THREADS": "4", "OMP_NUM_THREADS": "4,2"}
    for name, value in fine.items():
        monkeypatch.setenv(name, value)
    prepare_process()
    assert {name: os.environ.get(name) for name in fine} == fine


@pytest.mark.parametrize(("columns", "widest"), [("0", 80), ("1", 20), ("40", 40), ("abc", 80)])
def test_narrow_screens(
    folder: Path, rankjury: Rankjury, monkeypatch: pytest.MonkeyPatch, columns: str, widest: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    done = rankjury(*COMPARE.split())
    assert done.code == 0
    assert 15 < max(map(len, done.out.splitlines())) <= widest
    assert "−0.234 [−0.369, −0.100]" in " ".join(done.out.split()), "no figure is cut"


@pytest.mark.parametrize("mask", [0o077, 0o000])
def test_the_mask_of_the_user_holds_for_files_and_folders(folder: Path, rankjury: Rankjury, mask: int) -> None:
    put(
        "rankjury.toml", 'version = 1\nmeasures = ["ap"]\n[gold]\npath = "gold.qrels"\n[systems.a]\npath = "run.trec"\n'
    )
    before = os.umask(mask)
    try:
        done = rankjury("run", "--archive", "kept", "-q")
    finally:
        os.umask(before)
    assert done.code == 0, done.err
    for path in Path("kept").rglob("*"):
        most = 0o777 if path.is_dir() else 0o666
        assert stat.S_IMODE(path.stat().st_mode) == most & ~mask, path


def test_a_folder_that_is_gone(folder: Path) -> None:
    done = shell("mkdir gone && cd gone && rmdir ../gone && rankjury init")
    assert done.returncode == 3
    assert done.stderr.startswith(b"error: ") and b"Traceback" not in done.stderr


def test_python_without_its_defaults(folder: Path) -> None:
    environment = "env -u HOME TMPDIR=/nowhere PYTHONWARNINGS=error TERM=dumb"
    done = shell(f"{environment} '{sys.executable}' -m rankjury {COMPARE} -q")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["init", "show", "history"])
def test_a_current_folder_that_was_removed_is_named(rankjury: Rankjury, folder: Path, command: str) -> None:
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    done = rankjury(command)
    os.chdir(folder)
    assert done.code == 3 and "current folder" in done.err
