"""Files of an archive, read without trust: only regular files of the stated size and content are opened."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from hashlib import file_digest, sha256
from io import BufferedReader
from pathlib import Path
from time import time_ns
from typing import Any

from karat.errors import DamagedRun

__all__ = ["check_file", "is_plain_name", "is_settled", "open_regular", "read_file", "read_small", "reason_of"]

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""A link is not followed, and a pipe without a writer is not waited for."""
_MOST_BYTES = 1 << 30
"""Of a file that is read as a whole; tables are read by part."""
_MOST_KNOWN = 100_000
_SETTLED = 2_000_000_000
"""Nanoseconds between the times that the coarsest file systems distinguish."""
_known: dict[str, tuple[tuple[int, ...], str]] = {}
"""By path, the state and the SHA-256 of files whose content was checked in this process."""


@lru_cache(maxsize=1024)
def is_settled(changed: int) -> bool:
    """Return whether a change after this time, in nanoseconds, is sure to have another time on any file system."""
    return abs(time_ns() - changed) > _SETTLED


def is_plain_name(name: str) -> bool:
    """Whether a file of this name is in the folder itself: no path, no hidden file."""
    return bool(name) and not name.startswith(".") and "\0" not in name and Path(name).name == name


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file.

    Raises:
        OSError: For a link, a device, a pipe, a socket and a folder too.
    """
    return os.fdopen(_open(path), "rb")


def _open(path: Path) -> int:
    handle = os.open(path, _FLAGS)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return handle


def read_small(path: Path, most: int) -> bytes:
    """Read a regular file of at most so many bytes.

    Raises:
        OSError: Where it is larger, or not a regular file.
    """
    handle = _open(path)
    try:
        size = os.fstat(handle).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"larger than {most:,} bytes", str(path))
        octets = os.read(handle, size + 1)
        while len(octets) < size and (more := os.read(handle, size)):
            octets += more
        return octets
    finally:
        os.close(handle)


def read_file(path: Path, about: Mapping[str, Any]) -> bytes:
    """Read a file of a run, as it was stored: ``about`` is what the manifest says of it.

    Raises:
        DamagedRun: Where size or content differ.
    """
    with _stored(path, about, _MOST_BYTES) as file:
        octets = file.read()
    if sha256(octets).hexdigest() != about["sha256"]:
        raise DamagedRun(path, "its content has changed")
    return octets


def check_file(path: Path, about: Mapping[str, Any]) -> None:
    """Check that a file is as it was stored; its content is hashed again only where the file is another than before.

    Raises:
        DamagedRun: Where size or content differ.
    """
    with _stored(path, about) as file:
        found = os.fstat(file.fileno())
        state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if _known.get(str(path)) == (state, about["sha256"]):
            return
        if file_digest(file, "sha256").hexdigest() != about["sha256"]:
            raise DamagedRun(path, "its content has changed")
    if not is_settled(found.st_ctime_ns):
        return
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[str(path)] = (state, about["sha256"])


@contextmanager
def _stored(path: Path, about: Mapping[str, Any], most: int | None = None) -> Iterator[BufferedReader]:
    """Open a file of a run that has the stated size, and at most so many bytes."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size != about["bytes"]:
                raise DamagedRun(path, f"it has {size:,} bytes", expected=f"{about['bytes']:,} bytes")
            if most is not None and size > most:
                raise DamagedRun(path, f"it has {size:,} bytes", expected=f"at most {most:,} bytes")
            yield file
    except OSError as error:
        raise DamagedRun(path, reason_of(error)) from error


def reason_of(error: OSError) -> str:
    """Say why a file could not be opened or read."""
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return "a symbolic link, not a regular file"
    if error.errno == errno.ENXIO:
        return "not a regular file"
    return error.strerror or str(error)
