"""What a sweep or a search has measured, kept line by line, so that a kill loses at most the point being measured.

A file of JSON lines: what it is, then one line a finished point, each on the disk before the next point begins. A last
line that was torn by a kill is dropped. One process writes at a time.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from json import JSONDecodeError, dumps, loads
from pathlib import Path
from typing import Any, Self

from rankjury.errors import DataError

SCHEMA = "rankjury.journal/1"
_HEAD = f'{{"schema":"{SCHEMA}"}}\n'.encode()


def digest(form: Any) -> str:
    """Of anything that JSON can hold; equal things have equal digests."""
    canonical = dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return sha256(canonical.encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """A finished point: its key, what it hangs on, and what was found."""

    key: str
    sweep: str
    """The name of the sweep it was measured for."""
    setting: str
    """A digest of its settings alone."""
    about: dict[str, Any]
    """Everything that decides the result but the settings: tells what has changed when the key is another."""
    point: dict[str, Any]


class Journal:
    """Finished points by their key. Opened once: another process that writes to it is an error."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        """``fresh``: forget what is in it."""
        self.path = path
        self.dropped = 0
        """How many lines could not be read."""
        self._entries: dict[str, Entry] = {}
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise DataError(f"cannot write here: {error.strerror}", where=str(path)) from error
        try:
            self._lock()
            self._read(fresh)
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # where there is no such lock, two sweeps at once are the user's care
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataError(
                "another process writes here", where=str(self.path), hint="Wait for it, or choose another folder."
            ) from error

    def _read(self, fresh: bool) -> None:
        content = self.path.read_bytes()
        if not content.startswith(_HEAD) and not _HEAD.startswith(content):
            raise DataError("not a journal of rankjury", where=str(self.path), expected=f"a first line {SCHEMA}")
        if fresh or not content.startswith(_HEAD):
            os.ftruncate(self._file, 0)
            self._append(_HEAD)
            return
        whole, _, rest = content.rpartition(b"\n")
        for line in whole.splitlines()[1:]:
            self._keep(line)
        if rest and self._keep(rest):
            self._append(b"\n")
        elif rest:
            os.ftruncate(self._file, len(whole) + 1)
            os.fsync(self._file)

    def _keep(self, line: bytes) -> bool:
        """Whether the line could be read; the last of several with one key counts."""
        with suppress(JSONDecodeError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
            entry = Entry(**loads(line))
            if isinstance(entry.key, str) and isinstance(entry.about, dict) and isinstance(entry.point, dict):
                self._entries[entry.key] = entry
                return True
        self.dropped += 1
        return False

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def find(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def add(self, entry: Entry) -> None:
        """Keep a finished point; it is on the disk when this returns."""
        line = dumps(vars(entry), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        self._append(line.encode() + b"\n")
        self._entries[entry.key] = entry

    def _append(self, octets: bytes) -> None:
        try:
            while octets:
                octets = octets[os.write(self._file, octets) :]
            os.fsync(self._file)
        except OSError as error:
            raise DataError(f"cannot write: {error.strerror}", where=str(self.path)) from error

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
