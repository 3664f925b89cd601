"""A plan's history for pages: charts with bands and steps, a table of runs, and what changed at each step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from karat.archive import Run
from karat.archive.files import shown_time
from karat.archive.history import Point, Series, Stepped, series_of, steps_in
from karat.reports import charts
from karat.reports.html.page import Drawn
from karat.view.listing import Shelf
from karat.view.server import Refused, Request
from karat.wording import bounds_shown, count, decimals_of, difference_shown, figure_shown

__all__ = ["charts_of", "history_context"]

_MOST_RUNS = 1_000
"""In a chart; of more the last are shown."""
_MOST_ROWS = 200
_MOST_SYSTEMS = 8
_CAUSES_SHOWN = 8
_NOTHING = "–"


@dataclass(frozen=True)
class Figure:
    """A system in one run."""

    value: str
    ci: str
    change: str
    sign: str
    """better or worse where a step begins, else empty."""
    is_step: bool


@dataclass(frozen=True)
class Row:
    name: str
    time: str
    figures: tuple[Figure, ...]
    is_baseline: bool
    verdict: str | None
    commit: str


@dataclass(frozen=True)
class Moved:
    """A system at a step."""

    system: str
    levels: str
    change: str
    sign: str
    sure: str


@dataclass(frozen=True)
class Told:
    """What stepped between two runs, in words, and what changed there."""

    run: str
    run_before: str
    time: str
    moved: tuple[Moved, ...]
    causes: tuple[str, ...]
    more: int


def history_context(shelf: Shelf, request: Request) -> dict[str, Any]:
    """What ``/history`` shows: parameters ``plan``, ``measure`` and ``system`` (which may repeat)."""
    every = shelf.runs()
    plans = sorted({run.plan for run in every})
    plan = request.text("plan") or (every[-1].plan if every else "")
    runs = [run for run in every if run.plan == plan][-_MOST_RUNS:]
    if not runs:
        raise Refused(404, "there is no run of this plan" if every else "there is no run yet: karat run keeps one")
    measures, systems = _known(runs)
    measure = request.text("measure") or runs[-1].headline[0]
    wanted = list(request.all("system")) or _at_first(runs, systems)
    by_name = {run.name: run for run in runs}
    found = [(one, steps_in(one, by_name)) for one in series_of(runs, [measure], wanted)]
    lower = _lower_is_better(runs, measure)
    rows = _rows(runs, found, shelf.baselines().get(plan), lower)
    damaged = shelf.damaged()
    return {
        "title": f"{plan}: history",
        "plan": plan,
        "plans": plans,
        "measure": measure,
        "measures": measures,
        "systems": systems,
        "chosen": wanted,
        "told": count(len(runs), "run", "runs"),
        "chart": _drawn(found, plan, measure),
        "columns": [series.system for series, _ in found],
        "rows": rows,
        "verdicts": any(row.verdict for row in rows),
        "commits": any(row.commit for row in rows),
        "left_out": max(0, len(runs) - _MOST_ROWS),
        "damaged": count(len(damaged), "damaged run", "damaged runs") if damaged else "",
        "steps": _told(found, lower),
    }


def charts_of(runs: Sequence[Run], measure: str) -> list[charts.Chart]:
    """The history of one measure, for a run's own page; none where there is a single run."""
    systems = _at_first(runs, _known(runs)[1])
    found = series_of(runs, [measure], systems) if any(_has(run, measure) for run in runs) else []
    if max((len(one.points) for one in found), default=0) < 2:
        return []
    by_name = {run.name: run for run in runs}
    return [_chart([(one, steps_in(one, by_name)) for one in found], measure, measure)]


def _has(run: Run, measure: str) -> bool:
    return any(measure in held for held in run.manifest["summary"].values())


def _known(runs: Sequence[Run]) -> tuple[list[str], list[str]]:
    """Measures and systems, those of the last runs first; what is by chance comes last."""
    newest = list(reversed(runs))
    measures = [label for run in newest for held in run.manifest["summary"].values() for label in held]
    systems = list(dict.fromkeys(system for run in newest for system in run.systems))
    chance = {name for run in runs for name in run.manifest.get("by_chance") or ()}
    return list(dict.fromkeys(measures)), sorted(systems, key=lambda name: name in chance)


