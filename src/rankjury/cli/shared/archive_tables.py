"""Tables of archived runs for the terminal and files: one run, two compared, and the history of a plan."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from itertools import groupby
from textwrap import wrap
from typing import Literal, cast

from rankjury.cli.shared.console import print_line
from rankjury.core.text import escape_spreadsheet, json_text, plural
from rankjury.evaluation.gate import Gate
from rankjury.evaluation.scores import QueryData
from rankjury.reporting.console import console, print_block, print_table
from rankjury.reporting.sections import render_sections
from rankjury.reporting.tables import CellStyle, TableCell, about_line, first_labels, make_table, recorded_table
from rankjury.reporting.tables.differences import (
    before_after_table,
    changes_table,
    format_tally,
    measure_table,
    single_measure_table,
    slices_table,
)
from rankjury.reporting.writers.gate import verdict_counts, verdicts_table
from rankjury.stats.formatting import format_value, interval_decimals
from rankjury.tracking.archive.compare import RunComparison
from rankjury.tracking.archive.files import HASH_SHOWN, display_time
from rankjury.tracking.archive.history import HistoryPoint, Series, SeriesStep, legend_lines
from rankjury.tracking.archive.listing import UnreadableRun
from rankjury.tracking.archive.run import ArchivedRun

_SLICES_SHOWN = 8
_INPUTS_SHOWN = 20
_CHANGES_SHOWN = 25
_SCHEMA = "rankjury.history/1"
_ROWS_ALONE, _ROWS_OF_MANY = 20, 8
_COLUMNS = ("time", "day", "run", "value", "change", "mark", "verdict", "commit")
_HEADERS = {"time": "time (UTC)", "day": "UTC", "mark": ""}
_CAUSES_SHOWN = 4
_HEIGHT, _MARGIN = 7, 9
_FEWEST_DRAWN = 3


@dataclass(frozen=True)
class History:
    """Series over the runs of a plan, each with its steps."""

    plan: str
    runs: Sequence[ArchivedRun]
    series: Sequence[tuple[Series, list[SeriesStep]]]
    baseline: str | None
    """The name of the run that others are compared with."""
    whole: bool
    """Whether all rows are to be shown."""

    @cached_property
    def by_name(self) -> dict[str, ArchivedRun]:
        return {run.name: run for run in self.runs}


def print_history(history: History) -> None:
    """On standard output."""
    screen = console()
    screen.print(f"{history.plan}: {plural(len(history.runs), 'run', 'runs')}")
    for series, steps in history.series:
        screen.print(f"\n{series.measure} of {series.system}")
        for line in chart_lines(series, steps, screen.width):
            screen.print(line, no_wrap=True, overflow="crop")
        _print_rows(history, series, steps)
        for step in steps:
            for line in _step_lines(step, screen.width):
                screen.print(line)


def _print_rows(history: History, series: Series, steps: Sequence[SeriesStep]) -> None:
    shown = _ROWS_ALONE if len(history.series) == 1 else _ROWS_OF_MANY
    points = series.points if history.whole else series.points[-shown:]
    stepped = {one.after.name: one for one in steps}
    rows = []
    for point in points:
        step = stepped.get(point.run)
        row = _row(point, history.by_name[point.run], step, history.baseline)
        styles: dict[str, CellStyle] = {
            "change": step.verdict if step else "",
            "verdict": cast(CellStyle, row["verdict"]),
        }
        rows.append([TableCell(row[name], styles.get(name, "")) for name in _COLUMNS])
    numbers = (_COLUMNS.index("value"), _COLUMNS.index("change"))
    text = [place for place in range(len(_COLUMNS)) if place not in numbers]
    found = make_table([_HEADERS.get(name, name) for name in _COLUMNS], rows, text=text)
    # Days instead of times where there is too little room, unless the year would not be known then.
    same_year = len({display_time(point.time)[:4] for point in points}) == 1
    wide = found.without(_HEADERS["day"]).dropping()
    narrow = found.without(_HEADERS["time" if same_year else "day"]).dropping("commit", "verdict")
    print_table(replace(wide, narrower=(narrow, *narrow.narrower)))
    if len(points) < len(series.points):
        console().print(f"… {len(series.points) - len(points):,} earlier: --last {len(series.points)} shows them")


def _row(point: HistoryPoint, run: ArchivedRun, step: SeriesStep | None, baseline: str | None) -> dict[str, str]:
    marks = [*(["step"] if step else []), *(["baseline"] if run.name == baseline else [])]
    return {
        "time": display_time(point.time),
        "day": display_time(point.time)[5:],
        "run": run.digest[:HASH_SHOWN],
        "value": f"{point.mean_shown} {point.ci_shown}".strip(),
        "change": point.change_shown,
        "mark": ", ".join(marks),
        "verdict": run.verdict or "",
        "commit": run.commit,
    }


def _step_lines(one: SeriesStep, width: int) -> Iterator[str]:
    """``step at 2026-11-18 05:27 (d1234567): 0.612 → 0.655 …`` and under it what changed."""
    sure = f", {one.certainty}" if one.certainty else ""
    head = f"step at {display_time(one.after.time)} ({one.after.digest[:HASH_SHOWN]}): {one.levels_shown}{sure}"
    told = [str(cause) for cause in one.changed[:_CAUSES_SHOWN]]
    if len(one.changed) > _CAUSES_SHOWN:
        told.append(f"… {len(one.changed) - _CAUSES_SHOWN} more: rankjury diff {one.before.name} {one.after.name}")
    yield from wrap(head, width, break_long_words=False, subsequent_indent="  ")
    for cause in told or ["nothing that is known of changed"]:
        yield from wrap(cause, width, initial_indent="  ", subsequent_indent="    ")


def chart_lines(series: Series, steps: Sequence[SeriesStep], width: int) -> list[str]:
    """A chart of plain text: a dot a run, its interval as a line, and a mark under every step; none of under three."""
    points = series.points[-(width - _MARGIN) :]
    ends = [end for point in points for end in (point.mean, point.low, point.high) if end is not None]
    if sum(point.mean is not None for point in points) < _FEWEST_DRAWN:
        return []
    low, high = min(ends), max(ends)
    apart = 2 if 2 * len(points) <= width - _MARGIN else 1
    rows = [[" "] * (apart * len(points)) for _ in range(_HEIGHT)]

    def row_of(value: float) -> int:
        return round((high - value) / (high - low) * (_HEIGHT - 1)) if high > low else _HEIGHT // 2

    for place, point in enumerate(points):
        if point.low is not None and point.high is not None:
            for row in range(row_of(point.high), row_of(point.low) + 1):
                rows[row][apart * place] = "│"
        if point.mean is not None:
            rows[row_of(point.mean)][apart * place] = "●"
    begins = {one.after.name for one in steps}
    marks = "".join(("▲" if point.run in begins else " ").ljust(apart) for point in points)
    labels = [format_value(end, interval_decimals((low, high))) if high > low else f"{end:.6g}" for end in (high, low)]
    names = [labels[0], *[""] * (_HEIGHT - 2), labels[1] if high > low else ""]
    lines = [f"{name:>{_MARGIN - 2}} ┤{''.join(row)}".rstrip() for name, row in zip(names, rows, strict=True)]
    lines += [f"{'':{_MARGIN}}{marks}".rstrip()] if marks.strip() else []
    return lines if len(points) == len(series.points) else [f"(the last {len(points)} runs)", *lines]


def history_to_json(history: History, damaged: Sequence[UnreadableRun] = ()) -> str:
    """Return all that is known as JSON, with the runs of the archive that cannot be read."""
    form = {
        "schema": _SCHEMA,
        "plan": history.plan,
        "baseline": history.baseline,
        "runs": [
            {
                "run": run.name,
                "time": run.time,
                "digest": run.digest,
                "verdict": run.verdict,
                "git": run.manifest.get("git"),
            }
            for run in history.runs
        ],
        "damaged": [{"run": one.name, "reason": one.reason} for one in damaged],
        "series": [one.to_json() | {"steps": [step.to_json() for step in steps]} for one, steps in history.series],
    }
    return json_text(form)


def history_to_csv(history: History) -> str:
    """A row for each run, system and measure."""
    file = StringIO()
    out = csv.writer(file, lineterminator="\n")
    figures = ["mean", "low", "high", "se", "n", "difference"]
    out.writerow(["time", "run", "plan", "system", "measure", *figures, "step", "baseline", "verdict", "commit"])
    for series, steps in history.series:
        begins = {one.after.name for one in steps}
        for point in series.points:
            run = history.by_name[point.run]
            found = [getattr(point, name) for name in figures]
            marks = [int(run.name in begins), int(run.name == history.baseline)]
            told = [run.verdict, (run.manifest.get("git") or {}).get("commit")]
            named = [point.time, run.name, history.plan, series.system, series.measure]
            cells = ["" if cell is None else cell for cell in (*named, *found, *marks, *told)]
            out.writerow([escape_spreadsheet(cell) if isinstance(cell, str) else cell for cell in cells])
    return file.getvalue()


def history_to_picture(history: History, form: Literal["png", "svg"]) -> bytes:
    """Draw all series in one chart, with a mark where any of them steps."""
    from rankjury.reporting.charts.history import history_chart
    from rankjury.reporting.charts.matplotlib import to_picture

    measures = ", ".join(dict.fromkeys(series.measure for series, _ in history.series))
    return to_picture(history_chart(*legend_lines(history.series), f"{history.plan}: {measures}", measures), form)


def print_run(run: ArchivedRun, *, is_baseline: bool) -> None:
    """Print a run: what was found first, what it was made of last."""
    report = run.report
    print_line(f"{run.name}{' (baseline)' if is_baseline else ''}")
    _print_text(" · ".join(_about(run)))
    gate = report.section(Gate)
    if gate is not None:
        print()
        print_table(verdicts_table(gate))
        print(verdict_counts(gate))
    labels, others = first_labels(report)
    for label in labels:
        print()
        print_table(measure_table(report, label))
    if others:
        _print_text(f"and {plural(len(others), 'other measure', 'other measures')}: {', '.join(others)}")
    recorded = recorded_table(report, everything=False)
    if recorded:
        print()
        print_table(recorded)
    slices = slices_table(report, labels[0], losing=report.baseline is not None)
    if slices:
        print_line(f"\n{labels[0]} by slice, worst first")
        print_table(slices.first(_SLICES_SHOWN).dropping("p", ""))
        if len(slices.rows) > _SLICES_SHOWN:
            print(f"… {len(slices.rows) - _SLICES_SHOWN:,} more: rankjury show -o report.html has them")
    for _, block in render_sections(report, "console"):
        if block.own_tables or (block.lines and not block.core_tables):
            print()
            print_block(replace(block, tables=block.own_tables))
    for title, lines in (("Warnings", report.warning_lines), ("Made of", list(_made_of(run)))):
        if lines:
            print(f"\n{title}")
            for line in lines:
                _print_text(line, indent="  ")


def _about(run: ArchivedRun) -> Iterator[str]:
    manifest = run.manifest
    yield f"{display_time(run.time)} UTC"
    yield about_line(run.report)
    if manifest.get("seconds") is not None:
        yield f"{manifest['seconds']:.1f}\u00a0s"
    if run.commit:
        yield f"commit {run.commit}"
    if manifest.get("same_inputs_as"):
        yield f"the same plan and inputs as {manifest['same_inputs_as']}"


def _print_text(text: str, indent: str = "") -> None:
    screen = console()
    for line in wrap(text, screen.width, initial_indent=indent, subsequent_indent=f"{indent}  "):
        screen.print(line)


def _made_of(run: ArchivedRun) -> Iterator[str]:
    """Return plan, inputs, versions, packages, machine and files, one line each."""
    manifest = run.manifest
    plan = manifest.get("plan") or {}
    yield f"plan {plan.get('file') or run.plan}, digest {run.digest[:HASH_SHOWN]}, seed {manifest.get('seed')}"
    inputs = list((manifest.get("inputs") or {}).items())
    shown = [f"{name} {digest[:HASH_SHOWN] if digest else 'unknown'}" for name, digest in inputs[:_INPUTS_SHOWN]]
    if shown:
        more = f", {len(inputs) - _INPUTS_SHOWN:,} more" if len(inputs) > _INPUTS_SHOWN else ""
        yield f"inputs: {', '.join(shown)}{more}"
    declared = {
        name: known["declared"]
        for name, known in (manifest.get("versions") or {}).items()
        if isinstance(known, Mapping) and "declared" in known
    }
    if declared:
        yield f"declared: {', '.join(f'{name} {value}' for name, value in declared.items())}"
    yield f"packages: {', '.join(f'{name} {version}' for name, version in (manifest.get('packages') or {}).items())}"
    machine = manifest.get("machine") or {}
    about_it = [machine.get("platform"), machine.get("processor"), f"{machine.get('cores')} cores"]
    yield f"machine: {', '.join(str(one) for one in about_it if one)}, Python {machine.get('python')}"
    yield f"files in {run.path}: {', '.join(f'{name} {format_size(size)}' for name, size in run.files.items())}"


def format_size(octets: int) -> str:
    """``164 kB``, ``1.3 MB``."""
    size = float(octets)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def print_compared(compared: RunComparison, baselines: Mapping[str, str]) -> None:
    """Print two runs: what changed, every system beside itself, the queries that lost most, verdicts."""
    for word, run in (("before", compared.before), ("after", compared.after)):
        mark = " (baseline)" if baselines.get(run.plan) == run.name else ""
        console().print(f"{word:<6}  {display_time(run.time)}  {run.name}{mark}")
    print("\nWhat changed")
    causes = [str(one) for one in compared.changed]
    more = [f"… {len(causes) - _CHANGES_SHOWN} more: --json has them"] if len(causes) > _CHANGES_SHOWN else []
    for line in [*causes[:_CHANGES_SHOWN], *more] or ["nothing that is known of"]:
        _print_text(line, indent="  ")
    _print_comparisons(compared)
    _print_losses(compared)
    if compared.verdicts:
        print("\nVerdicts")
        for one in compared.verdicts:
            was, now = (str(one[side] or "none") for side in ("before", "after"))
            part = f", {one['slice']}" if one["slice"] else ""
            _print_text(f"{was} → {now}: {one['target']} {one['wanted']} ({one['system']}{part})", indent="  ")


def _print_comparisons(compared: RunComparison) -> None:
    for label, found in groupby(compared.comparisons, key=lambda one: one.measure):
        print()
        print_table(
            single_measure_table(before_after_table(list(found), compared.resampling.level, ("before", "after")), label)
        )
    asked = compared.queries
    only = [f"{asked[side]:,} only {side}" for side in ("before", "after") if asked[side]]
    over = f"{plural(asked['common'], 'query', 'queries')} that both asked" + (f" ({', '.join(only)})" if only else "")
    if compared.comparisons:
        _print_text(f"paired over {over} · p: sign-flip test, Holm's correction")
    for line in compared.not_compared:
        _print_text(line, indent="  ")


def _print_losses(compared: RunComparison) -> None:
    first = next((one.measure for one in compared.comparisons), None)
    for one in compared.comparisons:
        losses = [loss for loss in compared.losses if loss.system == one.system]
        if one.measure != first or one.whole or not (one.better or one.worse):
            continue
        console().print(f"\n{format_tally(one)}" + ("; largest losses:" if losses else ""))
        if losses:
            run = compared.after
            texts = run.tables.query_texts(loss.query for loss in losses)
            names = run.tables.item_names(move.item for loss in losses for move in loss.moves)  # no others are read
            report = replace(run.report, queries=QueryData({}, query_texts=texts, names=names))
            print_table(changes_table(report, losses, texts=True))
