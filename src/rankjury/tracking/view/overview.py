"""Pages over all runs: the list of runs, and the history of a plan with its chart and steps.

The list is filtered and cut into pages on the server, so that it is quick for thousands of runs.
"""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from rankjury.core.text import plural
from rankjury.errors import DataError, UnknownName
from rankjury.reporting.charts.history import history_chart
from rankjury.reporting.html.page import PageChart
from rankjury.stats.formatting import format_interval, format_value, interval_decimals
from rankjury.tracking.archive.archive import Archive
from rankjury.tracking.archive.files import display_time, shows_seconds, sort_key
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


class RunCatalog:
    """Runs of an archive and others, looked up by whole names: no path is ever made of a request."""

    def __init__(self, archive: Archive, others: Sequence[ArchivedRun] = ()) -> None:
        self.archive = archive
        home = (archive.path / RUNS).resolve()
        self._others = {run.name: run for run in others if run.path.resolve().parent != home}
        self._opened: LruCache[str, OpenRun] = LruCache(4)

    def runs(self) -> list[ArchivedRun]:
        """Return all runs, oldest first."""
        archived = self.archive.runs()
        if not self._others:
            return archived
        runs = {**self._others, **{run.name: run for run in archived}}
        return sorted(runs.values(), key=lambda run: sort_key(run.time, run.name))

    def run(self, name: str) -> ArchivedRun:
        """Look a run up by its whole name; a damaged one says what is wrong with it."""
        try:
            return self.archive.named(name)
        except UnknownName as error:
            if name not in self._others:
                raise RequestRefused(404, "there is no such run here; it may have been pruned") from error
        return self._others[name]

    def open(self, name: str) -> OpenRun:
        """Return a run with its data; the last few are cached."""
        run = self.run(name)
        return self._opened.get(str(run.path), lambda: OpenRun(run))

    def baselines(self) -> dict[str, str]:
        """Return the names of the baselines by plan; none where these cannot be read."""
        with suppress(DataError):
            return self.archive.baselines
        return {}

    @property
    def state(self) -> Hashable:
        """What pages over all runs depend on: they stay the same while this does."""
        return self.archive.version, tuple(sorted(self.baselines().items()))

    def damaged(self) -> list[tuple[str, str]]:
        """Return names of runs and files that cannot be read, with the reason in one line."""
        damaged = [(run.name, run.reason) for run in self.archive.damaged]
        try:
            self.archive.baselines  # noqa: B018
        except DataError as error:
            damaged.append(("baselines.json", error.found))
        return damaged


PAGE = 50
_MAX_MEANS = 5


