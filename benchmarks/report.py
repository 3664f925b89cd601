#!/usr/bin/env python3
"""Measures the report that people open, and the archive that remembers.

  html     10,000 queries x 4 systems with texts, names, slices and intervals: seconds to make the page, and its size
           with the data and without
  browser  that page in Chromium: its first paint and the way from one query to the next by the keyboard, as the browser
           itself measures them; checks that the page asks for nothing and complains of nothing
  history  the whole command `rankjury history` over 1,000 archived runs

Exit status: 0 if all went well, whatever the speed; 1 if the page is at fault or a tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from harness import (
    REPOSITORY,
    Results,
    measure_process,
    measure_rounds,
    render_table,
    report_progress,
    run_parts,
    verdict,
    worker_command,
)
from options import add_shared_options, find_rankjury_python

QUERIES, QUICK_QUERIES, SWITCHES, RUNS, QUICK_RUNS = 10_000, 500, 50, 1_000, 50
MOST_SECONDS, MOST_BYTES, MOST_BYTES_EMPTY = 3.0, 1_500_000, 150_000
MOST_FIRST_PAINT, MOST_SWITCH, MOST_HISTORY = 1_000.0, 50.0, 1.0
MADE: dict[Path, Results] = {}
SAMPLE = REPOSITORY / "src" / "rankjury" / "plan" / "samples" / "movies" / "rankjury.toml"


def median(values: list[float]) -> float:
    """The upper of two in the middle. The standard library's is hidden by `statistics.py` of this folder."""
    return sorted(values)[len(values) // 2]


def run_worker(script: str, arguments: argparse.Namespace, *options: str | Path) -> str:
    report_progress(f"{script} {' '.join(map(str, options))}")
    output = measure_process(worker_command(find_rankjury_python(arguments), script, *options)).output
    report_progress("")
    return output


def make_page(arguments: argparse.Namespace) -> tuple[Path, Results]:
    """The page of the drawn evaluation, and what it took; made once for all parts."""
    queries = QUICK_QUERIES if arguments.quick else QUERIES
    folder: Path = arguments.data / f"report-{queries}"
    page = folder / "report.html"
    if page in MADE:
        return page, MADE[page]
    plan = run_worker("report_data.py", arguments, folder, str(queries)).strip()
    output = run_worker("report_page.py", arguments, plan, page, "--rounds", str(arguments.rounds))
    return page, MADE.setdefault(page, json.loads(output))


def run_html(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    _, found = make_page(arguments)
    size = f"{found['queries']:,} queries x {found['systems']} systems"
    seconds, octets, empty = min(found["seconds"]), found["bytes"], found["bytes_empty"]
    rows = [
        ("the plan carried out, seconds", f"{found['plan_seconds']:.2f}"),
        ("the page made and written, seconds", f"{seconds:.2f}"),
        ("the page, bytes", f"{octets:,}"),
        ("the same without single queries, bytes", f"{found['bytes_of_form']:,}"),
        ("the page of an empty report, bytes", f"{empty:,}"),
    ]
    print(f"\n{size}, best of {arguments.rounds}:\n\n{render_table(('', 'found'), rows)}", flush=True)
    verdicts = [
        verdict(seconds < MOST_SECONDS, f"{size}: the page takes less than {MOST_SECONDS:g} s: {seconds:.2f} s"),
        verdict(octets < MOST_BYTES, f"{size}: the page has less than {MOST_BYTES:,} bytes: {octets:,}"),
        verdict(empty < MOST_BYTES_EMPTY, f"without data it has less than {MOST_BYTES_EMPTY:,} bytes: {empty:,}"),
    ]
    return found, verdicts, True


def run_browser(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    page, made = make_page(arguments)
    options = ("--rounds", str(arguments.rounds), "--switches", str(SWITCHES))
    found: Results = json.loads(run_worker("report_browser.py", arguments, page, *options))
    rows = [
        (title, f"{min(found[name]):.0f}", f"{median(found[name]):.0f}", f"{max(found[name]):.0f}")
        for name, title in (
            ("first_paint", "first contentful paint"),
            ("rows", "the first queries are shown"),
            ("switches", f"to another query, {SWITCHES} times"),
        )
    ]
    table = render_table(("milliseconds", "least", "median", "most"), rows)
    size = f"{made['queries']:,} queries"
    print(f"\n{size} in Chromium {found['chromium']}, {arguments.rounds} rounds:\n\n{table}", flush=True)
    paint, switch, slowest = median(found["first_paint"]), median(found["switches"]), max(found["switches"])
    verdicts = [
        verdict(paint < MOST_FIRST_PAINT, f"{size}: first paint in less than {MOST_FIRST_PAINT:g} ms: {paint:.0f} ms"),
        verdict(switch < MOST_SWITCH, f"{size}: another query in less than {MOST_SWITCH:g} ms: {switch:.1f} ms"),
        verdict(slowest < MOST_SWITCH, f"{size}: the slowest of {SWITCHES}, too: {slowest:.1f} ms"),
        verdict(not found["faults"], f"the page asks for nothing and complains of nothing: {found['faults'] or 'so'}"),
    ]
    return found, verdicts, not found["faults"]


def run_history(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    """An archive of copies of one real run."""
    wanted = QUICK_RUNS if arguments.quick else RUNS
    archive: Path = arguments.data / f"archive-{wanted}"
    shutil.rmtree(archive, ignore_errors=True)
    os.environ["RANKJURY_ARCHIVE"] = str(archive)
    measure_process([arguments.rankjury, "run", SAMPLE, "-o", arguments.data / "movies"])
    runs = int(run_worker("report_archive.py", arguments, archive, str(wanted)))
    command = [arguments.rankjury, "history"]
    measure_process(command)  # not counted: fills the system's file cache
    summary = measure_rounds({"history": command}, arguments.rounds)["history"]
    text = f"rankjury history over {runs:,} runs takes less than {MOST_HISTORY:g} s: {summary.ended_seconds:.2f} s"
    print(f"\n{text}, best of {arguments.rounds}", flush=True)
    found = summary.as_result() | {"runs": runs}
    return found, [verdict(summary.ended_seconds < MOST_HISTORY, text)], runs == wanted


PARTS = {"html": run_html, "browser": run_browser, "history": run_history}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_QUERIES} queries and {QUICK_RUNS} runs")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=Path(tempfile.gettempdir()) / "rankjury-bench",
        help="where the generated data is kept (default: rankjury-bench in the folder for temporary files)",
    )
    add_shared_options(parser, rounds=5)
    arguments = parser.parse_args()
    return run_parts("report", PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
