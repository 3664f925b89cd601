"""A history in a terminal and in files: a chart and a table for each system, and the steps in words."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from json import dumps
from textwrap import wrap
from typing import Literal, cast

from rankjury.core.text import escape_spreadsheet, plural
from rankjury.reporting.console import console, print_table
from rankjury.reporting.tables import CellStyle, TableCell, make_table
from rankjury.stats.formatting import format_value, interval_decimals
from rankjury.tracking.archive.files import HASH_SHOWN, display_time
from rankjury.tracking.archive.history import HistoryPoint, Series, SeriesStep, legend_lines
from rankjury.tracking.archive.listing import UnreadableRun
from rankjury.tracking.archive.run import ArchivedRun

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
    return dumps(form, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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