def list_context(catalog: RunCatalog, request: PageRequest) -> dict[str, Any]:
    """Return the data of ``/``: parameters ``text``, ``plan``, ``run`` (only these) and ``page``."""
    text, plan, only = request.text("text"), request.text("plan"), request.all("run")
    page = request.number("page", 1, 1_000_000)
    runs = catalog.runs()
    words = text.lower().split()
    matches = [
        run
        for run in reversed(runs)
        if plan in ("", run.plan) and (not only or run.name in only) and all(word in _searched(run) for word in words)
    ]
    pages = max(1, -(-len(matches) // PAGE))
    page = min(max(page, 1), pages)
    baselines = catalog.baselines()
    filters = [
        (key, value) for key, value in (("text", text), ("plan", plan), *(("run", name) for name in only)) if value
    ]
    shown = matches[(page - 1) * PAGE : page * PAGE]
    seconds = shows_seconds(run.time for run in shown)
    lines = [_list_row(run, baselines, seconds=seconds) for run in shown]
    return {
        "title": "Runs",
        "lines": lines,
        "commits": any(line["commit"] for line in lines),
        "count": plural(len(matches), "run", "runs") + (f" of {len(runs):,}" if len(matches) < len(runs) else ""),
        "total": len(runs),
        "plans": sorted({run.plan for run in runs}),
        "text": text,
        "plan": plan,
        "only": only,
        "page": page,
        "pages": pages,
        "earlier": f"/?{urlencode([*filters, ('page', page + 1)])}" if page < pages else None,
        "later": f"/?{urlencode([*filters, ('page', page - 1)])}" if page > 1 else None,
        "damaged": catalog.damaged(),
        "fingerprint": _list_fingerprint(runs, baselines),
        "archive": str(catalog.archive.path),
    }


@lru_cache(maxsize=20_000)
def _searched(run: ArchivedRun) -> str:
    """Return the text that a filter searches; a run does not change."""
    commit = (run.manifest.get("git") or {}).get("commit") or ""
    return "\n".join((run.name, run.plan, run.verdict or "", display_time(run.time), commit, *run.systems)).lower()


def _list_row(run: ArchivedRun, baselines: Mapping[str, str], *, seconds: bool) -> dict[str, Any]:
    """Return the row of a run: its systems under the first measure; ``more`` is how many of them are omitted."""
    label = next(iter(run.headline), "")
    random = run.manifest.get("by_chance") or ()
    means = []
    for name in [name for name in run.systems if name not in random] or run.systems:
        entry = run.manifest["summary"][name].get(label)
        if entry is not None and entry.get("mean") is not None:
            ci = (entry["ci"][0], entry["ci"][1]) if entry.get("ci") else None
            value = format_value(entry["mean"], interval_decimals(ci))
            means.append({"system": name, "value": value, "ci": format_interval(ci) if ci else ""})
    queries = run.manifest.get("queries")
    return {
        "name": run.name,
        "time": display_time(run.time, seconds=seconds),
        "plan": run.plan,
        "verdict": run.verdict,
        "measure": label,
        "means": means[:_MAX_MEANS],
        "more": max(0, len(means) - _MAX_MEANS),
        "is_baseline": baselines.get(run.plan) == run.name,
        "same_as": run.manifest.get("same_inputs_as"),
        "commit": run.commit,
        "queries": f"{queries:,}" if isinstance(queries, int) else "",
    }


def _list_fingerprint(runs: Sequence[ArchivedRun], baselines: Mapping[str, str]) -> str:
    """Return a text that changes with the list: a page reloads when it does."""
    last = runs[-1].name if runs else ""
    return f"{len(runs)} {last} {' '.join(f'{plan}={name}' for plan, name in sorted(baselines.items()))}"


def running_json(catalog: RunCatalog) -> dict[str, Any]:
    """Return the data of ``/api/running``: the progress of plans, and the fingerprint of the list."""
    keys = ("name", "started", "updated", "what", "done", "of")
    running = [{key: process.get(key) for key in keys} for process in catalog.archive.running()]
    return {"running": running, "runs": _list_fingerprint(catalog.runs(), catalog.baselines())}


_MAX_ROWS = 200
_MAX_CAUSES = 8


def history_context(catalog: RunCatalog, request: PageRequest) -> dict[str, Any]:
    """Return the data of ``/history``: parameters ``plan``, ``measure`` and ``system`` (which may repeat)."""
    every = catalog.runs()
    plan = request.text("plan") or (every[-1].plan if every else "")
    runs = [run for run in every if run.plan == plan][-1_000:]
    if not runs:
        found = "there is no run of this plan" if every else "there is no run yet: rankjury run keeps one"
        raise RequestRefused(404, found)
    measures, systems = measures_and_systems(runs)
    measure = request.text("measure") or runs[-1].headline[0]
    wanted = list(request.all("system")) or default_systems(runs, systems)
    by_name = {run.name: run for run in runs}
    stepped = [(series, series_steps(series, by_name)) for series in build_series(runs, [measure], wanted)]
    columns = [
        ({point.run: point for point in series.points}, {step.after.name: step for step in steps})
        for series, steps in stepped
    ]
    shown = runs[: -_MAX_ROWS - 1 : -1]
    seconds = shows_seconds(run.time for run in shown)
    rows = [
        {
            "run": run,
            "time": display_time(run.time, seconds=seconds),
            "figures": [(points.get(run.name), steps.get(run.name)) for points, steps in columns],
        }
        for run in shown
    ]
    chart = history_chart(*legend_lines(stepped), f"{plan}: {measure}", measure) if stepped else None
    damaged = catalog.damaged()
    return {
        "title": f"{plan}: history",
        "plan": plan,
        "plans": sorted({run.plan for run in every}),
        "measure": measure,
        "measures": measures,
        "systems": systems,
        "chosen": wanted,
        "count": plural(len(runs), "run", "runs"),
        "chart": chart and PageChart.of(chart, "history", measure, 832.0),
        "columns": [series.system for series, _ in stepped],
        "rows": rows,
        "baseline": catalog.baselines().get(plan),
        "verdicts": any(run.verdict for run in runs[-_MAX_ROWS:]),
        "commits": any(run.commit for run in runs[-_MAX_ROWS:]),
        "left_out": max(0, len(runs) - _MAX_ROWS),
        "damaged": plural(len(damaged), "damaged run", "damaged runs") if damaged else "",
        "steps": _steps(stepped, seconds=seconds),
    }


def _steps(stepped: Sequence[tuple[Series, Sequence[SeriesStep]]], *, seconds: bool) -> list[dict[str, Any]]:
    """Return the steps between two runs, the newest first, and what changed there."""
    by_runs: dict[tuple[str, str, str], list[tuple[str, SeriesStep]]] = {}
    for series, steps in stepped:
        for step in steps:
            by_runs.setdefault((step.after.time, step.after.name, step.before.name), []).append((series.system, step))
    return [
        {
            "run": run,
            "run_before": before,
            "time": display_time(time, seconds=seconds),
            "moved": moved,
            "causes": [str(difference) for difference in moved[0][1].changed[:_MAX_CAUSES]],
            "more": max(0, len(moved[0][1].changed) - _MAX_CAUSES),
        }
        for (time, run, before), moved in sorted(by_runs.items(), reverse=True)
    ]
