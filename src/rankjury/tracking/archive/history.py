"""A measure of a system over runs, with the steps that it took and what changed there.

The series is cut into stretches of one mean each. Of all ways to cut it, the one is taken in which the squared
distances from the means, in units of the noise σ², plus a price for every cut are least; it is found exactly, by
optimal partitioning. σ comes from the median absolute difference of successive values, which a few steps do not move.

The price of a cut is 4 log n · (1 + 4 / (n − 1)). It is higher than the usual 2 log n, and higher still for short
series, since σ is itself an estimate of few numbers. Of series of pure noise, 4 to 7 in 100 of up to 12 values then
show a step, 4 in 100 of 20, 2 in 100 of 50 and fewer of more (``tests/stats/test_steps.py`` counts them).

Figures that repeat to the last digit have no noise: where half of the successive differences are nothing, every change
beyond rounding is a step. σ is never less than 10⁻⁹ √n of the largest figure, so that rounding is none.

Source: Jackson et al., An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing Letters
2005; Killick, Fearnhead and Eckley, Optimal detection of changepoints, JASA 2012.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log, nan, sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rankjury.core.types import Floats
from rankjury.errors import UnknownName
from rankjury.evaluation.provenance import ManifestDifference, differences_between
from rankjury.stats.formatting import NO_VALUE, format_difference, format_interval, format_value, interval_decimals
from rankjury.stats.resampling import Bounds
from rankjury.tracking.archive.run import ArchivedRun

if TYPE_CHECKING:
    from rankjury.reporting.charts.spec import LineChart

_PRICE = 4.0
_MORE_FOR_FEW = 4.0
_ROUNDING = 1e-9
_NORMAL_QUARTILE = 0.6744897501960817
"""Half of normal values are nearer to their mean than so many standard deviations."""
_BEYOND = 1.959963984540054
_MOST_SYSTEMS = 8


@dataclass(frozen=True)
class Step:
    """A change of level."""

    index: int
    """The place of the first value on the new level."""
    before: float
    after: float
    """The means of the stretches on both sides."""
    z: float | None
    """The change in standard errors of a difference, as if both sides were measured on queries of their own; None
    where these are not known. On the same queries a change can be real that is far within them."""

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def beyond(self) -> bool | None:
        """Whether other queries would hardly show such a change by chance."""
        return None if self.z is None else abs(self.z) > _BEYOND


def find_steps(values: Floats, errors: Floats | None = None) -> tuple[Step, ...]:
    """The steps of a series, in its order; NaN is a gap. ``errors`` are the values' standard errors, where known."""
    places = np.flatnonzero(~np.isnan(values))
    known = values[places]
    starts = optimal_cuts(known, noise_level(known), cut_penalty(known.size))
    edges = [0, *starts, known.size]
    found = []
    for number, start in enumerate(starts):
        first, last = slice(edges[number], start), slice(start, edges[number + 2])
        before, after = float(known[first].mean()), float(known[last].mean())
        spread = None if errors is None else _spread(errors[places[first]], errors[places[last]])
        z = None if not spread else (after - before) / spread
        found.append(Step(int(places[start]), before, after, z))
    return tuple(found)


