"""Reference of the drift check: the choice among the reports that ``lab.earlier`` names."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from glob import escape, glob
from os.path import exists
from pathlib import Path

from karat.drift import Drift
from karat.errors import DataError
from karat.gates import Gate
from karat.report import Report
from karat.reports.saved import read_report
from karat.reports.writers import as_file_name
from karat.wording import count

__all__ = ["Reference", "References"]

_INDEX = "{index}"
_SHOWN = 3


@dataclass(frozen=True)
class Reference:
    """The earlier report that a system is compared with, or None, and what the user should know of the choice."""

    report: Report | None
    notes: tuple[str, ...] = ()


class References:
    """The earlier reports by system; each file is read once.

    A name without ``*`` is the user's choice, and is taken as it is. Among the files that fit a name with ``*``, the
    latest that holds the system and did not fail its drift targets is taken: a failed one would hide the drift from
    the next run.
    """

    def __init__(self, pattern: str, resolve: Callable[[str], str], plan: str | None = None) -> None:
        self.pattern = pattern
        self.plan = plan
        self._resolve = resolve
        self._found: dict[str, Reference] = {}
        self._candidates: dict[str, Report | None] = {}
        self._reports: dict[str, Report] = {}

    @property
    def is_by_index(self) -> bool:
        """Whether the pattern is of the files of indexes, of which other systems have none."""
        return _INDEX in self.pattern

    @property
    def is_one_file(self) -> bool:
        """Whether the pattern names one file for all systems."""
        return "*" not in self.pattern and not self.is_by_index

    def path_of(self, system: str) -> str:
        return self._resolve(self.pattern.replace(_INDEX, as_file_name(system)))

    def matches(self, path: Path, system: str) -> bool:
        """Whether a later run would find its reference in a file of this name."""
        wanted = str(Path(self.path_of(system)).resolve())
        return fnmatchcase(str(path.resolve()), escape(wanted).replace("[*]", "*"))

    def of(self, system: str, *, any_name: bool = False) -> Reference:
        """Choose the report of a system. ``any_name``: the only system of a single file may have another name."""
        if system not in self._found:
            path = self.path_of(system)
            self._found[system] = self._latest(system, path) if "*" in path else self._named(system, path, any_name)
        return self._found[system]

    def _named(self, system: str, path: str, any_name: bool) -> Reference:
        if not self.is_one_file and not exists(path):
            return _none(system, f"there is no file {path}")
        report = self._read(path)
        if system in report.systems or (any_name and self.is_one_file and len(report.systems) == 1):
            return Reference(report)
        return _none(system, f"{path} holds {', '.join(report.systems)}")

    def _latest(self, system: str, pattern: str) -> Reference:
        files = {path: self._candidate(path) for path in _files(pattern)}
        unread = [path for path, one in files.items() if one is None]
        notes = [f"skipped, as they are not reports of karat: {_listed(unread)}"] if unread else []
        known = sorted((one for one in files.values() if one is not None and system in one.systems), key=_order)
        if not known:
            missing = _none(system, f"no report of this system matches {pattern}")
            return Reference(None, (*notes, *missing.notes))
        accepted = [place for place, one in enumerate(known) if not _failed(one, system)]
        later = [one.source for one in known[accepted[-1] + 1 if accepted else 0 :]]
        accept = "To accept one as the reference, name it in lab.earlier, without *."
        if not accepted:
            raise DataError(
                f"all earlier reports of {system} failed their drift targets: {_listed(later)}",
                where=pattern,
                expected="one that did not fail",
                hint=accept,
            )
        chosen = known[accepted[-1]]
        if later:
            failed = f"{count(len(later), 'later report', 'later reports')} failed the drift targets: {_listed(later)}"
            notes.append(f"{system}: drift is compared with {chosen.source}, as {failed}. {accept}")
        plan = chosen.provenance.get("name")
        if None not in (self.plan, plan) and plan != self.plan:
            notes.append(
                f"{system}: drift is compared with {chosen.source}, which is a report of another plan ({plan}, "
                f"not {self.plan}). Where that is not meant, give each plan a folder of its own for its reports."
            )
        return Reference(self._read(chosen.source), tuple(notes))

    def _candidate(self, path: str) -> Report | None:
        """Read a report without its queries; None for a file that is not a report of karat."""
        if path not in self._candidates:
            try:
                self._candidates[path] = replace(read_report(path), queries=None)
            except DataError:
                self._candidates[path] = None
        return self._candidates[path]

    def _read(self, path: str) -> Report:
        if path not in self._reports:
            self._reports[path] = read_report(path)
        return self._reports[path]


def _none(system: str, why: str) -> Reference:
    return Reference(None, (f"{system}: drift is not evaluated, as there is no earlier report: {why}",))


def _files(pattern: str) -> list[str]:
    """The files that fit, and those that end in the number of a further run of the same day (``_2``)."""
    path = Path(pattern)
    numbered = str(path.with_name(f"{path.stem}_*{path.suffix}"))
    further = [name for name in _glob(numbered) if re.search(r"_\d+$", Path(name).stem)]
    return sorted({*_glob(pattern), *further})


def _glob(pattern: str) -> list[str]:
    return glob(escape(pattern).replace("[*]", "*"))  # noqa: PTH207 - Path.glob takes no absolute pattern


def _order(report: Report) -> tuple[str, int, str]:
    """By the time recorded inside; reports of the same second by name, the second one (``_2``) after the first."""
    return str(report.provenance.get("made") or ""), len(report.source), report.source


def _failed(report: Report, system: str) -> bool:
    """Whether a target on drift failed; where the report records no such target, whether the ±5 % rule did."""
    gate, drift = report.section(Gate), report.section(Drift, system)
    verdicts = [] if gate is None else [one for one in gate.verdicts if one.system == system and one.target.about_drift]
    if verdicts:
        return any(one.failed for one in verdicts)
    return drift is not None and drift.failed


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[-_SHOWN:]) + more
