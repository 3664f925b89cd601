"""Memory budget of block-wise evaluation, and the scratch file for data that does not fit.

Polars loads complete row groups of Parquet. The budget does not include that: groups of 10 million rows (possible in
narrow tables split by bytes) took 1.1 GB more than groups of 120,000.
"""

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from math import isfinite
from pathlib import Path

import polars as pl

from rankjury.core.temp_files import TemporaryFolder
from rankjury.errors import DataError, UsageError
from rankjury.io.source import in_units

MIN_MEMORY = 512 * 10**6
"""Most of it is used before many rows are read."""

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
# Measured: peak memory of a separate process that read and scored five measures, with ids of 8 to 40 bytes.
_AT_START = 450 * 10**6
"""Libraries, and read-ahead of Polars."""
_BYTES_PER_ROW = 100
"""Memory of the kernels per row."""
_COPIES = 2
"""Copies of the row itself."""
_MAX_ROWS, _MIN_ROWS = 4_000_000, 10_000


def parse_memory(text: str) -> int:
    """Return the bytes of ``2GB``, ``512 MiB`` or ``1.5g``."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([kmgt]?i?)b?", re.sub(r"\s", "", text.lower()))
    unit = (_UNITS | _BINARY_UNITS).get(found[2]) if found else None
    if found is None or unit is None or not isfinite(float(found[1]) * unit):
        raise UsageError(f"cannot read the memory limit {text!r}", expected="a size such as 2GB, 512MB or 1.5GiB")
    size = round(float(found[1]) * unit)
    if size < MIN_MEMORY:
        expected, hint = f"at least {in_units(MIN_MEMORY)}", 'Try --memory 2GB, in Python memory="2GB".'
        raise UsageError(f"the memory limit {text!r} is too small", expected=expected, hint=hint)
    return size


@dataclass(frozen=True)
class Budget:
    """Number of rows in memory at once so that the whole process stays within ``memory`` bytes."""

    memory: int
    max_rows: int = _MAX_ROWS
    """Larger blocks are not faster."""

    def block_rows(self, bytes_per_row: float) -> int:
        """Return the number of rows of a block, of all tables together, from the average bytes of a row."""
        fitting = int((self.memory - _AT_START) / (_BYTES_PER_ROW + _COPIES * bytes_per_row))
        return min(max(fitting, _MIN_ROWS), self.max_rows)

    def batch_rows(self, bytes_per_row: float) -> int:
        """Return the number of rows of one table that are read at once."""
        return max(self.block_rows(bytes_per_row) // 4, 1)


_HINT = "Choose another folder with --temp DIR, in Python temp=, or the environment variable TMPDIR."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def to_ipc(frame: pl.DataFrame) -> memoryview:
    """Return a frame as an Arrow stream, with the old layout of strings, which copies only the rows of a slice."""
    stream = BytesIO()
    frame.write_ipc_stream(stream, compat_level=pl.CompatLevel.oldest())
    return stream.getbuffer()


def from_ipc(stream: bytes) -> pl.DataFrame:
    return pl.read_ipc_stream(BytesIO(stream))


@dataclass(frozen=True)
class StoredFrame:
    """Place of a frame in the scratch file."""

    offset: int
    size: int


class ScratchFile:
    """Unnamed temporary file for frames, which are appended and read back; its space is freed even after a kill."""

    def __init__(self, temp: Path | None = None) -> None:
        self.folder = str(temp or tempfile.gettempdir())
        self.written = 0
        try:
            self._file = tempfile.TemporaryFile(dir=temp, buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def append(self, frame: pl.DataFrame) -> StoredFrame:
        """Append a frame.

        Raises:
            OSError: The disk is full, for example; ``write_error`` turns it into a DataError.
        """
        stream, offset = to_ipc(frame), self.written
        size = len(stream)
        while stream:  # a write may be partial
            done = os.write(self._file.fileno(), stream)
            self.written += done
            stream = stream[done:]
        return StoredFrame(offset, size)

    def read(self, piece: StoredFrame) -> pl.DataFrame:
        return from_ipc(os.pread(self._file.fileno(), piece.size, piece.offset))

    def write_error(self, error: OSError, needed: float | None = None) -> DataError:
        """Return the DataError for an OSError; ``needed``: bytes needed in total."""
        if error.errno not in _FULL:
            return _unwritable(self.folder, error)
        return self.too_small(f"{error.strerror} after {in_units(self.written)}", needed)

    def too_small(self, found: str, needed: float | None) -> DataError:
        return DataError(
            f"the temporary folder is too small: {found}",
            where=self.folder,
            expected=f"space for about {in_units(needed)}" if needed else "space for the scores of all queries",
            hint=_HINT,
        )

    def close(self) -> None:
        """Free the space."""
        self._file.close()


@contextmanager
def temporary_folder(temp: Path | None) -> Iterator[Path]:
    """Yield a folder that is removed at the end."""
    try:
        folder = TemporaryFolder("blocks", temp)
    except OSError as error:
        raise _unwritable(str(temp or tempfile.gettempdir()), error) from error
    with folder as name:
        yield Path(name)


def _unwritable(folder: str, error: OSError) -> DataError:
    return DataError(f"the temporary folder cannot be written: {error.strerror}", where=folder, hint=_HINT)
