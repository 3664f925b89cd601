"""A plan that was carried out once, for all tests that only read."""

from pathlib import Path

import pytest

from rankjury.plan.run import Outcome
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import ArchivedRun
from tests.tracking.archive.made import START, carried_out, put_small


@pytest.fixture(autouse=True)
def nobodys_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKJURY_ARCHIVE", raising=False)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Origin]:
    return carried_out(put_small(tmp_path_factory.mktemp("small")))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """Not there yet."""
    return Archive(tmp_path / ".rankjury")


@pytest.fixture
def run(archive: Archive, made: tuple[Outcome, Origin]) -> ArchivedRun:
    """The only run of the archive."""
    outcome, origin = made
    return archive.store(outcome.report, origin, gate=outcome.gate, time=START)
