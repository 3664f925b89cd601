"""rankjury tune of recommenders: trials on validation, best first; and the test window, once, when it is asked for."""

from dataclasses import dataclass
from os.path import exists, isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankjury.cli.shared.console import check_folder, ignore_broken_pipe, print_json, say, show_progress, warn
from rankjury.cli.shared.tune_fusion import one_measure
from rankjury.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    from rankjury.core.params import Params
    from rankjury.core.progress import Progress
    from rankjury.evaluation.gate import Gate
    from rankjury.plan.parse import CheckedPlan
    from rankjury.plan.run import Outcome
    from rankjury.recsys.tuning.result import ModelTuning
    from rankjury.stats.comparison import Comparison

FOLDER = "rankjury-tune"
_SCHEMA = "rankjury.tuning-models/1"
_MOST_SHOWN = 20
_MOST_FAILED = 5
_JOURNAL, _TRIALS = "journal.jsonl", "trials.json"
_SEARCHES = ("grid", "random")
_REFITS = ("train", "train+validation")


@dataclass(frozen=True)
class ModelOptions:
    """Options that replace what the plan says."""

    search: str | None
    trials: int | None
    measure: str | None
    seed: int | None
    fresh: bool
    final: bool
    refit: str | None
    extend: bool = False

    @property
    def changed(self) -> dict[str, Any]:
        """The keys of the tune tables that are replaced."""
        measure = None if self.measure is None else one_measure(self.measure)[0]
        given = {"search": self.search, "trials": self.trials, "measure": measure, "seed": self.seed}
        return {name: value for name, value in given.items() if value is not None}


