"""SIGKILL at any moment leaves whole runs, and nothing else that is listed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from karat.archive import Archive, Run

from .made import QUERIES, kept, put_small

KILLS = 60
"""Of forked runs; scripts/kill_runs.py kills the real command 200 times, which takes minutes."""
ROOT = Path(__file__).parents[2]


def check_whole(run: Run) -> None:
    """It opens, and everything in it."""
    opened = Run.open(run.path)
    assert opened.faults() == []
    assert opened.form["schema"] == "karat.report/1" and opened.saved().form["queries"]["ids"]
    assert len(opened.scores().collect()) == 2 * QUERIES and len(opened.queries().collect()) == QUERIES
    answers = opened.answers()
    assert (
        answers is not None
        and set(answers.systems) == {"old", "new"}
        and opened.names() == {"a": "Anchor", "b": "Buoy"}
    )
    assert {path.name for path in run.path.iterdir()} == {*opened.files, "manifest.json"}


@pytest.mark.slow
def test_every_listed_run_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / "small"
    plan = put_small(folder)
    clean = {name: value for name, value in os.environ.items() if name != "KARAT_ARCHIVE"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.archive.killing", str(folder), str(KILLS), "9"],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] == KILLS and found["half"] >= KILLS // 20, f"the kills came at other moments: {found}"
    archive = Archive(folder / ".karat")
    runs = archive.runs()
    assert archive.troubles == [] and len(runs) >= 3
    for run in runs:
        check_whole(run)
    last = kept(archive, plan)
    check_whole(last)
    assert archive.leftovers() == [] and not list((archive.path / "runs").glob(".*"))
    assert archive.running() == []
