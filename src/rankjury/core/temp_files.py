"""Temporary files and folders, marked with their process, so that those of an ended process can be removed.

A mark has the process (id and start time) and the machine, boot and container in which these are valid. It is part of
the name: ``.report.json.<mark>.part`` next to an output, ``rankjury-<kind>-<mark>`` in a folder for temporary files.
Files of a running process, and files with similar names, are never touched. Processes of other machines cannot be
checked: their files are removed a day after their last change.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

SERVER = "pgvector"
"""Kind of folder in which a database server runs: the server must be stopped before the folder is removed."""
_MARK = r"(?P<process>\d{1,10})-(?P<started>\d+)-(?P<place>[0-9a-f]{8})-[0-9a-z_]{8}"
_PART = re.compile(rf"\..+\.{_MARK}\.part", re.DOTALL)
_FOLDER = re.compile(rf"rankjury-(?P<kind>[a-z][a-z_-]*)-{_MARK}")
_UNKNOWN_START = "0"
_LONGEST_NAME = 150
"""Bytes of an output's name within the name of its part file: a file system allows 255 for both and the mark."""


def is_alive(process: int, started: str | None = None) -> bool:
    """Return whether a process has this id, and with ``started`` also this start time.

    A zombie counts as ended: only its parent has not read the exit code yet.
    """
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    status = _status(process)
    return status is None or (status[0] not in ("Z", "X") and started in (None, status[1]))


def started_at(process: int) -> str | None:
    """Return the start time of a process in ticks since boot; None if the system does not provide it."""
    status = _status(process)
    return None if status is None else status[1]


def _status(process: int) -> tuple[str, str] | None:
    """Return the state and the start time of a process."""
    with suppress(OSError, IndexError):
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()  # the program name, in brackets, may contain any character
        return fields[0], fields[19]
    return None


def new_mark() -> str:
    """Return a new mark of this process, different at each call."""
    process = os.getpid()
    return f"{process}-{started_at(process) or _UNKNOWN_START}-{_place()}-{token_hex(4)}"


@cache
def _place() -> str:
    """Return a digest of everything that makes a process id unique: machine, boot and PID namespace."""
    parts = [os.uname().nodename if hasattr(os, "uname") else ""]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return sha256("\n".join(parts).encode()).hexdigest()[:8]


def _is_abandoned(entry: "os.DirEntry[str]", mark: "re.Match[str]") -> bool:
    """Return whether the process has ended, and the entry belongs to this user."""
    with suppress(OSError):
        status = entry.stat(follow_symlinks=False)
        if entry.is_symlink() or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
            return False
        if mark["place"] == _place():
            started = None if mark["started"] == _UNKNOWN_START else mark["started"]
            return not is_alive(int(mark["process"]), started)
        return time.time() - _last_change(Path(entry.path), status.st_mtime) > 24 * 60 * 60
    return False


def _last_change(path: Path, own: float) -> float:
    """Return the time of the last change of a file, or of a folder and its content."""
    latest = own
    for folder, _, files in os.walk(path):
        for file in (folder, *(os.path.join(folder, name) for name in files)):  # noqa: PTH118 - many of them
            with suppress(OSError):
                latest = max(latest, os.lstat(file).st_mtime)
    return latest


def _entries(folder: Path, pattern: "re.Pattern[str]") -> "Iterator[tuple[os.DirEntry[str], re.Match[str]]]":
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = pattern.fullmatch(entry.name)
            if match is not None and _is_abandoned(entry, match):
                yield entry, match


def new_folder_name(kind: str) -> str:
    """Return a name for a temporary folder; ``kind`` is its purpose, a lower-case word."""
    return f"rankjury-{kind}-{new_mark()}"


def new_part(path: Path) -> Path:
    """Return a name for a part file of ``path``, after removing the part files of ended processes."""
    remove_abandoned_parts(path.parent)
    name = os.fsencode(path.name)[:_LONGEST_NAME].decode("utf-8", "ignore")
    return path.with_name(f".{name}.{new_mark()}.part")


def remove_abandoned_parts(folder: Path) -> None:
    """Remove the unfinished files and folders of ended processes from a folder."""
    for entry, _ in _entries(folder, _PART):
        remove_path(Path(entry.path))


def abandoned_folders(parent: Path, kind: str) -> list[Path]:
    """Return the temporary folders of one kind that belong to ended processes."""
    return [Path(entry.path) for entry, match in _entries(parent, _FOLDER) if match["kind"] == kind]


def remove_abandoned_folders(parent: Path | None = None) -> None:
    """Remove the temporary folders of ended processes, except those of servers."""
    for entry, match in _entries(parent or Path(tempfile.gettempdir()), _FOLDER):
        if match["kind"] != SERVER:
            remove_path(Path(entry.path))


def remove_path(path: Path) -> None:
    """Remove a file, a link, or a folder with its content; errors are ignored."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """Temporary folder, marked with its process and removed with it; ``name`` is its path."""

    def __init__(self, kind: str, parent: Path | None = None) -> None:
        """Create the folder, after removing those of ended processes next to it.

        Args:
            kind: The purpose, a lower-case word.
            parent: The parent folder; default: the system's folder for temporary files.

        Raises:
            OSError: The folder cannot be created.
        """
        home = parent or Path(tempfile.gettempdir())
        remove_abandoned_folders(home)
        # TemporaryDirectory adds eight random characters at the end of a prefix, as in a mark.
        super().__init__(prefix=new_folder_name(kind)[:-8], dir=home, ignore_cleanup_errors=True)
