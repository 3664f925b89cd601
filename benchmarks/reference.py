#!/usr/bin/env python3
"""Measures rankjury's agreement with a reference model against the papers protocol done plainly and the bare searches.

  speed   5,000 x 1,536 against two of 5,000 x 384, recall, nDCG, MRR and MAP (mean and standard deviation) at six k up
          to 50, all queries: rankjury, the searches alone, the protocol done plainly, and without its loops; checks
          that means agree
  memory  100,000 x 768 against 100,000 x 384, 1,000 queries sampled: what rankjury needs above the vectors

Vectors are in memory when the clock starts. Exit status: 0 if all went well, whatever the speed; 1 if means disagree or
a tool failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from harness import (
    Command,
    Results,
    ToolFailedError,
    describe_tool,
    measure_process,
    measure_rounds,
    render_table,
    run_parts,
    verdict,
    worker_command,
)
from options import add_shared_options, find_rankjury_python

NAMES = {
    "rankjury": "rankjury, mean and std",
    "searches": "rankjury's searches alone",
    "plain": "protocol done plainly (NumPy)",
    "plain-sorted-once": "each row sorted once (NumPy)",
    "plain-vectorised": "protocol without loops (NumPy)",
    "rankjury-intervals": "rankjury, intervals and pairs too",
}
CUTS = (1, 3, 5, 10, 20, 50)
FASTER_THAN_PLAIN = 5
MOST_OF_SEARCHES = 1.3
MOST_MEGABYTES = 1_000
TOLERANCE = 1e-9
LOOSE_TOLERANCE = 1e-3
"""For what is computed from products of 32 bits, which put near-ties in another order."""
LOOSE = ("plain", "plain-sorted-once", "plain-vectorised")


@dataclass(frozen=True)
class Size:
    """How many items, and of how many dimensions the reference and the candidates are."""

    rows: int
    reference: int
    candidates: tuple[int, ...]

    def __str__(self) -> str:
        candidates = " and ".join(f"{dimensions:,}" for dimensions in self.candidates)
        return f"{self.rows:,} x {self.reference:,} against x {candidates}"

    @property
    def arguments(self) -> tuple[str, ...]:
        numbers = (self.rows, self.reference, *self.candidates)
        return *map(str, numbers), "--k-values", *map(str, CUTS)


FULL = Size(5_000, 1_536, (384, 384))
LARGE, SAMPLES = Size(100_000, 768, (384,)), 1_000


def shrink(size: Size) -> Size:
    return Size(size.rows // 5, size.reference, size.candidates)


def task_command(task: str, size: Size, arguments: argparse.Namespace, *options: str) -> Command:
    return worker_command(find_rankjury_python(arguments), "agreers.py", task, *size.arguments, *options)


def compare_means(measured: Mapping[str, Results], expected: Mapping[str, list[float]]) -> dict[str, float]:
    """By tool, how far a mean or a standard deviation is from that of the protocol in 64 bits, at most."""
    apart = {}
    for tool, found in measured.items():
        if tool == "searches":
            continue
        if found["measured"].keys() != expected.keys():
            raise ToolFailedError(f"{NAMES[tool]} measured {', '.join(found['measured'].keys() ^ expected.keys())}")
        apart[tool] = max(
            abs(ours - theirs)
            for name, figures in expected.items()
            for ours, theirs in zip(found["measured"][name], figures, strict=True)
        )
    return apart


def render_tools(measured: Mapping[str, Results], apart: Mapping[str, float]) -> str:
    rows = [
        (
            NAMES[tool],
            f"{found['seconds']:.3f}",
            f"{max(found['all_seconds']):.3f}",
            f"{found['seconds'] / measured['rankjury']['seconds']:.2f}",
            f"{found['peak_megabytes']:,.0f}",
            f"{apart[tool]:.1e}" if tool in apart else "-",
        )
        for tool, found in measured.items()
    ]
    return render_table(("tool", "best, seconds", "worst", "/ rankjury", "peak MB", "off 64 bits by"), rows)


def judge_speed(size: Size, measured: Mapping[str, Results]) -> list[str]:
    seconds = {tool: found["seconds"] for tool, found in measured.items()}
    verdicts = []
    if "plain" in seconds:
        ratio = seconds["plain"] / seconds["rankjury"]
        text = f"{size}: at least {FASTER_THAN_PLAIN} x faster than the protocol done plainly: {ratio:.1f} x"
        verdicts.append(verdict(ratio >= FASTER_THAN_PLAIN, text))
    if "searches" in seconds:
        ratio = seconds["rankjury"] / seconds["searches"]
        text = f"{size}: at most {MOST_OF_SEARCHES} x the searches alone: {ratio:.2f} x"
        verdicts.append(verdict(ratio <= MOST_OF_SEARCHES, text))
    return verdicts


def judge_means(size: Size, apart: Mapping[str, float]) -> tuple[list[str], bool]:
    verdicts, all_agreed = [], True
    for tool, most in apart.items():
        tolerance = LOOSE_TOLERANCE if tool in LOOSE else TOLERANCE
        agreed = most <= tolerance
        all_agreed = all_agreed and agreed
        text = f"{size}: {NAMES[tool]}: means and deviations agree to {tolerance:g}: {most:.1e}"
        verdicts.append(verdict(agreed, text))
    return verdicts, all_agreed


def run_speed(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    size = shrink(FULL) if arguments.quick else FULL
    commands = {tool: task_command(tool, size, arguments) for tool in NAMES if tool not in arguments.skip}
    measured = {tool: describe_tool(summary) for tool, summary in measure_rounds(commands, arguments.rounds).items()}
    expected = json.loads(measure_process(task_command("plain-exactly", size, arguments)).output)["measured"]
    apart = compare_means(measured, expected)
    print(f"\n{size}, best of {arguments.rounds} processes:\n\n{render_tools(measured, apart)}", flush=True)
    agreements, agreed = judge_means(size, apart)
    return {"tools": measured, "apart": apart}, [*judge_speed(size, measured), *agreements], agreed


def run_memory(arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    size = shrink(LARGE) if arguments.quick else LARGE
    commands = {
        task: task_command(task, size, arguments, "--samples", str(SAMPLES))
        for task in ("baseline", "rankjury-intervals")
    }
    measured = {name: describe_tool(summary) for name, summary in measure_rounds(commands, arguments.rounds).items()}
    found = measured["rankjury-intervals"]
    above = found["peak_megabytes"] - measured["baseline"]["peak_megabytes"]
    text = (
        f"{SAMPLES:,} queries of {size}, intervals and pairs too: less than {MOST_MEGABYTES:,} MB above the vectors: "
        f"{above:,.0f} MB, {found['seconds']:.2f} s"
    )
    return {**measured, "above_megabytes": above}, [verdict(above < MOST_MEGABYTES, text)], True


PARTS = {"speed": run_speed, "memory": run_memory}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the vectors")
    others = [tool for tool in NAMES if tool != "rankjury"]
    parser.add_argument("--skip", choices=others, action="append", default=[], help="leave out a tool; repeatable")
    add_shared_options(parser, rounds=3)
    arguments = parser.parse_args()
    return run_parts("reference", PARTS, arguments)


if __name__ == "__main__":
    sys.exit(main())
