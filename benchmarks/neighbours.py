#!/usr/bin/env python3
"""Measures rankjury's exact nearest neighbours against faiss, scikit-learn and bare matrix multiplication.

  speed   the neighbours of every vector among the others, by cosine, in three sizes: rankjury, faiss.knn,
          scikit-learn, the products alone, and a sort of the full matrix; checks that neighbours agree
  memory  1,000 queries among 1,000,000 vectors: what rankjury needs above the vectors

Vectors are in memory when the clock starts. Exit status: 0 if all went well, whatever the speed; 1 if neighbours
disagree or a tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness import (
    Command,
    Results,
    describe_tool,
    measure_process,
    measure_rounds,
    render_table,
    run_parts,
    verdict,
    worker_command,
)
from options import add_peers_option, add_shared_options, find_rankjury_python

NAMES = {
    "rankjury": "rankjury",
    "rankjury-order": "rankjury, order without scores",
    "faiss": "faiss.knn, as it comes",
    "faiss-tuned": "faiss.knn, BLAS told the processor",
    "sklearn": "scikit-learn, brute",
    "gemm": "products alone (NumPy)",
    "argsort": "full matrix, argsort (NumPy)",
}
SLOW = ("sklearn", "argsort")
FEWER_ROUNDS = 2
LARGEST_MATRIX = 4e9
MOST_OF_FAISS = 1.15
MOST_OF_GEMM, GEMM_FROM_DIMENSIONS = 1.3, 384
FASTER_THAN_SKLEARN = 3
MOST_MEGABYTES = 1_500
TOLERANCE = 1e-6
"""By which the n-th best scores may differ: products of 32 bits put near-ties in another order."""


@dataclass(frozen=True)
class Size:
    """How many vectors, of how many dimensions, and how many neighbours of each."""

    rows: int
    dimensions: int
    k: int

    def __str__(self) -> str:
        return f"{self.rows:,} x {self.dimensions:,}, k = {self.k}"

    @property
    def arguments(self) -> tuple[str, str, str]:
        return str(self.rows), str(self.dimensions), str(self.k)


FULL = (Size(5_000, 1_536, 10), Size(20_000, 384, 10), Size(40_000, 128, 100))
LARGE, LARGE_QUERIES = Size(1_000_000, 128, 10), 1_000


def shrink(size: Size) -> Size:
    return Size(size.rows // 5, size.dimensions, size.k)


def choose_tools(size: Size, skipped: list[str]) -> list[str]:
    """Leave out what was asked for, and the full matrix where it is too large."""
    fits = 4.0 * size.rows**2 <= LARGEST_MATRIX
    return [tool for tool in NAMES if tool not in skipped and (fits or tool != "argsort")]


def tool_command(tool: str, size: Size, folder: Path, arguments: argparse.Namespace) -> Command:
    python = find_rankjury_python(arguments) if tool.startswith("rankjury") else arguments.python
    return worker_command(python, "searchers.py", tool, *size.arguments, "--found", folder / f"{tool}.npy")


def measure_size(size: Size, folder: Path, arguments: argparse.Namespace) -> dict[str, Results]:
    """Let tools take turns; those that take long take fewer."""
    commands = {tool: tool_command(tool, size, folder, arguments) for tool in choose_tools(size, arguments.skip)}
    fewer = min(arguments.rounds, FEWER_ROUNDS)
    quick = {tool: command for tool, command in commands.items() if tool not in SLOW}
    slow = {tool: command for tool, command in commands.items() if tool in SLOW}
    summaries = measure_rounds(quick, arguments.rounds) | measure_rounds(slow, fewer)
    return {tool: describe_tool(summaries[tool]) for tool in commands}


def compare_found(size: Size, folder: Path, arguments: argparse.Namespace) -> dict[str, Results]:
    """Hold every tool's neighbours against rankjury's."""
    files = sorted(file for file in folder.glob("*.npy") if file.stem != "rankjury")
    command = (find_rankjury_python(arguments), "searchers.py", "compare", *size.arguments)
    found = ("--found", folder / "rankjury.npy", "--found")
    return {file.stem: json.loads(measure_process(worker_command(*command, *found, file)).output) for file in files}


def render_size(measured: Mapping[str, Results], agreement: Mapping[str, Results]) -> str:
    rows = [
        (
            NAMES[tool],
            f"{found['seconds']:.3f}",
            f"{max(found['all_seconds']):.3f}",
            f"{found['seconds'] / measured['rankjury']['seconds']:.2f}",
            f"{found['peak_megabytes']:,.0f}",
            f"{agreement[tool]['same']:.2%}" if tool in agreement else "-",
        )
        for tool, found in measured.items()
    ]
    return render_table(("tool", "best, seconds", "worst", "/ rankjury", "peak MB", "same sets as rankjury"), rows)


def judge_speed(size: Size, measured: Mapping[str, Results]) -> list[str]:
    seconds = {tool: found["seconds"] for tool, found in measured.items()}
    return [
        one
        for tool in ("rankjury", "rankjury-order")
        if tool in seconds
        for one in judge_tool(size, seconds, tool, NAMES[tool])
    ]


def judge_tool(size: Size, seconds: Mapping[str, float], tool: str, name: str) -> list[str]:
    verdicts = []
    faiss = [seconds[one] for one in ("faiss", "faiss-tuned") if one in seconds]
    if faiss:
        ratio = seconds[tool] / min(faiss)
        text = f"{size}: {name}: at most {MOST_OF_FAISS} x the faster faiss.knn: {ratio:.2f} x"
        verdicts.append(verdict(ratio <= MOST_OF_FAISS, text))
    if "gemm" in seconds and size.dimensions >= GEMM_FROM_DIMENSIONS:
        ratio = seconds[tool] / seconds["gemm"]
        text = f"{size}: {name}: at most {MOST_OF_GEMM} x the products alone: {ratio:.2f} x"
        verdicts.append(verdict(ratio <= MOST_OF_GEMM, text))
    if "sklearn" in seconds:
        ratio = seconds["sklearn"] / seconds[tool]
        text = f"{size}: {name}: at least {FASTER_THAN_SKLEARN} x faster than scikit-learn: {ratio:.1f} x"
        verdicts.append(verdict(ratio >= FASTER_THAN_SKLEARN, text))
    return verdicts


def judge_agreement(size: Size, agreement: Mapping[str, Results]) -> tuple[list[str], bool]:
    agreed = {tool: found["apart"] <= TOLERANCE and not found["twice"] for tool, found in agreement.items()}
    verdicts = [
        verdict(agreed[tool], f"{size}: {NAMES[tool]} agrees to {TOLERANCE:g} in score: {found['apart']:.1e}")
        for tool, found in agreement.items()
    ]
    return verdicts, all(agreed.values())


def run_speed(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    results: Results = {}
    verdicts: list[str] = []
    all_agreed = True
    for size in map(shrink, FULL) if arguments.quick else FULL:
        with tempfile.TemporaryDirectory() as folder:
            measured = measure_size(size, Path(folder), arguments)
            agreement = compare_found(size, Path(folder), arguments)
        agreements, agreed = judge_agreement(size, agreement)
        all_agreed = all_agreed and agreed
        verdicts += [*judge_speed(size, measured), *agreements]
        results[str(size)] = {"tools": measured, "agreement": agreement}
        print(f"\n{size}, best of {arguments.rounds} processes:\n\n{render_size(measured, agreement)}", flush=True)
        if "argsort" not in measured and "argsort" not in arguments.skip:
            print(f"The full matrix is left out: it takes more than {LARGEST_MATRIX / 1e9:.0f} GB.", flush=True)
    return results, verdicts, all_agreed


def run_memory(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    size = shrink(LARGE) if arguments.quick else LARGE
    python = find_rankjury_python(arguments)
    commands = {
        task: worker_command(python, "searchers.py", task, *size.arguments, "--queries", str(LARGE_QUERIES))
        for task in ("baseline", "rankjury")
    }
    measured = {name: describe_tool(summary) for name, summary in measure_rounds(commands, arguments.rounds).items()}
    above = measured["rankjury"]["peak_megabytes"] - measured["baseline"]["peak_megabytes"]
    text = (
        f"{LARGE_QUERIES:,} queries among {size}: less than {MOST_MEGABYTES:,} MB above the vectors: {above:,.0f} MB, "
        f"{measured['rankjury']['seconds']:.2f} s"
    )
    return {**measured, "above_megabytes": above}, [verdict(above < MOST_MEGABYTES, text)], True


PARTS = {"speed": run_speed, "memory": run_memory}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the vectors")
    peers = [tool for tool in NAMES if tool != "rankjury"]
    parser.add_argument("--skip", choices=peers, action="append", default=[], help="leave out a tool; repeatable")
    add_peers_option(parser)
    add_shared_options(parser, rounds=3)
    arguments = parser.parse_args()
    return run_parts("neighbours", PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
