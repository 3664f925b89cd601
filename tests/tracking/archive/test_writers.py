"""Several writers at once."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.manifest import Origin
from tests.tracking.archive.made import START, carried_out, put_small

WRITERS, EACH = 3, 6


def write(folder: str, archive: str, who: int, ready: object) -> None:
    """In a process of its own: the same moment, plan and inputs for everybody, so that all want the same name."""
    outcome, origin = carried_out(Path(folder) / "plan.toml")
    ready.wait()  # type: ignore[attr-defined]
    kept = Archive(Path(archive))
    for number in range(EACH):
        page = f"{who} {number}"
        run = kept.store(outcome.report, origin, gate=outcome.gate, page=lambda *_, page=page: page, time=START)
        assert run.faults() == []
        kept.set_baseline(run)


@pytest.fixture
def context() -> Iterator[multiprocessing.context.SpawnContext]:
    yield multiprocessing.get_context("spawn")


def test_nothing_is_lost_mixed_or_half_there(
    archive: Archive, tmp_path: Path, context: multiprocessing.context.SpawnContext
) -> None:
    folder = tmp_path / "small"
    put_small(folder)
    ready = context.Barrier(WRITERS)
    arguments = [(str(folder), str(archive.path), who, ready) for who in range(WRITERS)]
    processes = [context.Process(target=write, args=one) for one in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=120)
    assert [process.exitcode for process in processes] == [0] * WRITERS
    runs = archive.runs()
    assert len(runs) == WRITERS * EACH and archive.troubles == [] and archive.leftovers() == []
    written = {(run.path / "report.html").read_text() for run in runs}
    assert written == {f"{who} {number}" for who in range(WRITERS) for number in range(EACH)}
    assert all(run.faults() == [] for run in runs)
    first = runs[0].name
    assert {run.name for run in runs} == {first, *(f"{first}-{number}" for number in range(2, len(runs) + 1))}
    assert archive.baseline("small") is not None
    assert not list((archive.path / "runs").glob(".*")), "nothing hidden is left"


def test_one_removes_while_another_looks(archive: Archive, tmp_path: Path) -> None:
    outcome, _ = carried_out(put_small(tmp_path / "small"))
    for number in range(6):
        archive.store(outcome.report, Origin("small"), time=START.replace(day=1 + number))
    looking = Archive(archive.path)
    seen = looking.runs()
    archive.prune(keep=2)
    assert [run.name for run in looking.runs()] == [run.name for run in seen[-2:]] and looking.troubles == []
