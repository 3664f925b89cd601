"""A run is written whole or not at all: into a hidden folder, on the disk, and only then given its name."""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

from karat.archive.durable import lock_folder, locked, replace_file, sync_folder, write_new
from karat.archive.naming import run_name
from karat.archive.opening import MANIFEST, manifest_bytes
from karat.temporary import is_alive, new_mark, remove_abandoned_parts

__all__ = ["RUNS", "leftovers", "make_archive", "put_away", "remove_leftovers", "write_run"]

RUNS = "runs"
_LEFTOVER = re.compile(r"^\..+\.(\d+)(?:-(\d+)-[0-9a-f]{8})?-[0-9a-f]+\.(part|gone)$")
"""With the mark of its owner, of which older versions wrote the id of the process alone."""
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
_MOST_OF_ONE_SECOND = 10_000


def make_archive(archive: Path) -> Path:
    """The folder and what is in every archive; git is told to leave it alone."""
    runs = archive / RUNS
    runs.mkdir(parents=True, exist_ok=True)
    ignoring = archive / ".gitignore"
    if not ignoring.exists():
        replace_file(ignoring, b"*\n")
    return runs


def write_run(
    archive: Path, name: tuple[datetime, str, str], files: Mapping[str, bytes], manifest: Mapping[str, Any]
) -> Path:
    """Store the files and the manifest; ``name`` is what the run's name is made of."""
    runs = make_archive(archive)
    with _folder_of_our_own(archive, run_name(*name)) as part:
        for file, octets in files.items():
            write_new(part / file, octets)
        write_new(part / MANIFEST, manifest_bytes(manifest))
        sync_folder(part)
        path = _named(part, runs, name)
    sync_folder(runs)
    return path


@contextmanager
def _folder_of_our_own(archive: Path, name: str) -> Iterator[Path]:
    """A hidden folder that nobody takes for a leftover while we live; what is left of it in the end is removed."""
    part = archive / RUNS / f".{name}.{new_mark()}.part"
    handle = None
    try:
        with locked(archive):
            remove_leftovers(archive)
            part.mkdir()
            handle = lock_folder(part)
        yield part
    finally:
        rmtree(part, ignore_errors=True)
        if handle is not None and handle >= 0:
            os.close(handle)


def _named(part: Path, runs: Path, name: tuple[datetime, str, str]) -> Path:
    """Give the folder its name, the first that is free. Nothing is replaced: no run's folder is empty."""
    for number in range(1, _MOST_OF_ONE_SECOND):
        path = runs / run_name(*name, number)
        try:
            part.rename(path)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        else:
            return path
    raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), str(runs / run_name(*name)))


def leftovers(archive: Path) -> list[Path]:
    """What writers and pruners that were killed left behind; not what those at work have in hand."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in sorted((archive / RUNS).iterdir()):
            match = _LEFTOVER.match(path.name)
            if match and _is_abandoned(path, int(match[1]), match[2]):
                found.append(path)
    return found


def _is_abandoned(path: Path, process: int, started: str | None) -> bool:
    """Its lock is free; where locks say nothing, the process is gone."""
    handle = lock_folder(path)
    if handle is None:
        return False
    if handle < 0:
        return not is_alive(process, started)
    os.close(handle)
    return True


def remove_leftovers(archive: Path) -> list[Path]:
    """To be called while the archive is locked: a folder that was only just made may not yet be held."""
    remove_abandoned_parts(archive)
    found = leftovers(archive)
    for path in found:
        _remove(path)
    return found


def _remove(path: Path) -> None:
    """Remove a folder; of a link to one only the link."""
    if path.is_symlink() or not path.is_dir():
        with suppress(OSError):
            path.unlink(missing_ok=True)
    else:
        rmtree(path, ignore_errors=True)


def put_away(archive: Path, run: Path) -> None:
    """Remove a run: first its name, so that no half of it is ever listed."""
    gone = archive / RUNS / f".{run.name}.{new_mark()}.gone"
    run.rename(gone)
    sync_folder(archive / RUNS)
    _remove(gone)
