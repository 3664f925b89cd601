"""Targets against a report → pass, fail, or unsure. Reads only the report's versioned form, fresh or saved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, nan
from typing import Any, Literal

import numpy as np
import polars as pl

from karat.dialects import resolve
from karat.errors import DataError, KaratError, UnknownName, UsageError
from karat.measure import Measure
from karat.statistics.comparison import Paired, compare_pairs
from karat.statistics.distributions import normal_quantile
from karat.statistics.estimates import FEW_QUERIES
from karat.statistics.intervals import Bounds, Resampling
from karat.statistics.streams import keys_of
from karat.targets import Target
from karat.types import Floats

__all__ = ["GATE_SCHEMA", "Gate", "Saved", "Verdict", "check_targets", "measures_of"]

GATE_SCHEMA = "karat.gate/1"
Outcome = Literal["pass", "fail", "unsure"]


@dataclass(frozen=True)
class Saved:
    """A report in its versioned form, and where it is from."""

    form: Mapping[str, Any]
    source: str

    @property
    def systems(self) -> Mapping[str, Any]:
        return self.form["systems"]  # type: ignore[no-any-return]

    @property
    def baseline(self) -> str | None:
        return self.form.get("baseline")

    @property
    def how(self) -> Resampling:
        given = self.form.get("resampling")
        return Resampling(**given) if given else Resampling()

    def part(self, name: str | None) -> Mapping[str, Any]:
        """The whole report, or one of its slices: both have systems and comparisons."""
        if name is None:
            return self.form
        slices = {part["slice"]: part for part in self.form.get("slices", ())}
        if not slices:
            raise DataError(
                f"the report has no slices, but a target asks for {name!r}",
                where=self.source,
                hint="Make it with --slices queries.csv:attribute.",
            )
        if name not in slices:
            raise UnknownName("slice", name, slices, where=self.source)
        return slices[name]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Verdict:
    """What came of one target for one system."""

    target: Target
    system: str
    outcome: Outcome
    value: float
    ci: Bounds | None
    n: int | None
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "target": self.target.title,
            "measure": self.target.subject,
            "slice": self.target.slice,
            "system": self.system,
            "verdict": self.outcome,
            "value": self.value,
            "ci": None if self.ci is None else list(self.ci),
            "n": self.n,
            "relative": self.target.relative,
            "wanted": self.target.wanted,
            "note": self.note,
        }


@dataclass(frozen=True)
class Gate:
    """All verdicts."""

    verdicts: tuple[Verdict, ...]
    source: str
    baseline: str | None

    @property
    def outcome(self) -> Outcome:
        """The worst of them."""
        found = {verdict.outcome for verdict in self.verdicts}
        return "fail" if "fail" in found else "unsure" if "unsure" in found else "pass"

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": GATE_SCHEMA,
            "verdict": self.outcome,
            "report": self.source,
            "baseline": self.baseline,
            "targets": [verdict.as_json() for verdict in self.verdicts],
        }


@dataclass(frozen=True)
class _Figure:
    """A value to be held against a limit."""

    value: float
    ci: Bounds | None
    n: int | None
    note: str = ""


def check_targets(targets: Sequence[Target], report: Saved, baseline: Saved | str | None = None) -> Gate:
    """Hold a report against targets.

    ``baseline`` is another report, or the name of a system in this one; the report's own where it is None.
    """
    named = baseline if isinstance(baseline, str) else report.baseline if baseline is None else None
    if named is not None and named not in report.systems:
        raise UnknownName("system", named, report.systems, where=report.source)
    other = baseline if isinstance(baseline, Saved) else None
    verdicts = []
    for target in targets:
        for system in _systems(target, report, named):
            figure = (
                _relative(target, system, report, named, other) if target.relative else _own(target, system, report)
            )
            verdicts.append(_verdict(target, system, figure))
    return Gate(tuple(verdicts), report.source, named or (other.source if other else None))


def _systems(target: Target, report: Saved, baseline: str | None) -> list[str]:
    """The system that the target names; else all but the baseline."""
    if target.system is not None:
        if target.system not in report.systems:
            raise UnknownName("system", target.system, report.systems, where=f"{report.source}, {target.title}")
        return [target.system]
    return [name for name in report.systems if name != baseline] or list(report.systems)


def _own(target: Target, system: str, report: Saved) -> _Figure:
    """The measure's estimate, or the figure that was recorded."""
    figures = report.systems[system].get("figures", {})
    if target.subject in figures and target.slice is None:
        return _Figure(float(figures[target.subject]), None, None)
    measures = report.part(target.slice)["systems"][system]["measures"]
    return _estimate(measures[_label(target, report.systems[system], report)], target, system, report)


