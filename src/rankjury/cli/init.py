"""rankjury init: a plan to start from."""

from os.path import exists
from pathlib import Path
from typing import Annotated

import typer

from rankjury.cli.shared.console import say, warn
from rankjury.cli.shared.options import PLAN_FILE, QuietOption
from rankjury.errors import UsageError

GROUP = "Plans"
ORDER = 1
EPILOG = (
    "Kinds: runs (saved runs against labels), spaces or movies (embedding spaces against ordered lists), reference or "
    "papers (models against a reference model), search or fashion (vectors of queries against labels), keywords or "
    "driving (items that have what a query asks for), recommenders or movielens (models against what users took "
    "later). Without one, the files of the folder decide.\n\n"
    "Examples:\n\n"
    "  rankjury init\n\n"
    "  rankjury init movies -o plans/movies.toml"
)


def init_command(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="What the plan is for.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The plan to write.")] = Path(
        PLAN_FILE
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a plan that is there.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Write a plan from the files in this folder.

    The plan has comments, and names the gold, runs, vectors and tables that were found.
    """
    from rankjury.io.atomic import make_folder, write_files
    from rankjury.plan.draft import SCHEMA_FILE, draft, find_draft, kind_for
    from rankjury.plan.folder_scan import scan_folder
    from rankjury.plan.parse import read_plan
    from rankjury.plan.schema import schema_text

    if exists(output) and not force:
        raise UsageError(f"{output} is there already", hint="Name another with -o, or replace it with --force.")
    make_folder(output.parent)
    found = scan_folder(output.parent)
    chosen = kind or kind_for(found)
    text = draft(chosen, found, output.parent.resolve().name)
    write_files({output: text, output.parent / SCHEMA_FILE: schema_text()})
    systems = read_plan(output).plan.systems
    say(f"Wrote {output} ({chosen}) and {output.parent / SCHEMA_FILE}")
    of_log = [*found.catalogues, *found.people] if found.logs else []
    named = [*found.golds, *found.ordered, *found.logs, *of_log, *found.runs]
    named += [*found.vectors, *found.query_vectors, *found.annotated, *found.products, *found.texts, *found.tables]
    named = list(dict.fromkeys(named))
    aspects = next(iter(found.ordered.values()), [])
    unset = [name for name, system in systems.items() if system.gold is None]
    if len(aspects) > 1 and find_draft(chosen).name == "spaces" and unset:
        are = f"the gold has the aspects {', '.join(aspects)}, and no name tells which one is for {', '.join(unset)}"
        warn([f"{are}: set the key gold of each in {output}"])
    if found.anything:
        say(f"Found {', '.join(named[:6])}{' …' if len(named) > 6 else ''}")
        say(f"Next: look it over, then rankjury run{'' if output == Path(PLAN_FILE) else f' {output}'}")
    else:
        say("Found no gold, runs, vectors or log here: the paths in the plan are examples, put yours in")
