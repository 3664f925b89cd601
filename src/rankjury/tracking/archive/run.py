"""Archived run: its manifest, and its files, read when they are first used."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankjury.errors import DamagedRun
from rankjury.tracking.archive.files import check_stored, read_stored
from rankjury.tracking.archive.manifest import read_manifest

if TYPE_CHECKING:
    import polars as pl

    from rankjury.evaluation.query_lists import Answers
    from rankjury.evaluation.report import Report
    from rankjury.tracking.archive.tables import RunTables

PAGE = "report.html"


@dataclass(frozen=True, eq=False)
class ArchivedRun:
    """A complete folder of the archive, which is never written to again.

    Nothing in the folder is trusted. The manifest is checked when the run is opened; a file is checked against its size
    and SHA-256 in the manifest when it is read, a report and a table also against their schema. Any difference raises
    DamagedRun.
    """

    path: Path
    manifest: Mapping[str, Any]
    """In the current version, whichever version wrote it."""

    @classmethod
    def open(cls, path: Path) -> "ArchivedRun":
        """Read the manifest alone."""
        return cls(path, read_manifest(path))

    @cached_property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def plan(self) -> str:
        """Name of its plan."""
        return str(self.manifest["name"])

    @property
    def time(self) -> str:
        """When it ended, in UTC: ``2026-11-17T05:09:35.123Z``."""
        return str(self.manifest["time"])

    @property
    def digest(self) -> str:
        """Digest of its plan and inputs."""
        return str(self.manifest.get("digest") or "")

    @property
    def verdict(self) -> str | None:
        return self.manifest.get("verdict")

    @property
    def commit(self) -> str:
        """Short hash of the commit, with a plus where the work tree differed from it; empty outside of a work tree."""
        git = self.manifest.get("git") or {}
        return str(git.get("commit") or "")[:7] + ("+" if git.get("dirty") else "")

    @property
    def systems(self) -> list[str]:
        return list(self.manifest["summary"])

    @property
    def headline(self) -> list[str]:
        """Measures to show first."""
        labels = dict.fromkeys(label for measures in self.manifest["summary"].values() for label in measures)
        return [label for label in self.manifest.get("headline") or () if label in labels] or list(labels)

    @cached_property
    def tables(self) -> "RunTables":
        """Its tables and report, read from the folder."""
        from rankjury.tracking.archive.tables import RunTables  # loads Polars, which a list of runs does not need

        return RunTables(self.path, self.manifest)

    @cached_property
    def report(self) -> "Report":
        """Its report, with verdicts where there are any; data of single queries is read when it is first used."""
        return self.tables.report()

    def read(self, name: str) -> bytes:
        """Read one of its files, as it was stored."""
        return read_stored(self.path / name, self._file_entry(name))

    def check(self, name: str) -> Path:
        """Return the path of one of its files, after a check that it is as it was stored."""
        check_stored(self.path / name, self._file_entry(name))
        return self.path / name

    def _file_entry(self, name: str) -> Any:
        if name not in self.manifest["files"]:
            raise DamagedRun(self.path / name, "the manifest does not list this file")
        return self.manifest["files"][name]

    @property
    def files(self) -> dict[str, int]:
        """Sizes in bytes of its files by name."""
        return {name: about["bytes"] for name, about in self.manifest["files"].items()}

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    def faults(self) -> list[str]:
        """Return one line for each file that is missing or was changed."""
        faults = []
        for name, about in self.manifest["files"].items():
            try:
                check_stored(self.path / name, about)
            except DamagedRun as error:
                faults.append(f"{name}: {error.fault}")
        return faults

    def scores(self) -> "pl.LazyFrame":
        """Return query_id, system and one column per measure; undefined is null."""
        return self.tables.scan("scores.parquet")

    def answer(self, query: str) -> "Answers | None":
        """Read golds and rankings of one query; only the row groups that hold it are decoded."""
        return self.tables.answer(query)

    def __repr__(self) -> str:
        return f"Run({self.name!r})"
