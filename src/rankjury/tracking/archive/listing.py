"""Listing of an archive: its runs, and the lookup of a run by name, hash, path, ``latest`` or ``baseline``."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from rankjury.errors import DamagedRun, DataError, RankjuryError, UnknownName, UsageError
from rankjury.tracking.archive.files import is_settled, sort_key
from rankjury.tracking.archive.manifest import MANIFEST
from rankjury.tracking.archive.run import ArchivedRun

_RUN_NAME = re.compile(r"\d{8}T\d{6}Z-.+-[0-9a-f]{8}(-\d{1,9})?")


@dataclass(frozen=True)
class UnreadableRun:
    """A folder among the runs that cannot be read."""

    path: Path
    error: RankjuryError

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def reason(self) -> str:
        """What is wrong with it, in one line."""
        error = self.error
        return f"{error.file}: {error.fault}" if isinstance(error, DamagedRun) else error.found

    @property
    def is_removable(self) -> bool:
        """Whether it is a damaged run of rankjury: not one of a later version, nor a file of another origin."""
        return isinstance(self.error, DamagedRun) and _RUN_NAME.fullmatch(self.name) is not None


class ArchiveListing:
    """Cache of the runs in a folder and those that cannot be read, for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._known: dict[str, ArchivedRun] = {}
        self._state: tuple[int, ...] | None = None
        self._found: tuple[list[ArchivedRun], list[UnreadableRun]] = ([], [])
        self._identities: tuple[list[str], list[tuple[str, str]]] = ([], [])
        self.version = 0
        """Another number whenever other runs were found than before."""

    def look(self) -> tuple[list[ArchivedRun], list[UnreadableRun]]:
        """Return the runs, oldest first, and what cannot be read, by name. The lists belong to the listing."""
        with self._lock:
            try:
                status = self._folder.stat()
                state = (status.st_dev, status.st_ino, status.st_mtime_ns)
                if state == self._state:
                    return self._found
                settled = is_settled(status.st_mtime_ns)
                names = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
            except (FileNotFoundError, NotADirectoryError):
                return [], []
            except OSError as error:
                raise DataError(f"cannot read the archive: {error.strerror}", where=str(self._folder.parent)) from error
            for removed in self._known.keys() - set(names):
                self._known.pop(removed, None)
            runs: list[ArchivedRun] = []
            damaged: list[UnreadableRun] = []
            for name in names:
                try:
                    runs.append(self.open(name))
                except RankjuryError as error:
                    if os.path.lexists(self._folder / name):  # otherwise it was pruned meanwhile
                        damaged.append(UnreadableRun(self._folder / name, error))
            runs.sort(key=lambda run: sort_key(run.time, run.name))
            identities = [run.name for run in runs], [(run.name, run.reason) for run in damaged]
            if identities != self._identities:
                self.version += 1
            self._found, self._identities, self._state = (runs, damaged), identities, state if settled else None
            return self._found

    def open(self, name: str) -> ArchivedRun:
        """Open a run by the name of its folder; one that was opened before did not change."""
        known = self._known.get(name)
        if known is not None:
            return known
        path = self._folder / name
        if path.is_symlink():
            raise DamagedRun(path / "manifest.json", "its folder is a symbolic link", expected="a folder")
        return self._known.setdefault(name, ArchivedRun.open(path))


_MAX_LISTED = 5


def find_run(text: str, runs: Sequence[ArchivedRun], baseline_of: Callable[[str], ArchivedRun | None]) -> ArchivedRun:
    """Return the run that a text names; ``Archive.find`` says how."""
    word, colon, plan = text.partition(":")
    if word == "baseline" and (plan or not colon):
        plans = [plan] if plan else list(dict.fromkeys(run.plan for run in runs))
        baselines = {name: run for name in plans if (run := baseline_of(name)) is not None}
        if len(baselines) > 1:
            expected = " or ".join(f"baseline:{name}" for name in baselines)
            raise UsageError("several plans have a baseline", expected=expected)
        if not baselines:
            found = f"no baseline is set{f' for {plan}' if plan else ''}"
            raise DataError(found, hint="rankjury baseline set RUN sets one.")
        return next(iter(baselines.values()))
    if word == "latest" and (plan or not colon):
        candidates = runs_of_plan(runs, plan) if plan else runs
        if not candidates:
            raise DataError("the archive has no run", hint="rankjury run stores one.")
        return candidates[-1]
    path = Path(text)
    try:
        if (path / MANIFEST).is_file():
            return ArchivedRun.open(path.resolve())
    except (OSError, ValueError):  # not a valid path
        pass
    by_name = [run for run in runs if text and run.name.startswith(text)]
    by_hash = [run for run in runs if len(text) >= 4 and run.digest.startswith(text)]
    if len(by_name) > 1 or (not by_name and len({run.digest for run in by_hash}) > 1):
        matches = by_name or by_hash
        names = ", ".join(run.name for run in matches[-_MAX_LISTED:])
        number, more = (f"{len(matches)} runs", " …") if len(matches) > _MAX_LISTED else ("several runs", "")
        raise UsageError(f"{text!r} names {number}", expected=f"one of {names}{more}")
    if by_name or by_hash:
        return (by_name or by_hash)[-1]  # with the same hash, the last
    if not runs:
        raise DataError(f"no run {text!r}: the archive is empty", hint="rankjury run stores one.")
    raise UnknownName("run", text, [*(run.name for run in runs[-_MAX_LISTED:]), "latest", "baseline"])


def runs_of_plan(runs: Sequence[ArchivedRun], plan: str) -> list[ArchivedRun]:
    """Return the runs of a plan.

    Raises:
        UnknownName: Where there are runs, but none of this plan.
    """
    matches = [run for run in runs if run.plan == plan]
    if not matches and runs:
        raise UnknownName("plan in the archive:", plan, {run.plan for run in runs})
    return matches
