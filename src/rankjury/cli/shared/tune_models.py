"""rankjury tune of recommenders: trials on validation, best first; with --final the test window, once."""

from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankjury.cli.shared.completion import one_of
from rankjury.cli.shared.console import (
    check_suffixes,
    files_in_folder,
    ignore_broken_pipe,
    open_journal,
    print_error,
    print_json,
    say,
    show_progress,
    warn,
    warn_of,
)
from rankjury.cli.shared.tune_fusion import one_measure
from rankjury.core.text import json_text, plural, timestamp
from rankjury.core.version import __version__
from rankjury.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from rankjury.core.params import Params
    from rankjury.plan.parse import CheckedPlan
    from rankjury.plan.run import Outcome
    from rankjury.recsys.tuning.result import ModelTuning
    from rankjury.stats.resampling import Resampling

FOLDER = "rankjury-tune"
_PANEL = "Recommenders"
_MAX_TRIALS = 20
_MAX_FAILED = 5
_SEARCHES = ("grid", "random")
_REFITS = ("train", "train+validation")


@dataclass(frozen=True)
class ModelOptions:
    """Options of tuning recommenders; the first two replace what the plan says."""

    search: Annotated[
        str | None,
        typer.Option(**one_of("grid|random"), help="Search method; default: that of the plan.", rich_help_panel=_PANEL),
    ] = None
    trials: Annotated[
        int | None, typer.Option(help="Number of settings for a random search.", rich_help_panel=_PANEL)
    ] = None
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore the journal and run all trials again.", rich_help_panel=_PANEL)
    ] = False
    extend: Annotated[
        bool,
        typer.Option("--extend", help="Extend the grid while the best value is on its edge.", rich_help_panel=_PANEL),
    ] = False
    final: Annotated[
        bool,
        typer.Option("--final", help="Evaluate the chosen settings on the test window.", rich_help_panel=_PANEL),
    ] = False
    refit: Annotated[
        str | None,
        typer.Option(
            **one_of("train|train+validation"),
            help="With --final: windows to train on; default: that of the plan.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    window: Annotated[
        str | None,
        typer.Option(
            **one_of("validation"),
            help="Window for choosing settings; only validation is possible.",
            rich_help_panel=_PANEL,
        ),
    ] = None


def tune_models(
    checked: "CheckedPlan",
    system: str | None,
    measure: str | None,
    options: ModelOptions,
    statistics: dict[str, Any],
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Try settings, choose the best, report; with --final evaluate the choice on the test window."""
    from rankjury.io.atomic import make_folder, together, write_text
    from rankjury.plan.outputs import write_outputs
    from rankjury.plan.run import execute_plan
    from rankjury.plan.trials import with_settings
    from rankjury.stats.resampling import Resampling

    resampling = Resampling(**(checked.plan.statistics.model_dump() | statistics))
    output = output if options.final else files_in_folder("trials.json")(output)
    names = _check(checked, system, options, output)
    replaced = {
        "search": options.search,
        "trials": options.trials,
        "measure": None if measure is None else one_measure(measure)[0],
        "seed": statistics.get("seed"),
    }
    changed = {name: value for name, value in replaced.items() if value is not None}
    tunings = _run_trials(checked, names, changed, options, resampling)
    form: dict[str, Any] = {
        "schema": "rankjury.tuning-models/1",
        "rankjury": __version__,
        "made": timestamp(),
        "plan": Path(checked.where).name,
        "systems": [tuning.to_json() for tuning in tunings],
        "final": None,
    }
    outcome, final = None, checked
    chosen = {tuning.system: tuning.best.params for tuning in tunings if tuning.best is not None}
    if options.final and len(chosen) == len(tunings):
        tuned = ", ".join(
            f"{tuning.system} ({len(tuning.trials):,} trials, {tuning.measure} on {tuning.window})"
            for tuning in tunings
        )
        final = with_settings(checked, chosen, tuned, options.refit)
        with show_progress() as progress:
            outcome = execute_plan(final, progress, output)
        form["final"] = {
            "window": "test",
            "fit_on": getattr(final.plan.gold, "fit_on", None),
            "params": {system: dict(params) for system, params in chosen.items()},
            "report": outcome.report.to_json(),
            "gate": None if outcome.gate is None else outcome.gate.to_json(),
        }
    text = json_text(form)
    written: list[Path] = []
    with together():
        if outcome is not None:
            written += write_outputs(final, outcome.report, output, outcome.gate)
        if output is not None:
            if options.final:
                make_folder(output)
            file = output / "trials.json" if options.final else output
            write_text(file, text)
            written.append(file)
    with ignore_broken_pipe():
        if as_json:
            print_json(text)
        else:
            _print_tunings(tunings, outcome, final)
    _warn(tunings, outcome)
    if written:
        say(f"Wrote {', '.join(map(str, written))}")
    _end(tunings, outcome, checked, options, hints=not as_json)


def _warn(tunings: "list[ModelTuning]", outcome: "Outcome | None") -> None:
    for tuning in tunings:
        notes = list(tuning.notes)
        if tuning.failed and tuning.best is not None:
            notes.append(f"{len(tuning.failed)} of {len(tuning.trials)} trials failed")
        notes += [*(tuning.best.notes if tuning.best is not None else ()), *filter(None, [tuning.caution])]
        warn([f"{tuning.system}: {note}" for note in notes])
    if outcome is not None:
        warn_of(outcome.report, outcome.gate.notes if outcome.gate is not None else ())


def _check(checked: "CheckedPlan", system: str | None, options: ModelOptions, output: Path | None) -> list[str]:
    """Refuse options that are not possible; return the systems to tune: the one that is named, or all with a table."""
    names = list(checked.plan.tune) if system is None else [system]
    if not names:
        known = ", ".join(checked.plan.recommenders)
        left_out = "".join(f"; {note}" for note in checked.notes)
        raise UsageError(
            f"the plan has no settings to try for {known}{left_out}",
            where=checked.where,
            expected="[tune.NAME] with params = { factors = [16, 64] }",
        )
    searches = {options.search or checked.plan.tune[name].how for name in names if name in checked.plan.tune}
    if options.trials is not None and searches == {"grid"}:
        raise UsageError("--trials is for a random search, and a grid is tried whole", expected="--search random")
    if options.extend and searches == {"random"}:
        raise UsageError("--extend widens a grid, and the search is random", expected="--search grid, or a wider range")
    if options.search is not None and options.search not in _SEARCHES:
        raise UnknownName("search", options.search, _SEARCHES)
    if options.trials is not None and options.trials < 1:
        raise UsageError(f"found {options.trials} trials", expected="1 or more")
    if options.refit is not None and options.refit not in _REFITS:
        raise UnknownName("windows to refit on:", options.refit, _REFITS)
    if options.refit is not None and not options.final:
        raise UsageError("--refit is for --final", expected="both, or neither: trials learn from train alone")
    if options.final:
        from rankjury.plan.outputs import check_outputs

        if output is not None and output.suffix == ".json":
            raise UsageError(f"found -o {output}", expected="a folder for the plan's outputs, with --final")
        check_outputs(checked, output)
    elif output is not None:
        check_suffixes([output], (".json",))
    return names


def _run_trials(
    checked: "CheckedPlan", names: list[str], changed: dict[str, Any], options: ModelOptions, resampling: "Resampling"
) -> "list[ModelTuning]":
    """Try the settings of each system; ``changed`` replaces keys of the plan's tune tables."""
    from rankjury.plan.trials import prepare_subjects
    from rankjury.recsys.tuning.models import tune_model

    again = "the same command, without --fresh, goes on" if options.fresh else "the same command goes on"
    tunings: list[ModelTuning] = []
    with show_progress() as progress:
        subjects = prepare_subjects(checked, names, progress, changed)
        total, done = sum(len(subject.settings) for subject in subjects), 0
        with open_journal(
            checked.folder / FOLDER, lambda journal: f"{len(journal):,} finished trials", again
        ) as journal:
            warn([*checked.notes, *subjects[0].task.notes()])
            for subject in subjects:
                tuning = tune_model(
                    subject,
                    resampling=resampling,
                    journal=journal,
                    fresh=options.fresh,
                    extend=options.extend and subject.search["kind"] == "grid",
                    progress=progress.part(done, total),
                )
                tunings.append(tuning)
                done += len(tuning.trials)
                total += len(tuning.trials) - len(subject.settings)
    return tunings


def _print_tunings(tunings: "list[ModelTuning]", outcome: "Outcome | None", final: "CheckedPlan") -> None:
    from rankjury.cli.run import show
    from rankjury.reporting.console import console

    for number, tuning in enumerate(tunings):
        print("\n" * (number > 0), end="")
        _print_trials(tuning)
    if outcome is not None:
        learnt = str(getattr(final.plan.gold, "fit_on", "train")).replace("+", " and ")
        console().print(f"\nThe test window, opened with the chosen settings (learnt from {learnt}):")
        show(outcome.report, outcome.gate, final.plan.name)


def _end(
    tunings: "list[ModelTuning]",
    outcome: "Outcome | None",
    checked: "CheckedPlan",
    options: ModelOptions,
    *,
    hints: bool,
) -> None:
    """Print what to do next; exit with code 1 where no setting could be chosen."""
    failed = [tuning.system for tuning in tunings if tuning.best is None]
    if failed:
        shut = ", and the test window was not opened" if options.final else ""
        print_error(
            f"error: all trials of {', '.join(failed)} failed{shut}; they are kept; run rankjury tune again to retry"
        )
        raise typer.Exit(1)
    better = [tuning for tuning in tunings if tuning.best is not None and tuning.best is not tuning.current]
    for tuning in better if hints else ():
        assert tuning.best is not None
        params = as_toml(tuning.best.params)
        say(f"Next: put params = {params} into [systems.{tuning.system}] of {checked.where}")
    if not better and outcome is None and hints:
        say(f"Next: rankjury tune {checked.where} --final evaluates the settings on the test window, once")
    if outcome is not None and outcome.gate is not None and outcome.gate.exit_code:
        raise typer.Exit(outcome.gate.exit_code)


def _print_trials(tuning: "ModelTuning") -> None:
    """Print the trials of one system, best first."""
    from rankjury.reporting.console import console, print_rows
    from rankjury.stats.formatting import format_difference, format_estimate, format_p, format_percent

    out = console()
    out.print(f"{tuning.sentence}\n", markup=False)
    resumed = sum(trial.resumed for trial in tuning.trials)
    kept = f", {resumed:,} of them made before" if resumed else ""
    out.print(
        f"{tuning.system} ({tuning.model}): {plural(len(tuning.trials), 'trial', 'trials')}{kept}; learnt from "
        f"{' and '.join(tuning.fit_on)}, scored on {tuning.window} ({plural(len(tuning.users), 'user', 'users')})"
    )
    done = [trial for trial in tuning.ranked if not trial.failed]
    rows = [
        [
            tuning.spelled(trial) + (" (in use)" if trial is tuning.current else ""),
            format_estimate(tuning.estimates[trial.number]),
            f"{trial.fit_seconds or 0:.2f}",
        ]
        for trial in done[:_MAX_TRIALS]
    ]
    if rows:
        print_rows(
            ["setting", f"{tuning.measure} [{format_percent(tuning.resampling.level)}]", "fit s"], rows, wraps=(0,)
        )
    if len(done) > _MAX_TRIALS:
        out.print(f"{len(done) - _MAX_TRIALS:,} more trials are in the JSON (--json, -o).")
    for trial in tuning.failed[:_MAX_FAILED]:
        out.print(f"failed: {tuning.spelled(trial)}: {trial.error}", markup=False)
    if len(tuning.failed) > _MAX_FAILED:
        out.print(f"{len(tuning.failed) - _MAX_FAILED:,} more failed.")
    for other, comparison in (("those in use", tuning.versus_current), ("the second best", tuning.versus_second)):
        if comparison is not None:
            difference = format_difference(comparison.difference, comparison.ci)
            p = format_p(comparison.p_holm, at_floor=comparison.at_floor)
            out.print(f"best − {other}: {difference}, p {p} (Holm)")
    extensions = tuning.search.get("extensions", 0)
    after = f" after {extensions} extensions of the grid" if extensions else ""
    hint = "" if extensions else f"; --extend tries {'them' if len(tuning.edges) > 1 else 'it'}"
    for edge in tuning.edges:
        tried = f"The best {edge.parameter}, {edge.value:g}, is the {edge.end} that was tried{after}"
        out.print(f"{tried}: {edge.beyond:g} may be better{hint}.", markup=False)
    if tuning.best is not None:
        out.print(f"Best: params = {as_toml(tuning.best.params)}", markup=False)


def as_toml(params: "Params") -> str:
    """Return ``{ factors = 64, alpha = 0.5 }``, as a plan spells it."""
    inside = ", ".join(f"{name} = {dumps(value, ensure_ascii=False)}" for name, value in params.items())
    return f"{{ {inside} }}" if inside else "{}"
