"""The archive: a folder of runs that only ever gains whole ones."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from os.path import exists, isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.tracking.archive.files import (
    HASH_SHOWN,
    is_plain_name,
    lock_archive,
    run_name,
    slug,
    sort_key,
    write_error,
)
from rankjury.tracking.archive.listing import ArchiveListing, UnreadableRun, find_run, runs_of_plan, runs_to_prune
from rankjury.tracking.archive.manifest import MANIFEST, Origin
from rankjury.tracking.archive.run import PAGE, ArchivedRun
from rankjury.tracking.archive.store import (
    RUNS,
    leftovers,
    read_baselines,
    read_running,
    remove_leftovers,
    remove_run,
    remove_stale,
    set_baseline,
    unset_baseline,
    write_run,
)

if TYPE_CHECKING:
    from rankjury.evaluation.gate import Gate
    from rankjury.evaluation.report import Report

FOLDER = ".rankjury"
ENVIRONMENT = "RANKJURY_ARCHIVE"


@dataclass(frozen=True)
class Archive:
    """Runs in ``path/runs``, one folder each. It need not be there yet."""

    path: Path

    @cached_property
    def _listing(self) -> ArchiveListing:
        return ArchiveListing(self.path / RUNS)

    @classmethod
    def at(cls, start: Path | None = None, given: Path | None = None) -> "Archive":
        """``given``, else what RANKJURY_ARCHIVE names, else the nearest .rankjury from ``start`` (or here) upwards."""
        return cls(_find_archive(start, given))

    def runs(self, plan: str | None = None) -> list[ArchivedRun]:
        """Oldest first; of one plan by its name. What cannot be read is left out: ``damaged`` has it."""
        found = list(self._listing.look()[0])
        return found if plan is None else runs_of_plan(found, plan)

    @property
    def damaged(self) -> list[UnreadableRun]:
        """Folders among the runs that cannot be read, with the reason."""
        return list(self._listing.look()[1])

    @property
    def version(self) -> int:
        """A number that is another one whenever other runs are listed than before."""
        self._listing.look()
        return self._listing.version

    @property
    def troubles(self) -> list[str]:
        """Why folders among the runs cannot be read."""
        return [str(one.error) for one in self.damaged]

    def recent(self, plan: str, most: int) -> list[ArchivedRun]:
        """The last runs of a plan, oldest first, by the names of their folders: no others are opened."""
        folder = self.path / RUNS
        named = sorted((path.name for path in folder.glob(f"[!.]*-{slug(plan)}-*")), reverse=True)
        found: list[ArchivedRun] = []
        for name in named:
            with suppress(RankjuryError):
                run = self._listing.open(name)
                found += [run] if run.plan == plan else []
            if len(found) == most:
                break
        return sorted(found, key=lambda run: sort_key(run.time, run.name))

    def find(self, text: str) -> ArchivedRun:
        """By name, unique beginning, hash, path, ``latest``, ``latest:PLAN``, ``baseline`` or ``baseline:PLAN``."""
        with suppress(UnknownName):
            return self.named(text)  # a whole name needs no look at the others; one that cannot be read says so
        if text and not any(run.name.startswith(text) for run in self.runs()):
            for damaged in self.damaged:
                if damaged.name.startswith(text):
                    raise damaged.error
        try:
            found = find_run(text, self.runs(), self.baseline)
        except RankjuryError as error:
            error.where = error.where or str(self.path)
            raise
        word, _, plan = text.partition(":")
        for one in self.damaged if word == "latest" else ():  # an older run must not be shown as the latest
            if one.name > found.name and (not plan or f"-{slug(plan)}-" in one.name):
                raise DataError(
                    f"a later run cannot be read: {one.error}",
                    where=str(self.path),
                    hint=f"The last that can be is {found.name}.",
                )
        return found

    def named(self, name: str) -> ArchivedRun:
        """The run of exactly this name: nothing else, and nothing outside of the archive."""
        with suppress(OSError, ValueError):  # a text that can be no name
            if is_plain_name(name) and (self.path / RUNS / name).is_dir():
                return self._listing.open(name)
        raise UnknownName("run", name, (), where=str(self.path))

    def store(
        self,
        report: "Report",
        origin: Origin,
        *,
        gate: "Gate | None" = None,
        files: Mapping[str, str | bytes] | None = None,
        page: "Callable[[Report, ArchivedRun], str] | None" = None,
        time: datetime | None = None,
    ) -> ArchivedRun:
        """Store a report with all that belongs to it, whole or not at all.

        Args:
            report: The report, with the data of its queries.
            origin: Where it comes from.
            gate: Its verdicts.
            files: Further files, by name.
            page: Makes the HTML page, of the report as it is stored and of the run as it is going to be.
            time: When it ended; None: now.
        """
        from rankjury.tracking.archive.manifest import file_entry, make_manifest
        from rankjury.tracking.archive.tables import digest_contents

        moment = time or datetime.now(UTC)
        if gate is not None:
            report = report.with_sections(replace(gate, source=origin.file or origin.name))
        report = origin.shorten(report)
        held = dict(digest_contents(report))
        if origin.text is not None:
            held["plan.toml"] = origin.text.encode("utf-8", "surrogateescape")
        for name, content in (files or {}).items():
            if not is_plain_name(name) or name == MANIFEST:
                raise UsageError(f"a run cannot hold a file called {name!r}", expected="a plain name")
            held[name] = content.encode() if isinstance(content, str) else content
        same = self.same_inputs(origin)
        manifest = make_manifest(report, origin, moment, held, same.name if same else None)
        if page is not None:
            made = ArchivedRun(self.path / RUNS / run_name(moment, origin.name, origin.digest), manifest)
            held[PAGE] = page(report, made).encode("utf-8", "replace")
            manifest["files"][PAGE] = file_entry(held[PAGE])
        try:
            path = write_run(self.path, (moment, origin.name, origin.digest), held, manifest)
        except OSError as error:
            raise write_error(error, self.path) from error
        return ArchivedRun(path, manifest)

    def same_inputs(self, origin: Origin) -> ArchivedRun | None:
        """The last run that was asked the same of the same."""
        if not origin.can_be_repeated:
            return None
        digest = origin.digest
        named = (path.name for path in (self.path / RUNS).glob(f"[!.]*-{digest[:HASH_SHOWN]}*"))
        for name in sorted(named, key=lambda name: sort_key(name.partition("-")[0], name), reverse=True):
            with suppress(RankjuryError):
                run = self._listing.open(name)
                if run.digest == digest:
                    return run
        return None

    @property
    def baselines(self) -> dict[str, str]:
        """By plan, the name of the run that others are compared with."""
        return read_baselines(self.path)

    def baseline(self, plan: str) -> ArchivedRun | None:
        """None where none is set, or it is not there any more."""
        name = self.baselines.get(plan)
        if name is None:
            return None
        with suppress(UnknownName):
            return self.named(name)
        return None

    def set_baseline(self, run: ArchivedRun) -> None:
        """Compare other runs of its plan with this one."""
        if run.path.resolve() != (self.path / RUNS / run.name).resolve():
            raise UsageError(f"{run.name} is not in this archive", where=str(self.path))
        set_baseline(self.path, run.plan, run.name)

    def unset_baseline(self, plan: str) -> None:
        unset_baseline(self.path, plan)

    def running(self) -> list[dict[str, Any]]:
        """What is being run right now: schema, plan, name, pid, started, updated, what, done, of."""
        return read_running(self.path)

    def leftovers(self) -> list[Path]:
        """What writers that were killed left behind."""
        return leftovers(self.path)

    def prunable(
        self, *, keep: int | None = None, older_than: timedelta | None = None, plan: str | None = None
    ) -> list[ArchivedRun]:  # fmt: skip
        """The runs that ``prune`` would remove: never a baseline, never the last of a plan."""
        runs = self.runs()
        if plan is not None:
            runs_of_plan(runs, plan)
        return runs_to_prune(runs, set(self.baselines.values()), keep=keep, older_than=older_than, plan=plan)

    def prune(
        self, *, keep: int | None = None, older_than: timedelta | None = None, plan: str | None = None
    ) -> list[ArchivedRun]:  # fmt: skip
        """Remove them, and what writers that were killed left behind; returns the runs that are gone."""
        gone: list[ArchivedRun] = []
        if not isdir(self.path / RUNS):
            return gone
        try:
            with lock_archive(self.path):
                remove_leftovers(self.path)
                remove_stale(self.path)
                for run in self.prunable(keep=keep, older_than=older_than, plan=plan):
                    with suppress(FileNotFoundError):
                        remove_run(self.path, run.path)
                        gone.append(run)
        except OSError as error:
            raise write_error(error, self.path) from error
        return gone

    def prunable_damaged(self) -> list[UnreadableRun]:
        """The damaged runs that ``prune_damaged`` would remove: never a baseline, nor a run of a later version."""
        baselines = set(self.baselines.values())
        return [one for one in self.damaged if one.is_removable and one.name not in baselines]

    def prune_damaged(self) -> list[str]:
        """Remove the damaged runs; of a link to a folder only the link. Returns their names."""
        gone: list[str] = []
        try:
            for one in self.prunable_damaged():
                with lock_archive(self.path), suppress(FileNotFoundError):
                    remove_run(self.path, one.path)
                    gone.append(one.name)
        except OSError as error:
            raise write_error(error, self.path) from error
        return gone


def _find_archive(start: Path | None = None, given: Path | None = None) -> Path:
    """The one that is given, or that the environment names; else the nearest, else a new one where one stands."""
    named = given if given is not None else Path(os.environ[ENVIRONMENT]) if os.environ.get(ENVIRONMENT) else None
    if named is not None:
        _check_name(named)
        inner = named / FOLDER
        return inner if isdir(inner) and not isdir(named / "runs") else named
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if isdir(folder / FOLDER):
            return folder / FOLDER if start or folder != here else Path(FOLDER)
        if exists(folder / ".git") or folder == _home():
            break
    return start / FOLDER if start else Path(FOLDER)


def _check_name(path: Path) -> None:
    """Refuse a name that no folder can have, such as one that is too long; one that is not there yet is fine."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot be an archive: {reason}", where=str(path), expected="the name of a folder") from error


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # nobody's
        return None
