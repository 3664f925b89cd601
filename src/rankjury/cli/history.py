"""rankjury history: the values of a plan, run by run, and where they stepped."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankjury.cli.shared.archive import (
    ArchiveOption,
    check_has_runs,
    open_archive,
    read_baselines,
    resolve_measures,
    resolve_plan_name,
    warn_of_damaged_runs,
)
from rankjury.cli.shared.completion import complete_plans
from rankjury.cli.shared.console import (
    check_suffixes,
    files_in_folder,
    ignore_broken_pipe,
    print_json,
    say,
    split_measures,
)
from rankjury.cli.shared.options import JsonOption, MeasuresOption, QuietOption, SystemsOption

if TYPE_CHECKING:
    from rankjury.cli.shared.archive_tables import History
    from rankjury.tracking.archive.run import ArchivedRun

GROUP = "History"
ORDER = 1
EPILOG = (
    "Examples:\n\n"
    "  rankjury history\n\n"
    "  rankjury history movies -m ndcg@10 --system dense --last 50\n\n"
    "  rankjury history rankjury.toml -o history.png -o history.csv\n\n"
    "Lists the values of every archived run of a plan, oldest first, with intervals and the change since the "
    "previous run. Without -m, it shows the first headline measure.\n\n"
    "A step is a change of level larger than the noise of the series. Next to it is what changed there: inputs, "
    "plan, versions, packages, commit.\n\n"
    '"Beyond the errors" marks a step that is also larger than the sampling error of the queries.'
)


def history_command(
    plan: Annotated[
        str | None,
        typer.Argument(
            metavar="PLAN",
            help="Name or file of a plan; default: the plan of the last run.",
            show_default=False,
            autocompletion=complete_plans,
        ),
    ] = None,
    measures: MeasuresOption = None,
    system: SystemsOption = None,
    last: Annotated[int | None, typer.Option(metavar="N", help="Show only the last N runs.", min=1)] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the history: .png, .svg, .csv, .json, or a folder; repeatable.",
            callback=files_in_folder("history.png", "history.csv", "history.json"),
        ),
    ] = None,
    archive: ArchiveOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show how a plan's values changed from run to run.

    Also finds steps, where the level changed by more than noise, and shows what else changed there.
    """
    check_suffixes(output or (), (".png", ".svg", ".csv", ".json"))
    kept = open_archive(archive)
    runs = kept.runs()
    check_has_runs(kept, runs)
    name = resolve_plan_name(runs, plan)
    of_plan = [run for run in runs if run.plan == name]
    history = _history(of_plan, last, measures, system or [], read_baselines(kept).get(name))
    contents = {path: _content(history, path.suffix.lower()) for path in output or ()}
    if contents:
        from rankjury.io.atomic import write_files

        write_files(contents)
    with ignore_broken_pipe():
        if as_json:
            from rankjury.cli.shared.archive_tables import history_to_json

            print_json(history_to_json(history, kept.damaged))
        else:
            from rankjury.cli.shared.archive_tables import print_history

            print_history(history)
    warn_of_damaged_runs(kept)
    if output:
        say(f"Wrote {', '.join(map(str, output))}")
    elif not as_json:
        others = sorted({run.plan for run in runs} - {name})
        more = f" · also kept: {', '.join(others[:5])}{' …' if len(others) > 5 else ''}" if others else ""
        newest = history.runs[-1].name if others else "latest"  # that may be another plan's
        if len(history.runs) < 2:
            say(f"Next: rankjury show {newest}; run the plan again to see how it goes{more}")
        else:
            say(f"Next: rankjury diff {newest} compares it with the run before, or the baseline{more}")


def _history(
    every: "list[ArchivedRun]", last: int | None, measures: list[str] | None, systems: list[str], baseline: str | None
) -> "History":
    """Return the series of the last runs; steps are found over all runs."""
    from rankjury.cli.shared.archive_tables import History
    from rankjury.tracking.archive.history import build_series, last_points, series_steps

    runs = every[-last:] if last else every
    chance = set(runs[-1].manifest.get("by_chance") or ())
    ranking = [name for run in reversed(runs) for name in run.systems if name not in chance]
    wanted = systems or list(dict.fromkeys(ranking)) or runs[-1].systems
    labels = resolve_measures(runs, split_measures(measures)) if measures else runs[-1].headline[:1]
    by_name, shown = {run.name: run for run in every}, {run.name for run in runs}
    complete = [(line, series_steps(line, by_name)) for line in build_series(every, labels, wanted)]
    series = [last_points(line, steps, shown) for line, steps in complete]
    return History(runs[-1].plan, runs, [(line, steps) for line, steps in series if line.points], baseline, bool(last))


def _content(history: "History", suffix: str) -> str | bytes:
    from rankjury.cli.shared.archive_tables import history_to_csv, history_to_json, history_to_picture

    if suffix == ".json":
        return history_to_json(history)
    if suffix == ".csv":
        return history_to_csv(history)
    return history_to_picture(history, "png" if suffix == ".png" else "svg")
