"""rankjury prune: old runs go, baselines and the last of every plan stay."""

import re
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive, warn_of_damaged_runs
from rankjury.cli.shared.completion import complete_plans
from rankjury.cli.shared.console import print_json, print_line, say
from rankjury.cli.shared.options import JsonOption, QuietOption
from rankjury.core.text import plural
from rankjury.errors import UsageError

if TYPE_CHECKING:
    from rankjury.tracking.archive.listing import UnreadableRun
    from rankjury.tracking.archive.run import ArchivedRun

GROUP = "History"
ORDER = 7
EPILOG = (
    "Examples:\n\n"
    "  rankjury prune --keep 50 --dry-run\n\n"
    "  rankjury prune --older-than 90d --yes\n\n"
    "  rankjury prune --plan movies --keep 10 --older-than 30d\n\n"
    "  rankjury prune --damaged --yes\n\n"
    "With --keep and --older-than, a run is deleted only if it exceeds both. The baseline and the last run of a "
    "plan are always kept.\n\n"
    "With neither, only leftovers of killed processes are removed."
)
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_SHOWN = 10


def prune_command(
    keep: Annotated[int | None, typer.Option(metavar="N", help="Keep the last N runs of each plan.", min=1)] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Delete only runs older than this: 12h, 30d, 8w.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option(metavar="NAME", help="Delete only runs of this plan.", autocompletion=complete_plans)
    ] = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="Also delete damaged runs, of any plan and age.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be deleted without deleting it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    archive: ArchiveOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Delete old runs from the archive.

    Also deletes incomplete files of killed runs.
    """
    age = None
    if older_than is not None:
        read = re.fullmatch(r"(\d{1,5})([hdw])", older_than.strip())
        if read is None:
            expected = "a number of hours, days or weeks: 12h, 30d, 8w"
            raise UsageError(f"--older-than is {older_than!r}", expected=expected)
        age = timedelta(**{_UNITS[read[2]]: int(read[1])})
    kept = open_archive(archive)
    chosen = kept.prunable(keep=keep, older_than=age, plan=plan)
    broken = kept.prunable_damaged() if damaged else []
    left = kept.leftovers()
    if not as_json:
        limited = keep is not None or age is not None
        _print_choice(len(kept.runs()), chosen, broken, len(left), limited=limited, damaged=damaged)
    gone = [*(run.name for run in chosen), *(run.name for run in broken)]
    if not dry_run:
        if gone and not yes:
            if not sys.stdin.isatty():
                found = "cannot ask for confirmation: standard input is not a terminal"
                raise UsageError(found, expected="--yes, or --dry-run")
            answer = input(f"Remove {'it' if len(gone) == 1 else f'these {len(gone):,} runs'}? [y/N] ")
            if answer.strip().lower() not in ("y", "yes"):
                raise typer.Exit(1)
        gone = [run.name for run in kept.prune(keep=keep, older_than=age, plan=plan)]
        gone += kept.prune_damaged() if damaged else []
        if not as_json and (gone or left):
            removed = [plural(len(gone), "run", "runs")] if gone else []
            removed += [plural(len(left), "leftover", "leftovers")] if left else []
            say(f"Removed {' and '.join(removed)}")
    if as_json:
        print_json({"runs": gone, "leftovers": len(left), "dry_run": dry_run})
    warn_of_damaged_runs(kept)


def _print_choice(
    total: int, chosen: "list[ArchivedRun]", broken: "list[UnreadableRun]", left: int, *, limited: bool, damaged: bool
) -> None:
    """Print how many runs would be removed, then which."""
    from rankjury.cli.shared.archive_tables import format_size

    if chosen:
        size = format_size(sum(run.bytes for run in chosen))
        print(f"{plural(len(chosen), 'run', 'runs')} of {total:,} would go: {size}")
    elif limited or (damaged and not broken):
        print(f"None of {plural(total, 'run', 'runs')} would go")
    if broken:
        print(f"{plural(len(broken), 'damaged run', 'damaged runs')} would go")
    if not limited and not damaged:
        print(f"{plural(total, 'run stays', 'runs stay')}: --keep N or --older-than 30d says which may go")
    if left:
        print(f"{plural(left, 'folder', 'folders')} that killed writers left behind")
    for run in chosen[:_SHOWN]:
        print_line(f"  {run.name}  {format_size(run.bytes)}")
    if len(chosen) > _SHOWN:
        print(f"  … {len(chosen) - _SHOWN:,} more")
    for unreadable in broken:
        print_line(f"  {unreadable.name}  damaged: {unreadable.reason}")
