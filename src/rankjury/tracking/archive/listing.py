"""The runs of an archive: listed, found by what a user calls them, chosen for pruning."""

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock

from rankjury.errors import DamagedRun, DataError, RankjuryError, UnknownName, UsageError
from rankjury.tracking.archive.files import is_settled, parse_time, sort_key
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
        """One line."""
        error = self.error
        return f"{error.file}: {error.fault}" if isinstance(error, DamagedRun) else error.found

    @property
    def is_removable(self) -> bool:
        """Whether it is a damaged run of rankjury: not one of a later version, nor a file that somebody put there."""
        return isinstance(self.error, DamagedRun) and _RUN_NAME.fullmatch(self.name) is not None


class ArchiveListing:
    """The runs in a folder and those that cannot be read, for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._known: dict[str, ArchivedRun] = {}
        self._state: tuple[int, ...] | None = None
        self._found: tuple[list[ArchivedRun], list[UnreadableRun]] = ([], [])
        self.version = 0
        """Another number whenever other runs were found than before."""

    def look(self) -> tuple[list[ArchivedRun], list[UnreadableRun]]:
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

    def _list(self) -> tuple[list[ArchivedRun], list[UnreadableRun]]:
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
            except RankjuryError as error:
                if os.path.lexists(self._folder / name):  # else it was pruned meanwhile
                    damaged.append(UnreadableRun(self._folder / name, error))
        runs.sort(key=lambda run: sort_key(run.time, run.name))
        return runs, damaged

    def open(self, name: str) -> ArchivedRun:
        """Open a run by the name of its folder; one that was opened before did not change."""
        known = self._known.get(name)
        if known is not None:
            return known
        path = self._folder / name
        if path.is_symlink():
            raise DamagedRun(path / "manifest.json", "its folder is a symbolic link", expected="a folder")
        return self._known.setdefault(name, ArchivedRun.open(path))


def _identities(found: tuple[list[ArchivedRun], list[UnreadableRun]]) -> list[str]:
    runs, damaged = found
    return [*(run.name for run in runs), *(f"{one.name}/{one.reason}" for one in damaged)]


_SHORTEST_HASH = 4
_LISTED = 5


def find_run(text: str, runs: Sequence[ArchivedRun], baseline_of: Callable[[str], ArchivedRun | None]) -> ArchivedRun:
    """By its name, a beginning that only it has, its hash, a path, ``latest`` or ``baseline``, perhaps ``:PLAN``."""
    word, colon, plan = text.partition(":")
    if word == "baseline" and (plan or not colon):
        return _find_baseline(runs, plan, baseline_of)
    if word == "latest" and (plan or not colon):
        held = runs_of_plan(runs, plan) if plan else runs
        if not held:
            raise DataError("the archive has no run", hint="rankjury run stores one.")
        return held[-1]
    for run in runs:
        if run.name == text:
            return run
    path = Path(text)
    try:
        if (path / MANIFEST).is_file():
            return ArchivedRun.open(path.resolve())
    except (OSError, ValueError):  # a text that can be no path
        pass
    begun = [run for run in runs if text and run.name.startswith(text)]
    if len(begun) > 1:
        raise _ambiguous_name(text, begun)
    if begun:
        return begun[0]
    hashed = [run for run in runs if len(text) >= _SHORTEST_HASH and run.digest.startswith(text)]
    if len({run.digest for run in hashed}) > 1:
        raise _ambiguous_name(text, hashed)
    if hashed:
        return hashed[-1]  # of the same plan and the same inputs, the last
    if not runs:
        raise DataError(f"no run {text!r}: the archive is empty", hint="rankjury run stores one.")
    raise UnknownName("run", text, [*(run.name for run in runs[-_LISTED:]), "latest", "baseline"])


def runs_of_plan(runs: Sequence[ArchivedRun], plan: str) -> list[ArchivedRun]:
    """Those of a plan, by its name."""
    found = [run for run in runs if run.plan == plan]
    if not found and runs:
        raise UnknownName("plan in the archive:", plan, {run.plan for run in runs})
    return found


def _find_baseline(
    runs: Sequence[ArchivedRun], plan: str, baseline_of: Callable[[str], ArchivedRun | None]
) -> ArchivedRun:
    plans = [plan] if plan else list(dict.fromkeys(run.plan for run in runs))
    found = {name: run for name in plans if (run := baseline_of(name)) is not None}
    if len(found) > 1:
        named = " or ".join(f"baseline:{name}" for name in found)
        raise UsageError("several plans have a baseline", expected=named)
    if not found:
        raise DataError(
            f"no baseline is set{f' for {plan}' if plan else ''}", hint="rankjury baseline set RUN sets one."
        )  # fmt: skip
    return next(iter(found.values()))


def _ambiguous_name(text: str, found: Sequence[ArchivedRun]) -> UsageError:
    names = ", ".join(run.name for run in found[-_LISTED:])
    more = f"{len(found)} runs" if len(found) > _LISTED else "several runs"
    return UsageError(f"{text!r} names {more}", expected=f"one of {names}" + (" …" if len(found) > _LISTED else ""))


def runs_to_prune(
    runs: Sequence[ArchivedRun],
    baselines: Collection[str],
    *,
    keep: int | None = None,
    older_than: timedelta | None = None,
    plan: str | None = None,
    now: datetime | None = None,
) -> list[ArchivedRun]:
    """Of runs, oldest first: those beyond the last ``keep`` of their plan, of these those that are old enough.

    Where neither is given, none. Never a baseline, and never the last run of a plan.
    """
    if keep is None and older_than is None:
        return []
    limit = None if older_than is None else (now or datetime.now(UTC)) - older_than
    by_plan: dict[str, list[ArchivedRun]] = {}
    for run in runs:
        by_plan.setdefault(run.plan, []).append(run)
    chosen = []
    for name, held in by_plan.items():
        if plan is None or name == plan:
            beyond = held[: len(held) - max(1, keep or 1)]
            chosen += [run for run in beyond if limit is None or parse_time(run.time) < limit]
    return sorted((run for run in chosen if run.name not in baselines), key=runs.index)
