"""Journal of resumable work: finished results of a sweep or a search; a kill loses at most the current one.

The file is JSON Lines: the schema, then one line per result, each on disk before the next result is computed. A last
line that is incomplete because of a kill is dropped. A lock allows one writing process at a time.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from json import JSONDecodeError, dumps, loads
from pathlib import Path
from typing import Any, Self

from rankjury.core.hashing import hash_json
from rankjury.core.text import plural
from rankjury.errors import DataError

SCHEMA = "rankjury.journal/1"
_HEAD = f'{{"schema":"{SCHEMA}"}}\n'.encode()


def lock_file(handle: int, *, wait: bool = False) -> bool | None:
    """Lock an open file or folder until its handle is closed, or the process ends.

    Args:
        handle: The file descriptor.
        wait: Wait until the other process closes it.

    Returns:
        Whether it is locked now; None if the system or the file system does not support locks.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@dataclass(frozen=True)
class JournalEntry:
    """Finished result: key, conditions, and value."""

    key: str
    sweep: str
    """Name of the sweep that computed the result."""
    setting: str
    """Digest of the parameters only."""
    about: dict[str, Any]
    """All conditions of the result except its parameters; shows what changed when the key differs."""
    point: dict[str, Any]


class Journal:
    """Finished results by key, in a file that only one process may open at a time.

    Args:
        path: The file; it is created if it is missing.
        fresh: Drop its existing results.

    Raises:
        DataError: The file cannot be written, is not a journal, or is open in another process.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self.dropped = 0
        """The number of lines that could not be read."""
        self._entries: dict[str, JournalEntry] = {}
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise DataError(f"cannot write here: {error.strerror}", where=str(path)) from error
        try:
            if lock_file(self._file) is False:
                hint = "Wait for it to end, or choose another folder."
                raise DataError("another process is writing to this file", where=str(path), hint=hint)
            self._read(fresh)
        except BaseException:
            self.close()
            raise

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
        """Store the line, and return whether it is valid; the last line of a key counts."""
        with suppress(JSONDecodeError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
            entry = JournalEntry(**loads(line))
            if isinstance(entry.key, str) and isinstance(entry.about, dict) and isinstance(entry.point, dict):
                self._entries[entry.key] = entry
                return True
        self.dropped += 1
        return False

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[JournalEntry]:
        return iter(self._entries.values())

    def find(self, key: str) -> JournalEntry | None:
        return self._entries.get(key)

    def add(self, entry: JournalEntry) -> None:
        """Store a finished result; it is on disk when this returns."""
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


class JournalScope:
    """Results of one sweep or search in a journal, by setting, if computed under the same conditions.

    Scopes of other names share results that were computed under equal conditions.

    Args:
        journal: None: no results are found or stored.
        name: The name of the sweep or search.
        about: The conditions: everything except the settings that determines a result.
        fresh: Ignore stored results; new ones replace them.
    """

    def __init__(self, journal: Journal | None, name: str, about: dict[str, Any], *, fresh: bool = False) -> None:
        self.journal, self.name, self.about, self.fresh = journal, name, about, fresh
        self._conditions = hash_json(about)
        self._before = {entry.setting: entry for entry in journal or () if entry.sweep == name}
        self._changed: list[JournalEntry] = []

    def find(self, setting: str, *, noted: bool = True) -> dict[str, Any] | None:
        """Return the stored result of a setting; None if there is none.

        A result computed under other conditions is not returned, but counted for ``notes`` unless ``noted`` is False.
        """
        if self.journal is None or self.fresh:
            return None
        entry = self.journal.find(self._key(setting))
        if entry is None and noted and setting in self._before:
            self._changed.append(self._before[setting])
        return None if entry is None else entry.point

    def add(self, setting: str, point: dict[str, Any]) -> None:
        """Store the result of a setting."""
        if self.journal is not None:
            self.journal.add(JournalEntry(self._key(setting), self.name, setting, self.about, point))

    def _key(self, setting: str) -> str:
        return hash_json([self._conditions, setting])

    def notes(self, words: Mapping[str, str] | None = None) -> list[str]:
        """Return a note on results that cannot be reused; ``words`` are the names of conditions by key."""
        if not self._changed:
            return []
        pairs = [(key, entry.about) for entry in self._changed for key in (*self.about, *entry.about)]
        keys = dict.fromkeys(key for key, about in pairs if about.get(key) != self.about.get(key))
        settings = plural(len(self._changed), "setting was", "settings were")
        names = ", ".join((words or {}).get(key, key) for key in keys)
        return [f"{settings} measured before under other conditions ({names}): measured again"]
