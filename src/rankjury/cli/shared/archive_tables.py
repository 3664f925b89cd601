"""Tables of archived runs for the terminal and files: one run, two compared, and the history of a plan."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from itertools import groupby
from textwrap import wrap
from typing import Any, Literal, cast

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
from rankjury.reporting.tables.verdicts import verdict_counts, verdicts_table
from rankjury.stats.formatting import format_value, interval_decimals
from rankjury.tracking.archive.compare import MOST_NAMED, RunComparison
from rankjury.tracking.archive.files import HASH_SHOWN, display_time, shows_seconds
from rankjury.tracking.archive.history import Series, SeriesStep, legend_lines, summarize_series
from rankjury.tracking.archive.listing import UnreadableRun
from rankjury.tracking.archive.run import ArchivedRun

_SLICES_SHOWN = 8
_INPUTS_SHOWN = 20
_CHANGES_SHOWN = 25
_ROWS_ALONE, _ROWS_OF_MANY = 20, 8
_CAUSES_SHOWN = 4
_SENTENCES = 3
"""Maximum number of systems with a sentence about their history at the top."""
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
    screen = console()
    screen.print(f"{history.plan}: {plural(len(history.runs), 'run', 'runs')}")
    for series, steps in history.series[:_SENTENCES]:
        screen.print(summarize_series(series, steps, history.baseline))
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
    step_at = {step.after.name: step for step in steps}
    seconds = shows_seconds(point.time for point in points)
    rows: list[list[str | TableCell]] = []
    for point in points:
        run, step = history.by_name[point.run], step_at.get(point.run)
        time, verdict = display_time(point.time, seconds=seconds), run.verdict or ""
        value = f"{point.mean_shown} {point.ci_shown}".strip()
        change = TableCell(point.change_shown, step.verdict if step else "")
        marks = [*(["step"] if step else []), *(["baseline"] if run.name == history.baseline else [])]
        verdict_cell = TableCell(verdict, cast(CellStyle, verdict))
        digest = run.digest[:HASH_SHOWN]
        rows.append([time, time[5:], digest, value, change, ", ".join(marks), verdict_cell, run.commit])
    header = ["time (UTC)", "UTC", "run", "value", "change", "", "verdict", "commit"]
    table = make_table(header, rows, text=(0, 1, 2, 5, 6, 7))
    # Days instead of times where there is too little room, unless the year would not be known then.
    same_year = len({display_time(point.time)[:4] for point in points}) == 1
    narrow = table.without("time (UTC)" if same_year else "UTC").dropping("commit", "verdict")
    print_table(replace(table.without("UTC").dropping(), narrower=(narrow, *narrow.narrower)))
    if len(points) < len(series.points):
        console().print(f"… {len(series.points) - len(points):,} earlier: --last {len(series.points)} shows them")


def _step_lines(step: SeriesStep, width: int) -> Iterator[str]:
    """``step at 2026-11-18 05:27 (d1234567): 0.612 → 0.655 …`` and under it what changed."""
    sure = f", {step.certainty}" if step.certainty else ""
    head = f"step at {display_time(step.after.time)} ({step.after.digest[:HASH_SHOWN]}): {step.levels_shown}{sure}"
    yield from wrap(head, width, break_long_words=False, subsequent_indent="  ")
    causes = [str(cause) for cause in step.changed[:_CAUSES_SHOWN]]
    if len(step.changed) > _CAUSES_SHOWN:
        causes.append(f"… {len(step.changed) - _CAUSES_SHOWN} more: rankjury diff {step.before.name} {step.after.name}")
    for cause in causes or ["no recorded change of inputs, settings or versions"]:
        yield from wrap(cause, width, initial_indent="  ", subsequent_indent="    ")


def chart_lines(series: Series, steps: Sequence[SeriesStep], width: int) -> list[str]:
    """Draw plain text: a dot per run, its interval as a line, a mark under every step; none for under three."""
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
    begins = {step.after.name for step in steps}
    marks = "".join(("▲" if point.run in begins else " ").ljust(apart) for point in points)
    labels = [format_value(end, interval_decimals((low, high))) if high > low else f"{end:.6g}" for end in (high, low)]
    names = [labels[0], *[""] * (_HEIGHT - 2), labels[1] if high > low else ""]
    lines = [f"{name:>{_MARGIN - 2}} ┤{''.join(row)}".rstrip() for name, row in zip(names, rows, strict=True)]
    lines += [f"{'':{_MARGIN}}{marks}".rstrip()] if marks.strip() else []
    return lines if len(points) == len(series.points) else [f"(the last {len(points)} runs)", *lines]


def history_to_json(history: History, damaged: Sequence[UnreadableRun] = ()) -> str:
    """Return all that is known as JSON, with the runs of the archive that cannot be read."""
    form = {
        "schema": "rankjury.history/1",
        "plan": history.plan,
        "baseline": history.baseline,
        "runs": [
            {"run": run.name, "time": run.time, "digest": run.digest, "verdict": run.verdict}
            | {"git": run.manifest.get("git")}
            for run in history.runs
        ],
        "damaged": [{"run": run.name, "reason": run.reason} for run in damaged],
        "series": [line.to_json() | {"steps": [step.to_json() for step in steps]} for line, steps in history.series],
    }
    return json_text(form)


def history_to_csv(history: History) -> str:
    """Return a row for each run, system and measure."""
    file = StringIO()
    out = csv.writer(file, lineterminator="\n")
    figures = ["mean", "low", "high", "se", "n", "difference"]
    out.writerow(["time", "run", "plan", "system", "measure", *figures, "step", "baseline", "verdict", "commit"])
    for series, steps in history.series:
        begins = {step.after.name for step in steps}
        for point in series.points:
            run = history.by_name[point.run]
            cells: list[Any] = [point.time, run.name, history.plan, series.system, series.measure]
            cells += [getattr(point, name) for name in figures]
            cells += [int(run.name in begins), int(run.name == history.baseline), run.verdict]
            cells.append((run.manifest.get("git") or {}).get("commit"))
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
    manifest = run.manifest
    about = [f"{display_time(run.time)} UTC", about_line(report)]
    about += [f"{manifest['seconds']:.1f}\u00a0s"] if manifest.get("seconds") is not None else []
    about += [f"commit {run.commit}"] if run.commit else []
    about += [f"the same plan and inputs as {manifest['same_inputs_as']}"] if manifest.get("same_inputs_as") else []
    _print_text(" · ".join(about))
    for line in report.summary:
        _print_text(line)
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
    for name, block in render_sections(report, "console"):
        if name != Gate.name and (block.own_tables or (block.lines and not block.core_tables)):
            print()
            print_block(replace(block, tables=block.own_tables))
    for title, lines in (("Warnings", report.warning_lines), ("Provenance", list(_made_of(run)))):
        if lines:
            print(f"\n{title}")
            for line in lines:
                _print_text(line, indent="  ")


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
    declared = [
        f"{name} {version['declared']}"
        for name, version in (manifest.get("versions") or {}).items()
        if isinstance(version, Mapping) and "declared" in version
    ]
    if declared:
        yield f"declared: {', '.join(declared)}"
    yield f"packages: {', '.join(f'{name} {version}' for name, version in (manifest.get('packages') or {}).items())}"
    machine = manifest.get("machine") or {}
    facts = [machine.get("platform"), machine.get("processor"), f"{machine.get('cores')} cores"]
    yield f"machine: {', '.join(str(fact) for fact in facts if fact)}, Python {machine.get('python')}"
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
    for line in compared.summary:
        _print_text(line)
    print()
    seconds = shows_seconds([compared.before.time, compared.after.time])
    for word, run in (("before", compared.before), ("after", compared.after)):
        mark = " (baseline)" if baselines.get(run.plan) == run.name else ""
        console().print(f"{word:<6}  {display_time(run.time, seconds=seconds)}  {run.name}{mark}")
    causes = [str(cause) for cause in compared.changed]
    if len(causes) > MOST_NAMED:  # fewer are all in the summary
        print("\nWhat changed")
        more = [f"… {len(causes) - _CHANGES_SHOWN} more: --json has them"] if len(causes) > _CHANGES_SHOWN else []
        for line in [*causes[:_CHANGES_SHOWN], *more]:
            _print_text(line, indent="  ")
    for label, comparisons in groupby(compared.comparisons, key=lambda comparison: comparison.measure):
        table = before_after_table(list(comparisons), compared.resampling.level, ("before", "after"))
        print()
        print_table(single_measure_table(table, label))
    if compared.comparisons:
        queries = compared.queries
        only = [f"{queries[side]:,} only {side}" for side in ("before", "after") if queries[side]]
        over = f"{plural(queries['common'], 'query', 'queries')} in both runs"
        over += f" ({', '.join(only)})" if only else ""
        _print_text(f"paired over {over} · p: sign-flip test, Holm's correction")
    for line in compared.not_compared:
        _print_text(line, indent="  ")
    _print_losses(compared)
    if compared.verdicts:
        print("\nVerdicts")
        for verdict in compared.verdicts:
            was, now = (str(verdict[side] or "none") for side in ("before", "after"))
            part = f", {verdict['slice']}" if verdict["slice"] else ""
            text = f"{was} → {now}: {verdict['target']} {verdict['wanted']} ({verdict['system']}{part})"
            _print_text(text, indent="  ")


def _print_losses(compared: RunComparison) -> None:
    """Print how many queries of each system changed under the first measure, and those that lost most."""
    for comparison in compared.comparisons:
        losses = [loss for loss in compared.losses if loss.system == comparison.system]
        first = comparison.measure == compared.comparisons[0].measure
        if not first or comparison.whole or not (comparison.better or comparison.worse):
            continue
        console().print(f"\n{format_tally(comparison)}" + ("; largest losses:" if losses else ""))
        if losses:
            run = compared.after
            texts = run.tables.query_texts(loss.query for loss in losses)
            names = run.tables.item_names(move.item for loss in losses for move in loss.moves)  # no others are read
            report = replace(run.report, queries=QueryData({}, query_texts=texts, names=names))
            print_table(changes_table(report, losses, texts=True))
