"""What is being run right now, for whoever looks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankjury.core.progress import NO_PROGRESS, Progress
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.archive.store import publish_progress


def files_of(archive: Archive) -> list[str]:
    return sorted(path.name for path in (archive.path / "running").iterdir())


def test_told_while_it_runs_and_gone_afterwards(archive: Archive, run: ArchivedRun) -> None:
    told: list[tuple[str, int, int]] = []
    with publish_progress(archive.path, "small", "plan.toml", Progress(lambda *step: told.append(step))) as progress:
        progress.update("Ranking new", 3, 7)
        (form,) = archive.running()
        assert form["schema"] == "rankjury.running/1" and form["pid"] == os.getpid()
        assert (form["name"], form["plan"]) == ("small", "plan.toml") and form["started"] <= form["updated"]
        assert (form["what"], form["done"], form["of"]) == ("Ranking new", 3, 7)
    assert told == [("Ranking new", 3, 7)] and archive.running() == [] and files_of(archive) == []


def test_written_at_most_four_times_a_second(
    archive: Archive, run: ArchivedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("rankjury.tracking.archive.store.monotonic", lambda: clock[0])
    seen = []
    with publish_progress(archive.path, "small", None, NO_PROGRESS) as progress:
        for step in range(20):
            progress.update("Ranking", step, 20)
            seen.append(archive.running()[0]["done"])
            clock[0] += 0.1
    assert seen == [0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9, 12, 12, 12, 15, 15, 15, 18, 18]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_gone_after_an_error(archive: Archive, run: ArchivedRun, error: type[BaseException]) -> None:
    with pytest.raises(error), publish_progress(archive.path, "small", None, NO_PROGRESS):
        assert len(archive.running()) == 1
        raise error
    assert files_of(archive) == []


def test_where_there_is_no_archive_none_is_made(archive: Archive) -> None:
    with publish_progress(archive.path, "small", None, NO_PROGRESS) as progress:
        progress.update("x", 0, 1)
    assert not archive.path.exists() and archive.running() == []


def test_what_the_dead_left_is_not_told_and_goes(archive: Archive, run: ArchivedRun) -> None:
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = int(done.stdout)
    folder = archive.path / "running"
    folder.mkdir()
    for pid, started in ((dead, None), (os.getpid(), "another process of the same id")):
        form = {"schema": "rankjury.running/1", "pid": pid, "process_started": started}
        (folder / f"{pid}-ab.json").write_text(json.dumps(form))
    (folder / f".{dead}-ab.json.{dead}-cd.part").write_text("{")
    (folder / "2-ab.json").write_text("not json")
    (folder / "mine.txt").write_text("")
    assert archive.running() == []
    with publish_progress(archive.path, "small", None, NO_PROGRESS):
        assert len(archive.running()) == 1
    assert files_of(archive) == ["mine.txt"]


def test_a_file_that_cannot_be_written_stops_nobody(archive: Archive, run: ArchivedRun) -> None:
    (archive.path / "running").write_text("a file")
    told = []
    with publish_progress(archive.path, "small", None, Progress(lambda *step: told.append(step))) as progress:
        progress.update("x", 1, 2)
    assert told == [("x", 1, 2)] and archive.running() == []


def test_two_at_once(archive: Archive, run: ArchivedRun) -> None:
    with publish_progress(archive.path, "a", None, NO_PROGRESS), publish_progress(archive.path, "b", None, NO_PROGRESS):
        assert sorted(form["name"] for form in archive.running()) == ["a", "b"]


def test_paths_are_those_of_the_archive(archive: Archive, run: ArchivedRun) -> None:
    with publish_progress(archive.path, "../../x", "y", NO_PROGRESS):
        assert {path.parent for path in Path(archive.path, "running").iterdir()} == {archive.path / "running"}
