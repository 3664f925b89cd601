"""Archive lookups that commands share: the archive, and the plan, run or report that an argument names."""

from collections.abc import Sequence
from contextlib import suppress
from os.path import exists, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.console import say, warn
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError, parse_toml
from rankjury.scale.evaluate_files import looks_like_path

if TYPE_CHECKING:
    from rankjury.evaluation.report import Report
    from rankjury.tracking.archive.archive import Archive
    from rankjury.tracking.archive.run import ArchivedRun

_SHOWN = 3
ArchiveOption = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        metavar="DIR",
        envvar="RANKJURY_ARCHIVE",
        show_envvar=False,
        help="Archive folder; default: RANKJURY_ARCHIVE, else the nearest .rankjury folder.",
    ),
]


def open_archive(given: Path | None = None) -> "Archive":
    """Return the archive of ``--archive``, or else the nearest; it need not exist yet."""
    from rankjury.tracking.archive.archive import Archive

    return Archive.at(path=given)


def check_has_runs(archive: "Archive", runs: "Sequence[ArchivedRun]") -> None:
    """Refuse an archive without a run that can be read."""
    if isfile(archive.path):
        raise DataError("found a file", where=str(archive.path), expected="the folder of an archive")
    if not runs:
        troubles = archive.troubles
        found = f"no run of the archive can be read: {troubles[0]}" if troubles else "the archive has no run"
        raise DataError(found, where=str(archive.path), hint="rankjury run keeps one; --archive DIR looks elsewhere.")


def warn_of_damaged_runs(archive: "Archive") -> None:
    """Warn of runs that cannot be read."""
    damaged = archive.damaged
    more = [f"{len(damaged) - _SHOWN:,} more runs cannot be read"] if len(damaged) > _SHOWN else []
    warn([*(f"a run is left out: {run.name} is damaged: {run.reason}" for run in damaged[:_SHOWN]), *more])
    if any(run.is_removable for run in damaged):
        say("rankjury prune --damaged removes damaged runs")


def read_baselines(archive: "Archive") -> dict[str, str]:
    """Return the name of the baseline by plan; where these cannot be read, none, with a warning."""
    try:
        return archive.baselines
    except DataError as error:
        warn([str(error)])
        return {}


def resolve_plan_name(runs: "Sequence[ArchivedRun]", given: str | None) -> str:
    """Return the name of the plan: as given, or of the file that is given; else of the last run."""
    from rankjury.tracking.archive.files import default_plan_name
    from rankjury.tracking.archive.listing import runs_of_plan

    if given is None:
        return runs[-1].plan
    if not given.endswith(".toml") or not exists(given):
        return runs_of_plan(runs, given)[0].plan
    from rankjury.io.source import Source

    content = parse_toml(Source.open(given).text(), given, fault=UsageError)
    name = content.get("name")
    return runs_of_plan(runs, default_plan_name(name if isinstance(name, str) else None, Path(given)))[0].plan


def resolve_measures(runs: "Sequence[ArchivedRun]", given: Sequence[str]) -> list[str]:
    """Return the labels of measures, which may be spelled otherwise than in the runs."""
    from rankjury.measures.dialects import resolve

    known = {label: facts for run in runs for label, facts in (run.manifest.get("measures") or {}).items()}
    by_convention = {str(facts.get("convention")): label for label, facts in known.items()}
    labels: dict[str, None] = {}
    for text in given:
        label = text if text in known else None
        with suppress(RankjuryError):
            label = label or by_convention.get(str(resolve(text).measure))
        if label is None:
            raise UnknownName("measure in these runs:", text, known)
        labels[label] = None
    return list(labels)


def load_report(text: str, archive: Path | None = None) -> "Report":
    """Read a report: from a file, or of an archived run by its name, ``latest``, ``baseline`` …"""
    from rankjury.evaluation.report import read_report

    run = find_run(text, archive)
    return read_report(text) if run is None else run.report


def find_run(text: str, archive: Path | None = None) -> "ArchivedRun | None":
    """Return the run that a text names; None where the text can only be a file."""
    if text == "-" or (exists(text) and not exists(Path(text) / "manifest.json")):
        return None
    kept = open_archive(archive)
    if exists(text):
        return kept.find(text)
    if looks_like_path(text) or not kept.runs():
        return None  # reading it will tell that there is no such file
    return kept.find(text)
