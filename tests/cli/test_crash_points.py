"""A command that is killed at any of its writes leaves whole files or none, and its next run removes what was left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = ("run", "evaluate", "split", "folds", "embed", "tune", "sweep", "baseline", "prune")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_write_may_be_the_last(case: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    command = [sys.executable, "-m", "tests.cli.crash_points", case, str(tmp_path / "folder")]
    clean = {name: value for name, value in os.environ.items() if name != "KARAT_ARCHIVE"}
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tries"] > 4 and found["left"], "no try came while something was written"
    # The renames at the end are all that can be cut in two.
    assert found["parted"] == max(0, found["outputs"] - 1)
