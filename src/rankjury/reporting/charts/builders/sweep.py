"""Recall against the time that a query takes: of indexes in a report, and of the settings of sweeps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankjury.core.text import plural
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import Recorded
from rankjury.reporting.charts.builders.measures import interval_name, style_places
from rankjury.reporting.charts.spec import Mark, Ring, Scatter, ScatterPoint
from rankjury.retrieval.bench.result import Indexed
from rankjury.stats.formatting import format_interval, format_percent, format_value, interval_decimals
from rankjury.stats.resampling import Bounds

if TYPE_CHECKING:
    from rankjury.retrieval.bench.points import Point as Setting
    from rankjury.retrieval.bench.sweep_result import Cost, Sweep

_LOG_FROM = 6.0
"""Times are by their ratio where the longest is so many times the shortest."""
_CLOCKS = ("p95", "p50")
_MOST_BUILDS = 12
"""Builds with a colour of their own; where there are more, each sweep has one."""
_MOST_LABELS = 40
"""Points that are all labelled; of more, only those on the frontier are."""
_OUTCOMES = {
    "sure": "the cheapest that meets the target",
    "tied": "may be the cheapest that meets the target",
    "unsure": "the cheapest that may meet the target",
}


def frontier_chart(report: Report) -> Scatter | None:
    """Return recall and latency of systems with an index; None where no system has both."""
    recorded = {name: _recorded(report, name) for name in report.systems}
    recalls = {
        name: next((label for label in values if label.startswith("ann_recall@")), "")
        for name, values in recorded.items()
    }
    points: list[ScatterPoint] = []
    clock = ""
    for clock in _CLOCKS:
        for name, values in recorded.items():
            recall, latency = values.get(recalls[name]), values.get(f"latency_{clock}_ms")
            if recall is not None and latency is not None:
                title = (
                    f"{name}: recall {_told(recall.value, recall.ci)}, {clock} {_told(latency.value, latency.ci)} ms"
                )
                points.append(ScatterPoint(name, latency.value, recall.value, latency.ci, recall.ci, title=title))
        if points:
            break
    else:
        return None
    # A point is dominated where another is at least as good both ways, and better in one.
    points = [replace(one, on_frontier=not any(_beats(other, one) for other in points)) for one in points]
    ks = {label.rpartition("@")[2] for label in recalls.values() if label}
    label = f"recall@{next(iter(ks))}" if len(ks) == 1 else "recall"
    hollow = " Hollow: another index is at least as good." if not all(point.on_frontier for point in points) else ""
    return _scatter(
        points,
        clock,
        title=f"{label} against {clock.upper()} latency",
        description=f"Recall against exact search and {clock.upper()} latency of each index, with "
        f"{interval_name(report)}s; up and left is better. {'; '.join(point.title for point in points[:8])}.",
        y_label=f"{label} against exact search",
        places=style_places(report, [point.name for point in points]),
        footnote=f"Lines: {interval_name(report)}s.{hollow}",
    )


def _recorded(report: Report, system: str) -> dict[str, Recorded]:
    """Return a system's recorded values, and what was found of its index where they lack it."""
    index = report.section(Indexed, system)
    return (index.figures() if index is not None else {}) | dict(report.systems[system].recorded)


def _scatter(points: Sequence[ScatterPoint], clock: str, **more: Any) -> Scatter:
    times = [end for point in points for end in (point.x, *(point.x_ends or ()))]
    far = min(times) > 0 and max(times) > _LOG_FROM * min(times)
    x_label = f"{clock.upper()} latency, milliseconds" + (" (log scale)" if far else "")
    return Scatter(points=tuple(points), x_label=x_label, log_x=far, y_most=1.0, **more)


def _beats(other: ScatterPoint, one: ScatterPoint) -> bool:
    return other.x <= one.x and other.y >= one.y and (other.x < one.x or other.y > one.y)


def _told(value: float, ci: Bounds | None) -> str:
    return f"{format_value(value, interval_decimals(ci))}" + (f" {format_interval(ci)}" if ci else "")


