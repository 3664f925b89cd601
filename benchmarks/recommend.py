#!/usr/bin/env python3
"""Measures recommending to everybody at full catalogue, and evaluating it, beside bare NumPy, RecTools and LensKit.

  catalogue  6,040 users × 3,883 items × 64 factors: what users have is masked, the first 20 are found, and scored under
             27 measures, for all users and by tiers of users and items; beside the bare products and selection, a loop
             over users in NumPy, and RecTools' and LensKit's evaluation of the same recommendations
  arrays     measures alone: 200,000 users × 10 recommendations × 5 held-out items, from codes in memory

How fast a log is split is measured by `splitting.py`. RecTools and LensKit have environments of their own, and are left
out where these are not there. Exit status: 0 if all went well, whatever the speed; 1 if means disagree or a tool
failed; 2 for wrong options.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from harness import (
    REPOSITORY,
    Command,
    Results,
    describe_tool,
    measure_process,
    measure_rounds,
    render_table,
    report_progress,
    run_parts,
    verdict,
    worker_command,
)
from options import add_shared_options, find_rankjury_python

NAMES = {
    "rankjury": "rankjury: recommend and assess",
    "rankjury-search": "rankjury: recommend alone",
    "rankjury-assessing": "rankjury: assess alone",
    "rankjury-task": "rankjury: make the task, once for all models",
    "nearest": "rankjury: nearest, nothing masked",
    "bare": "bare products and selection (NumPy)",
    "loop": "a loop over users (NumPy)",
    "rankjury-arrays": "rankjury: evaluate_arrays",
    "rankjury-names": "rankjury: evaluate, by names",
    "as-rectools": "rankjury: evaluate_arrays, the same measures",
    "rectools": "RecTools: calc_metrics, accuracy alone",
    "rectools-slices": "RecTools: calc_metrics, with tiers",
    "lenskit": "LensKit: RunAnalysis, accuracy alone",
}
PEERS = {"catalogue": ("rectools", "rectools-slices", "lenskit"), "arrays": ("rectools",)}
TOOLS = ("rectools", "lenskit")
PARTS = {
    "catalogue": (
        "rankjury",
        "rankjury-search",
        "rankjury-assessing",
        "rankjury-task",
        "nearest",
        "bare",
        "loop",
        "as-rectools",
    ),
    "arrays": ("rankjury-arrays", "rankjury-names"),
}
SIZES = {"catalogue": (6040, 604), "arrays": (200_000, 20_000)}
REQUIRED = {
    "catalogue": (
        ("rankjury", "bare", 1.5),
        ("rankjury", "loop", 10),
        ("rankjury", "rectools-slices", 5),
        ("as-rectools", "rectools", 5),
        ("rankjury", "lenskit", 5),
    ),
    "arrays": (("rankjury-arrays", "rectools", 5),),
}
"""rankjury and a peer: at least so many times faster; and the bare products: at most so many times slower."""
APART = 1e-9


def way_command(way: str, folder: Path, arguments: argparse.Namespace, *options: str) -> Command:
    return worker_command(find_rankjury_python(arguments), "recommend_ways.py", way, folder, *options)


def peers_of(part: str, arguments: argparse.Namespace) -> dict[str, Path]:
    """Where the peers' interpreters are; one that is not there is told of, and left out."""
    found = {}
    for peer in PEERS[part]:
        tool = peer.split("-")[0]
        python: Path = getattr(arguments, tool)
        if peer in arguments.skip:
            continue
        if python.exists():
            found[peer] = python
        else:
            print(f"{NAMES[peer]} is omitted: there is no {python}; make it by `make bench`, or give --{tool}")
    return found


def prepare(part: str, folder: Path, arguments: argparse.Namespace) -> int:
    """Draw the data, and for the peers the recommendations; returns how many users there are."""
    users = SIZES[part][arguments.quick]
    report_progress(f"making data for {users:,} users")
    python = find_rankjury_python(arguments)
    measure_process(worker_command(python, "recommend_data.py", part, folder, str(users)))
    if part == "catalogue":
        measure_process(way_command("hand-over", folder, arguments))
    report_progress("")
    return users


