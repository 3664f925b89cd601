"""A command that is killed at any of its writes leaves whole files or none, and its next run removes what was left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

CASES = (("run", "baseline", "prune"), ("evaluate", "tune", "sweep"), ("split", "folds", "embed"))
"""Commands that one process tries: it imports what they need once."""


@pytest.mark.slow
@pytest.mark.parametrize("cases", CASES, ids="-".join)
def test_every_write_may_be_the_last(cases: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.cli.crash_points", str(tmp_path), *cases]
    clean = {name: value for name, value in os.environ.items() if name != "RANKJURY_ARCHIVE"}
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for case, found in json.loads(done.stdout).items():
        assert found["copies"] > 3 and found["left"], f"{case}: no copy was made while something was written"
        # The renames at the end are all that can be cut in two.
        assert found["parted"] == max(0, found["outputs"] - 1), f"{case}: {found}"