def _label(target: Target, system: Mapping[str, Any], report: Saved) -> str:
    """The report's label of the measure that the target means; spelled otherwise, it is found all the same."""
    measures, figures = system["measures"], system.get("figures", {})
    if target.subject in measures:
        return target.subject
    where = f"{report.source}, target {target.title!r}"
    try:
        meant = str(resolve(target.subject).measure)
    except KaratError:
        raise UnknownName("measure or figure", target.subject, [*measures, *figures], where=where) from None
    found: list[str] = [label for label, entry in measures.items() if entry.get("convention", label) == meant]
    if not found:
        raise DataError(
            f"the report has no {target.subject}",
            where=where,
            expected=f"one of {', '.join([*measures, *figures])}",
            hint=f"Make the report with -m '{target.subject}' too.",
        )
    return found[0]


def _estimate(entry: Mapping[str, Any], target: Target, system: str, report: Saved) -> _Figure:
    if entry["mean"] is None:
        raise DataError(
            f"{target.subject} of {system} is undefined for every query",
            where=f"{report.source}, target {target.title!r}",
            expected="at least one query where it is defined",
        )
    ci = entry.get("ci")
    return _Figure(entry["mean"], (ci[0], ci[1]) if ci else None, entry["n"], _caution(entry["n"], ci))


def _caution(n: int, ci: object) -> str:
    if n < 2:
        return "one query: no interval"
    if ci is None:
        return "no interval in the report: decided on the mean alone"
    return f"few queries: the interval is rough under {FEW_QUERIES}" if n < FEW_QUERIES else ""


def _relative(target: Target, system: str, report: Saved, baseline: str | None, other: Saved | None) -> _Figure:
    """The difference to the baseline; as a share of the baseline's mean where the target is one."""
    label = _label(target, report.systems[system], report)
    if other is not None:
        figure, base_mean = _across(target, system, label, report, other)
    else:
        figure, base_mean = _within(target, system, label, report, baseline)
    if not target.share:
        return figure
    if base_mean == 0:
        raise DataError(f"the baseline's {label} is 0, so no share of it can be taken", where=report.source)
    ci = None if figure.ci is None else (figure.ci[0] / base_mean, figure.ci[1] / base_mean)
    return _Figure(figure.value / base_mean, ci, figure.n, figure.note)


def _within(target: Target, system: str, label: str, report: Saved, baseline: str | None) -> tuple[_Figure, float]:
    if baseline is None:
        raise UsageError(
            f"the target {target.title!r} needs a baseline, and there is none",
            where=report.source,
            hint="Name it with --baseline, a system of the report or another report.",
        )
    if baseline == system:
        raise UsageError(f"{system!r} is the baseline itself", where=f"{report.source}, target {target.title!r}")
    if baseline != report.baseline:
        return _across(target, system, label, report, report, baseline)
    rows = report.part(target.slice).get("comparisons", ())
    row = next((row for row in rows if (row["system"], row["measure"]) == (system, label)), None)
    if row is None or row["difference"] is None:
        raise DataError(f"{label} of {system} was not compared with {baseline}", where=report.source)
    ci = (row["ci"][0], row["ci"][1]) if row["ci"] else None
    return _Figure(row["difference"], ci, row["n"], _caution(row["n"], ci)), row["baseline_mean"]


