#!/usr/bin/env python3
"""Measures how fast rankjury splits a log of 20 million rows by time, and how much memory it takes, from file to files.

  parquet  the whole of `rankjury split`: reading, coding ids, cut-offs, counts of cold users and items, writing Parquet
  csv      the same from CSV
  kinds    the other ways of splitting, from Parquet

Beside it a plain sort by time that is sliced at 80 % and 90 % and written as Parquet, in Polars and in pandas (which
reads and writes through Polars); these part rows of one time, and count nothing. Exit status: 0 if all went well,
whatever the speed; 1 if a tool failed or rows were lost; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
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
    run_parts,
    verdict,
    worker_command,
)
from options import add_peers_option, add_shared_options, find_rankjury_python, positive

ROWS, QUICK_ROWS = 20_000_000, 500_000
MOST_MEGABYTES, MOST_SECONDS = 3000, 60
KINDS = ("temporal", "leave-last", "user-fraction", "random")
PEERS = {"polars": "Polars, sort and slice", "pandas": "pandas, sort and slice"}


def peer_command(way: str, log: Path, output: Path, arguments: argparse.Namespace) -> Command:
    output.mkdir(exist_ok=True)
    python = arguments.python if way == "pandas" else find_rankjury_python(arguments)
    return worker_command(python, "split_peers.py", way, log, output)


def rankjury_command(kind: str, log: Path, output: Path, arguments: argparse.Namespace) -> Command:
    return [arguments.rankjury, "split", log, "-o", output, "--kind", kind, "--json", "--quiet"]


def run_file(part: str, arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    log, output = arguments.folder / f"log.{part}", arguments.folder / "output"
    read_through(log)
    commands: dict[str, Command] = {"rankjury": rankjury_command("temporal", log, output / "rankjury", arguments)}
    output.mkdir(exist_ok=True)
    for way in PEERS:
        if way not in arguments.skip:
            commands[way] = peer_command(way, log, output / way, arguments)
    measured = measure_rounds(commands, arguments.rounds)
    names = {"rankjury": "rankjury split"} | PEERS
    print_table(f"{part}, {arguments.rows:,} rows", {names[tool]: one for tool, one in measured.items()}, arguments)
    windows = json.loads(measured["rankjury"].output)["windows"]
    agreed = sum(one["rows"] for one in windows.values()) == arguments.rows
    sizes = ", ".join(f"{name} {one['share']:.6f}" for name, one in windows.items())
    verdicts = [
        verdict(agreed, f"{part}: every row is in a window: {sizes}"),
        *limits(part, measured["rankjury"]),
    ]
    return {tool: one.as_result() for tool, one in measured.items()} | {"windows": windows}, verdicts, agreed


def run_kinds(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    log, output = arguments.folder / "log.parquet", arguments.folder / "output"
    commands = {kind: rankjury_command(kind, log, output / kind, arguments) for kind in KINDS}
    measured = measure_rounds(commands, arguments.rounds)
    print_table(f"kinds, {arguments.rows:,} rows from Parquet", measured, arguments)
    verdicts = [line for kind, one in measured.items() for line in limits(kind, one)]
    return {kind: one.as_result() for kind, one in measured.items()}, verdicts, True


def limits(what: str, one: Summary) -> list[str]:
    return [
        verdict(one.ended_seconds < MOST_SECONDS, f"{what}: within {MOST_SECONDS} s: {one.ended_seconds:.1f} s"),
        verdict(
            one.peak_megabytes < MOST_MEGABYTES, f"{what}: below {MOST_MEGABYTES} MB: {one.peak_megabytes:,.0f} MB"
        ),
    ]


def print_table(title: str, measured: Mapping[str, Summary], arguments: argparse.Namespace) -> None:
    first = next(iter(measured.values())).ended_seconds
    rows = [
        (
            name,
            f"{one.ended_seconds:.2f}",
            f"{one.processor_seconds:.1f}",
            f"{one.ended_seconds / first:.2f}",
            f"{one.peak_megabytes:,.0f}",
        )
        for name, one in measured.items()
    ]
    table = render_table(("what", "seconds", "processor", "/ first", "peak MB"), rows)
    print(f"\n{title}, best of {arguments.rounds}:\n\n{table}", flush=True)


PARTS = {"parquet": partial(run_file, "parquet"), "csv": partial(run_file, "csv"), "kinds": run_kinds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows instead of {ROWS:,}")
    parser.add_argument("--rows", type=positive, default=ROWS, help="rows of the log (default: %(default)s)")
    parser.add_argument("--skip", choices=PEERS, action="append", default=[], help="leave out a tool; repeatable")
    add_peers_option(parser)
    add_shared_options(parser, rounds=1)
    arguments = parser.parse_args()
    arguments.rows = QUICK_ROWS if arguments.quick else arguments.rows
    arguments.folder = Path(tempfile.mkdtemp(prefix="rankjury-splitting-"))
    try:
        report_progress("making the log")
        task = ("make", str(arguments.rows), arguments.folder)
        measure_process(worker_command(find_rankjury_python(arguments), "split_peers.py", *task))
        report_progress("")
        return run_parts("splitting", PARTS, arguments)
    finally:
        shutil.rmtree(arguments.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
