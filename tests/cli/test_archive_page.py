"""The page on the archive is true: its commands run one after the other, its tables name what is there."""

import re
from pathlib import Path
from shutil import copytree

import pytest

from rankjury.tracking.archive.archive import Archive
from tests import paths
from tests.cli.conftest import Rankjury
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "archive.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    (block,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    return [line.removeprefix("$ ") for line in block.splitlines() if line != "$ rankjury view"]


@pytest.fixture
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)
    copytree(paths.SAMPLES / "movies", folder / "movies")
    return folder


def test_its_commands_run_and_its_tables_are_whole(rankjury: Rankjury, desk: Path) -> None:
    assert len(commands()) >= 6
    for command in commands():
        outcome = rankjury(*command.split()[1:])
        assert outcome.code == 0, outcome.err
    run = Archive(desk / ".rankjury").find("latest")
    for name in (*run.files, "manifest.json", *run.manifest):
        assert f"`{name}`" in PAGE, name
    for table in ("scores", "rankings", "golds", "queries", "items"):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{table}.parquet`"))
        columns = run.tables.scan(f"{table}.parquet").collect_schema().names()
        measures = list(run.manifest["measures"])
        assert {name for name in columns if name not in measures} == set(re.findall(r"`(\w+)`", row))
    for name in (path.name for path in (desk / ".rankjury").iterdir() if path.name != ".gitignore"):
        assert name in PAGE
