"""History of a measure over archived runs, its steps (changes of level), and what changed at each step.

The series is cut into segments of one mean each. Of all ways to cut it, the one is taken in which the squared
distances from the means, in units of the noise σ², plus a price for every cut are least; it is found exactly, by
optimal partitioning. σ comes from the median absolute difference of successive values, which a few steps do not move.

The price of a cut is 4 log n · (1 + 4 / (n − 1)). It is higher than the usual 2 log n, and higher still for short
series, since σ is itself an estimate from few values. Of series of pure noise, 4 to 7 in 100 of up to 12 values then
show a step, 4 in 100 of 20, 2 in 100 of 50 and fewer of more (``tests/stats/test_steps.py`` counts them).

Values that repeat to the last digit have no noise: where half of the successive differences are zero, every change
beyond rounding is a step. σ is at least 10⁻⁹ √n of the largest value, so that rounding is not a step.

Source: Jackson et al., An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing Letters
2005; Killick, Fearnhead and Eckley, Optimal detection of changepoints, JASA 2012.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from math import log, nan, sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rankjury.core.types import Floats
from rankjury.errors import UnknownName
from rankjury.evaluation.provenance import ManifestDifference, differences_between
from rankjury.stats.formatting import NO_VALUE, format_difference, format_interval, format_value, interval_decimals
from rankjury.stats.resampling import Bounds
from rankjury.tracking.archive.files import display_time
from rankjury.tracking.archive.run import ArchivedRun

if TYPE_CHECKING:
    from rankjury.reporting.charts.spec import LineChart

_NORMAL_QUARTILE = 0.6744897501960817
"""Half of normal values are nearer to their mean than so many standard deviations."""
_Z_95 = 1.959963984540054
_MAX_SYSTEMS = 8


@dataclass(frozen=True)
class Step:
    """A change of level: the index of the first value on the new level, and the means on both sides."""

    index: int
    before: float
    after: float
    z: float | None
    """The change in standard errors of a difference, as if both sides were measured on different queries; None where
    these are not known. On the same queries, a change that is far within them can be real."""

    @property
    def difference(self) -> float:
        return self.after - self.before

    @property
    def beyond(self) -> bool | None:
        """Whether such a change is unlikely by a chance draw of queries."""
        return None if self.z is None else abs(self.z) > _Z_95


def find_steps(values: Floats, errors: Floats | None = None) -> tuple[Step, ...]:
    """Return the steps of a series in order; NaN is a gap. ``errors`` are the values' standard errors, where known."""
    places = np.flatnonzero(~np.isnan(values))
    known = values[places]
    starts = optimal_cuts(known, noise_level(known), cut_penalty(known.size))
    edges = [0, *starts, known.size]
    steps = []
    for number, start in enumerate(starts):
        sides = slice(edges[number], start), slice(start, edges[number + 2])
        before, after = (float(known[side].mean()) for side in sides)
        z = None
        if errors is not None:
            known_errors = [errors[places[side]][~np.isnan(errors[places[side]])] for side in sides]
            if all(side.size for side in known_errors):
                # Runs on the same queries have together the error of one of them: the root mean square of a side.
                spread = sqrt(sum(float(np.mean(side * side)) for side in known_errors))
                z = (after - before) / spread if spread else None
        steps.append(Step(int(places[start]), before, after, z))
    return tuple(steps)


