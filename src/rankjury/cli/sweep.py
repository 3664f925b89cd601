"""rankjury sweep: grids of index parameters, recall against latency."""

from os.path import exists, isdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.console import (
    check_suffixes,
    ignore_broken_pipe,
    open_journal,
    print_error,
    print_json,
    say,
    show_progress,
    warn,
)
from rankjury.cli.shared.options import PLAN_FILE, DsnOption, JsonOption, PlanArgument, QuietOption
from rankjury.core.text import timestamp
from rankjury.errors import DataError

if TYPE_CHECKING:
    from rankjury.core.journal import Journal
    from rankjury.retrieval.bench.sweep_result import Cost, SweepResult

FOLDER = "rankjury-sweep"
_FILES = {".json": "sweep.json", ".csv": "frontier.csv", ".md": "frontier.md", ".png": "frontier.png"}
GROUP = "Plans"
ORDER = 3
MULTIPLIES_MATRICES = True
EPILOG = (
    "Examples:\n\n"
    "  rankjury sweep\n\n"
    "  rankjury sweep indexes.toml -o results --no-prune\n\n"
    "The plan has a table for each index to sweep:\n\n"
    "  [sweep.NAME]\n\n"
    "  build = { m = [8, 16] }\n\n"
    "  search = { ef_search = [16, 32, 64] }\n\n"
    "Each index is built once per build setting. Every measurement is saved to a journal: run the same command "
    "again to continue after an interruption.\n\n"
    "Settings that meet the target are then timed in interleaved rounds. One is reported as the cheapest only if "
    "it is significantly cheaper than every other. Settings that the engine refuses are skipped.\n\n"
    "Exit code: 1 if settings failed."
)


def sweep_command(
    plan: PlanArgument = PLAN_FILE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR|FILE",
            help=f"Folder for results and journal, or one result file; default: {FOLDER} next to the plan.",
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ignore the journal and measure all settings again.")] = False,
    no_prune: Annotated[
        bool,
        typer.Option(
            "--no-prune", help="Also measure settings that can be neither faster nor more accurate than others."
        ),
    ] = False,
    dsn: DsnOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Try index settings: recall against latency.

    Builds each index of the plan with every combination of its parameters, and reports the cheapest setting that meets
    the target.
    """
    from rankjury.plan.parse import read_plan
    from rankjury.plan.systems.index import on_database
    from rankjury.plan.trials import prepare_sweeps
    from rankjury.reporting.tables.sweep import print_sweep, sweeps_to_json
    from rankjury.retrieval.engines.pgvector.server import remove_abandoned

    if plan == PLAN_FILE and not exists(plan):
        raise DataError("no such file", where=plan, hint="rankjury init writes a plan; add [sweep.NAME] to it.")
    checked = on_database(read_plan(plan), dsn)
    file = output if output is not None and output.suffix and not output.is_dir() else None
    check_suffixes([file] if file is not None else [], tuple(_FILES))
    folder = checked.folder / FOLDER if output is None or file is not None else output
    if exists(folder) and not isdir(folder):
        raise DataError("cannot create this folder: this is a file", where=str(folder))
    remove_abandoned()
    sweeps: list[SweepResult] = []
    with show_progress() as progress:
        prepared = prepare_sweeps(checked, progress, folder)
        total, done = sum(sweep.steps for sweep in prepared), 0
        with open_journal(folder, _count_measured, "rankjury sweep goes on", fresh=fresh) as journal:
            for sweep in prepared:
                sweeps.append(sweep.carry_out(journal, prune=not no_prune, progress=progress.part(done, total)))
                done += sweep.steps
    costs = [sweep.cheapest for sweep in prepared]
    form = sweeps_to_json(sweeps, timestamp())
    written = _write(sweeps, costs, form, folder, file)
    with ignore_broken_pipe():
        if as_json:
            print_json(form)
        else:
            for number, (result, cost) in enumerate(zip(sweeps, costs, strict=True)):
                print("\n" * (number > 0), end="")
                print_sweep(result, cost)
    warn([f"{sweep.name}: {note}" for sweep in sweeps for note in sweep.notes])
    say(f"Wrote {', '.join(map(str, written))}")
    failed = sum(len(sweep.of("failed")) for sweep in sweeps)
    if failed:
        points = sum(len(sweep.points) for sweep in sweeps)
        print_error(
            f"error: {failed} of {points} settings failed; results are kept; run rankjury sweep again to retry these"
        )
        raise typer.Exit(1)
    if not as_json:
        say(f"Next: {_next_step(sweeps, costs, checked.where)}")


def _count_measured(journal: "Journal") -> str:
    return f"{sum(entry.point.get('status') == 'measured' for entry in journal):,} measured settings"


def _write(sweeps: "list[SweepResult]", costs: "list[Cost]", form: str, folder: Path, file: Path | None) -> list[Path]:
    """Write all files or none, or the one ``file``; a picture only where there is something to draw."""
    from rankjury.io.atomic import write_files
    from rankjury.reporting.tables.sweep import sweeps_to_csv, sweeps_to_markdown

    contents: dict[Path, str | bytes] = {
        folder / "sweep.json": form,
        folder / "frontier.csv": sweeps_to_csv(sweeps, costs),
        folder / "frontier.md": sweeps_to_markdown(sweeps, costs),
    }
    if any(sweep.comparable for sweep in sweeps):
        from rankjury.reporting.charts.matplotlib import to_picture
        from rankjury.reporting.charts.sections import sweeps_chart

        contents[folder / "frontier.png"] = to_picture(sweeps_chart(sweeps, costs))
    if file is not None:
        name = folder / _FILES[file.suffix.lower()]
        contents = {file: contents[name]} if name in contents else {}
    write_files(contents)
    return list(contents)


def _next_step(sweeps: "list[SweepResult]", costs: "list[Cost]", plan: str) -> str:
    from rankjury.cli.shared.tune_models import as_toml

    choices = {sweep.name: sweep.cheapest(by=cost) for sweep, cost in zip(sweeps, costs, strict=True) if sweep.aims}
    for name, choice in choices.items():
        if choice.outcome in ("sure", "tied") and choice.point is not None:
            spelled = f"build = {as_toml(choice.point.build)} and search = {as_toml(choice.point.search)}"
            tied = f" (one of {len(choice.rivals) + 1} that cannot be distinguished)" if choice.rivals else ""
            return f"put {spelled}{tied} into [systems.{name}] of {plan}, and rankjury run it"
    if any(choice.outcome == "unsure" for choice in choices.values()):
        return f"more queries, or rounds in [lab] of {plan}, would tell whether the target is met"
    return "try larger values, or another engine: rankjury list engines lists them"
