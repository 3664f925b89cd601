"""A measure of a system over runs, with the steps that it took and what changed there."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import nan
from typing import Any, Literal, NamedTuple

import numpy as np

from karat.archive.run import Run
from karat.circumstances import Difference, differences_between
from karat.errors import UnknownName
from karat.statistics.intervals import Bounds
from karat.statistics.steps import Step, steps_of
from karat.wording import NOTHING, bounds_shown, decimals_of, difference_shown, figure_shown

__all__ = ["Line", "Point", "Series", "Stepped", "last_of", "lines_of", "series_of", "steps_in"]


@dataclass(frozen=True)
class Point:
    """A measure of a system in one run."""

    time: str
    run: str
    mean: float | None
    low: float | None
    high: float | None
    se: float | None
    n: int
    convention: str
    """Under which it was computed: figures of different conventions are not compared."""
    difference: float | None = None
    """To the run before."""

    @property
    def ci(self) -> Bounds | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def mean_shown(self) -> str:
        return NOTHING if self.mean is None else figure_shown(self.mean, decimals_of(self.ci))

    @property
    def ci_shown(self) -> str:
        return bounds_shown(self.ci) if self.ci and self.mean is not None else ""

    @property
    def change_shown(self) -> str:
        if self.difference is None:
            return ""
        return difference_shown(self.difference, None, decimals=decimals_of(self.ci))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Series:
    """A measure of a system in one run after the other, oldest first; runs without it are left out."""

    system: str
    measure: str
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        return f"{self.system}, {self.measure}"

    def to_json(self) -> dict[str, Any]:
        points = [point.to_json() for point in self.points]
        return {"system": self.system, "measure": self.measure, "points": points}


@dataclass(frozen=True)
class Stepped:
    """A step, the runs on both sides of it, and what changed between them."""

    step: Step
    before: Run
    after: Run
    changed: tuple[Difference, ...]
    lower_is_better: bool = False

    @property
    def verdict(self) -> Literal["better", "worse"]:
        return "better" if (self.step.difference > 0) != self.lower_is_better else "worse"

    @property
    def _decimals(self) -> int:
        return decimals_of((min(self.step.before, self.step.after), max(self.step.before, self.step.after)))

    @property
    def levels_shown(self) -> str:
        """``0.612 → 0.655``"""
        return " → ".join(figure_shown(level, self._decimals) for level in (self.step.before, self.step.after))

    @property
    def change_shown(self) -> str:
        return difference_shown(self.step.difference, None, decimals=self._decimals)

    @property
    def certainty(self) -> str:
        """Whether other queries would show the step too; empty where that is not known."""
        return {True: "beyond the errors", False: "within the errors", None: ""}[self.step.beyond]

    def to_json(self) -> dict[str, Any]:
        known = {name: getattr(self.step, name) for name in ("index", "before", "after", "difference", "z", "beyond")}
        changed = [one.to_json() for one in self.changed]
        return {"run": self.after.name, "run_before": self.before.name, **known, "changed": changed}


def series_of(runs: Sequence[Run], measures: Sequence[str], systems: Sequence[str]) -> list[Series]:
    """Of every measure and system, by measure; a name that no run has is an error."""
    for kind, wanted, known in (("measure", measures, _measures(runs)), ("system", systems, _systems(runs))):
        for name in wanted:
            if name not in known:
                raise UnknownName(f"{kind} in these runs:", name, known)
    found = [
        Series(system, measure, tuple(_points(runs, measure, system))) for measure in measures for system in systems
    ]
    return [series for series in found if series.points]


def _points(runs: Sequence[Run], measure: str, system: str) -> Iterator[Point]:
    last: Point | None = None
    asked: object = None
    for run in runs:
        entry = run.manifest["summary"].get(system, {}).get(measure)
        if entry is None:
            continue
        low, high = entry.get("ci") or (None, None)
        about = (run.manifest.get("measures") or {}).get(measure) or {}
        convention = str(about.get("convention") or measure)
        mean, difference = entry["mean"], None
        queries = _queries(run)
        if last is not None and None not in (mean, last.mean) and (last.convention, asked) == (convention, queries):
            difference = mean - last.mean  # of other queries it would say nothing
        asked = queries
        last = Point(run.time, run.name, mean, low, high, entry.get("se"), entry["n"], convention, difference)
        yield last


def steps_in(series: Series, runs: Mapping[str, Run]) -> list[Stepped]:
    """The steps of a series; ``runs`` by name. Where the convention changes, a new series begins."""
    about = ((run.manifest.get("measures") or {}).get(series.measure) for run in reversed([*runs.values()]))
    lower = bool(next((one.get("lower_is_better") for one in about if one), False))
    found, offset = [], 0
    for _, held in groupby(series.points, key=lambda point: point.convention):
        points = list(held)
        values, errors = (
            np.array([nan if value is None else value for value in column], dtype=np.float64)
            for column in ([point.mean for point in points], [point.se for point in points])
        )
        for step in steps_of(values, errors):
            earlier = next(place for place in range(step.index - 1, -1, -1) if points[place].mean is not None)
            before, after = runs[points[earlier].run], runs[points[step.index].run]
            placed = Step(step.index + offset, step.before, step.after, step.z)
            changed = tuple(differences_between(before.manifest, after.manifest))
            found.append(Stepped(placed, before, after, changed, lower))
        offset += len(points)
    return found


def last_of(series: Series, steps: Sequence[Stepped], runs: Collection[str]) -> tuple[Series, list[Stepped]]:
    """The part of a series that is of these runs, its last ones, with the steps in it."""
    points = tuple(point for point in series.points if point.run in runs)
    before = len(series.points) - len(points)
    kept = [replace(one, step=replace(one.step, index=one.step.index - before)) for one in steps]
    return replace(series, points=points), [one for one in kept if one.step.index >= 0]


class Line(NamedTuple):
    """A series as a chart's legend calls it."""

    name: str
    points: Sequence[Point]


def lines_of(found: Sequence[tuple[Series, Sequence[Stepped]]]) -> tuple[list[Line], list[tuple[str, str]]]:
    """Return series as lines of a chart, and the times at which any of them steps, with a label."""
    several = len({series.measure for series, _ in found}) > 1
    lines = [Line(series.name if several else series.system, series.points) for series, _ in found]
    stepped: dict[str, list[str]] = {}
    for line, (_, steps) in zip(lines, found, strict=True):
        for one in steps:
            stepped.setdefault(one.after.time, []).append(line.name)
    labels = {time: names[0] if len(names) == 1 else f"{len(names)} systems" for time, names in stepped.items()}
    return lines, [(time, f"step: {label}") for time, label in labels.items()]


def _queries(run: Run) -> object:
    """What tells the queries that were asked; None where it is not known."""
    versions = run.manifest.get("versions") or {}
    found = versions.get("queries") if isinstance(versions, Mapping) else None
    return found.get("digest") if isinstance(found, Mapping) else None


def _measures(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(label for run in runs for held in run.manifest["summary"].values() for label in held))


def _systems(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(system for run in runs for system in run.systems))