def _at_first(runs: Sequence[Run], systems: Sequence[str]) -> list[str]:
    """The systems to show where none is named: not what is by chance, if there is anything else."""
    chance = {name for run in runs for name in run.manifest.get("by_chance") or ()}
    return ([name for name in systems if name not in chance] or list(systems))[:_MOST_SYSTEMS]


def _lower_is_better(runs: Sequence[Run], measure: str) -> bool:
    about = ((run.manifest.get("measures") or {}).get(measure) for run in reversed(runs))
    return bool(next((one.get("lower_is_better") for one in about if one), False))


def _chart(found: Sequence[tuple[Series, Sequence[Stepped]]], title: str, measure: str) -> charts.Chart:
    marks: dict[str, list[str]] = {}
    for series, steps in found:
        for step in steps:
            marks.setdefault(step.after.time, []).append(series.system)
    named = [
        (time, f"step: {names[0] if len(names) == 1 else f'{len(names)} systems'}") for time, names in marks.items()
    ]
    return charts.history_chart([_Named(series.system, series.points) for series, _ in found], named, title, measure)


@dataclass(frozen=True)
class _Named:
    """A series by its system alone: the measure stands in the title."""

    name: str
    points: Sequence[Point]


def _drawn(found: Sequence[tuple[Series, Sequence[Stepped]]], plan: str, measure: str) -> Drawn | None:
    if not found:
        return None
    return Drawn.of(_chart(found, f"{plan}: {measure}", measure), "history", measure, 832.0)


def _rows(
    runs: Sequence[Run], found: Sequence[tuple[Series, Sequence[Stepped]]], baseline: str | None, lower: bool
) -> list[Row]:  # fmt: skip
    """Newest first."""
    held = [{point.run: point for point in series.points} for series, _ in found]
    begins = [{step.after.name: step for step in steps} for _, steps in found]
    return [
        Row(
            run.name,
            shown_time(run.time),
            tuple(
                _figure(points.get(run.name), steps.get(run.name), lower)
                for points, steps in zip(held, begins, strict=True)
            ),
            run.name == baseline,
            run.verdict,
            run.commit,
        )
        for run in list(reversed(runs))[:_MOST_ROWS]
    ]


def _figure(point: Point | None, step: Stepped | None, lower: bool) -> Figure:
    if point is None or point.mean is None:
        return Figure(_NOTHING, "", "", "", is_step=False)
    ci = None if point.low is None or point.high is None else (point.low, point.high)
    change = "" if point.difference is None else difference_shown(point.difference, None, decimals=decimals_of(ci))
    sign = "" if step is None else _sign(step, lower)
    shown = figure_shown(point.mean, decimals_of(ci))
    return Figure(shown, bounds_shown(ci) if ci else "", change, sign, is_step=step is not None)


def _sign(step: Stepped, lower: bool) -> str:
    return "better" if (step.step.difference > 0) != lower else "worse"


def _told(found: Sequence[tuple[Series, Sequence[Stepped]]], lower: bool) -> list[Told]:
    """The newest first; what stepped at the same run stands together."""
    held: dict[tuple[str, str, str], list[tuple[str, Stepped]]] = {}
    for series, steps in found:
        for one in steps:
            held.setdefault((one.after.time, one.after.name, one.before.name), []).append((series.system, one))
    return [
        Told(
            run,
            before,
            shown_time(time),
            tuple(_moved(system, one, lower) for system, one in own),
            tuple(map(str, own[0][1].changed[:_CAUSES_SHOWN])),
            max(0, len(own[0][1].changed) - _CAUSES_SHOWN),
        )
        for (time, run, before), own in sorted(held.items(), reverse=True)
    ]


def _moved(system: str, one: Stepped, lower: bool) -> Moved:
    step = one.step
    ends = decimals_of((min(step.before, step.after), max(step.before, step.after)))
    levels = " → ".join(figure_shown(level, ends) for level in (step.before, step.after))
    sure = {True: "beyond the errors", False: "within the errors", None: ""}[step.beyond]
    return Moved(system, levels, difference_shown(step.difference, None, decimals=ends), _sign(one, lower), sure)
