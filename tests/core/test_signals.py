"""Ctrl-C, SIGTERM and SIGHUP at any moment of a command: one line, the right exit code, and nothing left."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

AT_AN_IMPORT = """
import os, sys
module, number = sys.argv[1], int(sys.argv[2])

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), number)

from rankjury.__main__ import run
sys.meta_path.insert(0, Interrupting())
sys.argv = ["rankjury", "evaluate", "gold.qrels", "run.trec", "-o", "a.json", "-o", "b.csv"]
run()
"""
"""Ends itself by a signal when a module is looked for."""
IN_A_RENAME = """
import os, sys
real, number = os.replace, int(sys.argv[1])

def replace(*given):
    os.kill(os.getpid(), number)
    real(*given)

from rankjury.__main__ import run
os.replace = replace
sys.argv = ["rankjury", "evaluate", "gold.qrels", "run.trec", "-o", "a.json", "-o", "b.csv"]
run()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gold.qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\n")
    return tmp_path


def ended(folder: Path, code: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("rankjury.cli", signal.SIGINT),
        ("typer", signal.SIGTERM),
        ("rankjury.scale.evaluate_files", signal.SIGINT),
        ("polars", signal.SIGINT),
        ("rankjury.evaluation.compare", signal.SIGINT),
        ("rankjury.reporting.writers.json", signal.SIGTERM),
    ],
)
def test_a_signal_at_an_import_is_one_line(folder: Path, module: str, number: signal.Signals) -> None:
    done = ended(folder, AT_AN_IMPORT, module, int(number))
    assert (done.returncode, done.stderr) == (128 + number, "interrupted\n")
    assert sorted(path.name for path in folder.iterdir()) == ["gold.qrels", "run.trec"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_within_the_renames_waits_for_all(folder: Path, number: signal.Signals) -> None:
    heeded = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # also where the tests run under nohup
    done = ended(folder, heeded + IN_A_RENAME, int(number))
    assert (done.returncode, done.stderr) == (128 + number, "interrupted\n")
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b.csv", "gold.qrels", "run.trec"]


def test_a_signal_that_is_ignored_stays_ignored(folder: Path) -> None:
    """As under nohup."""
    code = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    done = ended(folder, code + IN_A_RENAME, int(signal.SIGHUP))
    assert done.returncode == 0 and (folder / "b.csv").exists()
