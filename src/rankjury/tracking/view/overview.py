"""The list of runs: newest first, filtered and cut into pages here, so that it is quick for thousands of runs.

A plan's history for pages: charts with bands and steps, a table of runs, and what changed at each step."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from rankjury.core.text import plural
from rankjury.errors import DataError, UnknownName
from rankjury.reporting.charts.history import history_chart
from rankjury.reporting.html.page import PageChart
from rankjury.stats.formatting import format_interval, format_value, interval_decimals
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.files import display_time, sort_key
from rankjury.tracking.archive.history import (
    Series,
    SeriesStep,
    build_series,
    default_systems,
    legend_lines,
    measures_and_systems,
    series_steps,
)
from rankjury.tracking.archive.run import ArchivedRun
from rankjury.tracking.archive.store import RUNS
from rankjury.tracking.view.open_run import LruCache, OpenRun
from rankjury.tracking.view.server import PageRequest, RequestRefused

_KEPT_OPEN = 4


class RunCatalog:
    """Looked up by whole names among those that are there: no path is ever made of what somebody asks for."""

    def __init__(self, archive: Archive, beside: Sequence[ArchivedRun] = ()) -> None:
        self.archive = archive
        home = (archive.path / RUNS).resolve()
        self._beside = {run.name: run for run in beside if run.path.resolve().parent != home}
        self._opened: LruCache[str, OpenRun] = LruCache(_KEPT_OPEN)

    def runs(self) -> list[ArchivedRun]:
        """Oldest first."""
        own = self.archive.runs()
        if not self._beside:
            return own
        names = {run.name for run in own}
        beside = [run for run in self._beside.values() if run.name not in names]
        return sorted((*own, *beside), key=lambda run: sort_key(run.time, run.name))

    def run(self, name: str) -> ArchivedRun:
        """Look a run up by its whole name; a damaged one says what is wrong with it."""
        try:
            return self.archive.named(name)
        except UnknownName as error:
            if name not in self._beside:
                raise RequestRefused(404, "there is no such run here; it may have been pruned") from error
        return self._beside[name]

    def open(self, name: str) -> OpenRun:
        """The last few stay open."""
        run = self.run(name)
        return self._opened.get(str(run.path), lambda: OpenRun(run))

    def baselines(self) -> dict[str, str]:
        """By plan, the name of its run; none where these cannot be read."""
        with suppress(DataError):
            return self.archive.baselines
        return {}

    def running(self) -> list[dict[str, Any]]:
        return self.archive.running()

    @property
    def state(self) -> Hashable:
        """What pages over all runs depend on: they stay the same while this does."""
        return self.archive.version, tuple(sorted(self.baselines().items()))

    def damaged(self) -> list[tuple[str, str]]:
        """By name, what cannot be read, with the reason in one line."""
        found = [(one.name, one.reason) for one in self.archive.damaged]
        try:
            self.archive.baselines  # noqa: B018
        except DataError as error:
            found.append(("baselines.json", error.found))
        return found


PAGE = 50
_MOST_PAGES = 1_000_000
_MOST_MEANS = 5
_MOST_SEARCHED = 20_000


@dataclass(frozen=True)
class SystemMean:
    """A system under the first measure of a run."""

    system: str
    value: str
    ci: str


def list_context(shelf: RunCatalog, request: PageRequest) -> dict[str, Any]:
    """What ``/`` shows: parameters ``text``, ``plan``, ``run`` (only these) and ``page``."""
    text, plan, only = request.text("text"), request.text("plan"), request.all("run")
    page = request.number("page", 1, _MOST_PAGES)
    runs = shelf.runs()
    words = text.lower().split()
    found = [
        run
        for run in reversed(runs)
        if (not plan or run.plan == plan)
        and (not only or run.name in only)
        and (not words or all(word in _searched(run) for word in words))
    ]
    pages = max(1, -(-len(found) // PAGE))
    page = min(max(page, 1), pages)
    shown = found[(page - 1) * PAGE : page * PAGE]
    baselines = shelf.baselines()
    asked = [("text", text), ("plan", plan), *(("run", name) for name in only)]
    held = [(key, value) for key, value in asked if value]
    lines = [list_row(run, baselines) for run in shown]
    return {
        "title": "Runs",
        "lines": lines,
        "commits": any(line["commit"] for line in lines),
        "told": plural(len(found), "run", "runs") + (f" of {len(runs):,}" if len(found) < len(runs) else ""),
        "total": len(runs),
        "plans": sorted({run.plan for run in runs}),
        "text": text,
        "plan": plan,
        "only": only,
        "page": page,
        "pages": pages,
        "earlier": f"/?{urlencode([*held, ('page', page + 1)])}" if page < pages else None,
        "later": f"/?{urlencode([*held, ('page', page - 1)])}" if page > 1 else None,
        "damaged": shelf.damaged(),
        "fingerprint": list_fingerprint(runs, baselines),
        "archive": str(shelf.archive.path),
    }


@lru_cache(maxsize=_MOST_SEARCHED)
def _searched(run: ArchivedRun) -> str:
    """What a filter looks at; a run does not change."""
    commit = (run.manifest.get("git") or {}).get("commit") or ""
    return "\n".join((run.name, run.plan, run.verdict or "", display_time(run.time), commit, *run.systems)).lower()


def list_row(run: ArchivedRun, baselines: Mapping[str, str]) -> dict[str, Any]:
    """What the list shows of a run; ``more`` is how many systems it leaves out."""
    means = headline_means(run)
    queries = run.manifest.get("queries")
    return {
        "name": run.name,
        "time": display_time(run.time),
        "plan": run.plan,
        "verdict": run.verdict,
        "measure": next(iter(run.headline), ""),
        "means": means[:_MOST_MEANS],
        "more": max(0, len(means) - _MOST_MEANS),
        "is_baseline": baselines.get(run.plan) == run.name,
        "same_as": run.manifest.get("same_inputs_as"),
        "commit": run.commit,
        "queries": f"{queries:,}" if isinstance(queries, int) else "",
    }


def headline_means(run: ArchivedRun) -> list[SystemMean]:
    """Under the first of its headline measures; a random order is not told, unless there is nothing else."""
    label = next(iter(run.headline), "")
    chance = set(run.manifest.get("by_chance") or ())
    systems = [name for name in run.systems if name not in chance] or run.systems
    found = []
    for name in systems:
        entry = run.manifest["summary"][name].get(label)
        if entry is not None and entry.get("mean") is not None:
            ci = (entry["ci"][0], entry["ci"][1]) if entry.get("ci") else None
            shown = format_value(entry["mean"], interval_decimals(ci))
            found.append(SystemMean(name, shown, format_interval(ci) if ci else ""))
    return found


def list_fingerprint(runs: Sequence[ArchivedRun], baselines: Mapping[str, str]) -> str:
    """Differs where the list does: a page that shows it is told to look again."""
    last = runs[-1].name if runs else ""
    return f"{len(runs)} {last} {' '.join(f'{plan}={name}' for plan, name in sorted(baselines.items()))}"


def running_json(shelf: RunCatalog) -> dict[str, Any]:
    """What ``/api/running`` answers: plans at work, and what the list of runs is by now."""
    runs = shelf.runs()
    kept = ("name", "started", "updated", "what", "done", "of")
    found = [{key: one.get(key) for key in kept} for one in shelf.running()]
    return {"running": found, "runs": list_fingerprint(runs, shelf.baselines())}


_MOST_RUNS = 1_000
"""In a chart; of more the last are shown."""
_MOST_ROWS = 200
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
    measures, systems = measures_and_systems(runs)
    measure = request.text("measure") or runs[-1].headline[0]
    wanted = list(request.all("system")) or default_systems(runs, systems)
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
    chart = history_chart(*legend_lines(found), f"{plan}: {measure}", measure) if found else None
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
        "chart": chart and PageChart.of(chart, "history", measure, 832.0),
        "columns": [series.system for series, _ in found],
        "rows": rows,
        "baseline": shelf.baselines().get(plan),
        "verdicts": any(run.verdict for run in runs[-_MOST_ROWS:]),
        "commits": any(run.commit for run in runs[-_MOST_ROWS:]),
        "left_out": max(0, len(runs) - _MOST_ROWS),
        "damaged": plural(len(damaged), "damaged run", "damaged runs") if damaged else "",
        "steps": _steps(found),
    }


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
