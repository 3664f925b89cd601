"""Gate: a report is checked against targets, each of which passes, fails or is unsure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import ceil, hypot, isfinite, isnan
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from rankjury.core.text import render_snippet
from rankjury.core.validation import FiniteFloat, Record
from rankjury.errors import DataError, RankjuryError, UnknownName, UsageError
from rankjury.evaluation.paired import compare_scores, pair_scores
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import RecordedValue, Scores
from rankjury.evaluation.sections import Section
from rankjury.evaluation.slices.stats import Slice
from rankjury.evaluation.targets import Decision, Outcome, Target
from rankjury.measures.dialects import resolve
from rankjury.measures.measure import METRICS, Measure
from rankjury.stats.comparison import Comparison
from rankjury.stats.estimates import FEW_QUERIES, Estimate
from rankjury.stats.formatting import NO_VALUE, format_difference, format_rounded, format_with_interval
from rankjury.stats.resampling import Bounds, Resampling, normal_quantile

GATE_SCHEMA = "rankjury.gate/1"
_FARTHEST = 1e4
"""Where an interval reaches so many times farther than the limit, the value is as good as at it: no number is said."""


@dataclass(frozen=True)
class Verdict(Decision, Record):
    """The outcome of one target for one system. It is true only where the target passed, as a :class:`Gate` is."""

    json_keys = MappingProxyType({"target": "requirement", "outcome": "verdict", "needed": "queries_needed"})
    computed = ("needed",)
    omitted = ("unit",)

    target: Target
    system: str
    outcome: Outcome
    value: FiniteFloat
    ci: tuple[FiniteFloat, FiniteFloat] | None
    n: int | None
    note: str = ""
    unit: str = "queries"
    """What ``n`` counts: queries, users, or the measurements of a recorded value."""

    def __bool__(self) -> bool:
        return self.passed

    @property
    def needed(self) -> int | None:
        """Of an unsure target, how many queries would decide; None: it is decided, or no number would do.

        So many make the interval end at the limit: its half-width towards the limit shrinks with the root of n.
        """
        if not self.unsure or self.ci is None or not self.n or self.n < 2:
            return None
        crossing = [abs(end - self.value) for end in self.ci if self.target.holds(end) != self.target.holds(self.value)]
        distance = abs(self.value - self.target.signed_limit)
        if not crossing or crossing[0] > _FARTHEST * distance:
            return None
        return max(self.n + 1, ceil(round(self.n * (crossing[0] / distance) ** 2, 6)))

    @property
    def shown(self) -> str:
        """The value with its interval: ``0.871 [0.852, 0.889]``, ``−0.014 [−0.022, −0.006]``."""
        if isnan(self.value):
            return NO_VALUE
        if self.target.share:
            ends = [f"{100 * end:+.1f}".replace("-", "−") for end in (self.value, *(self.ci or ()))]
            return f"{ends[0]} %" + (f" [{ends[1]}, {ends[2]}]" if self.ci else "")
        if self.target.relative:
            return format_difference(self.value, self.ci)
        return format_rounded(self.value) if self.ci is None else format_with_interval(self.value, self.ci)

    @property
    def decided_by(self) -> str:
        """How many queries would decide: ``about 180 queries would decide``; empty where that is not known."""
        return "" if self.needed is None else f"about {_about(self.needed):,} {self.unit} would decide"

    @property
    def sentence(self) -> str:
        """``UNSURE: ndcg@10 0.61 [0.57, 0.66] may be below 0.6; about 180 queries would decide.``"""
        target, word = self.target, self.outcome.upper()
        about = f"{target.title} {self.shown}" if not target.relative else f"{target.title}, difference {self.shown},"
        if self.passed:
            return f"{word}: {about} {'meets the target: ' if target.relative else 'is '}{target.wanted}."
        verb = "is" if self.failed else "may be"
        more = f"; {self.decided_by}" if self.decided_by else ""
        if target.relative:
            return f"{word}: {about} {'misses' if self.failed else 'may miss'} the target: {target.wanted}{more}."
        return f"{word}: {about} {verb} {target.beyond}{more}."

    def to_json(self) -> dict[str, Any]:
        """Return the verdict with the target in words; ``requirement`` holds the target's own fields."""
        target = self.target
        form: dict[str, Any] = {"target": target.title, "measure": target.subject, "slice": target.slice}
        form |= super().to_json()
        return form | {"relative": target.relative, "wanted": target.wanted}


