"""Archive: a folder of runs, each of which is stored whole or not at all."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from os.path import exists, isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.tracking.archive.files import (
    HASH_SHOWN,
    guard_writing,
    is_plain_name,
    lock_archive,
    run_name,
    slug,
    sort_key,
)
from rankjury.tracking.archive.listing import ArchiveListing, UnreadableRun, find_run, runs_of_plan
from rankjury.tracking.archive.manifest import Origin
from rankjury.tracking.archive.run import PAGE, ArchivedRun
from rankjury.tracking.archive.store import (
    RUNS,
    leftovers,
    read_baselines,
    read_running,
    remove_leftovers,
    remove_run,
    remove_stale,
    write_baseline,
    write_run,
)

if TYPE_CHECKING:
    from rankjury.evaluation.gate import Gate
    from rankjury.evaluation.report import Report

FOLDER = ".rankjury"
ENVIRONMENT = "RANKJURY_ARCHIVE"


@dataclass(frozen=True)
class Archive:
    """Archive of runs in ``path/runs``, one folder each. The folder need not exist yet."""

    path: Path

    @cached_property
    def _listing(self) -> ArchiveListing:
        return ArchiveListing(self.path / RUNS)

    @classmethod
    def at(cls, start: Path | None = None, path: Path | None = None) -> "Archive":
        """Return the archive at ``path``, else at $RANKJURY_ARCHIVE, else the nearest .rankjury from ``start`` upwards.

        Args:
            start: Where to look for .rankjury, there and in the folders above; by default the current folder. Without
                any, a new one there.
            path: The folder of the archive, or the folder that has a .rankjury in it.

        Raises:
            DataError: Where a folder cannot have such a name.
        """
        if path is None and os.environ.get(ENVIRONMENT):
            path = Path(os.environ[ENVIRONMENT])
        if path is None:
            return cls(_nearest_archive(start))
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass
        except (OSError, ValueError) as error:  # such as a name that is too long
            found = f"cannot be an archive: {getattr(error, 'strerror', None) or error}"
            raise DataError(found, where=str(path), expected="the name of a folder") from error
        inner = path / FOLDER
        return cls(inner if isdir(inner) and not isdir(path / RUNS) else path)

    def runs(self, plan: str | None = None) -> list[ArchivedRun]:
        """Return the readable runs, oldest first, of one plan or of all; ``damaged`` has the others."""
        runs = list(self._listing.look()[0])
        return runs if plan is None else runs_of_plan(runs, plan)

    @property
    def damaged(self) -> list[UnreadableRun]:
        """Folders among the runs that cannot be read, with the reason."""
        return list(self._listing.look()[1])

    @property
    def version(self) -> int:
        """A number that changes whenever the list of runs does."""
        self._listing.look()
        return self._listing.version

    @property
    def troubles(self) -> list[str]:
        """Why folders among the runs cannot be read."""
        return [str(run.error) for run in self.damaged]

    def recent(self, plan: str, limit: int) -> list[ArchivedRun]:
        """Return the last runs of a plan, oldest first, found by the names of their folders: no others are opened."""
        runs = (run for run in self._runs_named(f"{slug(plan)}-*") if run.plan == plan)
        return sorted(islice(runs, limit), key=lambda run: sort_key(run.time, run.name))

    def find(self, text: str) -> ArchivedRun:
        """Return the run that a user names.

        Args:
            text: A name, a unique prefix of it, a hash, a path, ``latest``, ``latest:PLAN``, ``baseline`` or
                ``baseline:PLAN``.

        Raises:
            RankjuryError: Where no run, or more than one, is meant, or the run cannot be read.
        """
        with suppress(UnknownName):
            return self.named(text)  # a whole name needs no look at the others; a damaged run says what is wrong
        runs, unreadable = self.runs(), self.damaged
        for damaged in unreadable if text and not any(run.name.startswith(text) for run in runs) else ():
            if damaged.name.startswith(text):
                raise damaged.error
        try:
            run = find_run(text, runs, self.baseline)
        except RankjuryError as error:
            error.where = error.where or str(self.path)
            raise
        word, _, plan = text.partition(":")
        for damaged in unreadable if word == "latest" else ():  # an older run must not be shown as the latest
            if damaged.name > run.name and (not plan or f"-{slug(plan)}-" in damaged.name):
                raise DataError(
                    f"a later run cannot be read: {damaged.error}",
                    where=str(self.path),
                    hint=f"The last readable run is {run.name}.",
                )
        return run

    def named(self, name: str) -> ArchivedRun:
        """Return the run of exactly this name, never one outside of the archive."""
        with suppress(OSError, ValueError):  # not a valid name
            if is_plain_name(name) and (self.path / RUNS / name).is_dir():
                return self._listing.open(name)
        raise UnknownName("run", name, (), where=str(self.path))

    def store(
        self,
        report: "Report",
        origin: Origin,
        *,
        gate: "Gate | None" = None,
        page: "Callable[[Report, ArchivedRun], str] | None" = None,
        time: datetime | None = None,
    ) -> ArchivedRun:
        """Store a report and its files, whole or not at all.

        Args:
            report: The report, with the data of its queries.
            origin: The plan and its inputs.
            gate: The verdicts on its targets.
            page: Renders the HTML page from the report as it is stored and the run as it is going to be.
            time: When the run ended; by default now.

        Returns:
            The run.
        """
        from rankjury.tracking.archive.manifest import file_entry, make_manifest
        from rankjury.tracking.archive.tables import report_files

        moment = time or datetime.now(UTC)
        if gate is not None:
            report = report.with_sections(replace(gate, source=origin.file or origin.name))
        report = origin.shorten(report)
        stored = dict(report_files(report))
        if origin.text is not None:
            stored["plan.toml"] = origin.text.encode("utf-8", "surrogateescape")
        same = None
        if None not in origin.inputs.values():
            matches = self._runs_named(f"{origin.digest[:HASH_SHOWN]}*")
            same = next((run.name for run in matches if run.digest == origin.digest), None)
        manifest = make_manifest(report, origin, moment, stored, same)
        parts = moment, origin.name, origin.digest
        if page is not None:
            text = page(report, ArchivedRun(self.path / RUNS / run_name(*parts), manifest))
            stored[PAGE] = text.encode("utf-8", "replace")
            manifest["files"][PAGE] = file_entry(stored[PAGE])
        with guard_writing(self.path):
            return ArchivedRun(write_run(self.path, parts, stored, manifest), manifest)

    def _runs_named(self, pattern: str) -> Iterator[ArchivedRun]:
        """Yield the readable runs whose names end with the pattern, latest first; no others are opened."""
        names = (path.name for path in (self.path / RUNS).glob(f"[!.]*-{pattern}"))
        for name in sorted(names, key=lambda name: sort_key(name.partition("-")[0], name), reverse=True):
            with suppress(RankjuryError):
                yield self._listing.open(name)

    @property
    def baselines(self) -> dict[str, str]:
        """Names of the baselines by plan."""
        return read_baselines(self.path)

    def baseline(self, plan: str) -> ArchivedRun | None:
        """Return the baseline of a plan; None where none is set, or it was removed."""
        with suppress(UnknownName):
            return self.named(self.baselines.get(plan, ""))
        return None

    def set_baseline(self, run: ArchivedRun) -> None:
        """Make a run the baseline of its plan, with which other runs are compared."""
        if run.path.resolve() != (self.path / RUNS / run.name).resolve():
            raise UsageError(f"{run.name} is not in this archive", where=str(self.path))
        write_baseline(self.path, run.plan, run.name)

    def unset_baseline(self, plan: str) -> None:
        """Leave a plan without a baseline."""
        write_baseline(self.path, plan, None)

    def running(self) -> list[dict[str, Any]]:
        """Read the progress of running plans: schema, plan, name, pid, started, updated, what, done, of."""
        return read_running(self.path)

    def leftovers(self) -> list[Path]:
        """Return folders that killed writers left behind."""
        return leftovers(self.path)

    def prunable(
        self, *, keep: int | None = None, older_than: timedelta | None = None, plan: str | None = None
    ) -> list[ArchivedRun]:
        """Return the runs that ``prune`` would remove, oldest first: never a baseline, nor the last of a plan.

        Args:
            keep: Remove only runs beyond the last so many of their plan.
            older_than: Remove only runs of this age; without this and ``keep``, none.
            plan: Remove only runs of this plan.
        """
        runs = self.runs()
        if plan is not None:
            runs_of_plan(runs, plan)
        if keep is None and older_than is None:
            return []
        limit = None if older_than is None else datetime.now(UTC) - older_than
        stay, later = set(self.baselines.values()), Counter[str]()
        chosen = []
        for run in reversed(runs):
            later[run.plan] += 1
            is_old = limit is None or datetime.fromisoformat(run.time) < limit
            if later[run.plan] > max(1, keep or 1) and is_old and plan in (None, run.plan) and run.name not in stay:
                chosen.append(run)
        return chosen[::-1]

    def prune(
        self, *, keep: int | None = None, older_than: timedelta | None = None, plan: str | None = None
    ) -> list[ArchivedRun]:
        """Remove the runs that ``prunable`` returns, and leftovers of killed writers; return the removed runs."""
        if not isdir(self.path / RUNS):
            return []
        with guard_writing(self.path), lock_archive(self.path):
            remove_leftovers(self.path)
            remove_stale(self.path)
            chosen = self.prunable(keep=keep, older_than=older_than, plan=plan)
            return [run for run in chosen if remove_run(self.path, run.path)]

    def prunable_damaged(self) -> list[UnreadableRun]:
        """Return the damaged runs that ``prune_damaged`` would remove: no baseline, no run of a later version."""
        baselines = set(self.baselines.values())
        return [run for run in self.damaged if run.is_removable and run.name not in baselines]

    def prune_damaged(self) -> list[str]:
        """Remove the damaged runs, of a link to a folder only the link; return their names."""
        if not isdir(self.path / RUNS):
            return []
        with guard_writing(self.path), lock_archive(self.path):
            return [run.name for run in self.prunable_damaged() if remove_run(self.path, run.path)]


def _nearest_archive(start: Path | None) -> Path:
    """Return the nearest archive up to the top of a repository or the home folder; else a new one at the start."""
    here = (start or Path.cwd()).absolute()
    home = None
    with suppress(RuntimeError):  # a user without a home folder
        home = Path.home()
    for folder in (here, *here.parents):
        if isdir(folder / FOLDER):
            return folder / FOLDER if start or folder != here else Path(FOLDER)
        if exists(folder / ".git") or folder == home:
            break
    return start / FOLDER if start else Path(FOLDER)
