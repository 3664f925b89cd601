"""Earlier reports for the drift check: the choice among the files that match ``lab.earlier``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from glob import escape, glob
from json import loads
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankjury.core.text import plural
from rankjury.errors import DataError
from rankjury.evaluation.report import Report, read_report
from rankjury.evaluation.report_json import check_schema
from rankjury.evaluation.targets import ABOUT_DRIFT
from rankjury.io.source import Source
from rankjury.reporting.writers import as_file_name

if TYPE_CHECKING:
    from rankjury.plan.schema import Plan

_INDEX = "{index}"
_SHOWN = 3


@dataclass(frozen=True)
class EarlierReport:
    """Earlier report that a system is compared with, or None, with notes on the choice."""

    report: Report | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    """Report that matches the pattern: its time, and the systems that failed their drift targets."""

    path: str
    made: str
    plan: str | None
    """The name of the plan that made it."""
    failed: Mapping[str, bool]


class EarlierReports:
    """Earlier reports by system; each file is read once.

    A name without ``*`` is used as it is. Among the files that match a name with ``*``, the latest that contains the
    system and did not fail its drift targets is chosen: a failed one would hide the drift from the next run.
    """

    def __init__(self, pattern: str, plan: "Plan", folder: Path) -> None:
        """``pattern``: ``lab.earlier`` of the plan; ``folder``: base of relative paths."""
        self._pattern, self._plan, self._folder = pattern, plan, folder
        self.is_by_index = _INDEX in pattern
        """Whether the pattern is for files of indexes, so that other systems have none."""
        self.is_one_file = "*" not in pattern and not self.is_by_index
        """Whether the pattern is one file for all systems."""
        self.choose = cache(self._choose)
        """Returns the report that a system is compared with."""
        self._read, self._candidate = cache(read_report), cache(_candidate_at)

    def _path(self, system: str) -> str:
        return str(self._folder / self._pattern.replace(_INDEX, as_file_name(system)))

    def matches(self, path: Path, system: str) -> bool:
        """Return whether a later run would find its reference in a file of this name."""
        pattern = str(Path(self._path(system)).resolve())
        return fnmatchcase(str(path.resolve()), escape(pattern).replace("[*]", "*"))

    def _choose(self, system: str) -> EarlierReport:
        path = self._path(system)
        if "*" in path:
            return self._latest(system, path)
        if not self.is_one_file and not exists(path):
            return _none(system, f"{path} does not exist")
        report = self._read(path)
        # The only system of a single file may be named differently from the only one of the plan.
        is_alone = self.is_one_file and len(report.systems) == len(self._plan.systems) == 1
        if system in report.systems or is_alone:
            return EarlierReport(report)
        return _none(system, f"{path} contains {', '.join(report.systems)}")

    def _latest(self, system: str, pattern: str) -> EarlierReport:
        files = {path: self._candidate(path) for path in _files(pattern)}
        unread = [path for path, candidate in files.items() if candidate is None]
        notes = [f"skipped, as they are not reports of rankjury: {_listed(unread)}"] if unread else []
        known = [candidate for candidate in files.values() if candidate and system in candidate.failed]
        known.sort(key=lambda candidate: (candidate.made, len(candidate.path), candidate.path))  # _2 after the first
        if not known:
            missing = _none(system, f"no report of this system matches {pattern}")
            return EarlierReport(None, (*notes, *missing.notes))
        accepted = [candidate for candidate in known if not candidate.failed[system]]
        failed = [candidate.path for candidate in (known[known.index(accepted[-1]) + 1 :] if accepted else known)]
        accept = "To accept one as the reference, set lab.earlier to it, without *."
        if not accepted:
            raise DataError(
                f"all earlier reports of {system} failed their drift targets: {_listed(failed)}",
                where=pattern,
                expected="a report that did not fail",
                hint=accept,
            )
        if failed:
            later = plural(len(failed), "later report", "later reports")
            notes.append(
                f"{system}: drift is compared with {accepted[-1].path}, as {later} failed the drift targets: "
                f"{_listed(failed)}. {accept}"
            )
        chosen = accepted[-1]
        plan = self._plan.name
        if None not in (plan, chosen.plan) and chosen.plan != plan:
            notes.append(
                f"{system}: drift is compared with {chosen.path}, which is a report of another plan ({chosen.plan}, "
                f"not {plan}). If this is not intended, use a separate folder for the reports of each plan."
            )
        return EarlierReport(self._read(chosen.path), tuple(notes))


def _none(system: str, why: str) -> EarlierReport:
    return EarlierReport(None, (f"{system}: drift is not evaluated, as there is no earlier report: {why}",))


def _files(pattern: str) -> list[str]:
    """Return the files that match, including those with the number of another run of the same day (``_2``)."""
    path = Path(pattern)
    numbered = str(path.with_name(f"{path.stem}_*{path.suffix}"))
    fitting, further = (
        glob(escape(name).replace("[*]", "*"))  # noqa: PTH207 - Path.glob takes no absolute pattern
        for name in (pattern, numbered)
    )
    return sorted({*fitting, *(name for name in further if re.search(r"_\d+$", Path(name).stem))})


def _candidate_at(path: str) -> _Candidate | None:
    """Read the properties needed for the choice; None for a file that is not a rankjury report."""
    try:
        form = check_schema(loads(Source.open(path).text()), path)
        origin = form.get("provenance") or {}
        failed = {name: _failed(form, name) for name in form["systems"]}
        return _Candidate(path, str(origin.get("made") or ""), origin.get("name"), failed)
    except (DataError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _failed(form: Mapping[str, Any], system: str) -> bool:
    """Return whether a drift target failed; if the report has no such target, whether the ±5 % rule did."""
    targets = [*(form.get("targets") or ()), *((form.get("gate") or {}).get("targets") or ())]
    verdicts = [
        target["verdict"]
        for target in targets
        if target["system"] == system and target["measure"].startswith(ABOUT_DRIFT)
    ]
    if verdicts:
        return "fail" in verdicts
    return bool((form["systems"][system].get("drift") or {}).get("verdict") == "fail")


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[-_SHOWN:]) + more