@dataclass(frozen=True, eq=False, repr=False)
class Gate(Decision, Section):
    """The verdicts of all targets.

    A target whose value is beyond the limit failed; where the value holds but its interval crosses the limit, it is
    unsure. A gate is true only where all targets passed, so ``assert gate`` fails where one is unsure;
    ``assert not gate.failed`` lets it pass, as ``rankjury gate`` and ``rankjury.assert_ranking`` do. ``passed``,
    ``failed`` and ``unsure`` distinguish the three outcomes; ``exit_code`` is that of ``rankjury gate``.
    """

    name = "gate"
    leads = 1
    json_keys = MappingProxyType({"verdicts": "targets", "source": "report"})

    verdicts: tuple[Verdict, ...]
    source: str
    baseline: str | None
    strict: bool = False
    """Unsure is not good enough."""
    lenient: bool = False
    """A target fails only where no part of its interval holds."""

    def __bool__(self) -> bool:
        return self.passed

    def judged(self, *, strict: bool = False, lenient: bool = False) -> "Gate":
        """Return the gate with its verdicts decided by these rules."""
        verdicts = (
            replace(verdict, outcome=decide(verdict.target, verdict.value, verdict.ci, verdict.n, lenient=lenient))
            for verdict in self.verdicts
        )
        return replace(self, verdicts=tuple(verdicts), strict=strict, lenient=lenient)

    @property
    def outcome(self) -> Outcome:
        """The worst of them."""
        outcomes = {verdict.outcome for verdict in self.verdicts}
        return "fail" if "fail" in outcomes else "unsure" if "unsure" in outcomes else "pass"

    @property
    def exit_code(self) -> int:
        """Of a command that decides: 4 where a target failed, 5 where one is unsure and that is not good enough."""
        return self._exit_code(self.strict)

    @property
    def notes(self) -> list[str]:
        """What to keep in mind, each once."""
        noted = (verdict for verdict in self.verdicts if verdict.note)
        return list(dict.fromkeys(f"{verdict.target.title}: {verdict.note}" for verdict in noted))

    def summary(self, report: Report, system: str | None = None) -> Iterator[str]:
        """Yield whether it may ship, and how many targets failed or are unsure."""
        yield self.sentence

    @property
    def sentence(self) -> str:
        """Whether it may ship: ``May not ship: 1 of 3 targets failed, 1 is unsure.`` Of one verdict, its sentence."""
        if len(self.verdicts) == 1:
            return self.verdicts[0].sentence
        outcomes: dict[Target, set[Outcome]] = {}
        for verdict in self.verdicts:  # a plan has a target for each system
            outcomes.setdefault(replace(verdict.target, system=None), set()).add(verdict.outcome)
        many = len(outcomes)
        failed = sum("fail" in found for found in outcomes.values())
        unsure = sum("unsure" in found and "fail" not in found for found in outcomes.values())
        of_all = f"of {many:,} targets" if many > 1 else "target"
        if failed:
            also = f", {unsure:,} {'is' if unsure == 1 else 'are'} unsure" if unsure else ""
            return f"May not ship: {failed:,} {of_all} failed{also}."
        if unsure:
            return f"Not sure whether it may ship: {unsure:,} {of_all} {'is' if unsure == 1 else 'are'} unsure."
        return f"May ship: {'all ' if many > 1 else ''}{many:,} {'targets' if many > 1 else 'target'} passed."

    @property
    def exit_note(self) -> str:
        """What the outcome means for the exit code of the command; empty where all targets passed."""
        if self.passed:
            return ""
        if self.failed:
            return f"exit code {self.exit_code}: a target failed"
        if self.strict:
            return f"exit code {self.exit_code}: unsure is not enough under --strict"
        return "exit code 0: unsure does not fail; with --strict it exits with 5"

    def to_json(self) -> dict[str, Any]:
        """Return the verdicts, and the worst of them."""
        return {"schema": GATE_SCHEMA, "verdict": self.outcome, **super().to_json()}

    def __repr__(self) -> str:
        return render_snippet("gate text", self)

    def _repr_html_(self) -> str:
        return render_snippet("gate", self)


def decide(target: Target, value: float, ci: Bounds | None, n: int | None, *, lenient: bool = False) -> Outcome:
    """Return the verdict on a value: fail where it is beyond the limit, unsure where only its interval crosses it.

    Args:
        target: The limit.
        value: The point estimate.
        ci: Its interval; None: it is decided on the value alone.
        n: The number of queries; None where it is not over queries. One query leaves what holds unsure.
        lenient: Fail only where no part of the interval holds.
    """
    holds = [target.holds(end) for end in ci or (value,)]
    alone = n is not None and n < 2
    if lenient:
        return "unsure" if alone else "pass" if all(holds) else "unsure" if any(holds) else "fail"
    if not target.holds(value):
        return "fail"
    return "unsure" if alone or not all(holds) else "pass"