def _across(
    target: Target, system: str, label: str, report: Saved, other: Saved, named: str | None = None
) -> tuple[_Figure, float]:
    """Against a system of another report: query by query where both kept them, else by their spreads."""
    base = named or _only_system(other, system)
    base_label = _label(target, other.systems[base], other)
    theirs = _estimate(other.part(target.slice)["systems"][base]["measures"][base_label], target, base, other)
    ours = _estimate(report.part(target.slice)["systems"][system]["measures"][label], target, system, report)
    if target.slice is None and "queries" in report.form and "queries" in other.form:
        return _paired(report, system, label, other, base, base_label)
    entries = [
        saved.part(target.slice)["systems"][name]["measures"][one]
        for saved, name, one in ((report, system, label), (other, base, base_label))
    ]
    difference = ours.value - theirs.value
    errors = [entry.get("se") for entry in entries]
    if None in errors:
        return _Figure(difference, None, ours.n, _caution(min(ours.n or 0, theirs.n or 0), None)), theirs.value
    half = normal_quantile((1 + report.how.level) / 2) * hypot(*errors)
    note = "not paired: the reports do not hold these queries' scores, so the interval is wide"
    return _Figure(difference, (difference - half, difference + half), ours.n, note), theirs.value


def _only_system(saved: Saved, wanted: str) -> str:
    if wanted in saved.systems or len(saved.systems) == 1:
        return wanted if wanted in saved.systems else next(iter(saved.systems))
    raise UsageError(
        f"the baseline has several systems: {', '.join(saved.systems)}",
        where=saved.source,
        expected=f"one, or one called {wanted}",
    )


def _paired(report: Saved, system: str, label: str, other: Saved, base: str, base_label: str) -> tuple[_Figure, float]:
    convention = report.systems[system]["measures"][label].get("convention", label)
    metric = Measure.parse(convention).metric
    ours = _per_query(report, system, label)
    frame = ours.join(_per_query(other, base, base_label), on="id", how="inner", suffix="_base").sort("id")
    if frame.is_empty():
        raise DataError("no query in common", where=f"{report.source} × {other.source}", expected="the same queries")
    values, base_values = frame["value"].to_numpy(), frame["value_base"].to_numpy()
    pair = Paired(system, base, label, values, base_values, metric.aggregate, metric.lower_is_better)
    found = compare_pairs([pair], keys_of(frame["id"], report.how.seed), report.how)[0]
    apart = max(ours.height, _per_query(other, base, base_label).height) - frame.height
    note = f"compared on the {frame.height:,} queries that both reports have" if apart else ""
    return _Figure(found.difference, found.ci, found.n, note or _caution(found.n, found.ci)), found.baseline_mean


def _per_query(saved: Saved, system: str, label: str) -> pl.DataFrame:
    queries = saved.form["queries"]
    values: Floats = np.array([nan if one is None else one for one in queries["scores"][system][label]], dtype=float)
    return pl.DataFrame({"id": pl.Series(queries["ids"], dtype=pl.String), "value": values})


def _verdict(target: Target, system: str, figure: _Figure) -> Verdict:
    if figure.n is not None and figure.n < 2:
        outcome: Outcome = "unsure"
    else:
        ends = figure.ci or (figure.value, figure.value)
        held = [target.holds(end) for end in ends]
        outcome = "pass" if all(held) else "unsure" if any(held) else "fail"
    return Verdict(target, system, outcome, figure.value, figure.ci, figure.n, figure.note)


def measures_of(targets: Sequence[Target], recorded: Sequence[str]) -> list[str]:
    """The measures that the targets are about, each once; what is neither one nor recorded is an error."""
    found = []
    for target in targets:
        if target.subject not in recorded:
            found.append(resolve(target.subject).label)
    return list(dict.fromkeys(found))
