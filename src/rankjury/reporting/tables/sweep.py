"""Sweeps of indexes in words: tables for the console, Markdown and CSV, JSON, and which setting is the cheapest."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from rankjury.core.text import escape_markdown, json_text, plural
from rankjury.reporting.console import console, print_table
from rankjury.reporting.tables import CellStyle, TableCell, TextTable, csv_text, make_table
from rankjury.reporting.writers.markdown import markdown_table
from rankjury.stats.formatting import NO_VALUE, format_percent, format_value
from rankjury.stats.resampling import Bounds

if TYPE_CHECKING:
    from rankjury.retrieval.bench.latency import Percentile
    from rankjury.retrieval.bench.sweep_result import Cost, SweepChoice, SweepPoint, SweepResult

SCHEMA = "rankjury.sweeps/1"
_MORE = ("p50", "p99", "per second")
_OF_RECALL = 3
"""Decimals: a thousandth of recall is less than the interval of any common set of queries."""
_MAX_SHOWN = 24
"""Settings up to which a terminal shows all; of more only those that matter."""
_RIVALS = 5
"""Settings that are named in a sentence; the table marks all."""
_COSTS = {"p95": "p95", "size": "size", "build": "time to build"}
_FIGURES = (
    *("recall", "recall_low", "recall_high", "recall_p5", "n", "p50_ms", "p95_ms", "p95_low", "p95_high", "p99_ms"),
    *("p95_paired_ms", "qps", "failed_queries", "build_seconds", "size_bytes", "because"),
)


def print_sweep(sweep: "SweepResult", by: "Cost" = "p95", *, full: bool = False) -> None:
    """Print the cheapest setting that meets the target, what was measured, and what was left out and why.

    Of a large grid only the builds with settings on the frontier or near the target are shown, unless ``full``.
    """
    screen = console()
    screen.print(f"{sweep_sentence(sweep, by)}\n")
    about = f"{plural(sweep.items, 'item', 'items')}, {plural(sweep.queries, 'query', 'queries')}"
    screen.print(f"{sweep.name} ({sweep.engine}, {sweep.metric}): {about}\n")
    print_table(sweep_table(sweep, by, marked_only=not full and len(sweep.points) > _MAX_SHOWN))
    for line in (*omitted_lines(sweep), *choice_lines(sweep, by)):
        screen.print(line)


def sweep_table(sweep: "SweepResult", by: "Cost" = "p95", *, marked_only: bool = False) -> TextTable:
    """Return builds, and below each its searches; narrow terminals show no P50, P99 and queries per second.

    ``marked_only``: only settings that are on the frontier, meet the target at the least cost, or failed.
    """
    level = "" if sweep.level is None else f" [{format_percent(sweep.level)}]"
    header = ["setting", f"recall@{sweep.k}{level}", "p95 ms [95 %]", *_MORE, ""]
    marks = _marks(sweep, by)
    rows: list[list[str | TableCell]] = []
    before = None
    shown = [
        point for point in sweep.points if not marked_only or marks.get(id(point), point.status) not in ("", "pruned")
    ]
    for point in shown:
        if dict(point.build) != before:
            before = dict(point.build)
            same = [setting for setting in sweep.of("measured") if dict(setting.build) == before]
            seconds = f"built in {_format_number(same[-1].build_seconds)} s" if same and same[-1].build_seconds else ""
            rows.append([point.build_title, seconds, _format_size(same[-1].size_bytes) if same else "", "", "", "", ""])
        mark = marks.get(id(point), point.status)
        style: CellStyle = "better" if mark == "cheapest" else "fail" if mark == "failed" else ""
        more = [_format_ms(point.p50), _format_ms(point.p99), _format_number(point.qps)]
        beside = more if point.status == "measured" else [NO_VALUE] * 3
        name = f"  {point.search_title}"
        rows.append([name, _format_recall(point), _format_quantile(point.p95), *beside, TableCell(mark, style)])
    hidden = len(sweep.points) - len(shown)
    notes = [f"… {hidden:,} more {'setting' if hidden == 1 else 'settings'} in frontier.csv"] if hidden else []
    table = make_table(header, rows, text=(0, len(header) - 1), wraps=(0,), notes=notes)
    return replace(table, narrower=(table.without(*_MORE),))


def _marks(sweep: "SweepResult", by: "Cost") -> dict[int, str]:
    marks = {id(point): "" for point in sweep.of("measured")}
    marks |= {id(point): f"{point.failed_queries:,} unanswered" for point in sweep.points if point.failed_queries}
    marks |= {id(point): "frontier" for point in sweep.frontier()}
    choice = sweep.cheapest(by=by) if sweep.aims else None
    if choice is not None and choice.outcome != "none":
        marks |= {id(rival): "tied" for rival in choice.rivals}
        marks[id(choice.point)] = "cheapest" if choice.outcome == "sure" else "cheapest?"
    return marks


def omitted_lines(sweep: "SweepResult") -> Iterator[str]:
    """Yield how many settings were not measured, and why."""
    pruned = sweep.of("pruned")
    if pruned:
        settings = plural(len(pruned), "setting was", "settings were")
        yield f"{settings} pruned: a lower one of the same build finds as much, and is no slower"
    reasons: dict[tuple[str, str], list[SweepPoint]] = {}
    for point in (*sweep.of("skipped"), *sweep.of("failed")):
        reasons.setdefault((point.status, point.because or ""), []).append(point)
    for (status, reason), points in reasons.items():
        settings = points[0].title if len(points) == 1 else plural(len(points), "setting", "settings")
        refused = f", as the engine refuses {'it' if len(points) == 1 else 'them'}" if status == "skipped" else ""
        yield f"{settings} {status}{refused}: {reason}"
    if sweep.resumed:
        yield f"{plural(sweep.resumed, 'setting was', 'settings were')} measured by an earlier sweep"


def sweep_sentence(sweep: "SweepResult", by: "Cost" = "p95") -> str:
    """Return the answer of a sweep: the cheapest setting that meets the target, else how close the best came.

    ``Cheapest setting (by p95) of hnsw with recall@10 ≥ 0.95: m=16 ef_search=32 (recall 0.97 …).``
    """
    name, frontier = sweep.name, sweep.frontier()
    if not sweep.aims:
        if not frontier:
            return f"No setting of {name} could be measured."
        ends = " to ".join(_format_setting(sweep, point, by) for point in frontier[:1] + frontier[1:][-1:])
        return f"No target was set for {name}; the frontier has {plural(len(frontier), 'setting', 'settings')}: {ends}."
    choice = sweep.cheapest(by=by)
    wanted = format_targets(sweep, choice)
    if choice.point is None:
        return f"No setting of {name} was measured that could meet {wanted}."
    shown, cost = _format_setting(sweep, choice.point, by), _COSTS[by]
    if choice.outcome == "sure":
        return f"Cheapest setting (by {cost}) of {name} with {wanted}: {shown}."
    if choice.outcome == "tied":
        many = len(choice.rivals) + 1
        return f"{many} settings of {name} with {wanted} cannot be distinguished by {cost}; one of them: {shown}."
    if choice.outcome == "unsure":
        return f"No setting of {name} surely meets {wanted}; the lowest {cost} of those whose means do: {shown}."
    return f"No setting of {name} meets {wanted}; nearest: {shown}."


def choice_lines(sweep: "SweepResult", by: "Cost" = "p95") -> Iterator[str]:
    """Yield what is known beyond the answer: settings that cannot be distinguished, and how costs were compared."""
    choice = sweep.cheapest(by=by) if sweep.aims else None
    if choice is None or choice.point is None:
        return
    if choice.rivals:
        shown = "; ".join(_format_setting(sweep, rival, by) for rival in choice.rivals[:_RIVALS])
        more = len(choice.rivals) - _RIVALS
        yield f"{sweep.name}: the other{'s' * (len(choice.rivals) > 1)}: {shown}{f'; {more} more' if more > 0 else ''}"
    if choice.cheaper is not None:
        yield f"{sweep.name}: cheaper, but not sure to meet it: {_format_setting(sweep, choice.cheaper, by)}"
    if choice.outcome != "none":
        yield from _grounds(sweep, by)


def _grounds(sweep: "SweepResult", by: "Cost") -> Iterator[str]:
    """Say what the costs of the settings were compared by."""
    if by == "p95" and sweep.times is not None:
        settings = f"{len(sweep.times.settings)} settings that meet the target"
        yield (
            f"{sweep.name}: {settings} were timed in {sweep.times.rounds} interleaved rounds of "
            f"{plural(sweep.times.asked, 'query', 'queries')}, and compared in pairs (Wilcoxon, 95 %, corrected)"
        )
    elif by == "build" or (by == "p95" and len(sweep.meeting()) > 1):
        what = "the time to build" if by == "build" else "p95"
        yield f"{sweep.name}: {what} was measured once, and counts as higher only where it is twice as high"


def format_targets(sweep: "SweepResult", choice: "SweepChoice") -> str:
    """``recall@10 ≥ 0.95 and p95 ≤ 20 ms``"""
    recall = "" if choice.recall is None else f"recall@{sweep.k} ≥ {choice.recall:g}"
    time = "" if choice.p95_ms is None else f"p95 ≤ {choice.p95_ms:g} ms"
    return " and ".join(part for part in (recall, time) if part)


def _format_setting(sweep: "SweepResult", point: "SweepPoint", by: "Cost") -> str:
    """Return a setting with the mean P95 of the interleaved rounds where these decide, else of the first one."""
    mean = sweep.times.mean(point) if sweep.times is not None and by == "p95" else None
    p95 = f"p95 {_format_quantile(point.p95)} ms" if mean is None else f"mean p95 {_format_number(mean)} ms"
    size = f", {_format_size(point.size_bytes)}" if point.size_bytes is not None else ""
    built = f", built in {_format_number(point.build_seconds)} s" if by == "build" else ""
    return f"{point.title} (recall {_format_recall(point)}, {p95}{size}{built})"


def sweeps_to_json(sweeps: Sequence["SweepResult"], made: str | None = None) -> str:
    return json_text({"schema": SCHEMA, "made": made, "sweeps": [sweep.to_json() for sweep in sweeps]})


def sweeps_to_markdown(sweeps: Sequence["SweepResult"], by: Sequence["Cost"] = ()) -> str:
    lines: list[str] = []
    for place, sweep in enumerate(sweeps):
        cost = by[place] if by else "p95"
        table = sweep_table(sweep, cost)
        # Indented by spaces that Markdown keeps.
        rows = [["\u00a0" * (len(name) - len(name.lstrip())) + name.lstrip(), *cells] for name, *cells in table.texts]
        lines += [f"### {escape_markdown(sweep.name)}: recall@{sweep.k} and latency", ""]
        lines += [escape_markdown(sweep_sentence(sweep, cost)), "", *markdown_table(make_table(table.columns, rows))]
        remarks = [*omitted_lines(sweep), *choice_lines(sweep, cost)]
        lines += ["", *(f"- {escape_markdown(line)}" for line in remarks), ""]
    return "\n".join(lines)


def sweeps_to_csv(sweeps: Sequence["SweepResult"], by: Sequence["Cost"] = ()) -> str:
    """Return one row per setting, with all digits, and a column per parameter."""
    points = [point for sweep in sweeps for point in sweep.points]
    params = [*dict.fromkeys(f"build.{name}" for point in points for name in point.build)]
    params += [*dict.fromkeys(f"search.{name}" for point in points for name in point.search)]
    header = ["system", "engine", "metric", "k", *params, "status", "frontier", "cheapest", *_FIGURES]
    rows = (row for place, sweep in enumerate(sweeps) for row in _csv_rows(sweep, by[place] if by else "p95"))
    return csv_text(header, ([row.get(name) for name in header] for row in rows))


def _csv_rows(sweep: "SweepResult", by: "Cost") -> Iterator[dict[str, Any]]:
    frontier = {id(point) for point in sweep.frontier()}
    choice = sweep.cheapest(by=by) if sweep.aims else None
    marks: dict[int, str] = {}
    if choice is not None and choice.outcome != "none":
        marks = {id(rival): "cannot be distinguished" for rival in choice.rivals} | {id(choice.point): choice.outcome}
    for point in sweep.points:
        row = vars(sweep) | vars(point) | {"system": sweep.name}
        row |= {f"build.{name}": value for name, value in point.build.items()}
        row |= {f"search.{name}": value for name, value in point.search.items()}
        row |= {"frontier": id(point) in frontier, "cheapest": marks.get(id(point))}
        row["recall_low"], row["recall_high"] = point.recall_ci or (None, None)
        for name, percentile in {"p50": point.p50, "p95": point.p95, "p99": point.p99}.items():
            row[f"{name}_ms"] = None if percentile is None else percentile.ms
        row["p95_paired_ms"] = None if sweep.times is None else sweep.times.mean(point)
        row["p95_low"], row["p95_high"] = (point.p95 and point.p95.ci) or (None, None)
        yield row if point.status == "measured" else row | {"n": None, "failed_queries": None}


def _format_recall(point: "SweepPoint") -> str:
    if point.recall is None:
        return NO_VALUE
    text = format_value(point.recall, _OF_RECALL)
    return text + (_format_ends(point.recall_ci, _OF_RECALL) if point.recall_ci else "")


def _format_quantile(percentile: "Percentile | None") -> str:
    """``0.126 [0.115, 0.170]``; above what was seen, nothing bounds it."""
    if percentile is None:
        return NO_VALUE
    decimals = _decimals(percentile.ms)
    return f"{percentile.ms:.{decimals}f}" + (
        _format_ends(percentile.ci, decimals, percentile.bounded) if percentile.ci else ""
    )


def _format_ends(ci: Bounds, decimals: int, bounded: bool = True) -> str:
    return f" [{ci[0]:.{decimals}f}, {f'{ci[1]:.{decimals}f}' if bounded else '…'}]"


def _format_ms(percentile: "Percentile | None") -> str:
    return NO_VALUE if percentile is None else f"{percentile.ms:.{_decimals(percentile.ms)}f}"


def _decimals(value: float) -> int:
    """Return the decimals for three digits."""
    return 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0


def _format_number(value: float | None) -> str:
    return NO_VALUE if value is None or not isfinite(value) else f"{value:,.{_decimals(value)}f}"


def _format_size(octets: int | None) -> str:
    """Return a size in megabytes of a million bytes."""
    return "" if octets is None else f"{_format_number(octets / 1e6)} MB"