def run_part(part: str, arguments: argparse.Namespace) -> tuple[Results, list[str], bool]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "data"
        folder.mkdir()
        users = prepare(part, folder, arguments)
        peers = peers_of(part, arguments)
        commands = {way: way_command(way, folder, arguments) for way in PARTS[part] if way not in arguments.skip}
        for peer, python in peers.items():
            commands[peer] = worker_command(python, "recommend_peers.py", peer, part, folder)
        measured = {tool: describe_tool(one) for tool, one in measure_rounds(commands, arguments.rounds).items()}
        expected = expected_means(part, folder, list(peers), measured, arguments)
    print(f"\n{part}: {users:,} users, best of {arguments.rounds} processes:\n\n{render(part, measured)}", flush=True)
    known = [tool for tool in measured if tool in expected]
    agreed = [compare(NAMES[tool], measured[tool]["means"], expected[tool]) for tool in known]
    verdicts = [*speeds(part, measured, quick=arguments.quick), *(verdict(*one) for one in agreed)]
    return {"users": users, "tools": measured}, [f"{part}: {one}" for one in verdicts], all(one for one, _ in agreed)


def expected_means(
    part: str, folder: Path, peers: list[str], measured: Mapping[str, Results], arguments: argparse.Namespace
) -> dict[str, Mapping[str, float]]:
    """For each tool what rankjury's means are under its conventions."""
    if part == "arrays":
        return {
            tool: measured["rankjury-arrays"]["means"] for tool in measured if tool in ("rankjury-names", "rectools")
        }
    commands = {peer: way_command(f"as-{peer.split('-')[0]}", folder, arguments, "--calls", "1") for peer in peers}
    expected = {peer: describe_tool(one)["means"] for peer, one in measure_rounds(commands, 1).items()}
    return {**expected, **({"loop": measured["rankjury"]["means"]} if "loop" in measured else {})}


def compare(name: str, theirs: Mapping[str, float], ours: Mapping[str, float]) -> tuple[bool, str]:
    shared = [label for label in theirs if label in ours]
    apart = max(abs(theirs[label] - ours[label]) for label in shared)
    return apart <= APART, f"{name} has rankjury's means of {len(shared)} measures: {apart:.1e} apart at most"


def speeds(part: str, measured: Mapping[str, Results], *, quick: bool) -> list[str]:
    found = []
    for ours, tool, times in REQUIRED[part]:
        if ours in measured and tool in measured:
            ratio = measured[tool]["seconds"] / measured[ours]["seconds"]
            passed, shown = ratio >= times, f"{ratio:.1f} times as fast as {NAMES[tool]}: at least {times:g}"
            if tool == "bare":
                passed, shown = 1 / ratio <= times, f"{1 / ratio:.2f} times the {NAMES[tool]}: at most {times:g}"
            found.append(verdict(passed, f"{NAMES[ours]}: {shown}", required=not quick))
    return found


def render(part: str, measured: Mapping[str, Results]) -> str:
    rankjury = measured[PARTS[part][0]]["seconds"]
    rows = [
        (NAMES[tool], f"{found['seconds'] * 1000:,.1f}", f"{max(found['all_seconds']) * 1000:,.1f}",
         f"{found['seconds'] / rankjury:.2f}", f"{found['peak_megabytes']:,.0f}", found["version"])
        for tool, found in measured.items()
    ]  # fmt: skip
    return render_table(("tool", "best, ms", "worst process", "/ rankjury", "peak MB", "version"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*PARTS, "all"), default="all", help="what to measure (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the users")
    others = [tool for tool in NAMES if tool not in ("rankjury", "rankjury-arrays")]
    parser.add_argument("--skip", choices=others, action="append", default=[], help="leave out a tool; repeatable")
    for peer in TOOLS:
        place = REPOSITORY / f".venv-{peer}" / "bin" / "python"
        parser.add_argument(
            f"--{peer}", type=Path, default=place, metavar="PYTHON",
            help=f"interpreter that has {NAMES[peer].split(':')[0]} (default: .venv-{peer}/bin/python)",
        )  # fmt: skip
    add_shared_options(parser, rounds=3)
    return run_parts("recommend", {part: partial(run_part, part) for part in PARTS}, parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