def check_targets(
    targets: Sequence[Target],
    report: Report,
    baseline: Report | str | None = None,
    *,
    strict: bool = False,
    lenient: bool = False,
) -> Gate:
    """Check a report, fresh or read back, against targets.

    Args:
        targets: What must hold.
        report: The report that is checked.
        baseline: Another report, or the name of a system in this one; the report's own baseline where it is None.
        strict: Whether an unsure gate is false and has the exit code 5.
        lenient: Whether a target fails only where no part of its interval holds.

    Returns:
        The verdicts, one for each target and system.

    Raises:
        UsageError: Where a target names something unknown, or needs a baseline and there is none.
        DataError: Where the reports do not hold what a target is about.
    """
    if not targets:
        raise UsageError("no target was given", expected='at least one, such as "ndcg@10 >= 0.85"')
    named = baseline if isinstance(baseline, str) else report.baseline if baseline is None else None
    if named is not None and named not in report.systems:
        raise UnknownName("system", named, report.systems, where=report.source)
    other = baseline if isinstance(baseline, Report) else None
    verdicts = []
    for target in targets:
        for system in _systems(target, report, named):
            arguments = (target, system, report)
            value = _difference(*arguments, named, other) if target.relative else _value(*arguments)
            outcome = decide(target, value.value, value.ci, value.n, lenient=lenient)
            unit = "measurements" if target.subject in report.systems[system].recorded else report.unit[1]
            verdicts.append(Verdict(target, system, outcome, value.value, value.ci, value.n, value.note, unit))
    return Gate(tuple(verdicts), report.source, named or (other.source if other else None), strict, lenient)


def _systems(target: Target, report: Report, baseline: str | None) -> list[str]:
    """Return the system that the target names; else all that rank, but the baseline.

    A target on drift is for all systems whose drift is known: the baseline is compared with its own past.
    """
    if target.system is not None:
        if target.system not in report.systems:
            raise UnknownName("system", target.system, report.systems, where=f"{report.source}, {target.title}")
        return [target.system]
    known = [name for name, result in report.systems.items() if target.subject in result.recorded]
    if target.about_drift and known:
        return known
    ranking = [name for name, result in report.systems.items() if not result.random]
    return [name for name in ranking if name != baseline] or ranking or list(report.systems)


@dataclass(frozen=True)
class _Value:
    """A value to compare with a limit."""

    value: float
    ci: Bounds | None
    n: int | None  # None where it is not over queries
    note: str = ""


def _value(target: Target, system: str, report: Report) -> _Value:
    """Return a measure's estimate (of a count: the sum), or the value that was recorded."""
    recorded = report.systems[system].recorded.get(target.subject)
    if recorded is not None:
        return _recorded(target, recorded, report)
    estimate = _find_subject(target, system, report).estimate
    ci, n = estimate.ci, estimate.n
    if isnan(estimate.mean):
        raise _undefined(target, system, report)
    note = _caution(n, ci)
    if estimate.total is None:
        return _Value(estimate.mean, ci, n, note)
    return _Value(estimate.total, None if ci is None else (ci[0] * n, ci[1] * n), n, note)


def _difference(target: Target, system: str, report: Report, baseline: str | None, other: Report | None) -> _Value:
    """Return the difference to a system of this report or of another; as a share of its mean if the target asks so."""
    if other is None and (baseline is None or baseline == system):
        what = f"{system!r} is the baseline itself" if baseline else "there is none"
        hint = "Name it with --baseline, in Python baseline=: a system of the report or another report."
        raise UsageError(f"the target {target.spelling!r} needs a baseline, and {what}", where=report.source, hint=hint)
    base, name = other or report, system if other is not None else baseline or system
    if name not in base.systems and len(base.systems) > 1:
        raise UsageError(
            f"the baseline has several systems: {', '.join(base.systems)}",
            where=base.source,
            expected=f"one, or one called {system}",
        )
    name = name if name in base.systems else next(iter(base.systems))
    recorded, theirs = report.systems[system].recorded.get(target.subject), base.systems[name].recorded
    if recorded is None:
        ours = _find_subject(target, system, report)
        if target.change != "rise" and ours.measure.metric.lower_is_better:  # a drop would be no loss
            raise UsageError(
                f"{ours.label} is better when it is lower, so {target.change} may be read either way",
                where=_place(target, report),
                expected=f"{target.subject} rise <= {abs(target.limit):g}",
            )
        if target.demands_loss:
            meant = (replace(target, change="drop", sign="<="), replace(target, change="gain", sign=">="))
            raise UsageError(
                f"{target.spelling!r} would {'require a loss' if target.change == 'drop' else 'forbid an improvement'}",
                where=_place(target, report),
                expected=" or ".join(other.spelling for other in meant),
            )
        if other is None and baseline == report.baseline:
            found, mean = _compared(ours)
        else:
            found, mean = _compared_across(ours, _find_subject(target, name, base))
    elif target.slice is None and target.subject in theirs:
        mean = theirs[target.subject].value
        found = _Value(recorded.value - mean, None, None)
    else:
        return _recorded(target, recorded, report)  # an error that says so
    if not target.share:
        return found
    if not mean or not isfinite(mean):
        missing = f"the baseline's {target.subject} is {'missing' if isnan(mean) else f'{mean:g}'}"
        raise DataError(f"{missing}, so no share of it can be taken", where=report.source)
    # Of the baseline's mean, taken as it is: the interval is that of the difference.
    ci = None if found.ci is None else (found.ci[0] / abs(mean), found.ci[1] / abs(mean))
    return _Value(found.value / abs(mean), ci, found.n, found.note)


