#!/usr/bin/env python3
"""Measures how fast rankjury finds what is relevant by its keywords, beside scipy.sparse, Polars and plain Python.

  texts   queries of two or three keywords; relevant is what has all of them
  items   items as queries; relevant is what has all of their keywords
  graded  items as queries; whatever has one of their keywords is relevant, graded by the share that it has

100,000 items have 8 of 500 keywords on average, and 10,000 queries are asked. All start from the same lists of numbers
in memory. Exit status: 0 if all went well, whatever the speed; 1 if a tool counts other relevant items or failed; 2 for
wrong options.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import partial

from harness import Command, Results, describe_tool, measure_rounds, render_table, run_parts, verdict, worker_command
from options import add_peers_option, add_shared_options, find_rankjury_python, positive

NAMES = {
    "rankjury": "rankjury, counts",
    "rankjury-listed": "rankjury, gold",
    "rankjury-measured": "rankjury, gold and measures",
    "rankjury-by-number": "rankjury, gold by number and measures",
    "scipy": "scipy.sparse product",
    "polars": "Polars join and group",
    "index": "Python sets, inverted index",
    "sets": "Python sets, pair by pair",
    "nothing": "the data alone",
}
FEWEST_KEYWORDS = 5
PARTS = ("texts", "items", "graded")
COUNTED = ("counts", "met")
MEASURED = ("rankjury-measured", "rankjury-by-number")


def way_command(way: str, part: str, arguments: argparse.Namespace) -> Command:
    python = find_rankjury_python(arguments) if way.startswith("rankjury") else arguments.python
    size = (arguments.items, arguments.keywords, arguments.queries)
    return worker_command(python, "predicate_peers.py", way, part, *map(str, size))


def describe_gold(found: Results) -> str:
    if "listed" not in found:
        return "-"
    return "by number" if found["listed"] is None else f"{found['listed']:,} listed"


def render_seconds(found: Results, rankjury: Results) -> tuple[str, str, str]:
    seconds = found["seconds"]
    return f"{seconds:.3f}", f"{max(found['all_seconds']):.3f}", f"{seconds / rankjury['seconds']:.2f}"


def render_tools(measured: Mapping[str, Results], queries: int) -> str:
    rows = [
        (
            NAMES[tool],
            *(render_seconds(found, measured["rankjury"]) if tool != "nothing" else ("-", "-", "-")),
            f"{found['peak_megabytes']:,.0f}",
            "all" if found["asked"] == queries else f"{found['asked']:,}, scaled up",
            describe_gold(found),
        )
        for tool, found in measured.items()
    ]
    return render_table(("tool", "best, seconds", "worst", "/ rankjury", "peak MB", "queries asked", "gold"), rows)


def judge_counts(measured: Mapping[str, Results]) -> list[tuple[bool, str]]:
    """Whether each tool counts what rankjury counts, query by query."""
    rankjury, judged = measured["rankjury"], []
    kinds = [kind for kind in COUNTED if kind in rankjury]
    for tool, found in measured.items():
        if tool == "rankjury" or "counts" not in found:
            continue
        asked = found["asked"]
        ours = zip(*(rankjury[kind][:asked] for kind in kinds), strict=True)
        theirs = zip(*(found[kind] for kind in kinds), strict=True)
        apart = sum(one != other for one, other in zip(ours, theirs, strict=True))
        judged.append((apart == 0, f"{NAMES[tool]}: the same numbers for each of {asked:,} queries: {apart:,} differ"))
    return judged


def judge_gold(measured: Mapping[str, Results]) -> list[tuple[bool, str]]:
    """Whether as many items are listed as were counted, and means do not hang on whether they are."""
    total = sum(measured["rankjury"]["counts"])
    listed = measured["rankjury-listed"]["listed"] if "rankjury-listed" in measured else None
    judged = []
    if listed is not None:
        judged.append((listed == total, f"rankjury lists as many as it counts: {listed:,} and {total:,}"))
    if all(tool in measured for tool in MEASURED) and measured["rankjury-measured"]["listed"] is not None:
        ours, theirs = (measured[tool]["means"] for tool in MEASURED)
        judged.append((ours == theirs, f"means are the same, listed and by number: {shown(ours)}"))
    return judged


def shown(means: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {mean:.4f}" for name, mean in means.items())


def run_part(part: str, arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    commands = {way: way_command(way, part, arguments) for way in NAMES if way not in arguments.skip}
    measured = {tool: describe_tool(summary) for tool, summary in measure_rounds(commands, arguments.rounds).items()}
    judged = judge_counts(measured) + judge_gold(measured)
    total = sum(measured["rankjury"]["counts"])
    size = f"{arguments.items:,} items x {arguments.queries:,} queries x {arguments.keywords:,} keywords"
    table = render_tools(measured, arguments.queries)
    print(f"\n{part}: {size}, {total:,} relevant, best of {arguments.rounds} processes:\n\n{table}", flush=True)
    tools = {
        tool: {key: value for key, value in found.items() if key not in COUNTED} for tool, found in measured.items()
    }
    verdicts = [verdict(passed, f"{part}: {text}") for passed, text in judged]
    return {"tools": tools, "relevant": total}, verdicts, all(passed for passed, _ in judged)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    for name, default in (("items", 100_000), ("queries", 10_000), ("keywords", 500)):
        parser.add_argument(f"--{name}", type=positive, default=default, help="how many (default: %(default)s)")
    others = [tool for tool in NAMES if tool != "rankjury"]
    parser.add_argument("--skip", choices=others, action="append", default=[], help="leave out a tool; repeatable")
    add_peers_option(parser)
    add_shared_options(parser, rounds=3)
    arguments = parser.parse_args()
    if arguments.queries > arguments.items:
        parser.error("found more queries than items; in two parts queries are items")
    if arguments.keywords < FEWEST_KEYWORDS:
        parser.error(f"found {arguments.keywords} keywords; at least {FEWEST_KEYWORDS} make texts of three")
    return run_parts("predicates", {part: partial(run_part, part) for part in PARTS}, arguments)


if __name__ == "__main__":
    sys.exit(main())
