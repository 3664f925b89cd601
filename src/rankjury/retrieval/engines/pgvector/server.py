"""An embedded PostgreSQL: started when an engine first needs it, shared, stopped and removed with the last.

However Python ends, short of being killed, the server ends with it; what a killed one left is cleared by the next run
(``homes``). Nothing is synced to disk: a server that is killed loses nothing by that, only a machine that goes down.
"""

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from rankjury.errors import DataError
from rankjury.retrieval.engines.pgvector.server_folder import Home, find_programs

_USER = "postgres"
_READY_WITHIN = 60.0
_ENDED_WITHIN = 5.0
_LINES_OF_LOG = 5
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
    "dynamic_shared_memory_type": "mmap",
    "jit": "off",
}
"""Durable enough for a corpus that can be loaded again, and nothing in the background while searches are timed. What
processes share while they build an index is in the data folder: containers have little room for it elsewhere, and a
server that is killed would leave it there."""


class NotRunning(DataError):  # noqa: N818 - reads as what it says
    """An embedded server is not there, and could not be started."""


class Server:
    """One PostgreSQL in a folder of its own."""

    def __init__(self, folder: str = "", buffers: int = 512) -> None:
        self.users = 0
        self.stopped = False
        self._owner = os.getpid()
        self._changing = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._buffers = buffers
        self.home = Home(folder)
        _remember(self)
        try:
            self._programs = find_programs(self.home)
            self._initialise()
            self.ensure_running()
        except BaseException:
            self.stop()
            raise

    @property
    def parameters(self) -> dict[str, str]:
        """How to connect."""
        return {"host": str(self.home.sockets), "user": _USER, "dbname": _USER}

    @property
    def pid(self) -> int | None:
        """Its process."""
        return None if self._process is None else self._process.pid

    def ensure_running(self) -> None:
        """Start it, or start it again on its data where it was killed."""
        with self._changing:
            if self._process is not None and self._process.poll() is None:
                return
            if self.stopped:
                raise NotRunning("the embedded PostgreSQL was stopped")
            settings = _SETTINGS | {
                "shared_buffers": f"{self._buffers}MB",
                "unix_socket_directories": str(self.home.sockets),
            }
            options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            self._run("postgres", "-D", str(self.home.data), *options)
            self._await_ready()

    def _initialise(self) -> None:
        options = ("--auth=trust", "--no-sync", "--no-instructions", "--locale=C", "--encoding=UTF8")
        process = self._run("initdb", "-D", str(self.home.data), "-U", _USER, *options)
        if process.wait():
            raise self._failure("could not be set up")
        self._process = None

    def _run(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        """In a session of its own, so that Ctrl-C at a terminal reaches Python alone, which then stops it."""
        account = self.home.account
        with self.home.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / program, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home.data,
                env=_environment(),
                start_new_session=True,
                user=None if account is None else account.user,
                group=None if account is None else account.group,
                extra_groups=None if account is None else [],
            )
        return self._process

    def _await_ready(self) -> None:
        """Until its own file says so; one that was killed left such a file too."""
        until = time.monotonic() + _READY_WITHIN
        while time.monotonic() < until and self._process is not None and self._process.poll() is None:
            with suppress(OSError):
                said = (self.home.data / "postmaster.pid").read_text().split()
                if said[:1] == [str(self._process.pid)] and said[-1] == "ready":
                    return
            time.sleep(0.01)
        raise self._failure("did not start")

    def _failure(self, what: str) -> NotRunning:
        lines = self.home.log.read_text(errors="replace").splitlines() if self.home.log.exists() else []
        return NotRunning(
            f"the embedded PostgreSQL {what}",
            hint="What it said last:" if lines else "It said nothing.",
            details=lines[-_LINES_OF_LOG:],
        )

    def stop(self) -> None:
        """End it at once, and remove its folder: its data is wanted by no one any more."""
        if os.getpid() != self._owner:
            return
        with self._changing:
            self.stopped = True
            if self._process is not None:
                for number in (signal.SIGQUIT, signal.SIGKILL):
                    self._process.send_signal(number)
                    with suppress(subprocess.TimeoutExpired):
                        self._process.wait(_ENDED_WITHIN)
                        break
            self.home.remove()
            _forget(self)


def _environment() -> dict[str, str]:
    """Without what would tell PostgreSQL's programs of another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"TZ": "UTC"}


_shared: dict[tuple[Path, int], Server] = {}
_alive: list[Server] = []
_guard = threading.RLock()
_handled: dict[int, object] = {}


def acquire(folder: str = "", buffers: int = 512) -> Server:
    """The server of a folder, started where there is none yet; ``release`` it when done."""
    with _guard:
        key = (Path(folder).resolve() if folder else Path(), buffers)
        server = _shared.get(key)
        if server is None or server.stopped:
            server = _shared[key] = Server(folder, buffers)
        server.users += 1
        return server


def release(server: Server) -> None:
    """One user fewer; the last stops it."""
    with _guard:
        server.users -= 1
        if server.users <= 0:
            for key in [key for key, other in _shared.items() if other is server]:
                del _shared[key]
            server.stop()


@contextmanager
def running(folder: str = "", buffers: int = 512) -> Iterator[Server]:
    """Keep one server over several engines, one after the other."""
    server = acquire(folder, buffers)
    try:
        yield server
    finally:
        release(server)


def _remember(server: Server) -> None:
    with _guard:
        if not _alive:
            atexit.register(_stop_all)
            _handle_signals()
        _alive.append(server)


def _forget(server: Server) -> None:
    with _guard:
        if server in _alive:
            _alive.remove(server)
            if not _alive:
                atexit.unregister(_stop_all)
                _unhandle_signals()


def _stop_all() -> None:
    for server in list(_alive):
        server.stop()


def _handle_signals() -> None:
    """Those that would end Python without a word, unless the program has its own way with them."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                _handled[number] = signal.signal(number, _stop_and_end)


def _unhandle_signals() -> None:
    if threading.current_thread() is threading.main_thread():
        while _handled:
            number, _ = _handled.popitem()
            if signal.getsignal(number) == _stop_and_end:
                signal.signal(number, signal.SIG_DFL)


def _stop_and_end(number: int, frame: FrameType | None) -> None:
    _stop_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
