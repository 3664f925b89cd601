"""Files that outlive a kill and a power cut, and locks that do not outlive their holder."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from json import dumps
from pathlib import Path
from typing import Any

from karat.errors import DataError
from karat.temporary import new_part

fcntl: Any
try:
    import fcntl
except ImportError:  # no such locks on this system: processes are told dead from alive by their ids
    fcntl = None

__all__ = ["as_bytes", "is_forbidden", "lock_folder", "locked", "replace_file", "sync_folder", "told", "write_new"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EROFS, errno.EPERM)
_LOCK = "lock"


def as_bytes(form: Mapping[str, Any]) -> bytes:
    """JSON, a line a key at the top: quick to write and to read, and people can find their way in it."""
    lines = [f"{dumps(key)}: {dumps(value, ensure_ascii=False, allow_nan=False)}" for key, value in form.items()]
    return ("{" + ",\n".join(lines) + "}\n").encode()


def write_new(path: Path, octets: bytes) -> None:
    """A file that was not there, on the disk when this returns."""
    with path.open("xb") as file:
        file.write(octets)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """The names in a folder, on the disk; where a system knows no such thing, nothing."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except (PermissionError, IsADirectoryError):
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)


def replace_file(path: Path, octets: bytes, *, durable: bool = True) -> None:
    """The whole file, or what was there before."""
    part = new_part(path)
    try:
        with part.open("xb") as file:
            file.write(octets)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
        if durable:
            sync_folder(path.parent)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def locked(archive: Path) -> Iterator[None]:
    """One at a time, for the short moments in which the archive itself changes. A killed holder gives way at once."""
    handle = os.open(archive / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks: the moments are short
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def lock_folder(folder: Path) -> int | None:
    """Hold a folder; to be closed by the holder. None where another holds it, −1 where this cannot be known."""
    if fcntl is None:
        return -1
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return -1
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        return -1
    return handle


def told(error: OSError, archive: Path) -> DataError:
    """What keeps the archive from being written."""
    hint = "karat run --no-archive leaves it alone."
    if error.errno in _FULL:
        hint = "karat prune removes old runs; karat run --no-archive keeps none."
    return DataError(f"the archive cannot be written: {error.strerror or error}", where=str(archive), hint=hint)


def is_forbidden(error: DataError) -> bool:
    """Whether the archive is one that may not be written to, rather than one that something is wrong with."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _FORBIDDEN
