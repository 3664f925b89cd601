"""Demos that are run once for all tests and workers: their outputs, and the files that they write."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import Outcome


def run_demo_once(sample: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """Return the folder and the output of ``rankjury demo SAMPLE -o .``, run by the first test that needs it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, outcome = shared / f"demo-{sample}", shared / f"demo-{sample}.json"
    with (shared / f"demo-{sample}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not outcome.exists():
            folder.mkdir()
            output = () if sample == "helpdesk" else ("-o", ".")
            ended = subprocess.run(
                [sys.executable, "-m", "rankjury", "demo", sample, *output],
                cwd=folder,
                env=os.environ | {"COLUMNS": "80"},
                capture_output=True,
                text=True,
                check=False,
            )
            outcome.write_text(json.dumps([ended.returncode, ended.stdout, ended.stderr]), encoding="utf-8")
    return folder, Outcome(*json.loads(outcome.read_text(encoding="utf-8")))
