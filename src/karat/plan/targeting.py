"""The targets of a plan: what it says must hold, and what an index is held against unless it says so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from karat.dialects import Asked
from karat.drift import Drift
from karat.errors import KaratError, UsageError
from karat.evaluation import resolve_all
from karat.gates import measures_of
from karat.indexed import CLOCKS, drifting, figure_names
from karat.lab.loss import measure_of_loss
from karat.plan import lines
from karat.plan.model import Plan
from karat.report import Report
from karat.targets import Target, parse_target

if TYPE_CHECKING:
    from karat.plan.reading import Checked

__all__ = ["aim_targets", "figures_of", "targets_of"]

_LEAST_GAIN, _LEAST_RECALL, _LONGEST_MS = 0.85, 0.95, 250


def targets_of(plan: Plan, asked: Sequence[Asked], faults: list[tuple[lines.Path, str]]) -> list[Target]:
    """Those of the plan; where it has an index and says nothing of targets, the usual ones of a vector index."""
    found = []
    for path, text, chosen in _given(plan, asked):
        try:
            found.append(parse_target(text, chosen))
            _check_subject(found[-1], plan, asked)
        except KaratError as error:
            faults.append((path, str(error).removeprefix("target: ")))
    return found


def _given(plan: Plan, asked: Sequence[Asked]) -> Iterator[tuple[lines.Path, str, dict[str, str]]]:
    if not {"targets", "target"} & plan.model_fields_set:
        yield from ((("lab",), text, {}) for text in _usual(plan, asked))
    for number, text in enumerate([plan.targets] if isinstance(plan.targets, str) else plan.targets):
        yield ("targets", number), text, {}
    for number, table in enumerate(plan.target):
        chosen = {key: value for key, value in table.model_dump().items() if value is not None and key != "require"}
        yield ("target", number, "require"), table.require, chosen


def _usual(plan: Plan, asked: Sequence[Asked]) -> Iterator[str]:
    if not plan.indexes:
        return
    gain = measure_of_loss(asked, plan.lab.k)
    if gain is not None and gain.measure.k == plan.lab.k:
        yield f"{gain.label} >= {_LEAST_GAIN}"
    yield f"ann_recall@{plan.lab.k} >= {_LEAST_RECALL}"
    if plan.lab.rounds != 0:
        yield f"latency_p95_ms <= {_LONGEST_MS}"
    if plan.lab.earlier is not None:
        yield f"drift <= {plan.lab.allowed_drift * 100:g} %"


def figures_of(plan: Plan) -> list[str]:
    """The names of all figures that a target may be about."""
    recorded = [name for figures in plan.figures.values() for name in figures]
    return recorded + (figure_names(plan.lab.k) if plan.is_lab else [])


def _lacking(figure: str, plan: Plan) -> str | None:
    """What the lab would need for a figure to be known."""
    if any(figure in given for given in plan.figures.values()):
        return None
    if figure in drifting(plan.lab.k) and plan.lab.earlier is None:
        return "lab.earlier = an earlier report"
    if figure.startswith("open_loop_") and plan.lab.rate is None:
        return "lab.rate = queries a second"
    if figure.startswith(CLOCKS) and plan.lab.rounds == 0:
        return "lab.rounds = 1 or more"
    return None


def _check_subject(target: Target, plan: Plan, asked: Sequence[Asked]) -> None:
    """A target is about a figure or a measure of the plan."""
    recorded = figures_of(plan)
    measures_of([target], recorded)
    labels = [one.label for one in asked]
    meant = {str(one.measure) for one in asked}
    if target.subject not in (*recorded, *labels) and str(resolve_all([target.subject])[0].measure) not in meant:
        raise UsageError(f"{target.subject} is not among the measures", expected=f"one of {', '.join(labels)}")
    lacking = _lacking(target.subject, plan) if target.subject in figure_names(plan.lab.k) else None
    if lacking is not None:
        raise UsageError(f"{target.subject} is not known", expected=lacking)
    if target.relative and plan.baseline is None:
        raise UsageError(f"the target {target.title!r} needs a baseline", expected="baseline = the name of a system")


def aim_targets(
    checked: "Checked", report: Report, aspects: Mapping[str, str]
) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the targets by system, and notes on those that were left out. ``aspects``: of the gold, by system.

    A target that names no system is for all that it can hold for: no random order, where it is about a difference,
    none that is held against another gold than the baseline, and where it is about a figure, none without that. The
    baseline is left out, but for targets on drift: it is compared with its own past.

    A default target that can hold for none is omitted with a note; one of the plan is left to fail, unless it is about
    drift and the system has no earlier report: the first run of an index has none.
    """
    plan = checked.plan
    others = [name for name, system in plan.systems.items() if system.ranks and name != plan.baseline]
    usual = not (plan.targets or plan.target)
    notes: list[str] = []
    same_gold = [name for name in others if plan.baseline and aspects[name] == aspects[plan.baseline]]

    def aims(target: Target) -> list[Target]:
        chosen = same_gold if target.relative else others
        if target.subject in figure_names(plan.lab.k) and plan.is_lab:
            held = [name for name in plan.systems if target.subject in report.systems[name].recorded]
            if usual and not held:
                notes.append(f"{target.title} is not known, so that the usual target on it was left out")
                return []
            wanted = [target.system] if target.system in plan.systems else list(plan.systems)
            known = {*held, *report.sections_of(Drift)}
            if target.subject in drifting(plan.lab.k) and known.isdisjoint(wanted):
                notes.append(
                    f"the target on {target.title} was not checked: there is no earlier report to compare with"
                )
                return []
            chosen = held if target.about_drift else [name for name in chosen if name in held] or held
        return [target] if target.system or not chosen else [replace(target, system=name) for name in chosen]

    return tuple(aimed for target in checked.targets for aimed in aims(target)), tuple(notes)
