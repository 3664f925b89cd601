"""How scale.py calls rankjury and its peers, on which data, and what it makes of their times.

Uses the standard library only, as the measuring process has to stay small (see `harness`).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness import (
    Command,
    Results,
    Summary,
    measure_process,
    measure_rounds,
    read_through,
    render_table,
    report_progress,
    worker_command,
)
from options import find_rankjury_python

DEPTH = 100
# Raise this when the generated content changes, so that data cached by an older version is not reused.
DATA_VERSION = 1


def prepare(rows: int, order: str, arguments: argparse.Namespace) -> Path:
    """The folder of `ranking` and `gold`, made unless it is there, and in the system's cache."""
    folder: Path = arguments.data / f"{rows}-{DATA_VERSION}"
    if not (folder / order).exists():
        report_progress(f"making {rows:,} rows, {order}")
        task = (folder, str(rows // DEPTH), order)
        measure_process(worker_command(find_rankjury_python(arguments), "scale_data.py", *task))
        report_progress("")
    for file in (folder / order).rglob("*.parquet"):
        read_through(file)
    return folder / order


def rankjury_command(data: Path, arguments: argparse.Namespace, *options: str, measures: Iterable[str]) -> Command:
    wanted = [part for measure in measures for part in ("-m", measure)]
    return [
        *(arguments.rankjury, "evaluate", data / "gold", data / "ranking", *wanted, *options),
        *("--memory", arguments.memory, "--temp", arguments.data, "--json", "--quiet"),
    ]


def spark_options(arguments: argparse.Namespace) -> tuple[str, ...]:
    return ("--on", "spark", "--master", arguments.master)


def case_name(order: str, rows: int) -> str:
    return f"{rows / 1e6:g} M, {order}"


def describe(one: Summary, rows: int, start: Summary) -> Results:
    """One measurement, with what is left of it without starting: nothing, where a busy machine was slower to start."""
    working = one.seconds - start.seconds
    per_second = rows / working if working > 0 else math.inf
    return {**one.as_result(), "rows": rows, "working_seconds": working, "rows_per_second": per_second}


def run_against(ways: Mapping[str, Command], starts: Mapping[str, Command], arguments: argparse.Namespace) -> Results:
    """Every way at the largest size, and what starting it takes, in turns."""
    commands = {**{f"start {name}": command for name, command in starts.items()}, **ways}
    measured = measure_rounds(commands, arguments.rounds)
    return {
        name: {
            **describe(measured[name], arguments.rows, measured[f"start {name}"]),
            "start": measured[f"start {name}"].as_result(),
            "output": measured[name].output,
        }
        for name in ways
    }


def print_table(title: str, found: Mapping[str, Results], arguments: argparse.Namespace) -> None:
    first = next(iter(found.values()))["rows_per_second"]
    rows = [
        (
            name,
            f"{one['seconds']:.2f}",
            f"{one['processor_seconds']:.2f}",
            f"{one['working_seconds']:.2f}",
            f"{one['rows_per_second']:,.0f}" if one["working_seconds"] > 0 else "-",
            f"{first / one['rows_per_second']:.2f}" if one["working_seconds"] > 0 else "-",
            f"{one['peak_megabytes']:,.0f}",
        )
        for name, one in found.items()
    ]
    headings = ("what", "seconds", "processor", "without starting", "rows / s", "seconds a row / first", "peak MB")
    print(f"\n{title}, best of {arguments.rounds}:\n\n{render_table(headings, rows)}", flush=True)


def figures(printed: str) -> Results:
    """What a report says of the ranking, without where it came from."""
    systems: Results = json.loads(printed)["systems"]
    return systems
