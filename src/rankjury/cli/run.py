"""rankjury run: one plan, start to end."""

from dataclasses import replace
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive
from rankjury.cli.shared.console import (
    ignore_broken_pipe,
    print_error,
    print_json,
    print_line,
    say,
    say_own_item,
    show_progress,
    show_report,
    warn,
    warn_of,
)
from rankjury.cli.shared.options import (
    PLAN_FILE,
    DsnOption,
    FullOption,
    JsonOption,
    LenientOption,
    PlanArgument,
    QuietOption,
    StrictOption,
)
from rankjury.errors import DataError

if TYPE_CHECKING:
    from rankjury.evaluation.gate import Gate
    from rankjury.evaluation.report import Report
    from rankjury.tracking.archive.archive import Archive

GROUP = "Plans"
ORDER = 2
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury run\n\n"
    "  rankjury run movies.toml -o results\n\n"
    "A plan names gold, systems, measures, slices, targets and outputs. The command init writes one. Paths are "
    "relative to the plan.\n\n"
    "Each run is archived in the nearest .rankjury folder; if there is none, one is created here. The commands "
    "history, show, diff and view read it.\n\n"
    "Exit code: 4 if a target failed; with --strict 5 if one is unsure."
)


def run_command(
    plan: PlanArgument = PLAN_FILE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR|FILE",
            help="Write the outputs of the plan to this folder, or only this file.",
        ),
    ] = None,
    strict: StrictOption = False,
    lenient: LenientOption = False,
    dsn: DsnOption = None,
    archive: ArchiveOption = None,
    no_archive: Annotated[bool, typer.Option("--no-archive", help="Do not archive the run.")] = False,
    as_json: JsonOption = False,
    full: FullOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run a plan: rank, score, compare, check targets.

    Also evaluates slices, writes the outputs of the plan, and archives the run.
    """
    if plan == PLAN_FILE and not exists(plan):
        hint = "rankjury init writes a plan; rankjury demo movies shows one at work."
        raise DataError("no such file", where=plan, hint=hint)
    kept = None if no_archive else open_archive(archive)
    run_and_print(plan, output, strict=strict, lenient=lenient, as_json=as_json, dsn=dsn, archive=kept)


def run_and_print(
    plan: str | dict[str, Any],
    output: Path | None,
    *,
    strict: bool = False,
    lenient: bool = False,
    as_json: bool = False,
    next_step: str | None = "",
    list_files: bool = True,
    lines: int | None = None,
    keep_self: str = "exclude_self = false",
    dsn: str | None = None,
    archive: "Archive | None" = None,
) -> None:
    """Run a plan, write its files, and print its report, warnings and what to do next.

    A plan that is given by its content has paths relative to the current folder. The empty ``next_step`` is the default
    hint at the end, None is none. ``lines``: of the report that are printed, where it is not a screen. ``keep_self``:
    the setting that keeps each query's own item.
    """
    from rankjury.plan.parse import check_plan, read_plan
    from rankjury.plan.run import run_checked_plan
    from rankjury.tracking.archive.files import is_write_protected

    checked = read_plan(plan) if isinstance(plan, str) else check_plan(plan, str(plan["name"]), Path())
    if dsn is not None:
        from rankjury.plan.systems.index import on_database

        checked = on_database(checked, dsn)
    if output is not None and output.suffix and not output.is_dir():
        changed = {"outputs": [output.name], "output": []}
        checked, output = replace(checked, plan=checked.plan.model_copy(update=changed)), output.parent
    with show_progress() as progress:
        result = run_checked_plan(checked, output, archive=archive, strict=strict, lenient=lenient, progress=progress)
    gate = result.gate
    for note in result.notes:
        say(note)
    with ignore_broken_pipe():
        if as_json:
            print_json((result.report if gate is None else result.report.with_sections(gate)).to_json())
        else:
            show(result.report, gate, checked.plan.name, lines)
    warn_of(result.report, gate.notes if gate is not None else ())
    # Say of systems whose queries are their items whether these find themselves.
    default = getattr(checked.plan.gold, "exclude_self", None)
    settings = {
        next((value for value in (getattr(table, "exclude_self", None), default) if value is not None), True)
        for table in checked.plan.systems.values()
        if table.searches_itself
    }
    for excluded in () if as_json else sorted(settings):
        say_own_item(excluded, keep=keep_self)
    if output is not None and not result.written:
        warn([f"nothing was written to {output}: the plan has no outputs"])
    if result.written and list_files:
        say(f"Wrote {', '.join(map(str, result.written))}")
    code = 0
    error = result.archive_error
    if error is not None and is_write_protected(error):  # such an archive is the user's choice, and no failure
        warn([f"the run was not kept: {error}"])
    elif error is not None:
        print_error(f"error: {error}")
        code = error.exit_code
    elif result.record is not None and archive is not None:
        say(f"Kept as {result.record.name} in {archive.path}")
    if result.repeats is not None:
        earlier, same = result.repeats
        found = "all values are equal to the last digit" if same else "but not all values are equal"
        say(f"The same plan and inputs as {earlier}: {found}")
    if next_step is not None and not as_json:
        reports = [path for path, writer in result.written.items() if writer.is_report]
        if gate is not None and result.record is not None:
            default = "Next: rankjury show latest, rankjury history, or rankjury view"
        elif reports:
            default = f"Next: {_gate_step(str(reports[0]))}"
        elif result.record is not None:
            default = f"Next: rankjury show latest, rankjury history, or {_gate_step('latest')}"
        elif isinstance(plan, str):
            default = f'Next: keep the results with outputs = ["report.json"] in {plan}'
        else:
            default = "Next: -o results writes the report and all tables into a folder"
        say(next_step or default)
    code = (gate.exit_code if gate is not None else 0) or code
    if code:
        raise typer.Exit(code)


def _gate_step(report: str) -> str:
    """Return how to get a verdict on a report: with the targets that exist, or by the help on how to write them."""
    if exists("targets.toml"):
        return f"decide with rankjury gate targets.toml {report}"
    return f"decide on {report} with targets: rankjury gate --help"


def show(report: "Report", gate: "Gate | None", name: str | None, lines: int | None = None) -> None:
    """Print the report and the verdicts on standard output."""
    from rankjury.core.text import plural

    about = f"{plural(report.n_queries, *report.unit)}, {plural(len(report.systems), 'system', 'systems')}"
    print_line(f"{name}: {about}\n" if name else f"{about[0].upper()}{about[1:]}\n")
    show_report(report if gate is None else report.with_sections(gate), lines=lines)
