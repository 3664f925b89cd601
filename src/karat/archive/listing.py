"""The runs of an archive, listed once for each state of their folder: a run is added by a rename into it."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from karat.archive.files import is_settled
from karat.archive.naming import order_of
from karat.archive.run import Run
from karat.errors import DamagedRun, DataError, KaratError

__all__ = ["Damaged", "Listing"]

_RUN_NAME = re.compile(r"\d{8}T\d{6}Z-.+-[0-9a-f]{8}(-\d{1,9})?")


@dataclass(frozen=True)
class Damaged:
    """A folder among the runs that cannot be read."""

    path: Path
    error: KaratError

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def reason(self) -> str:
        """One line."""
        error = self.error
        return f"{error.file}: {error.fault}" if isinstance(error, DamagedRun) else error.found

    @property
    def is_removable(self) -> bool:
        """Whether it is a damaged run of karat: not one of a later version, nor a file that somebody put there."""
        return isinstance(self.error, DamagedRun) and _RUN_NAME.fullmatch(self.name) is not None


class Listing:
    """The runs in a folder and those that cannot be read, for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._known: dict[str, Run] = {}
        self._state: tuple[int, ...] | None = None
        self._found: tuple[list[Run], list[Damaged]] = ([], [])
        self.version = 0
        """Another number whenever other runs were found than before."""

    def look(self) -> tuple[list[Run], list[Damaged]]:
        """Return the runs, oldest first, and what cannot be read, by name. The lists belong to the listing."""
        with self._lock:
            try:
                now = self._folder.stat()
            except (FileNotFoundError, NotADirectoryError):
                return [], []
            except OSError as error:
                raise DataError(f"cannot read the archive: {error.strerror}", where=str(self._folder.parent)) from error
            state = (now.st_dev, now.st_ino, now.st_mtime_ns)
            if state != self._state:
                settled = is_settled(now.st_mtime_ns)
                found = self._list()
                if _identities(found) != _identities(self._found):
                    self.version += 1
                self._found = found
                self._state = state if settled else None
            return self._found

    def _list(self) -> tuple[list[Run], list[Damaged]]:
        try:
            names = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        except OSError as error:
            raise DataError(f"cannot read the archive: {error.strerror}", where=str(self._folder.parent)) from error
        for gone in self._known.keys() - set(names):
            self._known.pop(gone, None)
        runs, damaged = [], []
        for name in names:
            try:
                runs.append(self.open(name))
            except KaratError as error:
                if os.path.lexists(self._folder / name):  # else it was pruned meanwhile
                    damaged.append(Damaged(self._folder / name, error))
        runs.sort(key=lambda run: order_of(run.time, run.name))
        return runs, damaged

    def open(self, name: str) -> Run:
        """Open a run by the name of its folder; one that was opened before did not change."""
        known = self._known.get(name)
        if known is not None:
            return known
        path = self._folder / name
        if path.is_symlink():
            raise DamagedRun(path / "manifest.json", "its folder is a symbolic link", expected="a folder")
        return self._known.setdefault(name, Run.open(path))


def _identities(found: tuple[list[Run], list[Damaged]]) -> list[str]:
    runs, damaged = found
    return [*(run.name for run in runs), *(f"{one.name}/{one.reason}" for one in damaged)]
