#!/usr/bin/env python3
"""Measures what rankjury's lab adds to the engines that it measures.

  overhead  100,000 x 128 in a FAISS HNSW index: all queries at once by rankjury and by FAISS alone, on the same graph;
  and
            one by one in rankjury's timed loop and in a bare loop; checks that both find the same
  pgvector  loading 100,000 x 384 into pgvector, beside a bare COPY BINARY

Exit status: 0 if all went well, whatever the speed; 1 if results differ or a tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import sys

from harness import (
    HERE,
    Results,
    ToolFailedError,
    measure_process,
    render_table,
    report_progress,
    run_parts,
    verdict,
    worker_command,
)
from options import add_shared_options, find_rankjury_python

ROWS, DIMENSIONS, BATCH, SINGLES = 100_000, 128, 10_000, 2_000
LOADED_ROWS, LOADED_DIMENSIONS = 100_000, 384
MOST_OF_BATCH = 0.05
MOST_MICROSECONDS = 20
MOST_OF_COPY = 1.3
LOADER = "pgvector_loading.py"


def shrink(number: int, arguments: argparse.Namespace) -> int:
    return number // 20 if arguments.quick else number


def run_worker(script: str, arguments: argparse.Namespace, *numbers: int) -> Results:
    report_progress(f"{script} {' '.join(map(str, numbers))}")
    options = (*map(str, numbers), "--rounds", str(arguments.rounds))
    output = measure_process(worker_command(find_rankjury_python(arguments), script, *options)).output
    report_progress("")
    found: Results = json.loads(output)
    return found


def render_overhead(found: Results) -> str:
    rows = []
    for name, title in (("batch", "all queries at once"), ("single", "one by one, median")):
        bare, rankjury = (min(found[name][tool]) * 1e6 for tool in ("bare", "rankjury"))
        rows.append((title, f"{bare:.2f}", f"{rankjury:.2f}", f"{rankjury - bare:+.2f}", f"{rankjury / bare - 1:+.1%}"))
    rows.append(("the loop, asking nothing", "-", f"{max(found['loop']) * 1e6:.2f}", "-", "-"))
    return render_table(("microseconds a query", "FAISS alone", "rankjury", "apart", "share"), rows)


def judge_overhead(size: str, found: Results) -> list[str]:
    batch, single = found["batch"], found["single"]
    share = min(batch["rankjury"]) / min(batch["bare"]) - 1
    loop = max(found["loop"]) * 1e6
    extra = (min(single["rankjury"]) - min(single["bare"])) * 1e6 + loop
    return [
        verdict(
            share < MOST_OF_BATCH,
            f"{size}, all queries at once: less than {MOST_OF_BATCH:.0%} above FAISS alone: {share:+.1%}",
        ),
        verdict(
            loop < MOST_MICROSECONDS,
            f"the closed loop itself takes less than {MOST_MICROSECONDS} microseconds a query: {loop:.2f}",
        ),
        verdict(
            extra < MOST_MICROSECONDS,
            f"{size}, one by one, engine and loop: less than {MOST_MICROSECONDS} microseconds above FAISS alone: "
            f"{extra:+.2f}",
        ),
    ]


def run_overhead(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    rows = shrink(ROWS, arguments)
    found = run_worker("timers.py", arguments, rows, DIMENSIONS, shrink(BATCH, arguments), shrink(SINGLES, arguments))
    size = f"{rows:,} x {DIMENSIONS}"
    print(f"\n{size} in FAISS HNSW, best of {arguments.rounds}:\n\n{render_overhead(found)}", flush=True)
    same = found["same"]
    agreement = verdict(same, "rankjury finds what FAISS alone finds, at once and one by one")
    return found, [*judge_overhead(size, found), agreement], same


def run_pgvector(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    if not (HERE / LOADER).exists():
        raise ToolFailedError(f"no {LOADER} beside this script")
    rows = shrink(LOADED_ROWS, arguments)
    found = run_worker(LOADER, arguments, rows, LOADED_DIMENSIONS)
    bare, rankjury = min(found["bare"]), min(found["rankjury"])
    text = (
        f"loading {rows:,} x {LOADED_DIMENSIONS} into pgvector takes at most {MOST_OF_COPY} x a bare COPY BINARY: "
        f"{rankjury / bare:.2f} x ({rankjury:.2f} s, {bare:.2f} s)"
    )
    return found, [verdict(rankjury <= MOST_OF_COPY * bare, text)], True


PARTS = {"overhead": run_overhead, "pgvector": run_pgvector}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the vectors and queries")
    add_shared_options(parser, rounds=5)
    arguments = parser.parse_args()
    return run_parts("lab", PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