def noise_level(values: Floats) -> float:
    """The standard deviation of what is no step."""
    if values.size < 2:
        return 0.0
    apart = np.sort(np.abs(np.diff(values)))
    least = _ROUNDING * float(np.abs(values).max())
    # The lower of two middle ones decides whether there is noise at all: of a, a, b half of the differences are none.
    if apart[(apart.size - 1) // 2] <= least:
        return least * sqrt(values.size)
    return max(float(np.median(apart)) / (_NORMAL_QUARTILE * sqrt(2.0)), least * sqrt(values.size))


def cut_penalty(n: int) -> float:
    """What a cut costs, in units of σ²."""
    return _PRICE * log(n) * (1.0 + _MORE_FOR_FEW / (n - 1)) if n > 1 else 0.0


def optimal_cuts(values: Floats, noise: float, price: float) -> list[int]:
    """Where the stretches of the cheapest partition begin, but the first; of equally cheap ones that with few cuts.

    Value by value, the squared distances of every stretch that ends there are updated in one go (Welford's way, which
    is exact for stretches of equal values): O(n²) in all.
    """
    n = values.size
    if n < 2 or not noise:
        return []
    best, begins = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    means, squares = np.zeros(n), np.zeros(n)
    prices = np.full(n, price)
    prices[0] = 0.0
    for end in range(n):
        held = slice(0, end + 1)
        sizes = np.arange(end, -1, -1.0)
        apart = values[end] - means[held]
        squares[held] += apart * apart * sizes / (sizes + 1.0)
        means[held] += apart / (sizes + 1.0)
        totals = best[held] + squares[held] / (noise * noise) + prices[held]
        begins[end + 1] = np.argmin(totals)
        best[end + 1] = totals[begins[end + 1]]
    starts: list[int] = []
    place = int(begins[n])
    while place > 0:
        starts.append(place)
        place = int(begins[place])
    return starts[::-1]


def _spread(before: Floats, after: Floats) -> float | None:
    """The standard error of a difference; runs on the same queries tell no more together than one of them."""
    sides = [side[~np.isnan(side)] for side in (before, after)]
    if not all(side.size for side in sides):
        return None
    return sqrt(sum(float(np.mean(side * side)) for side in sides))


@dataclass(frozen=True)
class HistoryPoint:
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
        return NO_VALUE if self.mean is None else format_value(self.mean, interval_decimals(self.ci))

    @property
    def ci_shown(self) -> str:
        return format_interval(self.ci) if self.ci and self.mean is not None else ""

    @property
    def change_shown(self) -> str:
        if self.difference is None:
            return ""
        return format_difference(self.difference, None, decimals=interval_decimals(self.ci))

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Series:
    """A measure of a system in one run after the other, oldest first; runs without it are left out."""

    system: str
    measure: str
    points: tuple[HistoryPoint, ...]

    @property
    def name(self) -> str:
        return f"{self.system}, {self.measure}"

    def to_json(self) -> dict[str, Any]:
        points = [point.to_json() for point in self.points]
        return {"system": self.system, "measure": self.measure, "points": points}


@dataclass(frozen=True)
class SeriesStep:
    """A step, the runs on both sides of it, and what changed between them."""

    step: Step
    before: ArchivedRun
    after: ArchivedRun
    changed: tuple[ManifestDifference, ...]
    lower_is_better: bool = False

    @property
    def verdict(self) -> Literal["better", "worse"]:
        return "better" if (self.step.difference > 0) != self.lower_is_better else "worse"

    @property
    def _decimals(self) -> int:
        return interval_decimals((min(self.step.before, self.step.after), max(self.step.before, self.step.after)))

    @property
    def levels_shown(self) -> str:
        """``0.612 → 0.655``"""
        return " → ".join(format_value(level, self._decimals) for level in (self.step.before, self.step.after))

    @property
    def change_shown(self) -> str:
        return format_difference(self.step.difference, None, decimals=self._decimals)

    @property
    def certainty(self) -> str:
        """Whether other queries would show the step too; empty where that is not known."""
        return {True: "beyond the errors", False: "within the errors", None: ""}[self.step.beyond]

    def to_json(self) -> dict[str, Any]:
        known = {name: getattr(self.step, name) for name in ("index", "before", "after", "difference", "z", "beyond")}
        changed = [one.to_json() for one in self.changed]
        return {"run": self.after.name, "run_before": self.before.name, **known, "changed": changed}


def build_series(runs: Sequence[ArchivedRun], measures: Sequence[str], systems: Sequence[str]) -> list[Series]:
    """Of every measure and system, by measure; a name that no run has is an error."""
    labels = [label for run in runs for held in run.manifest["summary"].values() for label in held]
    names = [system for run in runs for system in run.systems]
    for kind, wanted, known in (("measure", measures, labels), ("system", systems, names)):
        for name in wanted:
            if name not in known:
                raise UnknownName(f"{kind} in these runs:", name, list(dict.fromkeys(known)))
    found = [
        Series(system, measure, tuple(_points(runs, measure, system))) for measure in measures for system in systems
    ]
    return [series for series in found if series.points]


def _points(runs: Sequence[ArchivedRun], measure: str, system: str) -> Iterator[HistoryPoint]:
    last: HistoryPoint | None = None
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
        last = HistoryPoint(run.time, run.name, mean, low, high, entry.get("se"), entry["n"], convention, difference)
        yield last


def series_steps(series: Series, runs: Mapping[str, ArchivedRun]) -> list[SeriesStep]:
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
        for step in find_steps(values, errors):
            earlier = next(place for place in range(step.index - 1, -1, -1) if points[place].mean is not None)
            before, after = runs[points[earlier].run], runs[points[step.index].run]
            placed = Step(step.index + offset, step.before, step.after, step.z)
            changed = tuple(differences_between(before.manifest, after.manifest))
            found.append(SeriesStep(placed, before, after, changed, lower))
        offset += len(points)
    return found


def last_points(series: Series, steps: Sequence[SeriesStep], runs: Collection[str]) -> tuple[Series, list[SeriesStep]]:
    """The part of a series that is of these runs, its last ones, with the steps in it."""
    points = tuple(point for point in series.points if point.run in runs)
    before = len(series.points) - len(points)
    kept = [replace(one, step=replace(one.step, index=one.step.index - before)) for one in steps]
    return replace(series, points=points), [one for one in kept if one.step.index >= 0]


class LegendLine(NamedTuple):
    """A series as a chart's legend calls it."""

    name: str
    points: Sequence[HistoryPoint]


def legend_lines(
    found: Sequence[tuple[Series, Sequence[SeriesStep]]],
) -> tuple[list[LegendLine], list[tuple[str, str]]]:
    """Return series as lines of a chart, and the times at which any of them steps, with a label."""
    several = len({series.measure for series, _ in found}) > 1
    lines = [LegendLine(series.name if several else series.system, series.points) for series, _ in found]
    stepped: dict[str, list[str]] = {}
    for line, (_, steps) in zip(lines, found, strict=True):
        for one in steps:
            stepped.setdefault(one.after.time, []).append(line.name)
    labels = {time: names[0] if len(names) == 1 else f"{len(names)} systems" for time, names in stepped.items()}
    return lines, [(time, f"step: {label}") for time, label in labels.items()]


def history_charts(runs: Sequence[ArchivedRun], measure: str) -> "list[LineChart]":
    """Return the chart of one measure over runs, for a run's own page; none where there is a single run."""
    from rankjury.reporting.charts.history import history_chart  # loads all charts

    measures, systems = measures_and_systems(runs)
    lines = build_series(runs, [measure], default_systems(runs, systems)) if measure in measures else []
    if max((len(series.points) for series in lines), default=0) < 2:
        return []
    by_name = {run.name: run for run in runs}
    return [
        history_chart(*legend_lines([(series, series_steps(series, by_name)) for series in lines]), measure, measure)
    ]


def measures_and_systems(runs: Sequence[ArchivedRun]) -> tuple[list[str], list[str]]:
    """Return the measures and systems of runs, those of the last runs first; systems in random order come last."""
    newest = list(reversed(runs))
    measures = [label for run in newest for summary in run.manifest["summary"].values() for label in summary]
    systems = list(dict.fromkeys(system for run in newest for system in run.systems))
    chance = _chance_systems(runs)
    return list(dict.fromkeys(measures)), sorted(systems, key=lambda name: name in chance)


def default_systems(runs: Sequence[ArchivedRun], systems: Sequence[str]) -> list[str]:
    """Return the systems to show where none is named: no random orders, if there is anything else."""
    chance = _chance_systems(runs)
    return ([name for name in systems if name not in chance] or list(systems))[:_MOST_SYSTEMS]


def _chance_systems(runs: Sequence[ArchivedRun]) -> set[str]:
    return {name for run in runs for name in run.manifest.get("by_chance") or ()}


def _queries(run: ArchivedRun) -> object:
    """What tells the queries that were asked; None where it is not known."""
    versions = run.manifest.get("versions") or {}
    found = versions.get("queries") if isinstance(versions, Mapping) else None
    return found.get("digest") if isinstance(found, Mapping) else None
