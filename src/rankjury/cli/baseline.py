"""rankjury baseline: which run others are compared with; set by a person, never by itself."""

from typing import Annotated

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive, resolve_plan_name
from rankjury.cli.shared.console import print_json, print_line, say
from rankjury.cli.shared.options import JsonOption, QuietOption
from rankjury.errors import DataError, UsageError

GROUP = "History"
ORDER = 6
EPILOG = (
    "Examples:\n\n"
    "  rankjury baseline\n\n"
    "  rankjury baseline set latest\n\n"
    "  rankjury baseline unset movies\n\n"
    "diff compares runs with the baseline, history marks it, and prune never deletes it."
)


def baseline_command(
    action: Annotated[
        str, typer.Argument(metavar="[set|unset]", help="Set or unset a baseline, or show all.")
    ] = "show",
    which: Annotated[
        str | None,
        typer.Argument(metavar="RUN | PLAN", help="Run to set as baseline, or plan whose baseline to unset."),
    ] = None,
    archive: ArchiveOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show or set the run that others are compared with.

    Each plan has at most one baseline.
    """
    if action not in ("show", "set", "unset"):
        expected = "rankjury baseline, rankjury baseline set RUN or rankjury baseline unset"
        raise UsageError(f"found {action!r}", expected=expected)
    kept = open_archive(archive)
    if action == "set":
        if which is None:
            expected = "rankjury baseline set RUN"
            raise UsageError("which run is not said", expected=expected, hint="latest is the last one.")
        run = kept.find(which)
        kept.set_baseline(run)
        say(f"{run.name} is now the baseline of {run.plan}")
    elif action == "unset":
        known = kept.baselines
        if not known:
            raise DataError("no baseline is set", where=str(kept.path))
        if which in known or not kept.runs():
            plan = which or next(iter(known))
        else:
            plan = resolve_plan_name(kept.runs(), which)
        if plan not in known:
            raise DataError(f"{plan} has no baseline", where=str(kept.path), expected=f"one of {', '.join(known)}")
        kept.unset_baseline(plan)
        say(f"{plan} has no baseline any more")
    if as_json:
        print_json(kept.baselines)
    elif action == "show":
        for plan, name in kept.baselines.items():
            try:
                state = "" if kept.baseline(plan) is not None else " (not there any more)"
            except DataError as error:
                state = f" ({error.found})"
            print_line(f"{plan}: {name}{state}")
        if not kept.baselines:
            say("No baseline is set: rankjury baseline set RUN sets one")
