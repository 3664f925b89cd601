"""A file without a name for what does not fit into memory: whatever happens, also a kill, its space is freed."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Self

import polars as pl

from rankjury.core.temp_files import TemporaryFolder
from rankjury.errors import DataError
from rankjury.io.source import in_units

_HINT = "Name another folder with --temp DIR, or in the environment as TMPDIR."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def to_ipc(frame: pl.DataFrame) -> memoryview:
    """As an Arrow stream, in the old layout of texts, which takes no more than is shown of them."""
    stream = BytesIO()
    frame.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getbuffer()


def from_ipc(stream: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(BytesIO(stream))


@dataclass(frozen=True)
class StoredFrame:
    """Where a frame stands in the file."""

    offset: int
    size: int
    rows: int


class ScratchFile:
    """Frames are appended, and read back by where they stand."""

    def __init__(self, temp: Path | None = None) -> None:
        self.folder = str(temp or tempfile.gettempdir())
        self.written = 0
        try:
            self._file = tempfile.TemporaryFile(dir=temp, buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def append(self, frame: pl.DataFrame) -> StoredFrame:
        """A full disk is an OSError; ``fault`` makes it an error for people."""
        stream, offset = to_ipc(frame), self.written
        size = len(stream)
        while stream:  # of what does not fit, or is very large, only a part is taken
            done = os.write(self._file.fileno(), stream)
            self.written += done
            stream = stream[done:]
        return StoredFrame(offset, size, frame.height)

    def read(self, piece: StoredFrame) -> pl.DataFrame:
        return from_ipc(os.pread(self._file.fileno(), piece.size, piece.offset))

    def write_error(self, error: OSError, needed: float | None = None) -> DataError:
        """What an OSError means to people; ``needed``: so many bytes in all."""
        if error.errno not in _FULL:
            return _unwritable(self.folder, error)
        return self.too_small(f"{error.strerror} after {in_units(self.written)}", needed)

    def too_small(self, found: str, needed: float | None) -> DataError:
        return DataError(
            f"the temporary folder is too small: {found}",
            where=self.folder,
            expected=f"room for about {in_units(needed)}" if needed else "room for the scores of all queries",
            hint=_HINT,
        )

    def close(self) -> None:
        """Free the space."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def temporary_folder(temp: Path | None) -> Iterator[Path]:
    """For the few files that need a name; it is gone in the end."""
    try:
        folder = TemporaryFolder("blocks", temp)
    except OSError as error:
        raise _unwritable(str(temp or tempfile.gettempdir()), error) from error
    with folder as name:
        yield Path(name)


def _unwritable(folder: str, error: OSError) -> DataError:
    return DataError(f"the temporary folder cannot be written: {error.strerror}", where=folder, hint=_HINT)