def sweeps_chart(sweeps: Sequence["Sweep"], by: Sequence["Cost"] = ()) -> Scatter:
    """Return the measured settings of sweeps: a line for each build, and rings around the cheapest (``by``)."""
    builds = dict.fromkeys((sweep.name, point.build_title) for sweep in sweeps for point in sweep.comparable)
    by_build = len(builds) <= _MOST_BUILDS
    points: list[ScatterPoint] = []
    rings: list[Ring] = []
    labels: dict[str, str] = {}
    for group, sweep in enumerate(sweeps):
        names = _label_names(sweep, by_build)
        labels[sweep.name] = " / ".join(names)
        frontier = [id(setting) for setting in sweep.frontier()]
        found: dict[int, ScatterPoint] = {}
        for setting in sweep.comparable:
            build = f"{sweep.name} " * (len(sweeps) > 1) + setting.build_title
            name = build if by_build else sweep.name
            found[id(setting)] = _setting_point(setting, name, names, group, id(setting) in frontier)
        points += found.values()
        choice = sweep.cheapest(by=by[group] if by else "p95") if sweep.aims else None
        if choice is not None and choice.outcome != "none":
            chosen = [found[id(one)] for one in (choice.point, *choice.rivals) if one is not None]
            rings.append(Ring(_OUTCOMES[choice.outcome], tuple(chosen), faint=choice.outcome != "sure"))
    ks = sorted({sweep.k for sweep in sweeps})
    targets = dict.fromkeys(sweep.target for sweep in sweeps if sweep.target is not None)
    limits = dict.fromkeys(sweep.limit_p95_ms for sweep in sweeps if sweep.limit_p95_ms is not None)
    recall = f"recall@{ks[0]}" if len(ks) == 1 else "recall"
    return _scatter(
        points,
        "p95",
        title=", ".join(f"{one.name} ({one.engine}, {one.items:,} × {one.dimensions:,})" for one in sweeps),
        description=f"{recall.capitalize()} and P95 latency of {plural(len(points), 'setting', 'settings')}; up and "
        "left is better.",
        y_label=recall,
        rings=tuple(rings),
        x_marks=tuple(Mark(limit, f"limit {limit:g} ms") for limit in limits),
        y_marks=tuple(Mark(target, f"target {target:g}") for target in targets),
        labelled=len(points) <= _MOST_LABELS,
        footnote=_sweeps_footnote(sweeps, labels, len(points)),
    )


def _setting_point(setting: "Setting", name: str, names: Sequence[str], group: int, on_frontier: bool) -> ScatterPoint:
    assert setting.p95 is not None and setting.recall is not None  # it is comparable
    values = {**setting.build, **setting.search}
    return ScatterPoint(
        name,
        setting.p95.ms,
        setting.recall,
        setting.p95.ci,
        setting.recall_ci,
        on_frontier,
        title=f"{setting.title}: recall {_told(setting.recall, setting.recall_ci)}, p95 "
        f"{_told(setting.p95.ms, setting.p95.ci)} ms",
        label="/".join(_value(values[one]) for one in names),
        group=group,
        line=f"{group} {setting.build_title}",
    )


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _label_names(sweep: "Sweep", by_build: bool) -> list[str]:
    """Return the parameters in which searches differ; and builds, where the legend does not distinguish them."""
    values: dict[str, set[Any]] = {}
    for point in sweep.points:
        for name, value in {**point.build, **point.search}.items():
            values.setdefault(name, set()).add(value)
    differing = [name for name, found in values.items() if len(found) > 1]
    searched = [name for name in differing if any(name in point.search for point in sweep.comparable)]
    return searched if searched and by_build else differing


def _sweeps_footnote(sweeps: Sequence["Sweep"], labels: Mapping[str, str], drawn: int) -> str:
    """Say what labels and bars are, what is wanted, over how many queries, and what is not in the chart."""
    from rankjury.reporting.tables.sweep import format_targets

    wanted, missing = {}, {}
    for sweep in sweeps:
        wanted[sweep.name] = format_targets(sweep, sweep.cheapest()) if sweep.aims else ""
        counts = [f"{len(sweep.of(status))} {status}" for status in ("pruned", "skipped", "failed") if sweep.of(status)]
        missing[sweep.name] = f"{', '.join(counts)} of {len(sweep.points)} settings" if counts else ""
    levels = {format_percent(sweep.level) for sweep in sweeps if sweep.level is not None}
    notes = {
        "Labels": _by_sweep(labels) + (" (of the frontier)" if drawn > _MOST_LABELS else ""),
        "Target": _by_sweep(wanted),
        "Bars": f"{levels.pop()} intervals" if len(levels) == 1 else "",
        "Over": _by_sweep({sweep.name: plural(sweep.queries, "query", "queries") for sweep in sweeps}),
        "Not drawn": _by_sweep(missing),
    }
    text = ". ".join(f"{title}: {note}" for title, note in notes.items() if note)
    return f"{text}." if text else ""


def _by_sweep(notes: Mapping[str, str]) -> str:
    """Once where all say the same."""
    if len(set(notes.values())) == 1:
        return next(iter(notes.values()))
    return "; ".join(f"{text} ({name})" for name, text in notes.items() if text)
