"""rankjury run: one plan, start to end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.archive import ArchiveOption, open_archive
from rankjury.cli.shared.console import (
    QuietOption,
    exists,
    ignore_broken_pipe,
    print_json,
    print_line,
    say,
    say_own_item,
    show_progress,
    warn,
)
from rankjury.cli.shared.options import DsnOption, JsonOption
from rankjury.errors import DataError

if TYPE_CHECKING:
    from rankjury.evaluation.gate import Gate
    from rankjury.evaluation.report import Report
    from rankjury.plan.parse import CheckedPlan
    from rankjury.plan.run import PlanResult
    from rankjury.tracking.archive.archive import Archive

PLAN_FILE = "rankjury.toml"
GROUP = "Plans"
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury run\n\n"
    "  rankjury run movies.toml -o results\n\n"
    "A plan names gold, systems, measures, slices, targets and outputs; rankjury init writes one. Paths are relative "
    "to the plan. Exit code: 4 a target failed, 5 unsure under --strict.\n\n"
    "Each run is kept in the nearest .rankjury folder, else in one made here: history, show, diff and view "
    "look at it."
)


def run_command(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="The plan file.")] = PLAN_FILE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write the plan's outputs into this folder.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Unsure is not good enough: exit code 5.")] = False,
    dsn: DsnOption = None,
    archive: ArchiveOption = None,
    no_archive: Annotated[bool, typer.Option("--no-archive", help="Do not keep the run.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Carry out a plan: rank, score, compare, break down, check targets, write."""
    if plan == PLAN_FILE and not exists(plan):
        raise DataError(
            "no such file", where=plan, hint="rankjury init writes a plan; rankjury demo movies shows one at work."
        )
    kept = None if no_archive else open_archive(archive)
    carry_out(plan, output, strict=strict, as_json=as_json, quiet=quiet, dsn=dsn, archive=kept)


def carry_out(
    plan: str,
    output: Path | None,
    *,
    strict: bool,
    as_json: bool,
    quiet: bool,
    next_step: str | None = "",
    tell_files: bool = True,
    dsn: str | None = None,
    archive: "Archive | None" = None,
) -> None:
    """Read, run, write and tell; ``next_step`` is said at the end: the usual one where it is empty, none for None.

    With an ``archive`` the run is kept in it.
    """
    from rankjury.plan.parse import read_plan

    checked = read_plan(plan)
    if dsn is not None:
        from rankjury.plan.systems.index import on_database

        checked = on_database(checked, dsn)
    _carry_out(
        checked,
        output,
        strict=strict,
        as_json=as_json,
        quiet=quiet,
        next_step=next_step,
        tell_files=tell_files,
        archive=archive,
    )


def run_content(content: dict[str, Any], output: Path | None, *, as_json: bool, quiet: bool, next_step: str) -> None:
    """The same with a plan that a command made; its paths are relative to where it was called."""
    from rankjury.plan.parse import check_plan

    checked = check_plan(content, str(content["name"]), Path())
    _carry_out(checked, output, strict=False, as_json=as_json, quiet=quiet, next_step=next_step)


def _say_own_items(checked: "CheckedPlan", *, quiet: bool) -> None:
    """Say of systems whose queries are their items whether these find themselves."""
    systems = [table for table in checked.plan.systems.values() if table.searches_itself]
    said = getattr(checked.plan.gold, "exclude_self", None)
    found = {next((one for one in (getattr(table, "exclude_self", None), said) if one is not None), True)
             for table in systems}  # fmt: skip
    for left_out in sorted(found):
        say_own_item(left_out, setting="exclude_self", quiet=quiet)


def _carry_out(
    checked: "CheckedPlan",
    output: Path | None,
    *,
    strict: bool,
    as_json: bool,
    quiet: bool,
    next_step: str | None,
    tell_files: bool = True,
    archive: "Archive | None" = None,
) -> None:
    from rankjury.plan.run import carry_out as carry_out_plan

    with show_progress(quiet=quiet) as progress:
        result = carry_out_plan(checked, output, archive=archive, strict=strict, progress=progress)
    gate = result.gate
    for note in result.notes:
        say(note, quiet=quiet)
    with ignore_broken_pipe():
        if as_json:
            print_json((result.report if gate is None else result.report.with_sections(gate)).to_json())
        else:
            show(result.report, gate, checked.plan.name)
    warn([*result.report.warning_lines, *(gate.notes if gate is not None else ())], quiet=quiet)
    _say_own_items(checked, quiet=quiet or as_json)
    if output is not None and not result.written:
        warn([f"nothing was written to {output}: the plan has no outputs"], quiet=quiet)
    if result.written and tell_files:
        say(f"Wrote {', '.join(map(str, result.written))}", quiet=quiet)
    code = _say_archived(result, archive, quiet=quiet)
    if next_step is not None:
        reports = [path for path, writer in result.written.items() if writer.is_report]
        step = next_step or _next_step(checked.where, reports, kept=result.record is not None)
        say(step, quiet=quiet or as_json)
    if (gate is not None and gate.exit_code) or code:
        raise typer.Exit((gate.exit_code if gate is not None else 0) or code)


def _say_archived(result: "PlanResult", archive: "Archive | None", *, quiet: bool) -> int:
    """Say what became of storing the run, and return the exit code.

    An archive that may not be written to is the user's choice, and no failure.
    """
    from rankjury.tracking.archive.files import is_write_protected

    error = result.archive_error
    if error is not None and is_write_protected(error):
        warn([f"the run was not kept: {error}"], quiet=quiet)
    elif error is not None:
        say(f"error: {error}")
        return error.exit_code
    if result.record is not None and archive is not None:
        say(f"Kept as {result.record.name} in {archive.path}", quiet=quiet)
    if result.repeats is not None:
        earlier, same = result.repeats
        found = "every figure is equal to the last digit" if same else "but not all figures are equal"
        say(f"The same plan and inputs as {earlier}: {found}", quiet=quiet)
    return 0


def show(report: "Report", gate: "Gate | None", name: str | None) -> None:
    """Print the report and the verdicts on standard output."""
    from rankjury.core.text import plural
    from rankjury.reporting.console import print_report
    from rankjury.reporting.writers.gate import print_gate

    about = f"{plural(report.n_queries, *report.unit)}, {plural(len(report.systems), 'system', 'systems')}"
    print_line(f"{name}: {about}\n" if name else f"{about[0].upper()}{about[1:]}\n")
    print_report(report)
    if gate is not None:
        print()
        print_gate(gate)


def _next_step(plan: str, reports: list[Path], *, kept: bool) -> str:
    if reports:
        return f"Next: decide with rankjury gate targets.toml {reports[0]}"
    if kept:
        return "Next: rankjury show latest, rankjury history, or decide with rankjury gate targets.toml latest"
    return f'Next: keep the results with outputs = ["report.json"] in {plan}'
