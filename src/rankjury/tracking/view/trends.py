"""A plan's history for pages: charts with bands and steps, a table of runs, and what changed at each step."""

from collections.abc import Sequence
from typing import Any

from rankjury.core.text import plural
from rankjury.reporting.charts.history import history_chart
from rankjury.reporting.charts.spec import Chart
from rankjury.reporting.html.page import PageChart
from rankjury.tracking.archive.files import display_time
from rankjury.tracking.archive.history import Series, SeriesStep, build_series, legend_lines, series_steps
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.view.listing import RunCatalog
from rankjury.tracking.view.server import PageRequest, RequestRefused

_MOST_RUNS = 1_000
"""In a chart; of more the last are shown."""
_MOST_ROWS = 200
_MOST_SYSTEMS = 8
_CAUSES_SHOWN = 8
Found = tuple[Series, Sequence[SeriesStep]]


def history_context(shelf: RunCatalog, request: PageRequest) -> dict[str, Any]:
    """What ``/history`` shows: parameters ``plan``, ``measure`` and ``system`` (which may repeat)."""
    every = shelf.runs()
    plans = sorted({run.plan for run in every})
    plan = request.text("plan") or (every[-1].plan if every else "")
    runs = [run for run in every if run.plan == plan][-_MOST_RUNS:]
    if not runs:
        raise RequestRefused(
            404, "there is no run of this plan" if every else "there is no run yet: rankjury run keeps one"
        )
    measures, systems = _known(runs)
    measure = request.text("measure") or runs[-1].headline[0]
    wanted = list(request.all("system")) or _at_first(runs, systems)
    by_name = {run.name: run for run in runs}
    found = [(one, series_steps(one, by_name)) for one in build_series(runs, [measure], wanted)]
    points = [{point.run: point for point in series.points} for series, _ in found]
    steps = [{step.after.name: step for step in steps} for _, steps in found]
    rows = [
        {
            "run": run,
            "time": display_time(run.time),
            "figures": [(own.get(run.name), begun.get(run.name)) for own, begun in zip(points, steps, strict=True)],
        }
        for run in runs[: -_MOST_ROWS - 1 : -1]
    ]
    damaged = shelf.damaged()
    return {
        "title": f"{plan}: history",
        "plan": plan,
        "plans": plans,
        "measure": measure,
        "measures": measures,
        "systems": systems,
        "chosen": wanted,
        "told": plural(len(runs), "run", "runs"),
        "chart": PageChart.of(_chart(found, f"{plan}: {measure}", measure), "history", measure, 832.0)
        if found
        else None,
        "columns": [series.system for series, _ in found],
        "rows": rows,
        "baseline": shelf.baselines().get(plan),
        "verdicts": any(run.verdict for run in runs[-_MOST_ROWS:]),
        "commits": any(run.commit for run in runs[-_MOST_ROWS:]),
        "left_out": max(0, len(runs) - _MOST_ROWS),
        "damaged": plural(len(damaged), "damaged run", "damaged runs") if damaged else "",
        "steps": _steps(found),
    }


def history_charts(runs: Sequence[ArchivedRun], measure: str) -> list[Chart]:
    """The history of one measure, for a run's own page; none where there is a single run."""
    measures, known = _known(runs)
    systems = _at_first(runs, known)
    found = build_series(runs, [measure], systems) if measure in measures else []
    if max((len(one.points) for one in found), default=0) < 2:
        return []
    by_name = {run.name: run for run in runs}
    return [_chart([(one, series_steps(one, by_name)) for one in found], measure, measure)]


def _known(runs: Sequence[ArchivedRun]) -> tuple[list[str], list[str]]:
    """Measures and systems, those of the last runs first; what is by chance comes last."""
    newest = list(reversed(runs))
    measures = [label for run in newest for held in run.manifest["summary"].values() for label in held]
    systems = list(dict.fromkeys(system for run in newest for system in run.systems))
    chance = {name for run in runs for name in run.manifest.get("by_chance") or ()}
    return list(dict.fromkeys(measures)), sorted(systems, key=lambda name: name in chance)


def _at_first(runs: Sequence[ArchivedRun], systems: Sequence[str]) -> list[str]:
    """The systems to show where none is named: not what is by chance, if there is anything else."""
    chance = {name for run in runs for name in run.manifest.get("by_chance") or ()}
    return ([name for name in systems if name not in chance] or list(systems))[:_MOST_SYSTEMS]


def _chart(found: Sequence[Found], title: str, measure: str) -> Chart:
    return history_chart(*legend_lines(found), title, measure)


def _steps(found: Sequence[Found]) -> list[dict[str, Any]]:
    """Return what stepped between two runs, the newest first, and what changed there."""
    held: dict[tuple[str, str, str], list[tuple[str, SeriesStep]]] = {}
    for series, steps in found:
        for one in steps:
            held.setdefault((one.after.time, one.after.name, one.before.name), []).append((series.system, one))
    return [
        {
            "run": run,
            "run_before": before,
            "time": display_time(time),
            "moved": own,
            "causes": [str(one) for one in own[0][1].changed[:_CAUSES_SHOWN]],
            "more": max(0, len(own[0][1].changed) - _CAUSES_SHOWN),
        }
        for (time, run, before), own in sorted(held.items(), reverse=True)
    ]
