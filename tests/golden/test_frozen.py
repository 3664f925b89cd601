"""What an earlier version stored stays readable; the golden case ``frozen`` compares all that is shown of it."""

import json
import re
from pathlib import Path
from shutil import copy, copytree

import pytest

from .recording import FROZEN, Session, record

RUNS = sorted(path.name for path in (FROZEN / ".karat" / "runs").iterdir())


def call(*arguments: str) -> str:
    """Run a command on a copy of the frozen files; it must succeed and find no fault."""

    def case(session: Session) -> None:
        copytree(FROZEN / ".karat", ".karat")
        copy(FROZEN / "report.json", ".")
        Path("targets.toml").write_text('targets = ["ndcg@10 >= 0.5"]\n')
        session.karat("command", *arguments)

    text = record("frozen", case)["command.txt"]
    assert text.endswith("--- exit code 0\n") and "not as it was kept" not in text, text
    return text


@pytest.mark.parametrize("run", RUNS)
def test_show_prints_the_means_that_were_stored(run: str) -> None:
    manifest = json.loads((FROZEN / ".karat" / "runs" / run / "manifest.json").read_bytes())
    shown = call("show", run)
    for measures in manifest["summary"].values():
        assert all(f"{measures[label]['mean']:.3f}" in shown for label in manifest["headline"])


def test_history_and_diff_find_both_runs() -> None:
    for text in (call("history", "questions"), call("diff", "latest:questions")):
        assert "2026-01-02" in text or RUNS[0] in text
        assert "2026-01-03" in text or RUNS[1] in text


@pytest.mark.parametrize("report", ["report.json", "latest:questions"])
def test_gate_reads_it(report: str) -> None:
    assert "1 pass" in call("gate", "targets.toml", report)


def test_it_names_no_machine() -> None:
    for path in FROZEN.rglob("*"):
        if path.is_file():
            assert not re.search(rb"/(tmp|home|root|work|Users)/", path.read_bytes()), path
