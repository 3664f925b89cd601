"""Artifacts are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from karat.errors import DataError

__all__ = ["make_folder", "replacing", "write_text", "writing_files"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well, and is removed when not.

    A pipe or a device, such as /dev/stdout, is written into, never replaced.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    if path.is_dir():  # told before anything takes its place
        raise DataError("cannot write here: found a folder", where=str(path))
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise DataError(f"cannot write here: {error.strerror}", where=str(path)) from error
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except OSError as error:
        raise DataError(f"cannot write: {error.strerror or error}", where=str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def writing_files(contents: Mapping[Path, str | bytes]) -> Iterator[None]:
    """Files, text as UTF-8, that all take their place when the block ends well, and none when not."""
    with ExitStack() as stack:
        for path, content in contents.items():
            octets = content.encode() if isinstance(content, str) else content
            stack.enter_context(replacing(path)).write_bytes(octets)
        yield


def make_folder(folder: Path) -> None:
    """And those above it, unless they are there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make this folder: {error.strerror}", where=str(folder)) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with writing_files({path: text}):
        pass
