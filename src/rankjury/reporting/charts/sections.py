"""Recall against the time that a query takes: of indexes in a report, and of the settings of sweeps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from rankjury.core.text import plural
from rankjury.evaluation.drift import Drift
from rankjury.evaluation.report import Report
from rankjury.evaluation.scores import RecordedValue
from rankjury.evaluation.sections import ScoreHistogram, Stability
from rankjury.reporting.charts.measures import interval_name, style_places
from rankjury.reporting.charts.spec import Bars, Dot, DotPlot, DotRow, HistogramChart, Mark, Ring, Scatter, ScatterPoint
from rankjury.retrieval.bench.result import IndexResult
from rankjury.retrieval.diagnostics import GoldSpaces, SpaceDiagnostics
from rankjury.stats.formatting import NO_VALUE, format_percent, format_value, format_with_interval

if TYPE_CHECKING:
    from rankjury.retrieval.bench.sweep_result import Cost, SweepPoint as Setting, SweepResult

_LOG_FROM = 6.0
"""Times have a logarithmic axis where the longest is this many times the shortest."""
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
_BINS = 30
_ALIKE = 3.0
"""An axis that several share may be this many times as wide as the narrowest of them."""
_NEXT_TO_NOTHING = 1e-3
"""A spread below this share of where it lies is rounding, as of normalised vectors of 16 bits."""
_MOST_STRIPS = 12
_NEAR = 0.5
"""As a share of the largest: how far apart lone values may be that share an axis."""


def frontier_chart(report: Report) -> Scatter | None:
    """Return recall and latency of systems with an index; None where no system has both."""
    recorded = {name: _recorded_values(report, name) for name in report.systems}
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
                found, took = (format_with_interval(value.value, value.ci) for value in (recall, latency))
                title = f"{name}: recall {found}, {clock} {took} ms"
                points.append(ScatterPoint(name, latency.value, recall.value, latency.ci, recall.ci, title=title))
        if points:
            break
    else:
        return None

    def is_beaten(point: ScatterPoint) -> bool:
        return any(
            other.x <= point.x and other.y >= point.y and (other.x, other.y) != (point.x, point.y) for other in points
        )

    points = [replace(point, on_frontier=not is_beaten(point)) for point in points]
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


def _recorded_values(report: Report, system: str) -> dict[str, RecordedValue]:
    """Return a system's recorded values, and what was found of its index where they lack it."""
    index = report.section(IndexResult, system)
    return (index.figures() if index is not None else {}) | dict(report.systems[system].recorded)


def _scatter(points: Sequence[ScatterPoint], clock: str, **more: Any) -> Scatter:
    times = [end for point in points for end in (point.x, *(point.x_ends or ()))]
    far = min(times) > 0 and max(times) > _LOG_FROM * min(times)
    x_label = f"{clock.upper()} latency, milliseconds" + (" (log scale)" if far else "")
    return Scatter(points=tuple(points), x_label=x_label, log_x=far, y_most=1.0, **more)


def sweeps_chart(sweeps: Sequence["SweepResult"], by: Sequence["Cost"] = ()) -> Scatter:
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
            chosen = [found[id(setting)] for setting in (choice.point, *choice.rivals) if setting is not None]
            rings.append(Ring(_OUTCOMES[choice.outcome], tuple(chosen), faint=choice.outcome != "sure"))
    ks = sorted({sweep.k for sweep in sweeps})
    targets = dict.fromkeys(sweep.target for sweep in sweeps if sweep.target is not None)
    limits = dict.fromkeys(sweep.limit_p95_ms for sweep in sweeps if sweep.limit_p95_ms is not None)
    recall = f"recall@{ks[0]}" if len(ks) == 1 else "recall"
    return _scatter(
        points,
        "p95",
        title=", ".join(f"{sweep.name} ({sweep.engine}, {sweep.items:,} × {sweep.dimensions:,})" for sweep in sweeps),
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
        title=f"{setting.title}: recall {format_with_interval(setting.recall, setting.recall_ci)}, p95 "
        f"{format_with_interval(setting.p95.ms, setting.p95.ci)} ms",
        label="/".join(_format_setting(values[param]) for param in names),
        group=group,
        line=f"{group} {setting.build_title}",
    )