@dataclass(frozen=True)
class _Subject:
    """What a target is about: a measure of a system of a report, over all queries or over a slice of them."""

    target: Target
    report: Report
    system: str
    label: str

    @property
    def part(self) -> Slice | None:
        """The slice that the target names."""
        name, report = self.target.slice, self.report
        if name is None:
            return None
        slices = {part.name: part for part in report.slices}
        if not slices:
            table = f"queries.csv:{name.partition('=')[0]}"
            raise DataError(
                f"the report has no slices, but a target asks for {name!r}",
                where=report.source,
                hint=f'Make it with --slices {table}, in Python slices="{table}". In the targets: slices = "{table}".',
            )
        for section in report.sections.values():
            if name in section.absent_slices():
                raise DataError(section.absent_slices()[name], where=report.source)
        if name not in slices:
            error = UnknownName("slice", name, slices, where=report.source)
            if name.partition("=")[2] in ("", "*"):
                error.hint = f"{error.hint} Write a [[target]] for each."
            raise error
        return slices[name]

    @property
    def estimate(self) -> Estimate:
        part, where = self.part, _place(self.target, self.report)
        if part is None:
            return self.report.systems[self.system].estimates[self.label]
        if self.system not in part.estimates:
            raise DataError(f"the gold of {self.system} has nothing of the slice {part.name}", where=where)
        known = part.estimates[self.system]
        if self.label not in known:  # one value over all queries, such as a coverage
            found = f"{self.label} was not computed for the slice {part.name}"
            raise DataError(found, where=where, expected=f"one of {', '.join(known)}")
        return known[self.label]

    @property
    def convention(self) -> str:
        return self.report.systems[self.system].conventions[self.label]

    @property
    def measure(self) -> Measure:
        """The measure; an error says so where its metric is not installed here."""
        return self.report.systems[self.system].measures[self.label] or Measure.parse(self.convention)

    def scores(self, part: Slice | None) -> Scores | None:
        """Return the scores of all queries, or of those of a slice; None where the report does not hold them."""
        if self.report.queries is None or (part is not None and not part.rows):
            return None
        scores = self.report.scores[self.system].only([self.label])
        return scores if part is None else scores.part(np.array(list(part.rows)))


def _compared(ours: _Subject) -> tuple[_Value, float]:
    """Return the difference to the report's own baseline, as the report has it, and the baseline's mean."""
    part, _ = ours.part, ours.estimate  # an error where the slice does not have it
    rows = ours.report.comparisons if part is None else part.beside
    found = next((row for row in rows if (row.system, row.measure) == (ours.system, ours.label)), None)
    if not isinstance(found, Comparison):
        raise DataError(f"{ours.label} of {ours.system} was not compared", where=ours.report.source)
    if isnan(found.difference):
        raise _undefined(ours.target, f"{ours.system} or {ours.report.baseline}", ours.report)
    return _Value(found.difference, found.ci, found.n, _caution(found.n, found.ci)), found.baseline_mean


