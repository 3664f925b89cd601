"""One archived run: its manifest, and its files read when they are asked for."""

from collections.abc import Iterable, Mapping
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

PAGE = "report.html"
_COMMIT_SHOWN = 7


@dataclass(frozen=True, eq=False)
class ArchivedRun:
    """A folder of the archive, whole: it is never written to again.

    Nothing in the folder is trusted. The manifest is checked when the run is opened; a file is checked against its size
    and SHA-256 in the manifest when it is read, a report and a table also against their schema. Whatever is not as it
    was stored raises DamagedRun.
    """

    path: Path
    manifest: Mapping[str, Any]
    """As the current version has it, whichever wrote it."""

    @classmethod
    def open(cls, path: Path) -> "ArchivedRun":
        """Read the manifest alone."""
        return cls(path, read_manifest(path))

    @cached_property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def plan(self) -> str:
        """What its plan is called."""
        return str(self.manifest["name"])

    @property
    def time(self) -> str:
        """When it ended, in UTC: ``2026-11-17T05:09:35.123Z``."""
        return str(self.manifest["time"])

    @property
    def digest(self) -> str:
        """Of its plan and inputs."""
        return str(self.manifest.get("digest") or "")

    @property
    def verdict(self) -> str | None:
        return self.manifest.get("verdict")

    @property
    def commit(self) -> str:
        """The beginning of the commit, with a plus where the work tree differed from it; empty outside of one."""
        git = self.manifest.get("git") or {}
        return str(git.get("commit") or "")[:_COMMIT_SHOWN] + ("+" if git.get("dirty") else "")

    @property
    def systems(self) -> list[str]:
        return list(self.manifest["summary"])

    @property
    def headline(self) -> list[str]:
        """The measures to show first."""
        labels = dict.fromkeys(label for measures in self.manifest["summary"].values() for label in measures)
        return [label for label in self.manifest.get("headline") or () if label in labels] or list(labels)

    @cached_property
    def report(self) -> "Report":
        """The report, with the verdicts where there are any; data of single queries is read when it is asked for."""
        from rankjury.tracking.archive.tables import report_of

        return report_of(self)

    @cached_property
    def checked_tables(self) -> set[str]:
        """The tables whose columns were checked."""
        return set()

    def file(self, name: str) -> Path | None:
        """Return the path of one of its files, whose content is not checked; None where it has none of that name."""
        return self.path / name if name in self.manifest["files"] else None

    def read(self, name: str) -> bytes:
        """Read one of its files, as it was stored."""
        path = self.path / name
        if name not in self.manifest["files"]:
            raise DamagedRun(path, "the manifest does not list this file")
        return read_stored(path, self.manifest["files"][name])

    def check(self, name: str) -> Path:
        """Return the path of one of its files, after a check that it is as it was stored."""
        path = self.path / name
        if name not in self.manifest["files"]:
            raise DamagedRun(path, "the manifest does not list this file")
        check_stored(path, self.manifest["files"][name])
        return path

    @property
    def files(self) -> dict[str, int]:
        """The names of its files, and how many bytes each has."""
        return {name: about["bytes"] for name, about in self.manifest["files"].items()}

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    def faults(self) -> list[str]:
        """What is not as it was stored: files that are gone or were changed."""
        found = []
        for name, about in self.manifest["files"].items():
            try:
                check_stored(self.path / name, about)
            except DamagedRun as error:
                found.append(f"{name}: {error.fault}")
        return found

    def scores(self) -> "pl.LazyFrame":
        """query_id, system and a column a measure; undefined is null."""
        return self.table("scores.parquet")

    def queries(self) -> "pl.LazyFrame":
        """query_id, text (null where none is known) and slices (a list of names); in the order of the scores."""
        return self.table("queries.parquet")

    def answer(self, query: str) -> "Answers | None":
        """Golds and rankings of one query: only the part of the files that holds it is decoded."""
        from rankjury.tracking.archive.tables import answers_of

        return answers_of(self, query)

    def names(self, ids: Iterable[str] | None = None) -> dict[str, str]:
        """What items are called, where that is known; of some, or of all."""
        from rankjury.tracking.archive.tables import names_of

        return names_of(self, ids)

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        """What some queries say, where that is known."""
        from rankjury.tracking.archive.tables import texts_of

        return texts_of(self, ids)

    def table(self, name: str) -> "pl.LazyFrame":
        """One of its Parquet files, checked against hash and schema; rows are read when it is collected."""
        from rankjury.tracking.archive.tables import scan_table

        return scan_table(self, name)

    def __repr__(self) -> str:
        return f"Run({self.name!r})"
