#!/usr/bin/env python3
"""Measures rankjury view: the server over archived runs of 100,000 queries x 4 systems, asked over the wire.

  run      the page of a run, the table of queries sorted and filtered, single queries; first and later times
  compare  two such runs: the comparison itself, its table, single queries with both rankings
  runs     the list of 1,000 runs and their history
  load     50 clients at once over 5,000 runs: the list, filters, a run, its queries, the history; p50 and p95

Exit status: 0 if all went well, whatever the speed; 1 if an answer is wrong or a tool failed; 2 for wrong options.
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
    render_table,
    report_progress,
    run_parts,
    verdict,
    worker_command,
)
from options import add_shared_options, find_rankjury_python

QUERIES, QUICK_QUERIES, RUNS, QUICK_RUNS, LOAD_RUNS = 100_000, 2_000, 1_000, 50, 5_000
MOST_FIRST_ROWS, MOST_ROWS, MOST_QUERY, MOST_LIST, MOST_LOAD = 200.0, 50.0, 50.0, 100.0, 1_000.0
SAMPLE = REPOSITORY / "src" / "rankjury" / "plan" / "samples" / "movies" / "rankjury.toml"
FEW_RESAMPLES = "\n[statistics]\nresamples = 100\n"


def run_worker(script: str, arguments: argparse.Namespace, *options: str | Path) -> str:
    report_progress(f"{script} {' '.join(map(str, options))}")
    output = measure_process(worker_command(find_rankjury_python(arguments), script, *options)).output
    report_progress("")
    return output


def make_archive(arguments: argparse.Namespace) -> Path:
    """Two runs of the drawn evaluation, the second with another ranking; kept for later."""
    queries = QUICK_QUERIES if arguments.quick else QUERIES
    archive: Path = arguments.data / f"view-{queries}"
    if len(list((archive / "runs").glob("[!.]*"))) == 2:
        return archive
    shutil.rmtree(archive, ignore_errors=True)
    os.environ["RANKJURY_ARCHIVE"] = str(archive)
    plan = Path(run_worker("report_data.py", arguments, arguments.data / f"view-data-{queries}", str(queries)).strip())
    lines = plan.read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("targets")) + FEW_RESAMPLES
    for number, dense in enumerate(("dense", "hybrid")):
        report_progress(f"rankjury run, {number + 1} of 2")
        plan.write_text(text.replace('dense = "dense.parquet"', f'dense = "{dense}.parquet"'), encoding="utf-8")
        measure_process([arguments.rankjury, "run", plan, "--quiet"])
    report_progress("")
    return archive


def ask(arguments: argparse.Namespace, archive: Path, part: str) -> Results:
    options = ("--part", part, "--rounds", str(arguments.rounds))
    found: Results = json.loads(run_worker("view_asking.py", arguments, archive, *options))
    rows = [
        (name, f"{own['first']:.0f}", f"{own['median']:.1f}", f"{own['most']:.1f}")
        for name, own in found["asked"].items()
    ]
    table = render_table(("milliseconds", "first", "median of later", "most of later"), rows)
    print(f"\n{found['about']}, {arguments.rounds} rounds:\n\n{table}", flush=True)
    return found


def run_run(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    found = ask(arguments, make_archive(arguments), "run")
    asked, about = found["asked"], found["about"]
    first, later, query = asked["rows"]["first"], asked["rows"]["median"], asked["query"]["most"]
    verdicts = [
        verdict(
            first < MOST_FIRST_ROWS, f"{about}: the first rows in less than {MOST_FIRST_ROWS:g} ms: {first:.0f} ms"
        ),
        verdict(later < MOST_ROWS, f"{about}: other rows in less than {MOST_ROWS:g} ms: {later:.1f} ms"),
        verdict(query < MOST_QUERY, f"{about}: any query in less than {MOST_QUERY:g} ms: {query:.1f} ms"),
    ]
    return found, verdicts, True


def run_compare(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    found = ask(arguments, make_archive(arguments), "compare")
    rows = found["asked"]["rows"]["median"]
    text = f"{found['about']}: rows of both in less than {MOST_ROWS:g} ms: {rows:.1f} ms"
    return found, [verdict(rows < MOST_ROWS, text)], True


def fill_archive(arguments: argparse.Namespace, wanted: int) -> Path:
    """One real run of a sample plan, and copies of it."""
    archive: Path = arguments.data / f"view-archive-{wanted}"
    shutil.rmtree(archive, ignore_errors=True)
    os.environ["RANKJURY_ARCHIVE"] = str(archive)
    measure_process([arguments.rankjury, "run", SAMPLE, "-o", arguments.data / "movies"])
    run_worker("report_archive.py", arguments, archive, str(wanted))
    return archive


def run_runs(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    archive = fill_archive(arguments, QUICK_RUNS if arguments.quick else RUNS)
    found = ask(arguments, archive, "runs")
    listed = found["asked"]["list"]["median"]
    text = f"{found['about']}: the list in less than {MOST_LIST:g} ms: {listed:.1f} ms"
    return found, [verdict(listed < MOST_LIST, text)], True


def run_load(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    archive = fill_archive(arguments, QUICK_RUNS if arguments.quick else LOAD_RUNS)
    options = ("--part", "load", "--rounds", str(max(1, arguments.rounds // 4)))
    found: Results = json.loads(run_worker("view_asking.py", arguments, archive, *options))
    asked = found["asked"]
    rows = [(name, f"{asked[name]:.0f}") for name in ("p50", "p95", "p99", "most")]
    print(f"\n{found['about']}, {asked['requests']:,} requests, {asked['per_second']:.0f} a second:\n")
    print(render_table(("milliseconds", ""), rows), flush=True)
    text = f"{found['about']}: a request in less than {MOST_LOAD:g} ms at p95: {asked['p95']:.0f} ms"
    return found, [verdict(asked["p95"] < MOST_LOAD, text)], True


PARTS = {"run": run_run, "compare": run_compare, "runs": run_runs, "load": run_load}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_QUERIES:,} queries and {QUICK_RUNS} runs")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=Path(tempfile.gettempdir()) / "rankjury-bench",
        help="where the generated data is kept (default: rankjury-bench in the folder for temporary files)",
    )
    add_shared_options(parser, rounds=20)
    arguments = parser.parse_args()
    return run_parts("view", PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
