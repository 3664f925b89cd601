"""The targets of a plan: what it says must hold, and what an index is held against unless it says so."""

from collections.abc import Iterator, Sequence

from karat.dialects import Asked
from karat.errors import KaratError, UsageError
from karat.evaluation import resolve_all
from karat.gates import measures_of
from karat.indexed import CLOCKS, drifting, figure_names
from karat.lab.loss import measure_of_loss
from karat.plan import lines
from karat.plan.model import Plan
from karat.targets import Target, parse_target

__all__ = ["figures_of", "targets_of"]

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