def tune_models(
    checked: "CheckedPlan",
    system: str | None,
    options: ModelOptions,
    statistics: dict[str, Any],
    output: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Try settings, choose the best, report; with --final evaluate the choice on the test window."""
    from rankjury.stats.resampling import Resampling

    resampling = Resampling(**(checked.plan.statistics.model_dump() | statistics))
    names = _names(checked, system, options)
    _check(checked, options, output)
    with show_progress(quiet=quiet) as progress:
        found = _run_trials(checked, names, options, resampling, progress, quiet=quiet)
    outcome, final = None, None
    if options.final and all(tuning.best is not None for tuning in found):
        outcome, final = _open_test(checked, found, options, output, quiet=quiet)
    form = _to_json(found, checked, outcome, final)
    written = _write(form, outcome, final, output, final_wanted=options.final)
    with ignore_broken_pipe():
        if as_json:
            print_json(form)
        else:
            _show(found, outcome, final)
    _say(found, outcome, quiet=quiet)
    if written:
        say(f"Wrote {', '.join(map(str, written))}", quiet=quiet)
    _end(found, outcome, checked, options, quiet=quiet or as_json)


def _names(checked: "CheckedPlan", system: str | None, options: ModelOptions) -> list[str]:
    """Return the systems to tune: the one that is named, or all that have a table."""
    names = list(checked.plan.tune) if system is None else [system]
    if not names:
        known = ", ".join(checked.plan.recommenders)
        left_out = "".join(f"; {note}" for note in checked.notes)
        raise UsageError(
            f"the plan does not say what to try of {known}{left_out}", where=checked.where,
            expected="[tune.NAME] with params = { factors = [16, 64] }",
        )  # fmt: skip
    searches = {options.search or checked.plan.tune[name].how for name in names if name in checked.plan.tune}
    if options.trials is not None and searches == {"grid"}:
        raise UsageError("--trials is for a random search, and a grid is tried whole", expected="--search random")
    if options.extend and searches == {"random"}:
        raise UsageError("--extend widens a grid, and the search is random", expected="--search grid, or a wider range")
    return names


def _check(checked: "CheckedPlan", options: ModelOptions, output: Path | None) -> None:
    """Refuse options that are not possible, before anything is computed."""
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
        if output.suffix != ".json":
            raise UsageError(f"cannot write {output.name}", expected="a name that ends in .json")
        check_folder(output)


def _run_trials(
    checked: "CheckedPlan", names: list[str], options: ModelOptions, how: Any, progress: "Progress", *, quiet: bool
) -> "list[ModelTuning]":
    from rankjury.core.journal import Journal
    from rankjury.io.atomic import make_folder
    from rankjury.plan.trials import prepare_subjects
    from rankjury.recsys.tuning.models import tune_model

    subjects = prepare_subjects(checked, names, progress, options.changed)
    folder = checked.folder / FOLDER
    if exists(folder) and not isdir(folder):
        raise DataError("cannot make this folder: a file is there", where=str(folder))
    make_folder(folder)
    warn([*checked.notes, *subjects[0].task.notes()], quiet=quiet)
    total, done = sum(len(subject.settings) for subject in subjects), 0
    found: list[ModelTuning] = []
    with Journal(folder / _JOURNAL) as journal:
        if journal.dropped:
            warn([f"{journal.path}: {journal.dropped} unfinished or unreadable lines were passed over"], quiet=quiet)
        try:
            for subject in subjects:
                part = progress.part(done, total)
                extend = options.extend and subject.search["kind"] == "grid"
                found.append(
                    tune_model(
                        subject, resampling=how, journal=journal, fresh=options.fresh, extend=extend, progress=part
                    )
                )
                done += len(found[-1].trials)
                total += len(found[-1].trials) - len(subject.settings)
        except KeyboardInterrupt:
            again = "the same command, without --fresh, goes on" if options.fresh else "the same command goes on"
            say(f"{len(journal):,} finished trials are kept in {journal.path}: {again} from there")
            raise
    return found


def _open_test(
    checked: "CheckedPlan", found: "list[ModelTuning]", options: ModelOptions, output: Path | None, *, quiet: bool
) -> "tuple[Outcome, CheckedPlan]":
    """Run the plan on its test window, with the chosen settings."""
    from rankjury.plan.run import execute_plan
    from rankjury.plan.trials import with_settings

    chosen = {tuning.system: tuning.best.params for tuning in found if tuning.best is not None}
    tuned = ", ".join(
        f"{tuning.system} ({len(tuning.trials):,} trials, {tuning.measure} on {tuning.window})" for tuning in found
    )
    final = with_settings(checked, chosen, tuned, options.refit)
    with show_progress(quiet=quiet) as progress:
        return execute_plan(final, progress, output), final


def _write(
    form: str, outcome: "Outcome | None", final: "CheckedPlan | None", output: Path | None, *, final_wanted: bool
) -> list[Path]:
    from rankjury.io.atomic import make_folder, together, write_text
    from rankjury.plan.outputs import write_outputs

    written: list[Path] = []
    with together():
        if outcome is not None and final is not None:
            written += write_outputs(final, outcome.report, output, outcome.gate)
        if output is not None:
            if final_wanted:
                make_folder(output)
            file = output / _TRIALS if final_wanted else output
            write_text(file, form)
            written.append(file)
    return written


def _show(found: "list[ModelTuning]", outcome: "Outcome | None", final: "CheckedPlan | None") -> None:
    from rankjury.cli.run import show
    from rankjury.reporting.console import console

    for number, one in enumerate(found):
        print("\n" * (number > 0), end="")
        _print_trials(one)
    if outcome is not None and final is not None:
        print()
        learnt = str(getattr(final.plan.gold, "fit_on", "train")).replace("+", " and ")
        console().print(f"The test window, opened with the chosen settings (learnt from {learnt}):")
        show(outcome.report, outcome.gate, final.plan.name)


def _say(found: "list[ModelTuning]", outcome: "Outcome | None", *, quiet: bool) -> None:
    warn([f"{tuning.system}: {note}" for tuning in found for note in tuning.notes], quiet=quiet)
    for tuning in found:
        if tuning.failed and tuning.best is not None:
            warn([f"{tuning.system}: {len(tuning.failed)} of {len(tuning.trials)} trials failed"], quiet=quiet)
        notes = [*(tuning.best.notes if tuning.best is not None else ()), *filter(None, [tuning.caution])]
        warn([f"{tuning.system}: {note}" for note in notes], quiet=quiet)
    if outcome is not None:
        warn([*outcome.report.warning_lines, *(outcome.gate.notes if outcome.gate is not None else ())], quiet=quiet)


def _end(
    found: "list[ModelTuning]", outcome: "Outcome | None", checked: "CheckedPlan", options: ModelOptions, *, quiet: bool
) -> None:
    """Print what to do next; exit with code 1 where no setting could be chosen."""
    failed = [tuning.system for tuning in found if tuning.best is None]
    if failed:
        shut = ", and the test window was not opened" if options.final else ""
        say(f"error: all trials of {', '.join(failed)} failed{shut}; they are kept; run rankjury tune again to retry")
        raise typer.Exit(1)
    better = [tuning for tuning in found if tuning.best is not tuning.current]
    for tuning in better:
        assert tuning.best is not None
        say(
            f"Next: put params = {as_toml(tuning.best.params)} into [systems.{tuning.system}] of {checked.where}",
            quiet=quiet,
        )
    if not better and outcome is None:
        say(f"Next: rankjury tune {checked.where} --final evaluates the settings on the test window, once", quiet=quiet)
    gate: Gate | None = None if outcome is None else outcome.gate
    if gate is not None and gate.exit_code:
        raise typer.Exit(gate.exit_code)


def _print_trials(found: "ModelTuning") -> None:
    """Print the trials of one system, best first."""
    from rankjury.core.text import plural
    from rankjury.reporting.console import console, print_rows
    from rankjury.stats.formatting import format_estimate, format_percent

    out = console()
    resumed = sum(trial.resumed for trial in found.trials)
    kept = f", {resumed:,} of them made before" if resumed else ""
    out.print(
        f"{found.system} ({found.model}): {plural(len(found.trials), 'trial', 'trials')}{kept}; learnt from "
        f"{' and '.join(found.fit_on)}, scored on {found.window} ({plural(len(found.users), 'user', 'users')})"
    )
    done = [trial for trial in found.ranked if not trial.failed]
    rows = [
        [
            found.spelled(trial) + (" (in use)" if trial is found.current else ""),
            format_estimate(found.estimates[trial.number]),
            f"{trial.fit_seconds or 0:.2f}",
        ]
        for trial in done[:_MOST_SHOWN]
    ]
    if rows:
        print_rows(
            ["setting", f"{found.measure} [{format_percent(found.resampling.level)}]", "fit s"], rows, wraps=(0,)
        )
    if len(done) > _MOST_SHOWN:
        out.print(f"{len(done) - _MOST_SHOWN:,} more trials are in the JSON (--json, -o).")
    for trial in found.failed[:_MOST_FAILED]:
        out.print(f"failed: {found.spelled(trial)}: {trial.error}", markup=False)
    if len(found.failed) > _MOST_FAILED:
        out.print(f"{len(found.failed) - _MOST_FAILED:,} more failed.")
    for what, one in (("those in use", found.versus_current), ("the second best", found.versus_second)):
        if one is not None:
            out.print(f"best − {what}: {_difference(one)}")
    out.print(f"{found.verdict[0].upper()}{found.verdict[1:]}.")
    for line in _edge_lines(found):
        out.print(line, markup=False)
    if found.best is not None:
        out.print(f"Best: params = {as_toml(found.best.params)}", markup=False)


def _edge_lines(found: "ModelTuning") -> list[str]:
    """Return a sentence for each parameter whose best value lies on the edge of its grid."""
    extensions = found.search.get("extensions", 0)
    after = f" after {extensions} extensions of the grid" if extensions else ""
    hint = "" if extensions else f"; --extend tries {'them' if len(found.edges) > 1 else 'it'}"
    return [
        f"The best {edge.parameter}, {edge.value:g}, is the {edge.end} that was tried{after}: {edge.beyond:g} may be "
        f"better{hint}."
        for edge in found.edges
    ]


def _difference(one: "Comparison") -> str:
    from rankjury.stats.formatting import format_difference, format_p

    return f"{format_difference(one.difference, one.ci)}, p {format_p(one.p_holm, at_floor=one.at_floor)} (Holm)"


def as_toml(params: "Params") -> str:
    """Return ``{ factors = 64, alpha = 0.5 }``, as a plan spells it."""
    from json import dumps

    inside = ", ".join(f"{name} = {dumps(value, ensure_ascii=False)}" for name, value in params.items())
    return f"{{ {inside} }}" if inside else "{}"


def _to_json(
    found: "list[ModelTuning]", checked: "CheckedPlan", outcome: "Outcome | None", final: "CheckedPlan | None"
) -> str:
    """Return everything as JSON."""
    from json import dumps

    from rankjury.core.text import timestamp
    from rankjury.core.version import __version__

    form: dict[str, Any] = {
        "schema": _SCHEMA,
        "rankjury": __version__,
        "made": timestamp(),
        "plan": Path(checked.where).name,
        "systems": [tuning.to_json() for tuning in found],
        "final": None,
    }
    if outcome is not None and final is not None:
        form["final"] = {
            "window": "test",
            "fit_on": getattr(final.plan.gold, "fit_on", None),
            "params": {tuning.system: dict(tuning.best.params) for tuning in found if tuning.best is not None},
            "report": outcome.report.to_json(),
            "gate": None if outcome.gate is None else outcome.gate.to_json(),
        }
    return dumps(form, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
