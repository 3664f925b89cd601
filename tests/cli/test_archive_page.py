"""The tables of the page on the archive name every file, column and key of an archived run."""

import re
from pathlib import Path
from shutil import copytree

import pytest

from rankjury.tracking.archive.archive import Archive
from tests import paths
from tests.cli.conftest import Rankjury
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "explanation" / "archive.md").read_text(encoding="utf-8")


@pytest.fixture
def desk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)
    copytree(paths.SAMPLES / "movies", folder / "movies")
    return folder


def test_the_tables_of_the_page_are_whole(rankjury: Rankjury, desk: Path) -> None:
    for command in (["run", "movies/rankjury.toml", "-q"], ["baseline", "set", "latest"]):
        outcome = rankjury(*command)
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