def _compared_across(ours: _Subject, theirs: _Subject) -> tuple[_Value, float]:
    """Compare query by query where both reports hold the queries' scores, else by their standard errors."""
    report, resampling, estimate = ours.report, ours.report.resampling or Resampling(), ours.estimate
    if ours.convention != theirs.convention:
        raise DataError(
            f"{ours.label} is {ours.convention} here and {theirs.convention} in {theirs.report.source}",
            where=report.source,
            expected="the same conventions in both reports",
        )
    scores, others = ours.scores(ours.part), theirs.scores(None)
    note = "not paired: the reports do not hold these queries' scores, so the interval is wide"
    if scores is not None and others is not None:
        defined = [set(side.queries.cast(pl.String).filter(~np.isnan(side.values[:, 0]))) for side in (scores, others)]
        if not ours.measure.metric.whole or defined[0] == defined[1]:
            pair = pair_scores(ours.system, scores, theirs.system, others)
            if not len(pair.queries):
                where = f"{report.source} × {theirs.report.source}"
                raise DataError("no query in common", where=where, expected="the same queries")
            ((found,),) = compare_scores([pair], resampling)
            if not found.n:
                raise _undefined(ours.target, f"{ours.system} or {theirs.system}", report)
            more = pair.only[0] or (ours.part is None and pair.only[1])
            shared = f"compared on the {len(pair.queries):,} queries that both reports have" if more else ""
            note = "; ".join(filter(None, (shared, _caution(found.n, found.ci))))
            return _Value(found.difference, found.ci, found.n, note), found.baseline_mean
        note = "not paired: a figure over all, and the reports are not over the same"
    other = theirs.estimate
    if isnan(estimate.mean) or isnan(other.mean):
        raise _undefined(ours.target, ours.system if isnan(estimate.mean) else theirs.system, report)
    difference, n = estimate.mean - other.mean, min(estimate.n, other.n)
    if isnan(estimate.se) or isnan(other.se):
        return _Value(difference, None, n, _caution(n, None)), other.mean
    half = normal_quantile((1 + resampling.level) / 2) * hypot(estimate.se, other.se)
    return _Value(difference, (difference - half, difference + half), n, note), other.mean


def _find_subject(target: Target, system: str, report: Report) -> _Subject:
    """Return a measure of a system; spelled otherwise than in the report, it is found by its conventions."""
    result, where, wanted = report.systems[system], _place(target, report), target.subject
    label = wanted if wanted in result.estimates else None
    if label is None:
        known = [*result.estimates, *result.recorded]
        try:
            meant = str(resolve(wanted).measure)
        except RankjuryError:
            raise UnknownName("measure or figure", wanted, known, where=where) from None
        label = next((name for name, convention in result.conventions.items() if convention == meant), None)
        if label is None:
            alike = next((name for name in result.estimates if name.lower() == wanted.lower()), None)
            hint = f"Make the report with this measure too: -m '{wanted}', in Python measures=[{wanted!r}, …]."
            if alike:
                hint = f"Its {alike} follows other conventions: {result.conventions[alike]} instead of {meant}."
            expected = f"one of {', '.join(known)}"
            raise DataError(f"the report has no {wanted}", where=where, expected=expected, hint=hint)
    return _Subject(target, report, system, label)


def _recorded(target: Target, found: RecordedValue, report: Report) -> _Value:
    if target.slice is not None or target.relative:
        raise UsageError(
            f"{target.subject} is a recorded figure: {'it has no slices' if target.slice else 'the baseline has none'}",
            where=_place(target, report),
            expected=f"a limit on its value, such as {target.subject} <= {found.value:g}",
        )
    return _Value(found.value, found.ci, found.n)


def _caution(n: int, ci: Bounds | None) -> str:
    if n < 2:
        return "one query: no interval"
    if ci is None:
        return "no interval in the report: decided on the mean alone"
    return f"few queries: the interval is rough under {FEW_QUERIES}" if n < FEW_QUERIES else ""


def _about(number: int) -> int:
    """Return a number to two digits, never less than it."""
    step: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step


def _undefined(target: Target, system: str, report: Report) -> DataError:
    return DataError(
        f"{target.subject} of {system} is undefined for every query",
        where=_place(target, report),
        expected="at least one query where it is defined",
    )


def _place(target: Target, report: Report) -> str:
    return f"{report.source}, target {target.title!r}"


def target_measures(targets: Sequence[Target], recorded: Sequence[str], where: str | None = None) -> list[str]:
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
            near += [f"{match}{at}{cut}" for match in get_close_matches(name.lower(), METRICS.names(), cutoff=0.7)]
            hint = f"Is it a figure of yours? Give it with --record {subject}=NUMBER, in Python recorded=."
            hint = f"Did you mean {near[0]}?" if near else hint
            raise UsageError(f"unknown measure or figure {subject!r}", where=where, hint=hint) from error
        except UsageError as error:
            raise UsageError(f"target {subject!r}: {error}", where=where) from error
    return found
