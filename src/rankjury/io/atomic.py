"""Atomic writes: an output file appears complete or not at all; several outputs of one command appear together.

Every output is first written to a part file next to its destination, ``.report.json.<mark>.part``. When all outputs of
a command are complete and on disk, they are renamed one right after the other. Ctrl-C and SIGTERM wait for the end of
the renames. Only a SIGKILL or a power cut during them, some microseconds, can leave a new file next to an old one;
every single file is complete even then, and repeating the command replaces them all. Part files that a killed command
left are removed by the next command that writes into the same folder (``temp_files``).
"""

import errno
import os
import re
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rankjury.core.temp_files import new_part
from rankjury.errors import DataError


@dataclass
class _Stage:
    """The outputs of one command: the part file of each destination."""

    parts: dict[Path, Path] = field(default_factory=dict)
    vouching: list[Path] = field(default_factory=list)

    def commit(self) -> None:
        """Rename all parts in the order in which they were staged, and completion markers last.

        The old completion marker is removed first, because it does not describe a mixture of old and new files.
        """
        order = sorted(self.parts, key=self.vouching.__contains__)
        with _uninterrupted():
            for path in self.vouching if len(order) > 1 else ():
                with write_errors(path):
                    path.unlink(missing_ok=True)
            for path in order:
                with write_errors(path):
                    if self.parts[path].is_dir() and path.is_dir():
                        path.rmdir()
                    self.parts[path].replace(path)

    def discard(self, path: Path) -> None:
        """Remove the part file of an output, unless it was renamed."""
        part = self.parts.pop(path, None)
        if part is not None:
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            with suppress(OSError):
                part.unlink(missing_ok=True)


_current: ContextVar[_Stage | None] = ContextVar("stage", default=None)


@contextmanager
def together() -> Iterator[None]:
    """Rename all files written by ``replacing`` within the block when it succeeds, and none when it fails.

    A nested block belongs to the outer one.
    """
    if _current.get() is not None:
        yield
        return
    stage = _Stage()
    before = _current.set(stage)
    try:
        yield
        stage.commit()
    finally:
        _current.reset(before)
        for path in list(stage.parts):
            stage.discard(path)


@contextmanager
def replacing(path: Path, *, folder: bool = False, vouches: bool = False) -> Iterator[Path]:
    """Yield a part file next to ``path`` that replaces it when the block succeeds, and is removed when it fails.

    Within ``together``, all files are renamed at the end of that block. A pipe or a device, such as /dev/stdout, is
    written directly. A ``DataError`` names the destination if the system refuses to write.

    Args:
        path: The destination.
        folder: Yield a new folder instead of a file; the destination must be missing or an empty folder.
        vouches: The file marks the others written with it as complete, so it is renamed last.
    """
    with write_errors(path):  # such as a name that is too long
        if path.exists() and not path.is_file() and not path.is_dir():
            yield path
            return
    check_destination(path, folder=folder)
    with together():
        stage = _current.get()
        assert stage is not None
        with write_errors(path):
            part = stage.parts[path] = new_part(path)
            if folder:
                part.mkdir()
            else:
                os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if vouches:
            stage.vouching.append(path)
        try:
            with write_errors(path):
                yield part
                for file in part.iterdir() if folder else (part,):
                    with file.open("rb" if folder else "rb+") as written:  # may belong to another user in a folder
                        os.fsync(written.fileno())
        except BaseException:
            stage.discard(path)
            raise


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay signals that end a command until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread only
        return
    waiting: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        waiting.append(number)

    ending = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in ending}
    handlers = {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for number in handlers:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an operating system error while ``path`` is written into a DataError; others pass."""
    try:
        yield
    except DataError:
        raise
    except BaseException as error:  # Polars wraps system errors in its own types, and panics
        reason = error.strerror if isinstance(error, OSError) else None
        named = re.search(r" \(os error (\d+)\)", str(error))  # the end of messages from Rust, and so from Polars
        if not reason and named is not None:
            reason = os.strerror(int(named[1]))
        if not reason and not isinstance(error, OSError):
            raise
        raise DataError(f"cannot write: {reason or error}", where=str(path)) from error


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files, text as UTF-8: all or none."""
    with together():
        for path, content in contents.items():
            with replacing(path) as part:
                part.write_bytes(content.encode() if isinstance(content, str) else content)


def check_destination(path: Path, *, folder: bool = False, parents: bool = False) -> None:
    """Check that a path can be written, before anything is computed.

    ``folder``: the output is a folder; an empty one may exist. ``parents``: missing parent folders will be created.
    """
    with write_errors(path):
        if path.is_dir() and not folder:
            raise DataError("cannot write here: found a folder", where=str(path))
        home = next(folder for folder in path.parents if folder.exists()) if parents else path.parent
        if not home.is_dir():
            reason = errno.ENOTDIR if home.exists() else errno.ENOENT
            raise DataError(f"cannot write here: {os.strerror(reason)}", where=str(path))
        if not os.access(home, os.W_OK | os.X_OK) and (path.is_file() or not path.exists()):
            reason = errno.EROFS if os.statvfs(home).f_flag & os.ST_RDONLY else errno.EACCES
            raise DataError(f"cannot write here: {os.strerror(reason)}", where=str(path))


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot create this folder: {error.strerror}", where=str(folder)) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_files({path: text})


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, where the system supports it."""
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
    """Replace a file immediately, outside of any ``together``; it has either the old or the new content.

    ``durable``: the content is on disk when this returns.
    """
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