def _format_setting(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _label_names(sweep: "SweepResult", by_build: bool) -> list[str]:
    """Return the parameters in which searches differ; and builds, where the legend does not distinguish them."""
    values: dict[str, set[Any]] = {}
    for point in sweep.points:
        for name, value in {**point.build, **point.search}.items():
            values.setdefault(name, set()).add(value)
    differing = [name for name, found in values.items() if len(found) > 1]
    searched = [name for name in differing if any(name in point.search for point in sweep.comparable)]
    return searched if searched and by_build else differing


def _sweeps_footnote(sweeps: Sequence["SweepResult"], labels: Mapping[str, str], drawn: int) -> str:
    """Return what labels and bars are, what is wanted, over how many queries, and what is not in the chart."""
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
    """Return the notes of sweeps, once where all are the same."""
    if len(set(notes.values())) == 1:
        return next(iter(notes.values()))
    return "; ".join(f"{text} ({name})" for name, text in notes.items() if text)


def score_charts(report: Report) -> list[HistogramChart]:
    """Return the scores of first items, similarities of each query's best item, and lengths of vectors."""
    return [*first_charts(report), *top1_charts(report), *norm_charts(report)]


def first_charts(report: Report) -> list[HistogramChart]:
    """Return the scores of first items; the footnote says of how many queries a fallback gave the items."""
    histograms, many = report.sections_of(ScoreHistogram), report.unit[1]
    strips = [_bars(name, bars.edges, bars.counts, "item", "items") for name, bars in histograms.items()]
    charts = []
    for chart in _charts(report, strips, "Scores of the first items", "score", "items"):
        known = {bars.name: number for bars in chart.strips if (number := histograms[bars.name].fallback_queries)}
        note = f" Without {many} that the fallback (popularity) served: " + ", ".join(
            f"{name} {number:,}" for name, number in known.items()
        )
        if len(set(known.values())) == 1 and len(known) == len(chart.strips):
            note = f" Without {next(iter(known.values())):,} {many} that the fallback (popularity) served"
        charts.append(replace(chart, footnote=f"{chart.footnote}{note}.".strip()) if known else chart)
    return charts


def top1_charts(report: Report) -> list[HistogramChart]:
    """Return the similarities of each query's best item, in bins that all systems share."""
    top1 = {name: np.asarray(stability.queries.top1) for name, stability in report.sections_of(Stability).items()}
    values = {name: finite for name, array in top1.items() if len(finite := array[np.isfinite(array)])}
    if not values:
        return []
    low, high = (
        min(float(array.min()) for array in values.values()),
        max(float(array.max()) for array in values.values()),
    )
    width, many = (high - low) / _BINS, report.unit[1]
    edges = (*(low + place * width for place in range(_BINS)), high) if low + width > low else (low, high)
    bins = len(edges) - 1
    strips = []
    for name, array in values.items():
        places = (bins * (array - low) / ((high - low) or 1.0)).astype(np.int64)  # the last edge is of the last bin
        counts = np.bincount(np.minimum(places, bins - 1), minlength=bins).tolist()
        strips.append(Bars(name, edges, tuple(counts), plural(len(array), "query", "queries")))
    return _charts(report, strips, f"Similarity of the best item, over {many}", "similarity of the best item", many)


def norm_charts(report: Report) -> list[HistogramChart]:
    """Return the lengths of vectors, of systems and of other spaces."""
    gold = report.section(GoldSpaces)
    spaces = [*report.sections_of(SpaceDiagnostics).items(), *(gold.spaces.items() if gold is not None else ())]
    strips = [
        _bars(name, space.norm.histogram.edges, space.norm.histogram.counts, "vector", "vectors")
        for name, space in spaces
    ]
    return _charts(report, strips, "Lengths of vectors", "length (L2 norm)", "vectors")


def _bars(name: str, edges: Sequence[float], counts: Sequence[int], one: str, many: str) -> Bars | None:
    """Return a histogram; one bin where all values are equal but for rounding, None where it is empty or damaged."""
    ordered = all(map(isfinite, edges)) and list(edges) == sorted(edges)
    if len(edges) != len(counts) + 1 or not sum(counts) or not ordered:
        return None
    note, low, high = plural(sum(counts), one, many), edges[0], edges[-1]
    if len(counts) > 1 and high - low <= _NEXT_TO_NOTHING * max(abs(low), abs(high)):
        middle = format_value((low + high) / 2, 3)
        return Bars(name, (low, high), (sum(counts),), f"{note}, all {middle}")
    return Bars(name, tuple(edges), tuple(counts), note)


def _charts(report: Report, strips: Sequence[Bars | None], title: str, x_label: str, what: str) -> list[HistogramChart]:
    """Return charts of systems whose ranges are alike: on another's axis some would be a few pixels wide."""
    groups: list[list[Bars]] = []
    for bars in strips:
        if bars is None:
            continue
        for group in groups:
            if _alike([*group, bars]):
                group.append(bars)
                break
        else:
            groups.append([bars])
    charts = []
    for group in groups:
        shown = tuple(group[:_MOST_STRIPS])
        of = f" of {shown[0].name}" if len(group) == 1 else ""
        spans = (f"{bars.name} from {bars.edges[0]:.4g} to {bars.edges[-1]:.4g}, {bars.note}" for bars in shown[:8])
        chart = HistogramChart(
            title=title + of,
            description=f"{title}{of}: how many {what} have which {x_label}. {'; '.join(spans)}.",
            x_label=x_label,
            y_label=f"number of {what}",
            strips=shown,
            places=style_places(report, [bars.name for bars in shown]),
            footnote="" if len(shown) == len(group) else f"The first {len(shown)} of {len(group)}.",
        )
        charts.append(chart)
    return charts


def _alike(strips: Sequence[Bars]) -> bool:
    spans = [(bars.edges[0], bars.edges[-1]) for bars in strips]
    whole = max(high for _, high in spans) - min(low for low, _ in spans)
    widths = [high - low for (low, high), bars in zip(spans, strips, strict=True) if len(bars.counts) > 1]
    return whole <= _ALIKE * min(widths) if widths else whole <= _NEAR * max(abs(high) for _, high in spans)


def drift_chart(report: Report) -> DotPlot | None:
    """Return every value of the rule as a share of what it was; the band is what it may move. None without drift.

    Means of similarities have intervals where the same queries were asked before and after.
    """
    drifts = report.sections_of(Drift)
    if not drifts:
        return None
    names = dict.fromkeys(move.figure for drift in drifts.values() for move in drift.moved)
    rows = []
    for name in names:
        dots = [_dot(drift, name, system, series) for series, (system, drift) in enumerate(drifts.items())]
        rows.append(DotRow(name, tuple(dot for dot in dots if dot is not None)))
    allowed = max(drift.allowed for drift in drifts.values())
    verdicts = ", ".join(f"{name} {drift.outcome}" for name, drift in drifts.items())
    sources = sorted({drift.old_source for drift in drifts.values() if drift.old_source})
    since = f" since {', '.join(sources)}" if sources else ""
    starred = any(dot.shown.endswith("*") for row in rows for dot in row.dots)
    return DotPlot(
        title=f"Drift{since}",
        description=f"How far mean and spread of similarities and lengths moved{since}, as shares of what they were; "
        f"allowed is ±{format_percent(allowed)}. Verdict: {verdicts}.",
        x_label="change, as a share of the earlier figure",
        rows=tuple(rows),
        series=tuple(drifts),
        places=style_places(report, list(drifts)),
        reference=0.0,
        reference_label=f"allowed ±{format_percent(allowed)}",
        band=(-allowed, allowed) if allowed else None,
        percent=True,
        footnote="* as a share of the mean: a spread next to 0 doubles by rounding alone." if starred else "",
    )


def _dot(drift: Drift, name: str, system: str, series: int) -> Dot | None:
    moved = next((change for change in drift.moved if change.figure == name), None)
    if moved is None:
        return None
    change = moved.change if isfinite(moved.change) else None
    shown = NO_VALUE if change is None else format_percent(change, 2, signed=True) if change else "0 %"
    shown += "*" if change is not None and moved.relative_to == "mean" else ""
    old, new = (f"{value:.4g}".replace("-", "−") if isfinite(value) else NO_VALUE for value in (moved.old, moved.new))
    within = {True: "within", False: "beyond", None: "cannot be judged"}[moved.within]
    title = f"{system}, {name}: {shown} ({old} → {new}), {within}"
    # Where other queries were asked before, the paired value is another one, and its interval is not the dot's.
    measure = "top1" if name == "top1 mean" else name
    ends = next((test.comparison.relative_ci for test in drift.tested if test.comparison.measure == measure), None)
    low, high = ends if ends and change is not None and ends[0] <= change <= ends[1] else (None, None)
    return Dot(change, low, high, series, title=title, shown=shown)
