"""Trials of recommenders, on the screen and as JSON: best first, and how far the best is from what is in use."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.plan.reading import Checked
    from karat.plan.run import Outcome
    from karat.settings import Params
    from karat.statistics.comparison import Comparison
    from karat.tuning.outcome import ModelTuning

__all__ = ["MODELS_SCHEMA", "as_toml", "form_of", "print_trials"]

MODELS_SCHEMA = "karat.tuning-models/1"
_MOST_SHOWN = 20
_MOST_FAILED = 5


def print_trials(found: "ModelTuning") -> None:
    """On standard output."""
    from karat.reports.console import console, print_rows
    from karat.wording import count, estimate_shown, percent

    out = console()
    resumed = sum(trial.resumed for trial in found.trials)
    kept = f", {resumed:,} of them made before" if resumed else ""
    out.print(
        f"{found.system} ({found.model}): {count(len(found.trials), 'trial', 'trials')}{kept}; learnt from "
        f"{' and '.join(found.fit_on)}, scored on {found.window} ({count(len(found.users), 'user', 'users')})"
    )
    done = [trial for trial in found.ranked if not trial.failed]
    rows = [
        [
            found.spelled(trial) + (" (in use)" if trial is found.own else ""),
            estimate_shown(found.estimates[trial.number]),
            f"{trial.fit_seconds or 0:.2f}",
        ]
        for trial in done[:_MOST_SHOWN]
    ]
    if rows:
        print_rows(["setting", f"{found.measure} [{percent(found.how.level)}]", "fit s"], rows, wraps=(0,))
    if len(done) > _MOST_SHOWN:
        out.print(f"{len(done) - _MOST_SHOWN:,} more trials are in the JSON (--json, -o).")
    _print_failed(found)
    for what, one in (("those in use", found.to_own), ("the second best", found.to_second)):
        if one is not None:
            out.print(f"best − {what}: {_difference(one)}")
    out.print(f"{found.verdict[0].upper()}{found.verdict[1:]}.")
    for line in edge_lines(found):
        out.print(line, markup=False)
    if found.best is not None:
        out.print(f"Best: params = {as_toml(found.best.params)}", markup=False)


def edge_lines(found: "ModelTuning") -> list[str]:
    """Return a sentence for each parameter whose best value lies on the edge of its grid."""
    extensions = found.search.get("extensions", 0)
    after = f" after {extensions} extensions of the grid" if extensions else ""
    hint = "" if extensions else f"; --extend tries {'them' if len(found.edges) > 1 else 'it'}"
    return [
        f"The best {edge.parameter}, {edge.value:g}, is the {edge.end} that was tried{after}: {edge.beyond:g} may be "
        f"better{hint}."
        for edge in found.edges
    ]


def _print_failed(found: "ModelTuning") -> None:
    from karat.reports.console import console

    for trial in found.failed[:_MOST_FAILED]:
        console().print(f"failed: {found.spelled(trial)}: {trial.error}", markup=False)
    if len(found.failed) > _MOST_FAILED:
        console().print(f"{len(found.failed) - _MOST_FAILED:,} more failed.")


def _difference(one: "Comparison") -> str:
    from karat.wording import difference_shown, p_shown

    return f"{difference_shown(one.difference, one.ci)}, p {p_shown(one.p_holm, at_floor=one.at_floor)} (Holm)"


def as_toml(params: "Params") -> str:
    """``{ factors = 64, alpha = 0.5 }``, as a plan spells it."""
    from json import dumps

    inside = ", ".join(f"{name} = {dumps(value, ensure_ascii=False)}" for name, value in params.items())
    return f"{{ {inside} }}" if inside else "{}"


def form_of(found: "list[ModelTuning]", checked: "Checked", outcome: "Outcome | None", final: "Checked | None") -> str:
    """Everything, as JSON."""
    from json import dumps

    from karat._version import __version__
    from karat.plan.run import timestamp

    form: dict[str, Any] = {
        "schema": MODELS_SCHEMA,
        "karat": __version__,
        "made": timestamp(),
        "plan": Path(checked.where).name,
        "systems": [one.to_json() for one in found],
        "final": None,
    }
    if outcome is not None and final is not None:
        form["final"] = {
            "window": "test",
            "fit_on": getattr(final.plan.gold, "fit_on", None),
            "params": {one.system: dict(one.best.params) for one in found if one.best is not None},
            "report": outcome.report.to_json(),
            "gate": None if outcome.gate is None else outcome.gate.to_json(),
        }
    return dumps(form, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
