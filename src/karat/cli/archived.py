"""What the commands that look at the archive share: which archive, and which run or report is meant."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli.common import exists

if TYPE_CHECKING:
    from karat.archive import Archive, Run
    from karat.saved import Saved

__all__ = ["ArchiveOption", "archive_at", "find_run", "report_of"]

ArchiveOption = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        metavar="DIR",
        envvar="KARAT_ARCHIVE",
        show_envvar=False,
        help="The archive; unset: KARAT_ARCHIVE, else the nearest .karat folder.",
    ),
]


def archive_at(given: Path | None = None) -> "Archive":
    """The archive that is meant; it need not be there yet."""
    from karat.archive import Archive

    return Archive.at(given=given)


def find_run(text: str, archive: Path | None = None) -> "Run":
    return archive_at(archive).find(text)


def report_of(text: str, archive: Path | None = None) -> "Saved":
    """A report: from a file, or of an archived run by its name, ``latest``, ``baseline`` …"""
    from karat.reports.saved import read_report

    if text == "-" or (exists(text) and not Path(text).is_dir()):
        return read_report(text)
    return find_run(text, archive).saved()