def noise_level(values: Floats) -> float:
    """Return the standard deviation of the noise within a level."""
    if values.size < 2:
        return 0.0
    differences = np.sort(np.abs(np.diff(values)))
    rounding = 1e-9 * float(np.abs(values).max())
    # The lower of two middle ones decides whether there is noise at all: of a, a, b half of the differences are none.
    if differences[(differences.size - 1) // 2] <= rounding:
        return rounding * sqrt(values.size)
    return max(float(np.median(differences)) / (_NORMAL_QUARTILE * sqrt(2.0)), rounding * sqrt(values.size))


def cut_penalty(n: int) -> float:
    """Return the price of a cut in a series of n values, in units of σ²."""
    return 4.0 * log(n) * (1.0 + 4.0 / (n - 1)) if n > 1 else 0.0


def optimal_cuts(values: Floats, noise: float, price: float) -> list[int]:
    """Return the start of every segment but the first, of the cheapest partition; of equal ones, that with few cuts.

    Value by value, the squared distances of all segments that end there are updated at once (Welford's update, which
    is exact for segments of equal values): O(n²) in all.
    """
    n = values.size
    if n < 2 or not noise:
        return []
    best, begins = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
    means, squares = np.zeros(n), np.zeros(n)
    prices = np.full(n, price)
    prices[0] = 0.0
    for end in range(n):
        segments = slice(0, end + 1)
        sizes = np.arange(end, -1, -1.0)
        deviations = values[end] - means[segments]
        squares[segments] += deviations * deviations * sizes / (sizes + 1.0)
        means[segments] += deviations / (sizes + 1.0)
        totals = best[segments] + squares[segments] / (noise * noise) + prices[segments]
        begins[end + 1] = np.argmin(totals)
        best[end + 1] = totals[begins[end + 1]]
    starts: list[int] = []
    place = int(begins[n])
    while place > 0:
        starts.append(place)
        place = int(begins[place])
    return starts[::-1]


@dataclass(frozen=True)
class HistoryPoint:
    """A measure of a system in one run; ``difference`` is that from the run before, where they can be compared."""

    time: str
    run: str
    mean: float | None
    low: float | None
    high: float | None
    se: float | None
    n: int
    convention: str
    difference: float | None = None

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


@dataclass(frozen=True)
class Series:
    """A measure of a system in every run that has it, oldest first."""

    system: str
    measure: str
    points: tuple[HistoryPoint, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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
        values = {name: getattr(self.step, name) for name in ("index", "before", "after", "difference", "z", "beyond")}
        changed = [difference.to_json() for difference in self.changed]
        return {"run": self.after.name, "run_before": self.before.name, **values, "changed": changed}


def summarize_series(series: Series, steps: Sequence[SeriesStep], baseline: str | None = None) -> str:
    """Return where a measure is now compared with the first, the previous and the baseline run, and its last step.

    ``dense: ndcg@10 is 0.655 [0.61, 0.70], +0.043 since the first of 9 runs, …; last step at …``
    """
    known = [point for point in series.points if point.mean is not None]
    if not known:
        return f"{series.system}: {series.measure} is undefined in every run."
    last = known[-1]
    assert last.mean is not None
    now = f"{series.system}: {series.measure} is {last.mean_shown}{f' {last.ci_shown}' if last.ci_shown else ''}"
    if len(series.points) == 1:
        return f"{now}; there is one run, and nothing to compare it with."
    if series.points[-1].mean is None:
        now = f"{now} in the last run where it is defined"
    earlier = {"the previous run": known[-2]} if len(known) > 1 else {}
    if len(known) > 2:
        earlier = {f"the first of {len(series.points)} runs": known[0], **earlier}
    of_baseline = next((point for point in known[:-1] if point.run == baseline), None)
    if of_baseline is not None:
        earlier["the baseline"] = of_baseline
    decimals = interval_decimals(last.ci)
    changes = []
    for name, point in earlier.items():
        if point.convention == last.convention and point.mean is not None:
            changes.append(f"{format_difference(last.mean - point.mean, None, decimals=decimals)} since {name}")
        else:
            changes.append(f"not comparable with {name} (other conventions)")
    if not steps:
        return f"{now}, {', '.join(changes)}; no step." if changes else f"{now}."
    step = steps[-1]
    many = f"{len(steps)} steps, the last" if len(steps) > 1 else "step"
    return f"{now}, {', '.join(changes)}; {many} at {display_time(step.after.time)}: {step.levels_shown}."


def build_series(runs: Sequence[ArchivedRun], measures: Sequence[str], systems: Sequence[str]) -> list[Series]:
    """Return the series of every measure and system, by measure.

    Raises:
        UnknownName: Where no run has a measure or a system of this name.
    """
    labels = [label for run in runs for estimates in run.manifest["summary"].values() for label in estimates]
    names = [system for run in runs for system in run.systems]
    for kind, wanted, known in (("measure", measures, labels), ("system", systems, names)):
        for name in wanted:
            if name not in known:
                raise UnknownName(f"{kind} in these runs:", name, known)
    series = (
        Series(system, measure, tuple(_points(runs, measure, system))) for measure in measures for system in systems
    )
    return [line for line in series if line.points]


def _points(runs: Sequence[ArchivedRun], measure: str, system: str) -> Iterator[HistoryPoint]:
    last: HistoryPoint | None = None
    last_queries: object = None
    for run in runs:
        entry = run.manifest["summary"].get(system, {}).get(measure)
        if entry is None:
            continue
        low, high = entry.get("ci") or (None, None)
        about = (run.manifest.get("measures") or {}).get(measure) or {}
        convention = str(about.get("convention") or measure)
        versions = (run.manifest.get("versions") or {}).get("queries")
        queries = versions.get("digest") if isinstance(versions, Mapping) else None
        mean, difference = entry["mean"], None
        if (  # over other queries, a difference would mean nothing
            last is not None
            and None not in (mean, last.mean)
            and (last.convention, last_queries) == (convention, queries)
        ):
            difference = mean - last.mean
        last_queries = queries
        last = HistoryPoint(run.time, run.name, mean, low, high, entry.get("se"), entry["n"], convention, difference)
        yield last


def series_steps(series: Series, runs: Mapping[str, ArchivedRun]) -> list[SeriesStep]:
    """Return the steps of a series; ``runs`` by name. Where the convention changes, a new series begins."""
    about = [(run.manifest.get("measures") or {}).get(series.measure) for run in runs.values()]
    lower = bool(next((facts.get("lower_is_better") for facts in reversed(about) if facts), False))
    steps, offset = [], 0
    for _, group in groupby(series.points, key=lambda point: point.convention):
        points = list(group)
        values = np.array([nan if point.mean is None else point.mean for point in points], dtype=np.float64)
        errors = np.array([nan if point.se is None else point.se for point in points], dtype=np.float64)
        for step in find_steps(values, errors):
            earlier = next(place for place in range(step.index - 1, -1, -1) if points[place].mean is not None)
            before, after = runs[points[earlier].run], runs[points[step.index].run]
            changed = tuple(differences_between(before.manifest, after.manifest))
            steps.append(SeriesStep(replace(step, index=step.index + offset), before, after, changed, lower))
        offset += len(points)
    return steps


def last_points(series: Series, steps: Sequence[SeriesStep], runs: Collection[str]) -> tuple[Series, list[SeriesStep]]:
    """Return the part of a series that is of these runs, its last ones, with the steps in it."""
    points = tuple(point for point in series.points if point.run in runs)
    omitted = len(series.points) - len(points)
    shifted = [replace(step, step=replace(step.step, index=step.step.index - omitted)) for step in steps]
    return replace(series, points=points), [step for step in shifted if step.step.index >= 0]


class LegendLine(NamedTuple):
    """A series under its name in a chart's legend."""

    name: str
    points: Sequence[HistoryPoint]


def legend_lines(
    series: Sequence[tuple[Series, Sequence[SeriesStep]]],
) -> tuple[list[LegendLine], list[tuple[str, str]]]:
    """Return series as lines of a chart, and the times at which any of them steps, with a label."""
    several = len({line.measure for line, _ in series}) > 1
    lines = [
        LegendLine(f"{line.system}, {line.measure}" if several else line.system, line.points) for line, _ in series
    ]
    names_by_time: dict[str, list[str]] = {}
    for line, (_, steps) in zip(lines, series, strict=True):
        for step in steps:
            names_by_time.setdefault(step.after.time, []).append(line.name)
    return lines, [
        (time, f"step: {names[0] if len(names) == 1 else f'{len(names)} systems'}")
        for time, names in names_by_time.items()
    ]


def history_charts(runs: Sequence[ArchivedRun], measure: str) -> "list[LineChart]":
    """Return the chart of one measure over runs, for a run's own page; none where there is a single run."""
    from rankjury.reporting.charts.history import history_chart  # loads all charts

    measures, systems = measures_and_systems(runs)
    series = build_series(runs, [measure], default_systems(runs, systems)) if measure in measures else []
    if max((len(line.points) for line in series), default=0) < 2:
        return []
    by_name = {run.name: run for run in runs}
    return [history_chart(*legend_lines([(line, series_steps(line, by_name)) for line in series]), measure, measure)]


def measures_and_systems(runs: Sequence[ArchivedRun]) -> tuple[list[str], list[str]]:
    """Return the measures and systems of runs, those of the last runs first; systems in random order come last."""
    newest = list(reversed(runs))
    measures = [label for run in newest for summary in run.manifest["summary"].values() for label in summary]
    systems = list(dict.fromkeys(system for run in newest for system in run.systems))
    random = _random_systems(runs)
    return list(dict.fromkeys(measures)), sorted(systems, key=lambda name: name in random)


def default_systems(runs: Sequence[ArchivedRun], systems: Sequence[str]) -> list[str]:
    """Return the systems to show where none is named: no random orders, if there is anything else."""
    random = _random_systems(runs)
    return ([name for name in systems if name not in random] or list(systems))[:_MAX_SYSTEMS]


def _random_systems(runs: Sequence[ArchivedRun]) -> set[str]:
    return {name for run in runs for name in run.manifest.get("by_chance") or ()}
