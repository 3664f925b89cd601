"""Targets against a report → pass, fail, or unsure. Reads only the report's versioned form, fresh or saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from karat.dialects import resolve
from karat.errors import UnknownName, UsageError
from karat.figures import Figure, difference_of, figure_of
from karat.markup import snippet_of
from karat.measure import METRICS
from karat.records import FiniteFloat, Record
from karat.saved import Saved
from karat.sections import Section
from karat.targets import Decision, Outcome, Target

__all__ = ["GATE_SCHEMA", "Gate", "Verdict", "check_targets", "measures_of"]

GATE_SCHEMA = "karat.gate/1"


@dataclass(frozen=True)
class Verdict(Decision, Record):
    """What came of one target for one system. It is false where the target failed, as a :class:`Gate` is."""

    json_keys = MappingProxyType({"target": "requirement", "outcome": "verdict"})

    target: Target
    system: str
    outcome: Outcome
    value: FiniteFloat
    ci: tuple[FiniteFloat, FiniteFloat] | None
    n: int | None
    note: str = ""

    def __bool__(self) -> bool:
        return not self.failed

    def to_json(self) -> dict[str, Any]:
        """Return the verdict with the target in words; ``requirement`` holds the target's own fields."""
        target = self.target
        form: dict[str, Any] = {"target": target.title, "measure": target.subject, "slice": target.slice}
        form |= super().to_json()
        return form | {"relative": target.relative, "wanted": target.wanted}


@dataclass(frozen=True, eq=False)
class Gate(Decision, Section):
    """The verdicts of all targets.

    A gate is true where ``karat gate`` would exit with 0, so ``assert karat.gate(report, "ap >= 0.5")`` fails where the
    target failed. An unsure gate is true unless it is ``strict``. ``passed``, ``failed`` and ``unsure`` distinguish all
    three outcomes.
    """

    name = "gate"
    json_keys = MappingProxyType({"verdicts": "targets", "source": "report"})

    verdicts: tuple[Verdict, ...]
    source: str
    baseline: str | None
    strict: bool = False
    """Unsure is not good enough."""

    def __bool__(self) -> bool:
        return self.exit_code == 0

    @property
    def outcome(self) -> Outcome:
        """The worst of them."""
        found = {verdict.outcome for verdict in self.verdicts}
        return "fail" if "fail" in found else "unsure" if "unsure" in found else "pass"

    @property
    def exit_code(self) -> int:
        """Of a command that decides: 4 where a target failed, 5 where one is unsure and that is not good enough."""
        return self._exit_code(self.strict)

    @property
    def notes(self) -> list[str]:
        """What to keep in mind, each once."""
        return list(dict.fromkeys(f"{one.target.title}: {one.note}" for one in self.verdicts if one.note))

    def to_json(self) -> dict[str, Any]:
        """Return the verdicts, and the worst of them."""
        form: dict[str, Any] = {"schema": GATE_SCHEMA, "verdict": self.outcome}
        form |= super().to_json()
        return form

    def _repr_html_(self) -> str:
        return snippet_of("gate", self)


def check_targets(targets: Sequence[Target], report: Saved, baseline: Saved | str | None = None) -> Gate:
    """Hold a report against targets.

    ``baseline`` is another report, or the name of a system in this one; the report's own where it is None.
    """
    if not targets:
        raise UsageError("no target was given", expected='at least one, such as "ndcg@10 >= 0.85"')
    named = baseline if isinstance(baseline, str) else report.baseline if baseline is None else None
    if named is not None and named not in report.systems:
        raise UnknownName("system", named, report.systems, where=report.source)
    other = baseline if isinstance(baseline, Saved) else None
    verdicts = []
    for target in targets:
        for system in _systems(target, report, named):
            if target.relative:
                figure = difference_of(target, system, report, named, other)
            else:
                figure = figure_of(target, system, report)
            verdicts.append(_verdict(target, system, figure))
    return Gate(tuple(verdicts), report.source, named or (other.source if other else None))


def _systems(target: Target, report: Saved, baseline: str | None) -> list[str]:
    """Return the system that the target names; else all that rank, but the baseline.

    A target on drift is for all systems whose drift is known: the baseline is compared with its own past.
    """
    if target.system is not None:
        if target.system not in report.systems:
            raise UnknownName("system", target.system, report.systems, where=f"{report.source}, {target.title}")
        return [target.system]
    if target.about_drift and (known := [one for one in report.systems if target.subject in report.figures(one)]):
        return known
    ranking = [name for name, found in report.systems.items() if not found.get("by_chance")]
    return [name for name in ranking if name != baseline] or ranking or list(report.systems)


def _verdict(target: Target, system: str, figure: Figure) -> Verdict:
    if figure.n is not None and figure.n < 2:
        outcome: Outcome = "unsure"
    else:
        held = [target.holds(end) for end in figure.ci or (figure.value,)]
        outcome = "pass" if all(held) else "unsure" if any(held) else "fail"
    return Verdict(target, system, outcome, figure.value, figure.ci, figure.n, figure.note)


def measures_of(targets: Sequence[Target], recorded: Sequence[str], where: str | None = None) -> list[str]:
    """The measures that the targets are about, each once; what is neither one nor recorded is an error."""
    found = []
    for subject in dict.fromkeys(target.subject for target in targets):
        if subject in recorded:
            continue
        try:
            found.append(resolve(subject).label)
        except UnknownName as error:
            name, at, cut = subject.partition("@")
            near = get_close_matches(subject, recorded, cutoff=0.7)
            near += [f"{one}{at}{cut}" for one in get_close_matches(name.lower(), METRICS.names(), cutoff=0.7)]
            hint = f"Is it a figure of yours? Give it with --record {subject}=NUMBER."
            hint = f"Did you mean {near[0]}?" if near else hint
            raise UsageError(f"unknown measure or figure {subject!r}", where=where, hint=hint) from error
        except UsageError as error:
            raise UsageError(f"target {subject!r}: {error}", where=where) from error
    return found
